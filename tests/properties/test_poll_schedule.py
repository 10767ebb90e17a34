"""Poll slots and waits: plain arithmetic that must hold for any clock."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.drivers.quiet import Quiet, character_gap_s
from gateway.drivers.schedule import Backoff, Slots

times = st.integers(0, 10**9)
periods = st.integers(1, 10**6)


@given(periods, times, st.lists(st.integers(0, 10**7), max_size=50))
def test_slots_stay_on_their_grid_and_none_is_lost_or_made_up_for(period: int, start: int, steps: list[int]) -> None:
    """Every slot up to the last poll was either taken or counted as missed, and the next lies ahead on the grid."""
    slots, now, taken, missed = Slots(period, start), start, 0, 0
    for step in steps:
        now += step
        if now >= slots.due_us:
            taken += 1
        slots, skipped = slots.taken(now)
        missed += skipped
        assert slots.due_us > now
        assert (slots.due_us - start) % period == 0
        assert slots.due_us - now <= period
    assert taken + missed == (slots.due_us - start) // period


@given(periods, times, st.integers(1, 10**6))
def test_before_its_slot_nothing_is_due(period: int, start: int, early: int) -> None:
    """A poll that starts too early takes no slot."""
    slots = Slots(period, start + early)
    assert slots.taken(start) == (slots, 0)


@given(st.integers(1, 10**7), st.integers(1, 10**8), st.integers(1, 10**4), st.floats(0, 1))
def test_waits_grow_to_the_cap_and_never_beyond(base: int, cap: int, failures: int, jitter: float) -> None:
    """The wait lies between half and all of base x 2^(failures-1), capped, however many failures there were."""
    backoff = Backoff(base, cap)
    full = min(cap, base * 2 ** min(failures - 1, 60))
    assert full - full // 2 - 1 <= backoff.delay_us(failures, jitter) <= full
    assert backoff.delay_us(failures + 1, 0.0) >= backoff.delay_us(failures, 0.0)
    assert backoff.delay_us(0, jitter) == 0


@given(st.lists(st.tuples(st.integers(1, 3), st.sampled_from(["answered", "timed_out", "garbled"])), max_size=30))
def test_a_unit_is_never_asked_while_its_answer_may_still_come(story: list[tuple[int, str]]) -> None:
    """After a missed deadline of one second a unit stays unasked for another, and no frame starts within the gap."""
    quiet = Quiet(gap_s=0.01)
    now, deadlines = 0.0, dict.fromkeys((1, 2, 3), -10.0)
    for unit, outcome in story:
        now = max(now, quiet.free_at(unit))
        assert now >= quiet.heard_at + 0.01
        assert now >= deadlines[unit] + 1.0 - 1e-9
        if outcome == "timed_out":
            quiet.timed_out(unit, now, 1.0)
            now += 1.0
            deadlines[unit] = now
            continue
        quiet.heard(now + 0.1)
        if outcome == "answered":
            quiet.answered(unit, now, now + 0.1)
        else:
            quiet.garbled(unit, now, 1.0)
        now += 0.1


def test_a_dead_unit_does_not_hold_the_line_and_a_slow_one_does() -> None:
    """Others go on at once after a timeout; only a unit that did answer late is waited for by everybody."""
    quiet = Quiet(gap_s=0.0)
    quiet.timed_out(1, 0.0, 0.5)
    assert (quiet.free_at(1), quiet.free_at(2)) == (1.0, 0.0)
    quiet.paid(1)
    quiet.timed_out(1, 10.0, 0.5)
    assert (quiet.free_at(1), quiet.free_at(2)) == (11.0, 11.0)
    quiet.timed_out(1, 20.0, 0.5)
    assert (quiet.free_at(1), quiet.free_at(2)) == (21.0, 0.0)


def test_after_a_garbled_answer_the_line_waits_as_long_as_the_unit_ever_took() -> None:
    """Twice the slowest answer seen; the whole timeout for a unit that never answered yet."""
    quiet = Quiet(gap_s=0.0)
    quiet.garbled(1, 0.0, 0.5)
    assert quiet.free_at(2) == 0.5
    quiet.answered(1, 1.0, 1.04)
    quiet.garbled(1, 2.0, 0.5)
    assert abs(quiet.free_at(2) - 2.08) < 1e-9


def test_three_and_a_half_characters() -> None:
    """4.0 ms at 9600, 2.0 ms at 19200 and 1.75 ms above, as the serial line specification has it."""
    assert round(character_gap_s(9600) * 1000, 2) == 4.01
    assert round(character_gap_s(19200) * 1000, 2) == 2.01
    assert character_gap_s(38400) == character_gap_s(115200) == 0.00175
