"""The makers' sizing rule with their own example: both bounds."""

import pytest

from gateway.outputs.sizing import bounds_gal

# Teledyne Isco 6712SR, program example: tests need 1,000 + 100 + 400 mL, doubled; a 9,400-mL bottle; 500,000 to
# 666,667 gal expected in eight hours.
NEEDED_ML, BOTTLE_ML, SMALLEST_GAL, LARGEST_GAL = 2 * (1000 + 100 + 400), 9400, 500_000, 666_667


@pytest.mark.parametrize("aliquot_ml", [50, 100, 200])
def test_the_makers_example(aliquot_ml: int) -> None:
    """Between the bounds no flow of the example overfills the bottle or leaves too little; outside them one does."""
    bounds = bounds_gal(aliquot_ml, BOTTLE_ML, NEEDED_ML, SMALLEST_GAL, LARGEST_GAL)
    assert (bounds.most, bounds.fewest) == (BOTTLE_ML // aliquot_ml, NEEDED_ML // aliquot_ml)
    for volume_gal in (bounds.least_gal * 1.000001, bounds.greatest_gal * 0.999999):
        assert LARGEST_GAL // volume_gal * aliquot_ml <= BOTTLE_ML
        assert SMALLEST_GAL // volume_gal * aliquot_ml >= NEEDED_ML
    assert LARGEST_GAL / (bounds.least_gal * 0.98) * aliquot_ml > BOTTLE_ML
    assert SMALLEST_GAL / (bounds.greatest_gal * 1.02) * aliquot_ml < NEEDED_ML


def test_the_numbers_of_the_example() -> None:
    """100 mL an aliquot: 94 fill the bottle and 30 are needed, so 666,667 / 94 to 500,000 / 30 gal each."""
    bounds = bounds_gal(100, BOTTLE_ML, NEEDED_ML, SMALLEST_GAL, LARGEST_GAL)
    assert (round(bounds.least_gal, 1), round(bounds.greatest_gal, 1)) == (7092.2, 16666.7)
    assert bounds.possible


def test_a_bottle_that_is_too_small_for_its_spread() -> None:
    """Ten times between smallest and largest flow, and a bottle of twice the need: no volume suits both."""
    assert not bounds_gal(100, 6000, 3000, 50_000, 500_000).possible
    assert not bounds_gal(7000, 6000, 3000, 50_000, 500_000).possible


@pytest.mark.parametrize("bad", [(0, 1, 1, 1, 1), (1, 0, 1, 1, 1), (1, 1, 0, 1, 1), (1, 1, 1, 0, 1), (1, 1, 1, 2, 1)])
def test_nonsense_is_refused(bad: tuple[float, ...]) -> None:
    """Nothing of nothing has no bounds."""
    with pytest.raises(ValueError, match="above zero"):
        bounds_gal(*bad)
