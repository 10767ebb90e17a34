"""On how many local dates an event was a violation: each day is an offence of its own (docs/judging.md 10)."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from itertools import pairwise

from gateway.model import Finding, FindingEvent, Verdict
from gateway.rules.local_day import local_date, midnight_us

__all__ = ["ViolationDays", "dates_of", "runs_of", "violation_days", "windows_of"]

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


def runs_of(findings: Iterable[Finding], open_until_us: int | None = None) -> list[tuple[int, int]]:
    """The events of one rule on single values, for `violation_days`, from its findings in order.

    `open_until_us` is the last exceeding sample of a run still under way. What a term suspends is no violation.
    """
    raised: Finding | None = None
    events = []
    for finding in findings:
        ended = finding.event in (FindingEvent.CLEARED, FindingEvent.INTERRUPTED)
        proven = finding.event is FindingEvent.CLEARED or finding.verdict is Verdict.EXCEEDED
        if _suspended(finding) or not proven:
            raised = None if ended or finding.event is FindingEvent.RAISED else raised
            continue
        events.append(dates_of(finding))
        raised = None if ended else finding
    if raised is not None and open_until_us is not None:
        events.append((raised.since.utc_us, open_until_us))
    return events


def windows_of(findings: Sequence[Finding], zone: tzinfo, *, overlapping: bool, until_us: int) -> list[tuple[int, int]]:
    """The same of one rule over windows: the date with which a window ends that proves an exceedance.

    Of overlapping windows only the first is a finding: each date counts from then to the one before the rule's next
    word, or the last that is over at `until_us`. So a month is one date, and thin windows in between are none.
    """
    events = []
    ends = [*(finding.at.utc_us for finding in findings), until_us]
    for finding, (at_us, next_us) in zip(findings, pairwise(ends), strict=True):
        if finding.event is FindingEvent.RAISED and finding.verdict is Verdict.EXCEEDED and not _suspended(finding):
            before_us = midnight_us(local_date(next_us - 1, zone), zone) - 1
            events.append((at_us - 1, max(at_us - 1, before_us) if overlapping else at_us - 1))
    return events


def _suspended(finding: Finding) -> bool:
    return bool(finding.context.get("suspended"))


def _dates(since_us: int, until_us: int, zone: tzinfo) -> Iterable[date]:
    day, last = local_date(since_us, zone), local_date(until_us, zone)
    while day <= last:
        yield day
        day += _DAY
