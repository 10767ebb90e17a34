"""The slug rule with every kind of threshold, against brute force over the whole series."""

import random
from dataclasses import replace

import pytest

from gateway.model import Finding, Mode, Quality, Reading
from tests.oracles.slug import MISSING, SERVICE, Event, Law, Sample, judge
from tests.support.baseline_site import FollowingRule, moment, signed
from tests.support.bench_site import S, channel, judge_all, judge_of, slug

POLL_S = 1200
KINDS = [  # mode, frozen, how many of the thousand
    ("fixed", True, 250), ("declared", True, 250), ("operating", True, 125), ("operating", False, 125),
    ("literal-24h", True, 125), ("literal-24h", False, 125),
]  # fmt: skip


def series(rng: random.Random) -> list[Sample]:
    """A day and a third of a discharger: idle, normal, and now and then far too much; with gaps, jitter and service."""
    samples: list[Sample] = []
    now, level = 0, 4.0
    while now < 32 * 3600:
        if rng.random() < 0.2:
            usual = [0.0, 2.0, 3.0, 4.0, 5.0]
            level = rng.choice(usual if now < 13 * 3600 else [*usual, 15.0, 22.0, 40.0, 60.0])
        kind = rng.random()
        value = level + rng.choice([0.0, 0.0, 0.5, 1.0, 1.5])
        samples.append((now, MISSING if kind < 0.04 else SERVICE if kind < 0.05 else value))
        now += POLL_S + rng.choice([0, 0, 0, 0, 0, 7, -13, 600])
        if rng.random() < 0.01:
            now += rng.choice([2400, 5000, 9000])
    return samples


def law_of(rng: random.Random, mode: str, *, frozen: bool) -> Law:
    """One reading of the law."""
    return Law(
        mode,
        number=20.0 if mode == "fixed" else 4.0,
        factor=3.0 if mode == "operating" else 5.0,
        frozen=frozen,
        floor=None if mode == "fixed" else rng.choice([None, 1.0, 5.0]),
        strict=rng.random() < 0.5,
        wet_at=rng.choice([0.0, 2.0]),
    )


def reading_of(sample: Sample) -> Reading:
    """The reading of a sample; a technician's carries a value nobody must use."""
    at, value = moment(sample[0] * S), sample[1]
    if value == MISSING:
        return Reading("flow", at, (), None, Quality.MISSING, ("no sample",))
    if value == SERVICE:
        return Reading("flow", at, (), 99.0, Quality.GOOD, (), Mode.MAINTENANCE)
    assert isinstance(value, float)
    return Reading("flow", at, (), value, Quality.GOOD)


def judged_by_product(law: Law, readings: list[Reading]) -> list[Finding]:
    """The product's findings under the same law; a threshold that never moves needs no ledger behind it."""
    spec = channel(poll_s=POLL_S, hold_s=law.hold_s)
    facts = {
        "duration_us": law.least_s * S, "strict_duration": law.strict, "prealarms_us": (),
        "bridge_gap_us": law.bridge_gap_s * S, "bridge_dip_us": law.bridge_dip_s * S,
    }  # fmt: skip
    if law.mode == "fixed":
        return judge_all(judge_of(slug(factor=None, baseline=None, limit=law.number, **facts), spec), readings)
    chosen = signed(law.mode, law.number, frozen=law.frozen, floor=law.floor, min_days=law.min_days)
    rule = slug(factor=law.factor, **facts)
    if law.mode == "declared":
        return judge_all(judge_of(replace(rule, baseline=chosen), spec), readings)
    return FollowingRule(spec, rule, chosen, wet_at=law.wet_at).take_all(readings)


def told(findings: list[Finding]) -> list[Event]:
    """The findings in the oracle's words."""
    names = ("raised", "cleared", "interrupted", "suspected")
    return [
        (f.event.value, f.since.mono_us // S, f.at.mono_us // S, f.duration_us // S)
        for f in findings
        if f.event.value in names
    ]


@pytest.mark.parametrize(("mode", "frozen", "count"), KINDS)
def test_a_thousand_series_agree_with_brute_force(mode: str, frozen: bool, count: int) -> None:
    """Raised, cleared, interrupted and suspected, each at its moment, whatever the threshold hangs on."""
    events = 0
    for seed in range(count):
        rng = random.Random(f"{mode}-{frozen}-{seed}")
        law = law_of(rng, mode, frozen=frozen)
        samples = series(rng)
        found = told(judged_by_product(law, [reading_of(sample) for sample in samples]))
        expected = judge(samples, law).events
        assert found == expected, (seed, law)
        events += len(expected)
    assert events > count // 2  # the series are worth the comparison
