"""A flow computed from a level, through the pipeline: what it is when level, pipe or tailwater spoil it."""

from pathlib import Path

import pytest

from gateway.config import load
from gateway.model import Fault, Instant, Quality, Reading, Sample
from gateway.pipeline import Pipeline

S = 1_000_000
GPM_PER_CFS = 448.8312
START = Instant(1_700_000_000_000_000, 0)

SITE = """
[site]
id = "mh7"
name = "Manhole 7"
discharger = "Acme Dairy"
time_zone = "America/New_York"
ordinances = []
{more}
[channels.level]
quantity = "level"
unit = "ft"
poll = "5 s"
suspect_span = ["-1 ft", "3 ft"]
{level}

[channels.behind]
quantity = "level"
unit = "in"
poll = "5 s"

[channels.flow]
quantity = "flow"
unit = "gpm"
from = "level"
primary = {{ {primary} }}
"""
FLUME = 'kind = "parshall", throat = "6 in"'


def moment(second: float) -> Instant:
    """So many seconds after the start."""
    return Instant(START.utc_us + int(second * S), int(second * S))


class Manhole:
    """A pipeline of one level, one level behind it in inches, and a flow."""

    def __init__(self, folder: Path, primary: str = FLUME, level: str = "", more: str = "") -> None:
        path = folder / "site.toml"
        path.write_text(SITE.format(primary=primary, level=level, more=more), encoding="utf-8")
        self.pipeline = Pipeline(load(path, for_replay=True), START)

    def flow(self, second: float, level: float | None, behind: float | None = None) -> Reading:
        """The flow of one poll, in which the level behind stands before or after the level by chance of its name."""
        at = moment(second)
        samples = [Sample("level", at, (7,), level, None if level is not None else Fault.SILENT)]
        if behind is not None:
            samples.append(Sample("behind", at, (), behind))
        (flow,) = [r for r in self.pipeline.process(samples, at).readings if r.channel == "flow"]
        return flow


def test_a_level_becomes_a_flow_and_keeps_its_registers(tmp_path: Path) -> None:
    """0.5 ft in a 6-in flume is 309.3 gpm, and the raw words are those of the level."""
    flow = Manhole(tmp_path).flow(0, 0.5)
    assert flow.value == pytest.approx(309.3, abs=0.06)
    assert (flow.quality, flow.tests, flow.raw) == (Quality.GOOD, (), (7,))


@pytest.mark.parametrize(
    ("level", "test", "why"),
    [
        (0.05, "below_range", "a trickle is computed and flagged"),
        (1.6, "saturated", "over its greatest head a flume measures nothing"),
        (3.5, "saturated", "the doubtful level would do as well; the flume's word stands first"),
    ],
)
def test_outside_the_range_the_flow_is_flagged_and_computed(tmp_path: Path, level: float, test: str, why: str) -> None:
    """The formula goes on on both sides, and the reading says so."""
    flow = Manhole(tmp_path).flow(0, level)
    assert (flow.quality, flow.tests) == (Quality.SUSPECT, (test,)), why
    assert flow.value == pytest.approx(2.06 * level**1.58 * GPM_PER_CFS, rel=1e-6)


def test_a_drowned_flume_is_said_to_be_and_not_corrected(tmp_path: Path) -> None:
    """60 % of 0.5 ft is 3.6 in: 3.5 in behind is free flow, 3.7 is not, and the number is the same."""
    manhole = Manhole(tmp_path, f'{FLUME}, downstream = "behind"')
    free, drowned = manhole.flow(0, 0.5, 3.5), manhole.flow(5, 0.5, 3.7)
    assert (free.quality, free.tests) == (Quality.GOOD, ())
    assert (drowned.quality, drowned.tests) == (Quality.SUSPECT, ("submerged",))
    assert drowned.value == free.value


def test_the_level_behind_counts_from_the_same_zero(tmp_path: Path) -> None:
    """A gauge behind the flume whose zero lies 1 in above the throat floor: 2.7 in there are 3.7."""
    manhole = Manhole(tmp_path, f'{FLUME}, downstream = "behind", downstream_offset = "1 in"')
    assert manhole.flow(0, 0.5, 2.7).tests == ("submerged",)
    assert manhole.flow(5, 0.5, 2.5).tests == ()


def test_the_devices_own_limit_stands_instead_of_the_usual(tmp_path: Path) -> None:
    """A maker that vouches for 80 % is believed: 70 % of 0.5 ft is free flow there."""
    manhole = Manhole(tmp_path, f'{FLUME}, downstream = "behind", submergence_limit = "80 %"')
    assert manhole.flow(0, 0.5, 4.2).tests == ()
    assert manhole.flow(5, 0.5, 4.9).tests == ("submerged",)


def test_water_above_the_crest_drowns_a_weir(tmp_path: Path) -> None:
    """Behind a weir the nappe must fall free: any water above the crest is too much, below it none is."""
    weir = 'kind = "rectangular", crest = "3 ft", downstream = "behind"'
    manhole = Manhole(tmp_path, weir)
    assert manhole.flow(0, 0.5, -2.0).tests == ()
    assert manhole.flow(5, 0.5, 0.5).tests == ("submerged",)


def test_a_silent_level_behind_drowns_nothing(tmp_path: Path) -> None:
    """Its last word holds for 12.5 s; after it the flow is as it would be without a second level."""
    manhole = Manhole(tmp_path, f'{FLUME}, downstream = "behind"')
    assert manhole.flow(0, 0.5, 4.0).tests == ("submerged",)
    assert manhole.flow(10, 0.5).tests == ("submerged",)
    assert manhole.flow(15, 0.5).tests == ()


def test_at_the_crown_there_is_only_a_level(tmp_path: Path) -> None:
    """From the crown of the pipe on, 8 in here, the level says nothing of the flow."""
    manhole = Manhole(tmp_path, level='crown = "8 in"')
    assert manhole.flow(0, 7.99 / 12).tests == ()
    for second, level in ((5, 8.0 / 12), (10, 1.2)):
        flow = manhole.flow(second, level)
        assert (flow.quality, flow.tests) == (Quality.SUSPECT, ("level_only",))


def test_a_pipe_says_that_its_flow_is_of_depth_alone(tmp_path: Path) -> None:
    """Every flow by Manning is marked; the mark itself doubts nothing, and stands beside what does."""
    manhole = Manhole(tmp_path, 'kind = "manning", diameter = "12 in", slope = "0.4 %"')
    half = manhole.flow(0, 0.5)
    assert (half.quality, half.tests) == (Quality.GOOD, ("depth_only",))
    assert half.value == pytest.approx(1011 / 2, rel=0.001)  # half of a full 12 in at 0.4 %
    assert manhole.flow(5, 0.95).tests == ("double_valued", "depth_only")
    assert manhole.flow(10, 1.0).tests == ("level_only", "depth_only")
    assert manhole.flow(15, 0.05).tests == ("below_range", "depth_only")


@pytest.mark.parametrize(
    ("primary", "level"), [(FLUME, 0.05), ('kind = "manning", diameter = "1 ft", slope = "1 %"', 0.05)]
)
def test_a_trickle_counts_for_the_rules(tmp_path: Path, primary: str, level: float) -> None:
    """Below the range a flow is small, whatever its error: it counts, marked as of depth alone or not."""
    from gateway.signals.qc import Evidence, evidence

    assert evidence(Manhole(tmp_path, primary).flow(0, level)) == Evidence.VALID


def test_no_level_is_no_flow(tmp_path: Path) -> None:
    """A silent level gives a missing flow, never a zero."""
    flow = Manhole(tmp_path).flow(0, None)
    assert (flow.value, flow.quality) == (None, Quality.MISSING)
