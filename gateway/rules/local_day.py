"""The calendar of one site: local dates, their midnights and months, from UTC and a time zone (docs/judging.md 5.4).

A local day has its true length: 23 or 25 h where daylight saving begins or ends.
"""

from datetime import UTC, date, datetime, timedelta, tzinfo

__all__ = ["date_of", "local_date", "midnight_us", "month_of", "next_midnight_us"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)
_DAY = timedelta(days=1)


def local_date(utc_us: int, zone: tzinfo) -> date:
    """The date on the wall at a moment of UTC, in microseconds."""
    return (_EPOCH + timedelta(microseconds=utc_us)).astimezone(zone).date()


def midnight_us(day: date, zone: tzinfo) -> int:
    """The moment of UTC, in microseconds, at which a local date begins.

    Where the clocks skip midnight the date begins at the skip; where they repeat it, at the first of the two.
    """
    return (datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC) - _EPOCH) // _US


def next_midnight_us(utc_us: int, zone: tzinfo) -> int:
    """The next moment of UTC, in microseconds, later than this one at which a local date begins."""
    day = local_date(utc_us, zone)
    while True:
        day += _DAY
        begins_us = midnight_us(day, zone)
        if begins_us > utc_us:
            return begins_us


def month_of(day: str) -> str:
    """The month of an ISO date: 2026-11-30 lies in 2026-11."""
    return day[:7]


def date_of(day: str) -> date:
    """The date of its ISO text."""
    return date.fromisoformat(day)
