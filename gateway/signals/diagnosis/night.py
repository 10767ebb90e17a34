"""The small hours of one night beside those of a week before: fouling that no single day shows."""

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from gateway.model import Resume
from gateway.signals.diagnosis.frame import Health, Minute, Test
from gateway.signals.watch import Said
from gateway.site import Channel

__all__ = ["NightValue"]

_FROM_HOUR, _TO_HOUR = 2, 5  # local time: the least water; ours
_DAYS = 7
_LEAST_MINUTES = 3
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class NightValue(Test):
    """Flags `night_fall` (share below zero: mean of the night) or `night_rise` (above: its lowest minute)."""

    def __init__(self, health: Health, channel: Channel, zone: ZoneInfo) -> None:
        self.key = f"night:{channel.name}"
        self._health = health
        self._share = channel.diagnosed.night or 0.0
        self._flag = "night_fall" if self._share < 0 else "night_rise"
        self._zone = zone
        self._nights: dict[int, float] = {}  # day by its number -> value
        self._day = -1
        self._count = 0
        self._sum = 0.0
        self._least = 0.0

    def minute(self, channel: str, minute: Minute, said: Said | None) -> None:
        """Take a minute of the small hours; the first one after them settles the night."""
        local = (_EPOCH + timedelta(microseconds=minute.at.utc_us)).astimezone(self._zone)
        day = local.toordinal()
        inside = _FROM_HOUR <= local.hour < _TO_HOUR
        if self._count and (day != self._day or not inside):
            self._settle()
        if inside:
            self._day = day
            self._least = min(self._least, minute.mean) if self._count else minute.mean
            self._sum += minute.mean
            self._count += 1

    def state(self) -> Any:
        """The nights of the week, and the one under way."""
        return {
            "nights": {str(day): value for day, value in self._nights.items()},
            "under_way": [self._day, self._count, self._sum, self._least],
            "flagged": self._health.flagged(self._flag),
        }

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring them back."""
        day, count, total, least = state["under_way"]
        self._nights = {int(day): float(value) for day, value in state["nights"].items()}
        self._day, self._count, self._sum, self._least = int(day), int(count), float(total), float(least)
        self._health.flag(self._flag, on=bool(state["flagged"]))

    def _settle(self) -> None:
        count, self._count = self._count, 0
        total, self._sum = self._sum, 0.0
        if count < _LEAST_MINUTES:
            return
        value = total / count if self._share < 0 else self._least
        before = self._nights.get(self._day - _DAYS)
        if before is not None and before > 0:
            change = value / before - 1
            self._health.flag(self._flag, on=change <= self._share if self._share < 0 else change >= self._share)
        self._nights = {d: v for d, v in self._nights.items() if d > self._day - _DAYS}
        self._nights[self._day] = value
