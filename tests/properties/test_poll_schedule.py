"""Poll slots and waits: plain arithmetic that must hold for any clock."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.drivers.quiet import Quiet, character_gap_s
from gateway.drivers.schedule import Backoff, Claim, Rank, Slots, between, choose

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
    assert (backoff.delay_us(failures, 0.0), backoff.delay_us(failures, 1.0)) == (full, full - full // 2)
    assert backoff.delay_us(failures + 1, 0.0) >= backoff.delay_us(failures, 0.0)
    assert backoff.delay_us(0, jitter) == 0


regular_ranks = st.sampled_from([Rank.ORDER, Rank.ALARM, Rank.PLAIN, Rank.PROBE])
claims = st.lists(st.builds(Claim, regular_ranks, st.integers(0, 100), st.none() | st.integers(0, 100)), min_size=1)


@given(claims, st.integers(0, 100), st.integers(0, 2))
def test_the_line_goes_to_the_most_urgent_and_among_equals_to_the_longest_due(
    waiting: list[Claim], now: int, passed: int
) -> None:
    """Unless three turns have passed over somebody: no claim of a better rank waits, none of its rank longer."""
    place, _ = choose(waiting, now, passed)
    chosen = waiting[place]
    for claim in waiting:
        assert chosen.rank_at(now) <= claim.rank_at(now)
        if chosen.rank_at(now) == claim.rank_at(now):
            assert chosen.due_us <= claim.due_us


@given(st.lists(st.tuples(regular_ranks, st.integers(1, 9)), min_size=2, max_size=6), st.integers(0, 3))
def test_nobody_is_starved_however_urgent_the_others_are(pollers: list[tuple[Rank, int]], start: int) -> None:
    """Each poller claims again as soon as it was served; everyone is served within four turns for each of them."""
    waiting = [Claim(rank, 0) for rank, _ in pollers]
    since = [0] * len(pollers)
    passed = start
    for now in range(1, 100):
        place, passed = choose(waiting, now, passed)
        waiting[place] = Claim(pollers[place][0], now)
        since = [0 if n == place else turns + 1 for n, turns in enumerate(since)]
        assert max(since) <= 4 * len(pollers)


@given(claims, st.integers(0, 100), st.integers(0, 5))
def test_a_poll_in_between_takes_only_what_nobody_else_wants(waiting: list[Claim], now: int, passed: int) -> None:
    """It is chosen only when every claim is one, and a claim whose slot has come is none any more."""
    in_between = [claim.regular_us is not None and now < claim.regular_us for claim in waiting]
    if in_between[choose(waiting, now, passed)[0]]:
        assert all(in_between)


@given(st.integers(1, 1000), st.integers(1, 1500), st.lists(st.integers(0, 400), max_size=60))
def test_fast_polls_fall_between_the_slots_and_move_none_of_them(period: int, fast: int, lates: list[int]) -> None:
    """Whatever the delays, every regular slot is polled or counted as ever, and no two polls are due too close."""
    slots, began, now = Slots(period, 0), 0, 0
    part = period // (period // fast) if fast <= period else period
    for late in lates:
        due = between(slots, fast, began) if slots.due_us else 0
        assert due <= slots.due_us
        assert due == slots.due_us or due - began >= part // 2
        assert due == slots.due_us or (slots.due_us - due) % part == 0
        now = max(now, due) + late
        before = slots
        slots, _ = slots.taken(now)
        assert slots == before or now >= before.due_us
        assert slots.due_us % period == 0
        began = now


def test_a_third_of_the_poll() -> None:
    """Every 15 s, fast 5 s: two polls more in each period, on time, and none when the fast one is over half of it."""
    slots = Slots(15, 30)
    assert [between(slots, 5, began) for began in (15, 20, 25)] == [20, 25, 30]
    assert [between(slots, 4, began) for began in (15, 20, 25)] == [20, 25, 30]  # three parts of five, none below four
    assert between(slots, 8, 15) == 30


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
