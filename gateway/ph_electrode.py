"""The arithmetic of a pH electrode: what buffers are worth at their temperature, and slope and offset from two of them.

A glass electrode gives E = offset + slope x k(T) x (7 - pH), with Nernst's k(T) = 59.16 mV/pH x T/298.15 K.
"""

from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise

__all__ = [
    "BUFFERS", "BUFFERS_FROM", "SlopeBand", "buffer_ph", "nernst_mv", "shown_mv", "slope_and_offset", "slope_band",
]  # fmt: skip

_MV_PER_PH_25 = 59.16
_T25_K = 298.15
_NEUTRAL = 7.0

BUFFERS_FROM = "manual MI 611-211 (October 2005), table 7"
BUFFERS: Mapping[str, tuple[float, ...]] = {
    "4.00": (4.00, 4.00, 4.00, 4.00, 4.00, 4.00, 4.01, 4.02, 4.03, 4.04, 4.06),
    "7.00": (7.12, 7.09, 7.06, 7.04, 7.02, 7.00, 6.99, 6.99, 6.98, 6.98, 6.97),
    "10.01": (10.32, 10.25, 10.18, 10.12, 10.06, 10.01, 9.97, 9.93, 9.89, 9.86, 9.83),
}
"""pH of the common technical buffers at 0, 5, 10 ... 50 degC: 0.05 M phthalate, 0.041 M and 0.026 M phosphate, and
0.025 M carbonate with 0.025 M bicarbonate. Source: BUFFERS_FROM. Another maker's buffers may differ in the second
decimal: what stands on the bottle goes before this table."""

_STEP_C, _LAST_C = 5.0, 50.0
_NAMES = {"4": "4.00", "4.0": "4.00", "7": "7.00", "7.0": "7.00", "10": "10.01"}


class SlopeBand(StrEnum):
    """What a slope in percent of Nernst's says of the electrode."""

    GOOD = "good"  # 95 to 105
    MAINTAIN = "maintain"  # 90 to 95
    ACT = "act"  # 85 to 90
    REJECT = "reject"  # below 85, or above 105


def slope_band(percent: float) -> SlopeBand:
    """The band of a slope, makers' usual bounds: the lower one belongs to the better band, 105 to good."""
    if not 85 <= percent <= 105:
        return SlopeBand.REJECT
    return SlopeBand.GOOD if percent >= 95 else SlopeBand.MAINTAIN if percent >= 90 else SlopeBand.ACT


def buffer_ph(name: str, temperature_c: float) -> float:
    """The pH of a technical buffer of the table at its temperature, straight between the table's steps.

    LookupError for a buffer that is not in it, ValueError for a temperature outside it.
    """
    row = BUFFERS.get(_NAMES.get(name.strip(), name.strip()))
    if row is None:
        raise LookupError(f"no table of buffer {name!r} (there are {', '.join(BUFFERS)}): give its nominal value")
    if not 0 <= temperature_c <= _LAST_C:
        raise ValueError(f"the table of buffers reaches from 0 to {_LAST_C:g} degC: give the nominal value")
    for step, (low, high) in enumerate(pairwise(row)):
        if temperature_c <= (step + 1) * _STEP_C:
            return low + (high - low) * (temperature_c / _STEP_C - step)
    return row[-1]


def nernst_mv(temperature_c: float) -> float:
    """Nernst's slope at a temperature, in mV per pH: 59.16 at 25 degC, in proportion to the absolute temperature."""
    return _MV_PER_PH_25 * (temperature_c + 273.15) / _T25_K


def shown_mv(shown_ph: float, temperature_c: float) -> float:
    """The mV of an ideal electrode behind a value that a transmitter shows."""
    return nernst_mv(temperature_c) * (_NEUTRAL - shown_ph)


def slope_and_offset(one: tuple[float, float, float], other: tuple[float, float, float]) -> tuple[float, float]:
    """Slope in percent of Nernst's and offset in mV at pH 7, from (buffer pH, mV, degC) of two buffers.

    ValueError when the buffers are the same.
    """
    (ph_1, mv_1, c_1), (ph_2, mv_2, c_2) = one, other
    ideal_1, ideal_2 = shown_mv(ph_1, c_1), shown_mv(ph_2, c_2)
    if ideal_1 == ideal_2:
        raise ValueError("two different buffers are needed")
    share = (mv_1 - mv_2) / (ideal_1 - ideal_2)
    return 100 * share, mv_1 - share * ideal_1
