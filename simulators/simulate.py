"""`simulate`: the bench alone, for a gateway that runs elsewhere. It says where its lines are and keeps them alive.

`simulate faults` is something else: a proxy that makes a line fail (see `simulate faults --help`).
"""

import argparse
import asyncio
import json
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TextIO

from gateway.clock import ScaledClock
from gateway.config import load as load_site
from gateway.errors import InputError
from gateway.shipped import shipped
from gateway.site import SERIAL_KINDS, Bus
from gateway.units import parse_duration_us
from simulators import fault_command
from simulators import scenario as scenarios
from simulators.bench import Bench
from simulators.recorded import read_rows
from simulators.scenario import Scenario

__all__ = ["main", "snippet"]


def main(argv: Sequence[str]) -> int:
    """Run the bench until the scenario is over; 1 when a recorded file was not polled to its end.

    ConfigError and InputError for a site, a scenario or a file it cannot use.
    """
    if argv[:1] == ["faults"]:
        return fault_command.main(argv[1:])
    arguments = _parser().parse_args(argv)
    site = load_site(arguments.site or shipped("examples", "little-valley"))
    scenario = scenarios.load("recorded" if arguments.recorded else arguments.scenario)
    if scenario.recorded and not arguments.recorded:
        raise InputError("the recorded scenario needs --recorded FILE")
    rows = read_rows(arguments.recorded, site.channels, _columns(arguments.map)) if arguments.recorded else ()
    duration_us = _duration_us(arguments.duration, scenario)
    clock = ScaledClock(arguments.speed, anchor_utc_us=scenario.starts_at_us)
    bench = Bench(scenario, site, clock, rows=rows, paced=arguments.paced)
    return asyncio.run(_keep(bench, clock, duration_us, sys.stdout))


def snippet(buses: Mapping[str, Bus]) -> str:
    """The [buses] tables that point a gateway at these lines, as TOML."""
    lines: list[str] = []
    for bus in buses.values():
        lines += ["", f"[buses.{bus.name}]", f"kind = {json.dumps(bus.kind)}"]
        if bus.kind in SERIAL_KINDS:
            lines += [f"port = {json.dumps(bus.port)}", f"baud = {bus.baud}"]
            lines += [f"parity = {json.dumps(bus.parity)}", f"stop_bits = {bus.stop_bits}"]
            lines += [f"data_bits = {bus.data_bits}"]
        elif bus.host:
            lines += [f"host = {json.dumps(bus.host)}", f"tcp_port = {bus.tcp_port}"]
    return "\n".join(lines).lstrip()


async def _keep(bench: Bench, clock: ScaledClock, duration_us: int, out: TextIO) -> int:
    buses = await bench.start()
    print(f"# {bench.scenario.name}: {bench.scenario.title}", file=out)
    anchor = f"{clock.anchor_mono_us}/{clock.anchor_utc_us}"
    print(f"# manhole-gateway run SITE --bench-clock {clock.speed:g}@{anchor}, with these in SITE:", file=out)
    print(snippet(buses), file=out, flush=True)
    loop, running = asyncio.get_running_loop(), asyncio.create_task(bench.run(), name="bench")
    for name in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(name, running.cancel)
    over = asyncio.create_task(clock.sleep(duration_us), name="scenario over")
    try:
        await asyncio.wait((running, over), return_when=asyncio.FIRST_COMPLETED)
        if running.done() and not running.cancelled():
            running.result()
    finally:
        for task in (running, over):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        await bench.stop()
    if bench.recorded is None:
        return 0
    print(f"# rows served: {bench.recorded.served}", file=out)
    return 0 if bench.recorded.finished.is_set() else 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="manhole-gateway simulate", description=__doc__)
    parser.add_argument("--scenario", default="normal-day", help=f"one of {', '.join(scenarios.names())}, or a file")
    parser.add_argument("--site", type=Path, help="the site whose instruments to imitate (default: little-valley)")
    parser.add_argument("--speed", type=float, default=1.0, help="virtual seconds in every real one")
    parser.add_argument("--duration", metavar="'40 min'", help="of the scenario's own time (default: all of it)")
    parser.add_argument("--paced", action="store_true", help="pass the bytes at the speed of each line's baud rate")
    parser.add_argument("--recorded", type=Path, metavar="FILE", help="show this CSV instead of the process model")
    parser.add_argument("--map", action="append", default=[], metavar="CHANNEL=COLUMN", help="where a channel is in it")
    return parser


def _columns(pairs: Sequence[str]) -> Mapping[str, str]:
    columns: dict[str, str] = {}
    for pair in pairs:
        channel, equals, column = pair.partition("=")
        if not equals or not channel or not column:
            raise InputError(f"--map {pair!r}: write CHANNEL=COLUMN")
        columns[channel] = column
    return columns


def _duration_us(text: str | None, scenario: Scenario) -> int:
    if text is None:
        return round(scenario.duration_s * 1e6)
    try:
        return parse_duration_us(text)
    except ValueError as error:
        raise InputError(f"--duration: {error}") from error
