"""Samples between two scheduled polls: they show the shape and may end a run, and never help to prove one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model import Quality, Reading, Sample
from gateway.signals.qc import BETWEEN, Evidence, QualityControl, evidence
from gateway.site import Channel
from tests.support.bench_site import S, at, channel, judge_all, judge_of, limit, reading, slug, told

PH = channel("ph", quantity="pH", unit="pH")
FLOW = channel()
TESTS = {BETWEEN: (BETWEEN,), "": ()}


def series(name: str, rows: list[tuple[float, float, str]]) -> list[Reading]:
    """Readings from second, value, and the word for one in between."""
    return [reading(name, second, value, tests=TESTS[word]) for second, value, word in rows]


@pytest.mark.parametrize(
    ("sentence", "rows", "expected"),
    [
        (
            "Six samples in 25 s are two of the schedule: nothing is proven before the third of those.",
            [
                (0, 3.0, ""),
                *((s, 3.0, BETWEEN) for s in (5, 10)),
                (15, 3.0, ""),
                (20, 3.0, BETWEEN),
                (25, 3.0, BETWEEN),
            ],
            [],
        ),
        (
            "The third of the schedule proves it, as it would have without those in between.",
            [(s, 3.0, "" if s % 15 == 0 else BETWEEN) for s in range(0, 31, 5)],
            [("raised", 0, 30, 30)],
        ),
        (
            "One in between within the limit ends the run; it is suspected when it would have been proven without it.",
            [(0, 3.0, ""), (5, 7.0, BETWEEN), (15, 3.0, ""), (30, 3.0, "")],
            [("suspected", 0, 30, 30)],
        ),
        (
            "After that, three of the schedule prove it.",
            [(0, 3.0, ""), (5, 7.0, BETWEEN), (15, 3.0, ""), (30, 3.0, ""), (45, 3.0, "")],
            [("suspected", 0, 30, 30), ("raised", 15, 45, 30)],
        ),
        (
            "One in between starts nothing: the run begins with the schedule.",
            [(0, 3.0, BETWEEN), (5, 3.0, ""), (20, 3.0, ""), (35, 3.0, "")],
            [("raised", 5, 35, 30)],
        ),
        (
            "What was proven is cleared by one in between within the limit.",
            [(0, 3.0, ""), (15, 3.0, ""), (30, 3.0, ""), (35, 7.0, BETWEEN)],
            [("raised", 0, 30, 30), ("cleared", 0, 35, 30)],
        ),
    ],
)
def test_an_instant_limit(sentence: str, rows: list[tuple[float, float, str]], expected: list) -> None:
    """pH below 5.5 on three consecutive samples of the schedule."""
    assert told(judge_all(judge_of(limit(), PH), series("ph", rows))) == expected, sentence


def test_a_slug_is_no_longer_for_being_looked_at_more_often() -> None:
    """More than 15 min at 15-s polls is 915 s: a sample in between at 905 s proves nothing."""
    rows = [(s, 60.0, "" if s % 15 == 0 else BETWEEN) for s in range(0, 911, 5)]
    rule = judge_of(slug(), FLOW)
    assert [event for event, *_ in told(judge_all(rule, series("flow", rows)))] == ["prealarm", "prealarm"]
    assert told(judge_all(rule, series("flow", [(915, 60.0, "")]))) == [("raised", 0, 915, 915)]


def test_the_extreme_is_seen_whenever_it_comes() -> None:
    """A peak between two scheduled polls is in the finding, and a run whose polls fail meanwhile is not cut off."""
    rows = [(0, 3.0, ""), (5, 2.0, BETWEEN), (30, 3.0, BETWEEN), (60, 3.0, ""), (75, 3.0, "")]
    (raised,) = judge_all(judge_of(limit(), PH), series("ph", rows))
    assert (raised.extreme, raised.observed) == (2.0, 3.0)
    assert raised.since == at(0)


levels = st.lists(st.sampled_from([3.0, 7.0]), min_size=1, max_size=20)


@given(levels, st.sampled_from(["limit", "slug"]))
def test_a_faster_rate_alone_changes_no_finding(values: list[float], kind: str) -> None:
    """Between equal neighbours more samples of the same value are told alike, event by event, to the microsecond."""
    rule = limit() if kind == "limit" else slug(duration_us=45 * S, prealarms_us=(30 * S,), factor=0.5)
    spec = PH if kind == "limit" else FLOW
    name = spec.name
    plain = [(15.0 * n, value, "") for n, value in enumerate(values)]
    fast = []
    for n, value in enumerate(values):
        fast.append((15.0 * n, value, ""))
        fast += [(15.0 * n + s, value, BETWEEN) for s in (5.0, 10.0) if values[n : n + 2] == [value, value]]
    assert told(judge_all(judge_of(rule, spec), series(name, plain))) == told(
        judge_all(judge_of(rule, spec), series(name, fast))
    )


@given(levels, st.lists(st.tuples(st.sampled_from([3.0, 7.0]), st.sampled_from([3.0, 7.0])), min_size=20, max_size=20))
def test_whatever_is_seen_in_between_nothing_goes_untold(values: list[float], seen: list[tuple[float, float]]) -> None:
    """Whenever the schedule alone proves a limit exceeded, with more samples it is at least suspected by then."""
    plain = [(15.0 * n, value, "") for n, value in enumerate(values)]
    fast = []
    for n, value in enumerate(values):
        fast += [(15.0 * n, value, ""), (15.0 * n + 5, seen[n][0], BETWEEN), (15.0 * n + 10, seen[n][1], BETWEEN)]
    proven = judge_all(judge_of(limit(), PH), series("ph", plain))
    found = judge_all(judge_of(limit(), PH), series("ph", fast))
    for finding in proven:
        if finding.event == "raised":
            assert any(
                other.event in ("raised", "suspected")
                and finding.since.mono_us <= other.at.mono_us <= finding.at.mono_us
                for other in found
            )
    beyond = [second for second, value, word in fast if not word and value < 5.5]
    for finding in found:
        if finding.event == "raised":
            steps = [s for s in beyond if finding.since.mono_us <= s * S <= finding.at.mono_us]
            assert len(steps) == 3
            assert all(value < 5.5 for s, value, _ in fast if finding.since.mono_us <= s * S <= finding.at.mono_us)


def assessed(spec: Channel, rows: list[tuple[float, float, bool]]) -> list[Reading]:
    """The readings of samples: second, value, whether in between."""
    control = QualityControl(spec)
    return [control.assess(Sample(spec.name, at(s), (), value, between=between)) for s, value, between in rows]


def test_a_sample_in_between_is_valid_says_so_and_is_nobodys_neighbour() -> None:
    """Spike and rate compare with the samples of the schedule, so looking more often changes no flag of theirs."""
    spec = channel(spike=5.0, rate_per_min=40.0)
    plain = [(0, 10.0, False), (15, 12.0, False), (30, 17.0, False)]
    more = [plain[0], (5, 11.0, True), (10, 11.5, True), plain[1], (20, 14.0, True), (25, 16.0, True), plain[2]]
    seen = assessed(spec, more)
    assert [r for r in seen if BETWEEN not in r.tests] == assessed(spec, plain)
    assert all(evidence(r) == Evidence.VALID for r in seen)
    assert [r.tests for r in seen[1:3]] == [(BETWEEN,), (BETWEEN,)]
    assert {r.quality for r in seen[1:3]} == {Quality.GOOD}
