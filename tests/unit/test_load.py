"""Loads: pounds by the factor of the trade, kilograms by definition, and what is no load."""

import pytest

from gateway.rules.load import KG_PER_MG_L_GAL, LB_PER_MG_L_GAL, load_of
from gateway.site import Channel

LB_PER_KG = 1 / 0.45359237
GAL_PER_M3 = 1000 / 3.785411784


def channel(quantity: str, unit: str) -> Channel:
    """A channel of that quantity."""
    return Channel("c", quantity, unit, 1, 1, 1)


@pytest.mark.parametrize(
    ("quantity", "unit", "value", "million_gal", "lb", "why"),
    [
        ("bod", "mg/L", 250.0, 1.0, 2085.0, "250 x 1 x 8.34"),
        ("bod", "mg/L", 250.0, 0.5, 1042.5, "half the water, half the load"),
        ("tss", "g/L", 0.3, 0.02, 50.04, "300 mg/L in 20,000 gal"),
        ("copper", "ug/L", 1600.0, 0.1, 1.3344, "1.6 mg/L in 100,000 gal"),
        ("cod", "ppm", 100.0, 0.01, 8.34, "ppm by weight counts as mg/L"),
        ("bod", "mg/L", 0.0, 1.0, 0.0, "clean water carries nothing"),
    ],
)
def test_pounds_a_day(quantity: str, unit: str, value: float, million_gal: float, lb: float, why: str) -> None:
    """lb/day = mg/L x MGD x 8.34."""
    load = load_of(channel(quantity, unit))
    assert load is not None
    assert load.lb(value, million_gal * 1e6) == pytest.approx(lb, rel=1e-12), why


def test_kilograms_a_day() -> None:
    """kg/day = mg/L x m3/d / 1000: 200 mg/L in 150 m3 are 30 kg."""
    load = load_of(channel("tss", "mg/L"))
    assert load is not None
    assert load.kg(200.0, 150 * GAL_PER_M3) == pytest.approx(30.0, rel=1e-12)


def test_the_factor_of_the_trade_is_not_the_exact_one() -> None:
    """8.34 is printed and used; the definitions give 8.3454, so kilograms told and pounds told differ by 0.065 %."""
    assert LB_PER_MG_L_GAL == 8.34e-6
    exact = KG_PER_MG_L_GAL * LB_PER_KG
    assert exact == pytest.approx(8.3454e-6, abs=0.00005e-6)


@pytest.mark.parametrize(
    ("quantity", "unit"), [("pH", "pH"), ("flow", "gpm"), ("temperature", "degF"), ("h2s-gas", "ppm")]
)
def test_what_is_no_load(quantity: str, unit: str) -> None:
    """pH, flow, heat and a gas in the air of the manhole weigh nothing in the water."""
    assert load_of(channel(quantity, unit)) is None
