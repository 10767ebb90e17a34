"""A hand in the manhole: probes that step together toward clean water while the flow goes on."""

import pytest

from gateway.diagnosed import Tamper
from gateway.model import Severity
from tests.support.bench_site import channel
from tests.support.diagnosed_site import Bench, minutely, station

MIN = 60
SEWAGE = {"ph": 9.0, "conductivity": 1500.0, "temperature": 30.0, "flow": 20.0, "lid": 1.0}
BUCKET = {"ph": 7.2, "conductivity": 350.0, "temperature": 16.0}
"""Tap water: pH nearly 7, conductivity that of the tap, temperature that of the air."""


def bench() -> Bench:
    """Three probes and a flow, four times a minute, and a lid that is normally a closed contact."""
    probes = [
        channel(name, quantity=quantity, unit=unit)
        for name, quantity, unit in (
            ("ph", "pH", "pH"), ("conductivity", "conductivity", "uS/cm"), ("temperature", "temperature", "degC"),
            ("flow", "flow", "gpm"), ("lid", "contact", "state"),
        )
    ]  # fmt: skip
    return Bench(station(*probes, tamper=Tamper(contacts=(("lid", True),))))


def play(one: Bench, minutes: range, *, working: tuple[str, ...] = (), **values: float | None) -> None:
    """So many minutes of sewage, but for the values given."""
    for second in range(minutes.start * MIN, minutes.stop * MIN, 15):
        one.poll(second, SEWAGE | values, working=working)


@pytest.mark.parametrize(
    ("sentence", "bucket", "raised"),
    [
        ("All three toward clean water.", BUCKET, True),
        ("Two of three are a discharge that changes.", BUCKET | {"temperature": 30.0}, False),
        ("pH away from 7 is no clean water.", BUCKET | {"ph": 11.0}, False),
        ("pH by less than 0.5 is no step.", BUCKET | {"ph": 8.6}, False),
        ("Conductivity by less than 30 % is no step.", BUCKET | {"conductivity": 1100.0}, False),
        ("Conductivity that rises is none toward the tap's.", BUCKET | {"conductivity": 2500.0}, False),
        ("Temperature by less than 2 degC is no step.", BUCKET | {"temperature": 28.5}, False),
        ("A flow that changes is another discharge.", BUCKET | {"flow": 25.0}, False),
        ("A flow that nobody knows cannot be unchanged.", BUCKET | {"flow": None}, False),
    ],
)
def test_a_bucket_and_what_is_none(sentence: str, bucket: dict, raised: bool) -> None:
    """Ten minutes of sewage, then this."""
    one = bench()
    flow = bucket.get("flow", 20.0)
    play(one, range(10), flow=20.0 if flow is not None else None)
    play(one, range(10, 15), **bucket)
    assert bool(one.edges("tamper")) is raised, sentence


def test_steps_one_after_the_other_are_none() -> None:
    """pH now, conductivity in five minutes, temperature in ten: a plant that changes over."""
    one = bench()
    play(one, range(10))
    play(one, range(10, 15), ph=7.2)
    play(one, range(15, 20), ph=7.2, conductivity=350.0)
    play(one, range(20, 25), **BUCKET)
    assert one.edges("tamper") == []


def test_a_drift_is_no_step() -> None:
    """The same way in half an hour."""
    one = bench()
    play(one, range(10))
    for minute in range(30):
        values = {name: SEWAGE[name] + (BUCKET[name] - SEWAGE[name]) * minute / 30 for name in BUCKET}
        play(one, range(10 + minute, 11 + minute), **values)
    assert one.edges("tamper") == []


def test_it_is_told_within_three_minutes_and_stays_until_reset() -> None:
    """A warning that latches: somebody has to have looked. Nothing is flagged: the values may be what they are in."""
    one = bench()
    play(one, range(10))
    play(one, range(10, 13), **BUCKET)
    (raised,) = [event for event in one.events if event.alarm == "tamper"]
    assert (raised.severity, 10 * MIN < raised.at.mono_us / 1e6 <= 13 * MIN) == (Severity.WARNING, True)
    assert raised.reason.endswith(": go and look")
    assert all(reading.tests == () for reading in one.readings)
    play(one, range(13, 40))
    one.tick(40 * MIN)
    view = next(view for view in one.pipeline.engine.view() if view.id == "tamper")
    assert view.state.name == "LATCHED_UNACKNOWLEDGED"


def test_with_the_lid_open_it_is_a_high_alarm() -> None:
    """Two witnesses of the same hand."""
    one = bench()
    play(one, range(9))
    play(one, range(9, 10), lid=0.0)
    play(one, range(10, 15), **BUCKET, lid=0.0)
    assert [event.severity for event in one.events if event.alarm == "tamper"] == [Severity.HIGH]


@pytest.mark.parametrize("channel_at_work", ["ph", "lid"])
def test_somebody_at_work_by_name_tampers_with_nothing(channel_at_work: str) -> None:
    """Whichever channel was put into maintenance, and for ten minutes after."""
    one = bench()
    play(one, range(10))
    play(one, range(10, 12), working=(channel_at_work,))
    play(one, range(12, 17), **BUCKET)
    assert one.edges("tamper") == []
    play(one, range(17, 30))
    play(one, range(30, 35), **BUCKET)
    assert one.edges("tamper")


def test_polls_further_apart_than_a_minute_cannot_tell() -> None:
    """At 15 minutes nobody knows what was simultaneous."""
    one = Bench(station(*(minutely(*spec) for spec in (
        ("ph", "pH", "pH"), ("conductivity", "conductivity", "uS/cm"), ("temperature", "temperature", "degC"),
        ("flow", "flow", "gpm"),
    )), tamper=Tamper()))  # fmt: skip
    for poll in range(20):
        values = {name: SEWAGE[name] for name in ("ph", "conductivity", "temperature", "flow")}
        one.poll(900 * poll, values | (BUCKET if poll >= 10 else {}))
    assert one.edges("tamper") == []
