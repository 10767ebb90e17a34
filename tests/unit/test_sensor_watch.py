"""The alarm of an instrument that cannot be believed, through the pipeline and over a restart."""

from pathlib import Path

import pytest

from gateway.alarms.wording import SensorHealth
from gateway.config import load
from gateway.model import AlarmEdge, Condition, Fault, Instant, Resume, Sample, Severity
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.site import Site

S = 1_000_000
START = Instant(1_700_000_000_000_000, 0)


@pytest.fixture(scope="module")
def site() -> Site:
    """The little-valley example."""
    return load(Path(str(shipped("examples", "little-valley"))), for_replay=True)


def moment(second: float) -> Instant:
    """So many seconds after the start."""
    return Instant(START.utc_us + int(second * S), int(second * S))


def play(pipeline: Pipeline, seconds: range, value: float | None) -> list[tuple[str, float]]:
    """Feed pH every 15 s; the edges of its sensor alarm, with their seconds."""
    edges = []
    for second in seconds:
        fault = Fault.SILENT if value is None else None
        outcome = pipeline.process([Sample("ph", moment(second), (), value, fault)], moment(second))
        edges += [(e.edge.value, e.at.mono_us / S) for e in outcome.alarm_events if e.alarm == "sensor-ph"]
    return edges


def test_silence_raises_and_a_valid_reading_clears(site: Site) -> None:
    """Stale after its time and the on-delay; back with the first valid reading and the off-delay."""
    pipeline = Pipeline(site, START)
    play(pipeline, range(0, 60, 15), 7.0)
    edges = play(pipeline, range(60, 600, 15), None)
    assert [edge for edge, _ in edges] == [AlarmEdge.RAISED.value]
    edges = play(pipeline, range(600, 900, 15), 7.0)
    assert [edge for edge, _ in edges] == [AlarmEdge.CLEARED.value]


def test_an_alarm_from_before_the_restart_clears_when_the_probe_is_back(site: Site) -> None:
    """A new process that only ever saw the probe well must still say so, or the alarm stands for ever."""
    before = Pipeline(site, START)
    state: dict = {}
    for second in range(0, 600, 15):
        outcome = before.process([Sample("ph", moment(second), fault=Fault.SILENT)], moment(second))
        state |= outcome.state
    after = Pipeline(site, moment(600))
    after.restore(state, Resume(moment(600), 0))
    edges = play(after, range(600, 900, 15), 7.0)
    assert [edge for edge, _ in edges] == [AlarmEdge.CLEARED.value]


def test_the_text_says_the_one_thing_to_do(site: Site) -> None:
    """Whoever is called at night reads what is the matter and what to do about it, in one segment."""
    pipeline = Pipeline(site, START)
    messages = []
    for second in range(0, 600, 15):
        sample = Sample("ph", moment(second), (), None, Fault.SILENT)
        messages += pipeline.process([sample], moment(second)).messages
    texts = [message.text for message in messages if message.alarm == "sensor-ph"]
    assert texts
    assert "sensor ph silent" in texts[0]
    assert "Check power, cable, address, speed and parity of the instrument." in texts[0]
    assert len(texts[0]) <= 160


@pytest.mark.parametrize(
    ("sentence", "severity", "health"),
    [
        ("What only wants a visit leaves the sensor as good as it was.", Severity.NOTICE, SensorHealth.OK),
        ("One that cannot be believed is at fault.", Severity.WARNING, SensorHealth.FAULT),
    ],
)
def test_what_the_text_of_an_exceedance_says_of_its_sensor(
    site: Site, sentence: str, severity: Severity, health: SensorHealth
) -> None:
    """A notice does not write SENSOR FAULT beside a proven exceedance."""
    engine = Pipeline(site, START).engine
    engine.update([Condition("sensor-ph", True, severity, "dry_glass: check it")], moment(0))
    engine.update([Condition("lv-ph-low", False, Severity.HIGH)], moment(120))
    assert engine._sensor("lv-ph-low") is health, sentence
