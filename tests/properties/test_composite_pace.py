"""Flow pacing under any flow, gap and restart: every whole volume is a pulse, an owed one or a counted loss."""

import json
from fractions import Fraction
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.outputs.pacing import PARTS_PER_UNIT, FlowPace, TimePace, parts_of

S = 1_000_000
HOLD_S = 40
VOLUME_GAL = 7

# Steps of a few seconds each: a flow in gpm, or nothing known, or a restart within the boot.
STEPS = st.lists(
    st.tuples(st.integers(1, 60), st.one_of(st.integers(0, 90), st.none(), st.just("restart"))), max_size=60
)


def trusted_gal(known: list[tuple[int, int]]) -> Fraction:
    """The trapezoids between known flows not more than the hold apart, told the slow way."""
    total = Fraction(0)
    for (t0, q0), (t1, q1) in pairwise(known):
        if t1 - t0 <= HOLD_S:
            total += Fraction(q0 + q1, 2) * (t1 - t0) / 60
    return total


@given(STEPS, st.integers(1, 90))
def test_pulses_stand_for_the_trusted_volume(steps: list[tuple[int, object]], spacing_s: int) -> None:
    """Pulses, owed and lost ones times the volume are the trusted volume to within one pulse, whatever happens."""
    pace = FlowPace(VOLUME_GAL, spacing_s * S, HOLD_S * S, 0)
    now_s, pulses, made, known = 0, 0, [], []
    for step_s, what in steps:
        now_s += step_s
        if what == "restart":
            stored = json.loads(json.dumps(pace.state()))
            pace = FlowPace(VOLUME_GAL, spacing_s * S, HOLD_S * S, now_s * S)
            pace.restore(stored, 0, now_s * S)
        elif isinstance(what, int):
            pace.flow(now_s * S, float(what))
            known.append((now_s, what))
        if pace.due(now_s * S):
            pulses += 1
            made.append(now_s)
            assert known
            assert now_s - known[-1][0] <= HOLD_S, "no pulse while nobody knows the flow"
        whole = trusted_gal(known) // VOLUME_GAL
        assert pulses + pace.owed + pace.lost == whole
        assert pace.owed <= 1
    assert all(b - a >= spacing_s for a, b in pairwise(made))
    assert Fraction(pace.total, PARTS_PER_UNIT * 60 * S * 2) == trusted_gal(known)


@given(st.integers(1, 50), st.integers(2, 200))
def test_steady_flow_makes_as_many_pulses_as_volumes(gpm: int, minutes: int) -> None:
    """At a steady flow that the sampler can follow nothing is owed for long and nothing lost: arithmetic in gallons."""
    pace = FlowPace(100, 5 * S, HOLD_S * S, 0)
    pulses = 0
    for tick in range(minutes * 4 + 1):
        pace.flow(tick * 15 * S, float(gpm))
        pulses += pace.due(tick * 15 * S)
    assert (pulses, pace.lost) == (gpm * minutes // 100, 0)


def test_a_gap_makes_no_burst() -> None:
    """An hour without a known flow at 50 gpm owes nothing after it, and counts as an hour unknown."""
    pace = FlowPace(100, S, HOLD_S * S, 0)
    pace.flow(0, 50.0)
    pace.flow(3600 * S, 50.0)
    assert (pace.due(3600 * S), pace.owed, pace.lost, pace.total) == (False, 0, 0, 0)
    assert pace.unknown_by(3600 * S) == 3600 * S


def test_a_restart_of_unknown_length_gives_up_what_was_owed() -> None:
    """Without a place in time nothing is made up: what was owed is counted lost, what was carried is kept."""
    pace = FlowPace(100, 60 * S, HOLD_S * S, 0)
    for tick in range(10):
        pace.flow(tick * 15 * S, 1000.0)
        pace.due(tick * 15 * S)
    before = pace.owed + pace.lost
    again = FlowPace(100, 60 * S, HOLD_S * S, 0)
    again.restore(pace.state(), None, 5 * S)
    assert (again.owed, again.lost, again.carried) == (0, before, pace.carried)


@given(st.integers(1, 20), st.lists(st.tuples(st.integers(1, 200), st.booleans()), max_size=40))
def test_time_pacing_never_makes_up(every_s: int, steps: list[tuple[int, bool]]) -> None:
    """Whatever the gaps, pulses, idle and missed slots are the slots that passed, and no slot makes two pulses."""
    pace = TimePace(every_s * S, 0)
    now_s = pulses = 0
    for step_s, idle in steps:
        now_s += step_s
        pulses += pace.due(now_s * S, idle=idle)
        assert pulses + pace.idle + pace.missed == now_s // every_s + 1 - (pace.deadline_us <= now_s * S)


def test_volumes_are_whole_numbers() -> None:
    """A tenth of a gallon ten times is a gallon, exactly."""
    assert 10 * parts_of(0.1) == parts_of(1.0)
