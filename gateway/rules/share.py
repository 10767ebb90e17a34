"""The user's average daily flow as a share of the town's (Marlborough § 118-39): trailing 30 days and 12 months."""

from collections.abc import Mapping
from datetime import tzinfo
from fractions import Fraction
from typing import Any

from gateway.model import Finding, FindingEvent, Instant, Verdict
from gateway.rules.ledger import DayRecord, Ledger
from gateway.rules.window_rule import Judged, WindowRule
from gateway.rules.windows import DaySpan, daily_flow, trailing_days, trailing_year
from gateway.site import Channel, Rule, TownFlow

__all__ = ["ShareRule"]

_DAYS = 30


class ShareRule(WindowRule):
    """Kind `share`, in percent of `town`, judged at the end of every local day.

    Exceeded when either average exceeds and is not provisional; the 12 months need as many valid days in proportion
    (`rule.min_days` of 30). Compliant by the 30 days alone, while the 12 months are not complete: the context says so.
    The town's flow is somebody else's number: every finding carries its source and date. Without it nobody can tell.
    """

    overlapping = True

    def __init__(
        self,
        rule: Rule,
        channel: Channel,
        hashes: Mapping[str, str],
        start: Instant,
        ledger: Ledger,
        zone: tzinfo,
        town: TownFlow | None,
    ) -> None:
        super().__init__(rule, channel, hashes, start, ledger, zone)
        if ledger.flow is None:
            raise ValueError(f"rule {rule.id}: a share of the town's flow needs the flow")
        self.town = town if town is not None and town.value_gpd > 0 else None

    def begin(self, start: Instant) -> list[Finding]:
        """Says once that the town's flow is not known."""
        super().begin(start)
        if self.town is not None:
            return []
        self._because = "no town flow"
        judged = Judged(start, start, None, "", self._because)
        return [self._finding(FindingEvent.NOT_EVALUABLE, Verdict.NOT_EVALUABLE, judged, self._because)]

    def window(self, record: DayRecord) -> Judged | None:
        """Both averages as they stand at the end of this day."""
        town = self.town
        if town is None:
            return None
        days, least = self.ledger.days, self.rule.min_days
        month, year = trailing_days(days, record.date), trailing_year(days, record.date)
        share, provisional = self._share(month, least, town)
        yearly, yearly_provisional = self._share(year, -(-least * year.length // _DAYS), town)
        span, of, value, why = month, "30 days", share, provisional
        beyond, beyond_yearly = self.beyond(share), self.beyond(yearly)
        if beyond_yearly and (not beyond or (provisional and not yearly_provisional)):
            span, of, value, why = year, "12 months", yearly, yearly_provisional
        context: dict[str, Any] = {
            "window": "30-day" if span is month else "12-month",
            "from": span.records[0].date,
            "to": record.date,
            "days": len(span.records),
            "provisional": why,
            "shares": {"30-day": share, "12-month": yearly},
            "provisional_12_month": yearly_provisional,
            "town_flow_gpd": town.value_gpd,
            "town_flow_source": town.source,
            "town_flow_date": town.date,
        }
        text = f"average daily flow of {of}" + ("" if value is None else f" {value:.4g} % of the town's")
        duration_us = record.end.mono_us - span.records[0].start.mono_us
        return Judged(span.records[0].start, record.end, value, text, why, duration_us=duration_us, context=context)

    def _share(self, span: DaySpan, least: int, town: TownFlow) -> tuple[float | None, str]:
        gal, provisional = daily_flow(span, self.rule.coverage, least)
        return (None if gal is None else float(gal * 100 / Fraction(town.value_gpd))), provisional
