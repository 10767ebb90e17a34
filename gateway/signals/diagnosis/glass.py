"""Broken or shorted glass: about pH 7 whatever flows by (docs/quality.md 4.4).

A glass electrode gives 0 mV at pH 7, so a cracked bulb or a wet plug reads near 7 regardless. The band around 7 and
both shares are ours, and so is that three hours in a row must say so: even sewage holds a good probe still for one hour
of a night, and a broken bulb has all the time in the world.
"""

import math
from typing import Any

from gateway.model import Reading, Resume
from gateway.signals.diagnosis.frame import Health, Minute, Test
from gateway.signals.watch import Said
from gateway.site import Channel, Site

__all__ = ["BrokenGlass"]

_LOW, _HIGH = 6.8, 7.2
_STILL = 0.02
_CHANGED = 0.2
_HOUR_US = 3_600_000_000
_ENOUGH = 0.5
_IN_A_ROW = 3


class _Spread:
    """Count, mean and sum of squares of what came in one hour."""

    __slots__ = ("count", "mean", "squares")

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self.count, self.mean, self.squares = 0, 0.0, 0.0

    def add(self, count: int, mean: float, squares: float) -> None:
        """Join another stretch to this one (Chan, Golub and LeVeque 1979)."""
        total = self.count + count
        step = mean - self.mean
        self.mean += step * count / total
        self.squares += squares + step * step * self.count * count / total
        self.count = total

    @property
    def sigma(self) -> float:
        return math.sqrt(self.squares / self.count) if self.count else 0.0


class BrokenGlass(Test):
    """Flags `broken_glass` after hours in which pH stood still near 7 while flow or conductivity changed."""

    def __init__(self, health: Health, channel: Channel, site: Site) -> None:
        self.key = f"glass:{channel.name}"
        self._health = health
        self._channel = channel.name
        wet_at = {witness.channel: witness.wet_at for witness in site.discharging.witnesses}
        self._moving = {
            name: (wet_at.get(name, 0.0), _Spread())
            for name, other in site.channels.items()
            if other.quantity in ("flow", "conductivity") and name != channel.name
        }
        self._ph = _Spread()
        self._minutes = 0
        self._hours: list[float] = []  # means of the hours in a row that were still while something moved
        self._enough = max(3, math.ceil(_ENOUGH * min(60.0, _HOUR_US / channel.poll_us)))
        self._hour = -1

    @property
    def witnesses(self) -> tuple[str, ...]:
        """The channels whose minutes it needs beside its own."""
        return tuple(self._moving)

    def minute(self, channel: str, minute: Minute, said: Said | None) -> None:
        """Take a minute of the pH, of a flow or of a conductivity."""
        if channel != self._channel:
            least, spread = self._moving[channel]
            if minute.mean > least:
                spread.add(1, minute.mean, 0.0)
            return
        hour = minute.at.utc_us // _HOUR_US  # of the clock: it outlives a restart
        if hour != self._hour:
            self._judge()
            self._begin()
            self._hour = hour
        self._ph.add(minute.count, minute.mean, minute.squares)
        self._minutes += 1

    def visited(self, reading: Reading) -> None:
        """A probe that somebody had in hand is judged anew."""
        if reading.channel == self._channel:
            self._begin()
            self._hours.clear()
            self._health.flag("broken_glass", on=False)

    def state(self) -> Any:
        """Whether it stands, the still hours so far, and the hour under way."""
        spreads = {self._channel: self._ph, **{name: spread for name, (_, spread) in self._moving.items()}}
        return {
            "flagged": self._health.flagged("broken_glass"), "hours": list(self._hours), "minutes": self._minutes,
            "hour": self._hour,
            "spreads": {name: [spread.count, spread.mean, spread.squares] for name, spread in spreads.items()},
        }  # fmt: skip

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring it back; the hour under way goes on while it lasts."""
        spreads = {self._channel: self._ph, **{name: spread for name, (_, spread) in self._moving.items()}}
        for name, (count, mean, squares) in state["spreads"].items():
            if name in spreads:
                spread = spreads[name]
                spread.count, spread.mean, spread.squares = int(count), float(mean), float(squares)
        self._minutes, self._hours = int(state["minutes"]), [float(mean) for mean in state["hours"]]
        self._hour = int(state.get("hour", -1))
        self._health.flag("broken_glass", on=bool(state["flagged"]))

    def _begin(self) -> None:
        self._ph.begin()
        self._minutes = 0
        for _, spread in self._moving.values():
            spread.begin()

    def _judge(self) -> None:
        if self._minutes < self._enough:
            return
        still = _LOW <= self._ph.mean <= _HIGH and self._ph.sigma < _STILL
        moving = any(
            spread.count >= self._enough and spread.sigma > _CHANGED * abs(spread.mean)
            for _, spread in self._moving.values()
        )
        if still and not moving:
            return  # nothing changed, so nobody can tell: what stood stands
        if not still:
            self._hours.clear()
            self._health.flag("broken_glass", on=False)
            return
        self._hours.append(self._ph.mean)
        del self._hours[:-_IN_A_ROW]
        if len(self._hours) == _IN_A_ROW and max(self._hours) - min(self._hours) < _STILL:
            self._health.flag("broken_glass", on=True)
