"""Whether a channel's instrument can be believed, as an alarm of its own: silence is our most important message."""

from gateway.model import Condition, Instant, Mode, Reading, Severity
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

    A dry probe is healthy as far as anyone can tell, but not one that flow and level disagree about: while they do,
    nothing in the discharge is judged, and somebody must hear of it. A technician at work stops the watch, and so does
    the time in which the probe settles afterwards.
    """

    __slots__ = ("_bad", "_last_good_us", "_patience_us", "_reason", "_severity", "_stale_after_us", "alarm")

    def __init__(self, channel: Channel, start: Instant, severity: Severity = Severity.WARNING) -> None:
        self.alarm = sensor_alarm(channel.name)
        self._severity = severity
        self._stale_after_us = self._patience_us = channel.stale_after_us
        self._last_good_us = start.mono_us
        self._reason = "no sample"
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
            if self._bad is False or at_work:
                return None
            self._bad = False
            return Condition(self.alarm, False, self._severity, "reading again")
        words = [_DISAGREEMENT if test == DISAGREE else test for test in reading.tests]
        self._reason = ", ".join(words) or reading.quality.name.lower()
        return None

    def tick(self, now: Instant) -> Condition | None:
        """The condition when patience has run out by now, else None."""
        if now.mono_us < self.deadline_us:
            return None
        self._bad = True
        return Condition(self.alarm, True, self._severity, self._reason)
