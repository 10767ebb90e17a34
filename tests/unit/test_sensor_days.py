"""What one local day of a sensor rule comes to: exceeding, complying, no measurement at all (docs/judging.md 9.2)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date

import pytest

from gateway.model import Instant, Outcome, Sample, Severity
from gateway.pipeline import Pipeline
from gateway.rules.snc import Measurement, Origin, worksheet
from gateway.site import AlarmPolicy, Channel, Rule, Term
from tests.support import bench_site
from tests.support.ledger_feed import rule
from tests.support.small_site import small_site

HOUR_US = 3_600_000_000
MIDNIGHT_US = 1_795_842_000_000_000  # 2026-11-28T00:00 in New York, a Saturday
FIRST = date(2026, 11, 28)
CHANNELS = {
    name: Channel(name, name, unit, HOUR_US, 2 * HOUR_US, 3 * HOUR_US)
    for name, unit in {"chlorine": "mg/L", "flow": "gpm", "ph": "pH"}.items()
}
CHLORINE = rule(id="lv-chlorine", alarm="lv-chlorine", channel="chlorine", limit=50.0, trc=1.2)
VOLUME = rule("volume", id="permit-volume", alarm="permit-volume", channel="flow", unit="gal", limit=30_000.0, trc=1.2)
PH_LOW = bench_site.limit(id="lv-ph-low", alarm="lv-ph-low")
WAIVED = Term("waiver", MIDNIGHT_US, None, None, "W-1", "Superintendent")
Hours = Sequence[float | None]  # one value an hour, None where nothing came


def days(*values: float) -> list[float | None]:
    """One value for each day, every hour."""
    return [value for value in values for _ in range(24)]


def played(*rules: Rule, **series: Hours) -> Pipeline:
    """A site with these rules that lived through hourly values from a local midnight on."""
    return _lived(rules, series)[0]


def lived(*rules: Rule, **series: Hours) -> list[Outcome]:
    """The same, and what came of it."""
    return _lived(rules, series)[1]


def _lived(rules: Sequence[Rule], series: Mapping[str, Hours]) -> tuple[Pipeline, list[Outcome]]:
    names = [one.alarm for one in rules] + [f"sensor-{name}" for name in CHANNELS]
    alarms = {name: AlarmPolicy(name, Severity.WARNING) for name in names}
    site = replace(small_site(), channels=CHANNELS, rules=rules, baselines={}, alarms=alarms)
    pipeline = Pipeline(site, Instant(MIDNIGHT_US, 0))
    outcomes = []
    length = max(len(values) for values in series.values())
    for hour in range(length):
        at = Instant(MIDNIGHT_US + hour * HOUR_US, hour * HOUR_US)
        known = {name: values[hour] for name, values in series.items() if hour < len(values)}
        outcomes.append(pipeline.process([Sample(name, at, (), v) for name, v in known.items() if v is not None], at))
    outcomes.append(pipeline.tick(Instant(MIDNIGHT_US + length * HOUR_US + 1, length * HOUR_US + 1)))
    return pipeline, outcomes


def measured(pipeline: Pipeline, of: Rule) -> list[Measurement]:
    """The sensor-days of a rule."""
    return list(pipeline.accounts.sensor_days.measurements(of))


def counted(pipeline: Pipeline, of: Rule) -> list[tuple[int, bool | None, bool | None]]:
    """The same, the day as a number from 0."""
    return [((one.day - FIRST).days, one.exceeds, one.technical) for one in measured(pipeline, of)]


def test_one_day_above_a_limit_for_24_hours_is_one_sensor_day() -> None:
    """Chlorine above 50 mg/L on the second of four days: that day exceeds, and no other."""
    pipeline = played(CHLORINE, chlorine=days(10, 55, 10, 10))
    assert [exceeds for _, exceeds, _ in counted(pipeline, CHLORINE)] == [False, True, False, False]
    two = played(CHLORINE, chlorine=days(10, 55, 55, 10))
    assert [exceeds for _, exceeds, _ in counted(two, CHLORINE)] == [False, True, True, False]


def test_the_criterion_of_an_average_is_met_by_the_average() -> None:
    """60 mg/L is 50 x 1.2: an average of 60 reaches it; one of 55 does not, whatever its highest hour."""
    ragged = [100.0, *[(55.0 * 24 - 100) / 23] * 23]
    pipeline = played(CHLORINE, chlorine=days(60) + ragged)
    assert counted(pipeline, CHLORINE) == [(0, True, True), (1, True, False)]


def test_a_volume_of_a_day_is_measured_in_gallons() -> None:
    """25 gpm all day is 36,000 gal: above 30,000 and exactly 1.2 times it; 20 gpm is 28,800 and neither."""
    pipeline = played(VOLUME, flow=days(25, 20, 24))
    assert counted(pipeline, VOLUME) == [(0, True, True), (1, False, False), (2, True, False)]


@pytest.mark.parametrize(
    "of",
    [
        rule(channel="chlorine", window="30-day", limit=50.0, min_days=1),
        rule(channel="chlorine", window="month", limit=50.0, min_days=1),
        rule("volume", channel="flow", unit="gal", window="30-day", limit=100.0, min_days=1),
    ],
    ids=["30 days", "month", "volume of 30 days"],
)
def test_a_window_of_more_than_a_day_has_no_sensor_days(of: Rule) -> None:
    """As with laboratory results, a mean of days is no measurement: one bad day would count up to thirty times."""
    pipeline = played(of, chlorine=days(*[90] * 34), flow=days(*[20] * 34))
    assert measured(pipeline, of) == []


def test_sensor_days_of_an_average_survive_a_restart() -> None:
    """What is stored and brought back counts the same days."""
    pipeline = played(CHLORINE, chlorine=days(10, 60))
    again = played(CHLORINE, chlorine=[10.0])
    again.accounts.sensor_days.restore(pipeline.accounts.sensor_days.state())
    assert counted(again, CHLORINE) == [(0, False, False), (1, True, True)]


def thin(value: float) -> list[float | None]:
    """A day with words for its first 16 hours; the hold of two hours makes them 17, and 18 are the 75 % of a day."""
    return [value] * 16 + [None] * 8


def test_a_day_of_an_average_that_nobody_could_judge_is_no_measurement() -> None:
    """Seventeen hours of 24 are 70.8 %: such a day neither exceeds nor complies, and dilutes nothing."""
    pipeline = played(CHLORINE, chlorine=thin(55) + days(55) + thin(10) + days(10))
    assert counted(pipeline, CHLORINE) == [(0, None, None), (1, True, False), (2, None, None), (3, False, False)]
    sheet = worksheet(CHLORINE, Origin.SENSOR_DAYS, measured(pipeline, CHLORINE), date(2026, 12, 31))
    assert (sheet.n, sheet.exceeding, sheet.undecided) == (2, 1, 2)


def test_a_day_of_single_values_that_was_hardly_heard_is_no_measurement() -> None:
    """Below 75 % of the discharging time a day proves no compliance; an exceedance on it is proven all the same."""
    low = [7.0, 5.0, 5.0, 5.0, *[7.0] * 12, *[None] * 8]
    pipeline = played(PH_LOW, ph=thin(7) + days(7) + low)
    assert counted(pipeline, PH_LOW) == [(0, None, None), (1, False, False), (2, True, False)]


def test_days_without_a_baseline_are_no_measurements() -> None:
    """A slug rule that had nothing to compare with said nothing of the day."""
    of = bench_site.slug(baseline=None)
    assert counted(played(of, flow=days(10, 10)), of) == [(0, None, None), (1, None, None)]


def test_days_nobody_could_judge_survive_a_restart() -> None:
    """What is stored and brought back leaves the same days open; a state of an older release has none."""
    pipeline = played(CHLORINE, chlorine=thin(10) + days(10))
    state = json.loads(json.dumps(pipeline.accounts.sensor_days.state()))
    again = played(CHLORINE, chlorine=[10.0])
    again.accounts.sensor_days.restore(state)
    assert counted(again, CHLORINE) == [(0, None, None), (1, False, False)]
    del state["undecided"]
    again.accounts.sensor_days.restore(state)
    assert counted(again, CHLORINE) == [(0, False, False), (1, False, False)]


def test_a_suspended_day_is_no_measurement() -> None:
    """Under a waiver without a limit nothing is exceeded: neither an average, nor a run, nor a day that complied."""
    of = replace(CHLORINE, terms=(replace(WAIVED, until_utc_us=MIDNIGHT_US + 48 * HOUR_US),))
    assert counted(played(of, chlorine=days(55, 10, 55, 10)), of) == [(2, True, False), (3, False, False)]
    ph = replace(PH_LOW, terms=(replace(WAIVED, until_utc_us=MIDNIGHT_US + 24 * HOUR_US),))
    assert counted(played(ph, ph=days(5, 5, 7)), ph) == [(1, True, False), (2, False, False)]


def test_a_waiver_with_a_limit_is_judged_by_that_limit() -> None:
    """Up to 80 mg/L allowed by agreement: 55 complies, 81 exceeds, 96 is 80 x 1.2."""
    of = replace(CHLORINE, terms=(replace(WAIVED, kind="agreement", limit=80.0),))
    counts = [(0, False, False), (1, True, False), (2, True, True)]
    assert counted(played(of, chlorine=days(55, 81, 96)), of) == counts


def test_a_federal_limit_is_not_suspended() -> None:
    """A waiver does nothing against a federal limit: the day exceeds."""
    of = replace(PH_LOW, jurisdiction="federal", terms=(WAIVED,))
    assert counted(played(of, ph=days(5, 7)), of) == [(0, True, False), (1, False, False)]


def test_a_suspended_exceedance_starts_no_clock_until_the_waiver_ends() -> None:
    """Two days above the limit, the first under a waiver: both are findings, only the second starts the clocks."""
    of = replace(CHLORINE, terms=(replace(WAIVED, until_utc_us=MIDNIGHT_US + 24 * HOUR_US),))
    outcomes = lived(of, chlorine=days(55, 55))
    raised = [(f.event.value, "suspended" in f.context) for o in outcomes for f in o.findings if f.event == "raised"]
    assert raised == [("raised", True), ("raised", False)]
    clocks = [note.at.utc_us for o in outcomes for note in o.notes if note.kind == "notice_due"]
    assert clocks == [MIDNIGHT_US + 48 * HOUR_US] * 2
