"""The delivery over the real journal: batches, events between readings, cursors that survive, records parked."""

import asyncio
from contextlib import suppress
from pathlib import Path

from gateway.clock import SystemClock
from gateway.errors import Refused
from gateway.model import (
    AlarmEdge,
    AlarmEvent,
    AlarmState,
    Instant,
    Note,
    Outcome,
    Quality,
    Reading,
    Severity,
)
from gateway.sinks.contract import Pace, Record, Sink
from gateway.sinks.delivery import Delivery
from gateway.sinks.mqtt_sink import MqttSink
from gateway.store.journal import Journal
from tests.support.mqtt_peer import MqttPeer
from tests.support.small_site import mqtt_part, small_site

QUICK = Pace(live_first_above=100_000, hist_per_s=1e6, retry_base_s=0.01, retry_cap_s=0.05)
BATCHES, READINGS = 20, 15
TOTAL = BATCHES * (READINGS + 2)


def at(n: int) -> Instant:
    """The n-th second."""
    return Instant(n * 1_000_000, n * 1_000_000)


def outcome(n: int) -> Outcome:
    """Fifteen readings, one alarm event and one note: seventeen records."""
    readings = tuple(Reading("ph", at(n), (n, i), n + i / 100, Quality.GOOD) for i in range(READINGS))
    edge = AlarmEvent(
        "lv-ph-low", n, AlarmEdge.RAISED, at(n), Severity.HIGH, AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED
    )
    return Outcome(readings=readings, alarm_events=(edge,), notes=(Note("command", at(n), {"n": n}),))


class Collector:
    """A sink that takes `most` records and then is down; numbers in `refused` are refused."""

    name = "collector"

    def __init__(self, most: int, refused: frozenset[int] = frozenset()) -> None:
        self.most = most
        self.refused = refused
        self.taken: list[tuple[int, str]] = []

    @property
    def room(self) -> int:
        """It answers at once."""
        return min(4, self.most - len(self.taken))

    def watch(self, stir: object) -> None:
        """Nothing to tell."""

    def submit(self, record: Record, hist: bool) -> "asyncio.Future[None]":
        """Answer at once."""
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if record.seq in self.refused:
            future.set_exception(Refused("no"))
        else:
            self.taken.append((record.seq, record.kind))
            future.set_result(None)
        return future

    def current(self, record: Record) -> None:
        """Not shown."""

    async def run(self) -> None:
        """Nothing to hold."""
        await asyncio.Event().wait()


async def deliver(journal: Journal, sink: Sink, until_seq: int = TOTAL) -> None:
    """Deliver until the cursor stands there."""
    delivery = Delivery(sink, journal, SystemClock(), QUICK)
    task = asyncio.create_task(delivery.run())
    try:
        async with asyncio.timeout(10):
            while await journal.cursor(sink.name) < until_seq:  # noqa: ASYNC110 - the journal has no event for it
                await asyncio.sleep(0.002)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def test_each_process_goes_on_where_the_last_one_stood(tmp_path: Path) -> None:
    """Three processes over one journal file: every record once, in order, except what was parked, durably."""
    taken: list[tuple[int, str]] = []

    async def process(most: int, until_seq: int) -> None:
        journal = Journal(tmp_path / "journal.sqlite", "lv-mh3", "boot-1")
        recovered = await journal.open(at(0))
        assert recovered is not None
        if await journal.last_seq() == 0:
            for n in range(1, BATCHES + 1):
                journal.add(outcome(n))
                await journal.commit(at(n))
            assert await journal.last_seq() == TOTAL
        sink = Collector(most, frozenset({5, 100}))
        await deliver(journal, sink, until_seq)
        taken.extend(sink.taken)
        await journal.close(at(100))

    asyncio.run(process(60, 61))  # 5 is parked
    asyncio.run(process(101, 163))  # so is 100
    asyncio.run(process(TOTAL, TOTAL))
    assert [seq for seq, _ in taken] == [n for n in range(1, TOTAL + 1) if n not in {5, 100}]
    assert [kind for _, kind in taken].count("alarm") == BATCHES

    async def counts() -> tuple[int, int]:
        journal = Journal(tmp_path / "journal.sqlite", "lv-mh3", "boot-1")
        await journal.open(at(0))
        found = await journal.counts("collector")
        await journal.close(at(101))
        return found.unsent, found.rejected

    assert asyncio.run(counts()) == (0, 2)


def test_what_the_journal_holds_can_be_published(tmp_path: Path) -> None:
    """Every kind of record as the journal gives it back makes a valid message, and an alarm its state."""

    async def run() -> None:
        journal = Journal(tmp_path / "journal.sqlite", "lv-mh3", "boot-1")
        await journal.open(at(0))
        journal.add(outcome(1))
        await journal.commit(at(1))
        async with MqttPeer() as peer:
            sink = MqttSink(mqtt_part(peer.port), small_site(), SystemClock())
            await deliver(journal, sink, READINGS + 2)
            topics = [p.topic.removeprefix("manhole/v1/lv-mh3/") for p in peer.published]
            assert (await journal.counts("mqtt")).rejected == 0
            assert topics.count("telemetry") == READINGS
            assert topics.count("event") == 2
            assert topics.count("alarm/lv-ph-low") == 1
        await journal.close(at(2))

    asyncio.run(run())
