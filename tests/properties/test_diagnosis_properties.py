"""Sensor diagnosis under any series: it only ever flags, it forgets nothing in a restart, and its memory has an end."""

import json
import random

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.diagnosed import Agreement, Diagnosed, Tamper
from gateway.model import Fault, Instant, Mode, Quality, Reading, Resume, Sample
from gateway.pipeline import Pipeline
from gateway.signals.qc import evidence
from gateway.site import Channel, Site
from tests.support.bench_site import S, channel
from tests.support.diagnosed_site import HOUR, moment, station


def every_test() -> Site:
    """Every diagnosis there is, on one station; short spans so that small series reach them."""
    agreement = Agreement("t2", 3.0, 120 * S)
    pairs: list[tuple[str, str, str, Diagnosed]] = [
        ("ph", "pH", "pH", Diagnosed(
            resolution=0.01, attenuation=0.25, attenuation_hours=2, glass=True, dry_us=600 * S, compensated_by="t1")),
        ("t1", "temperature", "degC", Diagnosed(agreement=agreement)),
        ("t2", "temperature", "degC", Diagnosed()),
        ("conductivity", "conductivity", "uS/cm", Diagnosed(night=-0.3)),
        ("flow", "flow", "gpm", Diagnosed(capacity=200.0)),
        ("level", "level", "ft", Diagnosed(held_us=120 * S, jump=0.3, crown=0.5, overflow_at=2.0)),
    ]  # fmt: skip
    channels = [
        channel(name, poll_s=60, hold_s=150, quantity=quantity, unit=unit, diagnosed=diagnosed)
        for name, quantity, unit, diagnosed in pairs
    ]
    return station(*channels, witness=("flow", 2.0), tamper=Tamper(), hold_off_s=120)


SITE = every_test()
Row = tuple[int, list[Sample]]
RANGES = {
    "ph": (690, 730, 100), "t1": (10, 16, 1), "t2": (10, 16, 1), "conductivity": (200, 260, 1), "flow": (0, 25, 0.1),
    "level": (0, 24, 10),
}  # fmt: skip


def rows_of(seed: int, polls: int) -> list[Row]:
    """Polls a minute apart, now and then with gaps; stretches in which values repeat, part or jump about; faults."""
    rng = random.Random(seed)
    minute, rows, story = 0, [], "random"
    for poll in range(polls):
        minute += rng.choice((1,) * 15 + (2, 60))
        if poll % 25 == 0:
            story = rng.choice(("random", "still", "parted", "dry"))
        samples = []
        for name, (low, high, per) in RANGES.items():
            count = low + (high - low) // 2
            if (story == "random" and rng.random() < 0.3) or name == "flow":
                count = rng.randint(low, high)
            if story == "parted" and name == "t2":
                count = low - 4
            if story == "dry" and name == "flow":
                count = 0
            fault = Fault.SILENT if rng.random() < 0.02 else None
            mode = Mode.MAINTENANCE if rng.random() < 0.003 else Mode.RUN
            value = None if fault else count / per
            samples.append(Sample(name, moment(minute * 60), (count,), value, fault, mode=mode))
        rows.append((minute * 60, samples))
    return rows


def at(second: int) -> Instant:
    """The moment of a row."""
    return moment(second)


@given(st.integers(0, 10_000), st.integers(1, 120))
@settings(max_examples=20, deadline=None)
def test_diagnosis_only_ever_takes_away(seed: int, polls: int) -> None:
    """The number and the registers stay, the flag is never better than without it, and no reading is judged more."""
    rows = rows_of(seed, polls)
    diagnosed = Pipeline(SITE, at(0))
    plain = Pipeline(station(*[_undiagnosed(c) for c in SITE.channels.values()], witness=("flow", 2.0)), at(0))
    order = {Quality.GOOD: 0, Quality.SUSPECT: 1, Quality.MISSING: 2, Quality.FAIL: 3}
    for second, samples in rows:
        ours = diagnosed.process(samples, at(second)).readings
        theirs = {reading.channel: reading for reading in plain.process(samples, at(second)).readings}
        for reading in ours:
            other = theirs[reading.channel]
            assert (reading.value, reading.raw, reading.mode) == (other.value, other.raw, other.mode)
            assert order[reading.quality] >= order[other.quality]
            assert set(other.tests) <= set(reading.tests)
            if reading.dry == other.dry:  # a level that diagnosis fails is no witness of the interlock any more
                assert evidence(reading) >= evidence(other)


def _undiagnosed(spec: Channel) -> Channel:
    facts = {name: getattr(spec, name) for name in ("quantity", "unit", "poll_us", "hold_us", "stale_after_us")}
    return Channel(spec.name, **facts)


def readings(pipeline: Pipeline, rows: list[Row]) -> list[Reading]:
    """What the pipeline makes of the rows."""
    return [reading for second, samples in rows for reading in pipeline.process(samples, at(second)).readings]


@given(
    st.integers(0, 10_000),
    st.integers(1, 300),
    st.integers(0, 300),
    st.integers(0, 300),
    st.sampled_from((0, HOUR * S)),
)
@settings(max_examples=20, deadline=None)
def test_a_restart_changes_no_flag(seed: int, polls: int, stored: int, killed: int, offset_us: int) -> None:
    """Stored after some row, killed after a later one, the rows between heard again: the rest is flagged as ever.

    On another axis too, here one that is whole hours away: minutes and hours of a diagnosis lie on the axis.
    """
    rows = rows_of(seed, polls)
    stored, killed = sorted((stored % (len(rows) + 1), killed % (len(rows) + 1)))
    never = Pipeline(SITE, at(0))
    expected = readings(never, rows)
    first = Pipeline(SITE, at(0))
    before = readings(first, rows[:stored])
    state = json.loads(json.dumps(first.snapshot(), allow_nan=False))
    between = readings(first, rows[stored:killed])
    second = rows[killed - 1][0] if killed else 0
    now = Instant(at(second).utc_us, second * S + offset_us)
    after = Pipeline(SITE, now)
    after.restore(state, Resume(now, offset_us))
    for reading in between:
        after.refeed(_moved(reading, offset_us))
    rest: list[Reading] = []
    for row_second, samples in rows[killed:]:
        moved = [_moved_sample(sample, offset_us) for sample in samples]
        rest.extend(after.process(moved, _shift(at(row_second), offset_us)).readings)
    got = [(r.channel, r.quality, r.tests, r.dry) for r in (*before, *between, *rest)]
    # Spike, rate and jump have no neighbour in a new process; everything of the frame is as if nothing had happened.
    assert _but_jumps(got) == _but_jumps([(r.channel, r.quality, r.tests, r.dry) for r in expected])


Told = tuple[str, Quality, tuple[str, ...], bool]


def _but_jumps(told: list[Told]) -> list[Told]:
    """Without the one test here that compares with the reading before, and what it alone makes of a quality."""
    kept: list[Told] = []
    for name, quality, tests, dry in told:
        others = tuple(test for test in tests if test != "level_jump")
        kept.append((name, Quality.GOOD if tests and not others else quality, others, dry))
    return kept


def _shift(moment_: Instant, offset_us: int) -> Instant:
    return Instant(moment_.utc_us, moment_.mono_us + offset_us, moment_.synced)


def _moved(r: Reading, offset_us: int) -> Reading:
    return Reading(r.channel, _shift(r.at, offset_us), r.raw, r.value, r.quality, r.tests, r.mode, r.dry)


def _moved_sample(s: Sample, offset_us: int) -> Sample:
    return Sample(s.channel, _shift(s.at, offset_us), s.raw, s.value, s.fault, s.quality, s.mode, s.note)


def test_memory_has_an_end() -> None:
    """What is remembered after forty days is no larger than after ten."""
    pipeline = Pipeline(SITE, at(0))
    rng = random.Random(7)
    sizes = {}
    for hour in range(40 * 24):
        for minute in (0, 30):
            second = hour * HOUR + minute * 60
            samples = [
                Sample(n, at(second), (1,), rng.randint(low, high) / per) for n, (low, high, per) in RANGES.items()
            ]
            pipeline.process(samples, at(second))
        sizes[hour // 24 + 1] = len(json.dumps(pipeline.watches.diagnosis.snapshot()))
    assert sizes[40] <= 1.2 * sizes[10]


def test_the_series_of_these_properties_reach_every_flag_they_are_about() -> None:
    """A property that never sees a flag would hold of nothing."""
    seen = {
        test for seed in range(6) for one in readings(Pipeline(SITE, at(0)), rows_of(seed, 120)) for test in one.tests
    }
    assert seen >= {"held", "disagreement", "compensation", "over_pipe", "rewetted", "dry_glass"}
