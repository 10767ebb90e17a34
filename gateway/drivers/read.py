"""The body of `read`: each channel straight from the instruments, with its raw words and how the line did. For
commissioning: once, or again and again while somebody stands at the instrument.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TextIO
from zoneinfo import ZoneInfo

from gateway.clock import Clock, SystemClock
from gateway.drivers import profiles
from gateway.drivers.bus import PollBus
from gateway.drivers.facts import FactReader, FactReading
from gateway.drivers.health import DeviceHealth
from gateway.drivers.interruption import until_interrupted
from gateway.drivers.modbus import ECHO
from gateway.drivers.poll import PointReading
from gateway.errors import BusDown, InputError
from gateway.model import Fault
from gateway.quality_letter import action_for, quality_letter
from gateway.signals.qc import QualityControl
from gateway.site import Site

__all__ = ["run_read"]

_UNHEARD = frozenset({Fault.SILENT, Fault.BUS_DOWN, Fault.BAD_REPLY})


def run_read(
    site: Site,
    channels: Sequence[str],
    out: TextIO,
    *,
    as_json: bool,
    every_us: int | None = None,
    facts: bool = False,
) -> int:
    """Read the named channels, or all; 0 when every one gave a number in the last round, 1 when one did not.

    Once, or every `every_us` until Ctrl-C. With `facts` also what the devices say of themselves, once, at first. Raises
    InputError for a channel that is not of this site or is not read from a device.
    """
    for name in channels:
        channel = site.channels.get(name)
        if channel is None:
            raise InputError(f"no channel {name!r} on site {site.id}: {', '.join(site.channels)}")
        if channel.device is None:
            raise InputError(f"channel {name!r} is derived from {channel.derived_from}; read that one")
    reads = _Reads(site, set(channels) or None, SystemClock(), out, as_json)
    asyncio.run(until_interrupted(reads.run(every_us, facts=facts)))
    return 0 if reads.sound else 1


@dataclass(slots=True)
class _Reads:
    """The rounds of one `read`."""

    site: Site
    names: set[str] | None
    clock: Clock
    out: TextIO
    as_json: bool
    sound: bool = False
    _control: dict[str, QualityControl] = field(default_factory=dict)
    _echoing: set[str] = field(default_factory=set)

    async def run(self, every_us: int | None, *, facts: bool) -> None:
        """Bus by bus at once, devices of one bus in turn; in the order of the site file."""
        devices, channels = list(self.site.devices.values()), list(self.site.channels.values())
        buses = [
            PollBus(bus, devices, channels, self.clock, lambda _samples, _now: None)
            for bus in self.site.buses.values()
            if bus.kind != "replay"
        ]
        self._control = {name: QualityControl(channel) for name, channel in self.site.channels.items()}
        try:
            if facts:
                await self._tell_facts(buses)
            due_us = self.clock.now().mono_us
            while True:
                self._tell(await self._round(buses, stay_open=every_us is not None), stamped=every_us is not None)
                self._tell_echoes(buses)
                if every_us is None:
                    return
                now_us = self.clock.now().mono_us
                due_us += every_us * max(1, -(-(now_us - due_us) // every_us))  # a missed round is not made up for
                await self.clock.sleep(due_us - now_us)
        finally:
            for bus in buses:
                bus.line.close()

    async def _round(self, buses: Sequence[PollBus], *, stay_open: bool) -> list[dict[str, Any]]:
        before = _healths(buses)
        if stay_open:
            for bus in buses:
                if not bus.line.connected:
                    with suppress(BusDown):  # the readings then say why
                        await bus.line.open()
        answers = await asyncio.gather(*(bus.read_once(self.names) for bus in buses))
        after = _healths(buses)
        order = {name: place for place, name in enumerate(self.site.channels)}
        readings = sorted((r for answer in answers for r in answer), key=lambda r: order[r.sample.channel])
        return [self._line(reading, before[reading.device], after[reading.device]) for reading in readings]

    def _line(self, reading: PointReading, before: DeviceHealth, after: DeviceHealth) -> dict[str, Any]:
        sample = reading.sample
        channel = self.site.channels[sample.channel]
        judged = self._control[sample.channel].assess(sample)
        finite = sample.value is not None and abs(sample.value) < float("inf")
        unheard = sample.fault in _UNHEARD
        # Every request that failed was repeated but for the one that was given up.
        retries = max(0, _failed(after) - _failed(before) - unheard)
        return {
            "channel": sample.channel,
            "value": channel.conversion(sample.value) if finite and sample.value is not None else None,
            "unit": channel.unit,
            "source_value": sample.value if finite else None,
            "source_unit": reading.unit,
            "raw": [f"{word:04X}" for word in sample.raw],
            "bus": self.site.devices[reading.device].bus,
            "device": reading.device,
            "unit_address": self.site.devices[reading.device].unit,
            "point": reading.point,
            "function": reading.function,
            "address": reading.address,
            "doc_register": reading.doc_register,
            "quality": judged.quality.name.lower(),
            "tests": list(judged.tests),
            "letter": quality_letter(judged),
            "action": action_for(judged),
            "fault": None if sample.fault is None else sample.fault.value,
            "note": reading.note,
            "latency_ms": None if unheard else round(after.latency_us / 1e3, 1),
            "retries": retries,
        }

    def _tell(self, lines: Sequence[Mapping[str, Any]], *, stamped: bool) -> None:
        self.sound = bool(lines) and all(line["fault"] is None for line in lines)
        now = datetime.fromtimestamp(self.clock.now().utc_us / 1e6, UTC)
        if self.as_json:
            stamp = {"at": now.isoformat(timespec="milliseconds").replace("+00:00", "Z")}
            self.out.writelines(json.dumps(stamp | dict(line), allow_nan=False) + "\n" for line in lines)
        else:
            stamp_text = f"{now.astimezone(ZoneInfo(self.site.time_zone)):%H:%M:%S} " if stamped else ""
            self.out.writelines(f"{stamp_text}{_words(line)}\n" for line in lines)
        self.out.flush()

    def _tell_echoes(self, buses: Sequence[PollBus]) -> None:
        """Once for each bus, after its first readings; in JSON as a line of its own."""
        for bus in buses:
            if bus.line.counts.echoes and bus.bus.name not in self._echoing:
                self._echoing.add(bus.bus.name)
                line = json.dumps({"bus": bus.bus.name, "echo": True, "note": ECHO})
                self.out.write(f"{line}\n" if self.as_json else f"bus {bus.bus.name}: {ECHO}\n")
                self.out.flush()

    async def _tell_facts(self, buses: Sequence[PollBus]) -> None:
        chosen = {c.device for n, c in self.site.channels.items() if self.names is None or n in self.names}
        for bus in buses:
            for device in self.site.devices.values():
                if device.bus != bus.bus.name or device.name not in chosen:
                    continue
                profile = profiles.load(device.profile, device.overrides)
                told: Sequence[FactReading] = ()
                why = "" if profile.facts else f"its profile ({profile.id}) names no facts"
                try:
                    told = await FactReader(bus.line, device.unit, device.timeout_us / 1e6).read(profile)
                except BusDown as error:
                    why = str(error)
                self.out.writelines(_fact_lines(device.name, told, why, as_json=self.as_json))
            bus.line.close()


def _fact_lines(device: str, told: Sequence[FactReading], why: str, *, as_json: bool) -> Iterator[str]:
    if why and not as_json:
        yield f"{device:<16} {why}\n"
    for fact in told:
        if as_json:
            yield (
                json.dumps(
                    {
                        "device": device, "fact": fact.name, "value": fact.text or None, "error": fact.error or None,
                        "raw": [f"{word:04X}" for word in fact.raw], "function": fact.function, "address": fact.address,
                    }
                )
                + "\n"
            )  # fmt: skip
            continue
        text = f"not read: {fact.error}" if fact.error else fact.text or "(empty)"
        yield f"{device:<16} {fact.name}: {text}  (function {fact.function} address {fact.address})\n"


def _healths(buses: Sequence[PollBus]) -> dict[str, DeviceHealth]:
    return {device.device: device for bus in buses for device in bus.health().devices}


def _failed(health: DeviceHealth) -> int:
    return health.timeouts + health.bad_check_sums + health.bad_replies


def _words(line: Mapping[str, Any]) -> str:
    source = (
        f"{line['device']}.{line['point']} unit {line['unit_address']} "
        f"function {line['function']} address {line['address']}"
    )
    retries = f", {line['retries']} retr{'y' if line['retries'] == 1 else 'ies'}" if line["retries"] else ""
    todo = f"\n{'':<16} {line['letter'] or '-'} -> {line['action']}" if line["action"] else ""
    if line["fault"] is not None:
        return f"{line['channel']:<16} {line['fault']}: {line['note']}  ({source}{retries}){todo}"
    value = "-" if line["value"] is None else f"{line['value']:.6g}"
    sent = "" if line["source_unit"] == line["unit"] else f" = {line['source_value']:.6g} {line['source_unit']}"
    said = "" if line["quality"] == "good" else f"  {line['quality']}: {line['note'] or ', '.join(line['tests'])}"
    raw = " ".join(line["raw"])
    shown = f"{line['channel']:<16} {value:>10} {line['unit']:<7}{sent}"
    return f"{shown} {raw}  ({source}, {line['latency_ms']:g} ms{retries}){said}{todo}"
