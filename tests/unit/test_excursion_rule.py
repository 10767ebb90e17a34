"""Minutes outside a range: the allowance of a month, and of one excursion (40 CFR 401.17)."""

import json
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from gateway.model import Finding, Resume, Verdict
from gateway.rules.excursion import MonthlyExcursionRule, SingleExcursionRule, excursion_rule
from gateway.rules.judge import Judge
from gateway.rules.stance import Stance
from gateway.signals.qc import evidence
from gateway.site import Span
from tests.support.ledger_feed import ZONE, Clock, Word, channel, reading, rule, steady

NOV_1_S = 1_793_505_600  # 2026-11-01T00:00 in New York; November has 30 days and one hour
MONTH_S = 30 * 86_400 + 3_600
PH = channel("ph", "pH", "pH", hold_s=150)
SLOW_PH = channel("ph", "pH", "pH", hold_s=9_000)


def law(window: str = "month", limit_min: float = 446.0, **changes: Any) -> Any:
    """More than 446 minutes a month outside pH 6 to 9."""
    facts = {"channel": "ph", "unit": "min", "limit": limit_min, "window": window, "inside": Span(6.0, 9.0)}
    return rule("excursion", **(facts | changes))


def play(judge: Judge, clock: Clock, words: Sequence[Word], until_s: int | None = None) -> list[Finding]:
    """Every finding of a series, and of the time to `until_s`."""
    found: list[Finding] = []
    for second, kind, value in words:
        one = reading("ph", clock.at(second), kind, value)
        if one.at.mono_us > judge.deadline_us:
            found += judge.tick(one.at)
        found += judge.judge(one, evidence(one), discharging=True)
    return found if until_s is None else found + judge.tick(clock.at(until_s))


def monthly(spec: Any = SLOW_PH, **changes: Any) -> tuple[MonthlyExcursionRule, Clock]:
    """The rule from the first moment of November."""
    clock = Clock(NOV_1_S)
    return MonthlyExcursionRule(law(**changes), spec, {}, clock.at(0), ZONE), clock


@pytest.mark.parametrize(
    ("minutes", "raised"),
    [
        pytest.param(446, False, id="7 h 26 min is the allowance"),
        pytest.param(447, True, id="a minute more exceeds it"),
    ],
)
def test_the_allowance_of_a_month(minutes: int, raised: bool) -> None:
    """In two portions on different days, one too acid and one too alkaline."""
    judge, clock = monthly(PH)
    first = steady(5.5, 0, 200 * 60) + steady(7, 200 * 60, 210 * 60)
    second = steady(9.5, 90_000, 90_000 + (minutes - 200) * 60) + steady(7, 90_000 + (minutes - 200) * 60, 110_000)
    found = play(judge, clock, first + second)
    assert [f.event.value for f in found] == (["raised"] if raised else [])
    assert judge.used_min == minutes
    for finding in found:
        assert (finding.observed, finding.limit, finding.unit) == (447.0, 446.0, "min")
        assert finding.at == clock.at(90_000 + 247 * 60)
        assert finding.reason == "447 min outside 6 to 9 in the month above 446 min; the month is not over"


def test_the_bounds_of_the_range_are_inside() -> None:
    """6.0 and 9.0 are permitted."""
    judge, clock = monthly()
    play(judge, clock, steady(6, 0, 36_000, 3600) + steady(9, 36_000, 72_000, 3600))
    assert judge.used_min == 0


def test_time_for_which_nobody_can_tell_uses_no_allowance() -> None:
    """Past the hold of the last reading outside, nothing counts; failed and doubtful readings never do."""
    judge, clock = monthly(PH)
    play(judge, clock, [(0, "v", Fraction(5)), (60, "f", Fraction(2)), (120, "d", Fraction(2))], 3_600)
    assert judge.used_min == 2.5


def test_a_month_within_its_allowance_is_compliant_when_it_ends() -> None:
    """And the next one begins with the full allowance."""
    judge, clock = monthly()
    words = steady(5, 0, 25_200, 3600) + steady(7, 25_200, MONTH_S, 3600) + steady(5, MONTH_S, MONTH_S + 7200, 3600)
    assert play(judge, clock, words) == []
    assert judge.stance is Stance.WITHIN
    assert judge.used_min == 60.0
    spent = judge.seconds.report(clock.at(MONTH_S + 7200).mono_us)
    assert spent[Verdict.COMPLIANT] == MONTH_S * 1_000_000
    assert sum(spent.values()) == (MONTH_S + 7200) * 1_000_000


def test_an_exceeded_month_stands_until_a_later_month_complies() -> None:
    """It is told once, though it is judged again when it ends."""
    judge, clock = monthly()
    end_s = MONTH_S + 31 * 86_400
    words = steady(5, 0, 36_000, 3600) + steady(7, 36_000, end_s, 3600)
    found = play(judge, clock, words, end_s)
    assert [(f.event.value, f.at) for f in found] == [
        ("raised", clock.at(447 * 60)),
        ("cleared", clock.at(end_s)),
    ]


def test_a_month_that_was_not_seen_from_its_start_is_never_compliant() -> None:
    """Nobody knows what it used before."""
    clock = Clock(NOV_1_S)
    judge = MonthlyExcursionRule(law(), SLOW_PH, {}, clock.at(5 * 86_400 + 3600), ZONE)
    (finding,) = play(judge, clock, steady(7, 5 * 86_400 + 3600, MONTH_S, 3600), MONTH_S)
    assert finding.reason == "provisional: the record begins 5 days into the month"


def test_a_restart_keeps_what_was_used() -> None:
    """The rule keeps its own ledger."""
    judge, clock = monthly(PH)
    words = steady(5, 0, 300 * 60)
    play(judge, clock, words[:200])
    state = json.loads(json.dumps(judge.state()))
    again = MonthlyExcursionRule(law(), PH, {}, clock.at(14_000), ZONE)
    again.restore(state, Resume(clock.at(14_000), 0))
    play(again, clock, words[200:] + steady(7, 300 * 60, 310 * 60))
    assert again.used_min == 300.0


def single(**changes: Any) -> tuple[SingleExcursionRule, Clock]:
    """One excursion of more than 60 minutes."""
    clock = Clock(NOV_1_S)
    return SingleExcursionRule(law("excursion", 60.0, **changes), PH, {}, clock.at(0)), clock


@pytest.mark.parametrize(
    ("comparison", "span_s", "raised"),
    [
        pytest.param(">", 3600, False, id="exactly 60 min is not longer than 60 min"),
        pytest.param(">", 3660, True, id="61 min is"),
        pytest.param(">=", 3600, True, id="a pack may say 60 min or longer"),
    ],
)
def test_one_excursion(comparison: str, span_s: int, raised: bool) -> None:
    """From the first to the last sample outside, as the stamps say."""
    judge, clock = single(comparison=comparison)
    found = play(judge, clock, steady(5.5, 0, span_s + 60) + steady(7, span_s + 60, span_s + 180))
    assert [f.event.value for f in found] == (["raised", "cleared"] if raised else [])
    for finding in found:
        assert (finding.observed, finding.limit, finding.unit) == (span_s / 60, 60.0, "min")
        assert finding.context == {"window": "excursion", "inside": [6.0, 9.0], "furthest": 5.5}
    spent = judge.seconds.report(clock.at(span_s + 180).mono_us)
    assert sum(spent.values()) == (span_s + 180) * 1_000_000


def test_one_sample_inside_ends_an_excursion_and_a_failed_one_does_not() -> None:
    """Two excursions of 40 min are none of 80; the furthest value is of a valid sample."""
    judge, clock = single()
    split = steady(5, 0, 2400) + steady(7, 2400, 2460) + steady(5, 2460, 4860)
    assert play(judge, clock, split) == []
    judge, clock = single()
    holed = [*steady(5, 0, 2400), (2400, "f", Fraction(0)), *steady(5, 2460, 4860)]
    (finding,) = play(judge, clock, holed)
    assert finding.context["furthest"] == 5.0
    assert finding.reason == "outside 6 to 9 for longer than 60 min"
    assert judge.condition().finding == finding


def test_an_excursion_under_way_survives_a_restart() -> None:
    """Within the hold it goes on."""
    judge, clock = single()
    play(judge, clock, steady(5, 0, 3000))
    state = json.loads(json.dumps(judge.state()))
    again = SingleExcursionRule(law("excursion", 60.0), PH, {}, clock.at(3000))
    again.restore(state, Resume(clock.at(3000), 0))
    (finding,) = play(again, clock, steady(5, 3000, 3900))
    assert (finding.event.value, finding.since) == ("raised", clock.at(0))


def test_the_window_says_which_rule_it_is() -> None:
    """And another window, or no range, is refused."""
    at = Clock(NOV_1_S).at(0)
    assert isinstance(excursion_rule(law("month"), PH, {}, at, ZONE), MonthlyExcursionRule)
    assert isinstance(excursion_rule(law("excursion", 60.0), PH, {}, at, ZONE), SingleExcursionRule)
    with pytest.raises(ValueError, match="known are month, excursion"):
        excursion_rule(law("day"), PH, {}, at, ZONE)
    with pytest.raises(ValueError, match="needs the range"):
        excursion_rule(law("month", inside=None), PH, {}, at, ZONE)
