"""The current of a 4 to 20 mA loop before it means anything: NAMUR NE 43 (docs/quality.md 4.5).

3.8 to 20.5 mA is measurement; at or below 3.6 and at or above 21 mA the transmitter or the cable has failed. Between
them the transmitter is at the end of its scale. A failure is called one when it has lasted 4 s; the first of it is
doubtful, and at a poll of 15 s the second reading settles it.
"""

from gateway.model import Quality

__all__ = ["LoopCurrent"]

_FAIL_LOW, _LOW, _HIGH, _FAIL_HIGH = 3.6, 3.8, 20.5, 21.0
_PERSISTS_US = 4_000_000


class LoopCurrent:
    """Judges currents in mA in order of time."""

    __slots__ = ("_failing_since_us", "measures")

    def __init__(self) -> None:
        self._failing_since_us: int | None = None
        self.measures = True
        """Whether the last current was one that a transmitter at work can send."""

    def judge(self, current_ma: float, mono_us: int) -> tuple[str, Quality]:
        """The test that has something to say of this current, and its flag; an empty word and GOOD when none has."""
        self.measures = _FAIL_LOW < current_ma < _FAIL_HIGH
        if self.measures:
            self._failing_since_us = None
            if _LOW <= current_ma <= _HIGH:
                return "", Quality.GOOD
            return "current_range", Quality.SUSPECT
        if self._failing_since_us is None:
            self._failing_since_us = mono_us
        lasted = mono_us - self._failing_since_us >= _PERSISTS_US
        return ("current_failure", Quality.FAIL) if lasted else ("current_range", Quality.SUSPECT)
