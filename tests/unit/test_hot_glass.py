"""Hours in hot water: counted by the minute, told once they are too many, begun anew by a calibration."""

import json

import pytest

from gateway.diagnosed import Heat
from gateway.model import Mode, Quality, Resume, Sample
from gateway.quality_letter import quality_letter
from tests.support.diagnosed_site import HOUR, Bench, minutely, moment, ph, station

MIN = 60


def bench(hours: int = 3) -> Bench:
    """pH beside a temperature in degF; the dose is `hours` above 122 degF, which is 50 degC."""
    return Bench(station(ph(heat=Heat("temperature", 122.0, hours)), minutely("temperature", "temperature", "degF")))


def play(one: Bench, seconds: range, degf: float) -> None:
    """pH moves a little, the temperature stands."""
    for second in seconds:
        one.poll(second, {"temperature": degf, "ph": 7.0 + second % 7 * 0.1})


def test_three_hours_above_fifty_degrees_want_a_check_and_leave_the_value_as_good() -> None:
    """The flag stands from the minute that completes the hours; letter M, quality good."""
    one = bench()
    play(one, range(0, 3 * HOUR, MIN), 123.0)
    assert one.flagged("hot_glass") == []
    play(one, range(3 * HOUR, 4 * HOUR, MIN), 123.0)
    name, second = one.flagged("hot_glass")[0]
    assert name == "ph"
    assert 3 * HOUR <= second <= 3 * HOUR + 2 * MIN
    last = one.readings[-1]
    assert (last.channel, last.quality, quality_letter(last)) == ("ph", Quality.GOOD, "M")


@pytest.mark.parametrize(("degf", "found"), [(122.0, False), (122.1, True), (100.0, False)])
def test_only_what_is_above_counts(degf: float, found: bool) -> None:
    """Exactly 50 degC is not above it."""
    one = bench()
    play(one, range(0, 5 * HOUR, MIN), degf)
    assert bool(one.flagged("hot_glass")) is found


def test_hot_hours_add_up_over_cold_ones_and_over_a_restart() -> None:
    """Two hours hot, ten cold, a restart, one hour hot: three."""
    one = bench()
    play(one, range(0, 2 * HOUR, MIN), 140.0)
    play(one, range(2 * HOUR, 12 * HOUR, MIN), 60.0)
    stored = json.loads(json.dumps(one.pipeline.snapshot()))
    again = Bench(one.site, 12 * HOUR)
    again.pipeline.restore(stored, Resume(moment(12 * HOUR), 0))
    play(again, range(12 * HOUR, 13 * HOUR + 5 * MIN, MIN), 140.0)
    assert again.flagged("hot_glass")[0][1] >= 13 * HOUR - MIN


def test_a_calibration_begins_the_hours_anew_and_a_visit_does_not() -> None:
    """Maintenance leaves the flag; a calibration takes it away and counts from nothing."""
    one = bench()
    play(one, range(0, 4 * HOUR, MIN), 140.0)
    at = moment(4 * HOUR)
    for mode, flagged in ((Mode.MAINTENANCE, True), (Mode.CALIBRATION, False)):
        one.pipeline.process([Sample("ph", at, (), 7.0, mode=mode)], at)
        at = moment(at.mono_us / 1e6 + MIN)
        outcome = one.pipeline.process([Sample("ph", at, (), 7.05)], at)
        assert ("hot_glass" in outcome.readings[0].tests) is flagged
        at = moment(at.mono_us / 1e6 + MIN)
    play(one, range(5 * HOUR, 7 * HOUR, MIN), 140.0)
    assert not [second for _, second in one.flagged("hot_glass") if second > 5 * HOUR]
