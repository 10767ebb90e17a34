"""Devices known by points: the maker's table of head and flow, and ratiometric ones known by full flow and a shape.

Between points the flow follows a straight line or a monotone cubic (PCHIP: Fritsch and Carlson 1980, with the weighted
harmonic means of Fritsch and Butland 1984 and three-point ends), which meets every point and never overshoots. Below
the first point it follows the line from no head and no flow; above the last one it stays there, saturated.
"""

import math
from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise

from gateway.primary import Primary
from gateway.signals.flow import GPM_PER_CFS, PowerLaw, Rating

__all__ = ["Points", "palmer_bowlus", "ratiometric", "table"]

_ACCURACY = 0.05  # ours, unless the sheet says better
_PALMER_BOWLUS_ACCURACY = 0.03  # makers, for one that is well installed
_PALMER_BOWLUS_SUBMERGENCE = 0.85  # makers
_LEAST_POINTS = 2

_Pairs = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Points:
    """A curve through (head in ft, flow in cfs), heads rising; `slopes` at each point make it a cubic, none a line."""

    heads: tuple[float, ...]
    flows: tuple[float, ...]
    slopes: tuple[float, ...] = ()

    @classmethod
    def through(cls, pairs: _Pairs, *, smooth: bool) -> "Points":
        """The curve through these points. ValueError unless heads rise and flows never fall, from zero at the least."""
        if len(pairs) < _LEAST_POINTS:
            raise ValueError("a table needs two points at the least")
        heads, flows = tuple(pair[0] for pair in pairs), tuple(pair[1] for pair in pairs)
        if not all(0 <= number < math.inf for number in heads + flows):
            raise ValueError("heads and flows of a table must not be negative")
        for (head, flow), (next_head, next_flow) in pairwise(pairs):
            if not head < next_head:
                raise ValueError(f"heads must rise from point to point: {next_head:.4g} ft follows {head:.4g} ft")
            if not flow <= next_flow:
                raise ValueError(f"flows must not fall: at {next_head:.4g} ft it is less than at {head:.4g} ft")
        if flows[-1] == 0:
            raise ValueError("a table without flow measures nothing")
        return cls(heads, flows, _slopes(heads, flows) if smooth else ())

    def flow_cfs(self, head_ft: float) -> float:
        """The flow at a head above zero; NaN for NaN."""
        heads, flows = self.heads, self.flows
        if math.isnan(head_ft):
            return math.nan
        if head_ft >= heads[-1]:
            return flows[-1]
        if head_ft < heads[0]:
            return flows[0] * (head_ft / heads[0])
        index = bisect_right(heads, head_ft) - 1
        width = heads[index + 1] - heads[index]
        share = (head_ft - heads[index]) / width
        start, end = flows[index], flows[index + 1]
        if not self.slopes:
            return start + (end - start) * share
        # The cubic of Hermite, as its rise above the first point; kept between the two, whatever the rounding.
        begin, finish = self.slopes[index] * width, self.slopes[index + 1] * width
        rise = share * share * (3 - 2 * share) * (end - start)
        rise += share * (1 - share) * ((1 - share) * begin - share * finish)
        return min(max(start + rise, start), end)


def _slopes(heads: tuple[float, ...], flows: tuple[float, ...]) -> tuple[float, ...]:
    widths = [b - a for a, b in pairwise(heads)]
    rises = [(b - a) / width for (a, b), width in zip(pairwise(flows), widths, strict=True)]
    if len(rises) == 1:
        return rises[0], rises[0]
    inner = [_harmonic(rises[i - 1], rises[i], widths[i - 1], widths[i]) for i in range(1, len(rises))]
    first = _end(widths[0], widths[1], rises[0], rises[1])
    last = _end(widths[-1], widths[-2], rises[-1], rises[-2])
    return first, *inner, last


def _harmonic(before: float, after: float, width_before: float, width_after: float) -> float:
    if before == 0 or after == 0:
        return 0.0
    one, other = 2 * width_after + width_before, width_after + 2 * width_before
    return (one + other) / (one / before + other / after)


def _end(width: float, next_width: float, rise: float, next_rise: float) -> float:
    slope = ((2 * width + next_width) * rise - width * next_rise) / (width + next_width)
    return min(max(slope, 0.0), 3 * rise)


def table(primary: Primary) -> Rating:
    """A device by the table of its own sheet. ValueError says what is wrong with it."""
    cfs = tuple((head, gpm / GPM_PER_CFS) for head, gpm in primary.points)
    curve = Points.through(cfs, smooth=primary.curve != "linear")
    return Rating(
        name=f"Table of {len(cfs)} points",
        curve=curve,
        h_min_ft=curve.heads[0],
        h_max_ft=curve.heads[-1],
        source="the site file",
        accuracy=_ACCURACY,
    )


def ratiometric(primary: Primary) -> Rating:
    """A device by its full flow, the head of it, and a shape: an exponent, or points as shares of both.

    ValueError says what is missing or wrong.
    """
    head_ft, flow_gpm, shape = primary.full_head_ft, primary.full_flow_gpm, primary.shape
    if head_ft is None or flow_gpm is None or shape is None:
        raise ValueError("a ratiometric device needs its full flow, the head of it, and its shape")
    if not (0 < head_ft < math.inf and 0 < flow_gpm < math.inf):
        raise ValueError("full head and full flow must be above zero")
    full_cfs = flow_gpm / GPM_PER_CFS
    if isinstance(shape, tuple):
        if shape[-1:] != ((1.0, 1.0),):
            raise ValueError("a shape ends with [1, 1]: full flow at full head")
        curve = Points.through(tuple((h * head_ft, q * full_cfs) for h, q in shape), smooth=primary.curve != "linear")
        return _ratiometric(curve, curve.heads[0], head_ft, f"shape of {len(shape)} points")
    if not 1 <= shape <= 3:
        raise ValueError("the exponent of a shape lies from 1 to 3")
    return _ratiometric(PowerLaw(full_cfs / head_ft**shape, shape), 0.0, head_ft, f"shape h^{shape:g}")


def _ratiometric(curve: Points | PowerLaw, least_ft: float, most_ft: float, shape: str) -> Rating:
    return Rating(
        name=f"Ratiometric, {shape}",
        curve=curve,
        h_min_ft=least_ft,
        h_max_ft=most_ft,
        source="the site file",
        accuracy=_ACCURACY,
    )


def palmer_bowlus(primary: Primary) -> Rating:
    """A Palmer-Bowlus flume by its maker's table, or ratiometric by points; no equation fits its whole range.

    ValueError for a fit, and whatever a table has wrong.
    """
    if not primary.points and not isinstance(primary.shape, tuple):
        raise ValueError(
            "a Palmer-Bowlus flume needs its maker's table: points, or full_flow, full_head and a shape by points "
            "(a power of the head is 7 % low at its least head)"
        )
    known = table(primary) if primary.points else ratiometric(primary)
    return Rating(
        name=f"Palmer-Bowlus, {known.name[0].lower()}{known.name[1:]}",
        curve=known.curve,
        h_min_ft=known.h_min_ft,
        h_max_ft=known.h_max_ft,
        source=known.source,
        accuracy=_PALMER_BOWLUS_ACCURACY,
        submergence_limit=_PALMER_BOWLUS_SUBMERGENCE,
    )
