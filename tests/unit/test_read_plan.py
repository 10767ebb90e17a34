"""Requests are as few as the device allows, and no value is ever split over two of them."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.drivers.plan import Read, plan, split
from gateway.drivers.profile import Limits, Point, Register
from gateway.drivers.profiles import load
from gateway.drivers.registers import words_of


def asked(reads: tuple[Read, ...]) -> list[tuple[int, int, int]]:
    """Function, start and count of each request."""
    return [(read.function, read.start, read.count) for read in reads]


def test_whole_blocks_are_asked_for_once() -> None:
    """pH and temperature of the sensor that insists on blocks are two requests of ten registers."""
    profile = load("hamilton-ph-arc")
    points = [profile.points["pH"], profile.points["temperature"]]
    assert asked(plan(points, profile.limits)) == [(3, 2089, 10), (3, 2409, 10)]


def test_neighbouring_inputs_share_a_request() -> None:
    """Four inputs of the analyser, value, status and unit each, are one request of sixteen registers."""
    profile = load("eh-liquiline-cm44x")
    points = [profile.points[f"AI{n}"].for_unit("pH") for n in (1, 2, 3, 4)]
    assert asked(plan(points, profile.limits)) == [(3, 0, 16)]
    points[3] = profile.points["AI4"].for_unit("degC")  # the register that says whether degC is degC
    assert asked(plan(points, profile.limits)) == [(3, 0, 16), (3, 1016, 1)]


def test_two_register_devices_get_two_register_requests() -> None:
    """The oldest level transmitters give one value at a time."""
    profile = load("keller-series30")
    points = [profile.points["P1"], profile.points["P2"], profile.points["TOB1"]]
    assert asked(plan(points, profile.limits)) == [(3, 2, 2), (3, 4, 2), (3, 8, 2)]


def test_both_functions_of_a_module() -> None:
    """Currents are input registers, modes are holding registers: one request each."""
    profile = load("waveshare-ai8")
    assert asked(plan(profile.points.values(), profile.limits)) == [(3, 0x1000, 8), (4, 0, 8)]


def test_shared_status_registers_are_asked_for_once() -> None:
    """Flow, velocity and signal quality share error word and quality register."""
    profile = load("tuf-2000m")
    points = [profile.points[name] for name in ("flow_rate", "velocity", "quality")]
    assert asked(plan(points, profile.limits)) == [(3, 0, 2), (3, 4, 2), (3, 71, 1), (3, 91, 1)]
    assert asked(plan(points, Limits(max_gap=2))) == [(3, 0, 6), (3, 71, 1), (3, 91, 1)]


def test_even_starts() -> None:
    """A device that wants even addresses is asked from the register before an odd one."""
    point = Point("x", Register(3, 11, "f32"), "m")
    assert asked(plan([point], Limits(even_start=True))) == [(3, 10, 3)]


addresses = st.integers(0, 300)
points = st.builds(
    lambda function, address, kind: Point("x", Register(function, address, kind), "m"),
    st.sampled_from([3, 4]),
    addresses,
    st.sampled_from(["u16", "f32", "f64"]),
)
limits = st.builds(Limits, st.integers(5, 125), st.integers(0, 10), st.booleans())


@given(st.lists(points, max_size=30), limits)
def test_every_value_lies_whole_in_one_request_within_the_limits(wanted: list[Point], bounds: Limits) -> None:
    """Whatever the points and the limits, each value is in one request, no request is too long or starts odd."""
    reads = plan(wanted, bounds)
    for point in wanted:
        end = point.address + words_of(point.register.type)
        same = [read for read in reads if read.function == point.function]
        assert any(read.start <= point.address and end <= read.start + read.count for read in same)
    for read in reads:
        assert 1 <= read.count <= bounds.max_registers
        assert not (bounds.even_start and read.start % 2)


@given(st.lists(points, min_size=1, max_size=30), limits)
def test_splitting_ends_with_each_value_alone_and_loses_none(wanted: list[Point], bounds: Limits) -> None:
    """Halving again and again ends with single values, all of them, so one bad register fails alone."""
    reads = plan(wanted, bounds)
    spans = {span for read in reads for span in read.spans}
    queue, single = list(reads), []
    while queue:
        read = queue.pop()
        halves = split(read, bounds)
        queue += halves
        if not halves:
            single.append(read)
    assert all(len(read.spans) == 1 for read in single)
    assert {read.spans[0] for read in single} == spans
