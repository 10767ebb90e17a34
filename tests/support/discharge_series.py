"""Random series of a discharger, and the same law for the product and for brute force."""

import random
from dataclasses import replace

from gateway.model import Mode, Quality, Reading
from gateway.rules.run import ExceedanceRule
from tests.oracles.slug import MISSING, SERVICE, Law, Sample
from tests.support.baseline_site import FollowingRule, moment, signed
from tests.support.bench_site import S, channel, judge_of, slug

POLL_S = 1200


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


def rule_under(law: Law) -> FollowingRule | ExceedanceRule:
    """The product's rule under the same law; a threshold that never moves needs no ledger behind it."""
    spec = channel(poll_s=min(POLL_S, 60), hold_s=law.hold_s)  # the oracle cuts its windows at full minutes
    facts = {
        "duration_us": law.least_s * S, "strict_duration": law.strict, "prealarms_us": (),
        "bridge_gap_us": law.bridge_gap_s * S, "bridge_dip_us": law.bridge_dip_s * S,
    }  # fmt: skip
    if law.mode == "fixed":
        return judge_of(slug(factor=None, baseline=None, limit=law.number, **facts), spec)
    chosen = signed(law.mode, law.number, frozen=law.frozen, floor=law.floor, min_days=law.min_days)
    rule = slug(factor=law.factor, **facts)
    if law.mode == "declared":
        return judge_of(replace(rule, baseline=chosen), spec)
    return FollowingRule(spec, rule, chosen, wet_at=law.wet_at)
