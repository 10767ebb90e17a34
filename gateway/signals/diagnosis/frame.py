"""The frame of sensor diagnosis: the flags that stand on a channel, the mean of each minute, and tests that watch both.

A reading costs next to nothing; what needs statistics looks at minutes. Memory is that of one minute and of the tests.
"""

from typing import Any

from gateway.model import Condition, Instant, Mode, Quality, Reading, Resume, Severity
from gateway.signals.diagnosis.catalogue import COUNTING, DIAGNOSES
from gateway.signals.watch import FAR_US, Said

__all__ = ["MINUTE_US", "Health", "Minute", "Test", "Voice", "believed"]

MINUTE_US = 60_000_000
_WORST_FIRST = {Quality.FAIL: 0, Quality.MISSING: 1, Quality.SUSPECT: 2, Quality.NOT_EVALUATED: 3, Quality.GOOD: 4}
_FLAGS = frozenset({
    "attenuated", "held", "broken_glass", "disagreement", "compensation", "over_pipe", "dry_glass", "night_fall",
    "night_rise", "standing_water", "hot_glass",
})  # fmt: skip
"""What the tests of this frame raise: no reason for them to stop listening."""
_HEARD = COUNTING | _FLAGS


class Minute:
    """What one channel said in one minute in which it spoke: number of readings, mean, sum of squares about it.

    `index` counts minutes of the monotonic axis; `at` is the last reading's moment.
    """

    __slots__ = ("_values", "at", "count", "index", "mean")

    def __init__(self, index: int, at: Instant, values: list[float]) -> None:
        self.index = index
        self.at = at
        self.count = len(values)
        self.mean = sum(values) / len(values)
        self._values = values

    @property
    def squares(self) -> float:
        """Sum of squares about the mean."""
        return sum([(value - self.mean) ** 2 for value in self._values])


class Test:
    """One diagnosis at work; a test overrides what it needs. `key` names its durable state."""

    __test__ = False  # for pytest, which takes anything called Test for one of its own
    key = ""

    def hear(self, reading: Reading, usable: bool, said: Said | None) -> None:
        """Take a reading; `usable` when it is in run mode, wet and believed but for what diagnosis itself flagged.

        `said` is None while the record is heard again: nothing is to be told then.
        """

    def minute(self, channel: str, minute: Minute, said: Said | None) -> None:
        """Take a channel's minute that is over."""

    def visited(self, reading: Reading) -> None:
        """Somebody is at work on this channel: what was diagnosed of it begins anew."""

    def state(self) -> Any:
        """What it remembers, JSON-able; None for nothing."""
        return None

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring back what `state` gave. LookupError, TypeError or ValueError when it cannot be read."""


class Voice:
    """Says one alarm's condition when it changes, and first of all when nothing was said yet."""

    __slots__ = ("_alarm", "told")

    def __init__(self, alarm: str) -> None:
        self._alarm = alarm
        self.told: tuple[bool, Severity] | None = None

    def say(self, said: Said | None, severity: Severity, reason: str, *, active: bool) -> None:
        """Put the condition to the alarm, unless it is what was put before or the record is only heard again."""
        word = (active, severity if active else Severity.NOTICE)
        if said is not None and word != self.told:
            self.told = word
            said.conditions.append(Condition(self._alarm, active, severity, reason))


class Health:
    """One channel under diagnosis."""

    __slots__ = (
        "_at", "_dry", "_each", "_ends_us", "_flags", "_minutes", "_quality", "_tests", "_values", "_was_dry",
        "channel", "expected",
    )  # fmt: skip

    def __init__(self, channel: str) -> None:
        self.channel = channel
        self._each: tuple[Test, ...] = ()
        self._dry: tuple[Test, ...] = ()
        self._was_dry = True  # nothing heard yet: a test that was dry before a restart has to know
        self._minutes: tuple[Test, ...] = ()
        self._tests: tuple[Test, ...] = ()
        self.expected = False
        """Whether a test that hears other channels may flag this one."""
        self._flags: tuple[str, ...] = ()
        self._quality = Quality.GOOD
        self._ends_us = -FAR_US
        self._at = Instant(0, 0)
        self._values: list[float] = []

    def listen(self, test: Test, *, each: bool = False, minutes: bool = False, dry: bool = False) -> None:
        """Let a test hear every reading, the minutes, or the dry readings and the first after them."""
        self._tests = (*self._tests, test)
        if each:
            self._each = (*self._each, test)
        if minutes:
            self._minutes = (*self._minutes, test)
        if dry:
            self._dry = (*self._dry, test)

    @property
    def idle(self) -> bool:
        """Whether no test hears this channel, and none flags it for what another one shows."""
        return not self._tests and not self.expected

    def flag(self, test: str, *, on: bool) -> None:
        """Raise or lower one flag."""
        if (test in self._flags) is on:
            return
        flags = [*self._flags, test] if on else [flag for flag in self._flags if flag != test]
        qualities = {flag: DIAGNOSES[flag].quality or Quality.GOOD for flag in flags}
        self._flags = tuple(sorted(flags, key=lambda flag: _WORST_FIRST[qualities[flag]]))
        self._quality = min(qualities.values(), key=_WORST_FIRST.__getitem__, default=Quality.GOOD)

    def flagged(self, test: str) -> bool:
        """Whether this flag stands."""
        return test in self._flags

    def hear(self, reading: Reading, said: Said | None) -> Reading:
        """The reading with every flag that stands after it."""
        good = reading.quality is Quality.GOOD and reading.mode is Mode.RUN and not reading.dry
        usable = good or believed(reading)
        if usable and self._minutes:
            at = reading.at
            if at.mono_us >= self._ends_us:
                self._turn(at, said)
            self._values.append(reading.value)  # type: ignore[arg-type]  # a usable reading has a number
            self._at = at
        for test in self._each:
            test.hear(reading, usable, said)
        if self._dry and (reading.dry or self._was_dry):
            for test in self._dry:
                test.hear(reading, usable, said)
            self._was_dry = reading.dry
        if reading.mode is not Mode.RUN:
            for test in self._tests:
                test.visited(reading)
        return self._with_flags(reading) if self._flags else reading

    def state(self) -> Any:
        """The minute under way, JSON-able."""
        at = self._at
        return {"at": [at.utc_us, at.mono_us, at.synced], "values": list(self._values)}

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring the minute under way back where time can be told."""
        utc_us, stored_us, synced = state["at"]
        values = [float(value) for value in state["values"]]
        mono_us = resume.mono(int(stored_us))
        if mono_us is None or not values:
            return
        self._at, self._values = Instant(int(utc_us), mono_us, bool(synced)), values
        self._ends_us = (mono_us // MINUTE_US + 1) * MINUTE_US

    def _turn(self, at: Instant, said: Said | None) -> None:
        """Close the minute that is over and open the one of this moment."""
        if self._values:
            over = Minute(self._ends_us // MINUTE_US - 1, self._at, self._values)
            self._values = []
            for test in self._minutes:
                test.minute(self.channel, over, said)
        self._ends_us = (at.mono_us // MINUTE_US + 1) * MINUTE_US

    def _with_flags(self, reading: Reading) -> Reading:
        """A reading that has no number, failed by itself or is out of the discharge keeps its own reasons."""
        if reading.value is None or reading.mode is not Mode.RUN:
            return reading
        flags, quality = self._flags, self._quality
        if reading.dry:
            flags = tuple(flag for flag in flags if DIAGNOSES[flag].dry)
            quality = Quality.GOOD
        if not flags or reading.quality is Quality.FAIL or reading.quality is Quality.MISSING:
            return reading
        worst = quality if _WORST_FIRST[quality] < _WORST_FIRST[reading.quality] else reading.quality
        tests = (*flags, *reading.tests) if worst is quality else (*reading.tests, *flags)
        return Reading(reading.channel, reading.at, reading.raw, reading.value, worst, tests, reading.mode, reading.dry)


def believed(reading: Reading) -> bool:
    """Whether a reading that is not plainly good would be judged if diagnosis had said nothing of it."""
    if reading.dry or reading.mode is not Mode.RUN or reading.value is None or not reading.tests:
        return False
    failed = reading.quality is Quality.FAIL and "held" not in reading.tests
    return not failed and _HEARD.issuperset(reading.tests)
