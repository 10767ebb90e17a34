"""Flow that runs while level has the probe dry: nobody can tell, and somebody is told so."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.config import load
from gateway.model import AlarmEdge, Instant, Outcome, Sample, Verdict
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.site import Site

S = 1_000_000
START = Instant(1_700_000_000_000_000, 0)


@pytest.fixture(scope="module")
def site() -> Site:
    """The little-valley example: discharging above 2 gpm, the lowest probe wet from 0.1 ft, both settled in 60 s."""
    return load(Path(str(shipped("examples", "little-valley"))), for_replay=True)


def moment(second: float) -> Instant:
    """So many seconds after the start."""
    return Instant(START.utc_us + int(second * S), int(second * S))


def play(pipeline: Pipeline, seconds: range, level_bar: Callable[[int], float], ph: float) -> list[Outcome]:
    """Flow at 20 gpm, the level as given, pH as given, every 15 s."""
    flow_m3s = 20 * 0.003785411784 / 60
    outcomes = []
    for second in seconds:
        at = moment(second)
        wobble = second % 7 * 1e-9
        values = {"flow": flow_m3s + wobble, "level": level_bar(second), "ph": ph + second % 11 * 1e-3}
        outcomes.append(pipeline.process([Sample(name, at, (), value) for name, value in values.items()], at))
    return outcomes


def test_a_level_stuck_at_nothing_is_not_no_discharge(site: Site) -> None:
    """Flow runs, the level says dry for an hour, pH is 2: not a second of pH's time is put down as no discharge."""
    pipeline = Pipeline(site, START)
    play(pipeline, range(0, 3601, 15), lambda _: 0.0, 2.0)
    spent = {r.rule.id: r.seconds.report(moment(3600).mono_us) for r in pipeline.rules if r.channel == "ph"}
    for verdicts in spent.values():
        assert {verdict for verdict, us in verdicts.items() if us} == {Verdict.NOT_EVALUABLE}


def test_a_level_stuck_at_nothing_is_told(site: Site) -> None:
    """Flow runs, the level says dry for an hour: the sensor alarm of the probe is raised once and its text says why."""
    pipeline = Pipeline(site, START)
    outcomes = play(pipeline, range(0, 3601, 15), lambda _: 0.0, 2.0)
    raised = [e for o in outcomes for e in o.alarm_events if e.alarm == "sensor-ph" and e.edge is AlarmEdge.RAISED]
    assert len(raised) == 1
    assert [
        m.text for o in outcomes for m in o.messages if m.alarm == "sensor-ph" and "flow and level disagree" in m.text
    ]


def test_a_disagreement_of_a_filling_pipe_is_not_told(site: Site) -> None:
    """A level that follows the flow ten minutes late raises nothing: nobody is woken for every pump that starts."""
    pipeline = Pipeline(site, START)
    outcomes = play(pipeline, range(0, 1801, 15), lambda second: 0.0 if second < 600 else 0.05, 7.0)
    assert not [e for o in outcomes for e in o.alarm_events if e.alarm == "sensor-ph"]
