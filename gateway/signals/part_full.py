"""A pipe itself as the primary device: Manning's formula for a circle that runs partly full.

theta = 2 acos(1 - 2d/D) = 4 asin(sqrt(d/D)), A = D2 (theta - sin theta) / 8, P = D theta / 2, R = A / P, and
Q = (1.486 / n) A R^(2/3) S^(1/2) in cfs and ft, n the same at all depths. It holds for uniform flow only: backwater
and surcharge make it read high, and nothing in one depth shows them. That is why such a flow is called depth-only.
"""

import math
from dataclasses import dataclass

from gateway.primary import Primary
from gateway.signals.flow import Rating
from gateway.signals.pipe import MANNING_N

__all__ = ["DOUBLE_VALUED_FROM", "Section", "manning", "section"]

DOUBLE_VALUED_FROM = 0.938
"""Share of the diameter at which a circle carries most, 1.0757 times its full flow: above it a flow has two depths."""

_US_UNITS = 1.486
_SMALL_ANGLE = 1e-2  # below it the difference of angle and sine is lost in rounding; its series is good to 1e-11
_LEAST_DEPTH = 0.1  # of the diameter, ours: below it a pipe's roughness and sediment rule, not the formula
_ACCURACY = 0.20  # ours: the roughness of a sewer in use is hardly known better


@dataclass(frozen=True, slots=True)
class Section:
    """The wetted part of a circle, in the units of the diameter."""

    area: float
    perimeter: float

    @property
    def radius(self) -> float:
        """The hydraulic radius, area over wetted perimeter."""
        return self.area / self.perimeter


def section(depth: float, diameter: float) -> Section:
    """The wetted section of a circle, any one unit of length; a depth beyond the crown counts as full.

    ValueError unless depth and diameter are above zero.
    """
    if not (depth > 0 and diameter > 0):
        raise ValueError("depth and diameter must be above zero")
    angle = 4 * math.asin(math.sqrt(min(1.0, depth / diameter)))  # the same angle, exact for small depths too
    segment = angle - math.sin(angle) if angle > _SMALL_ANGLE else angle**3 / 6 * (1 - angle**2 / 20)
    return Section(diameter**2 * segment / 8, diameter * angle / 2)


@dataclass(frozen=True, slots=True)
class _PartFull:
    diameter_ft: float
    slope: float
    n: float

    def flow_cfs(self, head_ft: float) -> float:
        """Manning's formula at a depth; a full pipe from the crown on. NaN for NaN."""
        if math.isnan(head_ft):
            return math.nan
        wet = section(head_ft, self.diameter_ft)
        if wet.area <= 0:  # a depth beyond what a float can tell from none
            return 0.0
        return float(_US_UNITS / self.n * wet.area * wet.radius ** (2 / 3) * math.sqrt(self.slope))


def manning(primary: Primary) -> Rating:
    """A circular pipe by diameter, slope and roughness (0.013 unless stated). ValueError says what is missing."""
    diameter_ft, slope = primary.diameter_ft, primary.slope
    n = MANNING_N if primary.roughness is None else primary.roughness
    if diameter_ft is None or slope is None:
        raise ValueError("a pipe needs its diameter and its slope")
    if not (0 < diameter_ft < math.inf and 0 < slope < 1 and 0 < n < 0.1):
        raise ValueError("a pipe needs a diameter above zero, a slope between 0 and 100 %, and a roughness below 0.1")
    return Rating(
        name=f"Manning, pipe of {diameter_ft:.4g} ft at {slope:.3%}, n {n:g}",
        curve=_PartFull(diameter_ft, slope, n),
        h_min_ft=_LEAST_DEPTH * diameter_ft,
        h_max_ft=DOUBLE_VALUED_FROM * diameter_ft,
        source="Manning's formula, uniform flow in a circular pipe",
        accuracy=_ACCURACY,
        full_ft=diameter_ft,
        depth_only=True,
    )
