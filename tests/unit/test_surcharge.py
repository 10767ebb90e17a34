"""A full pipe and one that runs over: an alarm that nothing puts aside."""

import pytest

from gateway.diagnosed import Diagnosed
from gateway.model import AlarmEdge, Quality, Resume, Severity
from gateway.signals.qc import Evidence, evidence
from tests.support.bench_site import channel
from tests.support.diagnosed_site import Bench, moment, station

CROWN, RIM, CAPACITY = 0.5, 6.0, 282.7  # 6 in; the manhole's rim; 1.1 x 257 gpm


def bench() -> Bench:
    """A level with a crown and a rim, and a flow with a capacity, every 15 s."""
    level = channel("level", quantity="level", unit="ft", diagnosed=Diagnosed(crown=CROWN, overflow_at=RIM))
    return Bench(station(level, channel("flow", diagnosed=Diagnosed(capacity=CAPACITY))))


def play(one: Bench, seconds: range, level: float | None, flow: float | None = 20.0, working: str = "") -> None:
    """Both every 15 s."""
    for second in seconds:
        one.poll(second, {"level": level, "flow": flow}, working=[working] if working else [])


@pytest.mark.parametrize(
    ("sentence", "level", "flow", "severity"),
    [
        ("Below the crown nothing is the matter.", 0.499, 282.0, None),
        ("At the crown the pipe is full.", 0.5, 20.0, Severity.HIGH),
        ("More than the pipe carries: surcharge or a fault, and somebody looks.", 0.3, 283.0, Severity.HIGH),
        ("At the rim the water leaves the manhole.", 6.0, 20.0, Severity.CRITICAL),
        ("A silent level cannot tell.", None, 20.0, None),
    ],
)
def test_when_and_how_loud(sentence: str, level: float | None, flow: float, severity: Severity | None) -> None:
    """Two minutes of it, over the alarm's delay."""
    one = bench()
    play(one, range(0, 120, 15), level, flow)
    raised = [event.severity for event in one.events if event.alarm == "surcharge"]
    assert raised == ([] if severity is None else [severity]), sentence


def test_a_ripple_of_less_than_a_minute_is_none() -> None:
    """One wave over the crown pages nobody."""
    one = bench()
    play(one, range(0, 45, 15), 0.6)
    play(one, range(45, 300, 15), 0.3)
    assert one.edges("surcharge") == []


def test_it_goes_when_the_level_is_clearly_below() -> None:
    """Below 98 % of the crown, and after the off-delay."""
    one = bench()
    play(one, range(0, 120, 15), 0.55)
    play(one, range(120, 600, 15), 0.495)
    assert one.edges("surcharge") == [(AlarmEdge.RAISED.value, 60.0)]
    play(one, range(600, 720, 15), 0.48)
    assert one.edges("surcharge")[1:] == [(AlarmEdge.CLEARED.value, 660.0)]


def test_overflow_is_louder_and_on_record() -> None:
    """High at the crown, critical at the rim, with one note of when and how high."""
    one = bench()
    play(one, range(0, 120, 15), 0.6)
    play(one, range(120, 300, 15), 6.2)
    assert [(e.edge.value, e.severity) for e in one.events if e.alarm == "surcharge"] == [
        ("raised", Severity.HIGH), ("severity_up", Severity.CRITICAL),
    ]  # fmt: skip
    notes = [note for note in one.notes if note.kind == "overflow"]
    assert [(note.at.mono_us, note.body["level"]) for note in notes] == [(120_000_000, 6.2)]


def test_neither_shelf_nor_maintenance_puts_it_aside() -> None:
    """The shelf is refused; a level that somebody works on still raises it."""
    one = bench()
    play(one, range(0, 120, 15), 0.6, working="level")
    assert one.edges("surcharge") == [(AlarmEdge.RAISED.value, 60.0)]
    at = moment(120)
    step = one.pipeline.engine.shelve("surcharge", at.mono_us + 3_600_000_000, "Technician", "cleaning", at)
    assert step.refused


def test_a_level_that_fails_leaves_it_as_it_stands() -> None:
    """Whoever knows nothing of the water ends no alarm."""
    one = bench()
    play(one, range(0, 120, 15), 0.6)
    play(one, range(120, 1200, 15), None)
    assert one.edges("surcharge") == [(AlarmEdge.RAISED.value, 60.0)]


def test_more_than_the_pipe_carries_is_no_flow() -> None:
    """Suspect and not counted, with the number as it came; the next believable one is good."""
    one = bench()
    reading = one.poll(0, {"flow": 300.0})["flow"]
    assert (reading.quality, reading.tests, reading.value) == (Quality.SUSPECT, ("over_pipe",), 300.0)
    assert evidence(reading) == Evidence.DOUBTFUL
    assert one.poll(15, {"flow": 250.0})["flow"].quality is Quality.GOOD


def test_a_restart_tells_it_again_to_nobody_and_ends_it_when_it_is_over() -> None:
    """The alarm stands from before; the first good word of the level ends it."""
    before = bench()
    play(before, range(0, 120, 15), 0.6)
    after = Bench(before.site, 120)
    after.pipeline.restore(before.state | before.pipeline.snapshot(), Resume(moment(120), 0))
    play(after, range(120, 180, 15), 0.6)
    assert after.edges("surcharge") == []
    play(after, range(180, 300, 15), 0.3)
    assert [edge for edge, _ in after.edges("surcharge")] == ["cleared"]
