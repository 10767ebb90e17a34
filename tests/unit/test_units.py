"""The field's units: factors against definitions and the printed figures people know them by."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway import units

# (value, from, to, expected, digits printed, why)
PRINTED = [
    (1, "gpm", "gpd", 1440, 0, "a gallon a minute for a day"),
    (1, "gpm", "MGD", 0.00144, 5, "the same in millions"),
    (1, "gpm", "cfs", 0.002228009, 9, "one gallon is 231 cubic inches"),
    (1, "gpm", "L/s", 0.0630902, 7, "one gallon is 3.785411784 L"),
    (1, "gpm", "m3/h", 0.2271247, 7, "metric meters beside American limits"),
    (1, "MGD", "gpm", 694.4444, 4, "a million gallons a day"),
    (1, "MGD", "cfs", 1.547229, 6, "a million gallons a day in cubic feet"),
    (1, "MGD", "L/s", 43.81264, 5, "a million gallons a day in litres"),
    (1, "MGD", "m3/h", 157.7255, 4, "a million gallons a day in cubic metres"),
    (1, "cfs", "gpm", 448.8312, 4, "flume formulas give cubic feet"),
    (1, "cfs", "gpd", 646316.9, 1, "a cubic foot a second for a day"),
    (1, "cfs", "m3/h", 101.9406, 4, "a cubic foot a second in cubic metres"),
    (1, "L/s", "gpm", 15.850323, 6, "a litre a second"),
    (1, "L/s", "gpd", 22824.47, 2, "a litre a second for a day"),
    (1, "L/s", "m3/h", 3.6, 9, "exact"),
    (1, "L/min", "L/s", 1 / 60, 12, "exact"),
    (1, "m3/h", "gpm", 4.402868, 6, "a cubic metre an hour"),
    (1, "m3/s", "gpm", 15850.323, 3, "what a magnetic meter sends"),
    (25_000, "gpd", "gpm", 17.361, 3, "the volume that makes a significant industry"),
    (1000, "gpm", "MGD", 1.44, 9, "Marlborough's flow cap in millions of gallons a day"),
    (1000, "gpm", "cfs", 2.2280, 4, "Marlborough's flow cap in cubic feet"),
    (1000, "gpm", "L/s", 63.09, 2, "Marlborough's flow cap in litres"),
    (1000, "gpm", "m3/h", 227.1, 1, "Marlborough's flow cap in cubic metres"),
    (1, "gal", "L", 3.785411784, 9, "231 cubic inches, exactly"),
    (1, "ft3", "L", 28.316846592, 9, "exact"),
    (1, "ft3", "gal", 7.480519, 6, "what a counter in cubic feet counts"),
    (1, "m3", "gal", 264.172052, 6, "what a counter in cubic metres counts"),
    (1, "gpm", "gpd", 24 * 60, 9, "1,440 minutes a day"),
    (100, "ppm", "mg/L", 100, 9, "by weight in dilute sewage, density taken as 1"),
    (1, "kg/d", "lb/d", 2.2046226, 7, "a pound is 0.45359237 kg"),
    (104, "degF", "degC", 40, 9, "the federal influent limit"),
    (140, "degF", "degC", 60, 9, "the slip of the pen in Little Valley's text"),
    (64, "degC", "degF", 147.2, 9, "the figure Little Valley prints"),
    (65, "degC", "degF", 149, 9, "the figure Marlborough prints"),
    (150, "degF", "degC", 65.556, 3, "the temperature limit of both towns"),
    (0, "degC", "K", 273.15, 9, "the ice point"),
    (12, "in", "ft", 1, 12, "exact"),
    (1, "ft", "m", 0.3048, 12, "exact"),
    (1, "m", "mm", 1000, 9, "exact"),
    (1, "bar", "psi", 14.503774, 6, "a pound-force on a square inch"),
    (1, "mH2O", "Pa", 9806.65, 9, "a conventional metre of water"),
    (1, "psi", "ftH2O", 2.306659, 6, "the water man's rule of thumb, 2.31 ft to the pound"),
    (1, "mS/cm", "uS/cm", 1000, 9, "exact"),
    (1, "g/L", "mg/L", 1000, 9, "exact"),
    (50, "ppm", "mg/L", 50, 9, "by weight in dilute sewage"),
    (1, "ug/L", "mg/L", 0.001, 12, "exact"),
    (7, "NTU", "FNU", 7, 9, "both are formazin units"),
    (1.5, "V", "mV", 1500, 9, "exact"),
]


@pytest.mark.parametrize(("value", "start", "end", "expected", "digits", "why"), PRINTED)
def test_printed_factors(value: float, start: str, end: str, expected: float, digits: int, why: str) -> None:
    """Every conversion agrees with the printed figure to its last printed digit."""
    assert units.conversion(start, end)(value) == pytest.approx(expected, abs=0.5000001 * 10.0**-digits), why


def test_factors_are_exact_before_rounding() -> None:
    """The float is the nearest one to the exact ratio of definitions, not a product of rounded factors."""
    gallon_l = Fraction(231) * Fraction(254, 100) ** 3 / 1000
    assert units.conversion("m3/s", "gpm").gain == float(1000 * 60 / gallon_l)
    foot_l = (12 * Fraction(254, 100)) ** 3 / 1000
    assert units.conversion("cfs", "gpm").gain == float(foot_l * 60 / gallon_l)


def test_fahrenheit_is_the_textbook_formula() -> None:
    """Degrees Celsius become Fahrenheit by exactly 1.8 and 32, so 65.55 degC is inside 150 degF and 65.56 is not."""
    c_to_f = units.conversion("degC", "degF")
    assert (c_to_f.gain, c_to_f.offset) == (1.8, 32.0)
    assert c_to_f(65.55) < 150 < c_to_f(65.56)


@pytest.mark.parametrize("unit", sorted({u for known in units.QUANTITIES.values() for u in known}))
def test_equal_units_are_the_identity(unit: str) -> None:
    """A unit to itself changes no bit of any value."""
    assert units.conversion(unit, unit).is_identity


def test_differences_carry_no_offset() -> None:
    """A deadband of 1 degC is one of 1.8 degF, not of 33.8."""
    assert units.difference_conversion("degC", "degF")(1.0) == 1.8


def test_pressure_becomes_level_only_by_name() -> None:
    """A pressure never turns into a level by itself, and by name as 1 bar = 33.455 ft of water."""
    with pytest.raises(ValueError, match="unit of pressure"):
        units.conversion("bar", "ft")
    assert units.water_column_conversion("bar", "ft")(1.0) == pytest.approx(100_000 / 9806.65 / 0.3048, rel=1e-15)
    with pytest.raises(ValueError, match="water column"):
        units.water_column_conversion("ft", "bar")


def test_gas_ppm_is_not_a_concentration_in_water() -> None:
    """A gas sensor's ppm has no other unit, so it cannot be compared with a limit in mg/L by accident."""
    assert units.quantity_units("h2s-gas") == ("ppm",)


def test_two_points_make_a_transmitter_range() -> None:
    """4 mA is empty and 20 mA is full; 12 mA is the middle."""
    line = units.two_point_conversion((4.0, 0.0), (20.0, 10.0))
    assert [line(ma) for ma in (4.0, 12.0, 20.0)] == [0.0, 5.0, 10.0]
    with pytest.raises(ValueError, match="same"):
        units.two_point_conversion((4.0, 0.0), (4.0, 10.0))


@pytest.mark.parametrize(
    ("text", "value", "unit"),
    [
        ("10 gpm", 10.0, "gpm"),
        ("10gpm", 10.0, "gpm"),
        (" -0.5  ft ", -0.5, "ft"),
        ("1.5e3 uS/cm", 1500.0, "uS/cm"),
        ("800 µS/cm", 800.0, "uS/cm"),
        ("5 °F", 5.0, "degF"),
        ("80 %", 80.0, "%"),
        (".5 mg/l", 0.5, "mg/L"),
    ],
)
def test_quantities_are_read(text: str, value: float, unit: str) -> None:
    """A number and its unit, in the spellings people use, become a value and the one stored spelling."""
    assert units.parse_quantity(text) == (value, unit)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("10", "has no unit; write it as in '10 gpm'"),
        ("gpm", "not a number with its unit"),
        ("", "not a number with its unit"),
        ("nan gpm", "not a number with its unit"),
        ("inf gpm", "not a number with its unit"),
        ("1e999 gpm", "too large"),
        ("1,000 gpm", "without thousands separators"),
        ("10 gpn", "did you mean 'gpm'"),
        ("7 PH", "did you mean 'pH'"),
        ("٣ gpm", "not a number with its unit"),
        ("3 furlong", "unknown unit 'furlong'"),
    ],
)
def test_bad_quantities_say_why(text: str, message: str) -> None:
    """A quantity that cannot be read names itself and the way out."""
    with pytest.raises(ValueError, match=message):
        units.parse_quantity(text)


@pytest.mark.parametrize(
    ("text", "us"),
    [
        ("15 min", 900_000_000),
        ("37.5 s", 37_500_000),
        ("0.1 s", 100_000),
        ("4 h", 14_400_000_000),
        ("30 days", 2_592_000_000_000),
        ("500 ms", 500_000),
        ("2min", 120_000_000),
        ("0 s", 0),
    ],
)
def test_durations_are_exact(text: str, us: int) -> None:
    """A duration is whole microseconds, with no binary fraction in between."""
    assert units.parse_duration_us(text) == us


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("15", "has no unit"),
        ("-1 s", "negative"),
        ("5 gpm", "not a duration"),
        ("0.5 us", "not a whole number"),
        ("101 y", "unknown unit 'y'"),
        ("40000 d", "longer than a century"),
    ],
)
def test_bad_durations_say_why(text: str, message: str) -> None:
    """A duration that cannot be meant is refused with its reason."""
    with pytest.raises(ValueError, match=message):
        units.parse_duration_us(text)


@pytest.mark.parametrize(("quantity", "near"), [("ph", "pH"), ("flwo", "flow"), ("temperatur", "temperature")])
def test_unknown_quantity_names_its_neighbour(quantity: str, near: str) -> None:
    """A misspelt quantity is told what it was probably meant to be."""
    with pytest.raises(ValueError, match=f"did you mean '{near}'"):
        units.quantity_units(quantity)


@given(st.integers(min_value=0, max_value=36_525 * 86_400 * 10**6))
def test_durations_round_trip(duration_us: int) -> None:
    """Any whole number of microseconds survives being written and read."""
    assert units.parse_duration_us(units.format_duration(duration_us)) == duration_us


@given(
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([u for known in units.QUANTITIES.values() for u in known]),
)
def test_quantities_round_trip(value: float, unit: str) -> None:
    """Any finite number with any unit survives being written and read, to the last bit."""
    assert units.parse_quantity(f"{value!r} {unit}") == (value, unit)


@given(st.floats(-1e6, 1e6), st.data())
def test_conversions_go_back(value: float, data: st.DataObject) -> None:
    """There and back again is the same value to a part in 10^9, for every pair of units of every quantity."""
    known = units.QUANTITIES[data.draw(st.sampled_from(sorted(units.QUANTITIES)))]
    start, end = data.draw(st.sampled_from(known)), data.draw(st.sampled_from(known))
    back = units.conversion(end, start)(units.conversion(start, end)(value))
    assert back == pytest.approx(value, rel=1e-9, abs=1e-9 * 600)
