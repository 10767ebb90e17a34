"""Ten lift stations over two years: an outage that was written down as zeros is no slug when it ends."""

import csv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.config import load
from gateway.drivers.recorded import Column, ColumnMap, RecordedSeries
from gateway.drivers.replay import replay
from gateway.site import Site

pytestmark = pytest.mark.recorded

SERIES = "04_jea_lift_stations/jea_hourly_flow.csv"
SITE = Path(__file__).parent / "recorded" / "jea" / "site.toml"


def raised(site: Site, data: Path, column: str) -> list[dict]:
    """The slugs of one station."""
    mapping = ColumnMap("timestamp", None, {"flow": Column(column, "gpm")})
    events = replay(site, RecordedSeries(data, site.channels, mapping, "America/New_York"))
    return [e for e in events if e["event"] == "raised" and e["rule"] == "lv-slug-flow"]


def test_no_station_raises_a_slug(shared_data: Callable[[str], Path]) -> None:
    """Zero is no reading of these stations, and an hour that stands alone has no duration: nothing is raised."""
    data = shared_data(SERIES)
    site = load(SITE, for_replay=True)
    with data.open(encoding="utf-8") as lines:
        stations = next(csv.reader(lines))[1:]
    assert len(stations) == 10
    assert {station: raised(site, data, station) for station in stations} == {station: [] for station in stations}


def test_a_naive_site_falls_into_the_trap(shared_data: Callable[[str], Path]) -> None:
    """Without that gate the same rule calls the restart of 8 August 2019 a slug: the data set does bite."""
    data = shared_data(SERIES)
    site = load(SITE, for_replay=True)
    flow = replace(site.channels["flow"], sentinels=())
    found = raised(replace(site, channels={"flow": flow}), data, "carlotta_rd_n_8043_gpm")
    assert any(event["since"].startswith("2019-08-08") for event in found)
