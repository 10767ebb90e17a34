"""What wants a visit and leaves the value as it was, and what a probe is worth that was just wetted again."""

import pytest

from gateway.diagnosed import Diagnosed
from gateway.model import AlarmEdge, Quality, Severity
from gateway.quality_letter import quality_letter
from gateway.signals.qc import Evidence, evidence
from tests.support.bench_site import S, channel
from tests.support.diagnosed_site import DAY, HOUR, Bench, minutely, ph, station

MIN = 60


def dry_bench(hold_off_s: float = 0) -> Bench:
    """pH and the flow that says whether it is wet, once a minute."""
    return Bench(
        station(ph(dry_us=DAY * S), minutely("flow", "flow", "gpm"), witness=("flow", 2.0), hold_off_s=hold_off_s)
    )


def play(one: Bench, seconds: range, flow: float) -> None:
    """pH stands at 7, the flow as given."""
    for second in seconds:
        one.poll(second, {"flow": flow, "ph": 7.0})


def test_a_glass_that_hangs_dry_for_a_day_wants_a_visit() -> None:
    """A notice after 24 h, letter M, no word before; the value is no worse for it, and wet again ends it."""
    one = dry_bench()
    play(one, range(0, DAY, 2 * MIN), 0.0)
    assert one.flagged("dry_glass") == []
    play(one, range(DAY, DAY + 3 * HOUR, 2 * MIN), 0.0)
    first = one.flagged("dry_glass")[0]
    assert first == ("ph", DAY)
    last = next(reading for reading in reversed(one.readings) if reading.channel == "ph")
    assert (last.quality, last.dry, quality_letter(last)) == (Quality.GOOD, True, "M")
    raised = [event for event in one.events if event.alarm == "sensor-ph" and event.edge is AlarmEdge.RAISED]
    assert [(event.severity, event.reason.partition(":")[0]) for event in raised] == [(Severity.NOTICE, "dry_glass")]
    play(one, range(DAY + 3 * HOUR, DAY + 3 * HOUR + 10 * MIN, MIN), 20.0)
    assert one.readings[-1].tests == ()
    assert [edge for edge, _ in one.edges("sensor-ph")][-1] == "cleared"


def test_a_notice_is_no_sensor_fault() -> None:
    """What only wants a visit does not make the text of an exceedance say SENSOR FAULT."""
    one = dry_bench()
    play(one, range(0, DAY + 3 * HOUR, 2 * MIN), 0.0)
    engine = one.pipeline.engine
    assert next(view for view in engine.view() if view.id == "sensor-ph").severity is Severity.NOTICE


@pytest.mark.parametrize(
    ("sentence", "hold_off_s", "doubtful"),
    [
        ("Two minutes after it came back it is doubtful.", 120, [True, True, False, False]),
        ("Without a hold-off it is believed at once.", 0, [False, False, False, False]),
    ],
)
def test_a_probe_that_was_just_wetted(sentence: str, hold_off_s: float, doubtful: list[bool]) -> None:
    """Dry for an hour, then flow; the first four readings that the interlock lets through."""
    one = dry_bench(hold_off_s)
    play(one, range(0, HOUR, MIN), 0.0)
    play(one, range(HOUR, HOUR + 10 * MIN, MIN), 20.0)
    wet = [r for r in one.readings if r.channel == "ph" and r.at.mono_us >= HOUR * S and not r.dry]
    assert [r.tests == ("rewetted",) for r in wet[:4]] == doubtful, sentence
    assert [evidence(r) == Evidence.DOUBTFUL for r in wet[:4]] == doubtful, sentence


def test_a_start_is_no_wetting() -> None:
    """A gateway that only ever saw the probe wet holds nothing off."""
    one = dry_bench(120)
    play(one, range(0, 5 * MIN, MIN), 20.0)
    assert one.flagged("rewetted") == []


@pytest.mark.parametrize(
    ("sentence", "to", "flag"),
    [
        ("10 cm in one poll may be a wave.", 0.30 + 0.32, ()),
        ("More than 10 cm is flagged.", 0.30 + 0.33, ("level_jump",)),
    ],
)
def test_a_level_that_jumps(sentence: str, to: float, flag: tuple[str, ...]) -> None:
    """10 cm are 0.328 ft; it is flagged and counts."""
    one = Bench(station(channel("level", quantity="level", unit="ft", diagnosed=Diagnosed(jump=10 / 30.48))))
    one.poll(0, {"level": 0.30})
    reading = one.poll(15, {"level": to})["level"]
    assert reading.tests == flag, sentence
    assert evidence(reading) == Evidence.VALID
    after_a_gap = one.poll(600, {"level": 5.0})["level"]
    assert after_a_gap.tests == (), "no neighbour, no jump"


@pytest.mark.parametrize(
    ("sentence", "night", "share", "found"),
    [
        ("Conductivity of the night down by 30 %: fouled.", -0.3, 0.70, "night_fall"),
        ("Down by 29 %: not.", -0.3, 0.71, ""),
        ("Night minimum up by half: debris.", 0.5, 1.50, "night_rise"),
        ("Up by 49 %: not.", 0.5, 1.49, ""),
        ("Conductivity that rises is not fouled.", -0.3, 1.5, ""),
    ],
)
def test_the_night_beside_that_of_a_week_before(sentence: str, night: float, share: float, found: str) -> None:
    """Seven nights at 800, the days anything; the eighth at a share of it. The value stays good."""
    one = Bench(station(minutely("c", "conductivity", "uS/cm", night=night)))
    for second in range(0, 7 * DAY + 6 * HOUR, 10 * MIN):
        small_hours = 2 <= second % DAY / HOUR < 5
        value = 800.0 * (share if second >= 7 * DAY else 1) if small_hours else 300.0 + second % 7777
        one.poll(second, {"c": value})
    last = one.readings[-1]
    assert last.tests == ((found,) if found else ()), sentence
    assert last.quality is Quality.GOOD
    assert quality_letter(last) == ("M" if found else "")


def test_a_night_without_a_neighbour_says_nothing() -> None:
    """Six nights are no week."""
    one = Bench(station(minutely("c", "conductivity", "uS/cm", night=-0.3)))
    for second in range(0, 6 * DAY + 6 * HOUR, 10 * MIN):
        one.poll(second, {"c": 800.0 if second < 6 * DAY else 100.0})
    assert one.readings[-1].tests == ()
