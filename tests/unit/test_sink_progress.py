"""The cursor of a sink: which records count as settled, and how far it may move."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.sinks.progress import Progress


@pytest.mark.parametrize(
    ("why", "settled", "cursor", "stretches"),
    [
        ("nothing answered leaves the cursor where it was", [], 10, ()),
        ("the next record moves it by one", [(11, 11)], 11, ()),
        ("a later record waits ahead of the cursor", [(13, 13)], 10, ((13, 13),)),
        ("filling the gap moves over all of it", [(13, 13), (11, 12)], 13, ()),
        ("neighbours become one stretch", [(15, 15), (14, 14), (16, 17)], 10, ((14, 17),)),
        ("one range may swallow several stretches", [(13, 13), (15, 15), (12, 20)], 10, ((12, 20),)),
        ("what lies at or below the cursor changes nothing", [(1, 10)], 10, ()),
        ("a range across the cursor counts from the cursor on", [(1, 12)], 12, ()),
        ("an empty range changes nothing", [(14, 13)], 10, ()),
    ],
)
def test_settling_moves_the_cursor_over_the_unbroken_run_only(
    why: str, settled: list[tuple[int, int]], cursor: int, stretches: tuple[tuple[int, int], ...]
) -> None:
    """The cursor stands on the last record of the settled run that starts at it."""
    progress = Progress(10)
    for first, last in settled:
        progress.settle(first, last)
    assert (progress.cursor, progress.stretches) == (cursor, stretches), why


RANGES = st.lists(st.tuples(st.integers(-2, 40), st.integers(0, 6)), max_size=25)


@given(st.integers(0, 10), RANGES, st.integers(-2, 50), st.integers(-2, 50))
def test_progress_agrees_with_a_plain_set(start: int, ranges: list[tuple[int, int]], first: int, last: int) -> None:
    """Whatever the order and overlap, it says what a set of settled numbers says."""
    progress, settled = Progress(start), set(range(-10, start + 1))
    for low, length in ranges:
        progress.settle(low, low + length)
        settled.update(range(low, low + length + 1))
    cursor = start
    while cursor + 1 in settled:
        cursor += 1
    assert progress.cursor == cursor
    assert all(progress.is_settled(n) == (n in settled) for n in range(start, 60))
    assert progress.open_between(first, last) == len(
        [n for n in range(max(first, start), last + 1) if n not in settled]
    )
    after = max(first, cursor)
    while after + 1 in settled:
        after += 1
    assert progress.before_next_open(first) == after
