"""A damped probe: what it shows beyond a limit is proof, what it shows within is none."""

import pytest

from gateway.model import FindingEvent, Quality
from gateway.signals.qc import Evidence, evidence, evidence_beyond
from tests.support.bench_site import channel, judge_of, limit, reading

DAMPED = {"quality": Quality.SUSPECT, "tests": ("attenuated",)}


def judged(*story: tuple[float, float, bool]) -> list[tuple[FindingEvent, float]]:
    """The findings of low pH over (second, value, damped), each with its second."""
    rule = judge_of(limit(), channel("ph"))
    found = []
    for second, value, damped in story:
        one = reading("ph", second, value, **(DAMPED if damped else {}))
        found += rule.judge(one, evidence(one), discharging=True)
    return [(finding.event, finding.at.mono_us / 1e6) for finding in found]


def test_three_damped_samples_beyond_the_limit_prove_it() -> None:
    """pH 4.9 three times through a coat of grease is an exceedance, with its own severity, not a suspicion."""
    assert judged((0, 4.9, True), (15, 4.9, True), (30, 4.9, True)) == [(FindingEvent.RAISED, 30)]


def test_a_damped_sample_within_the_limit_ends_nothing_and_a_sound_one_does() -> None:
    """What a coated probe shows at 7.0 clears no run; the first sound sample does."""
    proven = [(second, 4.9, False) for second in (0, 15, 30)]
    assert judged(*proven, (45, 7.0, True)) == [(FindingEvent.RAISED, 30)]
    assert judged(*proven, (45, 7.0, True), (60, 7.0, False)) == [
        (FindingEvent.RAISED, 30), (FindingEvent.CLEARED, 60),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("quality", "tests", "weight"),
    [
        (Quality.SUSPECT, ("attenuated",), Evidence.VALID),
        (Quality.SUSPECT, ("attenuated", "rate"), Evidence.VALID),
        (Quality.SUSPECT, ("attenuated", "suspect_span"), Evidence.DOUBTFUL),
        (Quality.SUSPECT, ("after_maintenance",), Evidence.DOUBTFUL),
        (Quality.FAIL, ("attenuated", "held"), Evidence.VOID),
    ],
)
def test_only_damping_alone_is_lifted(quality: Quality, tests: tuple[str, ...], weight: int) -> None:
    """Another doubt beside it stays a doubt."""
    one = reading("ph", 0, 4.9, quality=quality, tests=tests)
    assert evidence_beyond(one, evidence(one)) == weight
