"""Turbidity storms of two recorded stations: slugs by a trailing 24-h baseline that is not frozen, counted by hand.

The brute force looks over the file itself: each value, held to the next, against five times the mean of the 24 h
before; a slug is a run whose last sample lies more than 15 min after its first.
"""

import csv
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway.model import FindingEvent, Instant, Quality, Reading
from tests.support.baseline_site import FollowingRule, signed
from tests.support.bench_site import S, channel, slug

pytestmark = pytest.mark.recorded

POLL_S, HOLD_S = 900, 2250
Row = tuple[int, float | None]  # seconds since the first row, turbidity

# What the files' own notes list, as far as last minus first sample is longer than 900 s.
LISTED = {
    "05_logan_river_pyhydroqc/MainStreet2019.csv": ["2019-01-16T13:45:00+00:00"],
    "07_poudre_urban_sondes/udall.csv": ["2025-03-29T20:00:00-07:00", "2025-04-30T09:45:00-07:00"],
}


def rows_of(data: Path) -> tuple[int, list[Row]]:
    """The UTC of the first row, and the rows of some three months."""
    rows: list[Row] = []
    first = 0
    with data.open(encoding="utf-8") as lines:
        for row in csv.DictReader(lines):
            stamp = datetime.fromisoformat(row["timestamp"])
            second = int((stamp if stamp.tzinfo else stamp.replace(tzinfo=UTC)).timestamp())
            first = first or second
            rows.append((second - first, float(row["turb_NTU"]) if row["turb_NTU"] else None))
    return first, rows[:10_000]  # 104 days: as many minutes as the test has time for


def slugs_by_hand(first: int, rows: list[Row]) -> list[tuple[int, int]]:
    """First and last sample of every slug, in seconds since the first row."""
    valid = [(at, value) for at, value in rows if value is not None]
    ends = [min(at + HOLD_S, later) for (at, _), (later, _) in zip(valid, [*valid[1:], (1 << 40, 0.0)], strict=True)]
    slugs, run, oldest = [], [], 0
    for index, (now, value) in enumerate(valid):
        end = (first + now) // 60 * 60 - first  # the last full minute
        while ends[oldest] <= end - 86_400:
            oldest += 1
        total = known = 0.0
        for before in range(oldest, index + 1):
            at, held = valid[before]
            spent = min(ends[before], end) - max(at, end - 86_400)
            if spent > 0:
                total, known = total + held * spent, known + spent
        exceeds = known * 2 >= 86_400 and value > 5 * total / known
        if run and (not exceeds or now - run[-1] > HOLD_S):
            if run[-1] - run[0] > 900:
                slugs.append((run[0], run[-1]))
            run = []
        if exceeds:
            run.append(now)
    return slugs


@pytest.mark.parametrize("name", LISTED)
def test_turbidity_storms_are_slugs_of_a_trailing_baseline(name: str, shared_data: Callable[[str], Path]) -> None:
    """The same slugs as by hand, to the sample, and those that the notes of the file list among them."""
    first, rows = rows_of(shared_data(name))
    spec = channel("turbidity", quantity="turbidity", unit="NTU", poll_s=POLL_S, hold_s=HOLD_S)
    chosen = signed("literal-24h", unit="NTU", channel="turbidity", frozen=False)
    start = Instant(first * S, 0)
    rule = FollowingRule(
        spec,
        slug(channel="turbidity", unit="NTU", prealarms_us=(), bridge_gap_us=0, bridge_dip_us=0),
        chosen,
        start=start,
    )
    readings = [
        Reading("turbidity", Instant((first + at) * S, at * S), (), value, Quality.GOOD)
        if value is not None
        else Reading("turbidity", Instant((first + at) * S, at * S), (), None, Quality.MISSING, ("no sample",))
        for at, value in rows
    ]
    ended = [
        f
        for f in rule.take_all(readings)
        if f.event is FindingEvent.CLEARED or (f.event is FindingEvent.INTERRUPTED and f.verdict.value == "exceeded")
    ]
    found = [(f.since.mono_us // S, (f.since.mono_us + f.duration_us) // S) for f in ended]
    assert found == slugs_by_hand(first, rows)
    assert len(found) > 5
    since = {f.since.utc_us // S for f in ended}
    assert all(int(datetime.fromisoformat(listed).timestamp()) in since for listed in LISTED[name])
