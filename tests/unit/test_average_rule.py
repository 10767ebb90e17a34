"""Averages over days, 30 days and months: what is told when a window closes, and what is not."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from gateway.model import Finding, Resume, Severity, Verdict
from gateway.rules.average import AverageRule
from gateway.rules.stance import Stance
from gateway.rules.window_seconds import WindowSeconds
from gateway.site import Rule, Term
from tests.support.day_book import DayBook
from tests.support.ledger_feed import ZONE, Clock, Feed, Word, channel, rule, steady

DAY_S = 86_400
DAY_US = DAY_S * 1_000_000
COPPER = rule(limit=1.6)


def story(law: Rule = COPPER, **changes: object) -> tuple[Feed, AverageRule]:
    """A feed that is heard once an hour, and the rule on it."""
    feed = Feed(hold_s=7200, **changes)  # type: ignore[arg-type]  # as Feed names them
    judge = AverageRule(law, feed.spec, {}, feed.start, feed.ledger, ZONE)
    feed.judges.append(judge)
    return feed, judge


def hours(value: float, since_h: float, until_h: float, kind: str = "v") -> list[Word]:
    """The same word every hour."""
    return steady(value, int(since_h * 3600), int(until_h * 3600), 3600, kind)


def days_of(values: Sequence[float]) -> list[Word]:
    """One value for each day, every hour."""
    return [word for day, value in enumerate(values) for word in hours(value, day * 24, day * 24 + 24)]


def told(findings: Sequence[Finding], feed: Feed) -> list[tuple[str, str, float, float]]:
    """Event, verdict, since and at in hours of the story."""
    zero_us = feed.clock.at(0).mono_us
    return [
        (f.event.value, f.verdict.value, (f.since.mono_us - zero_us) / 3.6e9, (f.at.mono_us - zero_us) / 3.6e9)
        for f in findings
    ]


@pytest.mark.parametrize(
    ("value", "exceeds"),
    [
        pytest.param(1.60, False, id="copper at 1.60 is compliant"),
        pytest.param(1.61, True, id="copper at 1.61 exceeds"),
    ],
)
def test_the_day_is_judged_when_it_closes(value: float, exceeds: bool) -> None:
    """Example 15 of docs/judging.md 13, by sensor: strictly more than the limit, at the closing midnight."""
    feed, judge = story()
    found = [f for f in feed.play(hours(value, 0, 24), hours(10, 0, 24), until_s=DAY_S) if f.event != "prealarm"]
    assert told(found, feed) == ([("raised", "exceeded", 0.0, 24.0)] if exceeds else [])
    assert judge.stance is (Stance.EXCEEDED if exceeds else Stance.WITHIN)
    for finding in found:
        assert (finding.observed, finding.limit, finding.unit, finding.duration_us) == (1.61, 1.6, "mg/L", DAY_US)
        assert finding.reason == "24-h average 1.61 mg/L above 1.6 mg/L"


def test_the_finding_carries_coverage_weighting_volume_and_load() -> None:
    """14,400 gal at 200 mg/L are 24.02 lb by the factor of the trade and 10.902 kg exactly."""
    feed, _ = story(rule(limit=100.0))
    (*_, finding) = feed.play(hours(200, 0, 24), hours(10, 0, 24), until_s=DAY_S)
    context = dict(finding.context)
    assert context.pop("load_lb") == pytest.approx(200 * 14_400 * 8.34e-6)
    assert context.pop("load_kg") == pytest.approx(200 * 14_400 * 3.785411784 / 1e6)
    assert context == {
        "window": "day", "from": "2026-11-28", "to": "2026-11-28", "days": 1, "coverage": 1.0, "weighting": "flow",
        "provisional": "", "volume_gal": 14_400.0,
    }  # fmt: skip


def test_an_exceedance_stands_until_a_later_day_complies() -> None:
    """Each exceeding day is raised, since each is a violation of its own; a day without discharge says nothing."""
    feed, judge = story(rule(limit=100.0))
    words = days_of([200, 150]) + hours(0, 48, 72, "y") + days_of([0, 0, 0, 50])[72:]
    found = [f for f in feed.play(words, hours(10, 0, 96), until_s=4 * DAY_S) if f.event != "prealarm"]
    assert told(found, feed) == [
        ("raised", "exceeded", 0.0, 24.0),
        ("raised", "exceeded", 24.0, 48.0),
        ("cleared", "compliant", 72.0, 96.0),
    ]
    assert judge.condition().active is False
    assert judge.open_since() is None


def test_what_stands_is_open_with_its_window() -> None:
    """For the list of what is open at the end of a replay."""
    feed, judge = story(rule(limit=100.0))
    feed.play(hours(200, 0, 24), hours(10, 0, 24), until_s=DAY_S + 600)
    run = judge.open_since()
    assert run is not None
    assert (run.since, run.duration_us, run.extreme) == (feed.clock.at(0), DAY_US, 200.0)
    assert judge.condition().active is True
    assert judge.condition().severity is Severity.HIGH


@pytest.mark.parametrize(
    ("value", "expected", "stance"),
    [
        pytest.param(200, ("suspected", "suspected", 0.0, 24.0), Stance.SUSPECTED, id="above: suspected"),
        pytest.param(50, ("not_evaluable", "not_evaluable", 0.0, 24.0), Stance.COVERAGE, id="below: nobody can tell"),
    ],
)
def test_thin_coverage_is_provisional(value: float, expected: tuple[str, ...], stance: Stance) -> None:
    """A probe that was silent for more than a quarter of the discharging time proves nothing, and clears nothing."""
    feed, judge = story(rule(limit=100.0))
    # Valid to the 13th hour and two hours of hold: 15 of 24 h are 62 %.
    found = [f for f in feed.play(hours(value, 0, 14), hours(10, 0, 24), until_s=DAY_S) if f.event != "prealarm"]
    assert told(found, feed) == [expected]
    assert "provisional: coverage 62 %" in found[0].reason
    assert judge.stance is stance


def test_a_provisional_day_does_not_clear() -> None:
    """Missing data never end an exceedance."""
    feed, judge = story(rule(limit=100.0))
    words = hours(200, 0, 24) + hours(50, 24, 36)
    found = [f for f in feed.play(words, hours(10, 0, 48), until_s=2 * DAY_S) if f.event != "prealarm"]
    assert [f.event.value for f in found] == ["raised", "not_evaluable"]
    assert judge.stance is Stance.EXCEEDED


def test_coverage_is_of_discharging_time() -> None:
    """A plant that discharges eight hours and is measured for seven of them has a valid day."""
    feed, judge = story(rule(limit=100.0))
    flow = hours(10, 0, 8) + hours(0, 8, 24, "n")
    found = feed.play(hours(50, 0, 6), flow, until_s=DAY_S)
    assert found == []
    assert judge.stance is Stance.WITHIN
    (day,) = feed.closed
    assert (day.sums.valid_us, day.sums.discharging_us) == (7 * 3_600_000_000, 8 * 3_600_000_000)


def test_an_average_without_flow_says_that_it_is_weighted_by_time() -> None:
    """The flag of docs/judging.md 5.1."""
    feed, _ = story(rule(limit=100.0))
    (*_, finding) = feed.play(hours(200, 0, 24), (), until_s=DAY_S)
    assert finding.context["weighting"] == "time"
    assert finding.context["load_lb"] is None


def test_the_rolling_average_warns_once_and_is_no_evidence() -> None:
    """Told at the first full minute that shows it, again only after it was within; the stance follows."""
    feed, judge = story(rule(limit=100.0))
    words = hours(50, 0, 2) + hours(400, 2, 3) + hours(1, 3, 24) + hours(2000, 25, 26)
    found = feed.play(words, hours(10, 0, 48), until_s=26 * 3600)
    # After t min of 400 the mean is (50 x 120 + 400 t) / (120 + t): above 100 from the 21st minute on.
    first, second = [f for f in found if f.event == "prealarm"]
    assert told([first], feed) == [("prealarm", "suspected", 2 - 24 + 21 / 60, 2 + 21 / 60)]
    assert second.at.mono_us > feed.clock.at(25 * 3600).mono_us
    assert judge.stance is Stance.PREALARM
    condition = judge.condition()
    assert (condition.active, condition.severity) == (True, Severity.NOTICE)


def test_a_warning_that_is_over_lets_its_alarm_return() -> None:
    """Before any day is judged the rolling average is all there is."""
    feed, judge = story(rule(limit=100.0))
    feed.play(hours(400, 0, 1) + hours(1, 1, 12), hours(10, 0, 12), until_s=12 * 3600)
    assert judge.stance is Stance.WITHIN
    assert judge.condition().active is False


def test_the_seconds_take_the_verdict_of_their_day() -> None:
    """Valid time the day's, idle time no discharge, the rest and the day under way not evaluable."""
    feed, judge = story(rule(limit=100.0))
    flow = hours(10, 0, 12) + hours(0, 12, 24, "n") + hours(10, 24, 30)
    feed.play(hours(200, 0, 10) + hours(50, 24, 30), flow, until_s=30 * 3600)
    spent = judge.seconds.report(feed.clock.at(30 * 3600).mono_us)
    assert {verdict: us / 3.6e9 for verdict, us in spent.items() if us} == {
        Verdict.EXCEEDED: 11.0,  # nine hours, and two of the hold
        Verdict.NO_DISCHARGE: 12.0,
        Verdict.NOT_EVALUABLE: 7.0,
    }


def test_the_first_day_begins_with_the_gateway() -> None:
    """Installed at six in the evening: provisional by what nobody saw; the seconds begin at six."""
    feed, judge = story(rule(limit=100.0), start_s=18 * 3600)
    found = feed.play(hours(50, 18, 24), hours(10, 18, 24), until_s=DAY_S)
    assert [f.reason for f in found] == ["provisional: coverage 25 %"]
    spent = judge.seconds.report(feed.clock.at(DAY_S).mono_us)
    assert sum(spent.values()) == spent[Verdict.NOT_EVALUABLE] == 6 * 3_600_000_000


def test_an_agreement_replaces_the_limit_and_is_named() -> None:
    """In force at the end of the day; the printed limit is told beside it."""
    term = Term("agreement", 0, None, 300.0, "SA-7", "Village Board")
    feed, _ = story(rule(limit=100.0, terms=(term,)))
    assert [f for f in feed.play(hours(200, 0, 24), hours(10, 0, 24), until_s=DAY_S) if f.event == "raised"] == []
    feed, _ = story(rule(limit=100.0, terms=(term,)))
    (*_, finding) = feed.play(hours(301, 0, 24), hours(10, 0, 24), until_s=DAY_S)
    assert (finding.limit, finding.source, finding.context["ordinance_limit"]) == (300.0, "agreement: SA-7", 100.0)


def test_a_suspended_rule_is_recorded_and_calls_nobody() -> None:
    """A waiver without a limit: the finding stands, the alarm is a notice."""
    term = Term("waiver", 0, None, None, "W-1", "Superintendent")
    feed, judge = story(rule(limit=100.0, terms=(term,)))
    (*_, finding) = feed.play(hours(200, 0, 24), hours(10, 0, 24), until_s=DAY_S)
    assert (finding.event.value, finding.source, finding.context["suspended"]) == ("raised", "waiver: W-1", True)
    assert judge.condition().severity is Severity.NOTICE


def test_ph_is_averaged_as_hydrogen_ions_and_told_as_ph() -> None:
    """A quarter of the day at pH 4 and the rest at 7 averages to 4.601, below 5.5."""
    law = rule(channel="ph", unit="pH", comparison="<", limit=5.5)
    feed = Feed(channel("ph", "pH", "pH", hold_s=7200))
    feed.judges.append(AverageRule(law, feed.spec, {}, feed.start, feed.ledger, ZONE))
    (*_, finding) = feed.play(hours(4, 0, 6) + hours(7, 6, 24), hours(10, 0, 24), until_s=DAY_S)
    assert finding.event.value == "raised"
    assert finding.observed == pytest.approx(4.601, abs=5e-4)
    assert finding.extreme == 4.0
    assert "load_lb" not in finding.context


def test_a_restart_tells_nothing_twice_and_forgets_nothing() -> None:
    """Stored before midnight, stopped after it: the readings fed again raise nothing that was raised before."""
    words, flow = hours(200, 0, 30), hours(10, 0, 54)
    feed, judge = story(rule(limit=100.0))
    feed.play(words[:20], flow[:20])
    states = feed.states()
    feed.play(words[20:27], flow[20:27])
    own = json.loads(json.dumps(judge.state()))
    new = feed.restored(states, Clock(feed.clock.utc_s, feed.clock.mono_s), 27 * 3600, 0)
    again = AverageRule(rule(limit=100.0), new.spec, {}, new.start, new.ledger, ZONE)
    again.restore(own, Resume(new.start, 0))
    new.judges.append(again)
    assert new.play(words[20:27], flow[20:27]) == []
    again.begin(new.start)
    assert again.stance is Stance.EXCEEDED
    assert again.condition().finding == judge.condition().finding
    found = [f for f in new.play(words[27:], flow[27:], until_s=2 * DAY_S) if f.event != "prealarm"]
    assert [f.event.value for f in found] == ["suspected"]  # the second day was measured for 8 h of 24
    spent = again.seconds.report(new.clock.at(2 * DAY_S).mono_us)
    assert sum(spent.values()) == 21 * 3_600_000_000


def test_a_warning_found_again_while_readings_are_fed_again_is_not_told_twice() -> None:
    """It was told when they came first; the caller need not ask for it in between."""
    words, flow = hours(400, 0, 3), hours(10, 0, 6)
    feed, judge = story(rule(limit=100.0))
    states = feed.states()
    assert [f.event.value for f in feed.play(words, flow[:3])] == ["prealarm"]
    new = feed.restored(states, Clock(feed.clock.utc_s, feed.clock.mono_s), 3 * 3600, 0)
    again = AverageRule(rule(limit=100.0), new.spec, {}, new.start, new.ledger, ZONE)
    again.restore(json.loads(json.dumps(judge.state())), Resume(new.start, 0))
    new.play(words, flow[:3])
    again.begin(new.start)
    new.judges.append(again)
    assert new.play(hours(400, 3, 5), flow[3:], until_s=5 * 3600) == []
    assert again.stance is Stance.PREALARM


def test_a_restart_after_midnight_still_warns_that_day() -> None:
    """Ledgers from before midnight, the rule from after it: once the day is closed again, warnings go on."""
    words, flow = hours(50, 0, 26), hours(10, 0, 30)
    feed, judge = story(rule(limit=100.0))
    feed.play(words[:20], flow[:20])
    states = feed.states()
    feed.play(words[20:25], flow[20:25])
    new = feed.restored(states, Clock(feed.clock.utc_s, feed.clock.mono_s), 25 * 3600, 0)
    again = AverageRule(rule(limit=100.0), new.spec, {}, new.start, new.ledger, ZONE)
    again.restore(json.loads(json.dumps(judge.state())), Resume(new.start, 0))
    new.play(words[20:25], flow[20:25])
    again.begin(new.start)
    new.judges.append(again)
    assert [f.event.value for f in new.play(hours(2000, 25, 27), flow[25:], until_s=27 * 3600)] == ["prealarm"]


def test_the_seconds_before_a_restart_are_not_this_process_s() -> None:
    """A minute that was settled later than the process began: only what lies within its own time is claimed."""
    account = WindowSeconds(40_000_000)
    account.settle(Verdict.COMPLIANT, 60_000_000, 60_000_000)
    account.settle(Verdict.NO_DISCHARGE, -5, 60_000_000)
    spent = account.report(60_000_000)
    assert (spent[Verdict.COMPLIANT], spent[Verdict.NOT_EVALUABLE]) == (20_000_000, 0)
    assert sum(spent.values()) == 20_000_000


def many(window: str, **changes: object) -> tuple[DayBook, AverageRule, Callable[[], list[Finding]]]:
    """A book of days, a rule that reads it, and a way to ask."""
    book = DayBook()
    law = rule(limit=100.0, window=window, **changes)
    judge = AverageRule(law, channel(), {}, book.now, book, ZONE)  # type: ignore[arg-type]  # the part of a Ledger it reads
    return book, judge, lambda: judge.tick(book.now)


def test_thirty_days_are_weighted_by_the_water_of_each_day() -> None:
    """29 days of 1,000 gal at 90 and one of 11,000 gal at 130 average to 101, though their plain mean is 91.3."""
    book, _, ask = many("30-day")
    for _ in range(29):
        book.add(90)
    book.add(130, 11_000)
    (*_, finding) = ask()
    assert (finding.event.value, finding.observed) == ("raised", 101.0)
    assert (finding.context["days"], finding.context["from"], finding.context["to"]) == (30, "2026-01-01", "2026-01-30")
    assert finding.context["load_lb"] == pytest.approx((29 * 90 * 1000 + 130 * 11_000) * 8.34e-6)


def test_a_cold_start_is_provisional_to_the_thirtieth_day() -> None:
    """Never compliant before; the value it is heading for is shown, and above the limit it is suspected."""
    book, judge, ask = many("30-day")
    for _ in range(29):
        book.add(50)
    found = ask()
    assert [f.event.value for f in found] == ["not_evaluable"] * 29
    assert found[20].reason == "PROVISIONAL(21): 21 of at least 22 valid discharge days"
    assert found[28].reason == "PROVISIONAL(29): day 29 of the first 30"
    assert found[28].context["projected"] == 50.0
    assert judge.stance is Stance.COVERAGE
    book.add(50)
    assert ask() == []
    assert judge.stance is Stance.WITHIN


def test_thirty_days_need_enough_valid_ones_and_skip_days_without_discharge() -> None:
    """21 valid discharge days of 30 are provisional, 22 are not."""
    book, judge, ask = many("30-day")
    for _ in range(21):
        book.add(150)
    book.add(900, coverage=Fraction(1, 2))  # not valid: does not count, however high
    for _ in range(7):
        book.add(gal=0, discharging=False)
    book.add(150)
    assert [f.event.value for f in ask()][-1] == "raised"
    book.add(gal=0, discharging=False)  # the first day of 150 leaves the window
    (finding,) = ask()
    assert (finding.event.value, finding.observed) == ("suspected", 150.0)
    assert finding.reason.endswith("PROVISIONAL(21): 21 of at least 22 valid discharge days")
    assert judge.stance is Stance.EXCEEDED  # a provisional window does not take back what was raised


def test_overlapping_windows_are_raised_once_and_cleared_once() -> None:
    """One bad day stays in thirty windows; that is one exceedance."""
    book, _, ask = many("30-day")
    for _ in range(29):
        book.add(90)
    book.add(130, 30_000)
    for _ in range(30):
        book.add(90)
    found = [f for f in ask() if f.event.value in ("raised", "cleared")]
    assert [(f.event.value, f.at.utc_us) for f in found] == [
        ("raised", book.days[29].end.utc_us),
        ("cleared", book.days[59].end.utc_us),
    ]


def test_a_standing_average_is_raised_anew_when_its_suspension_ends_or_begins() -> None:
    """Thirty days at 120 against 100, waived for the window of 30 January and again from that of 2 February on."""
    until, again = DayBook("2026-01-31").now.utc_us, DayBook("2026-02-02").now.utc_us
    terms = tuple(Term("waiver", since, end, None, "W-1", "S") for since, end in [(0, until), (again, None)])
    book, _, ask = many("30-day", terms=terms)
    for _ in range(34):
        book.add(120)
    raised = [f for f in ask() if f.event.value == "raised"]
    assert [(f.context["to"], "suspended" in f.context) for f in raised] == [
        ("2026-01-30", True), ("2026-01-31", False), ("2026-02-02", True),
    ]  # fmt: skip


def test_a_day_whose_flow_nobody_knows_weighs_like_the_others() -> None:
    """29 days of 1,000 gal at 90 and one without a flow at 390: the mean is 100, flagged by time."""
    book, _, ask = many("30-day", comparison=">=")
    for _ in range(29):
        book.add(90)
    book.add(390, None)
    (*_, finding) = ask()
    assert (finding.event.value, finding.observed, finding.context["weighting"]) == ("raised", 100.0, "time")
    assert finding.context["load_lb"] is None


def test_a_month_is_judged_when_it_ends() -> None:
    """January is raised at the first midnight of February, and once; February clears it in March."""
    book, judge, ask = many("month")
    for _ in range(31):
        book.add(101)
    (finding,) = ask()
    assert (finding.event.value, finding.at, finding.since) == ("raised", book.days[30].end, book.days[0].start)
    for _ in range(27):
        book.add(99)
    assert ask() == []
    assert judge.stance is Stance.EXCEEDED
    book.add(99)
    (finding,) = ask()
    assert (finding.event.value, finding.context["from"], finding.context["to"]) == (
        "cleared",
        "2026-02-01",
        "2026-02-28",
    )


def test_a_month_that_began_before_the_gateway_is_provisional() -> None:
    """However many of its days are valid."""
    book, _, ask = many("month")
    book.next = book.next.replace(day=5)
    for _ in range(27):
        book.add(50)
    (finding,) = ask()
    assert finding.reason == "PROVISIONAL(27): day 27 of the first 31"


def test_a_month_without_discharge_says_nothing() -> None:
    """No concentration, nothing to lack, nothing compliant."""
    book, judge, ask = many("month")
    for _ in range(31):
        book.add(gal=0, discharging=False)
    assert ask() == []
    assert judge.stance is Stance.DRY


def test_the_seconds_of_a_month_wait_for_its_verdict() -> None:
    """Not evaluable until then; then all its valid time at once."""
    book, judge, ask = many("month")
    start = book.now
    for _ in range(30):
        book.add(101)
    ask()
    before = judge.seconds.report(book.now.mono_us)
    assert before[Verdict.NO_DISCHARGE] == 30 * DAY_US // 2
    assert before[Verdict.EXCEEDED] == 0
    book.add(101)
    ask()
    after = judge.seconds.report(book.now.mono_us)
    assert after[Verdict.EXCEEDED] == 31 * DAY_US // 2
    assert sum(after.values()) == book.now.mono_us - start.mono_us


@pytest.mark.parametrize("window", ["", "week"])
def test_an_unknown_window_is_refused(window: str) -> None:
    """With the ones that are known."""
    feed = Feed()
    with pytest.raises(ValueError, match="known are day, 30-day, month"):
        AverageRule(replace(COPPER, window=window), feed.spec, {}, feed.start, feed.ledger, ZONE)
