"""The body of `read`: one reading of each channel straight from the instruments, with its raw words. Commissioning."""

import asyncio
import json
from collections.abc import Sequence
from typing import Any, TextIO

from gateway.clock import Clock, SystemClock
from gateway.drivers.bus import PollBus
from gateway.drivers.poll import PointReading
from gateway.errors import InputError
from gateway.site import Site

__all__ = ["run_read"]


def run_read(site: Site, channels: Sequence[str], out: TextIO, *, as_json: bool) -> int:
    """Read the named channels, or all; 0 when every one gave a number, 1 when one did not.

    Raises InputError for a channel that is not of this site or is not read from a device.
    """
    for name in channels:
        channel = site.channels.get(name)
        if channel is None:
            raise InputError(f"no channel {name!r} on site {site.id}: {', '.join(site.channels)}")
        if channel.device is None:
            raise InputError(f"channel {name!r} is derived from {channel.derived_from}; read that one")
    readings = asyncio.run(_read_all(site, set(channels) or None, SystemClock()))
    lines = [_line(site, reading) for reading in readings]
    if as_json:
        out.writelines(json.dumps(line, allow_nan=False) + "\n" for line in lines)
    else:
        out.writelines(_words(line) + "\n" for line in lines)
    return 0 if lines and all(line["fault"] is None for line in lines) else 1


async def _read_all(site: Site, names: set[str] | None, clock: Clock) -> list[PointReading]:
    """Bus by bus at once, devices of one bus in turn; in the order of the site file."""
    devices = list(site.devices.values())
    channels = list(site.channels.values())
    buses = [PollBus(bus, devices, channels, clock, lambda _samples, _now: None) for bus in site.buses.values()]
    answers = await asyncio.gather(*(bus.read_once(names) for bus in buses))
    order = {name: place for place, name in enumerate(site.channels)}
    return sorted((r for answer in answers for r in answer), key=lambda reading: order[reading.sample.channel])


def _line(site: Site, reading: PointReading) -> dict[str, Any]:
    sample = reading.sample
    channel = site.channels[sample.channel]
    finite = sample.value is not None and abs(sample.value) < float("inf")
    return {
        "channel": sample.channel,
        "value": channel.conversion(sample.value) if finite and sample.value is not None else None,
        "unit": channel.unit,
        "source_value": sample.value if finite else None,
        "source_unit": reading.unit,
        "raw": [f"{word:04X}" for word in sample.raw],
        "device": reading.device,
        "point": reading.point,
        "function": reading.function,
        "address": reading.address,
        "doc_register": reading.doc_register,
        "quality": sample.quality.name.lower(),
        "fault": None if sample.fault is None else sample.fault.value,
        "note": reading.note,
    }


def _words(line: dict[str, Any]) -> str:
    source = f"{line['device']}.{line['point']} function {line['function']} address {line['address']}"
    if line["fault"] is not None:
        return f"{line['channel']:<16} {line['fault']}: {line['note']}  ({source})"
    value = "-" if line["value"] is None else f"{line['value']:.6g}"
    quality = "" if line["quality"] == "good" else f"  {line['quality']}: {line['note']}"
    return f"{line['channel']:<16} {value:>10} {line['unit']:<7} {' '.join(line['raw'])}  ({source}){quality}"
