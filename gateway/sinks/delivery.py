"""From the journal to one sink: the only retry loop, whatever the sink.

The journal is the truth and the sink a cursor over it. Records are handed over in order, a window at a time; each comes
back accepted, refused (parked with the reason) or kept (tried again). The cursor moves over the unbroken settled run
only, so a restart sends some records twice and none never; their ids do not change, so a consumer can tell.

Live first: after an outage that left more than `live_first_above` records, what is newest goes on at once and the rest
follows behind it, flagged as history and throttled. Delays here are real ones, on the bench too: a broker does not
live on a scaled clock.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from gateway.backoff import Backoff
from gateway.clock import Clock
from gateway.errors import DeliveryError, Refused, StoreError, TryLater
from gateway.sinks.contract import Counts, Pace, Record, RecordSource, Replayed, Sink
from gateway.sinks.progress import Progress

__all__ = ["Delivery"]

log = logging.getLogger(__name__)

_PAGE = 200  # records read from the journal at once
_SCAN = 20_000  # how far back the newest state of each alarm is looked for when live goes first
_TICK_S = 0.1  # the grain of the throttle


@dataclass(eq=False, slots=True)
class _Course:
    """One walk over the journal: what it settled, and what it has handed over without an answer yet."""

    progress: Progress
    is_replay: bool = False
    flying: set[int] = field(default_factory=set)
    acknowledged: int = 0
    rejected: int = 0


@dataclass(eq=False, slots=True)
class _Lane:
    """A stretch of a course, read and handed over in order: from after `start` to `until`, or without end."""

    course: _Course
    start: int
    after: int
    until: int | None
    hist: bool
    ready: deque[Record] = field(default_factory=deque)
    done: "asyncio.Future[Replayed] | None" = None

    def rewind(self) -> None:
        """Read again from the lowest record that is not settled."""
        self.ready.clear()
        self.after = max(self.start, self.course.progress.cursor)


class Delivery:
    """Brings the journal to one sink. `run` until cancelled; `wake` after each commit."""

    def __init__(self, sink: Sink, source: RecordSource, clock: Clock, pace: Pace | None = None) -> None:
        self._sink = sink
        self._source = source
        self._clock = clock
        self._pace = pace or Pace()
        self._backoff = Backoff(self._pace.retry_base_s, self._pace.retry_cap_s)
        self._course = _Course(Progress(0))
        self._live: _Lane | None = None
        self._behind: deque[_Lane] = deque()  # history and replays, served in turn
        self._answers: deque[tuple[_Course, Record, DeliveryError | None]] = deque()
        self._stir = asyncio.Event()
        self._moved = asyncio.Event()
        self._resting = False
        self._tick_s = max(_TICK_S, 1 / self._pace.hist_per_s)
        self._allowance = self._per_tick = self._pace.hist_per_s * self._tick_s
        self._throttled = False
        self._look = True  # the journal may hold more than `_last`
        self._last = self._told = 0
        self._published = self._acknowledged = self._rejected = 0
        self._reasons: set[str] = set()

    @property
    def name(self) -> str:
        """The sink's name."""
        return self._sink.name

    @property
    def counts(self) -> Counts:
        """The counters, as of the last look at the journal."""
        progress = self._course.progress
        return Counts(
            self._published, self._acknowledged, self._rejected, progress.open_between(progress.cursor + 1, self._last)
        )

    def wake(self) -> None:
        """Look into the journal again: something was committed. Never blocks."""
        self._look = True
        self._stir.set()

    async def run(self) -> None:
        """Hold the sink's connection and deliver, until cancelled; the journal must stay open until this returns."""
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._sink.run(), name=f"sink {self.name}")
                group.create_task(self._deliver(), name=f"delivery {self.name}")
        finally:
            # What was accepted during the goodbye need not be sent again by the next process.
            for course, record, error in self._answers:
                if error is None:
                    course.progress.settle(record.seq)
            self._move_cursor()

    async def drained(self) -> None:
        """Wait until everything committed when this is called is settled."""
        target = await self._source.last_seq()
        self.wake()
        while self._live is None or self._course.progress.cursor < target:
            self._moved.clear()
            await self._moved.wait()

    async def replay(self, from_seq: int, to_seq: int) -> Replayed:
        """Send a range again, flagged as history, and wait for its answers; the cursor stays where it is.

        For a broker that lost what it had acknowledged. What is refused now is counted, not parked a second time.
        """
        done: asyncio.Future[Replayed] = asyncio.get_running_loop().create_future()
        start = from_seq - 1
        lane = _Lane(_Course(Progress(start), is_replay=True), start, start, to_seq, hist=True, done=done)
        self._behind.append(lane)
        self._stir.set()
        try:
            return await done
        finally:
            if lane in self._behind:
                self._behind.remove(lane)

    async def _deliver(self) -> None:
        self._sink.watch(self._stir.set)
        while True:
            self._stir.clear()
            try:
                if self._live is None:
                    await self._begin()
                await self._take_answers()
                if not self._resting and self._sink.room > 0:
                    await self._hand_over()
            except StoreError as error:
                self._rest(TryLater(f"journal: {error}"))
            self._moved.set()
            await self._stir.wait()

    async def _begin(self) -> None:
        cursor = await self._source.cursor(self.name)
        self._last = await self._source.last_seq()
        self._course = _Course(Progress(cursor))
        self._told = cursor
        self._live = _Lane(self._course, cursor, cursor, None, hist=False)

    async def _hand_over(self) -> None:
        if self._look:
            self._look = False
            try:
                self._last = await self._source.last_seq()
            except StoreError:
                self._look = True
                raise
        await self._put_live_first()
        for lane in self._lanes():
            await self._read(lane)
        if self._submit_ready():
            # There may be more; but first a turn for the answers, or a sink with endless room would never be heard.
            self._stir.set()
            await asyncio.sleep(0)
        self._end_lanes()

    def _lanes(self) -> tuple[_Lane, ...]:
        return (self._live, *self._behind) if self._live else tuple(self._behind)

    async def _put_live_first(self) -> None:
        """When too much waits in front of the newest records, let them go first and the rest follow as history."""
        live, progress = self._live, self._course.progress
        if live is None or progress.open_between(live.start + 1, self._last) <= self._pace.live_first_above:
            return
        mark = self._last
        self._behind = deque(lane for lane in self._behind if lane.course is not self._course)
        cursor = progress.cursor
        self._behind.appendleft(_Lane(self._course, cursor, cursor, mark, hist=True))
        self._live = _Lane(self._course, mark, mark, None, hist=False)
        log.info("%s: %d records behind; live first", self.name, progress.open_between(cursor + 1, mark))
        await self._show_current(max(cursor, mark - _SCAN), mark)

    async def _show_current(self, after: int, until: int) -> None:
        newest: dict[object, Record] = {}
        while page := await self._source.records(after, _PAGE, until):
            after = page[-1].seq
            for record in page:
                if record.kind == "alarm" and isinstance(record.body, Mapping):
                    newest[record.body.get("alarm")] = record
            await asyncio.sleep(0)
        for record in newest.values():
            self._sink.current(record)

    async def _read(self, lane: _Lane) -> None:
        if lane.ready or self._sink.room == 0 or (lane.hist and self._throttled):
            return
        course, end = lane.course, self._last if lane.until is None else lane.until
        while not lane.ready and lane.after < end:
            lane.after = course.progress.before_next_open(lane.after)
            page = await self._source.records(lane.after, _PAGE, lane.until)
            for record in page:
                if record.seq > lane.after + 1:  # numbers nobody bears: pruned, or never written
                    course.progress.settle(lane.after + 1, record.seq - 1)
                lane.after = record.seq
                if not course.progress.is_settled(record.seq) and record.seq not in course.flying:
                    lane.ready.append(record)
            if not page:
                if lane.until is not None:
                    course.progress.settle(lane.after + 1, lane.until)
                    lane.after = lane.until
                break

    def _submit_ready(self) -> bool:
        """Hand over what is read, live first and the rest in turn; whether anything went."""
        went = False
        while self._sink.room > 0:
            lane = self._next_lane()
            if lane is None:
                break
            self._submit(lane, lane.ready.popleft())
            went = True
        return went

    def _next_lane(self) -> _Lane | None:
        if self._live and self._live.ready:
            return self._live
        if self._throttled:
            return None
        for _ in range(len(self._behind)):
            self._behind.rotate(-1)
            if self._behind[-1].ready:
                self._spend_allowance()
                return self._behind[-1]
        return None

    def _spend_allowance(self) -> None:
        if self._allowance == self._per_tick:
            asyncio.get_running_loop().call_later(self._tick_s, self._refill)
        self._allowance -= 1
        self._throttled = self._allowance < 1

    def _refill(self) -> None:
        self._allowance, self._throttled = self._per_tick, False
        self._stir.set()

    def _submit(self, lane: _Lane, record: Record) -> None:
        course = lane.course
        course.flying.add(record.seq)
        self._published += 1
        future = self._sink.submit(record, lane.hist)

        def answered(future: "asyncio.Future[None]") -> None:
            if future.cancelled():
                error: BaseException | None = TryLater("given up by the sink")
            else:
                error = future.exception()
            if error is not None and not isinstance(error, DeliveryError):
                log.error("%s: record %d: unexpected answer", self.name, record.seq, exc_info=error)
                error = TryLater(f"unexpected: {error!r}")
            self._answers.append((course, record, error))
            self._stir.set()

        future.add_done_callback(answered)

    async def _take_answers(self) -> None:
        failure: TryLater | None = None
        while self._answers:
            course, record, error = self._answers[0]
            if isinstance(error, Refused):
                await self._park(course, record, str(error))
            elif error is not None:
                failure = failure or (error if isinstance(error, TryLater) else TryLater(str(error)))
            else:
                self._accept(course, record)
            course.flying.discard(record.seq)
            self._answers.popleft()
        if failure is not None:
            self._rest(failure)
        self._end_lanes()
        self._move_cursor()

    def _move_cursor(self) -> None:
        if self._told < (cursor := self._course.progress.cursor):
            self._source.move_cursor(self.name, cursor)
            self._told = cursor

    def _accept(self, course: _Course, record: Record) -> None:
        course.progress.settle(record.seq)
        course.acknowledged += 1
        self._acknowledged += 1
        if not self._resting and (failures := self._backoff.reset()):
            log.info("%s: delivering again after %d failed attempts", self.name, failures)

    async def _park(self, course: _Course, record: Record, reason: str) -> None:
        if not course.is_replay:
            # Parked on disk before it counts as settled, or a crash between the two would lose it.
            await self._source.park(self.name, record.seq, reason, self._clock.now())
        course.progress.settle(record.seq)
        course.rejected += 1
        self._rejected += 1
        level = logging.DEBUG if reason in self._reasons else logging.WARNING
        if len(self._reasons) < 1000:
            self._reasons.add(reason)
        log.log(level, "%s: record %d refused and parked: %s", self.name, record.seq, reason)

    def _rest(self, failure: TryLater) -> None:
        """Something was kept: start again at the lowest open record, after a pause."""
        for lane in self._lanes():
            lane.rewind()
        if self._resting:
            return
        self._resting = True
        level = logging.DEBUG if self._backoff.failures else logging.WARNING
        delay_s = self._backoff.next_s(failure.not_before_s)
        log.log(level, "%s: kept, trying again in %.1f s: %s", self.name, delay_s, failure)
        asyncio.get_running_loop().call_later(delay_s, self._rested)

    def _rested(self) -> None:
        self._resting = False
        self._stir.set()

    def _end_lanes(self) -> None:
        """Drop the lanes that have nothing left to do, and tell who waits for them."""
        for lane in tuple(self._behind):
            course = lane.course
            if lane.until is None or course.progress.open_between(lane.start + 1, lane.until):
                continue
            self._behind.remove(lane)
            if lane.done is not None and not lane.done.done():
                lane.done.set_result(Replayed(course.acknowledged, course.rejected))
