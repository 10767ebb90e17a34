"""How much water an aliquot must stand for, so that no flow overfills the bottle or leaves too little. Pure.

The rule is the makers': at the largest flow that is expected the bottle must not overflow, at the smallest it must
still hold what the laboratory needs (Teledyne Isco 6712SR manual, program example, page 108).
"""

import math
from dataclasses import dataclass

__all__ = ["Bounds", "bounds_gal"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Between which volumes, in gallons, one aliquot may lie; `most` and `fewest` aliquots make bottle and need."""

    least_gal: float
    greatest_gal: float
    most: int
    fewest: int

    @property
    def possible(self) -> bool:
        """Whether there is such a volume at all."""
        return self.most > 0 and self.least_gal <= self.greatest_gal


def bounds_gal(
    aliquot_ml: float, bottle_ml: float, needed_ml: float, smallest_gal: float, largest_gal: float
) -> Bounds:
    """The bounds for one composite: `smallest_gal` and `largest_gal` are the volumes expected in its duration.

    ValueError for anything that is not above zero, or a smallest volume above the largest.
    """
    if min(aliquot_ml, bottle_ml, needed_ml, smallest_gal) <= 0 or smallest_gal > largest_gal:
        raise ValueError("aliquot, bottle, need and volumes are above zero, the smallest not above the largest")
    most = math.floor(bottle_ml / aliquot_ml)
    fewest = math.ceil(needed_ml / aliquot_ml)
    least_gal = largest_gal / most if most else math.inf
    return Bounds(least_gal, smallest_gal / fewest, most, fewest)
