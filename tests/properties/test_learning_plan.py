"""Whatever a device refuses, every register it has is read in the same poll; the plan finds back to few requests."""

from dataclasses import dataclass, field

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gateway.drivers.plan import Read, ReadPlan, plan
from gateway.drivers.profile import Limits, Point, Register, Span
from gateway.drivers.registers import words_of

TEN_MINUTES = 600_000_000
POLL_US = 15_000_000


@dataclass(slots=True)
class Refuser:
    """A device of one address space per function that lacks registers and gives at most so many at once."""

    missing: set[int] = field(default_factory=set)
    most: int = 125
    asked: list[Read] = field(default_factory=list)

    def gives(self, read: Read) -> bool:
        """Whether it has all of them and gives them in one answer."""
        return read.count <= self.most and not self.missing & set(range(read.start, read.end))


def poll(device: Refuser, reads: ReadPlan, now_us: int) -> set[Span]:
    """One poll as the driver makes it; the spans that came."""
    queue, done, came = list(reads.reads), [], set()
    device.asked.clear()
    while queue:
        read = queue.pop(0)
        device.asked.append(read)
        if device.gives(read):
            reads.answered(read)
            came |= set(read.spans)
        else:
            pieces = reads.refused(read, now_us)
            if pieces:
                queue[:0] = pieces
                continue
        done.append(read)
    reads.reads = tuple(done)
    reads.settle(now_us)
    return came


def has(device: Refuser, span: Span, limits: Limits) -> bool:
    """Whether the device gives the span by itself."""
    start = span.start - span.start % 2 if limits.even_start else span.start
    return not device.missing & set(range(start, span.end)) and span.end - start <= device.most


points = st.builds(
    lambda function, address, kind: Point("x", Register(function, address, kind), "m"),
    st.sampled_from([3, 3, 3, 4]),
    st.integers(0, 60),
    st.sampled_from(["u16", "u16", "f32", "f64"]),
)
limits = st.builds(Limits, st.integers(5, 125), st.integers(0, 10), st.booleans())


@given(st.lists(points, min_size=1, max_size=25), limits, st.sets(st.integers(0, 63), max_size=6), st.integers(1, 125))
@example([Point("x", Register(3, n, "u16"), "m") for n in range(8)], Limits(), {5}, 125)
def test_every_register_the_device_has_is_read_in_every_poll(
    wanted: list[Point], bounds: Limits, missing: set[int], most: int
) -> None:
    """From the first poll on; a missing register costs only itself, no request leaves the limits, none cuts a value."""
    device = Refuser(missing, most)
    reads = ReadPlan.of(wanted, bounds)
    for n in range(6):
        came = poll(device, reads, n * POLL_US)
        for span in reads.spans:
            assert (span in came) == has(device, span, bounds), f"poll {n}: {span}"
        for read in device.asked:
            assert 1 <= read.count <= bounds.max_registers
            assert not (bounds.even_start and read.start % 2)
            assert all(read.start <= span.start and span.end <= read.end for span in read.spans)
    for point in wanted:
        own = Span(point.function, point.address, words_of(point.register.type))
        assert any(span.covers(own) for span in reads.spans)


@given(st.lists(points, min_size=1, max_size=25), limits, st.sets(st.integers(0, 63), max_size=6))
def test_what_was_learned_is_remembered(wanted: list[Point], bounds: Limits, missing: set[int]) -> None:
    """Once found, a missing register is asked for alone, and nothing else is refused until a merge is tried again."""
    device = Refuser(missing)
    reads = ReadPlan.of(wanted, bounds)
    for n in range(4):
        poll(device, reads, n * POLL_US)
    for n in range(4, 8):
        poll(device, reads, n * POLL_US)
        refused = [read for read in device.asked if not device.gives(read)]
        assert all(len(read.spans) == 1 for read in refused)


@given(st.lists(points, min_size=1, max_size=25), limits, st.sets(st.integers(0, 63), max_size=6))
def test_a_device_that_has_them_after_all_is_read_in_few_requests_again(
    wanted: list[Point], bounds: Limits, missing: set[int]
) -> None:
    """Ten minutes after the last refusal the plan is what it was at the start."""
    device = Refuser(missing)
    reads = ReadPlan.of(wanted, bounds)
    at_first = reads.reads
    for n in range(3):
        poll(device, reads, n * POLL_US)
    device.missing.clear()
    for n in range(3, 6):
        poll(device, reads, n * POLL_US + TEN_MINUTES)
    assert reads.reads == at_first


def nine(bounds: Limits) -> ReadPlan:
    """Nine neighbouring registers."""
    return ReadPlan.of([Point("x", Register(3, n, "u16"), "m") for n in range(9)], bounds)


def shapes(device: Refuser, reads: ReadPlan, now_us: int = 0) -> list[tuple[int, int]]:
    """Start and count of every request of one poll."""
    poll(device, reads, now_us)
    return [(read.start, read.count) for read in device.asked]


def test_the_search_for_a_missing_register_and_what_is_left_of_it() -> None:
    """Halves of halves until 5 stands alone; from the next poll on its neighbours are two requests."""
    device, reads = Refuser({5}), nine(Limits())
    assert shapes(device, reads) == [(0, 9), (0, 4), (4, 5), (4, 2), (4, 1), (5, 1), (6, 3)]
    assert shapes(device, reads) == [(0, 5), (5, 1), (6, 3)]


def test_a_hole_that_is_refused_is_cut_out_first() -> None:
    """A request over two holes is cut at both; nothing is halved for it, and the cuts stay for ten minutes."""
    made = [Point("x", Register(3, n, "u16"), "m") for n in (0, 1, 4, 5, 8, 9)]
    device, reads = Refuser({2}), ReadPlan.of(made, Limits(max_gap=4))
    assert shapes(device, reads) == [(0, 10), (0, 2), (4, 2), (8, 2)]
    assert shapes(device, reads, TEN_MINUTES - 1) == [(0, 2), (4, 2), (8, 2)]


def test_a_merge_that_fails_again_is_left_alone_for_longer() -> None:
    """Tried after ten minutes, then after twenty, then after forty."""
    made = [Point("x", Register(3, n, "u16"), "m") for n in (0, 4)]
    device, reads = Refuser({2}), ReadPlan.of(made, Limits(max_gap=4))
    merged_at = [n for n in range(80) if (0, 5) in shapes(device, reads, n * 60_000_000)]
    assert merged_at == [0, 11, 32, 73]  # the poll after the wait has ended finds the merge put together again


def test_a_device_that_gives_fewer_registers_than_it_says_is_learned_too() -> None:
    """No register is missing: the cuts hold, though nothing is ever found beside them."""
    device, reads = Refuser(most=4), nine(Limits())
    assert shapes(device, reads)[0] == (0, 9)
    assert shapes(device, reads) == [(0, 4), (4, 2), (6, 3)]


def test_no_request_runs_over_a_register_that_is_missing() -> None:
    """Holes may be crossed, but not one in which a register is known not to exist."""
    device, reads = (
        Refuser({1}),
        ReadPlan.of([Point("x", Register(3, n, "u16"), "m") for n in (0, 1, 2)], Limits(max_gap=5)),
    )
    shapes(device, reads)
    assert shapes(device, reads) == [(0, 1), (1, 1), (2, 1)]


@pytest.mark.parametrize(
    ("bounds", "requests"),
    [
        (Limits(max_registers=1), [(3, 1), (4, 1), (9, 1)]),
        (Limits(max_registers=2), [(3, 2), (9, 1)]),
        (Limits(max_gap=4), [(3, 7)]),
        (Limits(max_gap=3), [(3, 2), (9, 1)]),
        (Limits(even_start=True), [(2, 3), (8, 2)]),
        (Limits(max_registers=8, align=8), [(0, 8), (8, 8)]),
        (Limits(align=8), [(0, 16)]),
        (Limits(max_registers=15, align=8), [(0, 8), (8, 8)]),
    ],
)
def test_limits_of_a_request(bounds: Limits, requests: list[tuple[int, int]]) -> None:
    """Registers 3, 4 and 9 of devices that give one at a time, two, even starts only, or whole eights."""
    wanted = [Point("x", Register(3, n, "u16"), "m") for n in (3, 4, 9)]
    assert [(read.start, read.count) for read in plan(wanted, bounds)] == requests
