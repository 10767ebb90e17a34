"""Water per day against a limit, and the user's share of the town's sewage."""

import json
from fractions import Fraction
from typing import Any

import pytest

from gateway.model import Finding, Resume, Verdict
from gateway.rules.share import ShareRule
from gateway.rules.stance import Stance
from gateway.rules.volume import VolumeRule
from gateway.site import TownFlow
from tests.support.day_book import DayBook
from tests.support.ledger_feed import ZONE, Clock, Feed, channel, rule, steady

DAY_S = 86_400
SIU = {"channel": "flow", "unit": "gal", "limit": 25_000.0}
FLOW = channel("flow", "flow", "gpm")


def story(**changes: Any) -> tuple[Feed, VolumeRule]:
    """A flow heard every ten minutes, and the rule on it."""
    feed = Feed(hold_s=1500)
    assert feed.flow_days is not None
    judge = VolumeRule(rule("volume", **(SIU | changes)), feed.flow_spec, {}, feed.start, feed.flow_days, ZONE)
    feed.judges.append(judge)
    return feed, judge


def flows(gpm: Fraction | float, since_s: int, until_s: int) -> list[tuple[int, str, Fraction]]:
    """One reading every ten minutes."""
    return steady(gpm, since_s, until_s, 600)  # type: ignore[arg-type]  # a fraction is kept as it is


@pytest.mark.parametrize(
    ("comparison", "raised"),
    [
        pytest.param(">", False, id="the village: more than 25,000 gal; exactly 25,000 is not"),
        pytest.param(">=", True, id="the federal test: 25,000 or more; exactly 25,000 is"),
    ],
)
def test_exactly_25000_gal_on_a_day(comparison: str, raised: bool) -> None:
    """250 gpm for 100 minutes, and not a drop more."""
    feed, judge = story(comparison=comparison)
    found = feed.play((), flows(250, 0, 6000) + flows(0, 6000, DAY_S), until_s=DAY_S)
    assert [f.event.value for f in found] == (["raised"] if raised else [])
    assert judge.stance is (Stance.EXCEEDED if raised else Stance.WITHIN)


def test_a_day_that_exceeds_is_told_at_the_minute_that_shows_it() -> None:
    """100 gpm from midnight: 25,000 gal after 250 minutes, more in the next; told once, with the day's start."""
    feed, judge = story()
    found = feed.play((), flows(100, 0, DAY_S), until_s=DAY_S + 600)
    (finding,) = found
    assert (finding.event.value, finding.verdict) == ("raised", Verdict.EXCEEDED)
    assert (finding.since, finding.at) == (feed.clock.at(0), feed.clock.at(251 * 60))
    assert finding.observed == 25_100.0
    assert finding.reason == "volume of the day 25100 gal above 25000 gal; the day is not over"
    now_told = judge.condition().finding
    assert now_told is not None
    assert now_told.observed == 144_000.0  # once the day is over its full volume stands


def test_missing_flow_cannot_take_an_exceedance_back() -> None:
    """The water that was measured is a lower bound; a day below the limit with too little of it proves nothing."""
    feed, judge = story()
    found = feed.play((), flows(100, 0, 18_000) + flows(1, DAY_S, DAY_S + 36_000), until_s=2 * DAY_S)
    assert [(f.event.value, f.reason) for f in found] == [
        ("raised", "volume of the day 25100 gal above 25000 gal; the day is not over"),
        ("not_evaluable", "provisional: coverage 42 %"),
    ]
    assert judge.stance is Stance.EXCEEDED


def test_the_next_day_within_the_limit_clears() -> None:
    """When it is over."""
    feed, _ = story()
    found = feed.play((), flows(100, 0, DAY_S) + flows(1, DAY_S, 2 * DAY_S), until_s=2 * DAY_S)
    assert [(f.event.value, f.at) for f in found] == [
        ("raised", feed.clock.at(251 * 60)),
        ("cleared", feed.clock.at(2 * DAY_S)),
    ]


def test_another_unit_of_volume() -> None:
    """A pack may write cubic metres: 94.64 m3 are 25,000 gal."""
    feed, _ = story(limit=94.0, unit="m3")
    (finding,) = feed.play((), flows(250, 0, 6000) + flows(0, 6000, DAY_S), until_s=DAY_S)
    assert finding.observed == pytest.approx(25_000 * 3.785411784e-3, rel=5e-3)


def test_the_seconds_of_a_volume() -> None:
    """Valid discharging time is exceeded, idle time no discharge; all of it sums."""
    feed, judge = story()
    idle = [(second, "n", Fraction(0)) for second in range(DAY_S // 2, DAY_S, 600)]
    feed.play((), flows(100, 0, DAY_S // 2) + idle, until_s=DAY_S)
    spent = judge.seconds.report(feed.clock.at(DAY_S).mono_us)
    assert spent[Verdict.EXCEEDED] == spent[Verdict.NO_DISCHARGE] == DAY_S * 500_000


def test_a_restart_does_not_tell_the_same_day_again() -> None:
    """Stored before the crossing, stopped after it."""
    feed, judge = story()
    flow = flows(100, 0, DAY_S)
    feed.play((), flow[:20])
    states = feed.states()
    feed.play((), flow[20:30])
    own = json.loads(json.dumps(judge.state()))
    new = feed.restored(states, Clock(feed.clock.utc_s, feed.clock.mono_s), 18_000, 0)
    assert new.flow_days is not None
    again = VolumeRule(rule("volume", **SIU), new.flow_spec, {}, new.start, new.flow_days, ZONE)
    again.restore(own, Resume(new.start, 0))
    new.judges.append(again)
    assert new.play((), flow[20:], until_s=DAY_S + 600) == []
    assert again.stance is Stance.EXCEEDED


def test_a_volume_needs_the_flow() -> None:
    """Refused at construction, not at the first day."""
    feed = Feed(with_flow=False)
    with pytest.raises(ValueError, match="needs the flow"):
        VolumeRule(rule("volume", **SIU), FLOW, {}, feed.start, feed.ledger, ZONE)


def book_of(days: list[float], **changes: Any) -> tuple[list[Finding], VolumeRule]:
    """The findings of days with so many gal, by the trailing average of 30."""
    book = DayBook()
    law = rule("volume", **(SIU | {"window": "30-day", "comparison": ">="} | changes))
    judge = VolumeRule(law, FLOW, {}, book.now, book, ZONE)  # type: ignore[arg-type]  # the part of a Ledger it reads
    for gal in days:
        book.add(1, gal, discharging=gal > 0)
    return judge.tick(book.now), judge


def test_the_federal_average_counts_days_without_discharge() -> None:
    """50,000 gal every other day are 25,000 gal/day on average: a significant user by the federal test."""
    found, judge = book_of([50_000, 0] * 15)
    assert (found[-1].event.value, found[-1].observed) == ("raised", 25_000.0)
    assert judge.stance is Stance.EXCEEDED
    assert all(f.event.value in ("suspected", "not_evaluable") for f in found[:-1])


def test_a_thirty_day_volume_is_provisional_until_the_thirtieth_day() -> None:
    """Never compliant before."""
    found, judge = book_of([100] * 29)
    assert {f.event.value for f in found} == {"not_evaluable"}
    assert found[-1].reason == "PROVISIONAL(29): day 29 of the first 30"
    assert judge.stance is Stance.COVERAGE


TOWN = TownFlow(100_000.0, "Annual report of the works", "2025-12-31")


def share(days: list[tuple[float, float]], town: TownFlow | None = TOWN) -> tuple[list[Finding], ShareRule]:
    """The findings of days with so many gal and so much of the flow valid, at 2 % of 100,000 gal/day."""
    book = DayBook()
    law = rule("share", channel="flow", unit="%", limit=2.0, window="30-day")
    judge = ShareRule(law, FLOW, {}, book.now, book, ZONE, town)  # type: ignore[arg-type]  # the part of a Ledger it reads
    found = judge.begin(book.now)
    for gal, valid in days:
        book.add(1, gal, flow_coverage=valid, discharging=gal > 0)
    return found + judge.tick(book.now), judge


def test_two_percent_exactly_is_not_more_than_two_percent() -> None:
    """30 days of 2,000 gal for a town of 100,000 gal/day; the 12 months are not complete, and the finding says so."""
    found, judge = share([(2000, 1)] * 30)
    assert [f.event.value for f in found] == ["not_evaluable"] * 29
    assert judge.stance is Stance.WITHIN


def test_more_than_two_percent_names_the_towns_number_and_its_source() -> None:
    """It is somebody else's number."""
    found, _ = share([(2000, 1)] * 29 + [(2060, 1)])
    finding = found[-1]
    assert (finding.event.value, finding.observed, finding.unit) == ("raised", 2.002, "%")
    assert finding.context["shares"] == {"30-day": 2.002, "12-month": 2.002}
    assert finding.context["provisional_12_month"] == "PROVISIONAL(30): 30 of at least 268 valid days"
    assert (finding.context["town_flow_source"], finding.context["town_flow_date"]) == (TOWN.source, TOWN.date)
    assert finding.context["town_flow_gpd"] == 100_000.0


def test_twelve_months_can_exceed_while_thirty_days_do_not() -> None:
    """335 days at 3 % and 30 at 1 %: the year average is 2.84 %."""
    found, judge = share([(3000, 1)] * 335 + [(1000, 1)] * 31)
    last = judge.condition().finding
    assert judge.stance is Stance.EXCEEDED
    assert last is not None
    assert last.context["window"] == "12-month"
    assert last.observed == pytest.approx((3000 * 334 + 1000 * 31) / 365 / 1000)
    assert [f.event.value for f in found if f.event.value in ("raised", "cleared")] == ["raised"]


def test_days_whose_flow_is_mostly_unknown_do_not_count() -> None:
    """22 of 30 must be valid."""
    found, judge = share([(5000, 1)] * 21 + [(5000, 0.5)] * 9)
    assert found[-1].event.value == "suspected"
    assert judge.stance is Stance.SUSPECTED


def test_without_the_towns_flow_nobody_can_tell() -> None:
    """Said once, at the start."""
    found, judge = share([(5000, 1)] * 31, None)
    assert [(f.event.value, f.reason) for f in found] == [("not_evaluable", "no town flow")]
    assert judge.condition().reason == "cannot tell (no town flow)"
