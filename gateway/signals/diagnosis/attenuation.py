"""A coated probe: its signal is damped against what it was (docs/quality.md 4.2).

QARTOD's attenuated signal test, scaled to the probe's own history: the variance of each hour of discharge, by hour of
the day, over about 30 days. Hours are compared with the same hours of other days, since a plant sleeps at night, and as
geometric means, since one acid slug would otherwise make every quiet day look damped.
"""

import math
from typing import Any

from gateway.model import Reading, Resume
from gateway.signals.diagnosis.frame import Health, Minute, Test
from gateway.signals.watch import Said
from gateway.site import Channel

__all__ = ["Attenuation"]

_HOUR_US = 3_600_000_000
_HOURS = 24
_MEMORY_DAYS = 30
_LEAST_DAYS = 7
"""Ours: below it nobody knows yet what this probe is like at this hour."""
_ENOUGH = 0.5
"""Share of an hour's minutes that must have spoken while discharging; ours."""
_FINEST = 0.01
"""Resolution taken for a probe that states none, in its unit; ours, for pH."""


class Attenuation(Test):
    """Flags `attenuated` when the last hours of discharge varied less than `share` of what such hours used to."""

    def __init__(self, health: Health, channel: Channel) -> None:
        diagnosed = channel.diagnosed
        self.key = f"attenuation:{channel.name}"
        self._health = health
        self._limit = math.log(diagnosed.attenuation or 0.25)
        self._wanted = diagnosed.attenuation_hours
        # A number that is rounded to a step varies by step^2 / 12 at least as far as anyone can see.
        self._least = (diagnosed.resolution or _FINEST) ** 2 / 12
        per_hour = min(60.0, _HOUR_US / channel.poll_us)
        self._enough = max(3, math.ceil(_ENOUGH * per_hour))
        self._logs = [0.0] * _HOURS  # mean of log variance by hour of the day (UTC)
        self._days = [0] * _HOURS
        self._recent: list[float] = []  # log of variance over what it used to be, of the last hours; NaN: not known
        self._hour = -1
        self._count = 0
        self._anchor = self._sum = self._squares = 0.0

    def minute(self, channel: str, minute: Minute, said: Said | None) -> None:
        """Take a minute's mean into its hour."""
        hour = minute.at.utc_us // _HOUR_US
        if hour != self._hour:
            self._close()
            self._hour = hour
        step = minute.mean - self._anchor if self._count else 0.0
        if not self._count:
            self._anchor = minute.mean
        self._count += 1
        self._sum += step
        self._squares += step * step

    def visited(self, reading: Reading) -> None:
        """Cleaned or not, the next hours decide."""
        self._recent.clear()
        self._begin()
        self._health.flag("attenuated", on=False)

    def state(self) -> Any:
        """History, the hours of late, and the hour under way."""
        return {
            "logs": list(self._logs), "days": list(self._days), "recent": list(self._recent), "hour": self._hour,
            "under_way": [self._count, self._anchor, self._sum, self._squares],
            "flagged": self._health.flagged("attenuated"),
        }  # fmt: skip

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring it all back."""
        logs, days = [float(v) for v in state["logs"]], [int(v) for v in state["days"]]
        recent = [float(v) for v in state["recent"]]
        count, anchor, total, squares = state["under_way"]
        if len(logs) != _HOURS or len(days) != _HOURS:
            raise ValueError("a day has 24 hours")
        self._logs, self._days, self._recent = logs, days, recent[-self._wanted :]
        self._hour = int(state["hour"])
        self._count, self._anchor, self._sum, self._squares = int(count), float(anchor), float(total), float(squares)
        self._health.flag("attenuated", on=bool(state["flagged"]))

    def _begin(self) -> None:
        self._count, self._anchor, self._sum, self._squares = 0, 0.0, 0.0, 0.0

    def _close(self) -> None:
        count, squares, total = self._count, self._squares, self._sum
        self._begin()
        if count < self._enough:
            return
        variance = max(0.0, (squares - total * total / count) / count)
        log = math.log(max(variance, self._least))
        hour = self._hour % _HOURS
        known = self._days[hour] >= _LEAST_DAYS
        if known:
            self._recent.append(log - self._logs[hour])
            del self._recent[: -self._wanted]
        self._days[hour] += 1
        self._logs[hour] += (log - self._logs[hour]) / min(self._days[hour], _MEMORY_DAYS)
        if known and len(self._recent) == self._wanted:
            self._health.flag("attenuated", on=sum(self._recent) / self._wanted < self._limit)
