"""Level to flow through a primary device: Parshall flumes and thin-plate V-notch weirs, free flow.

Heads are in feet above the throat floor (flume) or the vertex of the notch (weir), flows in cfs and gpm.

Sources. Parshall: the equations in US units (Parshall; USBR Water Measurement Manual), which reproduce the metric
table of ISO 9826 / CJ/T 3008.3 within 0.35 %; head ranges from that table. V-notch: Kindsvater and Shen for 25 to 100
degrees, fitted as in the USBR manual (7-7), head from 0.05 m (ISO 1438) to 1.25 ft (USBR), a fully contracted notch
assumed; 22.5 degrees lies outside and keeps the plain C h^2.5. At 0.2 ft the plain formulas that printed tables use
for 30 and 45 degrees give 8 and 5 % less than Kindsvater and Shen: they leave out the head correction.

Submergence cannot be seen from one level: a surcharged flume reads high, and nothing here can tell.
"""

import math
from dataclasses import dataclass
from enum import StrEnum

from gateway.site import Primary
from gateway.units import conversion

__all__ = ["Flow", "FlowState", "Rating", "rating"]

_M_PER_FT = 0.3048
_STANDARD_GRAVITY_FT = 9.80665 / _M_PER_FT  # ft/s2
_GPM_PER_CFS = conversion("cfs", "gpm").gain


class FlowState(StrEnum):
    """Where the head lay in the range the rating was proven for."""

    OK = "ok"
    BELOW_RANGE = "below_range"
    ABOVE_RANGE = "above_range"


@dataclass(frozen=True, slots=True)
class Flow:
    """A rated flow in gpm, and whether the rating holds there."""

    gpm: float
    state: FlowState


@dataclass(frozen=True, slots=True)
class Rating:
    """Q = coefficient x (head + head_shift_ft) ^ exponent, in cfs and ft, proven from `h_min_ft` to `h_max_ft`.

    `head_offset_ft` is the zero of the site: the level reading plus this is the head. `source` says whose numbers
    these are.
    """

    name: str
    coefficient: float
    exponent: float
    h_min_ft: float
    h_max_ft: float
    source: str
    head_shift_ft: float = 0.0
    head_offset_ft: float = 0.0

    def flow_gpm(self, head_ft: float) -> Flow:
        """The flow at a level reading, in gpm, with its state.

        Below the range the formula is kept, since zero would lose real flow; at or below zero head the flow is zero.
        Above the range the value is the formula's own and flagged: the device is saturated, and the number is no
        measurement. A level that is NaN gives NaN, flagged.
        """
        head = head_ft + self.head_offset_ft
        return Flow(self.flow_cfs(head) * _GPM_PER_CFS, self._state(head))

    def flow_cfs(self, head_ft: float) -> float:
        """The formula itself at a true head (the site's offset already applied), in cfs; zero at or below zero head."""
        if head_ft <= 0:
            return 0.0
        try:
            return float(self.coefficient * (head_ft + self.head_shift_ft) ** self.exponent)
        except OverflowError:
            return math.inf

    def _state(self, head_ft: float) -> FlowState:
        if self.h_min_ft <= head_ft <= self.h_max_ft:
            return FlowState.OK
        return FlowState.ABOVE_RANGE if head_ft > self.h_max_ft else FlowState.BELOW_RANGE


def rating(primary: Primary) -> Rating:
    """The rating of one primary device. ValueError names an unknown kind, throat or angle and what is known."""
    if primary.kind == "parshall":
        return _parshall(primary)
    if primary.kind == "v-notch":
        return _v_notch(primary)
    raise ValueError(f"unknown primary device {primary.kind!r}; known are parshall and v-notch")


# Throat in inches: coefficient, exponent, least and greatest head in m.
# The 6-inch exponent is 1.58; tables that print 1.540 beside the same coefficient disagree with their own end-points.
_SMALL_PARSHALL = {
    1: (0.338, 1.55, 0.015, 0.21),
    2: (0.676, 1.55, 0.015, 0.24),
    3: (0.992, 1.547, 0.03, 0.33),
    6: (2.06, 1.58, 0.03, 0.45),
    9: (3.07, 1.53, 0.03, 0.60),
}
# Throat in ft: least and greatest head in m. Between two rows both must hold; above the last, the last holds.
_LARGE_PARSHALL_HEADS = (
    (1.0, 0.03, 0.75),
    (2.0, 0.05, 0.75),
    (4.0, 0.06, 0.80),
    (10.0, 0.09, 1.07),
    (12.0, 0.09, 1.37),
)
_SAME_THROAT = 0.02  # a metric flume of 0.15, 0.30 or 0.60 m is its nearest US size within 2 %
_PARSHALL_SOURCE = "Parshall, free flow: USBR Water Measurement Manual; head range ISO 9826 / CJ/T 3008.3"


def _parshall(primary: Primary) -> Rating:
    throat_ft = primary.throat_ft
    if throat_ft is None:
        raise ValueError("a Parshall flume needs its throat width")
    for inches, (coefficient, exponent, low_m, high_m) in _SMALL_PARSHALL.items():
        if abs(throat_ft * 12 - inches) <= _SAME_THROAT * inches:
            return _parshall_rating(primary, f"{inches} in", coefficient, exponent, (low_m, high_m))
    name = f"{round(throat_ft, 3):g} ft"
    if 1 - _SAME_THROAT <= throat_ft <= 8:
        return _parshall_rating(primary, name, 4 * throat_ft, 1.522 * throat_ft**0.026, _large_heads_m(throat_ft))
    if 10 <= throat_ft <= 50 * (1 + _SAME_THROAT):
        return _parshall_rating(primary, name, 3.6875 * throat_ft + 2.5, 1.6, _large_heads_m(throat_ft))
    raise ValueError(
        f"no Parshall flume has a throat of {throat_ft:g} ft; known are 1, 2, 3, 6 and 9 in, 1 to 8 ft and 10 to 50 ft"
    )


def _large_heads_m(throat_ft: float) -> tuple[float, float]:
    rows = _LARGE_PARSHALL_HEADS
    same = [row for row in rows if abs(throat_ft - row[0]) <= _SAME_THROAT * row[0]]
    above = [row for row in rows if row[0] >= throat_ft][:1]
    below = [row for row in rows if row[0] <= throat_ft][-1:]
    bounds = same or above + below
    return max(row[1] for row in bounds), min(row[2] for row in bounds)


def _parshall_rating(
    primary: Primary, throat: str, coefficient: float, exponent: float, heads_m: tuple[float, float]
) -> Rating:
    return Rating(
        name=f"Parshall {throat}",
        coefficient=coefficient,
        exponent=exponent,
        h_min_ft=heads_m[0] / _M_PER_FT,
        h_max_ft=heads_m[1] / _M_PER_FT,
        source=_PARSHALL_SOURCE,
        head_offset_ft=primary.head_offset_ft,
    )


_LEAST_NOTCH_HEAD_M = 0.05
_GREATEST_NOTCH_HEAD_FT = 1.25
_NARROW_NOTCH_DEG, _NARROW_NOTCH_C, _NARROW_NOTCH_LEAST_FT = 22.5, 0.497, 0.20


def _v_notch(primary: Primary) -> Rating:
    angle_deg = primary.angle_deg
    if angle_deg is None:
        raise ValueError("a V-notch weir needs its angle")
    if 25 <= angle_deg <= 100:
        return Rating(
            name=f"V-notch {angle_deg:g} deg",
            coefficient=_kindsvater_shen_coefficient(angle_deg),
            exponent=2.5,
            h_min_ft=_LEAST_NOTCH_HEAD_M / _M_PER_FT,
            h_max_ft=_GREATEST_NOTCH_HEAD_FT,
            source="Kindsvater-Shen, fully contracted: ISO 1438, USBR Water Measurement Manual 7-7",
            head_shift_ft=_kindsvater_shen_shift_ft(angle_deg),
            head_offset_ft=primary.head_offset_ft,
        )
    if angle_deg == _NARROW_NOTCH_DEG:
        return Rating(
            name=f"V-notch {angle_deg:g} deg",
            coefficient=_NARROW_NOTCH_C,
            exponent=2.5,
            h_min_ft=_NARROW_NOTCH_LEAST_FT,
            h_max_ft=_GREATEST_NOTCH_HEAD_FT,
            source="C h^2.5 with C 0.497, printed handbooks, fully contracted; not verified against a standard",
            head_offset_ft=primary.head_offset_ft,
        )
    raise ValueError(f"no rating is known for a V-notch of {angle_deg:g} deg; known are 22.5 and 25 to 100 deg")


def _kindsvater_shen_coefficient(angle_deg: float) -> float:
    effective = 0.607165 - 0.000874467 * angle_deg + 6.10393e-6 * angle_deg**2
    return 8 / 15 * math.sqrt(2 * _STANDARD_GRAVITY_FT) * effective * math.tan(math.radians(angle_deg) / 2)


def _kindsvater_shen_shift_ft(angle_deg: float) -> float:
    return 0.01449 - 0.00033956 * angle_deg + 3.29819e-6 * angle_deg**2 - 1.06215e-8 * angle_deg**3
