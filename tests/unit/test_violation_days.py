"""Each day an offence of its own: which local dates an event touches, and which after the deadline to cure."""

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest

from gateway.model import Finding, FindingEvent, Instant, Verdict
from gateway.rules.violation_days import dates_of, violation_days

NEW_YORK = ZoneInfo("America/New_York")


def local_us(text: str) -> int:
    """A local moment, in microseconds of UTC."""
    return int(datetime.fromisoformat(text).replace(tzinfo=NEW_YORK).timestamp() * 1_000_000)


@pytest.mark.parametrize(
    ("since", "until", "total"),
    [
        pytest.param("2026-11-28T10:00", "2026-11-28T10:16", 1, id="sixteen minutes in the morning are one day"),
        pytest.param("2026-11-28T23:55", "2026-11-29T00:10", 2, id="a quarter of an hour over midnight is two"),
        pytest.param("2026-11-28T23:45", "2026-11-29T00:00", 2, id="the sample at midnight is of the new day"),
        pytest.param("2026-11-28T23:45", "2026-11-28T23:59:59", 1, id="the one before it is not"),
        pytest.param("2026-10-31T12:00", "2026-11-02T12:00", 3, id="over the day of 25 hours"),
        pytest.param("2026-11-28T10:00", "2026-11-28T10:00", 1, id="a single sample is a day"),
    ],
)
def test_the_dates_an_event_touches(since: str, until: str, total: int) -> None:
    """Local dates, both ends included."""
    assert violation_days([(local_us(since), local_us(until))], NEW_YORK).total == total


@pytest.mark.parametrize(
    ("deadline", "after"),
    [
        pytest.param("2026-11-27T00:00", 4, id="before the event: all days"),
        pytest.param("2026-11-29T12:00", 3, id="in the middle of the second day: that day still counts"),
        pytest.param("2026-11-29T00:00", 3, id="at its midnight: the first day does not"),
        pytest.param("2026-12-01T06:00", 0, id="at the last sample: none"),
        pytest.param("2026-12-05T00:00", 0, id="later: none"),
    ],
)
def test_only_what_lies_after_the_deadline_is_penalised(deadline: str, after: int) -> None:
    """An event from noon of the 28th to six in the morning of 1 December."""
    event = (local_us("2026-11-28T12:00"), local_us("2026-12-01T06:00"))
    days = violation_days([event], NEW_YORK, local_us(deadline))
    assert (days.total, days.total_after_cure) == (4, after)


def test_several_events_on_one_date_are_one_day() -> None:
    """Three slugs in an afternoon are one offence that day."""
    events = [(local_us(f"2026-11-28T{hour}:00"), local_us(f"2026-11-28T{hour}:20")) for hour in (12, 14, 16)]
    days = violation_days([*events, (local_us("2026-11-30T01:00"), local_us("2026-11-30T01:20"))], NEW_YORK)
    assert [day.isoformat() for day in days.dates] == ["2026-11-28", "2026-11-30"]
    assert days.total_after_cure == 2


def test_a_clock_step_adds_no_day() -> None:
    """A finding's duration is monotonic: 20 minutes from 23:30 stay on one date, whatever the clock did meanwhile."""
    since = Instant(local_us("2026-11-28T23:30"), 0)
    finding = Finding(
        FindingEvent.CLEARED, "r", "c", "flow", Verdict.COMPLIANT, since,
        Instant(local_us("2026-11-29T00:30"), 1_200_000_000), 1_200_000_000, "", "gpm",
    )  # fmt: skip
    assert violation_days([dates_of(finding)], NEW_YORK).total == 1
