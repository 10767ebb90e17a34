"""Quality control of one channel: a sample in, a reading out, the worst flag wins.

Flags are QARTOD's; the tests are gross range (fail and suspect span), not-a-number, sentinels and the current of a loop
before conversion, spike, rate of change, flat line and order in time. A value is never replaced: a bad one keeps its
number and gains a flag.
"""

from math import isfinite

from gateway.model import Fault, Instant, Mode, Quality, Reading, Sample
from gateway.signals.diagnosis.catalogue import COUNTING, DAMPING
from gateway.signals.diagnosis.current import LoopCurrent
from gateway.site import Channel, Span

__all__ = [
    "AFTER_MAINTENANCE", "BETWEEN", "CALIBRATION_OVERDUE", "COUNTING_TESTS", "DISAGREE", "ELECTRODE_WORN", "Evidence",
    "QualityControl", "evidence", "evidence_beyond",
]  # fmt: skip

BETWEEN = "between"
"""The word of a reading taken between two scheduled polls: it can end a run, and never helps to prove one."""

COUNTING_TESTS = COUNTING
"""SUSPECT from these still counts for limit and slug rules (docs/judging.md 2.1; below the rated head a flow is small,
whatever its error; a flow from depth alone is marked, not doubted)."""

_COUNT_BEYOND = COUNTING | DAMPING

CALIBRATION_OVERDUE = "calibration_overdue"
"""Stands beside a reading whose channel should have been calibrated by now, and changes no quality."""

ELECTRODE_WORN = "electrode_worn"
"""Stands beside a reading whose last calibration left an electrode in use that is on its way out; so it does."""

AFTER_MAINTENANCE = "after_maintenance"
"""The test of a reading taken shortly after the channel was worked on: doubtful, whatever else is said of it."""

DISAGREE = "interlock"
"""The test of a reading taken while flow and level contradict each other: nobody can tell whether the probe is wet."""

_MISSING = frozenset({Fault.SILENT, Fault.BUS_DOWN, Fault.BAD_REPLY, Fault.NO_SAMPLE})
_UNCOMPARED = frozenset({"fail_span", "current_failure", "order"}.union(fault.value for fault in Fault))
"""A reading with one of these was never held against its neighbours."""
_ABSURD = 1e30
"""No instrument shows as much in any unit, and sums and squares of it overflow: fails without any span, too. Ours."""
_US_PER_MIN = 60_000_000


class QualityControl:
    """The tests of one channel, in order of arrival, with the neighbours that spike, rate and flat line compare."""

    __slots__ = (
        "_before", "_fail_high", "_fail_low", "_flat_since_us", "_flat_value", "_jump", "_last", "_last_us", "_loop",
        "_newest_us", "_plain", "_suspect_high", "_suspect_low", "channel",
    )  # fmt: skip

    def __init__(self, channel: Channel) -> None:
        self.channel = channel
        self._newest_us: int | None = None
        self._last: float | None = None
        self._last_us = 0
        self._before: float | None = None
        self._flat_value: float | None = None
        self._flat_since_us = 0
        self._plain = channel.conversion.is_identity
        self._loop = LoopCurrent() if channel.diagnosed.loop else None
        self._jump = channel.diagnosed.jump
        self._fail_low, self._fail_high = _bounds(channel.fail_span)
        self._suspect_low, self._suspect_high = _bounds(channel.suspect_span)

    def assess(
        self, sample: Sample, *, dry: bool = False, disagree: bool = False, idle: bool = False, rewetted: bool = False
    ) -> Reading:
        """The reading of a sample.

        `dry` says the interlock has the probe out of the discharge, `idle` that this witness itself says so: a still
        value is then expected and not called flat. `disagree` says flow and level contradict each other about it, which
        makes any value doubtful; `rewetted` that the probe has just come back into the water.
        A sample not later than the channel's newest is kept, flagged `order`, and takes no part in the tests.
        """
        at = sample.at
        value = sample.value
        if value is None and sample.fault is Fault.NO_SAMPLE:
            # Nobody claims to have looked: a row that says nothing of this channel takes no place in its time.
            late = self._newest_us is not None and at.mono_us <= self._newest_us
            tests = ("order",) if late else (Fault.NO_SAMPLE.value,)
            return Reading(sample.channel, at, sample.raw, None, Quality.MISSING, tests, sample.mode, dry)
        if self._newest_us is not None and at.mono_us <= self._newest_us:
            return Reading(
                sample.channel, at, sample.raw, self._finite(value), Quality.FAIL, ("order",), sample.mode, dry
            )
        self._newest_us = at.mono_us
        fault = sample.fault
        if fault is not None:
            quality = Quality.MISSING if fault in _MISSING else Quality.FAIL
            return Reading(
                sample.channel, at, sample.raw, self._finite(value), quality, (fault.value,), sample.mode, dry
            )
        if value is None:
            return Reading(
                sample.channel, at, sample.raw, None, Quality.MISSING, (Fault.NO_SAMPLE.value,), sample.mode, dry
            )
        if not isfinite(value):
            return Reading(
                sample.channel, at, sample.raw, None, Quality.FAIL, (Fault.NOT_A_NUMBER.value,), sample.mode, dry
            )
        channel = self.channel
        sentinel = value in channel.sentinels
        current = ""
        if self._loop is not None and not sentinel:
            current, quality = self._loop.judge(value, at.mono_us)
            if quality is not Quality.GOOD and not self._loop.measures:
                return Reading(
                    sample.channel, at, sample.raw, self._finite(value), quality, (current,), sample.mode, dry
                )
        if not self._plain:
            value = channel.conversion(value)
        if sentinel or not self._fail_low <= value <= self._fail_high:
            test = Fault.SENTINEL.value if sentinel else "fail_span"
            number = value if isfinite(value) else None  # a finite number that its unit's conversion took too far
            return Reading(sample.channel, at, sample.raw, number, Quality.FAIL, (test,), sample.mode, dry)
        doubts: tuple[str, ...] = ()
        if current or rewetted or disagree:
            said = (current, "rewetted" if rewetted else "", DISAGREE if disagree else "")
            doubts = tuple(doubt for doubt in said if doubt)
        return self._compare(sample, at, value, doubts, still_expected=dry or idle, dry=dry)

    def hear_again(self, reading: Reading, *, still_expected: bool) -> None:
        """Take a reading of the record after a restart: the neighbours of what comes next, and how long it stood still.

        A flat line that is on record began before it was called one: a stuck instrument is none afresh.
        """
        value, mono_us, channel = reading.value, reading.at.mono_us, self.channel
        if value is None or not _UNCOMPARED.isdisjoint(reading.tests):
            return
        self._flat_line(value, mono_us, still_expected=still_expected)
        if "flat_line" in reading.tests and channel.flat_after_us is not None:
            failed = reading.quality is Quality.FAIL and channel.flat_fail_after_us is not None
            lasted_us = channel.flat_fail_after_us if failed else None
            self._flat_since_us = min(self._flat_since_us, mono_us - (lasted_us or channel.flat_after_us))
        if BETWEEN not in reading.tests:
            recent = self._last is not None and mono_us - self._last_us <= channel.hold_us
            self._before = self._last if recent else None
            self._last, self._last_us = value, mono_us

    def _finite(self, value: float | None) -> float | None:
        number = self.channel.conversion(value) if value is not None else None
        return number if number is not None and isfinite(number) else None

    def _compare(
        self, sample: Sample, at: Instant, value: float, doubts: tuple[str, ...], *, still_expected: bool, dry: bool
    ) -> Reading:
        """The tests that need neighbours, then the flags the source, the loop and the interlock add."""
        quality = Quality.GOOD
        tests: list[str] = []
        flat = self._flat_line(value, at.mono_us, still_expected=still_expected)
        if flat is not None:
            quality = flat
            tests.append("flat_line")
        channel = self.channel
        if not self._suspect_low <= value <= self._suspect_high:
            quality = max(quality, Quality.SUSPECT)
            tests.append("suspect_span")
        last = self._last
        # Without a neighbour inside the hold, spike and rate are not evaluated; that never worsens the flag.
        if last is not None and at.mono_us - self._last_us <= channel.hold_us:
            if channel.spike is not None and self._before is not None:
                expected = (last + self._before) / 2
                if abs(value - expected) > channel.spike:
                    quality = max(quality, Quality.SUSPECT)
                    tests.append("spike")
            if channel.rate_per_min is not None:
                rate_per_min = abs(value - last) * _US_PER_MIN / (at.mono_us - self._last_us)
                if rate_per_min > channel.rate_per_min:
                    quality = max(quality, Quality.SUSPECT)
                    tests.append("rate")
            if self._jump is not None and abs(value - last) > self._jump:
                quality = max(quality, Quality.SUSPECT)
                tests.append("level_jump")
            before = last
        else:
            before = None
        if not sample.between:  # the neighbours are those of the schedule: a faster one changes no test
            self._before = before
            self._last = value
            self._last_us = at.mono_us
        if sample.quality is not Quality.GOOD:
            quality = _worst(quality, sample.quality)
            tests.append(sample.note or "source")
        if sample.remark:
            tests.append(sample.remark)
        if doubts:
            quality = _worst(quality, Quality.SUSPECT)
            tests.extend(doubts)
        if sample.between:
            tests.append(BETWEEN)
        return Reading(sample.channel, at, sample.raw, value, quality, tuple(tests), sample.mode, dry)

    def _flat_line(self, value: float, mono_us: int, *, still_expected: bool) -> Quality | None:
        """SUSPECT or FAIL once the value has not moved for as long as the channel allows."""
        channel = self.channel
        if channel.flat_after_us is None:
            return None
        if still_expected or self._flat_value is None or abs(value - self._flat_value) > channel.flat_tolerance:
            self._flat_value = value
            self._flat_since_us = mono_us
            return None
        flat_us = mono_us - self._flat_since_us
        if channel.flat_fail_after_us is not None and flat_us >= channel.flat_fail_after_us:
            return Quality.FAIL
        return Quality.SUSPECT if flat_us >= channel.flat_after_us else None


def _bounds(span: Span) -> tuple[float, float]:
    """Both bounds as numbers: these are compared with every sample."""
    return (-_ABSURD if span.low is None else span.low, _ABSURD if span.high is None else span.high)


_ORDER = {Quality.NOT_EVALUATED: 0, Quality.GOOD: 1, Quality.SUSPECT: 2, Quality.MISSING: 3, Quality.FAIL: 4}


def _worst(one: Quality, other: Quality) -> Quality:
    """The flag that wins (QARTOD aggregate, with MISSING above SUSPECT because there is no number to suspect)."""
    return one if _ORDER[one] >= _ORDER[other] else other


class Evidence:
    """How much a reading may say to a rule."""

    VALID = 0  # counts
    DOUBTFUL = 1  # feeds the suspected track only: outside the suspect span, or doubted by its source
    VOID = 2  # says nothing: failed, missing, dry, or not in run mode


def evidence(reading: Reading) -> int:
    """Classify a reading for limit and slug rules (docs/judging.md 2.1): VALID, DOUBTFUL or VOID."""
    if reading.mode is not Mode.RUN or reading.dry or reading.value is None:
        return Evidence.VOID
    quality = reading.quality
    if quality is Quality.GOOD:
        return Evidence.VALID
    if quality is Quality.SUSPECT:
        return Evidence.VALID if COUNTING_TESTS.issuperset(reading.tests) else Evidence.DOUBTFUL
    return Evidence.VOID


def evidence_beyond(reading: Reading, weight: int) -> int:
    """What a reading beyond a limit may say to its rule: a damped one says less than there is, so it counts in full.

    Within the limit it says nothing, and a run that it proved does not end by it.
    """
    if weight == Evidence.DOUBTFUL and reading.quality is Quality.SUSPECT and _COUNT_BEYOND.issuperset(reading.tests):
        return Evidence.VALID
    return weight
