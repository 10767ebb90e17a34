"""A rule is quiet only where nobody need ask it: the pipeline passes over a quiet rule at every sample."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model import Quality
from gateway.signals.qc import evidence
from tests.support.bench_site import channel, judge_of, reading, slug

RULE = slug(bridge_dip_us=0)

STEP = st.tuples(
    st.sampled_from([15, 30, 60, 400]), st.sampled_from([10.0, 10.0, 60.0, None, "doubtful", "dry", "too much"])
)


def told(rule: object, second: int, word: float | str | None) -> None:
    """One reading of that kind."""
    more: dict[str, object] = {}
    if word == "doubtful":
        word, more = 60.0, {"quality": Quality.SUSPECT, "tests": ("suspect_span",)}
    elif word == "dry":
        word, more = 10.0, {"dry": True}
    elif word == "too much":
        word, more = 10.0, {"quality": Quality.SUSPECT, "tests": ("suspect_span",)}
    one = reading("flow", second, word, **more)
    rule.judge(one, evidence(one), discharging=True)


@pytest.mark.parametrize(
    ("sentence", "words", "quiet"),
    [
        ("The first value: until then nobody could tell.", [10.0], False),
        ("The second: as before.", [10.0, 10.0], True),
        ("A value that exceeds.", [10.0, 10.0, 60.0], False),
        ("The first value after that: the run is over.", [10.0, 10.0, 60.0, 10.0], False),
        ("The second after that.", [10.0, 10.0, 60.0, 10.0, 10.0], True),
        ("The first after a dry one.", [10.0, 10.0, "dry", 10.0], False),
        ("After one missing sample, within the hold, it still stands as it did.", [10.0, 10.0, None, 10.0], True),
        ("The first after a silence longer than the hold.", [10.0, 10.0, None, None, None, 10.0], False),
    ],
)
def test_when_a_rule_is_quiet(sentence: str, words: list[float | str | None], quiet: bool) -> None:
    """One reading every 15 s, a hold of 37.5 s: quiet is the second value within, and each one after it."""
    rule = judge_of(RULE, channel())
    for number, word in enumerate(words):
        told(rule, 15 * number, word)
    assert rule.quiet is quiet, sentence


@given(st.lists(STEP, max_size=60))
def test_a_quiet_rule_has_nothing_new_to_say(steps: list[tuple[int, float | str | None]]) -> None:
    """Whenever it is quiet, nothing is under way and its stance is that of the reading before."""
    rule, second, before = judge_of(RULE, channel()), 0, None
    for step_s, word in steps:
        second += step_s
        told(rule, second, word)
        if rule.quiet:
            assert not rule.active
            assert rule.stance is before
        before = rule.stance
