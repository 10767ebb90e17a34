"""The proven run against a naive reading of the law, over any series of samples: same events, same books."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.model import Quality, Verdict
from tests.support.bench_site import S, at, channel, judge_all, judge_of, reading, slug

HOLD_S = 3
LEAST_S = 6
# Seconds to the next sample, and what it says: over, within, missing, or doubtful and over.
STEPS = st.lists(st.tuples(st.integers(1, 4), st.sampled_from("ooooooooowmd")), max_size=60)


def readings_of(steps: list[tuple[int, str]]) -> list:
    """A series of readings, a sample per step."""
    series, now_s = [], 0
    for step_s, kind in steps:
        now_s += step_s
        value = {"o": 60.0, "w": 10.0, "m": None, "d": 60.0}[kind]
        doubt = {"quality": Quality.SUSPECT, "tests": ("suspect_span",)} if kind == "d" else {}
        series.append(reading("flow", now_s, value, **doubt))
    return series


def naive(steps: list[tuple[int, str]], *, strict: bool) -> list[tuple[str, int, int]]:
    """Raised, cleared and interrupted (since, at) by looking at whole runs of valid samples, one by one."""
    valid, now_s = [], 0
    for step_s, kind in steps:
        now_s += step_s
        if kind in "ow":
            valid.append((now_s, kind == "o"))
    events: list[tuple[str, int, int]] = []
    index = 0
    while index < len(valid):
        if not valid[index][1]:
            index += 1
            continue
        end = index
        while end + 1 < len(valid) and valid[end + 1][1] and valid[end + 1][0] - valid[end][0] <= HOLD_S:
            end += 1
        since = valid[index][0]
        proof = [t for t, _ in valid[index : end + 1] if t - since > LEAST_S or (t - since == LEAST_S and not strict)]
        if proof:
            events.append(("raised", since, proof[0]))
        last = valid[end][0]
        if end + 1 < len(valid) and valid[end + 1][0] - last <= HOLD_S:
            if proof:
                events.append(("cleared", since, valid[end + 1][0]))
        elif now_s - last > HOLD_S:
            events.append(("interrupted", since, last + HOLD_S))
        index = end + 1
    return events


def rule_of(*, strict: bool):  # the tests below say what it is
    """A slug rule in small seconds: longer than 6 s, hold 3 s."""
    rule = slug(
        duration_us=LEAST_S * S, strict_duration=strict, prealarms_us=(), bridge_gap_us=5 * S, bridge_dip_us=2 * S
    )
    return judge_of(rule, channel(hold_s=HOLD_S))


@settings(max_examples=400)
@given(STEPS, st.booleans())
def test_the_run_agrees_with_the_naive_reading(steps: list[tuple[int, str]], strict: bool) -> None:
    """Whatever the gaps, dips and doubts: raised, cleared and interrupted are those of whole runs of valid samples."""
    rule = rule_of(strict=strict)
    series = readings_of(steps)
    findings = judge_all(rule, series)
    proven = [
        (f.event.value, f.since.mono_us // S, f.at.mono_us // S)
        for f in findings
        if f.event.value in ("raised", "cleared", "interrupted")
    ]
    assert proven == naive(steps, strict=strict)


@given(STEPS)
def test_the_books_balance_and_exceeded_time_was_raised(steps: list[tuple[int, str]]) -> None:
    """Verdicts sum to the period; exceeded seconds exist exactly when something was raised."""
    rule = rule_of(strict=True)
    series = readings_of(steps)
    findings = judge_all(rule, series)
    end_us = at(sum(step for step, _ in steps)).mono_us
    spent = rule.seconds.report(end_us)
    assert sum(spent.values()) == end_us
    assert all(us >= 0 for us in spent.values())
    assert (spent[Verdict.EXCEEDED] > 0) == any(f.event.value == "raised" for f in findings)
    assert [f.at.mono_us for f in findings] == sorted(f.at.mono_us for f in findings)


@given(STEPS, st.integers(0, 60))
def test_a_restart_changes_nothing_that_was_proven(steps: list[tuple[int, str]], cut: int) -> None:
    """State stored after any sample and brought back at once: the same raised and cleared events follow."""
    from gateway.model import Resume

    whole = judge_all(rule_of(strict=True), readings_of(steps))
    series = readings_of(steps)
    first = rule_of(strict=True)
    found = judge_all(first, series[:cut])
    second = rule_of(strict=True)
    state = first.state()
    if state is not None:
        second.restore(state, Resume(series[:cut][-1].at, 0))
    found += judge_all(second, series[cut:])
    keep = ("raised", "cleared", "suspected")
    assert [(f.event, f.since, f.at) for f in found if f.event.value in keep] == [
        (f.event, f.since, f.at) for f in whole if f.event.value in keep
    ]
