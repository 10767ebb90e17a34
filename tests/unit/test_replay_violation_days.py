"""The days of violation in the summary of a replay: each local date once, from what was proven (docs/judging.md 10)."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gateway import config
from gateway.drivers.replay import run_replay

SITE = """
[site]
id = "t"
name = "T"
discharger = "D"
time_zone = "America/New_York"
ordinances = ["little-valley"]
[channels.ph]
quantity = "pH"
poll = "{poll}"
[channels.chlorine]
quantity = "chlorine"
unit = "mg/L"
poll = "{poll}"
"""
MIDNIGHT = datetime(2026, 11, 28, tzinfo=ZoneInfo("America/New_York")).astimezone(UTC)
WAIVER = """
[[waivers]]
rule = "lv-ph-low"
reference = "W-1"
approved_by = "S"
reason = "r"
valid_from = 2026-11-29
valid_until = 2026-11-29
"""


def summary(folder: Path, column: str, values: Sequence[float | str], minutes: int, more: str = "") -> tuple[dict, str]:
    """Replay one value every so many minutes from a local midnight on: the summary, and every byte."""
    (folder / "site.toml").write_text(SITE.format(poll=f"{minutes} min") + more, encoding="utf-8")
    rows = [f"{(MIDNIGHT + timedelta(minutes=minutes * n)).isoformat()},{v}" for n, v in enumerate(values)]
    data = folder / "data.csv"
    data.write_text(f"time,{column}\n" + "\n".join(rows) + "\n", encoding="utf-8")
    out = StringIO()
    assert run_replay(config.load(folder / "site.toml", for_replay=True), data, out) == 0
    return json.loads(out.getvalue().splitlines()[-1]), out.getvalue()


def ph(*low: tuple[float, float], hours: int = 72) -> list[float]:
    """pH 7 every five minutes, and 4 from one hour of the story to another, both included."""
    return [4.0 if any(a <= n / 12 <= b for a, b in low) else 7.0 for n in range(hours * 12)]


@pytest.mark.parametrize(
    ("low", "dates"),
    [
        pytest.param([(23, 25)], ["2026-11-28", "2026-11-29"], id="an exceedance over midnight is two days"),
        pytest.param([(9, 10), (15, 16)], ["2026-11-28"], id="two on one day are one"),
        pytest.param([(9, 9.1)], [], id="two samples are not proven"),
        pytest.param([(71, 72)], ["2026-11-30"], id="one still open at the end counts"),
    ],
)
def test_days_of_low_ph(low: list[tuple[float, float]], dates: list[str], tmp_path: Path) -> None:
    """A limit on single values, from local midnight of 28 November on."""
    days = summary(tmp_path, "ph", ph(*low), 5)[0]["violation_days"]
    said = [
        {"rule": "lv-ph-low", "clause": "§ 194-6C(7)", "channel": "ph", "days": len(dates), "dates": dates,
         "left_out": 0}
    ]  # fmt: skip
    assert days == (said if dates else [])


def test_a_day_under_a_waiver_is_none(tmp_path: Path) -> None:
    """Low for three days, of which the second is waived."""
    (days,) = summary(tmp_path, "ph", ph((0, 72)), 5, WAIVER)[0]["violation_days"]
    assert days["dates"] == ["2026-11-28", "2026-11-30"]


def test_a_day_above_an_average_is_one_and_a_thin_one_above_it_is_none(tmp_path: Path) -> None:
    """Chlorine at 60 mg/L for one whole day, at 10 for the next, at 60 for the only hours heard of the third."""
    values = [60.0] * 24 + [10.0] * 24 + [60.0] * 12
    found, lines = summary(tmp_path, "chlorine", [*values, *[""] * 12, 10.0, 10.0], 60)
    assert '"event":"suspected","rule":"lv-tox-available-chlorine-24h"' in lines
    (days,) = found["violation_days"]
    assert (days["rule"], days["dates"]) == ("lv-tox-available-chlorine-24h", ["2026-11-28"])


def test_dates_beyond_the_thirty_first_are_left_out_and_counted(tmp_path: Path) -> None:
    """Low for forty days, heard every hour: forty days of violation, 31 of them printed."""
    (days,) = summary(tmp_path, "ph", [4.0] * 24 * 40, 60)[0]["violation_days"]
    assert (days["days"], len(days["dates"]), days["left_out"]) == (40, 31, 9)
    assert (days["dates"][0], days["dates"][-1]) == ("2026-11-28", "2026-12-28")


def test_two_runs_say_the_same_bytes(tmp_path: Path) -> None:
    """Nothing in the summary depends on anything but the file and the site."""
    assert summary(tmp_path, "ph", ph((23, 25)), 5)[1] == summary(tmp_path, "ph", ph((23, 25)), 5)[1]
