"""Counters of volume: rolled over, reset, replaced, wavering and misread, told apart by what can have run."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.model import Instant, Resume
from gateway.signals.totalizer import SCALE, Increment, Meaning, Totalizer

S = 1_000_000
POLL_S = 15


def play(totalizer: Totalizer, counts: list[float], begin_s: int = 0) -> list[Increment]:
    """One reading every 15 s."""
    return [totalizer.take(count, (begin_s + POLL_S * n) * S) for n, count in enumerate(counts)]


def total(increments: list[Increment]) -> float:
    """All that was counted, in the channel's unit."""
    return sum(one.volume for one in increments) / SCALE


# Readings of a counter that passes 100 gpm at most and rolls over at 10,000; the meaning of the last, all that was
# counted, whether it is all, and why.
STORIES = [
    ([500.0], Meaning.FIRST, 0.0, False, "the first reading has nothing before it to count from"),
    ([500.0, 510.0, 525.0], Meaning.COUNTED, 25.0, True, "it goes up"),
    ([500.0, 500.0, 500.0], Meaning.COUNTED, 0.0, True, "nothing runs"),
    ([9990.0, 9999.5, 4.5], Meaning.ROLLED_OVER, 14.5, True, "9.5 up to 9,999.5, 0.5 up to 10,000, and 4.5 more"),
    ([500.0, 499.5, 501.0], Meaning.COUNTED, 1.0, True, "it wavers at a digit: half a gallon back, counted once"),
    ([500.0, 499.5], Meaning.JITTER, 0.0, True, "the waver itself"),
    ([500.0, 5.0, 8.0, 10.0], Meaning.RESET, 10.0, False, "reset by hand: what it shows has run since"),
    ([500.0, 5.0, 8.0], Meaning.REFUSED, 0.0, True, "two readings near zero prove no reset yet"),
    ([500.0, 0.0, 505.0], Meaning.STRAYED, 5.0, True, "one misread zero: the counter never stopped"),
    ([5000.0, 3000.0, 3004.0, 3010.0], Meaning.REPLACED, 10.0, False, "another meter, with its own old count"),
    ([500.0, 3000.0, 3004.0, 3010.0], Meaning.JUMPED, 10.0, False, "2,500 gal in 15 s did not run"),
    ([500.0, 3000.0, 508.0], Meaning.STRAYED, 8.0, True, "one misread high: nothing of it is counted"),
    ([500.0, 3000.0, 1000.0, 7000.0], Meaning.REFUSED, 0.0, True, "garbage agrees with nothing, itself included"),
]  # fmt: skip


@pytest.mark.parametrize(("counts", "meaning", "gallons", "whole", "why"), STORIES)
def test_what_a_step_means(counts: list[float], meaning: Meaning, gallons: float, whole: bool, why: str) -> None:
    """A counter in gal, read every 15 s."""
    increments = play(Totalizer(100.0, 10_000.0, 1.0), counts)
    assert increments[-1].meaning is meaning, why
    assert total(increments) == pytest.approx(gallons, abs=1e-9), why
    assert all(one.whole for one in increments[1:]) == (whole or len(counts) == 1), why


def test_without_a_width_nothing_rolls_over() -> None:
    """A counter that never begins again by itself was reset when it is near zero, whatever it showed before."""
    increments = play(Totalizer(100.0), [9999.5, 4.5, 5.0, 6.0])
    assert increments[-1].meaning is Meaning.RESET


def test_what_cannot_have_run_is_not_counted_however_long_the_poll() -> None:
    """100 gpm fill 1,000 gal in ten minutes: after them 1,000 are believed, and 1,200 are not."""
    assert Totalizer_after(600, 1000.0).meaning is Meaning.COUNTED
    assert Totalizer_after(600, 1200.0).meaning is Meaning.REFUSED


def Totalizer_after(seconds: int, gallons: float) -> Increment:  # noqa: N802 - reads as the thing it makes
    """The increment of a counter read again after so long."""
    totalizer = Totalizer(100.0, 10_000.0)
    totalizer.take(0.0, 0)
    return totalizer.take(gallons, seconds * S)


def test_a_gap_is_counted_where_the_counter_counted_through_it() -> None:
    """Silence of the line is none of the water: the counter went on, and its difference is real."""
    increment = Totalizer_after(3000, 400.0)
    assert (increment.meaning, increment.volume, increment.whole) == (Meaning.COUNTED, 400 * SCALE, True)


def test_a_gap_too_long_to_tell_is_said() -> None:
    """In 100 min 10,000 gal can run: the register may stand where it stood and have gone round once, or not at all."""
    increment = Totalizer_after(6000, 400.0)
    assert (increment.meaning, increment.whole) == (Meaning.AMBIGUOUS, False)
    assert increment.volume == 400 * SCALE  # at least that much


def test_a_counter_is_brought_back_and_counts_the_gap() -> None:
    """After a restart it counts from the last reading; where nobody knows how long it was away, anew."""
    before = Totalizer(100.0, 10_000.0)
    play(before, [500.0, 510.0])
    after = Totalizer(100.0, 10_000.0)
    now = Instant(0, 5 * S)
    after.restore(before.state(), Resume(now, -POLL_S * S))
    assert after.take(530.0, 60 * S) == Increment(20 * SCALE, Meaning.COUNTED)
    lost = Totalizer(100.0, 10_000.0)
    lost.restore(before.state(), Resume(now, None))
    assert lost.take(530.0, 60 * S).meaning is Meaning.FIRST


@given(
    st.lists(st.integers(0, 2500), min_size=1, max_size=300),
    st.integers(0, 999_999),
    st.sampled_from([65_536, 100_000, 1_000_000]),
)
def test_the_sum_is_the_truth_under_any_number_of_turns(steps: list[int], start: int, width: int) -> None:
    """A counter in hundredths with any width: whatever runs at up to the most, all of it is counted, exactly."""
    totalizer = Totalizer(100.0, width / 100)
    count = start % width
    increments = [totalizer.take(count / 100, 0)]
    for number, step in enumerate(steps, 1):
        count = (count + step) % width
        increments.append(totalizer.take(count / 100, number * POLL_S * S))
    assert sum(one.volume for one in increments) == sum(steps) * SCALE // 100
    assert all(one.whole for one in increments[1:])


@given(
    st.lists(st.integers(0, 2500), min_size=8, max_size=60),
    st.integers(3, 60),
    st.integers(0, 2500),
)
def test_a_reset_never_adds_water(steps: list[int], at: int, after_zero: int) -> None:
    """Reset at any reading: what is counted is never more than what ran, less at most what ran across the break."""
    totalizer = Totalizer(100.0, None)
    count, ran = 500_000, 0
    increments = [totalizer.take(count / 100, 0)]
    across = 0
    for number, step in enumerate(steps, 1):
        if number == min(at, len(steps) - 4):
            count, across, ran = min(after_zero, step), step, ran + step
        else:
            count, ran = count + step, ran + step
        increments.append(totalizer.take(count / 100, number * POLL_S * S))
    counted = sum(one.volume for one in increments)
    assert ran - across <= counted * 100 / SCALE <= ran
    assert [one.meaning for one in increments].count(Meaning.RESET) == 1


@given(
    st.lists(st.integers(0, 2500), min_size=2, max_size=60),
    st.dictionaries(st.integers(1, 59), st.integers(0, 999_999), max_size=8),
)
def test_single_misreadings_change_nothing(steps: list[int], wrong: dict[int, int]) -> None:
    """Whatever number stands in for single readings, never two in a row, the sum at a good reading is the truth."""
    totalizer = Totalizer(100.0)
    count, counted = 500_000, 0
    last_wrong = -2
    totalizer.take(count / 100, 0)
    for number, step in enumerate(steps, 1):
        count += step
        misread = wrong.get(number)
        far = misread is not None and (misread < 500_000 - 100 or misread > 500_000 + 400_000)
        if far and last_wrong < number - 1 and number < len(steps):
            last_wrong = number
            counted += totalizer.take((misread or 0) / 100, number * POLL_S * S).volume
        else:
            counted += totalizer.take(count / 100, number * POLL_S * S).volume
    assert counted == sum(steps) * SCALE // 100


@pytest.mark.parametrize(("most", "modulus"), [(0.0, None), (-1.0, None), (1.0, 0.0)])
def test_a_counter_that_cannot_count_is_refused(most: float, modulus: float | None) -> None:
    """A counter through which nothing can run is a mistake."""
    with pytest.raises(ValueError, match="above zero"):
        Totalizer(most, modulus)
