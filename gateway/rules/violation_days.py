"""On how many local dates an event was a violation: each day is an offence of its own (docs/judging.md 10)."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo

from gateway.model import Finding
from gateway.rules.local_day import local_date

__all__ = ["ViolationDays", "dates_of", "violation_days"]

_DAY = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class ViolationDays:
    """Local dates touched by proven exceedances, and those of them after the deadline to cure; without one, all."""

    dates: tuple[date, ...]
    after_cure: tuple[date, ...]

    @property
    def total(self) -> int:
        """How many dates."""
        return len(self.dates)

    @property
    def total_after_cure(self) -> int:
        """How many dates that count for a penalty."""
        return len(self.after_cure)


def violation_days(events: Iterable[tuple[int, int]], zone: tzinfo, cure_utc_us: int | None = None) -> ViolationDays:
    """The dates that proven events touch, each (first, last exceeding sample) in microseconds of UTC, both inclusive.

    Several events on one date are one day. After the deadline counts what lies later than `cure_utc_us`.
    """
    touched: set[date] = set()
    after: set[date] = set()
    for since_us, until_us in events:
        touched.update(_dates(since_us, until_us, zone))
        if cure_utc_us is None:
            after.update(_dates(since_us, until_us, zone))
        elif until_us > cure_utc_us:
            after.update(_dates(max(since_us, cure_utc_us + 1), until_us, zone))
    return ViolationDays(tuple(sorted(touched)), tuple(sorted(after)))


def dates_of(finding: Finding) -> tuple[int, int]:
    """The bounds of a proven run for `violation_days`: its duration is monotonic, so a clock step adds no day."""
    return finding.since.utc_us, finding.since.utc_us + finding.duration_us


def _dates(since_us: int, until_us: int, zone: tzinfo) -> Iterable[date]:
    day, last = local_date(since_us, zone), local_date(until_us, zone)
    while day <= last:
        yield day
        day += _DAY
