"""How near a bus comes to what its serial line can carry, against a strict device (`bench.strict_device`).

Run as `python -m bench.serial_line [--seconds N]`. The device is a process of its own and everything is measured there:
reads of ten registers, each with its request, its answer and both gaps on the line.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from bench.strict_device import cycle_s, gap_s
from gateway.clock import SystemClock
from gateway.drivers.bus import PollBus
from gateway.drivers.profile import Limits, Point, Profile, Register
from gateway.site import Bus, Channel, Device

REGISTERS = 10
UNITS = (1, 2, 3, 4)
READS = 20  # in a row


@dataclass(frozen=True, slots=True)
class Seen:
    """What the far end saw."""

    arrivals: list[float]
    units: list[int]
    turnarounds: list[float]
    violations: int
    unsound: int

    def shares(self, baud: int, reads: int) -> list[float]:
        """Of every run of so many reads, the part of the line's limit that was used: 1.0 is gap, request, gap, answer.

        The runs overlap: the best is what the bus does when nobody takes its processor away for so long.
        """
        least_s = reads * cycle_s(baud, REGISTERS)
        ends = zip(self.arrivals, self.arrivals[reads:], strict=False)
        return [least_s / (end - begin) for begin, end in ends]

    def median_share(self, baud: int) -> float:
        """The same by the median of all turn-rounds, which a busy machine disturbs less than their mean."""
        least_s = cycle_s(baud, REGISTERS)
        return least_s / (least_s + median(self.turnarounds[1:]) - gap_s(baud))


def profile(registers: int) -> Profile:
    """So many registers that are read together."""
    points = {f"r{n}": Point(f"r{n}", Register(3, n, "u16"), "pH") for n in range(registers)}
    return Profile("made-up", "made-up", (), points, Limits())


def channels(unit: int, registers: int, poll_us: int) -> list[Channel]:
    """One for each register of the unit."""
    return [
        Channel(
            name=f"d{unit}-r{n}",
            quantity="pH",
            unit="pH",
            poll_us=poll_us,
            hold_us=5 * poll_us // 2,
            stale_after_us=5 * poll_us,
            source_unit="pH",
            device=f"d{unit}",
            point=f"r{n}",
        )
        for n in range(registers)
    ]


async def poll(
    baud: int,
    seconds: float,
    poll_us: int,
    units: Sequence[int] = UNITS,
    dead: Sequence[int] = (),
    timeout_s: float = 1.0,
) -> tuple[Seen, PollBus]:
    """Poll these units of a strict line for so long; what the line saw, and the bus with its counters."""
    command = ["-m", "bench.strict_device", "--baud", str(baud), "--dead", *map(str, dead)]
    pipe = asyncio.subprocess.PIPE
    far = await asyncio.create_subprocess_exec(sys.executable, *command, stdin=pipe, stdout=pipe, limit=1 << 24)
    path = (await far.stdout.readline()).decode().strip() if far.stdout is not None else ""
    devices = [Device(f"d{unit}", "bench", unit, "made-up", round(timeout_s * 1e6), 1) for unit in units]
    listed = [channel for unit in units for channel in channels(unit, REGISTERS, poll_us)]
    known = {device.name: profile(REGISTERS) for device in devices}
    bus = PollBus(
        Bus("bench", "modbus-rtu", port=path, baud=baud),
        devices,
        listed,
        SystemClock(),
        lambda *_: None,
        profiles=known,
    )
    running = asyncio.create_task(bus.run())
    await asyncio.wait([running], timeout=seconds)
    if running.done():
        running.result()
    running.cancel()
    await asyncio.wait([running])
    told, _ = await far.communicate(b"")  # its standard input ends
    return Seen(**json.loads(told)), bus


def main(argv: Sequence[str] | None = None) -> int:
    """Measure and print; 0."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=8.0)
    arguments = parser.parse_args(argv)
    for baud in (9600, 19200, 115200):
        seen, _ = asyncio.run(poll(baud, arguments.seconds, 20_000))
        best, limit = max(seen.shares(baud, READS)), 1 / cycle_s(baud, REGISTERS)
        usual, whole = seen.median_share(baud), seen.shares(baud, len(seen.arrivals) - 1)[0]
        print(
            f"  {baud} baud: {best * limit:.1f} of {limit:.1f} reads a second, {best:.1%} of the line in the best run"
        )
        print(
            f"    of {READS} reads, {usual:.1%} by the median turn-round, {whole:.1%} with every pause of the machine;"
        )
        print(f"    {seen.violations} of {len(seen.arrivals)} requests inside the gap")
    return 0


if __name__ == "__main__":
    sys.exit(main())
