"""Whose limit rules: ordinance, permit, agreement or waiver, and what a change of it does to a run under way."""

import pytest

from gateway.model import FindingEvent, Instant, Reading, Resume, Severity, Verdict
from gateway.rules.run import Stance
from gateway.rules.terms import Terms
from gateway.site import Rule, Term
from tests.support.bench_site import START, S, at, channel, judge_all, judge_of, limit, reading, slug, told

DAY_1, DAY_2 = START.utc_us, START.utc_us + 86_400 * S


def term(
    kind: str, value: float | None, reference: str = "7", *, begin_s: float = 0, end_s: float | None = None
) -> Term:
    """A term that begins and ends so many seconds after the start."""
    until_utc_us = None if end_s is None else START.utc_us + int(end_s * S)
    return Term(kind, START.utc_us + int(begin_s * S), until_utc_us, value, reference, "S")


ABOVE = {"comparison": ">", "limit": 9.5, "id": "lv-ph-high"}
BELOW = {"comparison": "<", "limit": 5.5}


@pytest.mark.parametrize(
    ("sentence", "facts", "terms", "ordinance", "expected"),
    [
        ("Nothing agreed: the ordinance.", ABOVE, (), 9.5, (9.5, "ordinance")),
        ("A waiver replaces the limit.", ABOVE, (term("waiver", 10.5),), 9.5, (10.5, "waiver: 7")),
        ("An agreement may be stricter, too.", ABOVE, (term("agreement", 9.0),), 9.5, (9.0, "agreement: 7")),
        ("A stricter permit rules.", ABOVE, (term("permit", 9.0),), 9.5, (9.0, "permit: 7")),
        ("A looser permit is only paper.", ABOVE, (term("permit", 10.0),), 9.5, (9.5, "ordinance")),
        ("Below a floor, stricter is higher.", BELOW, (term("permit", 6.0),), 5.5, (6.0, "permit: 7")),
        ("Below a floor, looser is lower.", BELOW, (term("permit", 5.0),), 5.5, (5.5, "ordinance")),
        (
            "Of two permits the stricter.",
            ABOVE,
            (term("permit", 9.2, "a"), term("permit", 9.0, "b")),
            9.5,
            (9.0, "permit: b"),
        ),
        (
            "A waiver replaces what it names, whatever a permit says.",
            ABOVE,
            (term("permit", 9.0), term("waiver", 10.5, "8")),
            9.5,
            (10.5, "waiver: 8"),
        ),
        (
            "Of two waivers the one that began last.",
            ABOVE,
            (term("waiver", 10.0, "new", begin_s=-10), term("waiver", 10.5, "old", begin_s=-20)),
            9.5,
            (10.0, "waiver: new"),
        ),
        ("A waiver without a limit suspends.", ABOVE, (term("waiver", None),), 9.5, (9.5, "waiver: 7")),
        (
            "Suspended, the strictest limit is still what is recorded.",
            ABOVE,
            (term("waiver", None), term("permit", 9.0)),
            9.5,
            (9.0, "waiver: 7"),
        ),
        ("One that is over.", ABOVE, (term("waiver", 10.5, begin_s=-20, end_s=0),), 9.5, (9.5, "ordinance")),
        ("One that has not begun.", ABOVE, (term("waiver", 10.5, begin_s=0.000001),), 9.5, (9.5, "ordinance")),
        (
            "A federal limit is never relaxed.",
            ABOVE | {"jurisdiction": "federal"},
            (term("waiver", 10.5), term("agreement", None)),
            9.5,
            (9.5, "ordinance"),
        ),
        (
            "A permit may be stricter than a federal limit.",
            ABOVE | {"jurisdiction": "federal"},
            (term("permit", 9.0), term("waiver", 10.5)),
            9.5,
            (9.0, "permit: 7"),
        ),
        ("Without a baseline a waiver still has its limit.", ABOVE, (term("waiver", 10.5),), None, (10.5, "waiver: 7")),
        ("Without a baseline a permit does not stand in.", ABOVE, (term("permit", 9.0),), None, (None, "ordinance")),
    ],
)
def test_whose_limit_rules(
    sentence: str, facts: dict, terms: tuple, ordinance: float | None, expected: tuple[float | None, str]
) -> None:
    """Each row is one sentence about who may replace whose limit."""
    rule = limit(terms=terms, **facts)
    assert Terms(rule).ruling(START.utc_us).limit(ordinance) == expected, sentence


def series(value: float, until_s: float, start_s: float = 0) -> list[Reading]:
    """One value every 15 s."""
    return [reading("ph", start_s + 15 * n, value) for n in range(round((until_s - start_s) / 15) + 1)]


def ph_rule(*terms: Term, **facts: object) -> Rule:
    """High pH above 9.5 with terms."""
    return limit(terms=terms, **(ABOVE | facts))


PH = channel("ph", quantity="pH", unit="pH")


def test_every_finding_names_the_source_that_ruled() -> None:
    """Under a waiver to 10.5, pH 10.6 exceeds the waiver, and the record has what the ordinance says."""
    judge = judge_of(ph_rule(term("waiver", 10.5, "W-3")), PH)
    assert judge_all(judge, series(10.4, 60)) == []
    (raised,) = judge_all(judge, series(10.6, 105, 75))
    assert (raised.source, raised.limit, raised.context["ordinance_limit"]) == ("waiver: W-3", 10.5, 9.5)
    assert judge.condition().severity is Severity.HIGH


def test_a_suspended_rule_is_judged_and_recorded_and_calls_nobody() -> None:
    """With no limit in the waiver everything stays but the loudness."""
    judge = judge_of(ph_rule(term("agreement", None, "A-1")), PH)
    (raised,) = judge_all(judge, series(10.6, 30))
    assert (raised.event, raised.verdict, raised.limit) == (FindingEvent.RAISED, Verdict.EXCEEDED, 9.5)
    assert (raised.source, raised.context["suspended"]) == ("agreement: A-1", True)
    condition = judge.condition()
    assert (condition.active, condition.severity) == (True, Severity.NOTICE)
    assert judge.seconds.report(at(30).mono_us)[Verdict.EXCEEDED] == 30 * S


def test_a_waiver_that_begins_ends_the_run_under_the_old_limit() -> None:
    """pH 10.0 from the start; at 100 s a waiver to 10.5 begins: cleared at that moment, and why."""
    judge = judge_of(ph_rule(term("waiver", 10.5, "W-3", begin_s=100)), PH)
    findings = judge_all(judge, series(10.0, 300))
    assert told(findings) == [("raised", 0, 30, 30), ("cleared", 0, 100, 90)]
    assert findings[1].reason == "limit changed by waiver: W-3"
    assert (findings[1].source, findings[1].limit, findings[1].verdict) == ("ordinance", 9.5, Verdict.NOT_EVALUABLE)
    assert findings[1].at.utc_us == START.utc_us + 100 * S
    assert judge.stance is Stance.WITHIN


def test_a_waiver_that_ends_starts_a_new_run_under_the_ordinance() -> None:
    """pH 11 throughout: a run under the waiver up to its end, then one that proves itself anew."""
    judge = judge_of(ph_rule(term("waiver", 10.5, "W-3", end_s=100)), PH)
    findings = judge_all(judge, series(11.0, 300))
    assert told(findings) == [("raised", 0, 30, 30), ("cleared", 0, 100, 90), ("raised", 105, 135, 30)]
    assert [f.source for f in findings] == ["waiver: W-3", "waiver: W-3", "ordinance"]
    assert findings[1].reason == "limit changed by the end of waiver: W-3"
    spent = judge.seconds.report(at(300).mono_us)
    assert sum(spent.values()) == 300 * S
    assert spent[Verdict.NOT_EVALUABLE] == 5 * S  # from the change to the next sample


def test_between_the_change_and_the_next_sample_nobody_can_tell() -> None:
    """The change discovered by time alone neither raises nor clears."""
    judge = judge_of(ph_rule(term("waiver", 10.5, begin_s=40)), PH)
    judge_all(judge, series(10.0, 30))
    assert judge.deadline_us == 40 * S
    (cleared,) = judge.tick(at(41))
    assert cleared.event is FindingEvent.CLEARED
    assert judge.condition().active is None


def test_a_term_that_changes_nothing_interrupts_nothing() -> None:
    """A permit looser than the ordinance comes into force in the middle of a run."""
    judge = judge_of(ph_rule(term("permit", 10.0, begin_s=40)), PH)
    assert told(judge_all(judge, series(10.5, 90))) == [("raised", 0, 30, 30)]
    assert judge.open_since() is not None


def test_a_clock_set_back_over_the_start_of_a_waiver() -> None:
    """The clock goes back before the waiver: the ordinance rules again, from that sample on."""
    judge = judge_of(ph_rule(term("waiver", 10.5, begin_s=20)), PH)
    findings = judge_all(judge, series(10.0, 60))
    for n in range(5, 9):
        stamp = Instant(at(15 * n).utc_us - 3600 * S, at(15 * n).mono_us, True)
        findings += judge.judge(Reading("ph", stamp, (), 10.0, reading("ph", 0, 7.0).quality), 0, discharging=True)
    assert told(findings) == [("raised", 75, 105, 30)]


def test_a_clock_set_forward_over_the_end_of_a_waiver() -> None:
    """The end lies before samples already judged: the run is closed right after the last of them."""
    judge = judge_of(ph_rule(term("waiver", 10.5, end_s=1800)), PH)
    findings = judge_all(judge, series(11.0, 60))
    stamp = Instant(at(75).utc_us + 3600 * S, at(75).mono_us, True)
    findings += judge.judge(Reading("ph", stamp, (), 11.0, reading("ph", 0, 7.0).quality), 0, discharging=True)
    assert told(findings) == [("raised", 0, 30, 30), ("cleared", 0, 60, 60)]


@pytest.mark.parametrize("cut", range(1, 12))
def test_a_restart_anywhere_around_a_change(cut: int) -> None:
    """Stored after any sample and brought back, the same findings follow, the change at its moment."""
    rule, readings = ph_rule(term("waiver", 10.5, "W-3", end_s=100)), series(11.0, 300)
    whole = judge_all(judge_of(rule, PH), readings)
    first = judge_of(rule, PH)
    found = judge_all(first, readings[:cut])
    second = judge_of(rule, PH)
    second.restore(first.state() or {}, Resume(readings[cut - 1].at, 0))
    found += judge_all(second, readings[cut:])
    assert found == whole


def test_a_waiver_written_while_the_gateway_was_down_is_a_changed_threshold() -> None:
    """The run of before is interrupted and nobody pretends that it went on under the same limit."""
    first = judge_of(ph_rule(), PH)
    judge_all(first, series(11.0, 60))
    second = judge_of(ph_rule(term("waiver", 10.5, begin_s=-60)), PH)
    (lost,) = second.restore(first.state() or {}, Resume(at(75), 0))
    assert lost.event is FindingEvent.INTERRUPTED
    assert "threshold changed" in lost.reason
    (raised,) = judge_all(second, series(11.0, 120, 75))
    assert (raised.source, raised.since) == ("waiver: 7", at(75))


def test_an_untrusted_clock_is_named_where_terms_hang_on_it() -> None:
    """A dated limit judged by a clock nobody vouches for says so in its record."""
    judge = judge_of(ph_rule(term("waiver", 10.5)), PH)
    stamps = [Instant(at(15 * n).utc_us, at(15 * n).mono_us, False) for n in range(3)]
    (raised,) = judge_all(judge, [Reading("ph", s, (), 11.0, reading("ph", 0, 7.0).quality) for s in stamps])
    assert raised.context["clock"] == "untrusted"


def test_a_permit_in_the_rules_unit_against_a_multiple_of_the_baseline() -> None:
    """5 x 10 gpm by the ordinance, 40 gpm by the permit: the permit rules, and no baseline is named for it."""
    rule = slug(terms=(term("permit", 40.0, "P-9"),), prealarms_us=())
    (raised,) = judge_all(judge_of(rule, channel()), [reading("flow", 15 * n, 45.0) for n in range(62)])
    assert (raised.limit, raised.source, raised.baseline) == (40.0, "permit: P-9", None)
    assert raised.context["ordinance_limit"] == 50.0
