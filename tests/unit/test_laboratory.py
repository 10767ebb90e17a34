"""Laboratory results against the limits of both towns: what each window says, and why."""

from datetime import date
from fractions import Fraction

import pytest

from gateway.model import FindingEvent, SampleType, Severity, Verdict
from gateway.site import Term
from tests.support.lab_site import (
    DAY_ONE,
    TOXIC,
    fog,
    grab,
    laboratory,
    local,
    now,
    result,
    review,
    rule,
    toxic,
)

EXCEEDED, COMPLIANT = Verdict.EXCEEDED, Verdict.COMPLIANT
SUSPECTED, NOT_EVALUABLE = Verdict.SUSPECTED, Verdict.NOT_EVALUABLE


def hundredth_more(limit: float) -> float:
    """The limit and one hundredth, as a laboratory would print it."""
    return float(Fraction(repr(limit)) + Fraction(1, 100))


@pytest.mark.parametrize("town", ["lv", "mb"])
@pytest.mark.parametrize("substance", TOXIC)
def test_each_toxic_substance_of_both_towns(substance: str, town: str) -> None:
    """A 24-h composite at the limit is compliant and one hundredth above it is exceeded, for all twenty substances."""
    limit = TOXIC[substance][1]
    lab = laboratory(toxic(substance, town=town))
    at, over = result(limit, 0, analyte=substance), result(hundredth_more(limit), 1, analyte=substance)
    assert [f.verdict for f in lab.add(at, now())] == [COMPLIANT]
    (finding,) = lab.add(over, now())
    assert (finding.verdict, finding.event, finding.limit) == (EXCEEDED, FindingEvent.RAISED, limit)
    assert finding.reason.startswith("control trigger: ") == (town == "mb")


@pytest.mark.parametrize("substance", TOXIC)
def test_each_toxic_substance_over_thirty_days(substance: str) -> None:
    """Thirty daily composites at the 30-day limit are compliant; one hundredth above it they are exceeded."""
    limit = TOXIC[substance][0]
    for value, verdict in ((limit, COMPLIANT), (hundredth_more(limit), EXCEEDED)):
        lab = laboratory(toxic(substance, "30-day"))
        findings = lab.add_all([result(value, day, analyte=substance) for day in range(30)], now())
        assert findings[-1].verdict is verdict


def test_copper_as_the_acceptance_vector_has_it() -> None:
    """Copper over 24 hours: 1.60 is within 1.6 mg/L and 1.61 is not."""
    lab = laboratory(toxic("copper"))
    assert lab.add(result(1.60, 0), now())[0].verdict is COMPLIANT
    (finding,) = lab.add(result(1.61, 1), now())
    assert (finding.verdict, finding.observed, finding.unit) == (EXCEEDED, 1.61, "mg/L")
    assert finding.reason == "copper composite 1.61 mg/L, above 1.6 mg/L"
    assert (finding.since.utc_us, finding.duration_us) == (local(1), local(2) - local(1))
    assert finding.at == now()


# What is tried, the rule's limit, the value, the verdict.
LIMITS = [
    ("fluoride where the water supply is fluoridated", toxic("fluoride"), 8.0, COMPLIANT),
    ("fluoride where the water supply is fluoridated", toxic("fluoride"), 8.01, EXCEEDED),
    ("fluoride times 1.5 by configuration", toxic("fluoride", limit=12.0), 8.01, COMPLIANT),
    ("fluoride times 1.5 by configuration", toxic("fluoride", limit=12.0), 12.0, COMPLIANT),
    ("fluoride times 1.5 by configuration", toxic("fluoride", limit=12.0), 12.01, EXCEEDED),
    ("fluoride to saline water, Marlborough", toxic("fluoride", town="mb", limit=72.0), 72.0, COMPLIANT),
    ("fluoride to saline water, Marlborough", toxic("fluoride", town="mb", limit=72.0), 72.01, EXCEEDED),
    ("BOD5 calls for a review", review("bod", 300.0), 300.0, COMPLIANT),
    ("BOD5 calls for a review", review("bod", 300.0), 300.1, EXCEEDED),
    ("suspended solids call for a review", review("tss", 350.0), 350.0, COMPLIANT),
    ("suspended solids call for a review", review("tss", 350.0), 351.0, EXCEEDED),
    ("chlorine demand calls for a review", review("chlorine-demand", 15.0), 15.0, COMPLIANT),
    ("chlorine demand calls for a review", review("chlorine-demand", 15.0), 15.01, EXCEEDED),
]


@pytest.mark.parametrize(("what", "of", "value", "verdict"), LIMITS)
def test_limits_of_the_towns(what: str, of: object, value: float, verdict: Verdict) -> None:
    """Fluoride in its three forms, and the values from which Marlborough's engineer wants to review a discharge."""
    (finding,) = laboratory(of).add(result(value, analyte=of.quantity), now())
    assert finding.verdict is verdict, what
    assert finding.reason.startswith(("review trigger: ", "control trigger: ")) == (of.advisory and verdict is EXCEEDED)


def test_a_review_trigger_is_a_notice() -> None:
    """What calls for a review reaches people as a notice, whatever severity the rule was given."""
    lab = laboratory(review("bod", 300.0))
    conditions = lab.conditions(lab.add(result(310.0, analyte="bod"), now()))
    assert [(c.active, c.severity) for c in conditions] == [(True, Severity.NOTICE), (True, Severity.NOTICE)]


def test_a_control_trigger_is_as_loud_as_its_pack_says() -> None:
    """A toxic limit of Marlborough keeps its own severity, though the pack calls it advisory."""
    lab = laboratory(toxic("copper", town="mb"))
    conditions = lab.conditions(lab.add(result(1.7), now()))
    assert [c.severity for c in conditions] == [Severity.HIGH, Severity.HIGH]


def test_grease_in_little_valley_is_judged_grab_by_grab() -> None:
    """Every grab above 100 mg/L exceeds, whatever the others of the day say; 100 is compliant."""
    lab = laboratory(fog("lv"))
    findings = lab.add_all([grab(40.0, hour=8), grab(100.0, hour=12), grab(100.5, hour=16)], now())
    assert [f.verdict for f in findings] == [COMPLIANT, COMPLIANT, EXCEEDED]
    assert findings[2].duration_us == 0
    assert "flags" not in findings[2].context


def test_grease_in_marlborough_is_the_mean_of_the_day() -> None:
    """The day's grabs are averaged, in ppm as printed, and the finding says that the law names no period."""
    lab = laboratory(fog("mb"))
    findings = lab.add_all([grab(40.0, hour=8), grab(60.0, hour=12)], now())
    assert [(f.verdict, f.observed, f.unit) for f in findings] == [(COMPLIANT, 50.0, "ppm")]
    (finding,) = lab.add(grab(50.3, hour=16), now())
    assert (finding.verdict, finding.context["n"], finding.context["weighting"]) == (EXCEEDED, 3, "arithmetic")
    assert finding.reason.startswith("fog mean of 3 grabs 50.1 ppm, above 50 ppm; averaging period unspecified in law")
    assert finding.context["was"] == {"verdict": "compliant", "observed": 50.0}


def test_two_towns_judge_one_result_each_by_its_own_rule() -> None:
    """The same grab of 70 mg/L is compliant by one ordinance and exceeded by the other."""
    lab = laboratory(fog("lv"), fog("mb"))
    assert {f.rule: f.verdict for f in lab.add(grab(70.0), now())} == {"lv-fog": COMPLIANT, "mb-fog": EXCEEDED}


# Result as reported, the rule's limit and unit, verdict and reason.
UNITS = [
    (1600.0, "ug/L", COMPLIANT),
    (1600.1, "ug/L", EXCEEDED),
    (1601.0, "µg/L", EXCEEDED),
    (1.6, "ppm", COMPLIANT),
    (1.601, "ppm", EXCEEDED),
    (0.0016, "g/L", COMPLIANT),
    (0.00161, "g/L", EXCEEDED),
]


@pytest.mark.parametrize(("value", "unit", "verdict"), UNITS)
def test_units_are_converted_exactly(value: float, unit: str, verdict: Verdict) -> None:
    """A value in another unit is compared as the decimal that was written, never as its binary neighbour."""
    assert laboratory(rule()).add(result(value, unit=unit), now())[0].verdict is verdict


def test_a_mean_is_that_of_the_decimals() -> None:
    """The mean of 0.1, 0.2 and 0.3 is 0.2 and not a little more, as it would be in binary fractions."""
    lab = laboratory(rule(limit=0.2))
    grabs = [grab(value, hour=8 + i, analyte="copper") for i, value in enumerate((0.1, 0.2, 0.3))]
    (finding,) = lab.add_all(grabs, now())
    assert (finding.verdict, finding.observed) == (COMPLIANT, 0.2)


def test_a_unit_of_another_kind_is_refused() -> None:
    """A copper result in pH has no meaning: it is refused with the result's id and the units."""
    lab = laboratory(rule())
    with pytest.raises(ValueError, match=r"result R0: 'pH' is a unit of pH .* \(rule lv-tox-copper-24h\)"):
        lab.add(result(1.0, unit="pH"), now())
    assert lab.state() == {}


# A less-than result against 1.6 mg/L.
LESS_THAN = [
    ("<0.005", COMPLIANT, "copper composite < 0.005 mg/L, not above 1.6 mg/L"),
    ("<1.6", COMPLIANT, "copper composite < 1.6 mg/L, not above 1.6 mg/L"),
    ("<2", NOT_EVALUABLE, "detection limit above the limit: copper composite < 2 mg/L against 1.6 mg/L"),
]


@pytest.mark.parametrize("nondetect", ["zero", "half", "limit"])
@pytest.mark.parametrize(("value", "verdict", "reason"), LESS_THAN)
def test_less_than_results(value: str, verdict: Verdict, reason: str, nondetect: str) -> None:
    """A non-detect is compliant up to a detection limit that equals the limit, and above it nobody can tell."""
    (finding,) = laboratory(rule(), nondetect=nondetect).add(result(value), now())
    assert (finding.verdict, finding.reason, finding.observed) == (verdict, reason, None)
    assert finding.context["nondetects"] == 1


def test_a_nondetect_at_a_limit_that_may_not_be_reached_is_compliant() -> None:
    """Below 1.6 is not at or above 1.6, even where non-detects count as their detection limit."""
    lab = laboratory(rule(comparison=">="), nondetect="limit")
    assert lab.add(result("<1.6"), now())[0].verdict is COMPLIANT


# Grabs of one day against a mean of 50 ppm, the convention, mean and verdict.
MEANS = [
    ("zero", ["<20", 95.0], 47.5, COMPLIANT),
    ("half", ["<20", 95.0], 52.5, EXCEEDED),
    ("limit", ["<20", 80.0], 50.0, COMPLIANT),
    ("limit", ["<20", 80.1], 50.05, EXCEEDED),
    ("half", ["<50", "<40"], 22.5, COMPLIANT),
    ("limit", ["<50", "<50"], 50.0, COMPLIANT),
    ("zero", ["<60", 10.0], 5.0, COMPLIANT),  # a detection limit above 50, but the mean stays below it anyway
    ("zero", ["<60", 45.0], 22.5, NOT_EVALUABLE),  # between 22.5 and 52.5
    ("limit", ["<60", 45.0], 52.5, NOT_EVALUABLE),
    ("zero", ["<60", 101.0], 50.5, EXCEEDED),  # above 50 even if nothing was there
    ("half", ["<60", "<60"], 30.0, NOT_EVALUABLE),
]


@pytest.mark.parametrize(("nondetect", "values", "mean", "verdict"), MEANS)
def test_nondetects_in_a_mean(nondetect: str, values: list, mean: float, verdict: Verdict) -> None:
    """A non-detect counts as the site says, unless a detection limit above the legal limit decides it."""
    lab = laboratory(fog("mb"), nondetect=nondetect)
    (finding,) = lab.add_all([grab(value, hour=8 + i) for i, value in enumerate(values)], now())
    assert (finding.observed, finding.verdict) == (mean, verdict)
    assert finding.context["nondetect_counts_as"] == nondetect


def test_thirty_days_weighted_by_flow() -> None:
    """Sum of C x V over sum of V: three days of 2 mg/L at little flow do not make the month exceed 0.8."""
    values = {day: 2.0 if day < 3 else 0.75 for day in range(30)}
    volumes = {date.fromordinal(DAY_ONE.toordinal() + day): 1000.0 if day < 3 else 10_000.0 for day in range(30)}
    plain = laboratory(toxic("copper", "30-day"))
    weighed = laboratory(toxic("copper", "30-day"), volume_gal=volumes.get)
    results = [result(value, day) for day, value in values.items()]
    # 3 x 2.0 + 27 x 0.75 = 26.25, over 30; and (3 x 2.0 x 1 + 27 x 0.75 x 10) / 273.
    last = plain.add_all(results, now())[-1]
    assert (last.verdict, last.observed, last.context["weighting"]) == (EXCEEDED, 0.875, "arithmetic")
    last = weighed.add_all(results, now())[-1]
    assert (last.verdict, last.observed) == (COMPLIANT, float(Fraction(6000 + 202500, 273_000)))
    assert (last.context["weighting"], last.context["n"]) == ("flow-weighted", 30)


def test_a_missing_volume_makes_the_mean_arithmetic() -> None:
    """One sampled day without a known volume: the mean is arithmetic and says of how many days."""
    lab = laboratory(toxic("copper", "30-day"), volume_gal=lambda day: None if day == DAY_ONE else 500.0)
    last = lab.add_all([result(0.7, day) for day in range(30)], now())[-1]
    assert last.context["weighting"] == "arithmetic (no volume for 1 of 30 days)"


def test_a_day_without_discharge_has_no_concentration() -> None:
    """Sampled days on which nothing was discharged are left out, and counted."""
    lab = laboratory(toxic("copper", "30-day"), volume_gal=lambda day: 0.0 if (day - DAY_ONE).days in (4, 9) else 500.0)
    last = lab.add_all([result(9.0 if day in (4, 9) else 0.7, day) for day in range(30)], now())[-1]
    assert (last.verdict, last.observed, last.context["n"]) == (COMPLIANT, 0.7, 28)
    assert last.context["flags"] == ["2 sampled days without discharge left out"]


def test_only_idle_days_cannot_be_judged() -> None:
    """With nothing discharged on any sampled day there is nothing to average."""
    lab = laboratory(toxic("copper", "30-day"), volume_gal=lambda _: 0.0)
    (finding,) = lab.add(result(9.0), now())
    assert (finding.verdict, finding.reason) == (NOT_EVALUABLE, "nothing was discharged on the sampled days")


# Sampled days, min_days, value, verdict of the last window and the start of its reason.
PROVISIONAL = [
    ("every day for 21 days", range(21), 22, 0.5, NOT_EVALUABLE, "PROVISIONAL(21): 21 of at least 22"),
    ("every day for 21 days", range(21), 22, 0.9, SUSPECTED, "PROVISIONAL(21): 21 of at least 22"),
    ("every day, but only for 29 days", range(29), 22, 0.5, NOT_EVALUABLE, "PROVISIONAL(29): day 29 of the first 30"),
    ("every day, but only for 29 days", range(29), 22, 0.9, SUSPECTED, "PROVISIONAL(29): day 29 of the first 30"),
    ("every day for 30 days", range(30), 22, 0.8, COMPLIANT, "copper 30-day average (n=30) 0.8 mg/L, not above"),
    ("22 of 30 days", [*range(21), 29], 22, 0.8, COMPLIANT, "copper 30-day average (n=22) 0.8 mg/L, not above"),
    ("21 of 30 days", [*range(20), 29], 22, 0.8, NOT_EVALUABLE, "PROVISIONAL(21): "),
    ("once a week, five results wanted", range(0, 36, 7), 5, 0.81, EXCEEDED, "copper 30-day average (n=5) 0.81"),
    ("once a week, five results wanted", range(0, 36, 7), 5, 0.8, COMPLIANT, "copper 30-day average (n=5) 0.8 mg"),
]


@pytest.mark.parametrize(("what", "days", "min_days", "value", "verdict", "reason"), PROVISIONAL)
def test_thin_thirty_days_are_provisional(
    what: str, days: range, min_days: int, value: float, verdict: Verdict, reason: str
) -> None:
    """Too few days, or too short a record, never read compliant: suspected above the limit, or no answer."""
    lab = laboratory(toxic("copper", "30-day", min_days=min_days))
    last = lab.add_all([result(value, day) for day in days], now())[-1]
    assert last.verdict is verdict, what
    assert last.reason.startswith(reason)


def test_a_calendar_month_is_judged_when_it_is_over() -> None:
    """February's mean is provisional while February lasts and compliant on the first of March; ticks find it out."""
    lab = laboratory(rule(limit=0.8, window="month", min_days=4))
    taken = [result(0.7, date(2026, 2, day), id=f"F{day}") for day in (2, 9, 16, 23)]
    findings = lab.add_all(taken, now(date(2026, 2, 25)))
    assert [f.verdict for f in findings] == [NOT_EVALUABLE]
    assert findings[0].reason.startswith("PROVISIONAL(4): the month is not over; so far copper average of the month")
    assert lab.tick(now(date(2026, 2, 28))) == []
    last = lab.add(result(0.7, date(2026, 2, 27), id="F27"), now(date(2026, 2, 28)))
    assert [f.verdict for f in last] == [NOT_EVALUABLE]
    assert [f.verdict for f in lab.tick(now(date(2026, 3, 1), 1))] == [COMPLIANT]
    assert lab.tick(now(date(2026, 3, 2))) == []


def test_a_composite_belongs_to_the_day_of_its_middle() -> None:
    """From 08:00 to 08:00 is the first of the two days; from noon to noon, too."""
    lab = laboratory(toxic("copper", "30-day"))
    for start in (8, 12):
        taken = result(0.5, 40, id=f"S{start}", start_utc_us=local(40, start), stop_utc_us=local(41, start))
        lab.add(taken, now())
    assert [key for _, key in lab.verdicts()] == ["30-day:2026-02-14"]


def test_the_wrong_sample_type_is_judged_and_flagged() -> None:
    """A grab for a 24-h average and a composite of grease are judged, and the finding says what is wrong with them."""
    lab = laboratory(toxic("copper"), fog("lv"))
    (of_copper,) = lab.add(grab(2.0, analyte="copper"), now())
    assert of_copper.verdict is EXCEEDED
    assert of_copper.context["flags"] == ["a grab, where the rule is a 24-h average"]
    (of_fog,) = lab.add(result(120.0, analyte="fog"), now())
    assert of_fog.context["flags"] == ["a composite, where fog is taken by grab (40 CFR 403.12(g)(3))"]
    short = result(1.0, 3, stop_utc_us=local(3, 8))
    assert lab.add(short, now())[0].context["flags"] == ["a composite over 8 h, not 24 h"]


def test_a_composite_is_the_average_of_its_day() -> None:
    """Grabs beside a composite are kept and no longer the day's average, in whichever order they were entered."""
    lab = laboratory(toxic("copper"), toxic("copper", "30-day", min_days=1))
    lab.add(grab(2.0, analyte="copper"), now())
    findings = lab.add(result(0.5), now())
    by_key = {f.context["window"]: f for f in findings}
    assert by_key["composite:R0"].verdict is COMPLIANT
    beside = by_key["grabs:2026-01-05"]
    assert (beside.verdict, beside.reason) == (NOT_EVALUABLE, "a composite is this day's average; kept beside it")
    assert by_key["30-day:2026-01-05"].observed == 0.5
    assert [m.exceeds for m in lab.measurements("lv-tox-copper-24h")] == [False]


def test_a_finding_names_its_evidence() -> None:
    """Method, laboratory, sample type, results with versions, how many, how weighed, and how many non-detects."""
    lab = laboratory(fog("mb"))
    taken = [grab(10.0, hour=8), grab("<5", hour=9, method="EPA 1664A", version=3)]
    (finding,) = lab.add_all(taken, now())
    assert finding.context == {
        "method": "EPA 1664A; EPA 1664B",
        "laboratory": "Olean Lab",
        "sample_type": "grab",
        "results": [{"id": "G0-8", "version": 1}, {"id": "G0-9", "version": 3}],
        "n": 2,
        "weighting": "arithmetic",
        "nondetects": 1,
        "nondetect_counts_as": "half",
        "between": [5.0, 7.5],
        "flags": ["averaging period unspecified in law"],
        "window": "grabs:2026-01-05",
        "day": "2026-01-05",
    }


def test_an_analyte_without_a_rule_is_recorded_and_says_so() -> None:
    """A result nobody judges is kept, and its words say why, with the nearest name."""
    lab = laboratory(rule())
    taken = result(1.0, analyte="cooper")
    assert lab.add(taken, now()) == []
    assert lab.results == (taken,)
    assert lab.words(taken) == "recorded; no rule of this site judges 'cooper'; did you mean 'copper'?"


def test_a_waiver_replaces_the_limit_of_its_time() -> None:
    """While an agreement names 2 mg/L its limit rules, by the end of the sampling, and the finding says whose it is."""
    term = Term("agreement", local(0), local(2), 2.0, "A-7", "Superintendent")
    lab = laboratory(rule(terms=(term,)))
    during, after = lab.add_all([result(1.8, 0), result(1.8, 3)], now())
    assert (during.verdict, during.limit, during.source) == (COMPLIANT, 2.0, "agreement: A-7")
    assert (after.verdict, after.limit, after.source) == (EXCEEDED, 1.6, "ordinance")


@pytest.mark.parametrize(
    ("day", "verdict", "why"),
    [
        (9, EXCEEDED, "the day before the waiver ends at the midnight it begins with"),
        (10, COMPLIANT, "its first day"),
        (12, COMPLIANT, "its last day ends at the midnight it ends with"),
        (13, EXCEEDED, "the day after"),
    ],
)
def test_a_composite_from_midnight_to_midnight_lies_on_its_own_day(day: int, verdict: Verdict, why: str) -> None:
    """A waiver of 2 mg/L over the days 10 to 12; 1.8 mg/L is above the 1.6 of the ordinance."""
    term = Term("waiver", local(10), local(13), 2.0, "W-1", "Superintendent")
    (finding,) = laboratory(rule(terms=(term,))).add(result(1.8, day), now())
    assert finding.verdict is verdict, why


def test_the_law_judges_no_sample_from_before_its_day() -> None:
    """In force from Tuesday, 6 January 2026 on: a sample of the Monday before is recorded and no more."""
    lab = laboratory(rule(effective="2026-01-06"))
    before, since = result(9.0, 0), result(9.0, 1)
    assert lab.add(before, now()) == []
    (finding,) = lab.add(since, now())
    assert finding.verdict is EXCEEDED
    assert set(lab.results) == {before, since}


def test_a_suspended_rule_is_recorded_and_calls_nobody() -> None:
    """A waiver without a limit: the exceedance is found, marked, and no alarm is asked for."""
    term = Term("waiver", local(0), None, None, "W-1", "Superintendent")
    lab = laboratory(rule(terms=(term,)))
    (finding,) = lab.add(result(1.8), now())
    assert (finding.verdict, finding.source) == (EXCEEDED, "waiver: W-1")
    assert finding.context["suspended"]
    assert [c.active for c in lab.conditions([finding])] == [False]
    assert lab.measurements(rule().alarm) == (), "and counts in no table of noncompliance"


def test_a_late_result_that_exceeded_is_told_though_a_newer_one_is_within() -> None:
    """The alarm hears of the old exceedance first, and then of the newest window."""
    lab = laboratory(rule())
    lab.add(result(1.0, 5), now())
    conditions = lab.conditions(lab.add(result(1.7, 1), now()))
    assert [c.active for c in conditions] == [True, False]
    assert conditions[1].margin == pytest.approx(0.6)


# What is wrong with a result, and the words.
REFUSED = [
    ({"id": " "}, "id is required"),
    ({"version": 0}, "version counts from 1"),
    ({"unit": "mg"}, "unknown unit 'mg'"),
    ({"value": None}, "value is required; a non-detect is written with its detection limit, as in <0.005"),
    ({"value": -1.0}, "value is below zero"),
    ({"value": float("nan")}, "value is not a finite number"),
    ({"value": None, "detection_limit": 0.0}, "detection_limit must be above zero"),
    ({"sample_type": SampleType.GRAB}, "a grab is one moment"),
    ({"stop_utc_us": local(-1)}, "a composite ends after it starts"),
    ({"stop_utc_us": local(40)}, "longer than a month"),
    ({"start_utc_us": 0}, "before 1990"),
    ({"method": ""}, "method is required"),
    ({"entered_by": ""}, "entered_by is required"),
]


@pytest.mark.parametrize(("changes", "words"), REFUSED)
def test_what_is_no_result_is_refused_whole(changes: dict, words: str) -> None:
    """A result with a mistake is refused in words, and with it everything entered together with it."""
    lab = laboratory(rule())
    with pytest.raises(ValueError) as refused:
        lab.add_all([result(1.7, 3), result(**changes)], now())
    assert words in str(refused.value)
    assert (lab.results, lab.verdicts(), lab.state()) == ((), {}, {})


def test_the_future_cannot_have_been_sampled() -> None:
    """A sampling that ends after now is refused while the clock is trusted."""
    with pytest.raises(ValueError, match="its sampling ends in the future"):
        laboratory(rule()).add(result(1.0, 3), now(3, 12))


# A rule that means nothing for a laboratory.
NO_RULES = [
    ({"limit": None}, "needs a limit"),
    ({"kind": "slug"}, "cannot be judged by slug"),
    ({"quantity": "pH", "unit": "pH"}, "logarithm"),
]


@pytest.mark.parametrize(("changes", "words"), NO_RULES)
def test_rules_a_laboratory_cannot_judge(changes: dict, words: str) -> None:
    """A slug, an average of pH or a rule without a limit is refused when the laboratory is set up."""
    with pytest.raises(ValueError, match=words):
        laboratory(rule(**changes))
    with pytest.raises(ValueError, match="zero, half, limit"):
        laboratory(rule(), nondetect="third")
