"""The instant limit against a brute-force oracle over 1,000 random series: pH below, temperature above."""

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.model import Quality
from gateway.rules.limit import LimitRule
from gateway.units import conversion
from tests.oracles.limit import judge
from tests.support.bench_site import START, S, channel, judge_all, limit, reading

HOLD_S = 3
STEPS = st.lists(st.tuples(st.integers(1, 4), st.sampled_from("oooooowwmdd")), max_size=60)
LAWS = {
    "pH below 5.5": (limit(), "ph", {"o": 5.4, "d": 3.0, "w": 5.5}),
    "pH at or below 5.5": (limit(comparison="<="), "ph", {"o": 5.5, "d": 5.5, "w": 5.51}),
    "above 150 degF, measured in degC": (
        limit(comparison=">", limit=150.0, unit="degF", to_unit=conversion("degC", "degF"), channel="temperature"),
        "temperature",
        {"o": 65.6, "d": 70.0, "w": (150 - 32) / 1.8},
    ),
}


@pytest.mark.parametrize("law", LAWS)
@settings(max_examples=1000, deadline=None)
@given(steps=STEPS, confirm=st.integers(1, 4))
def test_the_limit_agrees_with_the_oracle(law: str, steps: list[tuple[int, str]], confirm: int) -> None:
    """Whatever the gaps and doubts: raised, cleared, interrupted and suspected at the same samples."""
    rule, name, numbers = LAWS[law]
    quantity, unit = ("temperature", "degC") if name == "temperature" else ("pH", "pH")
    spec = channel(name, hold_s=HOLD_S, quantity=quantity, unit=unit)
    judge_of_it = LimitRule(replace(rule, confirm=confirm), spec, {}, START)
    series, samples, now_s = [], [], 0
    for step_s, word in steps:
        now_s += step_s
        doubt = {"quality": Quality.SUSPECT, "tests": ("suspect_span",)} if word == "d" else {}
        series.append(reading(name, now_s, numbers.get(word), **doubt))
        samples.append((now_s, word))
    found = [
        (f.event.value, f.since.mono_us // S, f.at.mono_us // S)
        for f in judge_all(judge_of_it, series)
        if f.event.value in ("raised", "cleared", "interrupted", "suspected")
    ]
    assert sorted(found, key=lambda event: (event[2], event[0])) == judge(samples, confirm, HOLD_S)
