"""Level to flow: printed tables of flumes and weirs, arithmetic beside the formula, and constants known to be wrong."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.signals.flow import Flow, FlowState, Rating, rating
from gateway.site import Primary

L_PER_CF = 28.316846592
FT = 0.3048  # m


def parshall(throat_ft: float) -> Rating:
    """The rating of a Parshall flume without a zero offset."""
    return rating(Primary("parshall", throat_ft=throat_ft))


def v_notch(angle_deg: float) -> Rating:
    """The rating of a V-notch weir without a zero offset."""
    return rating(Primary("v-notch", angle_deg=angle_deg))


# Throat ft, head m, printed L/s, tolerance and why it is what it is.
PRINTED_PARSHALL = [
    (1 / 12, 0.015, 0.09, 0.006, "1 in, least head of the metric standard, two digits printed"),
    (1 / 12, 0.21, 5.4, 0.006, "1 in, greatest head, two digits printed"),
    (2 / 12, 0.015, 0.18, 0.006, "2 in, least head"),
    (2 / 12, 0.24, 13.2, 0.004, "2 in, greatest head"),
    (3 / 12, 0.03, 0.77, 0.011, "3 in, least head; the metric table uses exponent 1.55, ours is 1.547"),
    (3 / 12, 0.33, 32.1, 0.011, "3 in, greatest head, the same difference the other way"),
    (6 / 12, 0.03, 1.50, 0.004, "6 in, least head"),
    (6 / 12, 0.45, 111.0, 0.029, "6 in, greatest head: the printed end-point lies 2.8 % above its own formula"),
    (9 / 12, 0.03, 2.50, 0.004, "9 in, least head"),
    (9 / 12, 0.60, 251.0, 0.025, "9 in, greatest head: the printed end-point lies 2.4 % above its own formula"),
    (1.0, 0.15, 38.53, 0.002, "1 ft, a second table, in m3/s to five digits"),
    (1.0, 0.30, 110.66, 0.002, "1 ft, middle of the range"),
    (1.0, 0.45, 205.12, 0.002, "1 ft, upper half"),
    (0.61 / FT, 0.66, 750.0, 0.002, "2 ft, the worked example of a lecture on flume design"),
    (10.0, 0.09, 160.0, 0.011, "10 ft, least head, two digits printed"),
    (10.0, 1.07, 8280.0, 0.005, "10 ft, greatest head"),
    (12.0, 0.09, 190.0, 0.011, "12 ft, least head, two digits printed"),
    (12.0, 1.37, 14680.0, 0.002, "12 ft, greatest head"),
]


@pytest.mark.parametrize(("throat_ft", "head_m", "litres_per_s", "tolerance", "why"), PRINTED_PARSHALL)
def test_a_parshall_flume_gives_the_printed_flow(
    throat_ft: float, head_m: float, litres_per_s: float, tolerance: float, why: str
) -> None:
    """Every printed value of the metric tables is met within its own rounding, inside the proven range."""
    flume = parshall(throat_ft)
    assert flume.flow_cfs(head_m / FT) * L_PER_CF == pytest.approx(litres_per_s, rel=tolerance), why
    assert flume.flow_gpm(head_m / FT).state is FlowState.OK, why


# Throat ft, and (head ft, gpm) computed by hand from the formula, to the digits given.
COMPUTED_PARSHALL = [
    (1 / 12, ((0.1, 4.3), (0.3, 23.5), (0.6, 68.7))),
    (2 / 12, ((0.1, 8.6), (0.3, 46.9), (0.7, 174.6))),
    (3 / 12, ((0.1, 12.6), (0.5, 152.4), (1.0, 445.2))),
    (6 / 12, ((0.2, 72.7), (0.5, 309.3), (1.0, 924.6))),
    (9 / 12, ((0.2, 117.4), (0.5, 477.1), (1.5, 2562))),
    (1.0, ((0.3, 287.3), (1.0, 1795.3), (2.0, 5156))),
    (1.5, ((0.3, 422.6), (1.0, 2693), (2.0, 7821))),
    (2.0, ((0.3, 555.7), (1.0, 3590.6), (2.0, 10512))),
    (3.0, ((0.3, 817.3), (1.0, 5386), (2.0, 15948))),
    (4.0, ((0.3, 1074), (1.0, 7181), (2.0, 21438))),
    (6.0, ((0.3, 1580), (1.0, 10772), (2.0, 32532))),
    (8.0, ((0.3, 2076), (1.0, 14363), (2.0, 43737))),
    (10.0, ((0.3, 2574), (1.0, 17673), (2.0, 53574))),
    (12.0, ((0.3, 3057), (1.0, 20983), (2.0, 63608))),
]


@pytest.mark.parametrize(("throat_ft", "points"), COMPUTED_PARSHALL)
def test_a_parshall_flume_gives_the_computed_gallons(throat_ft: float, points: tuple[tuple[float, float], ...]) -> None:
    """Arithmetic in US units agrees to the last digit that was written down."""
    for head_ft, gpm in points:
        last_digit = 0.1 if gpm != round(gpm) else 1.0
        got = parshall(throat_ft).flow_gpm(head_ft)
        assert got.gpm == pytest.approx(gpm, abs=0.6 * last_digit)
        assert got.state is FlowState.OK


# Throat in ft, and the metric standard's K: L/s at a head of 1 m.
METRIC_K = [
    (1 / 12, 60.4), (2 / 12, 120.7), (3 / 12, 176.5), (6 / 12, 381.2), (9 / 12, 535.4), (0.30 / FT, 679.0),
    (0.60 / FT, 1403.0), (1.20 / FT, 2904.0), (2.40 / FT, 6004.0), (10.0, 7463.0), (12.0, 8859.0), (50.0, 35410.0),
]  # fmt: skip


@pytest.mark.parametrize(("throat_ft", "litres_per_s"), METRIC_K)
def test_us_equations_reproduce_the_metric_standard(throat_ft: float, litres_per_s: float) -> None:
    """The equations in US units agree with the coefficients of the metric standard within 0.35 %."""
    assert parshall(throat_ft).flow_cfs(1 / FT) * L_PER_CF == pytest.approx(litres_per_s, rel=0.0035)


def test_a_six_inch_flume_has_not_the_misprinted_exponent() -> None:
    """Exponent 1.540, printed beside the right coefficient in public code, would read 6 % high at 0.2 ft."""
    wrong = 2.06 * 0.2**1.540
    assert wrong / parshall(0.5).flow_cfs(0.2) > 1.06


def test_a_six_inch_flume_has_not_the_low_coefficient() -> None:
    """A coefficient of 0.14286 m3/s in place of 0.3812, seen in public code, would lose nearly two thirds."""
    wrong_cfs = 142.86 / L_PER_CF  # at 1 m
    assert wrong_cfs / parshall(0.5).flow_cfs(1 / FT) < 0.4


@pytest.mark.parametrize("throat_ft", [2.0, 4.0, 8.0])
def test_the_width_is_raised_in_the_exponent_and_not_beside_it(throat_ft: float) -> None:
    """4 W^1.026 h^1.522, a slip in public code, is right at 1 ft only: wrong everywhere but near one head."""
    wrong = 4 * throat_ft**1.026 * 0.3**1.522
    assert wrong / parshall(throat_ft).flow_cfs(0.3) > 1.03
    assert parshall(1.0).flow_cfs(0.3) == pytest.approx(4 * 0.3**1.522, rel=1e-12)


def test_a_one_foot_flume_uses_the_family_equation() -> None:
    """The other formula in print, 3.95 h^1.55, lies 5.6 % lower at 0.2 ft: it is not the one used."""
    assert 3.95 * 0.2**1.55 / parshall(1.0).flow_cfs(0.2) == pytest.approx(1 - 0.056, abs=0.001)


# Angle, head m, L/s: printed from Kindsvater and Shen themselves.
KINDSVATER_SHEN = [(90.0, 0.05, 0.79726), (90.0, 0.10, 4.41259), (90.0, 0.15, 12.0710)]


@pytest.mark.parametrize(("angle_deg", "head_m", "litres_per_s"), KINDSVATER_SHEN)
def test_a_right_angled_notch_gives_the_printed_flow(angle_deg: float, head_m: float, litres_per_s: float) -> None:
    """The 90-degree notch agrees with a published Kindsvater-Shen rating to its digits."""
    notch = v_notch(angle_deg)
    assert notch.flow_cfs(head_m / FT) * L_PER_CF == pytest.approx(litres_per_s, rel=2e-5)
    assert notch.flow_gpm(head_m / FT).state is FlowState.OK


# Angle, head ft, cfs printed from C h^2.5, and how far apart the two formulas are allowed to be.
PLAIN_NOTCH = [
    (60.0, 0.20, 0.0258, 0.035, "C 1.443: the head correction of 0.0037 ft weighs most at the least head"),
    (60.0, 0.25, 0.0451, 0.025, "C 1.443"),
    (60.0, 0.30, 0.0711, 0.020, "C 1.443"),
    (45.0, 0.20, 0.0185, 0.057, "C 1.035: beyond the 5 % the table claims, where the nappe may cling"),
    (45.0, 0.25, 0.0323, 0.050, "C 1.035"),
    (45.0, 0.30, 0.0510, 0.050, "C 1.035"),
    (90.0, 0.20, 0.045, 0.020, "Cd 0.58, two digits printed"),
    (90.0, 0.50, 0.441, 0.010, "Cd 0.58"),
    (90.0, 1.00, 2.49, 0.010, "Cd 0.58"),
    (30.0, 0.20, 0.012, 0.100, "Cd 0.58, two digits printed, head correction 0.0070 ft"),
    (30.0, 0.50, 0.119, 0.035, "Cd 0.58"),
    (30.0, 1.00, 0.673, 0.020, "Cd 0.58"),
]


@pytest.mark.parametrize(("angle_deg", "head_ft", "cfs", "tolerance", "why"), PLAIN_NOTCH)
def test_a_notch_lies_near_the_plain_formula(
    angle_deg: float, head_ft: float, cfs: float, tolerance: float, why: str
) -> None:
    """Tables made without a head correction lie below ours, by a stated share that shrinks with the head."""
    ratio = v_notch(angle_deg).flow_cfs(head_ft) / cfs
    assert 1 - 0.001 <= ratio <= 1 + tolerance, why


@pytest.mark.parametrize(("head_ft", "gpm"), [(0.25, 6.97), (0.50, 39.4), (1.0, 223.0)])
def test_the_narrow_notch_keeps_the_plain_formula(head_ft: float, gpm: float) -> None:
    """22.5 degrees lies outside Kindsvater and Shen and is rated by C h^2.5 with C 0.497."""
    assert v_notch(22.5).flow_gpm(head_ft).gpm == pytest.approx(gpm, rel=0.002)


def test_the_misprinted_narrow_column_is_not_used() -> None:
    """A table that prints 0.508 cfs at 1 ft for 22.5 degrees contradicts its own formula."""
    assert v_notch(22.5).flow_cfs(1.0) == pytest.approx(0.497)


EVERY = [parshall(w) for w in (1 / 12, 2 / 12, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 10, 12, 15, 50)] + [
    v_notch(a) for a in (22.5, 25, 30, 45, 60, 90, 100)
]


@given(st.sampled_from(EVERY), st.floats(-1, 20), st.floats(-1, 20))
def test_more_head_is_never_less_flow(primary: Rating, one_ft: float, other_ft: float) -> None:
    """The flow of every device grows with its head, in the range and outside it."""
    low, high = sorted((one_ft, other_ft))
    assert primary.flow_gpm(low).gpm <= primary.flow_gpm(high).gpm


@given(st.sampled_from(EVERY), st.floats())
def test_no_head_is_out_of_range_in_silence(primary: Rating, head_ft: float) -> None:
    """OK means inside the proven range and a finite flow, whatever the number, NaN and infinity included."""
    flow = primary.flow_gpm(head_ft)
    inside = primary.h_min_ft <= head_ft <= primary.h_max_ft
    assert (flow.state is FlowState.OK) == inside
    assert not inside or (math.isfinite(flow.gpm) and flow.gpm > 0)


def test_below_the_range_the_formula_goes_on() -> None:
    """Clipping a trickle to zero would lose real flow: it is computed and flagged."""
    flow = parshall(0.5).flow_gpm(0.05)
    assert flow.state is FlowState.BELOW_RANGE
    assert flow.gpm == pytest.approx(2.06 * 0.05**1.58 * 448.8312, rel=1e-6)


def test_above_the_range_the_value_is_flagged() -> None:
    """A flume that is over its head gives the formula's number, marked as saturated."""
    flow = parshall(0.5).flow_gpm(2.0)
    assert flow.state is FlowState.ABOVE_RANGE
    assert flow.gpm == pytest.approx(2.06 * 2.0**1.58 * 448.8312, rel=1e-6)


@pytest.mark.parametrize("head_ft", [0.0, -0.001, -3.0, -math.inf])
def test_no_head_is_no_flow_and_flagged(head_ft: float) -> None:
    """Zero and negative heads give zero flow, never a complex number or a reversed sign, and say so."""
    for primary in EVERY:
        assert primary.flow_gpm(head_ft) == Flow(0.0, FlowState.BELOW_RANGE)


def test_a_level_that_is_no_number_gives_no_number() -> None:
    """NaN goes through as NaN, flagged, for quality control to fail."""
    flow = parshall(1.0).flow_gpm(math.nan)
    assert math.isnan(flow.gpm)
    assert flow.state is not FlowState.OK


def test_the_zero_of_the_site_is_added_to_the_level() -> None:
    """A level that reads 0.1 ft over the throat floor's zero is corrected before the range is judged."""
    offset = rating(Primary("parshall", throat_ft=0.5, head_offset_ft=-0.1))
    assert offset.flow_gpm(0.6).gpm == pytest.approx(parshall(0.5).flow_gpm(0.5).gpm)
    assert offset.flow_gpm(0.1) == Flow(0.0, FlowState.BELOW_RANGE)


def test_every_rating_names_its_source_and_its_range() -> None:
    """Each device carries a proven range and says whose numbers it uses."""
    for primary in EVERY:
        assert 0 < primary.h_min_ft < primary.h_max_ft
        assert primary.source
        assert primary.name.startswith(("Parshall", "V-notch"))


@pytest.mark.parametrize(
    ("primary", "words"),
    [
        (Primary("h-flume"), "'h-flume'; known are parshall and v-notch"),
        (Primary("parshall"), "needs its throat width"),
        (Primary("v-notch"), "needs its angle"),
        (Primary("parshall", throat_ft=0.4), "throat of 0.4 ft; known are 1, 2, 3, 6 and 9 in, 1 to 8 ft"),
        (Primary("parshall", throat_ft=9.0), "throat of 9 ft"),
        (Primary("parshall", throat_ft=60.0), "throat of 60 ft"),
        (Primary("parshall", throat_ft=-1.0), "throat of -1 ft"),
        (Primary("parshall", throat_ft=math.nan), "throat of nan ft"),
        (Primary("v-notch", angle_deg=20.0), "V-notch of 20 deg; known are 22.5 and 25 to 100 deg"),
        (Primary("v-notch", angle_deg=120.0), "V-notch of 120 deg"),
    ],
)
def test_an_unknown_device_is_refused_by_name(primary: Primary, words: str) -> None:
    """A device nobody has rated is an error that says what is known, never a guess."""
    with pytest.raises(ValueError, match=re.escape(words)):
        rating(primary)
