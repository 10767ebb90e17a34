"""Slope, offset and buffers: each number from Nernst's equation, a published formula, or arithmetic in the test."""

import pytest

from gateway.ph_electrode import (
    BUFFERS,
    SlopeBand,
    buffer_ph,
    nernst_mv,
    shown_mv,
    slope_and_offset,
    slope_band,
)


@pytest.mark.parametrize(("celsius", "mv"), [(0, 54.20), (25, 59.16), (50, 64.12)])
def test_nernst(celsius: float, mv: float) -> None:
    """59.16 mV at 25 degC, times 273.15/298.15 at 0 and 323.15/298.15 at 50: makers print 54, 59.16 and 64."""
    assert nernst_mv(celsius) == pytest.approx(59.16 * (celsius + 273.15) / 298.15, rel=1e-12)
    assert nernst_mv(celsius) == pytest.approx(mv, abs=0.005)


def test_an_ideal_electrode() -> None:
    """177.48 mV at pH 4 and -177.48 mV at pH 10 are three times 59.16: 100 %, and nothing at pH 7."""
    assert slope_and_offset((4.0, 177.48, 25.0), (10.0, -177.48, 25.0)) == pytest.approx((100.0, 0.0), abs=1e-9)
    assert shown_mv(4.0, 25.0) == pytest.approx(177.48)


def test_a_worn_electrode() -> None:
    """5 mV at pH 7 and nine tenths of Nernst's 59.16: 5 + 0.9 x 3 x 59.16 = 164.732 mV at pH 4."""
    slope, offset = slope_and_offset((4.0, 164.732, 25.0), (7.0, 5.0, 25.0))
    assert (slope, offset) == pytest.approx((90.0, 5.0), abs=1e-9)


def test_each_buffer_at_its_own_temperature() -> None:
    """pH 4 at 20 degC and pH 7.02 at 10 degC, 95 % and -12 mV: by Nernst with 293.15 K and 283.15 K."""
    warm = -12 + 0.95 * 59.16 * 293.15 / 298.15 * 3.0
    cold = -12 + 0.95 * 59.16 * 283.15 / 298.15 * -0.02
    assert slope_and_offset((4.0, warm, 20.0), (7.02, cold, 10.0)) == pytest.approx((95.0, -12.0), abs=1e-9)


def test_the_same_buffer_twice_gives_no_slope() -> None:
    """One point makes no line."""
    with pytest.raises(ValueError, match="two different buffers"):
        slope_and_offset((4.0, 170.0, 25.0), (4.0, 171.0, 25.0))


@pytest.mark.parametrize(
    ("percent", "band"),
    [
        (106, "reject"), (105, "good"), (100, "good"), (95, "good"), (94.9, "maintain"), (90, "maintain"),
        (89.9, "act"), (85, "act"), (84.9, "reject"), (-100, "reject"),
    ],
)  # fmt: skip
def test_bands(percent: float, band: str) -> None:
    """95 to 105 good, 90 to 95 maintain, 85 to 90 act, the rest no electrode."""
    assert slope_band(percent) is SlopeBand(band)


def test_the_phthalate_buffer_agrees_with_its_formula() -> None:
    """Hetzer and others (J. Res. NBS 81A, 1977): pH = 2073.44/T - 13.3270 + 0.045199 T - 3.4846e-5 T2, T in K."""
    for step, ph in enumerate(BUFFERS["4.00"]):
        kelvin = 273.15 + 5 * step
        formula = 2073.44 / kelvin - 13.3270 + 0.045199 * kelvin - 3.4846e-5 * kelvin**2
        assert ph == pytest.approx(formula, abs=0.015)


@pytest.mark.parametrize(
    ("name", "celsius", "ph"),
    [
        ("4", 25, 4.00), ("7.00", 20, 7.02), ("10", 0, 10.32), ("10.01", 50, 9.83), ("10", 12.5, 10.15),
        ("7", 2, 7.12 - 0.4 * 0.03),
    ],
)  # fmt: skip
def test_buffers(name: str, celsius: float, ph: float) -> None:
    """At the table's steps as printed, between them on a straight line: 10.18 and 10.12 give 10.15."""
    assert buffer_ph(name, celsius) == pytest.approx(ph, abs=1e-9)


@pytest.mark.parametrize(("name", "celsius"), [("9.18", 25), ("4", -1), ("4", 51), ("4", float("nan"))])
def test_what_the_table_does_not_hold(name: str, celsius: float) -> None:
    """Another buffer, or a temperature outside it, is for the technician to say."""
    with pytest.raises((LookupError, ValueError), match="nominal value"):
        buffer_ph(name, celsius)
