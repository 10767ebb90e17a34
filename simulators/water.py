"""Water in the sewer: what one stream carries, and the chemistry that makes streams mix truthfully.

pH does not mix; acid and base do. A stream's strength is held as net strong base in meq/L, and pH follows from it by
one titration curve, pH = 7 + asinh(base / buffer) / ln 10: linear near neutral, one decade per pH unit far from it. For
pure water the buffer would be 2e-4 meq/L (twice the root of Kw); the sewage here flattens the curve to 0.05 meq/L.
"""

from dataclasses import dataclass
from math import asinh, log, radians, sinh, sqrt, tan

__all__ = ["Stream", "Rating", "WEIR", "base_from_ph", "ph_from_base"]

_BUFFER_MEQ_L = 0.05
_LN10 = log(10.0)
_GPM_PER_CFS = 448.831
_GRAVITY_FT_S2 = 32.174


def base_from_ph(ph: float) -> float:
    """Net strong base of a stream with this pH, in meq/L; negative is acid."""
    return _BUFFER_MEQ_L * sinh((ph - 7.0) * _LN10)


def ph_from_base(base_meq_l: float) -> float:
    """The pH of a stream with this much net strong base, in meq/L."""
    return 7.0 + asinh(base_meq_l / _BUFFER_MEQ_L) / _LN10


@dataclass(frozen=True, slots=True)
class Stream:
    """What one source sends: its flow, and what each litre of it carries."""

    flow_gpm: float
    ph: float = 7.2
    temperature_c: float = 30.0
    conductivity_us_cm: float = 850.0
    tss_mg_l: float = 350.0

    @property
    def base_meq_l(self) -> float:
        """Net strong base in meq/L, the form in which pH mixes."""
        return base_from_ph(self.ph)


@dataclass(frozen=True, slots=True)
class Rating:
    """The control section of the manhole: flow = coefficient x (depth + shift) ^ exponent, in gpm and ft."""

    coefficient_gpm: float
    exponent: float
    shift_ft: float = 0.0

    def depth_ft(self, flow_gpm: float) -> float:
        """The depth at which this flow passes."""
        if flow_gpm <= 0.0:
            return 0.0
        return max(0.0, float((flow_gpm / self.coefficient_gpm) ** (1.0 / self.exponent)) - self.shift_ft)

    @classmethod
    def parshall(cls, throat_ft: float) -> "Rating":
        """A Parshall flume in free flow, US constants in cfs and ft; ValueError for a throat with no constants here.

        1, 2, 3, 6 and 9 in are tabulated; from 1 to 8 ft Q = 4 W h^(1.522 W^0.026).
        """
        for inches, (coefficient, exponent) in _PARSHALL_CFS.items():
            if abs(throat_ft * 12.0 - inches) < 0.01:
                return cls(coefficient * _GPM_PER_CFS, exponent)
        if 1.0 <= throat_ft <= 8.0:
            return cls(4.0 * throat_ft * _GPM_PER_CFS, 1.522 * throat_ft**0.026)
        raise ValueError(f"no Parshall constants for a throat of {throat_ft} ft")

    @classmethod
    def v_notch(cls, angle_deg: float) -> "Rating":
        """A sharp V-notch, fully contracted: Kindsvater and Shen from 25 to 100 degrees, 22.5 by Q = 0.497 h^2.5.

        ValueError for any other angle.
        """
        if angle_deg == 22.5:
            return cls(0.497 * _GPM_PER_CFS, 2.5)
        if not 25.0 <= angle_deg <= 100.0:
            raise ValueError(f"no V-notch rating for {angle_deg} degrees")
        a = angle_deg
        discharge = 0.607165 - 0.000874467 * a + 6.10393e-6 * a**2
        shift_ft = 0.01449 - 0.00033956 * a + 3.29819e-6 * a**2 - 1.06215e-8 * a**3
        cfs = 8.0 / 15.0 * sqrt(2.0 * _GRAVITY_FT_S2) * discharge * tan(radians(a / 2.0))
        return cls(cfs * _GPM_PER_CFS, 2.5, shift_ft)


_PARSHALL_CFS = {1: (0.338, 1.55), 2: (0.676, 1.55), 3: (0.992, 1.547), 6: (2.06, 1.58), 9: (3.07, 1.53)}

WEIR = Rating.v_notch(45.0)
