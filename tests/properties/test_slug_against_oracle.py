"""The slug rule with every kind of threshold, against brute force over the whole series."""

import random

import pytest

from gateway.model import Finding
from gateway.rules.run import ExceedanceRule
from tests.oracles.slug import Event, judge
from tests.support.bench_site import S, judge_all
from tests.support.discharge_series import law_of, reading_of, rule_under, series

KINDS = [  # mode, frozen, how many of the thousand
    ("fixed", True, 300), ("declared", True, 300), ("operating", True, 100), ("operating", False, 100),
    ("literal-24h", True, 100), ("literal-24h", False, 100),
]  # fmt: skip


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
        judged, rule = [reading_of(sample) for sample in samples], rule_under(law)
        found = told(judge_all(rule, judged) if isinstance(rule, ExceedanceRule) else rule.take_all(judged))
        expected = judge(samples, law).events
        assert found == expected, (seed, law)
        events += len(expected)
    assert events > count // 2  # the series are worth the comparison
