"""Golden wire transcripts of whole polls, with what an instrument wants beyond being read, on a real pty.

A transcript begins with a sentence and then has one step per line::

    line KIND                    the kind of bus, `modbus-rtu` unless stated
    retries N                    how often the device is asked again for a garbled answer, never unless stated
    profile NAME KEY=VALUE ...   the device's profile with overrides of its site (TOML values); NAME.toml stands beside
    points NAME [UNIT] ...       one channel for each point, in brackets the unit it takes
    poll [SECONDS]               the device is polled, so long after the last time (15 s unless stated)
    >> 01 03 ...                 the gateway sends exactly these bytes
    << 01 03 ...                 the peer sends these bytes
    = NAME VALUE QUALITY         what the poll says of a point, to six digits; `-` for no value
    ! NAME FAULT                 the point has no value, and this is why
    quiet                        the gateway sends nothing more in this poll
"""

import asyncio
import tomllib
from collections.abc import Sequence

from gateway.drivers.device_state import DeviceState
from gateway.drivers.poll import DevicePoll, PointReading
from gateway.drivers.profiles import load
from gateway.model import Instant
from gateway.site import Channel, Device
from tests.conftest import ROOT
from tests.support.scripted_line import TIMEOUT_S, bytes_of, serial_line

PROFILES = ROOT / "tests" / "cases" / "quirks"


async def play_polls(name: str, steps: Sequence[str]) -> None:
    """Play one transcript; AssertionError names the line of it that did not hold."""
    kind = next((step.split()[1] for step in steps if step.startswith("line ")), "modbus-rtu")
    async with serial_line(kind=kind) as (peer, line):
        retries = next((int(step.split()[1]) for step in steps if step.startswith("retries ")), 0)
        device = Device("d", "bench", 1, "", round(TIMEOUT_S * 1e6), retries)
        state = DeviceState(device)
        profile, poll = None, None
        polling: asyncio.Task[tuple[PointReading, ...]] | None = None
        now_us = 0
        for number, text in enumerate(steps, start=1):
            where = f"{name}:{number}: {text}"
            kind, _, rest = text.partition(" ")
            match kind:
                case "profile":
                    file, *keys = rest.split()
                    profile = load(file, tomllib.loads("\n".join(keys)), beside=PROFILES)
                case "points":
                    assert profile is not None, where
                    channels = [_channel(word) for word in rest.split()]
                    poll = DevicePoll(device, profile, channels, line)
                case "poll":
                    assert poll is not None, where
                    now_us += round(float(rest or 15) * 1e6)
                    polling = asyncio.create_task(poll.run(Instant(now_us, now_us), state))
                case ">>":
                    wanted = bytes_of(rest)
                    assert (await peer.receive(len(wanted))).hex(" ") == wanted.hex(" "), where
                case "<<":
                    await peer.send(bytes_of(rest))
                case "=" | "!":
                    assert polling is not None, where
                    assert _told(await polling, rest.split()[0], kind) == rest, where
                case "quiet":
                    assert polling is not None, where
                    await polling
                    assert not peer.pending, where
                case _:
                    pass  # the sentence, the kind of line and the retries


def _channel(word: str) -> Channel:
    point, _, unit = word.partition("[")
    return Channel(
        name=point,
        quantity="",
        unit="",
        poll_us=15_000_000,
        hold_us=0,
        stale_after_us=0,
        source_unit=unit.rstrip("]"),
        device="d",
        point=point,
    )


def _told(readings: tuple[PointReading, ...], point: str, kind: str) -> str:
    sample = next(reading.sample for reading in readings if reading.point == point)
    if kind == "!":
        return f"{point} {sample.fault.value if sample.fault is not None else 'no fault'}"
    value = "-" if sample.value is None else f"{sample.value:.6g}"
    return f"{point} {value} {sample.quality.name.lower()}"
