"""Full minutes and local days on the monotonic axis: where windows are cut, and what a clock step does to them.

The offset between UTC and the monotonic clock is taken from the readings and kept until one strays from it by more
than a second: so jitter and slewing move no boundary, and readings that are fed again find the same ones. A clock step
changes no duration: it ends the minute under way, and the day only when it leads into a later date, or more than a day
back.
"""

from datetime import tzinfo
from typing import Any

from gateway.model import Instant
from gateway.rules.local_day import local_date, midnight_us, next_midnight_us

__all__ = ["STRAY_US", "Minutes", "placing", "step_of"]

STRAY_US = 1_000_000
_MINUTE_US = 60_000_000
_DAY_US = 86_400_000_000
_STEPS = tuple(minutes * _MINUTE_US for minutes in (15, 10, 5, 2, 1))


def step_of(poll_us: int) -> int:
    """How finely windows of a channel are cut: full minutes, or up to a quarter of an hour for a slow channel.

    Whole steps make up an hour, and none is longer than the polls: in between the value is one and the same.
    """
    return next((step_us for step_us in _STEPS if step_us <= poll_us), _MINUTE_US)


class Minutes:
    """The next boundary of one ledger. `boundary_us` is on the monotonic axis, `day` the date under way."""

    __slots__ = ("_step_us", "_zone", "boundary_us", "day", "day_end_utc_us", "day_start", "offset_us", "synced")

    def __init__(self, zone: tzinfo, start: Instant, step_us: int = _MINUTE_US) -> None:
        self._zone = zone
        self._step_us = step_us
        self.offset_us = start.utc_us - start.mono_us
        self.synced = start.synced
        self.day = ""
        self.day_start = start
        self.day_end_utc_us = 0
        begins_us = midnight_us(local_date(start.utc_us, zone), zone)
        self._open_day(start.utc_us, self.at_utc(begins_us))
        self.boundary_us = 0
        self._aim(start.mono_us)

    def at_utc(self, utc_us: int) -> Instant:
        """A moment of UTC on both clocks, by the present offset."""
        return Instant(utc_us, utc_us - self.offset_us, self.synced)

    def at_mono(self, mono_us: int) -> Instant:
        """A moment of the monotonic axis on both clocks, by the present offset."""
        return Instant(mono_us + self.offset_us, mono_us, self.synced)

    def pass_boundary(self) -> Instant | None:
        """Move on to the next boundary; the moment the day ended, when this one was its midnight."""
        mono_us = self.boundary_us
        utc_us = mono_us + self.offset_us
        ended = None
        if utc_us >= self.day_end_utc_us:
            ended = Instant(utc_us, mono_us, self.synced)
            self._open_day(utc_us, ended)
        self._aim(mono_us)
        return ended

    def anchor(self, at: Instant) -> Instant | None:
        """Take the offset of a reading that strays; the moment the day ended, when that leads into another."""
        self.offset_us = at.utc_us - at.mono_us
        self.synced = at.synced
        ended = None
        if at.utc_us >= self.day_end_utc_us or at.utc_us < self.day_start.utc_us - _DAY_US:
            ended = at
            self._open_day(at.utc_us, at)
        self._aim(at.mono_us)
        return ended

    def _open_day(self, utc_us: int, start: Instant) -> None:
        self.day = local_date(utc_us, self._zone).isoformat()
        self.day_start = start
        self.day_end_utc_us = next_midnight_us(utc_us, self._zone)

    def _aim(self, mono_us: int) -> None:
        utc_us = mono_us + self.offset_us
        boundary_utc_us = min((utc_us // self._step_us + 1) * self._step_us, self.day_end_utc_us)
        self.boundary_us = boundary_utc_us - self.offset_us

    def state(self) -> dict[str, Any]:
        """JSON-able, on the axis of the process that wrote it."""
        return {
            "offset_us": self.offset_us,
            "synced": self.synced,
            "boundary_us": self.boundary_us,
            "day": self.day,
            "day_start": [self.day_start.utc_us, self.day_start.mono_us, int(self.day_start.synced)],
            "day_end_utc_us": self.day_end_utc_us,
        }

    def restore(self, state: dict[str, Any], shift_us: int) -> None:
        """Bring the state back, every monotonic stamp moved by `shift_us`."""
        self.offset_us = state["offset_us"] - shift_us
        self.synced = state["synced"]
        self.boundary_us = state["boundary_us"] + shift_us
        self.day = state["day"]
        utc_us, mono_us, synced = state["day_start"]
        self.day_start = Instant(utc_us, mono_us + shift_us, bool(synced))
        self.day_end_utc_us = state["day_end_utc_us"]


def placing(offset_us: int | None, now: Instant, mark_us: int, state: dict[str, Any]) -> int:
    """How far stored stamps move onto this process's axis.

    `offset_us` is what the restart knows. When it cannot tell, the time away counts as what UTC says, and not below
    zero: nothing is held over it, so that it can only become time for which nobody can tell.
    """
    if offset_us is not None:
        return offset_us
    away_us = max(0, now.utc_us - (mark_us + int(state["offset_us"])))
    return now.mono_us - away_us - mark_us
