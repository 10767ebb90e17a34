"""The clocks that a proven exceedance starts, in UTC from the moment of becoming aware."""

from dataclasses import replace

import pytest

from gateway.model import Finding, FindingEvent, Instant, Verdict
from gateway.rules.notice import NEW_YORK_OVERFLOW, due, run
from gateway.site import Rule, Term
from tests.support.bench_site import at, limit, slug
from tests.support.lab_site import laboratory, now, result, review, rule, toxic

HOUR_US = 3_600_000_000
DAY_US = 24 * HOUR_US


def finding(event: FindingEvent = FindingEvent.RAISED, verdict: Verdict = Verdict.EXCEEDED) -> Finding:
    """An exceedance that began at the start and was proven 1,000 s later."""
    return Finding(event, "r", "c", "flow", verdict, at(0), at(1000), 1000, "", "gpm")


# What it is, the rule, and the hours to each deadline.
CASES = [
    ("an exceeded limit", limit(), {"notify": 24, "resample": 720}),
    ("no rule is given", None, {"notify": 24, "resample": 720}),
    ("a laboratory result", rule(), {"notify": 24, "resample": 720}),
    ("a slug", slug(), {"telephone": 0, "notify": 24, "slug_report": 120, "resample": 720}),
    (
        "a federal prohibition",
        limit(jurisdiction="federal"),
        {"telephone": 0, "notify": 24, "slug_report": 120, "resample": 720},
    ),
    ("a control trigger is a limit", toxic("copper", town="mb"), {"notify": 24, "resample": 720}),
    ("a review trigger", review("bod", 300.0), {}),
]


@pytest.mark.parametrize(("what", "of", "hours"), CASES)
def test_clocks(what: str, of: object, hours: dict[str, int]) -> None:
    """24 hours to notify and 30 days to resample for any exceedance, at once and 5 days more for a slug; in order."""
    aware_us = at(1000).utc_us
    notices = due(finding(), of)
    assert [(n.kind, (n.due_utc_us - aware_us) // HOUR_US) for n in notices] == list(hours.items()), what
    assert all(n.source.startswith("40 CFR 403.12") and n.text for n in notices)


# A finding that proves nothing new.
QUIET = [
    (FindingEvent.SUSPECTED, Verdict.SUSPECTED),
    (FindingEvent.PREALARM, Verdict.SUSPECTED),
    (FindingEvent.CLEARED, Verdict.COMPLIANT),
    (FindingEvent.INTERRUPTED, Verdict.EXCEEDED),
    (FindingEvent.NOT_EVALUABLE, Verdict.NOT_EVALUABLE),
]


@pytest.mark.parametrize("of", [limit(), slug(), rule()], ids=lambda of: of.id)
def test_a_suspended_exceedance_starts_no_clock(of: Rule) -> None:
    """Where a waiver or agreement suspends the rule the finding stays, and nobody owes a notice."""
    assert due(replace(finding(), source="waiver: W-1", context={"suspended": True}), of) == ()


@pytest.mark.parametrize("of", [limit(), slug()], ids=lambda of: of.id)
def test_an_exceedance_of_a_waivers_own_limit_starts_the_clocks(of: Rule) -> None:
    """A waiver that names another limit moves the line; beyond it everything is due as ever."""
    replaced = replace(finding(), source="waiver: W-1", context={"ordinance_limit": 5.5})
    assert [n.kind for n in due(replaced, of)] == [n.kind for n in due(finding(), of)]


def test_a_window_that_exceeded_under_a_waiver_starts_its_clock_when_it_exceeds_without_one() -> None:
    """What was suspended started none; what was not has its clock already."""
    for was, clocks in (({"suspended": True}, True), ({}, False)):
        again = replace(finding(), context={"was": {"verdict": "exceeded", "observed": 1.8, **was}})
        assert bool(due(again, rule())) is clocks


def test_a_suspended_laboratory_result_starts_no_clock() -> None:
    """Copper above its limit while an agreement suspends the rule: found, and no clock."""
    of = rule(terms=(Term("agreement", 0, None, None, "A-1", "Village Board"),))
    (found,) = laboratory(of).add(result(1.7), now())
    assert (found.verdict, due(found, of)) == (Verdict.EXCEEDED, ())


@pytest.mark.parametrize(("event", "verdict"), QUIET)
def test_only_a_proof_starts_a_clock(event: FindingEvent, verdict: Verdict) -> None:
    """A suspicion, a return and an interruption start none."""
    assert due(finding(event, verdict), slug()) == ()


def test_a_late_laboratory_result_starts_its_clock_when_it_is_entered() -> None:
    """The day was exceeded long ago; the 24 hours run from becoming aware, or from a moment that is given."""
    entered = now(100)
    (found,) = laboratory(rule()).add(result(1.7), entered)
    assert due(found, rule())[0].due_utc_us == entered.utc_us + DAY_US
    assert due(found, rule(), aware_utc_us=5)[0].due_utc_us == 5 + DAY_US


def test_a_window_that_exceeded_before_starts_no_second_clock() -> None:
    """Judged again and still exceeded: no new clock. Exceeded only after a correction: one."""
    lab = laboratory(rule())
    lab.add(result(1.7), now())
    assert due(lab.add(result(1.8, version=2), now())[0], rule()) == ()
    lab.add(result(1.0, version=3), now())
    assert len(due(lab.add(result(1.9, version=4), now())[0], rule())) == 2


def test_clocks_run_in_utc() -> None:
    """Thirty days are thirty times 24 h of UTC, whatever the wall clock does in between."""
    before_fall_back = Instant(1_761_900_000_000_000, 0)  # 31 October 2025
    notices = due(replace(finding(), at=before_fall_back), limit())
    assert notices[-1].due_utc_us - before_fall_back.utc_us == 30 * DAY_US


def test_new_york_overflow_clocks_are_data() -> None:
    """Two hours for the agencies, four for the public, five days for the report, from discovery."""
    notices = run(NEW_YORK_OVERFLOW, 0)
    assert [n.due_utc_us // HOUR_US for n in notices] == [2, 4, 120]
