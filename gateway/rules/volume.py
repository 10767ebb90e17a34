"""Volume per local day against a limit, and the average of it over 30 days (docs/judging.md 6.1).

A volume only grows, so the day that exceeds is told at the first full minute that shows it, whatever is missing.
"""

from collections.abc import Mapping
from datetime import tzinfo
from fractions import Fraction
from typing import Any

from gateway.model import Finding, FindingEvent, Instant, Resume, Verdict
from gateway.rules.ledger import VOLUME_SCALE, DayRecord, Ledger
from gateway.rules.window_rule import Judged, WindowRule
from gateway.rules.windows import daily_flow, flow_coverage, percent, trailing_days
from gateway.site import Channel, Rule
from gateway.units import conversion

__all__ = ["VolumeRule"]

_WINDOWS = ("day", "30-day")


class VolumeRule(WindowRule):
    """Kind `volume`: gal (or the rule's unit of volume) per local day, or their trailing 30-day average.

    The ledger is that of the flow channel, with its flow ledger. Days without discharge count, in the average too.
    Raises ValueError for another window, or a ledger without flow.
    """

    def __init__(
        self, rule: Rule, channel: Channel, hashes: Mapping[str, str], start: Instant, ledger: Ledger, zone: tzinfo
    ) -> None:
        super().__init__(rule, channel, hashes, start, ledger, zone)
        if ledger.flow is None:
            raise ValueError(f"rule {rule.id}: a volume needs the flow")
        self._window = rule.window or "day"
        if self._window not in _WINDOWS:
            raise ValueError(f"rule {rule.id}: a volume over {rule.window!r}; known are {', '.join(_WINDOWS)}")
        self.overlapping = self._window == "30-day"
        unit = rule.unit.removesuffix("/day")
        self._to_unit = conversion("gal", "gal" if unit == "gpd" else unit)
        self._told_day: str | None = None  # the day whose volume was told before it ended

    def window(self, record: DayRecord) -> Judged:
        """The day that closed, or the 30 that end with it."""
        if self._window == "30-day":
            span = trailing_days(self.ledger.days, record.date)
            mean, provisional = daily_flow(span, self.rule.coverage, self.rule.min_days)
            first = span.records[0]
            return self._judged(first, record, mean, provisional, days=len(span.records), certain=False)
        coverage = flow_coverage(record)
        provisional = "" if coverage >= self.rule.coverage else f"provisional: coverage {percent(coverage)}"
        return self._judged(record, record, Fraction(record.volume, VOLUME_SCALE), provisional, days=1, certain=True)

    def _judged(
        self, first: DayRecord, last: DayRecord, gal: Fraction | None, provisional: str, *, days: int, certain: bool
    ) -> Judged:
        value = None if gal is None else self._to_unit(float(gal))
        name = "volume of the day" if self._window == "day" else "30-day average daily volume"
        context = {
            "window": self._window,
            "from": first.date,
            "to": last.date,
            "days": days,
            "coverage": flow_coverage(last) if self._window == "day" else None,
            "provisional": provisional,
            "volume_gal": None if gal is None else float(gal),
        }
        return Judged(
            first.start,
            last.end,
            value,
            name if value is None else f"{name} {value:.6g} {self.rule.unit}",
            provisional,
            certain=certain,
            duration_us=last.end.mono_us - first.start.mono_us,
            context=context,
        )

    def early(self) -> list[Finding]:
        """The volume of the day so far, as soon as it exceeds: that is proof."""
        if self._window != "day":
            return []
        ledger = self.ledger
        water = ledger.water_so_far
        if water == 0 or ledger.day == self._told_day:
            return []
        self._take_terms(ledger.settled)
        gal = Fraction(water, VOLUME_SCALE)
        if not self.beyond(self._to_unit(float(gal))):
            return []
        today = ledger.today
        judged = self._judged(today, today, gal, "", days=1, certain=True)
        reason = self._reason(judged, Verdict.EXCEEDED) + "; the day is not over"
        self._told_day = today.date
        self._raised, self._suspected = self._finding(FindingEvent.RAISED, Verdict.EXCEEDED, judged, reason), None
        return [self._raised]

    def _say(self, judged: Judged, verdict: Verdict, findings: list[Finding]) -> None:
        """A day already told is not told again when it ends; the record of the day keeps its full volume."""
        if verdict is Verdict.EXCEEDED and judged.context["to"] == self._told_day:
            self._raised = self._finding(FindingEvent.RAISED, verdict, judged, self._reason(judged, verdict))
            return
        super()._say(judged, verdict, findings)

    def state(self) -> dict[str, Any]:
        """JSON-able."""
        return {**super().state(), "told_day": self._told_day}

    def restore(self, state: Mapping[str, Any], resume: Resume) -> list[Finding]:
        """Bring the state back."""
        self._told_day = state["told_day"]
        return super().restore(state, resume)
