"""Significant noncompliance (40 CFR 403.8(f)(2)(viii)(A) and (B)): how often in six months, and by how much.

Chronic: 66 % or more of all measurements of one parameter exceed its limit, by any magnitude. Technical review
criterion: 33 % or more equal or exceed the limit times 1.4 (BOD, TSS, fats, oil and grease) or 1.2 (others; none for
pH). Laboratory results and sensor-days are two accounts and never one: a sensor-day is probable cause, not a result.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from enum import StrEnum
from fractions import Fraction
from typing import Any

from gateway.model import Finding, FindingEvent, Verdict
from gateway.rules.lab_mean import compare
from gateway.rules.lab_result import exact
from gateway.rules.local_day import local_date
from gateway.site import Rule

__all__ = ["Measurement", "Origin", "SensorDays", "Worksheet", "beyond_trc", "quarter_ends", "six_months", "worksheet"]

_CHRONIC_PERCENT = 66
_TECHNICAL_PERCENT = 33
_KEPT_DAYS = 400


class Origin(StrEnum):
    """Where a measurement comes from; the two are never added up."""

    LABORATORY = "laboratory"
    SENSOR_DAYS = "sensor-days"


@dataclass(frozen=True, slots=True)
class Measurement:
    """One measurement of one rule on one local day: whether it exceeds, and whether it reaches limit x TRC.

    None is "cannot tell" (a detection limit above the limit, a day that was hardly heard): it counts neither as a
    measurement nor as compliance.
    """

    day: date
    origin: Origin
    exceeds: bool | None
    technical: bool | None


def beyond_trc(value: Fraction, limit: float, comparison: str, trc: float | None) -> bool:
    """Whether a value equals or exceeds the limit times the technical review criterion; never without one (pH)."""
    if trc is None or comparison.startswith("<"):
        return False
    return compare(">=", value, exact(limit) * exact(trc))


def six_months(quarter_end: date) -> tuple[date, date]:
    """First and last day of the six calendar months that end with a quarter."""
    year, month = (quarter_end.year, quarter_end.month - 5) if quarter_end.month > 5 else (quarter_end.year - 1, 10)
    return date(year, month, 1), quarter_end


def quarter_ends(after: date, before: date) -> tuple[date, ...]:
    """The last days of calendar quarters later than `after` and earlier than `before` (today: a day still runs)."""
    ends = []
    for year in range(after.year, before.year + 1):
        ends += [date(year, 3, 31), date(year, 6, 30), date(year, 9, 30), date(year, 12, 31)]
    return tuple(end for end in ends if after < end < before)


@dataclass(frozen=True, slots=True)
class Worksheet:
    """The count of one rule from one origin over one six-month period (docs/judging.md 9.2)."""

    rule: str
    clause: str
    origin: Origin
    first_day: date
    last_day: date
    limit: float | None
    trc: float | None
    n: int
    exceeding: int
    reaching_trc: int
    undecided: int

    @property
    def chronic(self) -> bool:
        """66 % or more exceed; in whole numbers, so that 66 of 100 is and 65 of 99 is not."""
        return self.n > 0 and 100 * self.exceeding >= _CHRONIC_PERCENT * self.n

    @property
    def technical(self) -> bool:
        """33 % or more equal or exceed the limit times the criterion."""
        return self.trc is not None and self.n > 0 and 100 * self.reaching_trc >= _TECHNICAL_PERCENT * self.n

    @property
    def significant(self) -> bool:
        """Either of the two."""
        return self.chronic or self.technical

    @property
    def words(self) -> str:
        """The worksheet in one line, with its numbers."""
        if not self.n:
            return f"{self.rule}, {self.origin}: no measurement from {self.first_day} to {self.last_day}"
        share = f"{self.exceeding} of {self.n} exceed ({100 * self.exceeding / self.n:.1f} %)"
        if self.trc is not None:
            reach = f"{self.reaching_trc} reach {self.trc:g} x the limit ({100 * self.reaching_trc / self.n:.1f} %)"
            share = f"{share}, {reach}"
        causes = " and ".join(w for w, is_so in (("chronic", self.chronic), ("TRC", self.technical)) if is_so)
        verdict = f"significant noncompliance ({causes})" if causes else "no significant noncompliance"
        doubt = f"; {self.undecided} could not be decided" if self.undecided else ""
        return f"{self.rule}, {self.origin}, {self.first_day} to {self.last_day}: {share}: {verdict}{doubt}"

    def body(self) -> dict[str, Any]:
        """JSON-able, for a note."""
        return {
            "rule": self.rule,
            "clause": self.clause,
            "origin": self.origin.value,
            "first_day": self.first_day.isoformat(),
            "last_day": self.last_day.isoformat(),
            "limit": self.limit,
            "trc": self.trc,
            "n": self.n,
            "exceeding": self.exceeding,
            "reaching_trc": self.reaching_trc,
            "undecided": self.undecided,
            "chronic": self.chronic,
            "technical": self.technical,
            "words": self.words,
        }


def worksheet(rule: Rule, origin: Origin, measurements: Iterable[Measurement], quarter_end: date) -> Worksheet:
    """Count the measurements of the six months that end with a quarter. ValueError for one of another origin."""
    first, last = six_months(quarter_end)
    n = exceeding = reaching = undecided = 0
    for one in measurements:
        if one.origin is not origin:
            raise ValueError(f"a measurement of {one.origin} on a worksheet of {origin}: they are never mixed")
        if not first <= one.day <= last:
            continue
        if one.exceeds is None:
            undecided += 1
            continue
        n += 1
        exceeding += one.exceeds
        reaching += bool(one.technical)
    return Worksheet(
        rule=rule.id,
        clause=rule.clause,
        origin=origin,
        first_day=first,
        last_day=last,
        limit=rule.limit,
        trc=rule.trc,
        n=n,
        exceeding=exceeding,
        reaching_trc=reaching,
        undecided=undecided,
    )


class SensorDays:
    """One measurement per rule, channel and discharge day: the day exceeds if any proven exceedance touched it.

    `hear` takes the findings of rules on single values as they come, `close` each local day as it ends. A day that a
    finding touches after its close is exceeding all the same. The last 400 days are kept.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._exceeding: dict[str, set[date]] = {}
        self._closed: dict[str, dict[date, bool]] = {}  # discharge days, and whether their value reaches the TRC
        self._undecided: dict[str, set[date]] = {}  # those of them that nobody could judge

    def hear(self, finding: Finding) -> None:
        """Mark the days of a proven run, from its first to its last exceeding sample; none of a suspended rule."""
        raised = finding.event is FindingEvent.RAISED and finding.verdict is Verdict.EXCEEDED
        broken = finding.event is FindingEvent.INTERRUPTED and finding.verdict is Verdict.EXCEEDED
        if finding.context.get("suspended") or not (raised or broken or finding.event is FindingEvent.CLEARED):
            return
        since_us = finding.since.utc_us
        day, last = local_date(since_us, self._zone), local_date(since_us + finding.duration_us, self._zone)
        marked = self._exceeding.setdefault(f"{finding.rule}|{finding.channel}", set())
        while day <= last:
            marked.add(day)
            day += timedelta(days=1)

    def close(
        self, rule: Rule, day: date, *, value: float | None, limit: float | None, exceeds: bool | None = False
    ) -> None:
        """A local day with discharge is over. `value` is what the criterion is met by, `limit` the threshold in force.

        Both in `rule.unit`. `exceeds` True says that the day exceeds whatever was heard of it, None that nobody could
        judge it, unless an exceedance was proven. Call it for discharge days only, once per rule and channel.
        """
        technical = value is not None and limit is not None
        reaches = technical and beyond_trc(exact(value or 0.0), limit or 0.0, rule.comparison, rule.trc)
        key = f"{rule.id}|{rule.channel}"
        if exceeds:
            self._exceeding.setdefault(key, set()).add(day)
        elif exceeds is None:
            self._undecided.setdefault(key, set()).add(day)
        days = self._closed.setdefault(key, {})
        days[day] = reaches
        oldest = max(days) - timedelta(days=_KEPT_DAYS)
        for past in [past for past in days if past < oldest]:
            del days[past]
        for marks in (self._exceeding, self._undecided):
            marks[key] = {past for past in marks.get(key, ()) if past >= oldest}

    def measurements(self, rule: Rule) -> tuple[Measurement, ...]:
        """One per closed discharge day, oldest first. The criterion counts only on a day that exceeds."""
        key = f"{rule.id}|{rule.channel}"
        marked = self._exceeding.get(key, set())
        undecided = self._undecided.get(key, set()) - marked
        measurements = []
        for day, reaches in sorted(self._closed.get(key, {}).items()):
            exceeds = None if day in undecided else day in marked
            measurements.append(Measurement(day, Origin.SENSOR_DAYS, exceeds, exceeds and reaches))
        return tuple(measurements)

    def state(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "exceeding": _days_state(self._exceeding),
            "undecided": _days_state(self._undecided),
            "closed": {
                key: {day.isoformat(): reaches for day, reaches in sorted(days.items())}
                for key, days in sorted(self._closed.items())
            },
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        """Bring the days back, instead of what is there. An older release left no day undecided."""
        self._exceeding = _days_from(state["exceeding"])
        self._undecided = _days_from(state.get("undecided", {}))
        self._closed = {
            key: {date.fromisoformat(day): bool(reaches) for day, reaches in days.items()}
            for key, days in state["closed"].items()
        }


def _days_state(marks: Mapping[str, set[date]]) -> dict[str, list[str]]:
    return {key: sorted(day.isoformat() for day in days) for key, days in sorted(marks.items())}


def _days_from(state: Mapping[str, Iterable[str]]) -> dict[str, set[date]]:
    return {key: {date.fromisoformat(day) for day in days} for key, days in state.items()}
