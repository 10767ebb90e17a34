"""A recorded file on simulated instruments, over a real pty and a real TCP socket, through the gateway, to a real
mosquitto that is killed on the way: what arrives is the file, and nothing else.
"""

import asyncio
import csv
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from pathlib import Path

import pytest

from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.control import ask, socket_path
from gateway.shipped import shipped
from gateway.site import Part
from simulators import scenario as scenarios
from simulators.bench import Bench
from simulators.recorded import read_rows
from tests.support.journal_rows import readings
from tests.support.mosquitto import Broker, Consumer, wait_for

pytestmark = [pytest.mark.mosquitto, pytest.mark.recorded]

SERIES = "03_mines_sbmbr_sewage/sbmbr.csv"
ROWS = 500
SPEED = 500
COLUMNS = {"ph": "ras_ph", "temperature": "ras_temp_C", "flow": "sewage_flow", "conductivity": "permeate_cond_uS_cm"}
COLUMNS |= {"tss": "ras_tss_mg_L"}
M3S_PER_GPM = 0.003785411784 / 60
# The steps of the instruments, in the channel's unit, from their makers' documents.
STEPS = {"ph": 0.01, "temperature": 0.1, "flow": 1e-7 / M3S_PER_GPM, "conductivity": 1.0, "tss": 1.0}


def changes(values: Iterable[float | None], step: float) -> list[int | None]:
    """The values in whole steps, each stretch of equal ones once."""
    steps = [None if value is None else round(value / step) for value in values]
    return [value for value, _ in groupby(steps)]


def numbers(steps: Iterable[int | None]) -> list[int]:
    """The numbers alone, each stretch of equal ones once."""
    return [value for value, _ in groupby(step for step in steps if step is not None)]


def of_file(data: Path, column: str) -> list[float | None]:
    """One column of the file, read here by other means."""
    with data.open(encoding="utf-8") as lines:
        cells = [row[column] for row in csv.DictReader(lines)][:ROWS]
    return [float(cell) if cell else None for cell in cells]


@pytest.mark.timeout(180)
def test_what_arrives_at_the_broker_is_the_file(shared_data: Callable[[str], Path], tmp_path: Path) -> None:
    """Every row to the instruments' resolution, in order, none invented; ids complete after a kill -9 of the broker."""
    data = shared_data(SERIES)
    with Broker(tmp_path) as broker, Consumer(broker.port, "manhole/v1/lv-mh3/#") as consumer:
        last_seq, journal = asyncio.run(run_through(data, tmp_path, broker))
        expected = {f"lv-mh3-{seq}" for seq in range(1, last_seq + 1)}
        got = "manhole/v1/lv-mh3"
        wait_for(lambda: expected <= {*consumer.ids(f"{got}/telemetry"), *consumer.ids(f"{got}/event")}, "every record")
        assert {*consumer.ids(f"{got}/telemetry"), *consumer.ids(f"{got}/event")} == expected
        first_of = {body["id"]: body for body in reversed(consumer.of(f"{got}/telemetry"))}
        in_order = [first_of[f"lv-mh3-{seq}"] for seq in range(1, last_seq + 1) if f"lv-mh3-{seq}" in first_of]
    for channel, column in COLUMNS.items():
        arrived = [body["m"][channel]["value"] for body in in_order if channel in body["m"]]
        stored = [value for _, value, _ in readings(journal, channel)]
        assert arrived == pytest.approx(stored, nan_ok=False), channel
        file = of_file(data, column)
        told, meant = (changes(values, STEPS[channel]) for values in (arrived, file))
        # A machine that stands still for a moment misses a poll, and says so: a gap more, and never another number.
        assert numbers(told) == numbers(meant), channel
        assert told.count(None) >= meant.count(None), channel
        assert len(arrived) >= len(file)


async def run_through(data: Path, folder: Path, broker: Broker) -> tuple[int, Path]:
    """Serve the rows, kill the broker in the middle, send again what it had acknowledged; the journal's last number."""
    site = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
    rows = read_rows(data, site.channels, COLUMNS)[:ROWS]
    clock = ScaledClock(SPEED)
    bench = Bench(scenarios.load("recorded"), site, clock, rows=rows)
    buses = await bench.start()
    assert bench.recorded is not None
    sink = Part("mqtt", "mqtt", {"host": "127.0.0.1", "port": broker.port, "hist_per_s": 2000.0})
    phone = Part("bench", "bench", {"folder": folder / "texts"})
    app = GatewayApp(replace(site, buses=buses, sinks=(sink,), notifiers=(phone,)), clock, folder / "state")
    running = asyncio.create_task(app.run(), name="gateway")
    try:
        while bench.recorded.served < ROWS // 2:  # noqa: ASYNC110  # the bench counts, it does not call
            await asyncio.sleep(0.02)
        await asyncio.to_thread(broker.kill)
        before = bench.recorded.served
        while bench.recorded.served < before + 20:  # noqa: ASYNC110  # measuring goes on without a broker
            await asyncio.sleep(0.02)
        await asyncio.to_thread(broker.start)
        await bench.recorded.finished.wait()
        rows_of = dict.fromkeys(COLUMNS, 0)
        while min(rows_of.values()) < ROWS:  # the last answer is on the wire, not yet in the journal
            await asyncio.sleep(0.05)
            rows_of = {channel: len(readings(app.journal.path, channel)) for channel in COLUMNS}
        await app.quiesce()
        last_seq = await app.journal.last_seq()
        again = {"command": "resend", "args": {"sink": "mqtt", "from_seq": 1, "to_seq": last_seq}}
        answer = await ask(socket_path(folder / "state"), again, timeout_s=60)
        assert answer["ok"], answer
        assert answer["acknowledged"] == last_seq
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await bench.stop()
    return last_seq, app.journal.path
