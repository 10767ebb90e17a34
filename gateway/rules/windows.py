"""Which local days a window holds, and what is missing of it (docs/judging.md 5.6)."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from fractions import Fraction

from gateway.rules.ledger import VOLUME_SCALE, DayRecord
from gateway.rules.local_day import date_of, local_date, month_of

__all__ = [
    "DaySpan", "daily_flow", "flow_coverage", "month_over", "percent", "span_of_month", "trailing_days",
    "trailing_year",
]  # fmt: skip

_TRAILING_DAYS = 30


@dataclass(frozen=True, slots=True)
class DaySpan:
    """The records whose dates lie in a window, oldest first. `lead` counts its dates before the first record of all:
    a cold start, when it is not zero. `length` counts its dates."""

    records: tuple[DayRecord, ...]
    lead: int
    length: int

    def provisional(self, valid: Callable[[DayRecord], bool], least: int, what: str) -> str:
        """Why a mean of these days is not final, empty when it is; `what` are the days that count."""
        count = sum(1 for record in self.records if valid(record))
        if count < least:
            return f"PROVISIONAL({count}): {count} of at least {least} valid {what}"
        if self.lead:
            return f"PROVISIONAL({count}): day {self.length - self.lead} of the first {self.length}"
        return ""


def trailing_days(days: Sequence[DayRecord], last: str) -> DaySpan:
    """The trailing 30 local days that end with this date."""
    return _span(days, date_of(last) - timedelta(days=_TRAILING_DAYS - 1), date_of(last))


def trailing_year(days: Sequence[DayRecord], last: str) -> DaySpan:
    """The trailing 12 months that end with this date."""
    end = date_of(last)
    leap = end.month == 2 and end.day == 29
    before = date(end.year - 1, 2, 28) if leap else end.replace(year=end.year - 1)
    return _span(days, before + timedelta(days=1), end)


def span_of_month(days: Sequence[DayRecord], last: str) -> DaySpan:
    """The days of this date's calendar month up to it."""
    end = date_of(last)
    return _span(days, end.replace(day=1), end)


def month_over(record: DayRecord, zone: tzinfo) -> bool:
    """Whether the calendar month ends with this day."""
    return month_of(local_date(record.end.utc_us, zone).isoformat()) != month_of(record.date)


def daily_flow(span: DaySpan, coverage: float, least: int) -> tuple[Fraction | None, str]:
    """The average daily flow of these days, in gal, days without discharge included; and why it is provisional.

    A day is valid when its flow was for at least `coverage` of it.
    """

    def valid(record: DayRecord) -> bool:
        return flow_coverage(record) >= coverage

    counted = [record.volume for record in span.records if valid(record)]
    mean = Fraction(sum(counted), len(counted) * VOLUME_SCALE) if counted else None
    return mean, span.provisional(valid, least, "days")


def flow_coverage(record: DayRecord) -> float:
    """The share of a local day with a valid flow; time from before the gateway began has none."""
    length_us = record.end.mono_us - record.start.mono_us
    return record.flow_valid_us / length_us if length_us > 0 else 0.0


def percent(share: float | None) -> str:
    """A share as people read it, never rounded up to what it has not reached."""
    return "no discharge" if share is None else f"{math.floor(share * 100)} %"


def _span(days: Sequence[DayRecord], first: date, last: date) -> DaySpan:
    lower, upper = first.isoformat(), last.isoformat()
    inside = tuple(record for record in days if lower <= record.date <= upper)
    known = min((record.date for record in days), default=upper)
    lead = max(0, (date_of(known) - first).days)
    return DaySpan(inside, lead, (last - first).days + 1)
