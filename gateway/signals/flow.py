"""Level to flow through a primary device: what every rating has in common, and which module rates which kind.

Heads are in feet above the device's own zero (throat floor, crest, vertex, invert), flows in cfs and gpm. All ratings
hold for free flow: submergence cannot be seen from one level (`gateway.signals.derived` looks at a second one).
"""

import math
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Protocol

from gateway.units import conversion

__all__ = ["GPM_PER_CFS", "M_PER_FT", "Curve", "Flow", "FlowState", "PowerLaw", "Rating"]

M_PER_FT = 0.3048
GPM_PER_CFS = conversion("cfs", "gpm").gain
_STEP = 1e-4  # of the head, either side, for the slope of a curve
_HALVINGS = 200  # of an interval: past the last bit of any float


class FlowState(StrEnum):
    """Where the head lay in the range the rating was proven for. The words are those of a reading's tests."""

    OK = "ok"
    BELOW_RANGE = "below_range"
    ABOVE_RANGE = "saturated"
    DOUBLE_VALUED = "double_valued"  # nearly full pipe: two depths carry the same flow
    LEVEL_ONLY = "level_only"  # full pipe: the level says nothing of the flow


class Curve(Protocol):
    """Free flow over head."""

    def flow_cfs(self, head_ft: float) -> float:
        """The flow in cfs at a head above zero, in ft."""


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """Q = coefficient x (head + shift) ^ exponent, in cfs and ft."""

    coefficient: float
    exponent: float
    shift_ft: float = 0.0

    def flow_cfs(self, head_ft: float) -> float:
        """The formula, whatever the head."""
        return float(self.coefficient * (head_ft + self.shift_ft) ** self.exponent)


@dataclass(frozen=True, slots=True)
class Flow:
    """A rated flow in gpm, and whether the rating holds there."""

    gpm: float
    state: FlowState


@dataclass(frozen=True, slots=True)
class Rating:
    """A curve, proven from `h_min_ft` to `h_max_ft` and up to `q_max_gpm`, and whose numbers these are.

    `head_offset_ft` is the zero of the site: the level reading plus this is the head. `accuracy` is the device's own,
    as a share of the flow. `submergence_limit` is the downstream head over the head up to which the flow is free, None
    where nobody says. From `full_ft` on the pipe is full. `depth_only`: the flow rests on the depth and an assumed
    roughness alone, which backwater falsifies unseen.
    """

    name: str
    curve: Curve
    h_min_ft: float
    h_max_ft: float
    source: str
    accuracy: float
    submergence_limit: float | None = None
    q_max_gpm: float | None = None
    head_offset_ft: float = 0.0
    full_ft: float | None = None
    depth_only: bool = False

    def flow_gpm(self, level_ft: float) -> Flow:
        """The flow at a level reading, in gpm, with its state.

        Below the range the curve is kept, since zero would lose real flow; at or below zero head the flow is zero.
        Above the range the value is the curve's own and flagged: the device is saturated, and the number is no
        measurement. A level that is NaN gives NaN, flagged.
        """
        head = level_ft + self.head_offset_ft
        gpm = self.flow_cfs(head) * GPM_PER_CFS
        return Flow(gpm, self._state(head, gpm))

    def flow_cfs(self, head_ft: float) -> float:
        """The curve itself at a true head (the site's offset already applied), in cfs; zero at or below zero head."""
        if head_ft <= 0:
            return 0.0
        try:
            return self.curve.flow_cfs(head_ft)
        except OverflowError:
            return math.inf

    def head_ft(self, gpm: float) -> float | None:
        """The head of a flow in gpm, where the rating is proven; None for a flow outside it."""
        wanted = gpm / GPM_PER_CFS
        low, high = self.h_min_ft, self.h_max_ft
        if not self.flow_cfs(low) <= wanted <= self.flow_cfs(high):
            return None
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            if middle in (low, high):
                break
            low, high = (middle, high) if self.flow_cfs(middle) < wanted else (low, middle)
        return high

    def most_gpm(self, crown_level_ft: float | None = None) -> float:
        """The most that is believed, in gpm: at the greatest head, below the crown of the pipe, and up to `q_max_gpm`.

        `crown_level_ft` is the level reading at which the pipe is full.
        """
        head_ft = self.h_max_ft
        if crown_level_ft is not None:
            head_ft = min(head_ft, crown_level_ft + self.head_offset_ft)
        most = self.flow_cfs(head_ft) * GPM_PER_CFS
        return most if self.q_max_gpm is None else min(most, self.q_max_gpm)

    def sensitivity(self, head_ft: float) -> float:
        """n in dQ/Q = n dh/h at a head: by how many per cent the flow is off for 1 % of head. Zero without flow."""
        at = self.flow_cfs(head_ft)
        if not 0 < at < math.inf:
            return 0.0
        below, above = head_ft * (1 - _STEP), head_ft * (1 + _STEP)
        return (self.flow_cfs(above) - self.flow_cfs(below)) / (2 * _STEP * at)

    def uncertainty(self, head_ft: float, head_uncertainty_ft: float = 0.0) -> float:
        """The share by which the flow at a head may be off: the device's own and the head's, as a root sum of squares.

        Infinite at or below zero head, where no share can be told.
        """
        if head_ft <= 0:
            return math.inf
        return math.hypot(self.accuracy, self.sensitivity(head_ft) * head_uncertainty_ft / head_ft)

    def uncertainty_gpm(self, gpm: float, head_uncertainty_ft: float = 0.0) -> float | None:
        """The same in gpm at a flow in gpm; None where the rating does not reach."""
        head_ft = self.head_ft(gpm)
        return None if head_ft is None else self.uncertainty(head_ft, head_uncertainty_ft) * gpm

    def within(self, h_min_ft: float | None, h_max_ft: float | None, q_max_gpm: float | None) -> "Rating":
        """The same, proven over less. ValueError for a bound outside this range, or an empty one."""
        proven = f"{self.name} is proven from {self.h_min_ft:.3g} to {self.h_max_ft:.3g} ft"
        low, high = h_min_ft, h_max_ft
        for name, bound in (("h_min", low), ("h_max", high)):
            if bound is not None and not self.h_min_ft * _UNDER <= bound <= self.h_max_ft * _OVER:
                raise ValueError(f"{name} is {bound:.3g} ft, but {proven}")
        if q_max_gpm is not None and q_max_gpm <= 0:
            raise ValueError("q_max must be above zero")
        least = self.h_min_ft if low is None else low
        most = self.h_max_ft if high is None else high
        if least >= most:
            raise ValueError(f"h_min is not below h_max; {proven}")
        return replace(self, h_min_ft=least, h_max_ft=most, q_max_gpm=q_max_gpm or self.q_max_gpm)

    def _state(self, head_ft: float, gpm: float) -> FlowState:
        if self.full_ft is not None and head_ft >= self.full_ft:
            return FlowState.LEVEL_ONLY
        if head_ft > self.h_max_ft:
            return FlowState.ABOVE_RANGE if self.full_ft is None else FlowState.DOUBLE_VALUED
        if self.q_max_gpm is not None and gpm > self.q_max_gpm:
            return FlowState.ABOVE_RANGE
        return FlowState.OK if head_ft >= self.h_min_ft else FlowState.BELOW_RANGE


_UNDER, _OVER = 0.995, 1.005  # a bound copied from a metric sheet, rounded, is the same bound
