"""Each day an offence of its own: which local dates an event touches, and which after the deadline to cure."""

from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gateway.model import Finding, FindingEvent, Instant, Verdict
from gateway.rules.violation_days import dates_of, runs_of, violation_days, windows_of

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


def found(event: FindingEvent, since: str, until: str, at: str = "", **changes: Any) -> Finding:
    """A finding about an event between two local moments, settled at the second or at a third."""
    verdict = {FindingEvent.CLEARED: Verdict.COMPLIANT, FindingEvent.SUSPECTED: Verdict.SUSPECTED}.get(
        event, Verdict.EXCEEDED
    )
    since_us, until_us = local_us(since), local_us(until)
    facts = {"verdict": verdict, "duration_us": until_us - since_us, **changes}
    return Finding(
        event, "r", "c", "flow", facts.pop("verdict"), Instant(since_us, 0), Instant(local_us(at or until), 0),
        facts.pop("duration_us"), "", "gpm", **facts,
    )  # fmt: skip


def dates(events: list[tuple[int, int]]) -> list[str]:
    """The local dates of events, without the year."""
    return [day.isoformat()[5:] for day in violation_days(events, NEW_YORK).dates]


def test_the_runs_of_a_series() -> None:
    """A run lasts from its first exceeding sample to the last that a proof, a return or an interruption knows of."""
    raised = found(FindingEvent.RAISED, "2026-11-28T23:40", "2026-11-28T23:56")
    assert dates(runs_of([raised])) == ["11-28"]
    assert dates(runs_of([raised, found(FindingEvent.CLEARED, "2026-11-28T23:40", "2026-11-29T00:10")])) == [
        "11-28", "11-29",
    ]  # fmt: skip
    assert dates(runs_of([raised, found(FindingEvent.INTERRUPTED, "2026-11-28T23:40", "2026-11-29T00:10")])) == [
        "11-28", "11-29",
    ]  # fmt: skip
    assert dates(runs_of([raised], open_until_us=local_us("2026-11-30T01:00"))) == ["11-28", "11-29", "11-30"]


def test_what_was_not_proven_or_is_suspended_is_no_day() -> None:
    """A suspicion, a pre-alarm, an interruption before the proof, and an exceedance under a suspending waiver."""
    moments = ("2026-11-28T10:00", "2026-11-28T10:20")
    waived: dict[str, Any] = {"context": {"suspended": True}}
    findings = [
        found(FindingEvent.SUSPECTED, *moments),
        found(FindingEvent.PREALARM, *moments, verdict=Verdict.SUSPECTED),
        found(FindingEvent.INTERRUPTED, *moments, verdict=Verdict.NOT_EVALUABLE),
        found(FindingEvent.CLEARED, *moments, **waived),
        found(FindingEvent.RAISED, *moments, **waived),
    ]
    assert runs_of(findings, open_until_us=local_us("2026-11-28T11:00")) == []
    assert windows_of(findings, NEW_YORK, overlapping=True, until_us=local_us("2026-12-05T12:00")) == []


def window(event: FindingEvent, ends: str, **changes: Any) -> Finding:
    """A window that ends at a local midnight, with a since of long ago."""
    return found(event, "2026-11-01T00:00", f"{ends}T00:00", **changes)


def test_a_window_is_a_violation_on_the_day_it_ends_with() -> None:
    """Two exceeding days before one that complies are two, and a month is one."""
    events = [
        window(FindingEvent.RAISED, "2026-11-29"), window(FindingEvent.RAISED, "2026-11-30"),
        window(FindingEvent.CLEARED, "2026-12-01"),
    ]  # fmt: skip
    until_us = local_us("2026-12-05T12:00")
    assert dates(windows_of(events, NEW_YORK, overlapping=False, until_us=until_us)) == ["11-28", "11-29"]
    month = [window(FindingEvent.RAISED, "2026-12-01")]
    assert dates(windows_of(month, NEW_YORK, overlapping=False, until_us=until_us)) == ["11-30"]


@pytest.mark.parametrize(
    ("event", "changes"),
    [
        (FindingEvent.CLEARED, {}),
        (FindingEvent.SUSPECTED, {}),
        (FindingEvent.NOT_EVALUABLE, {"verdict": Verdict.NOT_EVALUABLE}),
        (FindingEvent.RAISED, {"context": {"suspended": True}}),
    ],
)
def test_a_trailing_average_is_a_violation_on_each_day_that_proves_it(
    event: FindingEvent, changes: dict[str, Any]
) -> None:
    """Raised with 30 October, another word with 3 November (over the day of 25 hours): four days, then none."""
    events = [window(FindingEvent.RAISED, "2026-10-31"), window(event, "2026-11-04", **changes)]
    days = windows_of(events, NEW_YORK, overlapping=True, until_us=local_us("2026-12-05T12:00"))
    assert dates(days) == ["10-30", "10-31", "11-01", "11-02"]


def test_a_trailing_average_that_stands_counts_to_the_last_day_that_is_over() -> None:
    """Raised with 28 November; the series ends at noon of 1 December, a day of which nothing is known yet."""
    events = [window(FindingEvent.RAISED, "2026-11-29")]
    days = windows_of(events, NEW_YORK, overlapping=True, until_us=local_us("2026-12-01T12:00"))
    assert dates(days) == ["11-28", "11-29", "11-30"]
