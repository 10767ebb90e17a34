"""The retry loop between the journal and a sink, against a sink that answers as the test says."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.clock import SystemClock
from gateway.errors import DeliveryError, Refused, TryLater
from gateway.model import Instant
from gateway.sinks.contract import Pace, Record, Replayed
from gateway.sinks.delivery import Delivery
from tests.support.listed_source import Listed, ListedSource, reading_record

QUICK = Pace(live_first_above=1000, hist_per_s=1e6, retry_base_s=0.002, retry_cap_s=0.005)
Verdict = Callable[[Record, int], DeliveryError | None]


@dataclass
class ScriptedSink:
    """Answers each record, once per turn of the loop, by a verdict on the record and how often it was handed over."""

    verdict: Verdict = lambda _record, _times: None
    window: int = 4
    name: str = "scripted"
    taken: list[tuple[int, bool]] = field(default_factory=list)
    shown: list[int] = field(default_factory=list)
    most_unanswered: int = 0
    waiting: list[tuple[Record, "asyncio.Future[None]"]] = field(default_factory=list)
    backwards: bool = False
    held: bool = False
    stir: Callable[[], None] = lambda: None

    @property
    def room(self) -> int:
        """What the window leaves."""
        return max(0, self.window - len(self.waiting))

    def watch(self, stir: Callable[[], None]) -> None:
        """Keep it for the test."""
        self.stir = stir

    def submit(self, record: Record, hist: bool) -> "asyncio.Future[None]":
        """Take it; the answer comes later."""
        self.taken.append((record.seq, hist))
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.append((record, future))
        self.most_unanswered = max(self.most_unanswered, len(self.waiting))
        return future

    def current(self, record: Record) -> None:
        """Note it."""
        self.shown.append(record.seq)

    def answer_one(self) -> None:
        """Answer the first or, when going backwards, the last record that waits."""
        if self.waiting and not self.held:
            record, future = self.waiting.pop(-1 if self.backwards else 0)
            times = sum(1 for seq, _ in self.taken if seq == record.seq)
            error = self.verdict(record, times)
            if error is None:
                future.set_result(None)
            else:
                future.set_exception(error)

    async def run(self) -> None:
        """Answer for ever."""
        while True:
            await asyncio.sleep(0)
            self.answer_one()

    @property
    def order(self) -> list[int]:
        """The records in the order of their first arrival."""
        return list(dict.fromkeys(seq for seq, _ in self.taken))


async def during(delivery: Delivery, test: Coroutine[Any, Any, Any]) -> Any:
    """Run the delivery while the test goes on."""
    task = asyncio.create_task(delivery.run())
    try:
        return await asyncio.wait_for(test, 10)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def deliver(sink: ScriptedSink, source: ListedSource, pace: Pace = QUICK) -> Delivery:
    """Deliver all there is, and hand back the delivery."""

    async def run() -> Delivery:
        delivery = Delivery(sink, source, SystemClock(), pace)
        await during(delivery, delivery.drained())
        return delivery

    return asyncio.run(run())


def test_everything_accepted_arrives_once_and_in_order() -> None:
    """With nothing in the way each record is handed over once, in order, a window at a time."""
    source, sink = ListedSource([reading_record(n) for n in range(1, 501)]), ScriptedSink(window=7)
    delivery = deliver(sink, source)
    assert sink.taken == [(n, False) for n in range(1, 501)]
    assert sink.most_unanswered == 7
    assert source.stored_cursor == 500
    counts = delivery.counts
    assert (counts.published, counts.acknowledged, counts.rejected, counts.unsent) == (500, 500, 0, 0)


def test_a_refused_record_is_parked_with_its_reason_and_the_rest_goes_on() -> None:
    """Refusal settles a record: it is parked, counted, never sent again, and blocks nothing."""
    source = ListedSource([reading_record(n) for n in range(1, 31)])
    sink = ScriptedSink(lambda record, _: Refused("Not authorized (135)") if record.seq % 10 == 3 else None)
    delivery = deliver(sink, source)
    assert source.parked == dict.fromkeys((3, 13, 23), "Not authorized (135)")
    assert len(sink.taken) == 30
    assert source.stored_cursor == 30
    assert (delivery.counts.acknowledged, delivery.counts.rejected) == (27, 3)


def test_a_kept_record_is_tried_again_and_holds_the_cursor() -> None:
    """Until it is settled the cursor stays in front of it, though later records were accepted."""
    source = ListedSource([reading_record(n) for n in range(1, 11)])
    at_failure: list[int] = []

    def verdict(record: Record, times: int) -> DeliveryError | None:
        if record.seq == 5 and times < 4:
            at_failure.append(source.stored_cursor)
            return TryLater("quota exceeded")
        return None

    sink = ScriptedSink(verdict)
    deliver(sink, source)
    assert Counter(seq for seq, _ in sink.taken) == Counter({**dict.fromkeys(range(1, 11), 1), 5: 4})
    assert max(at_failure) <= 4
    assert source.stored_cursor == 10


def test_a_restart_begins_at_the_cursor() -> None:
    """What the last process did not see settled is sent again under the same number, and nothing before it."""
    source, sink = ListedSource([reading_record(n) for n in range(1, 21)], stored_cursor=12), ScriptedSink()
    deliver(sink, source)
    assert sink.order == list(range(13, 21))


def test_numbers_nobody_bears_do_not_hold_the_cursor() -> None:
    """A gap in the numbers, from pruning or an abandoned transaction, is stepped over."""
    numbers = [3, 4, 9, 10, 50]
    source, sink = ListedSource([reading_record(n) for n in numbers]), ScriptedSink()
    deliver(sink, source)
    assert sink.order == numbers
    assert source.stored_cursor == 50


def test_records_committed_later_follow_on_a_wake() -> None:
    """Each commit wakes the delivery; nothing is polled."""

    async def run() -> None:
        source, sink = ListedSource(), ScriptedSink()
        delivery = Delivery(sink, source, SystemClock(), QUICK)

        async def commits() -> None:
            for n in range(1, 6):
                source.listed.append(reading_record(n))
                delivery.wake()
                await delivery.drained()
            assert sink.order == [1, 2, 3, 4, 5]

        await during(delivery, commits())

    asyncio.run(run())


def test_nothing_is_handed_over_while_the_sink_is_down() -> None:
    """A sink without room is left alone until it stirs; what was committed meanwhile goes out then."""

    async def run() -> None:
        source, sink = ListedSource([reading_record(n) for n in range(1, 6)]), ScriptedSink(window=0)
        delivery = Delivery(sink, source, SystemClock(), QUICK)

        async def outage() -> None:
            for _ in range(20):
                await asyncio.sleep(0)
            assert sink.taken == []
            sink.window = 2
            sink.stir()
            await delivery.drained()
            assert sink.order == [1, 2, 3, 4, 5]

        await during(delivery, outage())

    asyncio.run(run())


def test_a_journal_that_cannot_be_read_or_written_delays_and_loses_nothing() -> None:
    """StoreError on reading or parking is waited out; a record is settled only once its parking is on disk."""
    source = ListedSource([reading_record(n) for n in range(1, 11)], failing_reads=3, failing_parks=3)
    sink = ScriptedSink(lambda record, _: Refused("no") if record.seq == 4 else None)
    deliver(sink, source)
    assert source.parked == {4: "no"}
    assert sink.order == list(range(1, 11))
    assert source.stored_cursor == 10


def test_a_stop_while_parking_fails_leaves_the_record_in_front_of_the_cursor() -> None:
    """What could not be parked is neither settled by a stop: the next process hands it over again."""

    async def run() -> None:
        source = ListedSource([reading_record(n) for n in range(1, 11)], failing_parks=1_000_000)
        sink = ScriptedSink(lambda record, _: Refused("no") if record.seq == 4 else None)

        async def two_attempts() -> None:
            while source.failing_parks > 999_998:
                await source.last_seq()
                await asyncio.sleep(0)

        await during(Delivery(sink, source, SystemClock(), QUICK), two_attempts())
        assert source.parked == {}
        assert source.stored_cursor == 3

    asyncio.run(run())


def test_a_new_attempt_leaves_alone_what_still_waits_for_its_answer() -> None:
    """After a failure reading begins again at the lowest open record, and skips those handed over without an answer."""

    async def run() -> None:
        source, sink = ListedSource([reading_record(n) for n in range(1, 5)]), ScriptedSink(held=True)
        delivery = Delivery(sink, source, SystemClock(), QUICK)

        async def fail_the_first() -> None:
            while len(sink.waiting) < 4:
                await source.last_seq()
                await asyncio.sleep(0)
            _, first = sink.waiting.pop(0)
            first.set_exception(TryLater("quota exceeded"))
            while len(sink.waiting) < 4:
                await source.last_seq()
                await asyncio.sleep(0)
            assert [seq for seq, _ in sink.taken] == [1, 2, 3, 4, 1]
            sink.held = False
            await delivery.drained()
            assert len(sink.taken) == 5

        await during(delivery, fail_the_first())

    asyncio.run(run())


def test_live_goes_first_and_history_follows_flagged() -> None:
    """Behind by more than the threshold, new records overtake the backlog, which comes after as history, in order."""

    async def run() -> None:
        source = ListedSource([reading_record(n) for n in range(1, 101)])
        sink = ScriptedSink(window=2)
        pace = Pace(live_first_above=50, hist_per_s=200, retry_base_s=0.002, retry_cap_s=0.005)
        delivery = Delivery(sink, source, SystemClock(), pace)

        async def commit_live() -> None:
            for _ in range(50):
                await asyncio.sleep(0)
            assert sink.taken
            source.listed.extend(reading_record(n) for n in range(101, 105))
            delivery.wake()
            await delivery.drained()

        await during(delivery, commit_live())
        assert [hist for seq, hist in sorted(sink.taken)] == [True] * 100 + [False] * 4
        live = [sink.order.index(n) for n in range(101, 105)]
        assert live == sorted(live)
        assert max(live) < 40, "live records waited behind the history"
        assert [n for n in sink.order if n <= 100] == list(range(1, 101))
        assert len(sink.taken) == 104
        assert source.stored_cursor == 104
        assert all(move <= 100 or move == 104 for move in source.cursor_moves), "the cursor skipped the history"

    asyncio.run(run())


def test_a_backlog_below_the_threshold_stays_in_order_and_unflagged() -> None:
    """A short outage is no history: order is kept and nothing is throttled."""
    source, sink = ListedSource([reading_record(n) for n in range(1, 51)]), ScriptedSink()
    deliver(sink, source, Pace(live_first_above=50, hist_per_s=1))
    assert sink.taken == [(n, False) for n in range(1, 51)]


def test_the_newest_state_of_each_alarm_is_shown_before_the_history() -> None:
    """Of a backlog's alarm events the newest per alarm is shown at once, whatever waits in front of it."""

    def alarm(seq: int, name: str) -> Listed:
        return Listed(seq, "alarm", Instant(seq, seq), {"alarm": name})

    listed = [reading_record(n) for n in range(1, 401)]
    listed[99], listed[199], listed[299] = alarm(100, "a"), alarm(200, "b"), alarm(300, "a")
    source, sink = ListedSource(listed), ScriptedSink()
    deliver(sink, source, Pace(live_first_above=50, hist_per_s=1e6))
    assert sorted(sink.shown) == [200, 300]


def test_a_replay_sends_a_range_again_and_leaves_the_cursor() -> None:
    """A broker that lost what it acknowledged gets the range again as history; nothing is parked twice."""

    async def run() -> None:
        source = ListedSource([reading_record(n) for n in range(1, 31)])
        sink = ScriptedSink(lambda record, _: Refused("no") if record.seq == 12 else None)
        delivery = Delivery(sink, source, SystemClock(), QUICK)

        async def replay() -> None:
            await delivery.drained()
            source.parked.clear()
            sink.taken.clear()
            moves = list(source.cursor_moves)
            assert await delivery.replay(10, 15) == Replayed(acknowledged=5, rejected=1)
            assert sink.taken == [(n, True) for n in range(10, 16)]
            assert source.cursor_moves == moves
            assert source.parked == {}
            assert await delivery.replay(40, 60) == Replayed(0, 0)

        await during(delivery, replay())

    asyncio.run(run())


def test_the_log_names_an_outage_once_and_its_end_once(caplog: pytest.LogCaptureFixture) -> None:
    """First failure WARNING, repeats DEBUG, recovery INFO with the count."""
    caplog.set_level(logging.DEBUG, logger="gateway.sinks.delivery")
    source = ListedSource([reading_record(n) for n in range(1, 4)])
    deliver(ScriptedSink(lambda _, times: TryLater("away") if times < 4 else None, window=1), source)
    levels = [record.levelname for record in caplog.records][:4]
    assert levels == ["WARNING", "DEBUG", "DEBUG", "INFO"]
    assert caplog.records[3].getMessage() == "scripted: delivering again after 3 failed attempts"


OUTCOMES = st.sampled_from(["accepted", "accepted", "refused", "kept"])


@settings(max_examples=150)
@given(
    numbers=st.sets(st.integers(1, 60), max_size=40).map(sorted),
    outcomes=st.lists(OUTCOMES, max_size=80),
    window=st.integers(1, 6),
    backwards=st.booleans(),
    threshold=st.sampled_from([3, 10, 1000]),
    late=st.integers(0, 20),
)
def test_no_interleaving_of_outcomes_loses_a_record_or_passes_an_open_one(
    numbers: list[int], outcomes: list[str], window: int, backwards: bool, threshold: int, late: int
) -> None:
    """Whatever is accepted, refused or kept, in whatever order the answers come: the cursor never passes a record that
    is neither accepted nor parked, and at the end every record is one of the two."""
    source = ListedSource([reading_record(n) for n in numbers[: len(numbers) - late]])
    accepted: set[int] = set()
    script = iter(outcomes)
    wrong: list[int] = []

    def check() -> None:
        settled = accepted | set(source.parked)
        wrong.extend(n for n in numbers if n <= source.stored_cursor and n not in settled)

    def verdict(record: Record, _times: int) -> DeliveryError | None:
        check()
        outcome = next(script, "accepted")
        if outcome == "refused":
            return Refused("refused")
        if outcome == "kept":
            return TryLater("kept", 0.0)
        accepted.add(record.seq)
        return None

    sink = ScriptedSink(verdict, window=window, backwards=backwards)
    pace = Pace(live_first_above=threshold, hist_per_s=1e6, retry_base_s=1e-9, retry_cap_s=1e-9)

    async def run() -> None:
        delivery = Delivery(sink, source, SystemClock(), pace)
        delivery._backoff.floor_s = 0.0

        async def commits() -> None:
            for n in numbers[len(numbers) - late :] if late < len(numbers) else numbers[len(source.listed) :]:
                source.listed.append(reading_record(n))
                delivery.wake()
                await asyncio.sleep(0)
            await delivery.drained()

        await during(delivery, commits())

    asyncio.run(run())
    check()
    assert wrong == []
    assert sink.most_unanswered <= window
    assert accepted | set(source.parked) == set(numbers)
    assert source.stored_cursor == (numbers[-1] if numbers else 0)
