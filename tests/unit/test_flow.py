"""Level to flow: what every device has in common, and Parshall flumes against printed tables, arithmetic, and constants
known to be wrong."""

import math
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.primary import Primary
from gateway.signals.flow import GPM_PER_CFS, Flow, FlowState, Rating
from gateway.signals.ratings import KINDS, rating

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


SHEET = ((0.06, 3.8), (0.1, 9.4), (0.25, 54.4))
EXAMPLES = {
    "parshall": Primary("parshall", throat_ft=0.5),
    "v-notch": Primary("v-notch", angle_deg=90),
    "rectangular": Primary("rectangular", crest_ft=2.0),
    "cipolletti": Primary("cipolletti", crest_ft=2.0),
    "palmer-bowlus": Primary("palmer-bowlus", points=SHEET),
    "manning": Primary("manning", diameter_ft=1.0, slope=0.01),
    "power": Primary("power", coefficient_cfs=1.0, exponent=1.5, h_min_ft=0.1, h_max_ft=1.0),
    "table": Primary("table", points=SHEET),
    "ratiometric": Primary("ratiometric", full_head_ft=1.0, full_flow_gpm=100.0, shape=1.5),
}
EVERY = [
    *(parshall(w) for w in (1 / 12, 2 / 12, 0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 8, 10, 12, 15, 50)),
    *(v_notch(a) for a in (22.5, 25, 30, 45, 60, 90, 100)),
    rating(Primary("v-notch", angle_deg=60, equation="plain")),
    *(rating(Primary("rectangular", crest_ft=2.0, contractions=n)) for n in (0, 1, 2)),
    rating(Primary("table", points=SHEET, curve="linear")),
    rating(Primary("ratiometric", full_head_ft=1.0, full_flow_gpm=900.0, shape=((0.1, 0.02), (0.5, 0.3), (1.0, 1.0)))),
    *(rating(primary) for kind, primary in EXAMPLES.items() if kind not in ("manning", "ratiometric")),
]
PIPE = rating(Primary("manning", diameter_ft=0.5, slope=0.01))


@given(st.sampled_from(EVERY), st.floats(-1, 20), st.floats(-1, 20))
def test_more_head_is_never_less_flow(primary: Rating, one_ft: float, other_ft: float) -> None:
    """The flow of every device grows with its head, in the range and outside it."""
    low, high = sorted((one_ft, other_ft))
    assert primary.flow_gpm(low).gpm <= primary.flow_gpm(high).gpm


@given(st.sampled_from([*EVERY, PIPE]), st.floats())
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
        assert primary.name
        assert 0 < primary.accuracy < 1


def test_every_kind_is_tested_for_what_all_have_in_common() -> None:
    """No kind is left out of the properties here."""
    assert set(EXAMPLES) == set(KINDS)


@given(st.sampled_from([*EVERY, PIPE]), st.floats(0, 1))
def test_head_and_flow_are_each_others_inverse(primary: Rating, share: float) -> None:
    """From a head to its flow and back again, everywhere in the proven range."""
    head = primary.h_min_ft + share * (primary.h_max_ft - primary.h_min_ft)
    back = primary.head_ft(primary.flow_cfs(head) * GPM_PER_CFS)
    assert back is None or back == pytest.approx(head, rel=1e-6)
    if 0.01 < share < 0.99:
        assert back is not None


def test_a_flow_outside_the_range_has_no_head() -> None:
    """What the device cannot show has no head: nobody extrapolates."""
    flume = parshall(0.5)
    assert flume.head_ft(100_000) is None
    assert flume.head_ft(0.001) is None


# By how many per cent the flow is off for one per cent of head.
@pytest.mark.parametrize(
    ("primary", "per_cent"),
    [
        (parshall(1 / 12), 1.55),
        (rating(Primary("v-notch", angle_deg=60, equation="plain")), 2.5),
        (rating(Primary("cipolletti", crest_ft=2.0)), 1.5),
        (rating(Primary("power", coefficient_cfs=1.68, exponent=1.9, h_min_ft=0.06, h_max_ft=0.25)), 1.9),
    ],
)
def test_one_per_cent_of_head(primary: Rating, per_cent: float) -> None:
    """dQ/Q = n dh/h: about 1.5 for a Parshall flume, 1.9 for a Palmer-Bowlus, 2.5 for a V-notch."""
    middle = (primary.h_min_ft + primary.h_max_ft) / 2
    assert primary.sensitivity(middle) == pytest.approx(per_cent, abs=0.001)


def test_head_and_device_are_uncertain_together() -> None:
    """3 % of the device, and 0.01 ft of 0.25 ft of head in a 6-in flume: 1.58 x 4 % = 6.32 %, together 7.0 %."""
    assert parshall(0.5).uncertainty(0.25, 0.01) == pytest.approx(math.hypot(0.03, 1.58 * 0.04), rel=1e-6)
    assert parshall(0.5).uncertainty(0.25) == pytest.approx(0.03)
    assert parshall(0.5).uncertainty(0.0, 0.01) == math.inf


def test_the_site_file_may_narrow_a_range_and_never_widen_it() -> None:
    """A maker's sheet that proves less is followed; one that claims more than the published range is refused."""
    narrow = rating(Primary("parshall", throat_ft=0.5, h_min_ft=0.2, h_max_ft=1.0, q_max_gpm=500.0))
    assert narrow.flow_gpm(0.15).state is FlowState.BELOW_RANGE
    assert narrow.flow_gpm(1.1).state is FlowState.ABOVE_RANGE
    assert narrow.flow_gpm(0.9).state is FlowState.ABOVE_RANGE  # 783 gpm
    assert narrow.flow_gpm(0.5).state is FlowState.OK
    with pytest.raises(ValueError, match=r"h_max is 3 ft, but Parshall 6 in is proven from 0\.0984 to 1\.48 ft"):
        rating(Primary("parshall", throat_ft=0.5, h_max_ft=3.0))
    with pytest.raises(ValueError, match=r"h_min is 0\.01 ft"):
        rating(Primary("parshall", throat_ft=0.5, h_min_ft=0.01))


def test_the_site_file_says_whose_numbers_and_how_good() -> None:
    """Source, accuracy and submergence limit of the device's own papers stand instead of the usual ones."""
    own = rating(Primary("parshall", throat_ft=0.5, accuracy=0.02, source="sheet 12", submergence_limit=0.5))
    assert (own.accuracy, own.source, own.submergence_limit) == (0.02, "sheet 12", 0.5)
    assert parshall(0.5).submergence_limit == 0.6


@pytest.mark.parametrize(
    ("throat_ft", "limit"),
    [(1 / 12, 0.5), (2 / 12, 0.5), (0.25, 0.5), (0.75, 0.6), (1, 0.7), (8, 0.7), (10, 0.8), (50, 0.8)],
)
def test_submergence_limits_of_parshall_flumes(throat_ft: float, limit: float) -> None:
    """50 % for 1 to 3 in, 70 % for 1 to 8 ft, 80 % for 10 to 50 ft, as printed; 60 % for 6 and 9 in, as is usual."""
    assert parshall(throat_ft).submergence_limit == limit


@pytest.mark.parametrize(
    ("primary", "words"),
    [
        (Primary("h-flume"), "'h-flume'; known are parshall, v-notch, rectangular, cipolletti, palmer-bowlus"),
        (Primary("parshall"), "needs its throat width"),
        (Primary("parshall", throat_ft=0.4), "throat of 0.4 ft; known are 1, 2, 3, 6 and 9 in, 1 to 8 ft"),
        (Primary("parshall", throat_ft=9.0), "throat of 9 ft"),
        (Primary("parshall", throat_ft=60.0), "throat of 60 ft"),
        (Primary("parshall", throat_ft=-1.0), "throat of -1 ft"),
        (Primary("parshall", throat_ft=math.nan), "throat of nan ft"),
    ],
)
def test_an_unknown_device_is_refused_by_name(primary: Primary, words: str) -> None:
    """A device nobody has rated is an error that says what is known, never a guess."""
    with pytest.raises(ValueError, match=re.escape(words)):
        rating(primary)
