"""What a gravity pipe can carry when full, by Manning: a reading far above it is a surcharge or a fault, not a flow.

Q = (1.486 / n) A R^(2/3) S^(1/2) in cfs and ft; for a full circle A = pi D2 / 4 and R = D / 4
(docs/judging.md 4.11). n = 0.013 is the usual design value for sewer pipe of any make.
"""

import math

from gateway.units import conversion

__all__ = ["CAPACITY_MARGIN", "MANNING_N", "full_pipe_gpm"]

MANNING_N = 0.013
CAPACITY_MARGIN = 1.1
"""A circle carries at most 1.076 times its full flow (at 0.94 of its depth): above this the reading is no flow."""

_US_UNITS = 1.486
_GPM_PER_CFS = conversion("cfs", "gpm").gain


def full_pipe_gpm(diameter_ft: float, slope: float, n: float = MANNING_N) -> float:
    """The flow of a pipe that runs full under gravity, in gpm. `slope` is fall over length, 0.0104 for 1/8 in per ft.

    ValueError unless diameter, slope and n are above zero.
    """
    if diameter_ft <= 0 or slope <= 0 or n <= 0:
        raise ValueError("diameter, slope and roughness must be above zero")
    area = math.pi * diameter_ft**2 / 4
    radius_factor = math.pow(diameter_ft / 4, 2 / 3)
    return _US_UNITS / n * area * radius_factor * math.sqrt(slope) * _GPM_PER_CFS
