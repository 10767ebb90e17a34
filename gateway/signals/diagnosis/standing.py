"""Water that stands, or runs back: a level with nothing that flows by it, so no flow can be made of the level.

Backwater fills flume and pipe from downstream, and every rating takes the level for more flow. A velocity shows it.
"""

from collections.abc import Mapping
from typing import Any

from gateway.model import Reading, Resume
from gateway.signals.diagnosis.frame import MINUTE_US, Health, Minute, Test
from gateway.signals.watch import Said
from gateway.site import Channel
from gateway.units import conversion, difference_conversion

__all__ = ["StandingWater", "velocity_beside"]

_SLOWER_FT_S = 0.1  # below it, or backward, nothing flows; ours: sewers are laid for 2 ft/s
_DEEPER_CM = 5.0  # ours: from there on an instrument sees a level and not the floor
_FOR_US = 600_000_000  # ours: a pump's stop is over by then
_GAP_US = 3 * MINUTE_US  # minutes further apart than this say nothing of what was between


def velocity_beside(level: Channel, channels: Mapping[str, Channel]) -> Channel | None:
    """The velocity that tells of this level: of the level's own device, or the only one of the site."""
    every = [channel for channel in channels.values() if channel.quantity == "velocity"]
    beside = [channel for channel in every if channel.device is not None and channel.device == level.device] or every
    return beside[0] if len(beside) == 1 else None


class StandingWater(Test):
    """Flags `standing_water` on a flow that is computed from a level beside which a velocity is measured."""

    def __init__(self, flow: Health, level: Channel, velocity: Channel) -> None:
        self.key = f"standing:{flow.channel}"
        self._flow = flow
        self._level, self._velocity = level.name, velocity.name
        self._slower = conversion("ft/s", velocity.unit)(_SLOWER_FT_S)
        self._deeper = difference_conversion("cm", level.unit)(_DEEPER_CM)
        self._since_us: int | None = None  # the first of the minutes without a flow
        self._heard_us = 0  # the last of them
        self._deep_us: int | None = None  # the last minute in which there was a level

    def minute(self, channel: str, minute: Minute, said: Said | None) -> None:
        """Take a minute of the level or of the velocity."""
        at_us = minute.at.mono_us
        if channel == self._level:
            self._deep_us = at_us if minute.mean >= self._deeper else None
            if self._deep_us is None:
                self._begin()
            return
        if minute.mean >= self._slower:
            self._begin()
            return
        if self._since_us is None or at_us - self._heard_us > _GAP_US:
            self._begin()
            self._since_us = at_us
        self._heard_us = at_us
        deep = self._deep_us is not None and at_us - self._deep_us <= _GAP_US
        if deep and at_us - self._since_us >= _FOR_US:
            self._flow.flag("standing_water", on=True)

    def visited(self, reading: Reading) -> None:
        """With somebody's hand in the water nobody can tell."""
        self._begin()

    def state(self) -> Any:
        """Since when nothing flows, and whether that was told."""
        return {
            "since_us": self._since_us, "heard_us": self._heard_us, "deep_us": self._deep_us,
            "flagged": self._flow.flagged("standing_water"),
        }  # fmt: skip

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring it back where time can be told; a flag stands until a minute says otherwise."""
        since_us, deep_us = state["since_us"], state["deep_us"]
        heard_us = resume.mono(int(state["heard_us"]))
        self._flow.flag("standing_water", on=bool(state["flagged"]))
        if since_us is not None and heard_us is not None:
            self._since_us, self._heard_us = resume.mono(int(since_us)), heard_us
        self._deep_us = None if deep_us is None else resume.mono(int(deep_us))

    def _begin(self) -> None:
        self._since_us = None
        self._flow.flag("standing_water", on=False)
