"""Devices by their maker's points: Palmer-Bowlus flumes, tables, ratiometric devices and equations of the maker."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.primary import Primary
from gateway.signals.flow import GPM_PER_CFS, FlowState, Rating
from gateway.signals.ratings import rating

L_PER_CF = 28.316846592
FT = 0.3048  # m

# A maker's sheet for a 4-inch Palmer-Bowlus flume: head in m, flow in L/s.
FOUR_INCH = ((0.0183, 0.2436), (0.1 * FT, 0.5947), (0.0762, 3.435))


def of_points(*pairs: tuple[float, float], curve: str = "", kind: str = "table") -> Rating:
    """A device by points of (ft, cfs)."""
    return rating(Primary(kind, points=tuple((h, cfs * GPM_PER_CFS) for h, cfs in pairs), curve=curve))


def four_inch(curve: str = "") -> Rating:
    """The 4-inch Palmer-Bowlus flume of the sheet."""
    pairs = [(head_m / FT, litres / L_PER_CF) for head_m, litres in FOUR_INCH]
    return of_points(*pairs, curve=curve, kind="palmer-bowlus")


@pytest.mark.parametrize("curve", ["", "linear"])
@pytest.mark.parametrize(("head_m", "litres_per_s"), FOUR_INCH)
def test_a_palmer_bowlus_flume_gives_its_sheet(head_m: float, litres_per_s: float, curve: str) -> None:
    """The 4-in flume meets each printed point of its sheet exactly, whichever way it runs in between."""
    flume = four_inch(curve)
    assert flume.flow_cfs(head_m / FT) * L_PER_CF == pytest.approx(litres_per_s, rel=1e-12)
    assert flume.flow_gpm(head_m / FT).state is FlowState.OK
    assert flume.submergence_limit == 0.85


def test_the_printed_figures_agree_among_themselves() -> None:
    """0.0210 cfs is 0.5947 L/s at 0.10 ft, and full flow 3.435 L/s is 12.36 m3/h."""
    tenth_ft, full = FOUR_INCH[1], FOUR_INCH[2]
    assert tenth_ft[1] == pytest.approx(0.0210 * L_PER_CF, abs=0.00006)
    assert full[1] * 3.6 == pytest.approx(12.36, abs=0.007)


def test_the_fit_misses_its_own_sheet() -> None:
    """1.68 h^1.9 in ft and cfs lies 6.9 % low at the least head and 0.6 % at full scale: the table is used instead."""
    for (head_m, litres_per_s), share in zip((FOUR_INCH[0], FOUR_INCH[2]), (-0.069, -0.006), strict=True):
        fit = 1.68 * (head_m / FT) ** 1.9 * L_PER_CF
        assert fit / litres_per_s - 1 == pytest.approx(share, abs=0.002)  # 0.0183 m is 0.06 ft, rounded


def test_a_parshall_constant_is_no_palmer_bowlus() -> None:
    """K 0.338, that of a 1-in Parshall flume, with n 1.9 in a deployed script: a fifth of the real flow."""
    head_ft = 0.0762 / FT
    assert four_inch().flow_cfs(head_ft) / (0.338 * head_ft**1.9) == pytest.approx(5.0, rel=0.01)


def test_the_sheet_contradicts_its_metric_constant() -> None:
    """468.34 L/s and 1647.88 m3/h are printed for the same equation: they differ by 2 %, so neither is used."""
    litres, cubic_metres = 468.34, 1647.88
    assert litres / (cubic_metres / 3.6) == pytest.approx(1.023, abs=0.001)


@pytest.mark.parametrize("primary", [
    Primary("palmer-bowlus"),
    Primary("palmer-bowlus", full_head_ft=0.25, full_flow_gpm=54.0, shape=1.9),
])  # fmt: skip
def test_no_fit_stands_for_a_palmer_bowlus(primary: Primary) -> None:
    """A power of the head is refused for this kind: the maker's points are asked for."""
    with pytest.raises(ValueError, match="needs its maker's table"):
        rating(primary)


def test_a_palmer_bowlus_may_be_ratiometric_by_points() -> None:
    """Full flow at full head, and the shape between as shares of both."""
    flume = rating(
        Primary("palmer-bowlus", full_head_ft=0.25, full_flow_gpm=54.0, shape=((0.0, 0.0), (0.4, 0.173), (1.0, 1.0)))
    )
    assert flume.flow_gpm(0.1).gpm == pytest.approx(0.173 * 54.0)
    assert flume.flow_gpm(0.25).gpm == pytest.approx(54.0)


def test_straight_lines_are_straight() -> None:
    """Halfway between two points lies half of each."""
    assert of_points((0, 0), (1, 1), (2, 4), curve="linear").flow_cfs(1.5) == pytest.approx(2.5)


@pytest.mark.parametrize(("head_ft", "cfs"), [(0.5, 0.3125), (1.5, 2.1875)])
def test_a_monotone_cubic_by_hand(head_ft: float, cfs: float) -> None:
    """Through (0, 0), (1, 1), (2, 4): slopes 0 at the start, 2*1*3/(1+3) = 1.5 in the middle, (3*3-1)/2 = 4 at the end;
    halfway a cubic of Hermite is the mean of its ends and an eighth of the difference of their slopes."""
    assert of_points((0, 0), (1, 1), (2, 4)).flow_cfs(head_ft) == pytest.approx(cfs, rel=1e-12)


def test_two_points_are_a_line_either_way() -> None:
    """With nothing to bend after, the cubic is the line."""
    assert of_points((1, 1), (2, 3)).flow_cfs(1.25) == pytest.approx(1.5)


def test_below_the_first_point_the_line_from_nothing() -> None:
    """A head of half the first point's carries half its flow, flagged; no head carries none."""
    device = of_points((0.2, 0.1), (0.4, 0.5))
    assert device.flow_cfs(0.1) == pytest.approx(0.05)
    assert device.flow_gpm(0.1).state is FlowState.BELOW_RANGE
    assert device.flow_gpm(0.0).gpm == 0.0


def test_above_the_last_point_nothing_is_made_up() -> None:
    """Beyond its sheet a device shows its last flow, saturated: at least that much runs, and nobody knows how much."""
    flow = of_points((0.2, 0.1), (0.4, 0.5)).flow_gpm(0.41)
    assert flow.state is FlowState.ABOVE_RANGE
    assert flow.gpm == pytest.approx(0.5 * GPM_PER_CFS)


_STEPS = st.lists(st.tuples(st.integers(1, 400), st.integers(0, 400)), min_size=2, max_size=12).filter(
    lambda steps: any(rise for _, rise in steps)
)


def _points(steps: list[tuple[int, int]]) -> list[tuple[float, float]]:
    head = flow = 0
    pairs = []
    for width, rise in steps:
        head, flow = head + width, flow + rise
        pairs.append((head / 100, flow / 100))
    return pairs


@given(_STEPS, st.sampled_from(["", "linear"]), st.floats(-1, 60), st.floats(-1, 60))
def test_a_table_never_falls_and_never_overshoots(
    steps: list[tuple[int, int]], curve: str, one: float, other: float
) -> None:
    """Whatever rising points: the flow grows with the head, meets each point, and stays between its neighbours."""
    pairs = _points(steps)
    device = of_points(*pairs, curve=curve)
    low, high = sorted((one, other))
    assert 0 <= device.flow_cfs(low) <= device.flow_cfs(high) * (1 + 1e-12) <= pairs[-1][1] * (1 + 1e-9)
    for head, cfs in pairs:
        assert device.flow_cfs(head) == pytest.approx(cfs)


@given(_STEPS, st.sampled_from(["", "linear"]), st.floats(0, 1))
def test_the_head_of_a_flow_gives_that_flow(steps: list[tuple[int, int]], curve: str, share: float) -> None:
    """Head and flow are each other's inverse wherever the rating is proven."""
    pairs = _points(steps)
    device = of_points(*pairs, curve=curve)
    wanted = (pairs[0][1] + share * (pairs[-1][1] - pairs[0][1])) * GPM_PER_CFS
    head = device.head_ft(wanted)
    if head is not None:
        assert device.flow_cfs(head) * GPM_PER_CFS == pytest.approx(wanted, rel=1e-6, abs=1e-6)


def test_ratiometric_by_exponent() -> None:
    """Half the head of a Lagco shape carries 0.5^1.547 of the full flow."""
    device = rating(Primary("ratiometric", full_head_ft=1.0, full_flow_gpm=1000.0, shape=1.547))
    assert device.flow_gpm(0.5).gpm == pytest.approx(1000 * 0.5**1.547)
    assert device.flow_gpm(1.0).gpm == pytest.approx(1000)
    assert device.flow_gpm(1.01).state is FlowState.ABOVE_RANGE


def test_a_makers_equation() -> None:
    """K and n of the maker, as for a Leopold-Lagco flume, with the range the maker gives."""
    device = rating(Primary("power", coefficient_cfs=2.0, exponent=1.547, h_min_ft=0.1, h_max_ft=0.6))
    assert device.flow_cfs(0.3) == pytest.approx(2 * 0.3**1.547)
    assert device.flow_gpm(0.05).state is FlowState.BELOW_RANGE
    assert device.flow_gpm(0.7).state is FlowState.ABOVE_RANGE


@pytest.mark.parametrize(
    ("primary", "words"),
    [
        (Primary("table"), "needs two points"),
        (Primary("table", points=((0.1, 5.0), (0.1, 6.0))), "heads must rise from point to point: 0.1 ft follows 0.1"),
        (Primary("table", points=((0.1, 5.0), (0.2, 4.0))), "flows must not fall: at 0.2 ft"),
        (Primary("table", points=((-0.1, 5.0), (0.2, 6.0))), "must not be negative"),
        (Primary("table", points=((0.1, math.nan), (0.2, 6.0))), "must not be negative"),
        (Primary("table", points=((0.1, 0.0), (0.2, 0.0))), "measures nothing"),
        (Primary("ratiometric", full_head_ft=1.0), "needs its full flow, the head of it, and its shape"),
        (Primary("ratiometric", full_head_ft=0.0, full_flow_gpm=1.0, shape=1.5), "must be above zero"),
        (Primary("ratiometric", full_head_ft=1.0, full_flow_gpm=1.0, shape=0.5), "shape lies from 1 to 3"),
        (Primary("ratiometric", full_head_ft=1.0, full_flow_gpm=1.0, shape=((0, 0), (0.9, 1.0))), "ends with [1, 1]"),
        (Primary("power", coefficient_cfs=1.0, exponent=1.5), "the least and greatest head it holds for"),
        (Primary("power", coefficient_cfs=0.0, exponent=1.5, h_min_ft=0.1, h_max_ft=1.0), "a coefficient above zero"),
        (Primary("power", coefficient_cfs=1.0, exponent=1.5, h_min_ft=1.0, h_max_ft=0.5), "h_min is not below h_max"),
    ],
)  # fmt: skip
def test_a_sheet_that_contradicts_itself_is_refused(primary: Primary, words: str) -> None:
    """What is wrong with points or numbers is said in words, with the point."""
    with pytest.raises(ValueError, match=re.escape(words)):
        rating(primary)
