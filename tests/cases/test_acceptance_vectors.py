"""The acceptance vectors for the slug and limit engine, through `replay` on the two example sites.

The numbers are those of the vectors; stamps are every 15 s from noon UTC unless the row says otherwise.
"""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest

from gateway.config import load
from gateway.drivers.replay import run_replay
from gateway.lab_command import carry_out
from gateway.model import Instant, LabResult, Sample, SampleType
from gateway.pipeline import Pipeline
from gateway.rules.lab_result import result_body
from gateway.shipped import shipped
from gateway.site import Site

NOON = datetime(2026, 11, 30, 12, tzinfo=UTC)


def example(name: str) -> Site:
    """One of the shipped example sites."""
    return load(Path(str(shipped("examples", name))), for_replay=True)


LV, MB = "little-valley", "marlborough"


def steady(value: float | None, until_s: float, *, start_s: float = 0, step_s: float = 15) -> Iterator[tuple]:
    """One value from start to until, both included."""
    for n in range(round((until_s - start_s) / step_s) + 1):
        yield start_s + n * step_s, value


def replayed(site: Site, tmp_path: Path, header: str, rows: list[tuple]) -> list[dict]:
    """The events of rows of (second, value, ...) through the body of `replay`."""
    lines = [f"time,{header}"]
    for second, *values in rows:
        cells = ["" if value is None else str(value) for value in values]
        lines.append(",".join([(NOON + timedelta(seconds=second)).isoformat(), *cells]))
    data = tmp_path / "vector.csv"
    data.write_text("\n".join(lines) + "\n", encoding="utf-8")
    out = StringIO()
    assert run_replay(site, data, out) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def events_of(events: list[dict], rule: str) -> list[tuple[str, float]]:
    """What happened to one rule, with its duration; `not_evaluable` of channels the file lacks left out."""
    return [(e["event"], e["duration_s"]) for e in events if e.get("rule") == rule and e["event"] != "prealarm"]


@dataclass(frozen=True)
class Vector:
    """One row of the table."""

    number: str
    sentence: str
    site: str
    header: str
    rows: Callable[[], list[tuple]]
    rule: str
    expected: list[tuple[str, float]]


def chain(*parts: Iterator[tuple]) -> list[tuple]:
    """Parts one after another."""
    return [row for part in parts for row in part]


VECTORS = [
    Vector("1", "Exactly 5 x the baseline for an hour is no slug.", LV, "flow",
           lambda: chain(steady(50.0, 3600)), "lv-slug-flow", []),
    Vector("2", "More than 5 x for exactly 900 s is not longer than 15 min.", LV, "flow",
           lambda: chain(steady(50.1, 900), steady(40.0, 1800, start_s=915)), "lv-slug-flow", []),
    Vector("3", "At 901 s it is a slug, with its duration from the stamps.", LV, "flow",
           lambda: [*chain(steady(50.1, 900)), (901, 50.1)], "lv-slug-flow", [("raised", 901.0)]),
    Vector("4", "TSS at exactly 1,325 mg/L for an hour is none.", MB, "tss",
           lambda: chain(steady(1325.0, 3600)), "mb-slug-tss", []),
    Vector("5", "TSS at 1,326 mg/L for exactly 900 s is one.", MB, "tss",
           lambda: chain(steady(1326.0, 900)), "mb-slug-tss", [("raised", 900.0)]),
    Vector("6", "One sample at the limit between 800 s and 800 s: not proven, suspected.", LV, "flow",
           lambda: chain(steady(60.0, 800, step_s=20), steady(50.0, 820, start_s=820),
                         steady(60.0, 1640, start_s=840, step_s=20)),
           "lv-slug-flow", [("suspected", 920.0)]),
    Vector("7", "A comms gap of 180 s is bridged as suspected and never proven.", LV, "flow",
           lambda: chain(steady(60.0, 600), steady(None, 765, start_s=615), steady(60.0, 1380, start_s=780),
                         steady(10.0, 1500, start_s=1395)),
           "lv-slug-flow", [("interrupted", 600.0), ("suspected", 915.0)]),
    Vector("8 at the limit", "1,000.0 gpm for 30 min is none.", MB, "flow",
           lambda: chain(steady(1000.0, 1800)), "mb-flow-rate", []),
    Vector("8 above it", "1,000.1 gpm for 15 min is exceeded.", MB, "flow",
           lambda: chain(steady(1000.1, 900)), "mb-flow-rate", [("raised", 900.0)]),
    Vector("9 low", "pH 5.50 complies, 5.49 is low.", LV, "ph",
           lambda: chain(steady(5.50, 60), steady(5.49, 150, start_s=75)), "lv-ph-low", [("raised", 30.0)]),
    Vector("9 high", "pH 9.50 complies, 9.51 is high.", LV, "ph",
           lambda: chain(steady(9.50, 60), steady(9.51, 150, start_s=75)), "lv-ph-high", [("raised", 30.0)]),
    Vector("10 low", "pH 6.0 complies, 5.99 is low.", MB, "ph",
           lambda: chain(steady(6.0, 60), steady(5.99, 150, start_s=75)), "mb-ph-low", [("raised", 30.0)]),
    Vector("10 high", "pH 9.0 complies, 9.01 is high.", MB, "ph",
           lambda: chain(steady(9.0, 60), steady(9.01, 150, start_s=75)), "mb-ph-high", [("raised", 30.0)]),
    Vector("12", "65.55 degC is 149.99 degF and complies; 65.56 degC is 150.008 degF and exceeds.", LV, "temperature",
           lambda: chain(steady(65.55, 60), steady(65.56, 150, start_s=75)), "lv-temperature", [("raised", 30.0)]),
]  # fmt: skip


@pytest.mark.parametrize("vector", VECTORS, ids=lambda v: v.number)
def test_vector(vector: Vector, tmp_path: Path) -> None:
    """Each row of the table gives exactly these proven and suspected events of its rule."""
    events = replayed(example(vector.site), tmp_path, vector.header, vector.rows())
    assert events_of(events, vector.rule) == vector.expected, vector.sentence


@pytest.mark.parametrize(
    ("site", "header", "value", "rule"),
    [
        (LV, "ph", 5.50, "lv-ph-low"),
        (LV, "ph", 9.50, "lv-ph-high"),
        (MB, "ph", 6.0, "mb-ph-low"),
        (MB, "ph", 9.0, "mb-ph-high"),
        (LV, "temperature", 65.55, "lv-temperature"),
        (MB, "temperature", 65.55, "mb-temperature"),
    ],
)
def test_a_value_at_the_limit_is_allowed(site: str, header: str, value: float, rule: str, tmp_path: Path) -> None:
    """Vectors 9, 10 and 12, their first halves alone: an hour at the limit raises nothing and every second complies."""
    events = replayed(example(site), tmp_path, header, chain(steady(value, 3600)))
    assert events_of(events, rule) == []
    (spent,) = [r for r in events[-1]["rules"] if r["rule"] == rule]
    assert spent["compliant_s"] == 3600


def test_vector_7_proven_durations_are_600_and_600(tmp_path: Path) -> None:
    """The books of vector 7: no second of it is exceeded, both runs are suspected, the gap is nobody's."""
    vector = next(v for v in VECTORS if v.number == "7")
    events = replayed(example(LV), tmp_path, vector.header, vector.rows())
    (spent,) = [r for r in events[-1]["rules"] if r["rule"] == "lv-slug-flow"]
    assert spent["exceeded_s"] == 0
    assert spent["suspected_s"] == 600 + 37.5 + 600 + 15  # each run up to its hold or to the sample that ended it
    assert spent["not_evaluable_s"] == 180 - 37.5


def test_vector_11_a_dry_probe_is_no_discharge(tmp_path: Path) -> None:
    """pH 3.1 while no water flows and the level is below the probe: no alarm, every second no discharge."""
    rows = [(15 * n, 3.1, 0.0, 0.02) for n in range(61)]
    events = replayed(example(LV), tmp_path, "ph,flow,level", rows)
    assert events_of(events, "lv-ph-low") == []
    (spent,) = [r for r in events[-1]["rules"] if r["rule"] == "lv-ph-low"]
    assert spent["no_discharge_s"] == 900
    (channel,) = [c for c in events[-1]["channels"] if c["channel"] == "ph"]
    assert channel["no_discharge_s"] == 900


def test_vector_13_without_a_baseline_nobody_can_tell(tmp_path: Path) -> None:
    """The first hour after install with no declared baseline: not evaluable, whatever the flow."""
    site = example(LV)
    rules = tuple(replace(r, baseline=None) if r.id == "lv-slug-flow" else r for r in site.rules)
    baselines = {name: one for name, one in site.baselines.items() if name != "flow"}
    events = replayed(replace(site, rules=rules, baselines=baselines), tmp_path, "flow", chain(steady(500.0, 3600)))
    (told,) = [e for e in events if e.get("rule") == "lv-slug-flow"]
    assert (told["event"], told["reason"]) == ("not_evaluable", "no baseline")
    (spent,) = [r for r in events[-1]["rules"] if r["rule"] == "lv-slug-flow"]
    assert spent["not_evaluable_s"] == 3600


def test_vector_14_maintenance_is_recorded_and_not_counted(tmp_path: Path) -> None:
    """A technician at work during a 20-minute exceedance: flagged, visible in the books, never judged."""
    rows = [(15 * n, 60.0, "maintenance") for n in range(81)] + [(1215 + 15 * n, 10.0, "good") for n in range(5)]
    events = replayed(example(LV), tmp_path, "flow,flow.quality", rows)
    assert [e for e, _ in events_of(events, "lv-slug-flow")] == ["not_evaluable"]
    (channel,) = [c for c in events[-1]["channels"] if c["channel"] == "flow"]
    assert channel["maintenance_s"] == 1215
    (spent,) = [r for r in events[-1]["rules"] if r["rule"] == "lv-slug-flow"]
    assert (spent["exceeded_s"], spent["not_evaluable_s"]) == (0, 1215)


@pytest.mark.parametrize(("value", "verdict"), [(1.60, "compliant"), (1.61, "exceeded")])
def test_vector_15_copper(value: float, verdict: str) -> None:
    """A 24-h composite of copper at 1.60 mg/L complies, at 1.61 it exceeds; it reaches a person like any exceedance."""
    site = example(LV)
    start = Instant(int(NOON.timestamp() * 1e6), 0)
    pipeline = Pipeline(site, start)
    day_us = 86_400_000_000
    result = LabResult(
        "R1", 1, "copper", value, "mg/L", SampleType.COMPOSITE, start.utc_us - day_us, start.utc_us, "200.7", "Lab", "C"
    )  # fmt: skip
    step = carry_out(pipeline.laboratory, {"results": [result_body(result)]}, start)
    outcome = pipeline.laboratory_step(step, start)
    (told,) = [f for f in outcome.findings if f.rule == "lv-tox-copper-24h"]
    assert (told.verdict.value, told.observed, told.limit) == (verdict, value, 1.6)
    assert bool([m for m in outcome.messages if m.alarm == "lv-tox-copper-24h"]) == (verdict == "exceeded")


def with_baseline(site: Site, **changes: object) -> Site:
    """The site with another baseline of flow: in the rule that multiplies it, and in the choice that was signed."""
    signed = replace(site.baselines["flow"], **changes)  # type: ignore[arg-type]  # fields of Baseline
    rules = tuple(replace(r, baseline=signed) if r.id == "lv-slug-flow" else r for r in site.rules)
    return replace(site, rules=rules, baselines={**site.baselines, "flow": signed})


@pytest.mark.parametrize(
    ("sentence", "changes", "raised"),
    [
        ("Declared 20 gpm, as operating hours give: none.", {"value": 20.0}, 0),
        ("Declared 1.39 gpm, as 24 hours with the idle time give: each batch.", {"value": 2000 / 1440}, 5),
        ("Computed over operating hours: none.", {"mode": "operating", "value": None}, 0),
        ("Computed literally over 24 hours: ratio 14.4, each batch.", {"mode": "literal-24h", "value": None}, 5),
    ],
)
def test_vector_16_batches_against_either_baseline(sentence: str, changes: dict, raised: int, tmp_path: Path) -> None:
    """Five 20-min pump-outs a day at 20 gpm; the tenth day counts, when every baseline has its days."""
    pumping = [range(h * 3600, h * 3600 + 1200) for h in (2, 6, 10, 14, 18)]
    rows = [(s, 20.0 if any(s % 86_400 in run for run in pumping) else 0.0) for s in range(0, 10 * 86_400, 15)]
    events = replayed(with_baseline(example(LV), **changes), tmp_path, "flow", rows)
    last_day = (NOON + timedelta(days=9)).isoformat()
    found = [e for e in events if e.get("rule") == "lv-slug-flow" and e["event"] == "raised" and e["since"] >= last_day]
    assert len(found) == raised, sentence
    for event in found:
        assert event["observed"] / event["baseline"] == pytest.approx(14.4, rel=1e-3)


def test_vector_17_fall_back_is_measured_in_utc(tmp_path: Path) -> None:
    """01:30 EDT to 02:30 EST on the night of the change lasts two hours, not one."""
    start = datetime.fromisoformat("2026-11-01T01:30:00-04:00")
    end = datetime.fromisoformat("2026-11-01T02:30:00-05:00")
    count = round((end - start).total_seconds() / 15)
    zone_lines = ["time,flow"]
    for n in range(count + 1):
        moment = (start + timedelta(seconds=15 * n)).astimezone(start.tzinfo if n < count // 4 else end.tzinfo)
        zone_lines.append(f"{moment.isoformat()},60.0")
    zone_lines.append(f"{(end + timedelta(seconds=15)).isoformat()},10.0")
    data = tmp_path / "dst.csv"
    data.write_text("\n".join(zone_lines) + "\n", encoding="utf-8")
    out = StringIO()
    run_replay(example(LV), data, out)
    events = [json.loads(line) for line in out.getvalue().splitlines()]
    assert events_of(events, "lv-slug-flow") == [("raised", 915.0), ("cleared", 7200.0)]


def test_vector_18_a_stepped_clock_does_not_stretch_the_event() -> None:
    """NTP moves the wall clock by 40 min in the middle of a run: the duration is monotonic, and the step is noted."""
    site = example(LV)
    utc_us, step_us = 1_700_000_000_000_000, 40 * 60 * 1_000_000
    pipeline = Pipeline(site, Instant(utc_us, 0))
    notes, findings = [], []
    for n in range(63):
        mono_us = 15_000_000 * n
        at = Instant(utc_us + mono_us + (step_us if n > 30 else 0), mono_us)
        flow = site.channels["flow"]
        value = 60.0 / flow.conversion.gain  # the meter's own unit, m3/s
        outcome = pipeline.process([Sample("flow", at, (), value)], at)
        notes += [note for note in outcome.notes if note.kind == "clock_step"]
        findings += [f for f in outcome.findings if f.rule == "lv-slug-flow" and f.event.value != "prealarm"]
    (raised,) = findings
    assert (raised.event.value, raised.duration_us) == ("raised", 915_000_000)
    (note,) = notes
    assert (note.kind, note.body["step_us"]) == ("clock_step", step_us)
