"""A counter beside the flow, through the pipeline: the day's water by both, and what is said when they part."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.config import load, read
from gateway.model import AlarmEdge, Fault, Instant, Outcome, Quality, Resume, Sample
from gateway.pipeline import Pipeline

S = 1_000_000
HOUR = 3600
GAL_PER_M3 = 264.1720523581484
# 2023-11-14 00:00 in New York: 05:00 UTC.
MIDNIGHT = Instant(1_699_938_000 * S, 0)

SITE = """
[site]
id = "mh9"
name = "Manhole 9"
discharger = "Acme Dairy"
time_zone = "America/New_York"
ordinances = []

[channels.flow]
quantity = "flow"
unit = "gpm"
poll = "30 s"

[channels.total]
quantity = "volume"
unit = "m3"
poll = "30 s"
totalizer = {{ most = "200 gpm", rolls_over_at = "100000 m3", jitter = "10 L"{flow} }}

[channels.today]
quantity = "volume"
unit = "gal"
from = "total"

[channels.by_flow]
quantity = "volume"
unit = "gal"
from = "flow"
"""


def moment(second: float) -> Instant:
    """So many seconds after midnight."""
    return Instant(MIDNIGHT.utc_us + int(second * S), int(second * S))


class Manhole:
    """A pipeline, and everything it said."""

    def __init__(self, folder: Path, flow: str = ', flow = "flow"', start_s: float = 0) -> None:
        path = folder / "site.toml"
        path.write_text(SITE.format(flow=flow), encoding="utf-8")
        self.site = load(path, for_replay=True)
        self.pipeline = Pipeline(self.site, moment(start_s))
        self.outcomes: list[Outcome] = []

    def run(
        self,
        seconds: range,
        gpm: Callable[[int], float | None],
        counter_m3: Callable[[int], float | None],
    ) -> None:
        """Flow and counter every 30 s, None for a silent instrument."""
        for second in seconds:
            at = moment(second)
            samples = [
                Sample(name, at, (), value, None if value is not None else Fault.SILENT)
                for name, value in (("flow", gpm(second)), ("total", counter_m3(second)))
            ]
            self.outcomes.append(self.pipeline.process(samples, at))

    def notes(self, kind: str) -> list[Any]:
        """The notes of one kind."""
        return [note for outcome in self.outcomes for note in outcome.notes if note.kind == kind]

    def last(self, channel: str) -> Any:
        """A channel's latest reading."""
        return [r for outcome in self.outcomes for r in outcome.readings if r.channel == channel][-1]


def counting(gpm: float, start_m3: float = 99_990.0) -> Callable[[int], float]:
    """A counter of six digits that runs with a steady flow and goes round after 10 m3."""
    return lambda second: (start_m3 + gpm * second / 60 / GAL_PER_M3) % 100_000


def steady(gpm: float) -> Callable[[int], float]:
    """A flow that stays, but for its last digits."""
    return lambda second: gpm + second % 7 * 1e-6


def test_the_days_water_by_counter_and_by_flow(tmp_path: Path) -> None:
    """100 gpm for three hours are 18,000 gal by both, over a roll-over that is written down."""
    manhole = Manhole(tmp_path)
    manhole.run(range(0, 3 * HOUR + 1, 30), steady(100.0), counting(100.0))
    assert manhole.last("today").value == pytest.approx(18_000, rel=1e-6)
    assert manhole.last("by_flow").value == pytest.approx(18_000, rel=1e-6)
    (rolled,) = manhole.notes("totalizer")
    assert (rolled.body["channel"], rolled.body["meaning"], rolled.body["whole"]) == ("total", "rolled over", True)
    assert manhole.last("total").quality is Quality.GOOD


def test_midnight_closes_the_day_and_begins_the_next(tmp_path: Path) -> None:
    """A full day at 50 gpm is 72,000 gal, 272.5 m3: one note of the day with both, and the count begins again."""
    manhole = Manhole(tmp_path, start_s=-HOUR)
    manhole.run(range(-HOUR, 25 * HOUR + 1, 30), steady(50.0), counting(50.0, 99_000.0))
    first, full = [note.body for note in manhole.notes("totalizer_day")]
    assert (first["date"], first["whole"]) == ("2023-11-13", False)  # nobody saw most of it
    assert (full["date"], full["unit"], full["whole"], full["flow"]) == ("2023-11-14", "m3", True, "flow")
    assert full["volume"] == pytest.approx(72_000 / GAL_PER_M3, rel=1e-3)
    assert full["flow_gal"] == pytest.approx(72_000, rel=1e-3)
    assert full["flow_known"] == pytest.approx(1.0, abs=1e-3)
    assert manhole.last("today").value == pytest.approx(3000, rel=0.01)
    assert manhole.last("today").tests == ()
    assert manhole.last("by_flow").value == pytest.approx(3000, rel=0.01)
    assert manhole.last("by_flow").tests == ()


def test_a_day_that_was_not_all_seen_says_so(tmp_path: Path) -> None:
    """Begun at three in the morning, both volumes are at least so much."""
    manhole = Manhole(tmp_path, start_s=3 * HOUR)
    manhole.run(range(3 * HOUR, 4 * HOUR, 30), steady(50.0), counting(50.0))
    assert manhole.last("today").tests == ("incomplete",)
    assert manhole.last("by_flow").tests == ("incomplete",)
    assert manhole.last("today").quality is Quality.GOOD


def test_silence_is_counted_by_the_counter_and_not_by_the_flow(tmp_path: Path) -> None:
    """Ten minutes without an answer: the counter went on by itself; the flow's volume is not filled in past its hold of
    75 s."""
    manhole = Manhole(tmp_path, start_s=-HOUR)
    manhole.run(range(-HOUR, HOUR, 30), steady(100.0), counting(100.0))
    manhole.run(range(HOUR, HOUR + 600, 30), lambda _: None, lambda _: None)
    manhole.run(range(HOUR + 600, 2 * HOUR + 1, 30), steady(100.0), counting(100.0))
    assert manhole.last("today").value == pytest.approx(12_000, rel=5e-3)
    assert manhole.last("today").tests == ()
    lost_s = 630 - 75  # from the last answer to the next, less the hold
    assert manhole.last("by_flow").value == pytest.approx(12_000 - 100 * lost_s / 60, rel=1e-3)
    assert manhole.last("by_flow").tests == ("incomplete",)


def test_a_gap_over_midnight_leaves_both_days_open(tmp_path: Path) -> None:
    """What ran between 23:49:30 and 00:10, 1,025 gal, lies on nobody knows which side of midnight: in neither day."""
    manhole = Manhole(tmp_path, start_s=-25 * HOUR)
    manhole.run(range(-25 * HOUR, -600, 30), steady(50.0), counting(50.0, 99_000.0))
    manhole.run(range(600, HOUR, 30), steady(50.0), counting(50.0, 99_000.0))
    days = [note.body for note in manhole.notes("totalizer_day")]
    assert [body["whole"] for body in days] == [False, False]
    assert days[1]["volume"] == pytest.approx(50 * (24 * 60 - 10.5) / GAL_PER_M3, rel=1e-6)
    (over,) = manhole.notes("totalizer")
    assert (over.body["meaning"], over.body["whole"]) == ("over midnight", False)
    assert over.body["volume"] == pytest.approx(50 * 20.5 / GAL_PER_M3, rel=1e-6)
    assert manhole.last("today").tests == ("incomplete",)
    assert manhole.last("today").value == pytest.approx(50 * (59.5 - 10), rel=1e-6)


def test_a_poll_over_midnight_is_shared_out_by_time(tmp_path: Path) -> None:
    """Read at 23:59:50 and 00:00:20: of the 25 gal between, two thirds belong to the new day."""
    manhole = Manhole(tmp_path, start_s=-HOUR)
    manhole.run(range(-HOUR + 10, 60, 30), steady(50.0), counting(50.0, 99_000.0))
    assert manhole.last("today").value == pytest.approx(50 * 40 / 60, rel=1e-4)  # read last at 00:00:40
    (day,) = manhole.notes("totalizer_day")
    assert day.body["volume"] == pytest.approx(50 * 3590 / 60 / GAL_PER_M3, rel=1e-6)  # read first at 23:00:10


def test_a_clock_that_is_set_back_over_midnight_closes_no_day_twice(tmp_path: Path) -> None:
    """At 00:01 it is put back to 23:58, and passes midnight again: one line for the day, with all its water."""
    manhole = Manhole(tmp_path, start_s=-2 * HOUR)
    manhole.run(range(-2 * HOUR, 61, 30), steady(60.0), counting(60.0))
    for second in range(90, 600, 30):
        at = moment(second)
        put_back = Instant(at.utc_us - 180 * S, at.mono_us)
        samples = [Sample("flow", put_back, (), 60.0), Sample("total", put_back, (), counting(60.0)(second))]
        manhole.outcomes.append(manhole.pipeline.process(samples, put_back))
    (closed,) = manhole.notes("totalizer_day")
    assert closed.body["date"] == "2023-11-13"
    assert closed.body["volume"] * GAL_PER_M3 == pytest.approx(7200, rel=1e-3)
    assert manhole.last("today").value == pytest.approx(570, rel=1e-3)  # since the midnight that counted


def test_a_reset_is_said_and_leaves_the_day_open(tmp_path: Path) -> None:
    """The technician resets the counter at one: what it shows since is counted, and the day is at least that much."""
    manhole = Manhole(tmp_path, start_s=-HOUR)
    manhole.run(range(-HOUR, HOUR, 30), steady(60.0), counting(60.0, 500.0))
    manhole.run(range(HOUR, 2 * HOUR + 1, 30), steady(60.0), counting(60.0, -60.0 * 60 / GAL_PER_M3))
    meanings = [note.body["meaning"] for note in manhole.notes("totalizer")]
    assert meanings == ["refused", "reset"]
    assert manhole.last("today").value == pytest.approx(7200, rel=0.01)
    assert manhole.last("today").tests == ("incomplete",)


def parting(folder: Path, factor: float, flow: str = ', flow = "flow"') -> Manhole:
    """A counter that runs `factor` times as fast as the flow says, for 2 h and a minute."""
    manhole = Manhole(folder, flow)
    manhole.run(range(0, 2 * HOUR + 61, 30), steady(100.0), counting(100.0 * factor))
    return manhole


@pytest.mark.parametrize(("factor", "parts"), [(1.0, False), (1.10, False), (0.91, False), (1.13, True), (0.88, True)])
def test_ten_per_cent_are_allowed(tmp_path: Path, factor: float, parts: bool) -> None:
    """Over an hour the two may part by a tenth of the larger; past it a note says by how much, once."""
    manhole = parting(tmp_path, factor)
    notes = manhole.notes("totalizer_parted")
    assert len(notes) == (1 if parts else 0)
    if parts:
        body = notes[0].body
        assert body["counted_gal"] == pytest.approx(6000 * factor, rel=0.01)
        assert body["flow_gal"] == pytest.approx(6000, rel=0.01)
        assert body["apart"] == pytest.approx(abs(1 - factor) / max(1, factor), abs=0.005)


def test_a_counter_that_parted_is_doubted_and_told(tmp_path: Path) -> None:
    """Its readings keep their number and are suspect, its sensor alarm says why, and agreement ends it."""
    manhole = parting(tmp_path, 1.5)
    total = manhole.last("total")
    assert (total.quality, total.tests) == (Quality.SUSPECT, ("flow_disagrees",))
    alarms = [e for o in manhole.outcomes for e in o.alarm_events if e.alarm == "sensor-total"]
    assert [(e.edge, "flow_disagrees" in e.reason) for e in alarms] == [(AlarmEdge.RAISED, True)]
    before = manhole.last("total").value
    start = 2 * HOUR + 90
    manhole.run(
        range(start, start + 2 * HOUR, 30),
        steady(100.0),
        lambda second: before + 100 * (second - start + 30) / 60 / GAL_PER_M3,
    )
    assert len(manhole.notes("totalizer_agrees")) == 1
    assert manhole.last("total").quality is Quality.GOOD


def test_the_site_says_how_far_they_may_part(tmp_path: Path) -> None:
    """`within` stands instead of the 10 %, and without a flow nothing is compared."""
    assert parting(tmp_path, 1.13, ', flow = "flow", within = "15 %"').notes("totalizer_parted") == []
    assert parting(tmp_path, 1.5, "").notes("totalizer_parted") == []


def test_a_flow_that_was_silent_proves_nothing_against_the_counter(tmp_path: Path) -> None:
    """With the flow unknown for ten minutes of the hour nobody can tell."""
    manhole = Manhole(tmp_path)
    for begin in (0, HOUR):
        manhole.run(range(begin, begin + 600, 30), lambda _: None, counting(150.0))
        manhole.run(range(begin + 600, begin + HOUR, 30), steady(100.0), counting(150.0))
    assert manhole.notes("totalizer_parted") == []


def test_a_trickle_proves_nothing_either(tmp_path: Path) -> None:
    """Less than a minute's greatest flow in the hour, 200 gal here, is within what a counter's digits hide."""
    manhole = Manhole(tmp_path)
    manhole.run(range(0, 2 * HOUR + 61, 30), steady(1.0), counting(3.0))
    assert manhole.notes("totalizer_parted") == []


def test_the_count_goes_on_after_a_restart(tmp_path: Path) -> None:
    """Two hours, five minutes of darkness, another hour: the counter's difference over the dark is in the day."""
    manhole = Manhole(tmp_path)
    manhole.run(range(0, 2 * HOUR, 30), steady(60.0), counting(60.0))
    state = manhole.pipeline.snapshot()
    again = Manhole(tmp_path, start_s=2 * HOUR + 300)
    now = moment(2 * HOUR + 300)
    again.pipeline.restore(state, Resume(now, 0))
    again.run(range(2 * HOUR + 300, 3 * HOUR + 1, 30), steady(60.0), counting(60.0))
    assert again.last("today").value == pytest.approx(10_800, rel=1e-3)
    assert again.notes("totalizer") == []


def test_readings_since_the_snapshot_are_heard_again(tmp_path: Path) -> None:
    """The long memory is kept once an hour: what was read since comes from the record, and nothing is counted twice."""
    manhole = Manhole(tmp_path, start_s=-HOUR)
    manhole.run(range(-HOUR, HOUR, 30), steady(60.0), counting(60.0))
    state = manhole.pipeline.snapshot()
    before = len(manhole.outcomes)
    manhole.run(range(HOUR, 2 * HOUR, 30), steady(60.0), counting(60.0))
    again = Manhole(tmp_path, start_s=2 * HOUR)
    again.pipeline.restore(state, Resume(moment(2 * HOUR), 0))
    for outcome in manhole.outcomes[before:]:
        for reading in outcome.readings:
            again.pipeline.refeed(reading)
    for one in (manhole, again):
        one.run(range(2 * HOUR, 3 * HOUR + 1, 30), steady(60.0), counting(60.0))
    assert again.last("today") == manhole.last("today")
    assert again.last("by_flow") == manhole.last("by_flow")
    assert again.last("today").value == pytest.approx(10_800, rel=1e-3)


def test_a_state_that_cannot_be_read_starts_afresh_and_is_written_down(tmp_path: Path) -> None:
    """A damaged memory of the counter is no reason not to count on, and one to say so."""
    manhole = Manhole(tmp_path)
    outcome = manhole.pipeline.restore({"totalizer:total": {"totalizer": [1]}}, Resume(moment(0), 0))
    assert [note.kind for note in outcome.notes] == ["state_unreadable"]
    manhole.run(range(30, 600, 30), steady(60.0), counting(60.0))
    assert manhole.last("today").value == pytest.approx(60 * 540 / 60, rel=1e-6)


def test_a_silent_counter_is_told_once(tmp_path: Path) -> None:
    """The volume since midnight falls silent with its counter: one text for both."""
    manhole = Manhole(tmp_path)
    manhole.run(range(0, 600, 30), steady(60.0), counting(60.0))
    manhole.run(range(600, 1500, 30), steady(60.0), lambda _: None)
    told = [e for o in manhole.outcomes for e in o.alarm_events if e.annunciate]
    assert [e.alarm for e in told] == ["sensor-total"]


def test_the_mistakes_of_a_counter_are_said_at_once(tmp_path: Path) -> None:
    """Each key of a totalizer that cannot be, and a volume that is derived from nothing that counts."""
    path = tmp_path / "site.toml"
    text = SITE.format(flow=', flow = "today", within = "-5 %"').replace('"10 L"', '"10 gpm"')
    text = text.replace('from = "flow"', 'from = "ph"') + '\n[channels.ph]\nquantity = "pH"\n'
    text = text.replace('quantity = "pH"', 'quantity = "pH"\ntotalizer = { most = "1 gpm" }')
    path.write_text(text, encoding="utf-8")
    told = {(e.path, e.text) for e in read(path).errors}
    assert told == {
        ("channels.total.totalizer.jitter", "'gpm' is a unit of flow and 'm3' one of volume: no conversion"),
        ("channels.total.totalizer.within", "must not be negative"),
        ("channels.total.totalizer.flow", "today measures volume, not flow"),
        ("channels.by_flow.from", "takes a flow, or a volume with a `totalizer`: its water since midnight"),
        ("channels.ph.totalizer", "is for a volume that an instrument counts"),
    }


def test_a_counter_too_small_to_be_counted_is_refused(tmp_path: Path) -> None:
    """1 m3 at 200 gpm goes round in 1.32 min, less than two polls and a half with their minute of grace."""
    path = tmp_path / "site.toml"
    path.write_text(SITE.format(flow="").replace("100000 m3", "1 m3"), encoding="utf-8")
    (error,) = read(path).errors
    assert error.path == "channels.total.totalizer.most"
    assert error.text.startswith("the counter goes round in 1.32 min at that flow")


def test_the_registers_width_is_the_counters(tmp_path: Path) -> None:
    """A counter of u32 in steps of 0.1 gal begins again at 2^32 / 10 gal, a float at none, unless the file says."""
    profile = tmp_path / "meter.toml"
    profile.write_text(METER, encoding="utf-8")
    path = tmp_path / "site.toml"
    path.write_text(WIDTHS, encoding="utf-8")
    channels = load(path, for_replay=True).channels
    moduli = {name: c.totalizer.modulus for name, c in channels.items() if c.totalizer is not None}
    assert moduli == {"whole": pytest.approx(2**32 / 10), "real": None, "told": 5000.0}


METER = """
id = "meter"
model = "A meter"
tier = "C"
confidence = "made up"
source = ["this test"]
order = "ABCD"

[points.whole]
function = 3
address = 0
type = "u32"
unit = "gal"
scale = 0.1

[points.real]
function = 3
address = 2
type = "f32"
unit = "gal"
"""
WIDTHS = """
[site]
id = "mh9"
name = "Manhole 9"
discharger = "Acme Dairy"
time_zone = "America/New_York"
ordinances = []

[buses.tcp]
kind = "modbus-tcp"
host = "127.0.0.1"

[devices.meter]
bus = "tcp"
unit = 1
profile = "./meter.toml"
""" + "".join(
    f"""
[channels.{name}]
quantity = "volume"
unit = "gal"
device = "meter"
point = "{point}"
totalizer = {{ most = "200 gpm"{more} }}
"""
    for name, point, more in (
        ("whole", "whole", ""),
        ("real", "real", ""),
        ("told", "whole", ', rolls_over_at = "5000 gal"'),
    )
)
