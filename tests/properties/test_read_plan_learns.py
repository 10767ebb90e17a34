"""How the requests of a device change with what it refuses: cut apart, remembered, put together again."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from gateway.drivers.plan import Read, ReadPlan
from gateway.drivers.profile import Limits, Point, Register, Span

MINUTE_US = 60_000_000
DAY_US = 86_400_000_000


def points_at(*addresses: int, kind: str = "u16") -> list[Point]:
    """A point at each address."""
    return [Point(f"r{address}", Register(3, address, kind), "m") for address in addresses]


def asked(reads: tuple[Read, ...]) -> list[tuple[int, int]]:
    """Start and count of each request."""
    return [(read.start, read.count) for read in reads]


def poll(plan: ReadPlan, missing: set[int], now_us: int, *, holes: bool = True) -> tuple[list[Read], set[Span]]:
    """One poll of a device without the `missing` registers, which refuses holes too unless `holes`.

    The requests as they were made, and the spans that were read.
    """
    wanted = {address for span in plan.spans for address in range(span.start, span.end)}
    made: list[Read] = []
    read_in: set[Span] = set()
    done: list[Read] = []
    queue = list(plan.reads)
    while queue:
        read = queue.pop(0)
        made.append(read)
        registers = set(range(read.start, read.end))
        if registers & missing or (not holes and registers - wanted):
            pieces = plan.refused(read, now_us)
            if pieces:
                queue[:0] = pieces
                continue
        else:
            plan.answered(read)
            read_in |= set(read.spans)
        done.append(read)
    plan.reads = tuple(done)
    plan.settle(now_us)
    return made, read_in


def test_a_refused_hole_is_cut_remembered_and_tried_again_later_and_later() -> None:
    """At once in two requests; the whole again after ten minutes, then after twice as long, at most a day."""
    plan = ReadPlan.of(points_at(0, 4), Limits(max_gap=8))
    assert asked(plan.reads) == [(0, 5)]
    now_us, tries = 0, []
    while now_us < 4 * DAY_US:
        made, read_in = poll(plan, set(), now_us, holes=False)
        assert len(read_in) == 2
        if (0, 5) in asked(tuple(made)):
            tries.append(now_us)
            assert asked(tuple(made)) == [(0, 5), (0, 1), (4, 1)]
        else:
            assert asked(tuple(made)) == [(0, 1), (4, 1)]
        now_us += MINUTE_US
    waits = [(later - earlier) // MINUTE_US for earlier, later in pairwise(tries)]
    # Ten minutes, doubled to 1280 min; twice that would be more than a day of 1440. The poll that finds the wait over
    # plans the next one, hence a minute more.
    assert waits == [11, 21, 41, 81, 161, 321, 641, 1281, 1441, 1441]


def test_a_merge_that_is_accepted_again_stays() -> None:
    """A device that took the hole after ten minutes is asked in one request from then on."""
    plan = ReadPlan.of(points_at(0, 4), Limits(max_gap=8))
    poll(plan, set(), 0, holes=False)
    assert asked(plan.reads) == [(0, 1), (4, 1)]
    for minute in range(1, 13):
        made, _ = poll(plan, set(), minute * MINUTE_US)
    assert asked(plan.reads) == asked(tuple(made)) == [(0, 5)]


def test_the_good_neighbours_of_a_bad_register_are_together_again_at_once() -> None:
    """Of eight in a row the one that does not exist stands alone with the next poll, and the seven in two requests."""
    plan = ReadPlan.of(points_at(*range(8)), Limits())
    made, read_in = poll(plan, {5}, 0)
    assert len(read_in) == 7
    assert asked(tuple(made))[0] == (0, 8)
    assert asked(plan.reads) == [(0, 5), (5, 1), (6, 2)]
    made, read_in = poll(plan, {5}, MINUTE_US)
    assert asked(tuple(made)) == [(0, 5), (5, 1), (6, 2)]
    assert len(read_in) == 7


def test_a_register_that_appears_joins_its_neighbours() -> None:
    """After an update of the device the register answers, and is one request with the rest again."""
    plan = ReadPlan.of(points_at(0, 1, 2), Limits())
    poll(plan, {1}, 0)
    assert asked(plan.reads) == [(0, 1), (1, 1), (2, 1)]
    poll(plan, set(), MINUTE_US)
    assert asked(plan.reads) == [(0, 3)]


def test_single_registers_only_is_kept_whatever_happens() -> None:
    """A device that gives one register at a time is never asked for two, not after a refusal either."""
    plan = ReadPlan.of(points_at(0, 1, 2), Limits(max_registers=1, max_gap=9))
    for minute in range(30):
        made, _ = poll(plan, {1} if minute < 5 else set(), minute * MINUTE_US)
        assert asked(tuple(made)) == [(0, 1), (1, 1), (2, 1)]


def test_whole_blocks_of_the_device_are_never_asked_for_in_part() -> None:
    """Where requests must be whole eights, they begin and end on them, refused ones too."""
    plan = ReadPlan.of(points_at(3, 9, 30), Limits(max_registers=64, align=8, max_gap=40))
    assert asked(plan.reads) == [(0, 32)]
    made, _ = poll(plan, {17}, 0)
    assert all(read.start % 8 == 0 and read.count % 8 == 0 for read in made)
    assert asked(plan.reads) == [(0, 16), (24, 8)]


kinds = st.sampled_from(["u16", "f32", "f64"])


@given(
    st.lists(st.tuples(st.integers(0, 60), kinds), min_size=1, max_size=10),
    st.sets(st.integers(0, 60), max_size=4),
    st.booleans(),
    st.builds(Limits, st.integers(5, 40), st.integers(0, 12), st.booleans()),
)
def test_whatever_a_device_refuses_every_value_it_has_is_read_whole_in_every_poll(
    wanted: list[tuple[int, str]], missing: set[int], holes: bool, limits: Limits
) -> None:
    """From the first poll on: all that exists, each value in one request, none too long; and it settles."""
    if limits.even_start:
        holes = True  # the register before an odd one is a hole that must be readable
        missing = {address for address in missing if address % 2}
    plan = ReadPlan.of([Point("x", Register(3, a, kind), "m") for a, kind in wanted], limits)
    there = {s for s in plan.spans if not missing & set(range(s.start - (limits.even_start and s.start % 2), s.end))}
    counts = []
    for minute in range(5):
        made, read_in = poll(plan, missing, minute * MINUTE_US, holes=holes)
        assert read_in == there
        assert all(read.count <= limits.max_registers for read in made)
        assert not (limits.even_start and any(read.start % 2 for read in made))
        for span in there:
            assert any(read.start <= span.start and span.end <= read.end for read in made)
        counts.append(len(made))
    assert counts[-1] == counts[-2]  # nothing is searched for again and again
    assert counts[-1] <= len(plan.spans)
