"""What had been standing still before a restart is no news after it, and hours of a diagnosis stay hours."""

import json
from typing import Any

import pytest

from gateway.model import Instant, Quality, Reading, Resume, Sample
from gateway.pipeline import Pipeline
from gateway.signals.qc import Evidence, evidence
from gateway.site import Site
from tests.support.bench_site import S, channel
from tests.support.diagnosed_site import minutely, moment, ph, station

STUCK = channel("level", poll_s=15, hold_s=40, quantity="level", unit="ft", flat_after_us=600 * S,
                flat_fail_after_us=1200 * S, flat_tolerance=0.001, spike=0.5)  # fmt: skip


def restarted(site: Site, pipeline: Pipeline, state: Any, since: list[Reading], second: int, moved_us: int) -> Pipeline:
    """A pipeline on another axis, from a stored state and the readings on record since."""
    now = Instant(moment(second).utc_us, second * S + moved_us)
    after = Pipeline(site, now)
    after.restore(json.loads(json.dumps(state)), Resume(now, moved_us))
    for one in since:
        at = Instant(one.at.utc_us, one.at.mono_us + moved_us)
        after.refeed(Reading(one.channel, at, one.raw, one.value, one.quality, one.tests, one.mode, one.dry))
    return after


@pytest.mark.parametrize(
    ("minutes", "quality", "weight"),
    [(12, Quality.SUSPECT, Evidence.VALID), (25, Quality.FAIL, Evidence.VOID)],
)
def test_a_stuck_instrument_is_as_stuck_after_a_restart(minutes: int, quality: Quality, weight: int) -> None:
    """Ten minutes still are doubted, twenty failed: a restart between two polls gives no failed level a clean start."""
    site = station(STUCK)
    before, since = Pipeline(site, moment(0)), []
    snapshot: dict[str, Any] = {}
    for second in range(0, minutes * 60, 15):
        if second == (minutes - 1) * 60:
            snapshot, since = before.snapshot(), []
        since += before.process([Sample("level", moment(second), (7,), 0.7)], moment(second)).readings
    assert since[-1].quality is quality
    second = minutes * 60
    after = restarted(site, before, snapshot, since, second, 1234 * S)
    at = Instant(moment(second).utc_us, (second + 1234) * S)
    (reading,) = after.process([Sample("level", at, (7,), 0.7)], at).readings
    assert (reading.quality, reading.tests, evidence(reading)) == (quality, ("flat_line",), weight)
    later = Instant(at.utc_us + 15 * S, at.mono_us + 15 * S)
    (moving,) = after.process([Sample("level", later, (9,), 0.9)], later).readings
    assert moving.quality is Quality.GOOD, "what moves is stuck no more"


def test_a_spike_is_one_after_a_restart_too() -> None:
    """The neighbours of the first poll are the last ones on record."""
    site = station(STUCK)
    before = Pipeline(site, moment(0))
    since = [
        one
        for second in (0, 15)
        for one in before.process([Sample("level", moment(second), (7,), 0.7)], moment(second)).readings
    ]
    after = restarted(site, before, {}, since, 30, 0)
    (reading,) = after.process([Sample("level", moment(30), (20,), 2.0)], moment(30)).readings
    assert reading.tests == ("spike",)


def test_two_hours_of_a_glass_are_not_one() -> None:
    """Stored in one hour, killed in the next, on an axis no whole hours away: each hour is judged by itself."""
    channels = ph(glass=True), minutely("flow", "flow", "gpm"), minutely("conductivity", "conductivity", "uS/cm")
    site = station(*channels)

    def samples(second: int, moved_us: int = 0) -> tuple[list[Sample], Instant]:
        at = Instant(moment(second).utc_us, second * S + moved_us)
        values = {"flow": 5.0 + second % 1200 / 120, "conductivity": 800.0, "ph": 7.0}
        return [Sample(name, at, (1,), value) for name, value in values.items()], at

    never, first, since = Pipeline(site, moment(0)), Pipeline(site, moment(0)), []
    snapshot: dict[str, Any] = {}
    for second in range(0, 5400, 60):
        never.process(*samples(second))
        since += first.process(*samples(second)).readings
        if second == 3000:
            snapshot, since = first.snapshot(), []
    after = restarted(site, first, snapshot, since, 5400, 1260 * S)
    for second in range(5400, 8 * 3600, 60):
        flagged = [
            [one.tests for one in pipeline.process(*samples(second, moved_us)).readings if one.channel == "ph"]
            for pipeline, moved_us in ((never, 0), (after, 1260 * S))
        ]
        assert flagged[0] == flagged[1], second
    assert flagged[0] == [("broken_glass",)]
