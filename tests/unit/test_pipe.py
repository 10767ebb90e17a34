"""Full-pipe capacity by Manning against independently computed figures."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.signals.pipe import full_pipe_gpm

EIGHTH_INCH_PER_FOOT = 1 / 96


@pytest.mark.parametrize(
    ("inches", "slope", "gpm", "what"),
    [
        (6, EIGHTH_INCH_PER_FOOT, 257, "the standard lateral at its least slope"),
        (6, 0.02, 356, "the same at 2 %"),
        (4, EIGHTH_INCH_PER_FOOT, 87, "the smallest lateral"),
        (8, 0.01, 542, "a small main at 1 %"),
        (10, 0.01, 983, "what 1,000 gpm nearly needs"),
        (12, 0.004, 1011, "what 1,000 gpm fits through"),
    ],
)
def test_capacities(inches: float, slope: float, gpm: float, what: str) -> None:
    """A full pipe carries the published flow, to the gallon."""
    assert round(full_pipe_gpm(inches / 12, slope)) == gpm, what


def test_a_printed_oracle() -> None:
    """8 in at 0.5 % carries 0.854 cfs by a printed table with the constant 1.49, within half a per cent."""
    assert full_pipe_gpm(8 / 12, 0.005) == pytest.approx(0.854 * 448.8312, rel=0.005)


@given(st.floats(0.1, 10), st.floats(1e-4, 0.2), st.floats(0.008, 0.03))
def test_how_capacity_scales(diameter_ft: float, slope: float, n: float) -> None:
    """Twice the diameter carries 2^(8/3) as much, four times the slope twice as much, twice the roughness half."""
    plain = full_pipe_gpm(diameter_ft, slope, n)
    assert full_pipe_gpm(2 * diameter_ft, slope, n) == pytest.approx(2 ** (8 / 3) * plain)
    assert full_pipe_gpm(diameter_ft, 4 * slope, n) == pytest.approx(2 * plain)
    assert full_pipe_gpm(diameter_ft, slope, 2 * n) == pytest.approx(plain / 2)


@pytest.mark.parametrize(("diameter_ft", "slope", "n"), [(0, 0.01, 0.013), (0.5, 0, 0.013), (0.5, 0.01, 0), (-1, 1, 1)])
def test_nothing_flows_through_no_pipe(diameter_ft: float, slope: float, n: float) -> None:
    """A pipe without diameter, slope or roughness is a mistake, not a flow of zero."""
    with pytest.raises(ValueError, match="above zero"):
        full_pipe_gpm(diameter_ft, slope, n)
