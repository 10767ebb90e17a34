"""Thin-plate weirs with a free nappe: V-notch, rectangular, Cipolletti.

V-notch: Kindsvater and Shen for 25 to 100 degrees, fitted as in the USBR manual (7-7), head from 0.05 m (ISO 1438) to
1.25 ft (USBR), fully contracted. 22.5 degrees lies outside and keeps the plain C h^2.5. At 0.2 ft the plain formulas
that printed tables use for 30 and 45 degrees give 8 and 5 % less: they leave out the head correction. Who must agree
with such a table says `equation = "plain"`.

Rectangular: Francis, Q = 3.33 (L - 0.1 n h) h^1.5 with n end contractions; it holds while the crest is longer than
three times the head, and leaves out the velocity of approach. Cipolletti: Q = 3.367 L h^1.5 (USBR Water Measurement
Manual 7-12), sides sloping 1 to 4.
"""

import math
from dataclasses import dataclass

from gateway.primary import Primary
from gateway.signals.flow import M_PER_FT, PowerLaw, Rating

__all__ = ["FULL_CONTRACTION", "PLAIN_NOTCHES", "cipolletti", "rectangular", "v_notch"]

PLAIN_NOTCHES = {22.5: 0.497, 30.0: 0.676, 45.0: 1.035, 60.0: 1.443, 90.0: 2.50}
"""C of Q = C h^2.5 in cfs and ft, by the notch in degrees: printed handbooks. 45 and 60 degrees seen in print, the
others agree with Kindsvater and Shen within 2 % where they apply."""

FULL_CONTRACTION = {"head_over_height": 0.4, "height_m": 0.45, "width_m": 0.9}
"""Up to this head over the height of the vertex, and from this height and width of the approach, a V-notch counts as
fully contracted (ISO 1438)."""

_STANDARD_GRAVITY_FT = 9.80665 / M_PER_FT  # ft/s2
_FRANCIS = 3.33
_CIPOLLETTI = 3.367
_LEAST_NOTCH_HEAD_M = 0.05
_LEAST_HEAD_FT = 0.20  # below it the nappe may cling to the plate
_GREATEST_NOTCH_HEAD_FT = 1.25
_CRESTS_PER_HEAD = 3
_DROWNED = 0.0  # water behind the weir above its crest: the nappe is not free


@dataclass(frozen=True, slots=True)
class _Francis:
    """Q = 3.33 (L - 0.1 n h) h^1.5; past the head at which the formula turns back it keeps its greatest flow."""

    crest_ft: float
    contractions: int

    def flow_cfs(self, head_ft: float) -> float:
        """The formula in cfs and ft."""
        if self.contractions:
            head_ft = min(head_ft, 6 * self.crest_ft / self.contractions)  # dQ/dh = 0 at h = 0.6 L / (0.1 n)
        return float(_FRANCIS * (self.crest_ft - 0.1 * self.contractions * head_ft) * head_ft**1.5)


def rectangular(primary: Primary) -> Rating:
    """A rectangular weir by its crest and its end contractions (two unless stated). ValueError says what is missing."""
    crest_ft = primary.crest_ft
    contractions = 2 if primary.contractions is None else primary.contractions
    if contractions not in (0, 1, 2):
        raise ValueError(f"a rectangular weir has 0, 1 or 2 end contractions, not {contractions}")
    kind = ("suppressed", "one end contraction", "two end contractions")[contractions]
    least, most = _heads_over(crest_ft, "a rectangular weir")
    return Rating(
        name=f"Rectangular weir {crest_ft:.4g} ft, {kind}",
        curve=_Francis(crest_ft or 0.0, contractions),
        h_min_ft=least,
        h_max_ft=most,
        source="Francis, without velocity of approach; head at most a third of the crest",
        accuracy=0.05,  # ours: without a velocity of approach it reads low where the approach is narrow
        submergence_limit=_DROWNED,
    )


def cipolletti(primary: Primary) -> Rating:
    """A Cipolletti weir by its crest. ValueError when it is missing."""
    crest_ft = primary.crest_ft
    least, most = _heads_over(crest_ft, "a Cipolletti weir")
    return Rating(
        name=f"Cipolletti weir {crest_ft:.4g} ft",
        curve=PowerLaw(_CIPOLLETTI * (crest_ft or 0.0), 1.5),
        h_min_ft=least,
        h_max_ft=most,
        source="Cipolletti: USBR Water Measurement Manual 7-12, within 5 %; head at most a third of the crest",
        accuracy=0.05,
        submergence_limit=_DROWNED,
    )


def _heads_over(crest_ft: float | None, what: str) -> tuple[float, float]:
    if crest_ft is None:
        raise ValueError(f"{what} needs the length of its crest")
    most = crest_ft / _CRESTS_PER_HEAD
    if not _LEAST_HEAD_FT < most < math.inf:
        raise ValueError(
            f"a crest of {crest_ft:g} ft is too short: the head must stay below a third of it, and above "
            f"{_LEAST_HEAD_FT:g} ft"
        )
    return _LEAST_HEAD_FT, most


def v_notch(primary: Primary) -> Rating:
    """A V-notch by its full angle. ValueError for one that nobody has rated."""
    angle_deg = primary.angle_deg
    if angle_deg is None:
        raise ValueError("a V-notch weir needs its angle")
    most_ft = _GREATEST_NOTCH_HEAD_FT
    if primary.crest_height_ft is not None:
        most_ft = min(most_ft, FULL_CONTRACTION["head_over_height"] * primary.crest_height_ft)
    if primary.equation == "plain" or angle_deg == 22.5:
        return _plain_notch(angle_deg, most_ft)
    if not 25 <= angle_deg <= 100:
        raise ValueError(f"no rating is known for a V-notch of {angle_deg:g} deg; known are 22.5 and 25 to 100 deg")
    least_ft = _LEAST_NOTCH_HEAD_M / M_PER_FT
    _open(least_ft, most_ft)
    return Rating(
        name=f"V-notch {angle_deg:g} deg",
        curve=PowerLaw(_kindsvater_shen_coefficient(angle_deg), 2.5, _kindsvater_shen_shift_ft(angle_deg)),
        h_min_ft=least_ft,
        h_max_ft=most_ft,
        source="Kindsvater-Shen, fully contracted: ISO 1438, USBR Water Measurement Manual 7-7",
        accuracy=0.03,  # ours, for a sharp and level plate
        submergence_limit=_DROWNED,
    )


def _plain_notch(angle_deg: float, most_ft: float) -> Rating:
    coefficient = PLAIN_NOTCHES.get(angle_deg)
    if coefficient is None:
        known = ", ".join(f"{angle:g}" for angle in PLAIN_NOTCHES)
        raise ValueError(f"no plain coefficient is known for a V-notch of {angle_deg:g} deg; known are {known} deg")
    _open(_LEAST_HEAD_FT, most_ft)
    return Rating(
        name=f"V-notch {angle_deg:g} deg",
        curve=PowerLaw(coefficient, 2.5),
        h_min_ft=_LEAST_HEAD_FT,
        h_max_ft=most_ft,
        source=f"C h^2.5 with C {coefficient:g}, printed handbooks, fully contracted; not verified against a standard",
        accuracy=0.05,  # the tables say 2 to 5 %
        submergence_limit=_DROWNED,
    )


def _open(least_ft: float, most_ft: float) -> None:
    if not least_ft < most_ft:
        raise ValueError(
            f"the vertex is too low: the head must stay below {FULL_CONTRACTION['head_over_height']:g} of its height "
            f"above the floor, that is {most_ft:.3g} ft, and above {least_ft:.3g} ft"
        )


def _kindsvater_shen_coefficient(angle_deg: float) -> float:
    effective = 0.607165 - 0.000874467 * angle_deg + 6.10393e-6 * angle_deg**2
    return 8 / 15 * math.sqrt(2 * _STANDARD_GRAVITY_FT) * effective * math.tan(math.radians(angle_deg) / 2)


def _kindsvater_shen_shift_ft(angle_deg: float) -> float:
    return 0.01449 - 0.00033956 * angle_deg + 3.29819e-6 * angle_deg**2 - 1.06215e-8 * angle_deg**3
