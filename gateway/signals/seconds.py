"""Where a channel's time went. Every period is accounted for to the microsecond (docs/judging.md 11.1)."""

from gateway.model import Mode, Quality, Reading
from gateway.signals.interlock import Discharge
from gateway.site import Channel

__all__ = ["ChannelSeconds", "CHANNEL_CLASSES"]

CHANNEL_CLASSES = ("valid", "suspect", "failed", "maintenance", "missing", "no_discharge")


class ChannelSeconds:
    """Each moment belongs to the class of the channel's latest reading, up to the maximum hold; past it, to missing."""

    __slots__ = ("_class", "_held_until_us", "_hold_us", "_mark_us", "spent_us")

    def __init__(self, channel: Channel, start_us: int) -> None:
        self._hold_us = channel.hold_us
        self._mark_us = start_us
        self._held_until_us = start_us
        self._class = "missing"
        self.spent_us = dict.fromkeys(CHANNEL_CLASSES, 0)

    def add(self, reading: Reading, discharge: Discharge | None) -> None:
        """Close the time up to this reading and open its own class."""
        mono_us = reading.at.mono_us
        kind = _class_of(reading, discharge)
        if kind is not self._class or mono_us > self._held_until_us:
            self.advance(mono_us)
            self._class = kind
        self._held_until_us = mono_us + self._hold_us  # the same class without a gap: one longer stretch

    def advance(self, mono_us: int) -> None:
        """Account for the time up to a moment."""
        mark_us = self._mark_us
        if mono_us <= mark_us:
            return
        held_until_us = self._held_until_us
        if mono_us <= held_until_us:
            self.spent_us[self._class] += mono_us - mark_us
        else:
            if mark_us < held_until_us:
                self.spent_us[self._class] += held_until_us - mark_us
                mark_us = held_until_us
            self.spent_us["missing"] += mono_us - mark_us
        self._mark_us = mono_us


def _class_of(reading: Reading, discharge: Discharge | None) -> str:
    if reading.quality is Quality.GOOD and reading.mode is Mode.RUN and discharge is not Discharge.NONE:
        return "valid"
    if reading.mode is not Mode.RUN:
        return "maintenance"
    if reading.quality is Quality.MISSING:
        return "missing"
    if reading.quality is Quality.FAIL:
        return "failed"
    if discharge is Discharge.NONE:
        return "no_discharge"
    return "suspect" if reading.quality is Quality.SUSPECT else "valid"
