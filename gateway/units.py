"""The field's units and their exact factors: pure arithmetic, no rounding before the last step.

Every factor is a fraction derived from definitions (1 US gal = 231 in3, 1 in = 25.4 mm, 1 mH2O = 9806.65 Pa), so a
conversion is rounded once, when it becomes a float. Concentrations by weight in dilute sewage count 1 ppm = 1 mg/L, and
NTU and FNU count alike (both are formazin units); neither law tells them apart.
"""

import math
import re
from dataclasses import dataclass
from fractions import Fraction

from gateway.site import Conversion
from gateway.spelling import did_you_mean

__all__ = [
    "QUANTITIES",
    "SUBSTANCES",
    "canonical_unit",
    "conversion",
    "difference_conversion",
    "format_duration",
    "parse_duration_us",
    "parse_quantity",
    "quantity_units",
    "two_point_conversion",
    "water_column_conversion",
]

_L_PER_GAL = Fraction(3785411784, 10**9)  # 231 in3 at 2.54 cm to the inch
_L_PER_CUBIC_FOOT = Fraction(28316846592, 10**9)
_FOOT = Fraction(3048, 10**4)
_PA_PER_MH2O = Fraction(980665, 100)  # conventional: 1000 kg/m3 at standard gravity
_PA_PER_PSI = Fraction(45359237 * 980665, 10**13) / (Fraction(254, 10**4) ** 2)
_FIVE_NINTHS = Fraction(5, 9)
_ICE_POINT_K = Fraction(27315, 100)


@dataclass(frozen=True, slots=True)
class _Unit:
    """base = value x factor + offset, within one dimension."""

    dimension: str
    factor: Fraction = Fraction(1)
    offset: Fraction = Fraction(0)


_UNITS: dict[str, _Unit] = {
    # flow, base L/s
    "gpm": _Unit("flow", _L_PER_GAL / 60),
    "gpd": _Unit("flow", _L_PER_GAL / 86_400),
    "MGD": _Unit("flow", _L_PER_GAL * 10**6 / 86_400),
    "cfs": _Unit("flow", _L_PER_CUBIC_FOOT),
    "L/s": _Unit("flow"),
    "L/min": _Unit("flow", Fraction(1, 60)),
    "m3/h": _Unit("flow", Fraction(1000, 3600)),
    "m3/s": _Unit("flow", Fraction(1000)),
    # length, base m
    "ft": _Unit("length", _FOOT),
    "in": _Unit("length", _FOOT / 12),
    "m": _Unit("length"),
    "cm": _Unit("length", Fraction(1, 100)),
    "mm": _Unit("length", Fraction(1, 1000)),
    # velocity, base m/s
    "ft/s": _Unit("velocity", _FOOT),
    "m/s": _Unit("velocity"),
    "cm/s": _Unit("velocity", Fraction(1, 100)),
    # pressure, base Pa
    "Pa": _Unit("pressure"),
    "kPa": _Unit("pressure", Fraction(1000)),
    "mbar": _Unit("pressure", Fraction(100)),
    "bar": _Unit("pressure", Fraction(100_000)),
    "psi": _Unit("pressure", _PA_PER_PSI),
    "mH2O": _Unit("pressure", _PA_PER_MH2O),
    "ftH2O": _Unit("pressure", _PA_PER_MH2O * _FOOT),
    # temperature, base K
    "K": _Unit("temperature"),
    "degC": _Unit("temperature", Fraction(1), _ICE_POINT_K),
    "degF": _Unit("temperature", _FIVE_NINTHS, _ICE_POINT_K - 32 * _FIVE_NINTHS),
    # conductivity, base uS/cm
    "uS/cm": _Unit("conductivity"),
    "mS/cm": _Unit("conductivity", Fraction(1000)),
    # concentration, base mg/L
    "mg/L": _Unit("concentration"),
    "g/L": _Unit("concentration", Fraction(1000)),
    "ug/L": _Unit("concentration", Fraction(1, 1000)),
    "ppm": _Unit("concentration"),
    # the rest
    "pH": _Unit("pH"),
    "NTU": _Unit("turbidity"),
    "FNU": _Unit("turbidity"),
    "mV": _Unit("potential"),
    "V": _Unit("potential", Fraction(1000)),
    "mA": _Unit("current"),
    "%": _Unit("share"),
    "gal": _Unit("volume", _L_PER_GAL),
    "L": _Unit("volume"),
    "mL": _Unit("volume", Fraction(1, 1000)),
    "m3": _Unit("volume", Fraction(1000)),
    "ft3": _Unit("volume", _L_PER_CUBIC_FOOT),
    "kg/d": _Unit("load"),
    "lb/d": _Unit("load", Fraction(45359237, 10**8)),
    "deg": _Unit("angle"),
    "state": _Unit("contact"),  # a switch: 0 open, 1 closed
    # time, base us
    "us": _Unit("time"),
    "ms": _Unit("time", Fraction(1000)),
    "s": _Unit("time", Fraction(10**6)),
    "min": _Unit("time", Fraction(60 * 10**6)),
    "h": _Unit("time", Fraction(3600 * 10**6)),
    "d": _Unit("time", Fraction(86_400 * 10**6)),
}

# Other spellings people and manuals use; the left one is never stored.
_ALIASES = {
    "°C": "degC", "°F": "degF", "µS/cm": "uS/cm", "μS/cm": "uS/cm", "µg/L": "ug/L", "μg/L": "ug/L",
    "m³/h": "m3/h", "m³/s": "m3/s", "m³": "m3", "ft³": "ft3", "l/s": "L/s", "l/min": "L/min", "mg/l": "mg/L",
    "g/l": "g/L", "ug/l": "ug/L", "mgd": "MGD", "s.u.": "pH", "°": "deg", "day": "d", "days": "d", "hour": "h",
    "hours": "h", "sec": "s", "µs": "us", "ml": "mL",
}  # fmt: skip

_CONCENTRATION = ("mg/L", "g/L", "ug/L", "ppm")
# What only a laboratory measures, as a rule; the usual names of ordinances and reports.
SUBSTANCES = (
    "cadmium", "hex-chromium", "total-chromium", "copper", "lead", "mercury", "nickel", "zinc", "arsenic",
    "cyanide-free", "cyanide-complex", "selenium", "barium", "manganese", "gold", "silver", "phenol", "fog",
    "chlorine-demand",
)  # fmt: skip
QUANTITIES: dict[str, tuple[str, ...]] = {
    "pH": ("pH",),
    "temperature": ("degC", "degF", "K"),
    "flow": ("gpm", "gpd", "MGD", "cfs", "L/s", "m3/h", "m3/s", "L/min"),
    "level": ("ft", "in", "m", "cm", "mm"),
    "velocity": ("ft/s", "m/s", "cm/s"),
    "pressure": ("bar", "mbar", "Pa", "kPa", "psi", "mH2O", "ftH2O"),
    "conductivity": ("uS/cm", "mS/cm"),
    "turbidity": ("NTU", "FNU"),
    "tss": _CONCENTRATION,
    "bod": _CONCENTRATION,
    "cod": _CONCENTRATION,
    "ammonium": _CONCENTRATION,
    "chlorine": _CONCENTRATION,
    "fluoride": _CONCENTRATION,
    "sulfide": _CONCENTRATION,
    "oxygen": _CONCENTRATION,
    "orp": ("mV", "V"),
    "h2s-gas": ("ppm",),  # by volume in air: no other unit, so it never meets mg/L
    "voltage": ("mV", "V"),
    "current": ("mA",),
    "share": ("%",),
    "volume": ("gal", "L", "m3", "ft3"),
    "load": ("kg/d", "lb/d"),
    "contact": ("state",),
    **dict.fromkeys(SUBSTANCES, _CONCENTRATION),
}

_NUMBER_AND_UNIT = re.compile(r"\s*([+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?)\s*(\S(?:.*\S)?)?\s*")
_MAX_DURATION_US = 36_525 * 86_400 * 10**6  # a century: anything longer is a slip of the pen


def canonical_unit(unit: str) -> str:
    """The stored spelling of a unit. ValueError, with the nearest known spelling, when there is none."""
    name = _ALIASES.get(unit, unit)
    if name in _UNITS:
        return name
    raise ValueError(f"unknown unit {unit!r}{did_you_mean(unit, [*_UNITS, *_ALIASES])}")


def quantity_units(quantity: str) -> tuple[str, ...]:
    """The units a channel of this quantity may have. ValueError for a quantity the product does not know."""
    if quantity not in QUANTITIES:
        hint = did_you_mean(quantity, QUANTITIES) or f"; known: {', '.join(QUANTITIES)}"
        raise ValueError(f"unknown quantity {quantity!r}{hint}")
    return QUANTITIES[quantity]


def conversion(from_unit: str, to_unit: str) -> Conversion:
    """How a value in one unit becomes a value in another; the exact identity for equal units.

    ValueError when the units measure different things: pressure and level need `water_column_conversion`.
    """
    start, end = _pair(from_unit, to_unit)
    return Conversion(float(start.factor / end.factor), float((start.offset - end.offset) / end.factor))


def difference_conversion(from_unit: str, to_unit: str) -> Conversion:
    """The same for differences (deadbands, spikes, uncertainties): a step of 1 degC is one of 1.8 degF."""
    start, end = _pair(from_unit, to_unit)
    return Conversion(float(start.factor / end.factor), 0.0)


def water_column_conversion(from_pressure: str, to_length: str) -> Conversion:
    """Gauge pressure as the height of water that makes it (1 mH2O = 9806.65 Pa; sewage is within 1 % of that).

    Asked for by name in the site file, never by itself: an absolute transmitter would read 34 ft high.
    """
    start, end = _unit(from_pressure), _unit(to_length)
    if start.dimension != "pressure" or end.dimension != "length":
        raise ValueError(f"a water column turns a pressure into a level, not {from_pressure!r} into {to_length!r}")
    return Conversion(float(start.factor / _PA_PER_MH2O / end.factor), 0.0)


def two_point_conversion(low: tuple[float, float], high: tuple[float, float]) -> Conversion:
    """The straight line through (input, output) at both ends of a transmitter's range, as for 4 to 20 mA.

    ValueError when both inputs are equal.
    """
    (x0, y0), (x1, y1) = [(_exact(x), _exact(y)) for x, y in (low, high)]
    if x0 == x1:
        raise ValueError("both ends of the input range are the same")
    gain = (y1 - y0) / (x1 - x0)
    return Conversion(float(gain), float(y0 - gain * x0))


def parse_quantity(text: str, example: str = "10 gpm") -> tuple[float, str]:
    """A number with its unit, as `10 gpm`: (value, canonical unit). ValueError says what is wrong."""
    number, unit = _split(text, example)
    value = float(number)
    if not math.isfinite(value):
        raise ValueError(f"{text!r} is too large a number")
    return value, unit


def parse_duration_us(text: str) -> int:
    """A duration as `15 min`, `37.5 s`, `4 h`: whole microseconds, exactly. ValueError says what is wrong."""
    number, unit = _split(text, example="15 min")
    if _UNITS[unit].dimension != "time":
        raise ValueError(f"{text!r} is not a duration: {unit} is no unit of time (us, ms, s, min, h, d)")
    exact = Fraction(number) * _UNITS[unit].factor
    if exact < 0:
        raise ValueError(f"{text!r} is negative")
    if exact > _MAX_DURATION_US:
        raise ValueError(f"{text!r} is longer than a century")
    if exact.denominator != 1:
        raise ValueError(f"{text!r} is not a whole number of microseconds")
    return exact.numerator


def format_duration(duration_us: int) -> str:
    """A duration as people write it, exact: the largest unit that leaves a whole number."""
    for unit in ("d", "h", "min", "s", "ms"):
        size = int(_UNITS[unit].factor)
        if duration_us and duration_us % size == 0:
            return f"{duration_us // size} {unit}"
    return f"{duration_us} us" if duration_us else "0 s"


def _split(text: str, example: str) -> tuple[str, str]:
    match = _NUMBER_AND_UNIT.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a number with its unit, as in {example!r}")
    number, unit = match.groups()
    if unit is None:
        raise ValueError(f"{text!r} has no unit; write it as in {example!r}")
    if unit.startswith(","):
        raise ValueError(f"{text!r}: write the number without thousands separators")
    return number, canonical_unit(unit)


def _pair(from_unit: str, to_unit: str) -> tuple[_Unit, _Unit]:
    start, end = _unit(from_unit), _unit(to_unit)
    if start.dimension != end.dimension:
        raise ValueError(
            f"{from_unit!r} is a unit of {start.dimension} and {to_unit!r} one of {end.dimension}: no conversion"
        )
    return start, end


def _unit(name: str) -> _Unit:
    return _UNITS[canonical_unit(name)]


def _exact(value: float) -> Fraction:
    """The decimal a person wrote, not its nearest binary fraction."""
    return Fraction(repr(value))
