"""The account behind every average, baseline and report of one channel: minutes of the last 24 h, and local days.

A reading holds to the next one, so over its segment c is constant and the sum of c q dt is c times the water that
passed: the ledger asks the flow ledger for that and never hears a flow reading itself. Full minutes, local midnights
and the end of the hold cut a segment; readings wait in a list and are settled minute by minute when time has passed.
"""

from bisect import bisect_left
from collections.abc import Callable, Sequence
from datetime import tzinfo
from typing import Any

from gateway.model import Instant, Mode, Reading, Resume
from gateway.rules.flow_ledger import FlowLedger
from gateway.rules.minutes import STRAY_US, Minutes, placing, step_of
from gateway.rules.sums import HYDROGEN_SCALE, VALUE_SCALE, VOLUME_SCALE, DayRecord, DaySums
from gateway.rules.tally import Tally, Window
from gateway.signals.qc import DISAGREE, Evidence
from gateway.site import Channel

__all__ = ["VOLUME_SCALE", "DayRecord", "DaySums", "FlowLedger", "Ledger"]

_VALID = Evidence.VALID
_VOID = Evidence.VOID
_RUN = Mode.RUN
_NO_WORD, _DRY, _WET = 0, 1, 2
_KEPT_DAYS = 400
_SHRINK_AT = 450

_NEVER_US = 1 << 62
_Word = tuple[int, int, int, float]  # mono_us, state from there on, value in fixed point, value


class Ledger:
    """One per channel that an average, a baseline or a report needs. Feed readings in order and `advance` past them.

    Only VALID readings while discharging count; failed, missing and doubtful ones neither end nor extend the hold; dry
    ends it as no discharge, a technician at work as time for which nobody can tell. A channel of pH is summed as [H+].
    A reading from before a moment already settled counts from that moment on.
    """

    def __init__(self, channel: Channel, zone: tzinfo, start: Instant, flow: FlowLedger | None) -> None:
        self.channel = channel.name
        self.hydrogen = channel.quantity == "pH"
        self.flow = flow
        self._hold_us = channel.hold_us
        self.minutes = Minutes(zone, start, step_of(channel.poll_us))
        self._strays: list[Instant] = []
        self._offset_us = self.minutes.offset_us
        self._due_us = self.minutes.boundary_us
        self._words: list[_Word] = []
        self._word = (_NO_WORD, 0, 0.0)  # at the mark
        self._held_until_us = _NEVER_US  # the end of the hold of the latest word
        self._mark_us = start.mono_us
        self._follower = None if flow is None else flow.follow(start.mono_us)
        self._minute = Tally()
        self._day = Tally()
        self._day.discharging_us = start.mono_us - self.minutes.day_start.mono_us  # nobody saw the day begin
        self._day_from = (start.mono_us, *self._flow_totals(start.mono_us))
        self._window = Window()
        self._days: list[DayRecord] = []
        self._news = 0  # closed days `advance` has not told yet
        self._events: set[str] = set()
        self._day_touched = False
        self.closed = 0
        self._watchers: list[Callable[[], None]] = []

    def take(self, reading: Reading, weight: int, *, discharging: bool) -> None:
        """Take the channel's next reading; `discharging` False means that it was taken in no discharge."""
        at = reading.at
        mono_us = at.mono_us
        stray_us = at.utc_us - mono_us - self._offset_us
        if stray_us > STRAY_US or stray_us < -STRAY_US:
            self._offset_us += stray_us
            self._strays.append(at)
            self._due_us = mono_us
        if weight == _VALID:
            value = reading.value
            if value is None or not discharging:
                state, fixed, value = _DRY, 0, 0.0
            elif self.hydrogen:
                state, fixed = _WET, round(10.0**-value * HYDROGEN_SCALE)
            else:
                state, fixed = _WET, round(value * VALUE_SCALE)
        elif weight == _VOID and reading.mode is not _RUN:
            state, fixed, value = _NO_WORD, 0, 0.0
        elif weight == _VOID and reading.dry and DISAGREE not in reading.tests:
            state, fixed, value = _DRY, 0, 0.0
        else:
            return
        if mono_us > self._held_until_us:
            self._words.append((self._held_until_us, _NO_WORD, 0, 0.0))
        self._words.append((mono_us, state, fixed, value))
        self._held_until_us = _NEVER_US if state == _NO_WORD else mono_us + self._hold_us

    def advance(self, now: Instant) -> tuple[DayRecord, ...]:
        """Everything before `now` has been fed, and the flow ledger was advanced: the local days that closed since the
        last call, oldest first."""
        if now.mono_us >= self._due_us:
            self._settle(now.mono_us)
        if not self._news:
            return ()
        news = tuple(self._days[-self._news :])
        self._news = 0
        return news

    def settle(self, now: Instant) -> None:
        """The same, but the days that close wait for `advance`."""
        if now.mono_us >= self._due_us:
            self._settle(now.mono_us)

    def watch(self, minute_passed: Callable[[], None]) -> None:
        """Be called after every full minute that is settled, and every day that closed with it: the ledger is then as
        of that minute, however many pass in one call of `advance`. Watchers must not settle it further."""
        self._watchers.append(minute_passed)

    @property
    def settled(self) -> Instant:
        """The last full minute: everything here is as of then."""
        return self.minutes.at_mono(self._mark_us)

    @property
    def settled_us(self) -> int:
        """The monotonic moment up to which everything is settled: the last full minute."""
        return self._mark_us

    @property
    def next_minute_us(self) -> int:
        """The monotonic moment of the next full minute: until then nothing here changes."""
        return self.minutes.boundary_us

    @property
    def days(self) -> Sequence[DayRecord]:
        """Closed local days, newest last, at most 450. `closed` counts all there ever were."""
        return self._days

    @property
    def today(self) -> DayRecord:
        """The day under way, up to the last full minute; `end` is that minute."""
        return self._record(self.settled)

    @property
    def day(self) -> str:
        """The ISO date of the day under way."""
        return self.minutes.day

    @property
    def so_far(self) -> DaySums:
        """The sums of the day under way, up to the last full minute; cheaper than all of `today`."""
        return self._day.sums(hydrogen=self.hydrogen)

    @property
    def water_so_far(self) -> int:
        """All water of the day under way, up to the last full minute, in gal x VOLUME_SCALE."""
        return self._flow_totals(self._mark_us)[0] - self._day_from[1]

    def trailing(self, now: Instant) -> DaySums:
        """The 24 h up to the last full minute, in whole minutes; days that close meanwhile wait for `advance`."""
        self.settle(now)
        return self.rolling

    @property
    def rolling(self) -> DaySums:
        """The 24 h up to the minute that was settled last."""
        return self._window.sums(hydrogen=self.hydrogen)

    def event_began(self, name: str, since: Instant) -> None:
        """An exceedance or interruption is under way: every day from `since` on, until it ends, is marked."""
        self._events.add(name)
        self._touch(since)

    def event_ended(self, name: str, since: Instant) -> None:
        """It is over; also marks an event that is told only now."""
        self._events.discard(name)
        self._touch(since)

    def _touch(self, since: Instant) -> None:
        self._day_touched = True
        for index in range(len(self._days) - 1, -1, -1):
            record = self._days[index]
            if record.end.utc_us <= since.utc_us:
                break
            if not record.events:
                self._days[index] = record.marked()

    def _settle(self, until_us: int) -> None:
        minutes = self.minutes
        strays = self._strays
        while True:
            boundary_us = minutes.boundary_us
            if strays and strays[0].mono_us < boundary_us:
                at = strays[0]
                if at.mono_us > until_us:
                    break
                strays.pop(0)
                self._walk(at.mono_us)
                self._close_minute()
                opened = minutes.day, minutes.day_start
                ended = minutes.anchor(at)
            elif boundary_us <= until_us:
                self._walk(boundary_us)
                self._close_minute()
                opened = minutes.day, minutes.day_start
                ended = minutes.pass_boundary()
            else:
                break
            if ended is not None:
                self._close_day(ended, *opened)
            for minute_passed in self._watchers:
                minute_passed()
        self._due_us = strays[0].mono_us if strays else minutes.boundary_us
        if self._follower is not None and self.flow is not None:
            self._follower.settled_us = self._mark_us
            self.flow.floor_us = max(self.flow.floor_us, self._mark_us)

    def _walk(self, to_us: int) -> None:
        """Settle all words before a moment, and the time up to it. One loop: every sample passes here."""
        words = self._words
        if self._held_until_us < to_us:
            words.append((self._held_until_us, _NO_WORD, 0, 0.0))
            self._held_until_us = _NEVER_US
        taken = bisect_left(words, (to_us,))
        state, fixed, value = self._word
        last = words[taken - 1][1:] if taken else self._word
        cuts = [*words[:taken], (to_us, *last)]
        mark_us, minute = self._mark_us, self._minute
        moments_us = [mark_us, *[max(cut[0], mark_us) for cut in cuts]]
        if self.flow is None:
            flow_sums = [(0, 0, moment_us) for moment_us in moments_us]
        else:
            flow_sums = self.flow.along(moments_us)
        low, high = minute.minimum, minute.maximum
        plain = valid_us = discharging_us = weighted = volume = flowed_us = 0
        volume0, flowed0_us, open0_us = flow_sums[0]
        for (volume1, flowed1_us, open1_us), (_, state1, fixed1, value1) in zip(flow_sums[1:], cuts, strict=True):
            span_us = open1_us - open0_us
            if span_us and state == _WET:
                plain += fixed * span_us
                valid_us += span_us
                weighted += fixed * (volume1 - volume0)
                volume += volume1 - volume0
                flowed_us += flowed1_us - flowed0_us
                if span_us != flowed1_us - flowed0_us:
                    minute.unflowed += fixed * (span_us - flowed1_us + flowed0_us)
                low = value if low is None or value < low else low
                high = value if high is None or value > high else high
            elif state == _NO_WORD:
                discharging_us += span_us
            volume0, flowed0_us, open0_us = volume1, flowed1_us, open1_us
            state, fixed, value = state1, fixed1, value1
        mark_us = max(mark_us, to_us)
        del words[:taken]
        self._word, self._mark_us = last, mark_us
        minute.count(weighted, volume, plain, valid_us, discharging_us + valid_us, flowed_us)
        minute.minimum, minute.maximum = low, high

    def _flow_totals(self, mono_us: int) -> tuple[int, int]:
        return (0, 0) if self.flow is None else self.flow.totals(mono_us)[:2]

    def _close_minute(self) -> None:
        self._day.add(self._minute)
        self._window.add(self._mark_us, self._minute)
        self._minute.clear()

    def _close_day(self, ended: Instant, day: str, start: Instant) -> None:
        record = self._record(ended, day, start)
        self._days.append(record)
        if len(self._days) > _SHRINK_AT:
            del self._days[:-_KEPT_DAYS]
        self._news += 1
        self.closed += 1
        self._day = Tally()
        self._day_from = (ended.mono_us, *self._flow_totals(ended.mono_us))
        self._day_touched = bool(self._events)

    def _record(self, end: Instant, day: str = "", start: Instant | None = None) -> DayRecord:
        since_us, volume, flow_valid_us = self._day_from
        now_volume, now_valid_us = self._flow_totals(end.mono_us)
        return DayRecord(
            date=day or self.minutes.day,
            start=start or self.minutes.day_start,
            end=end,
            sums=self._day.sums(hydrogen=self.hydrogen),
            volume_gal=None if self.flow is None else (now_volume - volume) / VOLUME_SCALE,
            events=self._day_touched,
            length_us=end.mono_us - since_us,
            flow_valid_us=now_valid_us - flow_valid_us,
            volume=now_volume - volume,
        )

    def state(self) -> dict[str, Any]:
        """JSON-able, in three parts that may be stored apart: `days` changes once a day, the others each minute."""
        return {
            "now": {
                "minutes": self.minutes.state(),
                "offset_us": self._offset_us,
                "strays": [[at.utc_us, at.mono_us, int(at.synced)] for at in self._strays],
                "words": [list(word) for word in self._words],
                "word": list(self._word),
                "mark_us": self._mark_us,
                "held_until_us": self._held_until_us,
                "minute": self._minute.state(),
                "day": self._day.state(),
                "day_from": list(self._day_from),
                "events": sorted(self._events),
                "touched": self._day_touched,
                "closed": self.closed,
                "news": self._news,
            },
            "ring": self._window.state(),
            "days": [record.state() for record in self._days],
        }

    def restore(self, state: dict[str, Any], resume: Resume) -> None:
        """Bring the state back, after the flow ledger's; then feed the readings recorded since it was written."""
        now = state["now"]
        last_us = now["words"][-1][0] if now["words"] else now["mark_us"]
        if self.flow is None:
            shift_us = placing(resume.offset_us, resume.now, max(last_us, now["mark_us"]), now["minutes"])
        else:
            shift_us = self.flow.shift_us  # both on one axis
        self.minutes.restore(now["minutes"], shift_us)
        self._offset_us = now["offset_us"] - shift_us
        self._strays = [Instant(utc, mono + shift_us, bool(synced)) for utc, mono, synced in now["strays"]]
        self._words = [(mono + shift_us, kind, fixed, value) for mono, kind, fixed, value in now["words"]]
        state_then, fixed, value = now["word"]
        self._word = (state_then, fixed, value)
        self._mark_us = now["mark_us"] + shift_us
        held_us = now["held_until_us"]
        self._held_until_us = held_us if held_us == _NEVER_US else held_us + shift_us
        if resume.offset_us is None:  # nobody can tell how long: nothing is held over the absence
            self._words.append((max(last_us, now["mark_us"]) + shift_us, _NO_WORD, 0, 0.0))
            self._held_until_us = _NEVER_US
        self._minute = Tally.from_state(now["minute"])
        self._day = Tally.from_state(now["day"])
        self._window.restore(state["ring"], shift_us)
        placed = Resume(resume.now, shift_us)
        self._days = [DayRecord.from_state(record, placed) for record in state["days"]]
        self._news = now["news"]
        self._events, self._day_touched = set(now["events"]), now["touched"]
        self.closed = now["closed"]
        since_us, volume, valid_us = now["day_from"]
        self._day_from = (since_us + shift_us, volume, valid_us)
        if self._follower is not None:
            self._follower.settled_us = self._mark_us
        self._due_us = self._strays[0].mono_us if self._strays else self.minutes.boundary_us
