"""Averages over a local day, the trailing 30 local days or a calendar month (docs/judging.md 5).

The fixed window is the compliance value, judged when it closes. Beside the day runs a 24-h average renewed at every
full minute: an early warning, never evidence.
"""

from collections.abc import Mapping, Sequence
from datetime import tzinfo
from fractions import Fraction
from typing import Any

from gateway.model import Finding, FindingEvent, Instant, Verdict
from gateway.rules.ledger import DayRecord, DaySums, Ledger
from gateway.rules.load import Load, load_of
from gateway.rules.window_rule import Judged, WindowRule
from gateway.rules.windows import DaySpan, month_over, percent, span_of_month, trailing_days
from gateway.site import Channel, Rule

__all__ = ["AverageRule"]

_NAMES = {"day": "24-h average", "30-day": "30-day average", "month": "monthly average"}
_DAY_US = 86_400_000_000


class AverageRule(WindowRule):
    """Kind `average`, window `day`, `30-day` or `month`. Raises ValueError for another window.

    A day is valid when at least `rule.coverage` of its discharging time is; the mean of several days is
    sum of C24 V24 over sum of V24 of the valid ones, V24 all water of that day; a day whose flow nobody knows weighs
    like the mean of the others. Needs `rule.min_days` valid days, and a window that does not begin before the record.
    """

    def __init__(
        self, rule: Rule, channel: Channel, hashes: Mapping[str, str], start: Instant, ledger: Ledger, zone: tzinfo
    ) -> None:
        super().__init__(rule, channel, hashes, start, ledger, zone)
        if rule.window not in _NAMES:
            raise ValueError(f"rule {rule.id}: an average over {rule.window!r}; known are {', '.join(_NAMES)}")
        self.overlapping = rule.window == "30-day"
        self._load = load_of(channel)

    def window(self, record: DayRecord) -> Judged | None:
        """The fixed window that closes with this day."""
        if self.rule.window == "day":
            return self._day(record)
        if self.rule.window == "30-day":
            return self._days(trailing_days(self.ledger.days, record.date), record)
        if not month_over(record, self.zone):
            return None
        return self._days(span_of_month(self.ledger.days, record.date), record)

    def _day(self, record: DayRecord) -> Judged:
        sums = record.sums
        provisional = "" if self._valid(record) or not sums.discharging_us else _thin(sums)
        value = self._told(sums, sums.exact)
        return self._judged((record,), (record,), value, provisional, time_weighted=sums.time_weighted)

    def _days(self, span: DaySpan, last: DayRecord) -> Judged:
        records = [record for record in span.records if record.end.utc_us <= last.end.utc_us]
        counted = [record for record in records if self._counts(record)]
        exact, time_weighted = _mean_of(counted)
        value = self._told(last.sums, exact)
        provisional = span.provisional(self._counts, self.rule.min_days, "discharge days")
        if not any(record.sums.discharging_us for record in records):
            provisional = ""  # no discharge at all: there is no concentration to lack
        return self._judged(records, counted, value, provisional, time_weighted=time_weighted)

    def _judged(
        self,
        records: Sequence[DayRecord],
        counted: Sequence[DayRecord],
        value: float | None,
        provisional: str,
        *,
        time_weighted: bool,
    ) -> Judged:
        window, last = self.rule.window, records[-1]
        valid_us = sum(record.sums.valid_us for record in records)
        discharging_us = sum(record.sums.discharging_us for record in records)
        flow_gal = [record.volume_gal for record in records if record.volume_gal is not None]
        context: dict[str, Any] = {
            "window": window,
            "from": records[0].date,
            "to": last.date,
            "days": len(counted),
            "coverage": valid_us / discharging_us if discharging_us else None,
            "weighting": "time" if time_weighted else "flow",
            "provisional": provisional,
            "volume_gal": sum(flow_gal) if flow_gal else None,
        }
        if window != "day" and provisional:
            context["projected"] = value  # where it ends if the days to come are like those so far
        if self._load is not None:
            context |= _loads(self._load, counted)
        return Judged(
            records[0].start,
            last.end,
            value,
            self._name(value),
            provisional,
            extreme=self._extreme(records),
            duration_us=last.end.mono_us - records[0].start.mono_us,
            context=context,
        )

    def _name(self, value: float | None) -> str:
        return _NAMES[self.rule.window] + ("" if value is None else f" {value:.6g} {self.rule.unit}")

    def _valid(self, record: DayRecord) -> bool:
        sums = record.sums
        return sums.valid_us > 0 and sums.valid_us >= self.rule.coverage * sums.discharging_us

    def _counts(self, record: DayRecord) -> bool:
        """A valid discharge day: one whose flow is known to have been nothing is none."""
        return self._valid(record) and (record.volume > 0 or record.flow_valid_us == 0)

    def _told(self, sums: DaySums, exact: Fraction | None) -> float | None:
        value = sums.told(exact)
        return None if value is None else self.rule.to_unit(value)

    def _extreme(self, records: Sequence[DayRecord]) -> float | None:
        if self.rule.comparison.startswith(">"):
            value = max((r.sums.maximum for r in records if r.sums.maximum is not None), default=None)
        else:
            value = min((r.sums.minimum for r in records if r.sums.minimum is not None), default=None)
        return None if value is None else self.rule.to_unit(value)

    def early(self) -> list[Finding]:
        """The 24 h up to this minute: says once that they exceed, until they do not."""
        if self.rule.window != "day":
            return []
        now = self.ledger.settled
        sums = self.ledger.rolling
        if sums.valid_us == 0 or sums.valid_us < self.rule.coverage * sums.discharging_us:
            return []
        self._take_terms(now)
        value = self._told(sums, sums.exact)
        if not self.beyond(value):
            if self._early is not None and self._suspected is None:
                self._within = True
            self._early = None
            return []
        if self._early is not None:
            return []
        since = Instant(now.utc_us - _DAY_US, now.mono_us - _DAY_US, now.synced)
        context = {
            "window": "rolling 24 h",
            "coverage": sums.coverage,
            "weighting": "time" if sums.time_weighted else "flow",
        }
        judged = Judged(since, now, value, f"24 h up to now average {value:.6g} {self.rule.unit}", context=context)
        reason = self._reason(judged, Verdict.SUSPECTED) + "; a warning, the day is judged when it ends"
        self._early = self._finding(FindingEvent.PREALARM, Verdict.SUSPECTED, judged, reason)
        return [self._early]


def _thin(sums: DaySums) -> str:
    return f"provisional: coverage {percent(sums.coverage)}"


def _mean_of(days: Sequence[DayRecord]) -> tuple[Fraction | None, bool]:
    """Sum of C24 V24 over sum of V24, exact in fixed point, and whether any of it is weighted by time."""
    daily = [(record.sums.exact, record.volume, record.flow_valid_us > 0) for record in days]
    known = [(mean, volume) for mean, volume, flowed in daily if mean is not None and flowed and volume > 0]
    lacking = [mean for mean, _, flowed in daily if mean is not None and not flowed]
    time_weighted = bool(lacking) or any(record.sums.time_weighted for record in days)
    total = sum(volume for _, volume in known)
    usual = Fraction(total, len(known)) if known else Fraction(1)
    weight = total + usual * len(lacking)
    if weight == 0:
        return None, time_weighted
    top = sum((mean * volume for mean, volume in known), Fraction(0)) + usual * sum(lacking, Fraction(0))
    return top / weight, time_weighted


def _loads(load: Load, days: Sequence[DayRecord]) -> dict[str, float | None]:
    """The load of the days that count; None where the water of one of them is not known."""
    total_lb = total_kg = 0.0
    for record in days:
        mean = record.sums.mean
        if mean is None or record.volume_gal is None or record.flow_valid_us == 0:
            return {"load_lb": None, "load_kg": None}
        total_lb += load.lb(mean, record.volume_gal)
        total_kg += load.kg(mean, record.volume_gal)
    return {"load_lb": total_lb, "load_kg": total_kg} if days else {"load_lb": None, "load_kg": None}
