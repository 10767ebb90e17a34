"""A transmitter that computes the flow itself, against what its level should give."""

from collections.abc import Iterable
from pathlib import Path

import pytest

from gateway.config import load
from gateway.model import AlarmEdge, Fault, Instant, Quality, Reading, Sample
from gateway.pipeline import Pipeline

S = 1_000_000
START = Instant(1_700_000_000_000_000, 0)

SITE = """
[site]
id = "mh8"
name = "Manhole 8"
discharger = "Acme Dairy"
time_zone = "America/New_York"
ordinances = []

[channels.flow]
quantity = "flow"
unit = "gpm"
source_unit = "m3/h"
poll = "5 s"
suspect_span = {{ high = "1000 gpm" }}
cross_check = {{ level = "level", primary = {{ kind = "parshall", throat = "6 in"{more} }}{within} }}

[channels.level]
quantity = "level"
unit = "ft"
poll = "5 s"
{level}

[channels.tail]
quantity = "level"
unit = "ft"
poll = "5 s"
"""
TRUE_GPM = 309.3  # 0.5 ft in a 6-inch flume
M3_H_PER_GPM = 0.2271247


def moment(second: float) -> Instant:
    """So many seconds after the start."""
    return Instant(START.utc_us + int(second * S), int(second * S))


def pipeline(folder: Path, within: str = "", level: str = "", more: str = "") -> Pipeline:
    """A transmitter that sends m3/h, and its level."""
    path = folder / "site.toml"
    path.write_text(SITE.format(within=within, level=level, more=more), encoding="utf-8")
    return Pipeline(load(path, for_replay=True), START)


def play(manhole: Pipeline, seconds: Iterable[int], gpm: float, level: float | None = 0.5) -> list[Reading]:
    """The flow's readings while the transmitter says `gpm` and the level `level`."""
    flows = []
    for second in seconds:
        at = moment(second)
        samples = [Sample("flow", at, (), gpm * M3_H_PER_GPM)]
        if level is not None:
            samples.append(Sample("level", at, (), level))
        flows += [r for r in manhole.process(samples, at).readings if r.channel == "flow"]
    return flows


@pytest.mark.parametrize(
    ("share", "parts"), [(1.0, False), (1.049, False), (0.951, False), (1.052, True), (0.948, True)]
)
def test_five_per_cent_are_allowed(tmp_path: Path, share: float, parts: bool) -> None:
    """Within 5 % of the computed flow the transmitter is believed, on both sides; past it, after a minute, not."""
    last = play(pipeline(tmp_path), range(0, 66, 5), TRUE_GPM * share)[-1]
    assert (last.quality is Quality.SUSPECT) == parts
    assert last.tests == (("flow_disagrees",) if parts else ())


def test_the_transmitters_number_stays(tmp_path: Path) -> None:
    """Set to a 9-in flume by mistake, it says 477.1 gpm: that is what is recorded, in doubt."""
    last = play(pipeline(tmp_path), range(0, 66, 5), 477.1)[-1]
    assert last.value == pytest.approx(477.1, rel=1e-5)
    assert last.quality is Quality.SUSPECT


def test_a_transmitter_that_lags_is_not_doubted(tmp_path: Path) -> None:
    """A flow that is smoothed parts from its level for a moment at every change: less than a minute says nothing."""
    manhole = pipeline(tmp_path)
    lag = play(manhole, range(0, 60, 5), 200.0)
    back = play(manhole, range(60, 120, 5), TRUE_GPM)
    again = play(manhole, range(120, 180, 5), 200.0)
    assert {reading.quality for reading in lag + back + again} == {Quality.GOOD}
    assert play(manhole, [180], 200.0)[0].quality is Quality.SUSPECT
    assert play(manhole, [185], TRUE_GPM)[0].quality is Quality.GOOD


def test_without_a_level_nobody_can_tell(tmp_path: Path) -> None:
    """A level that is silent past its hold compares with nothing, and the minute begins anew after it."""
    manhole = pipeline(tmp_path)
    assert play(manhole, range(0, 66, 5), 200.0)[-1].quality is Quality.SUSPECT
    assert play(manhole, range(80, 200, 5), 200.0, None)[-1].quality is Quality.GOOD
    assert play(manhole, [200], 200.0)[0].quality is Quality.GOOD


@pytest.mark.parametrize("level", [0.05, 1.6])
def test_outside_the_rating_nobody_can_tell(tmp_path: Path, level: float) -> None:
    """Below and above the proven heads the computed flow proves nothing against the transmitter."""
    assert play(pipeline(tmp_path), range(0, 300, 5), 3.0, level)[-1].quality is Quality.GOOD


def test_what_the_level_cannot_know_is_allowed_too(tmp_path: Path) -> None:
    """A level good to 0.01 ft of 0.5 explains 1.58 x 2 = 3.2 % more: 8 % apart is no contradiction then, 8.3 % is."""
    level = 'uncertainty = "0.01 ft"'
    assert play(pipeline(tmp_path, level=level), range(0, 66, 5), TRUE_GPM * 1.08)[-1].quality is Quality.GOOD
    assert play(pipeline(tmp_path, level=level), range(0, 66, 5), TRUE_GPM * 1.083)[-1].quality is Quality.SUSPECT


def test_the_site_says_how_much(tmp_path: Path) -> None:
    """`within` of the site file stands instead of the 5 %."""
    within = ', within = "10 %"'
    assert play(pipeline(tmp_path, within), range(0, 66, 5), TRUE_GPM * 1.09)[-1].quality is Quality.GOOD
    assert play(pipeline(tmp_path, within), range(0, 66, 5), TRUE_GPM * 1.11)[-1].quality is Quality.SUSPECT


def test_a_doubt_of_its_own_stands_first(tmp_path: Path) -> None:
    """A flow that fails is failed, and a silent transmitter is missing: the comparison adds nothing to it."""
    manhole = pipeline(tmp_path)
    play(manhole, range(0, 66, 5), 5000.0)
    at = moment(70)
    outcome = manhole.process([Sample("flow", at, (), None, Fault.SILENT)], at)
    assert [r.tests for r in outcome.readings] == [("silent",)]
    assert play(manhole, range(75, 141, 5), 5000.0)[-1].tests == ("suspect_span", "flow_disagrees")


def test_a_transmitter_over_a_full_pipe_is_not_believed(tmp_path: Path) -> None:
    """From the crown on its number is that of a level, whether it agrees with the rating or not, and at once."""
    manhole = pipeline(tmp_path, level='crown = "6 in"')
    (flow,) = play(manhole, [0], TRUE_GPM, 0.5)
    assert (flow.quality, flow.tests) == (Quality.SUSPECT, ("level_only",))
    assert play(manhole, [5], 270.0, 0.46)[0].quality is Quality.GOOD


def test_a_transmitter_over_a_drowned_flume_is_not_believed(tmp_path: Path) -> None:
    """It computes on from its one level; the second one shows that the flume is drowned."""
    manhole = pipeline(tmp_path, more=', downstream = "tail"')
    at = moment(0)
    manhole.process([Sample("tail", at, (), 0.29)], at)
    assert play(manhole, [5], TRUE_GPM)[0].quality is Quality.GOOD
    at = moment(6)
    manhole.process([Sample("tail", at, (), 0.31)], at)
    (flow,) = play(manhole, [10], TRUE_GPM)
    assert (flow.quality, flow.tests) == (Quality.SUSPECT, ("submerged",))


def test_somebody_is_told_by_its_own_word(tmp_path: Path) -> None:
    """A transmitter that stays at odds with its level raises the flow's sensor alarm, and the reason says why."""
    manhole = pipeline(tmp_path)
    raised = []
    for second in range(0, 240, 5):
        at = moment(second)
        samples = [Sample("flow", at, (), 477.1 * M3_H_PER_GPM), Sample("level", at, (), 0.5 + second % 3 * 1e-6)]
        raised += [e for e in manhole.process(samples, at).alarm_events if e.edge is AlarmEdge.RAISED]
    assert [e.alarm for e in raised if e.alarm.startswith("sensor-") and "tail" not in e.alarm] == ["sensor-flow"]
    assert "flow_disagrees" in next(e.reason for e in raised if e.alarm == "sensor-flow")
