"""Significant noncompliance: chronic and technical shares, six months, and two accounts that never meet."""

from dataclasses import replace
from datetime import date, timedelta
from fractions import Fraction

import pytest

from gateway.model import Finding, FindingEvent, Verdict
from gateway.rules.snc import Measurement, Origin, SensorDays, beyond_trc, quarter_ends, six_months, worksheet
from tests.support.bench_site import at, limit, slug
from tests.support.lab_site import ZONE, laboratory, local, now, result, rule, toxic

QUARTER = date(2026, 6, 30)


def measured(n: int, exceeding: int = 0, technical: int = 0, origin: Origin = Origin.LABORATORY) -> list[Measurement]:
    """So many measurements, one a day from April on, of which the first ones exceed or reach the criterion."""
    return [Measurement(date(2026, 1, 1) + timedelta(days=i), origin, i < exceeding, i < technical) for i in range(n)]


# Exceeding, of n, reaching limit x TRC: chronic, technical.
SHARES = [
    (8, 12, 0, True, False),  # 66.7 %
    (7, 11, 0, False, False),  # 63.6 %
    (4, 12, 4, False, True),  # 33.3 %
    (3, 10, 3, False, False),  # 30 %
    (66, 100, 0, True, False),  # exactly 66 %
    (65, 100, 32, False, False),
    (33, 100, 33, False, True),  # exactly 33 %
    (1, 1, 1, True, True),
    (0, 0, 0, False, False),
]


@pytest.mark.parametrize(("exceeding", "n", "technical", "is_chronic", "is_technical"), SHARES)
def test_shares(exceeding: int, n: int, technical: int, is_chronic: bool, is_technical: bool) -> None:
    """66 % or more exceed: chronic; 33 % or more equal or exceed limit x TRC: technical; both at the very share."""
    sheet = worksheet(rule(), Origin.LABORATORY, measured(n, exceeding, technical), QUARTER)
    assert (sheet.n, sheet.exceeding, sheet.reaching_trc) == (n, exceeding, technical)
    assert (sheet.chronic, sheet.technical, sheet.significant) == (is_chronic, is_technical, is_chronic or is_technical)


# Value, limit, criterion, whether it counts.
CRITERIA = [
    ("1.92", 1.6, 1.2, True),  # copper: 1.6 x 1.2
    ("1.919", 1.6, 1.2, False),
    ("140", 100.0, 1.4, True),  # grease
    ("139.99", 100.0, 1.4, False),
    ("11.62", 8.3, 1.4, True),  # in binary fractions 8.3 x 1.4 is a little more than 11.62
    ("12.36", 10.3, 1.2, True),
    ("0.9799", 0.7, 1.4, False),
    ("99", 9.0, None, False),  # pH has no criterion
]


@pytest.mark.parametrize(("value", "of", "trc", "counts"), CRITERIA)
def test_the_technical_review_criterion(value: str, of: float, trc: float | None, counts: bool) -> None:
    """A value counts when it equals or exceeds limit x TRC, in decimals; pH never does."""
    assert beyond_trc(Fraction(value), of, ">", trc) is counts


def test_a_minimum_has_no_criterion() -> None:
    """A limit that must not be fallen below has no technical review criterion, whatever the rule says."""
    assert not beyond_trc(Fraction(1), 5.0, "<", 1.2)


# The end of a quarter, and the first day of its six months.
PERIODS = [
    (date(2026, 3, 31), date(2025, 10, 1)),
    (date(2026, 6, 30), date(2026, 1, 1)),
    (date(2026, 9, 30), date(2026, 4, 1)),
    (date(2026, 12, 31), date(2026, 7, 1)),
]


@pytest.mark.parametrize(("end", "first"), PERIODS)
def test_six_months_end_with_a_quarter(end: date, first: date) -> None:
    """The rolling period is the quarter and the one before it, edges included; what lies outside is not counted."""
    assert six_months(end) == (first, end)
    edge = [first - timedelta(days=1), first, end, end + timedelta(days=1)]
    sheet = worksheet(rule(), Origin.LABORATORY, [Measurement(d, Origin.LABORATORY, True, False) for d in edge], end)
    assert sheet.n == 2


def test_quarters_that_have_ended() -> None:
    """A quarter is due on the day after its last; each is due once."""
    assert quarter_ends(date(2025, 12, 31), date(2026, 6, 30)) == (date(2026, 3, 31),)
    assert quarter_ends(date(2025, 12, 31), date(2026, 7, 1)) == (date(2026, 3, 31), date(2026, 6, 30))
    assert quarter_ends(date(2026, 6, 30), date(2026, 7, 1)) == ()


def test_the_two_accounts_never_mix() -> None:
    """A sensor-day on a laboratory worksheet is refused."""
    mixed = [*measured(3), *measured(1, origin=Origin.SENSOR_DAYS)]
    with pytest.raises(ValueError, match="sensor-days on a worksheet of laboratory: they are never mixed"):
        worksheet(rule(), Origin.LABORATORY, mixed, QUARTER)


def test_what_nobody_can_tell_is_no_measurement() -> None:
    """A result whose detection limit is above the legal limit adds neither to the count nor to compliance."""
    doubtful = Measurement(date(2026, 5, 1), Origin.LABORATORY, None, None)
    sheet = worksheet(rule(), Origin.LABORATORY, [*measured(3, 2), doubtful], QUARTER)
    assert (sheet.n, sheet.undecided, sheet.chronic) == (3, 1, True)
    assert sheet.words.endswith("; 1 could not be decided")


def test_a_worksheet_in_words() -> None:
    """One line with limit, shares and what they come to."""
    sheet = worksheet(rule(), Origin.LABORATORY, measured(12, 8, 4), QUARTER)
    assert sheet.words == (
        "lv-tox-copper-24h, laboratory, 2026-01-01 to 2026-06-30: 8 of 12 exceed (66.7 %), "
        "4 reach 1.2 x the limit (33.3 %): significant noncompliance (chronic and TRC)"
    )
    empty = worksheet(rule(), Origin.LABORATORY, [], QUARTER)
    assert empty.words == "lv-tox-copper-24h, laboratory: no measurement from 2026-01-01 to 2026-06-30"
    assert sheet.body()["words"] == sheet.words


def test_laboratory_results_are_counted_as_they_were_judged() -> None:
    """Each composite is one measurement; corrections count as corrected; means of thirty days count none."""
    lab = laboratory(toxic("copper"), toxic("copper", "30-day"))
    values = [1.92, 1.919, 1.6, "<0.005", "<2", 1.0]
    lab.add_all([result(value, day) for day, value in enumerate(values)], now())
    lab.add(result(1.7, 5, version=2), now())
    counted = [(m.exceeds, m.technical) for m in lab.measurements("lv-tox-copper-24h")]
    assert counted == [(True, True), (True, False), (False, False), (False, False), (None, None), (True, False)]
    assert lab.measurements("lv-tox-copper-30d") == ()


def told(of: object, event: FindingEvent, since_us: int, duration_us: int, verdict: Verdict) -> Finding:
    """A finding of a sensor rule that began at a local moment."""
    since = replace(at(0), utc_us=since_us)
    return Finding(event, of.id, of.clause, of.channel, verdict, since, since, duration_us, "", of.unit)


def test_sensor_days() -> None:
    """One measurement per discharge day; a proven exceedance over midnight marks both days, a suspected one none."""
    days, of = SensorDays(ZONE), slug(trc=1.2, limit=50.0)
    hour_us = 3_600_000_000
    days.hear(told(of, FindingEvent.RAISED, local(1, 23), hour_us // 4, Verdict.EXCEEDED))
    days.hear(told(of, FindingEvent.SUSPECTED, local(0, 9), hour_us, Verdict.SUSPECTED))
    days.hear(told(of, FindingEvent.PREALARM, local(0, 9), hour_us, Verdict.SUSPECTED))
    for day in (0, 1):
        days.close(of, date(2026, 1, 5 + day), value=61.0, limit=50.0)
    days.hear(told(of, FindingEvent.CLEARED, local(1, 23), 2 * hour_us, Verdict.COMPLIANT))
    days.close(of, date(2026, 1, 7), value=59.0, limit=50.0)
    counted = [(m.day.day, m.exceeds, m.technical) for m in days.measurements(of)]
    assert counted == [(5, False, False), (6, True, True), (7, True, False)]
    assert {m.origin for m in days.measurements(of)} == {Origin.SENSOR_DAYS}
    again = SensorDays(ZONE)
    again.restore(days.state())
    assert (again.measurements(of), again.state()) == (days.measurements(of), days.state())


def test_sensor_days_of_ph_have_no_criterion() -> None:
    """A day on which pH was proven too low exceeds, and reaches no technical criterion."""
    days, of = SensorDays(ZONE), limit()
    days.hear(told(of, FindingEvent.INTERRUPTED, local(0, 9), 1, Verdict.EXCEEDED))
    days.close(of, date(2026, 1, 5), value=2.0, limit=5.5)
    assert [(m.exceeds, m.technical) for m in days.measurements(of)] == [(True, False)]


def test_sensor_days_are_kept_for_little_more_than_a_year() -> None:
    """After three years of days only the last 400 are there."""
    days, of = SensorDays(ZONE), limit()
    for day in range(1100):
        days.hear(told(of, FindingEvent.RAISED, local(day, 9), 1, Verdict.EXCEEDED))
        days.close(of, date(2026, 1, 5) + timedelta(days=day), value=5.0, limit=5.5)
    assert len(days.measurements(of)) == 401
    assert len(days.state()["exceeding"]["lv-ph-low|ph"]) == 401
