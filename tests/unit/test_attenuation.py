"""A coated probe: damped against its own history, hour by hour of the day."""

import math
from collections.abc import Callable

import pytest

from gateway.diagnosed import Diagnosed
from gateway.model import Quality
from gateway.signals.qc import Evidence, evidence
from tests.support.bench_site import S, channel
from tests.support.diagnosed_site import DAY, HOUR, Bench, station

POLL_S = 600


def bench(**diagnosed: object) -> Bench:
    """A pH read every ten minutes, its display in hundredths."""
    facts = {"resolution": 0.01, "attenuation": 0.25} | diagnosed
    spec = channel(
        "ph",
        poll_s=POLL_S,
        hold_s=1500,
        quantity="pH",
        unit="pH",
        stale_after_us=1500 * S,
        diagnosed=Diagnosed(**facts),
    )
    return Bench(station(spec))


def wave(second: float, swing: float) -> float:
    """pH swinging about 7.5 once an hour: variance swing squared over two, whatever the hour."""
    return 7.5 + swing * math.sin(2 * math.pi * second / HOUR)


def play(one: Bench, swing: Callable[[float], float | None], days: float, begin: float = 0) -> None:
    """Poll for so many days; None is a poll without an answer."""
    for second in range(int(begin), int(begin + days * DAY), POLL_S):
        size = swing(second)
        one.poll(second, {"ph": None if size is None else wave(second, size)})


@pytest.mark.parametrize(
    ("sentence", "share", "found"),
    [
        ("Variance at 0.5 squared, a quarter, less a little: damped.", 0.49, True),
        ("A little more than a quarter is not.", 0.51, False),
        ("A probe that reads as ever is not.", 1.0, False),
        ("One that swings more is not.", 2.0, False),
    ],
)
def test_damped_to_a_quarter(sentence: str, share: float, found: bool) -> None:
    """After eight days as ever the swing is a share of itself for a day."""
    one = bench()
    play(one, lambda second: 0.4 if second < 8 * DAY else 0.4 * share, 9)
    assert bool(one.flagged("attenuated")) is found, sentence


def test_it_takes_twelve_hours_and_not_thirteen() -> None:
    """Damped from the start of a day, it is told with the first reading after twelve whole hours."""
    one = bench()
    play(one, lambda second: 0.4 if second < 8 * DAY else 0.1, 9)
    first = one.flagged("attenuated")[0][1]
    # The geometric mean over twelve hours at 1/16 of the variance passes 1/4 with the sixth of them: 16^(6/12) = 4.
    assert 8 * DAY + 6 * HOUR <= first <= 8 * DAY + 12 * HOUR + POLL_S
    one = bench()
    play(one, lambda second: 0.4 if second < 8 * DAY else 0.4 * 0.499, 9)
    assert one.flagged("attenuated")[0][1] == pytest.approx(8 * DAY + 12 * HOUR, abs=2 * POLL_S)


def test_a_plant_that_sleeps_at_night_is_not_a_coated_probe() -> None:
    """Twelve quiet hours of every night are compared with other nights, not with the day."""
    one = bench()
    play(one, lambda second: 0.4 if second % DAY < 12 * HOUR else 0.02, 14)
    assert one.flagged("attenuated") == []


def test_one_acid_slug_does_not_make_the_other_days_look_damped() -> None:
    """An hour of 3 pH in the history outweighs thirty others in a mean of variances, and not in a geometric one."""
    one = bench()
    play(one, lambda second: 3.0 if second < 8 * HOUR else 0.1, 10)
    assert one.flagged("attenuated") == []


def test_nothing_is_said_before_a_week_is_known() -> None:
    """Six days of history are none: nobody knows yet how this probe behaves at this hour."""
    one = bench()
    play(one, lambda second: 0.4 if second < 6 * DAY else 0.01, 7)
    assert one.flagged("attenuated") == []


def test_hours_that_nobody_saw_are_no_hours() -> None:
    """A probe silent for most of each hour is neither damped nor healthy."""
    one = bench()
    play(one, lambda second: 0.4 if second < 8 * DAY else 0.01 if second % HOUR < 2 * POLL_S else None, 9)
    assert one.flagged("attenuated") == []


def test_a_still_value_is_as_still_as_its_display_allows() -> None:
    """A probe that never moved by more than its last digit cannot be damped further."""
    one = bench(resolution=0.1)
    play(one, lambda second: 0.02 if second < 8 * DAY else 0.0, 10)
    assert one.flagged("attenuated") == []


def test_what_it_does_to_a_reading() -> None:
    """Suspect, not counted, the number as it was; the sensor's alarm says what to do; the signal back ends it."""
    one = bench()
    play(one, lambda second: 0.4 if second < 8 * DAY else 0.1, 9)
    last = one.readings[-1]
    assert (last.quality, last.tests) == (Quality.SUSPECT, ("attenuated",))
    assert last.value == wave(last.at.mono_us / 1e6, 0.1)
    assert evidence(last) == Evidence.DOUBTFUL
    raised = [event for event in one.events if event.alarm == "sensor-ph"]
    assert [event.reason for event in raised] == ["attenuated: clean the probe"]
    play(one, lambda _: 0.4, 0.7, begin=9 * DAY)
    assert one.readings[-1].quality is Quality.GOOD


def test_a_visit_ends_it() -> None:
    """Somebody was at the probe: the next twelve hours decide anew."""
    one = bench()
    play(one, lambda second: 0.4 if second < 8 * DAY else 0.1, 9)
    one.poll(9 * DAY, {"ph": 7.0}, working=["ph"])
    assert one.poll(9 * DAY + POLL_S, {"ph": 7.0})["ph"].tests == ()
