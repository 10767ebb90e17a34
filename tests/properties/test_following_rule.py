"""What must hold of the slug rule whatever its threshold hangs on: restarts, missing data, more exceeding data."""

import random

import pytest

from gateway.model import Finding, FindingEvent, Quality, Reading, Verdict
from gateway.rules.run import ExceedanceRule
from tests.support.baseline_site import FollowingRule, moment
from tests.support.bench_site import S, judge_all
from tests.support.discharge_series import law_of, reading_of, rule_under, series

KEPT = (FindingEvent.RAISED, FindingEvent.CLEARED, FindingEvent.INTERRUPTED, FindingEvent.SUSPECTED)
FOLLOWED = [("operating", True), ("operating", False), ("literal-24h", True), ("literal-24h", False)]


def kept(findings: list[Finding]) -> list[Finding]:
    """Everything but that nobody can tell, which a restart says again."""
    return [finding for finding in findings if finding.event in KEPT]


def following(rng: random.Random, mode: str, *, frozen: bool) -> FollowingRule:
    """A rule that follows its baselines."""
    rule = rule_under(law_of(rng, mode, frozen=frozen))
    assert isinstance(rule, FollowingRule)
    return rule


@pytest.mark.parametrize(("mode", "frozen"), FOLLOWED)
def test_a_restart_anywhere_changes_nothing(mode: str, frozen: bool) -> None:
    """Stored after any reading and brought back at once: every later finding is the same to the last number."""
    restarted = 0
    for seed in range(8):
        readings = [reading_of(sample) for sample in series(random.Random(seed))]
        whole = kept(following(random.Random(seed), mode, frozen=frozen).take_all(readings))
        for cut in random.Random(-seed).sample(range(len(readings) * 6 // 10, len(readings)), 2):
            rule = following(random.Random(seed), mode, frozen=frozen)
            found = kept(rule.take_all(readings[:cut]))
            restarted += rule.judge.active
            other = rule.restarted(readings[cut - 1].at)
            found += kept([finding for reading in readings[cut:] for finding in other.take(reading)])
            assert found == whole, (seed, cut)
    assert restarted > 0  # some of them in the middle of an event


@pytest.mark.parametrize(("mode", "frozen"), [("fixed", True), *FOLLOWED])
def test_missing_and_failed_samples_make_and_clear_nothing(mode: str, frozen: bool) -> None:
    """Failed, missing and sentinel samples strewn between the others change no event."""
    for seed in range(12):
        rng = random.Random(seed)
        readings = [reading_of(sample) for sample in series(rng)]
        taken = {reading.at.mono_us for reading in readings}
        strewn = list(readings)
        for _ in range(60):
            at = moment(rng.randrange(readings[-1].at.mono_us))
            if at.mono_us not in taken:
                taken.add(at.mono_us)
                quality, value = rng.choice([(Quality.MISSING, None), (Quality.FAIL, 500.0), (Quality.FAIL, 0.0)])
                strewn.append(Reading("flow", at, (), value, quality, ("fail_span",)))
        strewn.sort(key=lambda reading: reading.at.mono_us)
        events = [
            [(f.event, f.since, f.at, f.duration_us, f.limit) for f in kept(_judged(seed, mode, frozen, one))]
            for one in (readings, strewn)
        ]
        assert events[0] == events[1], seed


def _judged(seed: int, mode: str, frozen: bool, readings: list[Reading]) -> list[Finding]:
    rule = rule_under(law_of(random.Random(seed), mode, frozen=frozen))
    return judge_all(rule, readings) if isinstance(rule, ExceedanceRule) else rule.take_all(readings)


def spans(findings: list[Finding]) -> list[tuple[int, int]]:
    """First and last exceeding sample of every proven run that ended."""
    return [
        (f.since.mono_us, f.since.mono_us + f.duration_us)
        for f in findings
        if (f.event is FindingEvent.CLEARED and f.duration_us) or f.verdict is Verdict.EXCEEDED
    ]


def test_more_exceeding_samples_never_shorten_an_exceedance() -> None:
    """Whatever exceeding samples are added, each proven run lies inside a proven run as before, or a longer one."""
    for seed in range(200):
        rng = random.Random(seed)
        law = law_of(rng, "declared", frozen=True)
        readings = [reading_of(sample) for sample in series(rng)]
        taken = {reading.at.mono_us for reading in readings}
        more = list(readings)
        for _ in range(rng.randrange(1, 40)):
            at = moment(rng.randrange(readings[-1].at.mono_us // S) * S)
            if at.mono_us not in taken:
                taken.add(at.mono_us)
                more.append(Reading("flow", at, (), 90.0, Quality.GOOD))
        more.sort(key=lambda reading: reading.at.mono_us)
        end = readings[-1].at.mono_us + 2 * law.hold_s * S
        runs = []
        for one in (readings, more):
            rule = rule_under(law)
            assert isinstance(rule, ExceedanceRule)
            findings = [*judge_all(rule, one), *rule.tick(moment(end))]
            runs.append(spans(findings))
            assert sum(rule.seconds.report(end).values()) == end
        for begin, last in runs[0]:
            assert any(b <= begin and last <= e for b, e in runs[1]), seed
