"""Manning's formula for pipes that run partly full: printed flows and geometry, and computed ratios."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.primary import Primary
from gateway.signals.flow import FlowState, Rating
from gateway.signals.part_full import section
from gateway.signals.pipe import full_pipe_gpm
from gateway.signals.ratings import rating

GPD_PER_GPM = 1440
GPD_PER_CFS = 646316.9


def pipe(diameter_ft: float = 8 / 12, slope: float = 0.005, **more: float) -> Rating:
    """The rating of a pipe."""
    return rating(Primary("manning", diameter_ft=diameter_ft, slope=slope, **more))  # type: ignore[arg-type]


def test_a_full_pipe_carries_the_printed_flow() -> None:
    """8 in (0.667 ft), n 0.013, slope 0.005: 0.854 cfs, 552,261 gpd and 2.448 ft/s are printed, with a constant and a
    rounding that lie 0.4 % from ours."""
    cfs = pipe(0.667).flow_cfs(0.667)
    assert cfs == pytest.approx(0.854, rel=0.005)
    assert cfs * GPD_PER_CFS == pytest.approx(552_261, rel=0.005)
    assert cfs / section(0.667, 0.667).area == pytest.approx(2.448, rel=0.005)


# Depth and diameter in m, and printed area, wetted perimeter and hydraulic radius to their digits.
GEOMETRY = [
    (0.7 * 0.2032, 0.2032, (0.0242, 0.00006), (0.4028, 0.00006), (0.060195, 0.000006)),
    (0.5 * 0.1016, 0.1016, (0.0041, 0.00006), (0.1596, 0.00006), (0.0254, 0.00006)),
]


@pytest.mark.parametrize(("depth", "diameter", "area", "perimeter", "radius"), GEOMETRY)
def test_the_wetted_section_is_the_printed_one(
    depth: float,
    diameter: float,
    area: tuple[float, float],
    perimeter: tuple[float, float],
    radius: tuple[float, float],
) -> None:
    """8 in at 70 % and 4 in half full: area, perimeter and radius as printed, within half a last digit."""
    wet = section(depth, diameter)
    assert wet.area == pytest.approx(area[0], abs=area[1])
    assert wet.perimeter == pytest.approx(perimeter[0], abs=perimeter[1])
    assert wet.radius == pytest.approx(radius[0], abs=radius[1])


RATIOS = [
    (0.1, 0.0209), (0.25, 0.1370), (0.5, 0.5000), (0.75, 0.9119), (0.8, 0.9775), (0.938, 1.0757), (0.95, 1.0745),
    (1.0, 1.0),
]  # fmt: skip


@pytest.mark.parametrize(("depth", "share"), RATIOS)
def test_the_share_of_the_full_flow(depth: float, share: float) -> None:
    """Flow over full flow at shares of the depth, whatever pipe, slope and roughness."""
    for rated in (pipe(), pipe(2.0, 0.001, roughness=0.015)):
        full = rated.full_ft
        assert full is not None
        assert rated.flow_cfs(depth * full) / rated.flow_cfs(full) == pytest.approx(share, abs=0.00006)


def test_the_fastest_water_runs_below_the_crown() -> None:
    """Velocity over full velocity is greatest, 1.140, at 0.813 of the depth."""
    rated = pipe(1.0)

    def velocity(depth: float) -> float:
        return rated.flow_cfs(depth) / section(depth, 1.0).area

    assert velocity(0.813) / velocity(1.0) == pytest.approx(1.140, abs=0.0006)
    assert velocity(0.80) < velocity(0.813) > velocity(0.83)


def test_a_full_pipe_is_the_capacity_that_check_prints() -> None:
    """Two ways to the same full flow: the partly full formula at the crown, and the pipe's capacity."""
    assert pipe(0.5, 1 / 96).flow_gpm(0.5).gpm == pytest.approx(full_pipe_gpm(0.5, 1 / 96), rel=1e-12)


def test_from_the_greatest_flow_on_nobody_can_tell() -> None:
    """A flow has two depths from 0.938 of the diameter on, and from the crown on the level says nothing of the flow."""
    rated = pipe(1.0)
    assert rated.flow_gpm(0.938).state is FlowState.OK
    assert rated.flow_gpm(0.939).state is FlowState.DOUBLE_VALUED
    assert rated.flow_gpm(1.0).state is FlowState.LEVEL_ONLY
    assert rated.flow_gpm(7.0).state is FlowState.LEVEL_ONLY
    assert rated.flow_gpm(0.05).state is FlowState.BELOW_RANGE
    assert rated.depth_only


@given(st.floats(1e-9, 0.938), st.floats(1e-9, 0.938))
def test_deeper_is_more_up_to_the_greatest_flow(one: float, other: float) -> None:
    """Up to 0.938 of the diameter the flow grows with the depth, from a film of water on."""
    low, high = sorted((one, other))
    rated = pipe(1.0)
    assert rated.flow_cfs(low) <= rated.flow_cfs(high)


@given(st.floats(0.05, 0.95))
def test_the_section_is_a_circle(share: float) -> None:
    """What is wet and what is dry make the whole circle."""
    wet, dry = section(share, 1.0), section(1 - share, 1.0)
    assert wet.area + dry.area == pytest.approx(math.pi / 4)
    assert wet.perimeter + dry.perimeter == pytest.approx(math.pi)


@pytest.mark.parametrize("depth", [1e-12, 1e-9, 1e-7])
def test_a_film_of_water_is_a_thin_segment(depth: float) -> None:
    """At small depths the area is two thirds of width times depth, and the width 2 sqrt(d D): 4/3 d^1.5 for D = 1."""
    assert section(depth, 1.0).area == pytest.approx(4 / 3 * depth**1.5, rel=1e-6)


@pytest.mark.parametrize(
    ("primary", "words"),
    [
        (Primary("manning", diameter_ft=1.0), "needs its diameter and its slope"),
        (Primary("manning", slope=0.01), "needs its diameter and its slope"),
        (Primary("manning", diameter_ft=0.0, slope=0.01), "a diameter above zero"),
        (Primary("manning", diameter_ft=1.0, slope=1.5), "a slope between 0 and 100 %"),
        (Primary("manning", diameter_ft=1.0, slope=0.01, roughness=0.2), "a roughness below 0.1"),
    ],
)
def test_no_pipe_is_refused(primary: Primary, words: str) -> None:
    """A pipe without its numbers is a mistake, not a flow."""
    with pytest.raises(ValueError, match=words):
        rating(primary)
    with pytest.raises(ValueError, match="above zero"):
        section(0.0, 1.0)
