"""Flumes rated by a power of the head: Parshall flumes by their published equations, any other by its maker's.

Parshall: the equations in US units (Parshall; USBR Water Measurement Manual), which reproduce the metric table of ISO
9826 / CJ/T 3008.3 within 0.35 %; head ranges from that table. The head is measured in the converging section, two
thirds of its wall's length up from the throat.
"""

from gateway.primary import Primary
from gateway.signals.flow import M_PER_FT, PowerLaw, Rating

__all__ = ["parshall", "power"]

# Throat in inches: coefficient, exponent, least and greatest head in m, downstream over upstream head of free flow.
# The 6-inch exponent is 1.58; tables that print 1.540 beside the same coefficient disagree with their own end-points.
_SMALL = {
    1: (0.338, 1.55, 0.015, 0.21, 0.50),
    2: (0.676, 1.55, 0.015, 0.24, 0.50),
    3: (0.992, 1.547, 0.03, 0.33, 0.50),
    6: (2.06, 1.58, 0.03, 0.45, 0.60),
    9: (3.07, 1.53, 0.03, 0.60, 0.60),
}
# Throat in ft: least and greatest head in m. Between two rows both must hold; above the last, the last holds.
_LARGE_HEADS = (
    (1.0, 0.03, 0.75),
    (2.0, 0.05, 0.75),
    (4.0, 0.06, 0.80),
    (10.0, 0.09, 1.07),
    (12.0, 0.09, 1.37),
)
_SAME_THROAT = 0.02  # a metric flume of 0.15, 0.30 or 0.60 m is its nearest US size within 2 %
_SOURCE = "Parshall, free flow: USBR Water Measurement Manual; head range ISO 9826 / CJ/T 3008.3"
_ACCURACY = 0.03  # ours: a flume set level, of true dimensions
_USERS_ACCURACY = 0.05  # ours, for an equation nobody here has checked


def parshall(primary: Primary) -> Rating:
    """A Parshall flume by its throat width. ValueError for a throat that no such flume has."""
    throat_ft = primary.throat_ft
    if throat_ft is None:
        raise ValueError("a Parshall flume needs its throat width")
    for inches, (coefficient, exponent, low_m, high_m, submergence) in _SMALL.items():
        if abs(throat_ft * 12 - inches) <= _SAME_THROAT * inches:
            return _rating(f"{inches} in", coefficient, exponent, (low_m, high_m), submergence)
    name = f"{round(throat_ft, 3):g} ft"
    if 1 - _SAME_THROAT <= throat_ft <= 8:
        # The width is raised inside the exponent: 4 W^1.026 h^1.522, a slip in public code, is right at 1 ft only.
        return _rating(name, 4 * throat_ft, 1.522 * throat_ft**0.026, _large_heads_m(throat_ft), 0.70)
    if 10 <= throat_ft <= 50 * (1 + _SAME_THROAT):
        return _rating(name, 3.6875 * throat_ft + 2.5, 1.6, _large_heads_m(throat_ft), 0.80)
    raise ValueError(
        f"no Parshall flume has a throat of {throat_ft:g} ft; known are 1, 2, 3, 6 and 9 in, 1 to 8 ft and 10 to 50 ft"
    )


def _large_heads_m(throat_ft: float) -> tuple[float, float]:
    rows = _LARGE_HEADS
    same = [row for row in rows if abs(throat_ft - row[0]) <= _SAME_THROAT * row[0]]
    above = [row for row in rows if row[0] >= throat_ft][:1]
    below = [row for row in rows if row[0] <= throat_ft][-1:]
    bounds = same or above + below
    return max(row[1] for row in bounds), min(row[2] for row in bounds)


def _rating(
    throat: str, coefficient: float, exponent: float, heads_m: tuple[float, float], submergence: float
) -> Rating:
    """Submergence limits: 50 % for 1 to 3 in, 70 % for 1 to 8 ft, 80 % for 10 to 50 ft are printed with the equations;
    60 % for 6 and 9 in is the usual figure, not seen in its source."""
    return Rating(
        name=f"Parshall {throat}",
        curve=PowerLaw(coefficient, exponent),
        h_min_ft=heads_m[0] / M_PER_FT,
        h_max_ft=heads_m[1] / M_PER_FT,
        source=_SOURCE,
        accuracy=_ACCURACY,
        submergence_limit=submergence,
    )


def power(primary: Primary) -> Rating:
    """A device whose maker gives Q = K h^n with its range of heads: Leopold-Lagco and others. ValueError says what is
    missing."""
    coefficient, exponent = primary.coefficient_cfs, primary.exponent
    low, high = primary.h_min_ft, primary.h_max_ft
    if coefficient is None or exponent is None or low is None or high is None:
        raise ValueError(
            "a power law needs its coefficient, its exponent, and the least and greatest head it holds for"
        )
    if coefficient <= 0 or not 1 <= exponent <= 3 or low < 0:
        raise ValueError("a power law needs a coefficient above zero, an exponent from 1 to 3, and no head below zero")
    if low >= high:
        raise ValueError(f"h_min is not below h_max: {low:.3g} and {high:.3g} ft")
    return Rating(
        name=f"Q = {coefficient:.4g} h^{exponent:g} (cfs, ft)",
        curve=PowerLaw(coefficient, exponent),
        h_min_ft=low,
        h_max_ft=high,
        source="the site file",
        accuracy=_USERS_ACCURACY,
    )
