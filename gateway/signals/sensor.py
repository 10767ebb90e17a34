"""Whether a channel's instrument can be believed, as an alarm of its own: silence is our most important message."""

from collections.abc import Iterable

from gateway.model import Condition, Instant, Mode, Reading, Severity
from gateway.signals.diagnosis.catalogue import action_of, advice_of
from gateway.signals.qc import AFTER_MAINTENANCE, DISAGREE, Evidence
from gateway.site import Channel

__all__ = ["SensorWatch", "sensor_alarm"]

_DISAGREEMENT = "flow and level disagree"
_DISAGREEING_US = 900_000_000  # a pipe that fills or empties brings them into agreement well before that


def sensor_alarm(channel: str) -> str:
    """The id of a channel's sensor alarm."""
    return f"sensor-{channel}"


class SensorWatch:
    """Active once the channel has given no valid reading for `stale_after_us`; a valid reading ends it at once.

    What wants a visit and leaves the value as good as it was is a notice. A dry probe is healthy as far as anyone can
    tell, but not one that flow and level disagree about: while they do, nothing in the discharge is judged, and
    somebody must hear of it. A technician at work stops the watch, and so does the time in which the probe settles
    afterwards.
    """

    __slots__ = ("_advice", "_bad", "_last_good_us", "_patience_us", "_reason", "_severity", "_stale_after_us", "alarm")

    def __init__(self, channel: Channel, start: Instant, severity: Severity = Severity.WARNING) -> None:
        self.alarm = sensor_alarm(channel.name)
        self._severity = severity
        self._stale_after_us = self._patience_us = channel.stale_after_us
        self._last_good_us = start.mono_us
        self._reason = _reason(("no sample",))
        self._advice = ""
        self._bad: bool | None = None  # nothing said yet: an alarm may stand from before the restart

    @property
    def deadline_us(self) -> int:
        """When the watch loses patience; far away once it has."""
        return 1 << 62 if self._bad is True else self._last_good_us + self._patience_us

    def see(self, reading: Reading, evidence: int) -> Condition | None:
        """The condition when it changes with this reading, else None."""
        disagree = DISAGREE in reading.tests
        self._patience_us = max(self._stale_after_us, _DISAGREEING_US) if disagree else self._stale_after_us
        dry = reading.dry and reading.value is not None and not disagree
        at_work = reading.mode is not Mode.RUN or AFTER_MAINTENANCE in reading.tests
        if evidence == Evidence.VALID or at_work or dry:
            self._last_good_us = reading.at.mono_us
            if at_work:
                return None
            advice = advice_of(reading.tests) if reading.tests else None
            if advice is not None:
                return self._advise(advice.test)
            if self._bad is False and not self._advice:
                return None
            self._bad, self._advice = False, ""
            return Condition(self.alarm, False, self._severity, "reading again")
        self._reason = _reason(reading.tests) or reading.quality.name.lower()
        return None

    def _advise(self, test: str) -> Condition | None:
        if self._bad is False and self._advice == test:
            return None
        self._bad, self._advice = False, test
        return Condition(self.alarm, True, Severity.NOTICE, _reason((test,)))

    def tick(self, now: Instant) -> Condition | None:
        """The condition when patience has run out by now, else None."""
        if now.mono_us < self.deadline_us:
            return None
        self._bad = True
        return Condition(self.alarm, True, self._severity, self._reason)


def _reason(tests: Iterable[str]) -> str:
    """The tests that speak against a reading, and the one thing to do about the first."""
    words = ", ".join(_DISAGREEMENT if test == DISAGREE else test for test in tests)
    action = action_of(tests)
    return f"{words}: {action}" if action else words
