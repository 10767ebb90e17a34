"""Whole recorded series from real sites through the gateway's own pipeline: nothing invented, nothing judged that is no
discharge, every second accounted for. Each folder under recorded/ holds the site and the column map, and says why.
"""

import csv
import json
from collections.abc import Callable
from datetime import datetime
from functools import cache
from io import StringIO
from itertools import pairwise
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gateway.config import load
from gateway.drivers.recorded import RecordedSeries, read_map
from gateway.drivers.replay import as_recorded, run_replay
from gateway.model import Reading, Verdict
from gateway.pipeline import Pipeline
from gateway.signals.qc import Evidence, evidence

pytestmark = pytest.mark.recorded

CASES = Path(__file__).parent / "recorded"
SERIES = {
    "floodx": "09_floodx_flow_pulses/floodx_p1_flow.csv",
    "logan": "05_logan_river_pyhydroqc/MainStreet2019.csv",
    "poudre": "07_poudre_urban_sondes/udall.csv",
    "mines": "03_mines_sbmbr_sewage/sbmbr.csv",
    "machine": "12_nab_machine_temperature/machine_temperature_system_failure.csv",
}
SharedData = Callable[[str], Path]


@cache
def replayed(name: str, data: Path) -> list[dict]:
    """The events of one series."""
    site = load(CASES / name / "site.toml", for_replay=True)
    out = StringIO()
    zone = None if name != "machine" else "UTC"
    assert run_replay(site, data, out, mapping=read_map(CASES / name / "map.toml"), time_zone=zone) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


@cache
def readings(name: str, data: Path) -> list[Reading]:
    """Every reading of one series, in order."""
    site = load(CASES / name / "site.toml", for_replay=True)
    zone = None if name != "machine" else "UTC"
    series = RecordedSeries(data, site.channels, read_map(CASES / name / "map.toml"), zone)
    pipeline, found = None, []
    for row in series.rows():
        pipeline = pipeline or Pipeline(as_recorded(site, series.units), row.at, measured=series.channels)
        found += pipeline.process(row.samples, row.at).readings
    return found


def stamps(data: Path, zone: str | None) -> list[datetime]:
    """The stamps of a file, read here by other means."""
    with data.open(encoding="utf-8") as lines:
        rows = list(csv.reader(lines))[1:]
    moments = [datetime.fromisoformat(row[0]) for row in rows]
    return [m.replace(tzinfo=ZoneInfo(zone)) if zone else m for m in moments]


@pytest.mark.parametrize("name", SERIES)
def test_every_second_of_every_channel_and_rule_is_accounted_for(name: str, shared_data: SharedData) -> None:
    """Whole file without an error; the classes of each channel and the verdicts of each rule sum to the period."""
    data = shared_data(SERIES[name])
    summary = replayed(name, data)[-1]
    zone = {"poudre": None, "logan": "Etc/GMT+7", "machine": "UTC", "floodx": "Europe/Zurich"}.get(
        name, "America/Denver"
    )
    moments = stamps(data, zone)
    period_s = (max(moments) - moments[0]).total_seconds()
    assert summary["rows"] == len(moments)
    for channel in summary["channels"]:
        assert sum(v for k, v in channel.items() if k.endswith("_s")) == period_s, channel
    for rule in summary["rules"]:
        assert sum(v for k, v in rule.items() if k.endswith("_s")) == period_s, rule


@pytest.mark.parametrize("name", SERIES)
def test_events_are_in_order_of_time_and_the_same_bytes_every_time(name: str, shared_data: SharedData) -> None:
    """Ordered by time, and a second run says exactly the same."""
    data = shared_data(SERIES[name])
    events = replayed(name, data)
    moments = [datetime.fromisoformat(e["at"]) for e in events[:-1]]
    assert moments == sorted(moments)
    assert replayed.__wrapped__(name, data) == events


def test_pulses_below_fifteen_minutes_raise_nothing_and_the_hour_is_a_slug(shared_data: SharedData) -> None:
    """27 pulses of 0.5 to 14.5 min are no slug, not even suspected; the last one, of an hour, is exactly one."""
    events = replayed("floodx", shared_data(SERIES["floodx"]))
    events = [e for e in events if e.get("rule") == "lv-slug-flow"]
    proven = [e for e in events if e["event"] == "raised"]
    assert len(proven) == 1
    last_pulse = datetime.fromisoformat("2016-10-07T13:15:15+02:00")
    for event in events:
        if event["event"] in ("raised", "suspected"):
            assert datetime.fromisoformat(event["since"]) >= last_pulse


def test_error_values_zeros_and_impossible_ph_are_flagged_and_never_judged(shared_data: SharedData) -> None:
    """-9999 and 7999, zeros of a dead sonde, pH 0.0 and 15.2: all of them void as evidence, whatever their number."""
    data = shared_data(SERIES["logan"])
    with data.open(encoding="utf-8") as lines:
        rows = list(csv.DictReader(lines))
    expected = {
        "temperature": sum(float(r["temp_C"]) in (-9999.0, 7999.0) for r in rows),
        "ph": sum(float(r["ph"]) == 0.0 or float(r["ph"]) > 14 for r in rows),
        "conductivity": sum(float(r["cond_uS_cm"]) in (7999.0, 0.0) or float(r["cond_uS_cm"]) < 0 for r in rows),
    }
    assert all(expected.values())
    found = dict.fromkeys(expected, 0)
    for reading in readings("logan", data):
        if "sentinel" in reading.tests or "fail_span" in reading.tests:
            assert evidence(reading) == Evidence.VOID
            found[reading.channel] += 1
    assert found == expected


def test_a_frozen_sonde_fails_after_a_day_and_is_suspect_before(shared_data: SharedData) -> None:
    """A value that has not moved for 4 h is suspect, for 24 h failed: a freeze of weeks is never a compliant month."""
    data = shared_data(SERIES["logan"])
    since: dict[str, tuple[float | None, int]] = {}
    for reading in readings("logan", data):
        value, first_us = since.get(reading.channel, (None, 0))
        if reading.value != value:
            since[reading.channel] = (reading.value, reading.at.mono_us)
            continue
        still_h = (reading.at.mono_us - first_us) / 3.6e9
        if still_h >= 24:
            assert evidence(reading) == Evidence.VOID
        elif still_h >= 4 and reading.quality.name != "FAIL":
            assert "flat_line" in reading.tests


def test_a_clock_that_steps_back_is_counted_and_its_hour_takes_no_part(shared_data: SharedData) -> None:
    """Twelve stamps that are not later than the newest are kept, flagged `order`, and judged by nobody."""
    data = shared_data(SERIES["machine"])
    summary = replayed("machine", data)[-1]
    assert summary["backward_steps"] == 1
    flagged = [r for r in readings("machine", data) if r.tests == ("order",)]
    moments = stamps(data, "UTC")
    newest, late = moments[0], 0
    for moment in moments[1:]:
        late += moment <= newest
        newest = max(newest, moment)
    assert len(flagged) == late == 12
    assert all(r.value is not None and evidence(r) == Evidence.VOID for r in flagged)


def test_a_jittering_clock_is_no_gap_and_a_real_gap_is_missing(shared_data: SharedData) -> None:
    """Stamps 597 to 603 s apart stay valid; the gap of 47 minutes is missing beyond the hold of 25."""
    data = shared_data(SERIES["mines"])
    summary = replayed("mines", data)[-1]
    moments = stamps(data, "America/Denver")
    hold_s = 1500
    gaps = [(b - a).total_seconds() for a, b in pairwise(moments)]
    missing_s = sum(g - hold_s for g in gaps if g > hold_s)
    assert missing_s > 0
    (flow,) = [c for c in summary["channels"] if c["channel"] == "flow"]
    assert flow["missing_s"] == missing_s
    assert flow["valid_s"] == (moments[-1] - moments[0]).total_seconds() - missing_s


def test_no_recorded_river_is_called_an_acid_or_hot_discharge(shared_data: SharedData) -> None:
    """Clean water for months: no pH or temperature limit is proven exceeded on what a fault looks like."""
    for name in ("logan", "poudre"):
        events = replayed(name, shared_data(SERIES[name]))
        proven = {e["rule"] for e in events if e["event"] == "raised"}
        assert not proven & {"lv-ph-low", "lv-ph-high", "lv-temperature"}
        assert all(Verdict(e["verdict"]) is not Verdict.COMPLIANT or e["event"] == "cleared" for e in events[:-1])
