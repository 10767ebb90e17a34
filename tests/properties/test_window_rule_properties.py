"""What no split, restart or failure may do to rules over windows: stories of 24 minutes in which a month ends."""

import json
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.model import Finding, Resume
from gateway.rules.average import AverageRule
from gateway.rules.excursion import MonthlyExcursionRule
from gateway.rules.volume import VolumeRule
from gateway.rules.window_rule import WindowRule
from gateway.site import Span
from tests.support.ledger_feed import ZONE, Clock, Feed, Word, rule

HOLD_S = 100
UNTIL_S = 1_440
STORY = Clock(1_796_101_200 - 420)  # 1 December 2026 in New York begins in the seventh minute
TENTHS = st.integers(0, 40).map(lambda tenths: Fraction(tenths * 10, 10))


def series(kinds: str) -> st.SearchStrategy[list[Word]]:
    """Words of these kinds, 7 to 160 s apart."""
    step = st.tuples(st.sampled_from([7, 40, 40, 60, 99, 100, 101, 160]), st.sampled_from(kinds), TENTHS)

    def words(steps: list[tuple[int, str, Fraction]]) -> list[Word]:
        second, found = 0, []
        for gap, kind, value in steps:
            second += gap
            found.append((second, kind, value))
        return [word for word in found if word[0] < UNTIL_S]

    return st.lists(step, max_size=30).map(words)


CHANNEL, FLOW = series("vvvvvvmfdyM"), series("vvvvvvnmfdM")


def average(feed: Feed) -> WindowRule:
    """More than 20 mg/L, judged from the little that was seen."""
    return AverageRule(rule(limit=20.0, coverage=2**-9), feed.spec, {}, feed.start, feed.ledger, ZONE)


def volume(feed: Feed) -> WindowRule:
    """More than 60 gal a day."""
    assert feed.flow_days is not None
    law = rule("volume", channel="flow", unit="gal", limit=60.0, coverage=2**-9)
    return VolumeRule(law, feed.flow_spec, {}, feed.start, feed.flow_days, ZONE)


def excursion(feed: Feed) -> WindowRule:
    """More than two minutes outside 0 to 20."""
    law = rule("excursion", window="month", unit="min", limit=2.0, inside=Span(0.0, 20.0))
    return MonthlyExcursionRule(law, feed.spec, {}, feed.start, ZONE)


RULES = st.sampled_from([average, volume, excursion])
Make = Callable[[Feed], WindowRule]


def started(make: Make) -> tuple[Feed, WindowRule]:
    """A feed and its rule from second zero."""
    feed = Feed(clock=STORY, hold_s=HOLD_S)
    judge = make(feed)
    feed.judges.append(judge)
    return feed, judge


def before(words: Sequence[Word], second: int) -> list[Word]:
    """What came earlier."""
    return [word for word in words if word[0] < second]


def since(words: Sequence[Word], second: int) -> list[Word]:
    """What came from then on."""
    return [word for word in words if word[0] >= second]


@given(RULES, CHANNEL, FLOW, st.lists(st.integers(0, UNTIL_S), max_size=20))
def test_looking_more_often_changes_nothing(make: Make, words: list[Word], flow: list[Word], looks: list[int]) -> None:
    """The same findings in the same order with the same stamps, and the same seconds."""
    feed, judge = started(make)
    whole = feed.play(words, flow, until_s=UNTIL_S)
    other, again = started(make)
    found: list[Finding] = []
    done = 0
    for look in [*sorted(looks), UNTIL_S]:
        part = since(before(words, look), done), since(before(flow, look), done)
        found += other.play(*part, until_s=look)
        done = look
    assert found == whole
    end_us = feed.clock.at(UNTIL_S).mono_us
    assert again.seconds.report(end_us) == judge.seconds.report(end_us)
    assert again.condition() == judge.condition()


@settings(max_examples=200)
@given(RULES, CHANNEL, FLOW, st.integers(0, UNTIL_S), st.integers(0, UNTIL_S))
def test_a_restart_anywhere_changes_nothing(
    make: Make, words: list[Word], flow: list[Word], stored_at: int, stopped_at: int
) -> None:
    """Ledgers from the last full state, the rule from when it last spoke, the readings between fed again.

    What was found while they were fed again is on record already; after that everything is as if nothing had happened.
    """
    stored_at, stopped_at = sorted((stored_at, stopped_at))
    feed, judge = started(make)
    whole = feed.play(words, flow, until_s=UNTIL_S)
    old, first = started(make)
    found = old.play(before(words, stored_at), before(flow, stored_at), until_s=stored_at)
    states, own = old.states(), stored(first)
    between = since(before(words, stopped_at), stored_at), since(before(flow, stopped_at), stored_at)
    for tick in range(stored_at, stopped_at):
        now = [w for w in between[0] if w[0] == tick], [w for w in between[1] if w[0] == tick]
        told = old.play(*now, until_s=tick)
        if told and make is not excursion:  # which keeps its ledger in its own state: stored together, as here at first
            own = stored(first)
        found += told
    new = old.restored(states, STORY, stopped_at, 0)
    again = make(new)
    again.restore(own, Resume(new.start, 0))
    new.judges.append(again)
    new.play(*between, until_s=stopped_at - 1 if stopped_at > stored_at else None)
    again.begin(new.start)
    found += new.play(since(words, stopped_at), since(flow, stopped_at), until_s=UNTIL_S)
    assert [facts(finding) for finding in found] == [facts(finding) for finding in whole]
    assert again.stance is judge.stance
    end_us = new.clock.at(UNTIL_S).mono_us
    assert sum(again.seconds.report(end_us).values()) == (UNTIL_S - stopped_at) * 1_000_000


def stored(judge: WindowRule) -> dict[str, Any]:
    """As the journal keeps it."""
    return json.loads(json.dumps(judge.state()))


def facts(finding: Finding) -> tuple[object, ...]:
    """All of it."""
    return finding.event, finding.since, finding.at, finding.observed, finding.reason, dict(finding.context)


@given(RULES, CHANNEL, FLOW)
def test_missing_and_failed_data_never_make_or_clear_an_exceedance(
    make: Make, words: list[Word], flow: list[Word]
) -> None:
    """Without a single failed, missing or doubtful sample the findings are the same."""
    feed, _ = started(make)
    other, _ = started(make)
    kept = [w for w in words if w[1] not in "mfd"], [w for w in flow if w[1] not in "mfd"]
    assert other.play(*kept, until_s=UNTIL_S) == feed.play(words, flow, until_s=UNTIL_S)


@given(RULES, CHANNEL, FLOW, st.integers(1, UNTIL_S))
def test_losing_data_never_turns_a_window_compliant(make: Make, words: list[Word], flow: list[Word], lost: int) -> None:
    """When all goes silent at some moment, nothing clears that did not clear before it."""
    feed, judge = started(make)
    found = feed.play(before(words, lost), before(flow, lost), until_s=UNTIL_S)
    assert all(f.event != "cleared" for f in found)  # there is but one closing, and it sees seven minutes of a day
    spent = judge.seconds.report(feed.clock.at(UNTIL_S).mono_us)
    assert sum(spent.values()) == UNTIL_S * 1_000_000
    assert all(us >= 0 for us in spent.values())
