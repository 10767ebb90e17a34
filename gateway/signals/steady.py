"""Whether a reading stands still: what a technician waits for before writing a number down."""

from collections.abc import Mapping
from math import inf

from gateway.model import Quality, Reading
from gateway.site import Channel
from gateway.units import difference_conversion

__all__ = ["STEADY_SHARE", "Steady", "tolerance_of"]

# How far the readings of a steady probe may lie apart: engineering choices, a few times an instrument's resolution.
_APART: Mapping[str, tuple[float, str]] = {
    "pH": (0.05, "pH"),
    "temperature": (0.2, "degC"),
    "orp": (5.0, "mV"),
    "level": (0.02, "ft"),
}
STEADY_SHARE = 0.02
"""The same as a share of the value, for every other quantity. Ours."""


def tolerance_of(channel: Channel) -> float | None:
    """How far apart readings of this channel may lie, in its unit; None where a share of the value is meant."""
    apart = _APART.get(channel.quantity)
    return None if apart is None else difference_conversion(apart[1], channel.unit)(apart[0])


class Steady:
    """Since when the readings of one channel have stayed together. `moves` lets the value go where it likes.

    A reading that failed or is missing, and a silence longer than the hold, start it afresh; its mode does not matter.
    """

    __slots__ = ("_high", "_hold_us", "_last_us", "_low", "_since_us", "_tolerance")

    def __init__(self, channel: Channel, *, moves: bool = False) -> None:
        self._tolerance = inf if moves else tolerance_of(channel)
        self._hold_us = channel.hold_us
        self._since_us: int | None = None
        self._last_us = 0
        self._low = self._high = 0.0

    def see(self, reading: Reading) -> None:
        """Take the channel's next reading."""
        mono_us, value = reading.at.mono_us, reading.value
        if value is None or reading.quality in (Quality.FAIL, Quality.MISSING):
            self._since_us = None
            return
        low, high = min(self._low, value), max(self._high, value)
        tolerance = STEADY_SHARE * max(abs(low), abs(high)) if self._tolerance is None else self._tolerance
        if self._since_us is None or mono_us - self._last_us > self._hold_us or high - low > tolerance:
            self._since_us, low, high = mono_us, value, value
        self._low, self._high, self._last_us = low, high, mono_us

    def since_us(self, now_us: int) -> int | None:
        """The first reading of the steady stretch that still lasts; None when it does not stand still or is silent."""
        return None if now_us - self._last_us > self._hold_us else self._since_us
