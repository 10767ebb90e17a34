"""Two sensors of one thing that part: neither is believed, nor the pH that one of them corrects."""

import pytest

from gateway.diagnosed import Agreement, Diagnosed
from gateway.model import AlarmEdge, Quality
from gateway.signals.qc import Evidence, evidence
from gateway.units import conversion
from tests.support.bench_site import S, channel
from tests.support.diagnosed_site import Bench, station

MIN = 60


def bench(*, unit: str = "degC") -> Bench:
    """The probe's thermometer and another one, 3 degC for 10 min; pH corrected by the first, another pH by nothing."""
    to_c = conversion(unit, "degC")
    agreement = Agreement("other", 3.0, 600 * S, to_c.gain, to_c.offset)
    first = channel("first", quantity="temperature", unit="degC", diagnosed=Diagnosed(agreement=agreement))
    other = channel("other", quantity="temperature", unit=unit)
    ph = channel("ph", quantity="pH", unit="pH", diagnosed=Diagnosed(compensated_by="first"))
    return Bench(station(first, other, ph, channel("ph2", quantity="pH", unit="pH")))


def play(one: Bench, seconds: range, first: float | None, other: float | None) -> None:
    """Both thermometers and both pH every 15 s."""
    for second in seconds:
        values = {"first": first, "other": other, "ph": 7.0, "ph2": 7.0}
        one.poll(second, values)


@pytest.mark.parametrize(
    ("sentence", "first", "other", "unit", "found"),
    [
        ("3 degC apart is not more than 3.", 25.0, 28.0, "degC", False),
        ("3.1 degC apart is.", 25.0, 28.1, "degC", True),
        ("Either way round.", 28.1, 25.0, "degC", True),
        ("77 degF is 25 degC.", 25.0, 77.0, "degF", False),
        ("83 degF is 28.3 degC.", 25.0, 83.0, "degF", True),
    ],
)
def test_within_or_apart(sentence: str, first: float, other: float, unit: str, found: bool) -> None:
    """Eleven minutes of it."""
    one = bench(unit=unit)
    play(one, range(0, 11 * MIN, 15), first, other)
    assert bool(one.flagged("disagreement")) is found, sentence


def test_ten_minutes_make_both_doubtful_and_say_so() -> None:
    """Neither counts, the pH that the first corrects neither, the other pH does; one alarm of its own says which."""
    one = bench()
    play(one, range(0, 11 * MIN, 15), 25.0, 30.0)
    assert one.flagged("disagreement")[0][1] == 600
    last = {reading.channel: reading for reading in one.readings}
    assert {name: reading.tests for name, reading in last.items()} == {
        "first": ("disagreement",), "other": ("disagreement",), "ph": ("compensation",), "ph2": (),
    }  # fmt: skip
    assert {name for name, reading in last.items() if evidence(reading) == Evidence.DOUBTFUL} == {
        "first",
        "other",
        "ph",
    }
    assert one.edges("agreement-first") == [(AlarmEdge.RAISED.value, 600.0)]
    event = next(event for event in one.events if event.alarm == "agreement-first")
    assert event.reason == "first and other differ by 5 degC: compare both with a reference"


def test_agreeing_again_ends_it() -> None:
    """With the first pair that agrees, and after the alarm's off-delay."""
    one = bench()
    play(one, range(0, 11 * MIN, 15), 25.0, 30.0)
    play(one, range(11 * MIN, 13 * MIN, 15), 25.0, 26.0)
    assert all(reading.quality is Quality.GOOD for reading in one.readings[-4:])
    assert [edge for edge, _ in one.edges("agreement-first")] == ["raised", "cleared"]


def test_nine_minutes_and_a_moment_of_agreement_begin_anew() -> None:
    """Apart without a break is what counts."""
    one = bench()
    play(one, range(0, 9 * MIN, 15), 25.0, 30.0)
    play(one, range(9 * MIN, 9 * MIN + 15, 15), 25.0, 26.0)
    play(one, range(9 * MIN + 15, 18 * MIN, 15), 25.0, 30.0)
    assert one.flagged("disagreement") == []


def test_without_a_neighbour_nothing_is_evaluated() -> None:
    """The other is silent for longer than its hold: the ten minutes begin anew, and nobody is accused."""
    one = bench()
    play(one, range(0, 8 * MIN, 15), 25.0, 30.0)
    play(one, range(8 * MIN, 9 * MIN, 15), 25.0, None)
    play(one, range(9 * MIN, 18 * MIN, 15), 25.0, 30.0)
    assert one.flagged("disagreement") == []


def test_a_sensor_in_somebodys_hand_need_not_agree() -> None:
    """While the technician has one in a beaker, and until ten minutes after."""
    one = bench()
    play(one, range(0, 11 * MIN, 15), 25.0, 30.0)
    for second in range(11 * MIN, 30 * MIN, 15):
        one.poll(second, {"first": 25.0, "other": 4.0, "ph": 7.0, "ph2": 7.0}, working=["other"])
    tests = {reading.channel: reading.tests for reading in one.readings[-4:]}
    assert tests == {"first": (), "other": (), "ph": (), "ph2": ()}
