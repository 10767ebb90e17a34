"""Water that stands or runs back under a flow that is computed from its level."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gateway.model import Quality
from gateway.primary import Primary
from gateway.signals.qc import Evidence, evidence
from gateway.units import conversion
from tests.support.diagnosed_site import Bench, minutely, station

MINUTE = 60
FLUME = Primary("parshall", throat_ft=0.5)


def bench(unit: str = "ft/s", *, second: str = "") -> Bench:
    """A level in ft, the flow through a flume from it, and a velocity; another velocity of `second` device if named."""
    level = replace(minutely("level", "level", "ft"), device="meter")
    flow = replace(minutely("flow", "flow", "gpm"), derived_from="level", primary=FLUME)
    channels = [level, flow, replace(minutely("velocity", "velocity", unit), device="meter")]
    if second:
        channels.append(replace(minutely("other", "velocity", unit), device=second))
    return Bench(station(*channels))


def play(one: Bench, minutes: range, velocity: Callable[[int], float | None], level: float = 0.5) -> None:
    """So many minutes of it."""
    for minute in minutes:
        one.poll(minute * MINUTE, {"level": level, "velocity": velocity(minute)})


@pytest.mark.parametrize(
    ("sentence", "velocity", "level", "found"),
    [
        ("A level of 0.5 ft and no velocity: it stands.", lambda _: 0.0, 0.5, True),
        ("It runs back.", lambda _: -1.5, 0.5, True),
        ("0.09 ft/s is nothing.", lambda _: 0.09, 0.5, True),
        ("0.11 ft/s flows.", lambda _: 0.11, 0.5, False),
        ("A pump that stops for nine minutes of ten.", lambda m: 1.0 if m % 10 == 0 else 0.0, 0.5, False),
        ("Less than 5 cm is the floor, and dry at that.", lambda _: 0.0, 0.16, False),
        ("A velocity that says nothing proves nothing.", lambda _: None, 0.5, False),
        ("Nor does one that is seldom heard.", lambda m: 0.0 if m % 5 == 0 else None, 0.5, False),
    ],
)
def test_standing_or_flowing(sentence: str, velocity: Callable, level: float, found: bool) -> None:
    """Half an hour of each."""
    one = bench()
    play(one, range(30), velocity, level)
    assert bool(one.flagged("standing_water")) is found, sentence


def test_ten_minutes_and_until_it_flows() -> None:
    """Told of the flow alone, once ten minutes are over; it does not count; the first minute's flow ends it."""
    one = bench()
    play(one, range(15), lambda _: 0.0)
    told = one.flagged("standing_water")
    assert told[0] == ("flow", 12 * MINUTE)  # the poll at 11 closes the tenth minute, behind the flow of its level
    assert {name for name, _ in told} == {"flow"}
    last = next(reading for reading in reversed(one.readings) if reading.channel == "flow")
    assert last.value is not None
    assert (last.quality, evidence(last)) == (Quality.SUSPECT, Evidence.DOUBTFUL)
    play(one, range(15, 18), lambda _: 2.0)
    assert one.readings[-1].tests == ()


def test_the_unit_is_the_channels() -> None:
    """0.1 ft/s are 0.030 m/s."""
    slow, quick = (conversion("ft/s", "m/s")(value) for value in (0.09, 0.11))
    for velocity, found in ((slow, True), (quick, False)):
        one = bench("m/s")
        play(one, range(15), lambda _, v=velocity: v)
        assert bool(one.flagged("standing_water")) is found


def test_somebody_in_the_water_begins_it_anew() -> None:
    """A hand at the level's sensor: the ten minutes count from there."""
    one = bench()
    play(one, range(9), lambda _: 0.0)
    one.poll(9 * MINUTE, {"level": 0.5, "velocity": 0.0}, working=["level"])
    play(one, range(10, 19), lambda _: 0.0)
    assert not one.flagged("standing_water")


def test_of_two_velocities_it_is_the_one_of_the_levels_device() -> None:
    """Another pipe's velocity says nothing of this level; the level's own does."""
    one = bench(second="elsewhere")
    for minute in range(15):
        one.poll(minute * MINUTE, {"level": 0.5, "velocity": 1.0, "other": 0.0})
    assert not one.flagged("standing_water")
