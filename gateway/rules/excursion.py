"""Time outside a range, with an allowance: so many minutes in a calendar month, and so many at once (40 CFR 401.17).

An option of direct-discharge permits that neither town grants: off unless a pack or permit asks for it. All time
outside the range counts; the allowance never excuses what another rule forbids at once, such as a pH below 5.0.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import tzinfo
from typing import Any

from gateway.model import Condition, Finding, FindingEvent, Instant, Reading, Resume, Verdict
from gateway.rules.judge import Judge
from gateway.rules.ledger import DayRecord, Ledger
from gateway.rules.local_day import month_of
from gateway.rules.seconds import RuleSeconds
from gateway.rules.slug import SlugRule
from gateway.rules.stance import Stance
from gateway.rules.sums import VALUE_SCALE
from gateway.rules.track import Run
from gateway.rules.window_rule import Judged, WindowRule
from gateway.rules.windows import month_over, percent, span_of_month
from gateway.signals.qc import Evidence
from gateway.site import Channel, Conversion, Rule, Span

__all__ = ["MonthlyExcursionRule", "SingleExcursionRule", "excursion_rule"]

_MINUTE_US = 60_000_000


def excursion_rule(rule: Rule, channel: Channel, hashes: Mapping[str, str], start: Instant, zone: tzinfo) -> Judge:
    """The rule of kind `excursion` for its window: `month` or `excursion`. ValueError for another, or without a range.

    Both are fed the channel's readings and keep their own account; they need no ledger.
    """
    if rule.window == "month":
        return MonthlyExcursionRule(rule, channel, hashes, start, zone)
    if rule.window == "excursion":
        return SingleExcursionRule(rule, channel, hashes, start)
    raise ValueError(f"rule {rule.id}: an excursion over {rule.window!r}; known are month, excursion")


class MonthlyExcursionRule(WindowRule):
    """Minutes outside the range in a calendar month, each reading held to the next one up to the maximum hold.

    Exceeded at the first full minute that shows it: the minutes only grow. A month that begins before the record, or
    with too little valid discharging time, is never compliant.
    """

    def __init__(self, rule: Rule, channel: Channel, hashes: Mapping[str, str], start: Instant, zone: tzinfo) -> None:
        ledger = Ledger(_indicator(channel), zone, start, None)
        super().__init__(rule, channel, hashes, start, ledger, zone)
        self._inside = _range(rule)
        self._told_month: str | None = None
        self._closed = ("", 0)  # month, and days closed in all: when `_closed_min` was added up
        self._closed_min = 0.0

    def judge(self, reading: Reading, evidence: int, *, discharging: bool) -> list[Finding]:
        """Take the channel's next reading."""
        findings = super().judge(reading, evidence, discharging=discharging)
        self.ledger.take(_indicated(reading, self._inside), evidence, discharging=discharging)
        return findings

    @property
    def used_min(self) -> float:
        """Minutes outside in the month under way, up to the last full minute."""
        return self._minutes((*span_of_month(self.ledger.days, self.ledger.today.date).records, self.ledger.today))

    def window(self, record: DayRecord) -> Judged | None:
        """The calendar month, when it ends with this day."""
        if not month_over(record, self.zone):
            return None
        span = span_of_month(self.ledger.days, record.date)
        valid_us = sum(one.sums.valid_us for one in span.records)
        discharging_us = sum(one.sums.discharging_us for one in span.records)
        coverage = valid_us / discharging_us if discharging_us else None
        provisional = ""
        if span.lead:
            provisional = f"provisional: the record begins {span.lead} days into the month"
        elif coverage is not None and coverage < self.rule.coverage:
            provisional = f"provisional: coverage {percent(coverage)}"
        return self._judged(span.records, provisional, coverage)

    def early(self) -> list[Finding]:
        """The month so far, as soon as it exceeds."""
        ledger = self.ledger
        month = month_of(ledger.day)
        if month == self._told_month:
            return []
        if self._closed != (month, ledger.closed):
            self._closed = month, ledger.closed
            self._closed_min = self._minutes(span_of_month(ledger.days, ledger.day).records)
        outside_min = ledger.so_far.plain / (VALUE_SCALE * _MINUTE_US)
        self._take_terms(ledger.settled)
        if outside_min == 0 or not self.beyond(self._closed_min + outside_min):
            return []
        records = (*span_of_month(ledger.days, ledger.day).records, ledger.today)
        self._told_month = month
        judged = self._judged(records, "", None)
        reason = self._reason(judged, Verdict.EXCEEDED) + "; the month is not over"
        self._raised, self._suspected = self._finding(FindingEvent.RAISED, Verdict.EXCEEDED, judged, reason), None
        return [self._raised]

    def _say(self, judged: Judged, verdict: Verdict, findings: list[Finding]) -> None:
        """A month already told is not told again when it ends."""
        if verdict is Verdict.EXCEEDED and month_of(str(judged.context["to"])) == self._told_month:
            self._raised = self._finding(FindingEvent.RAISED, verdict, judged, self._reason(judged, verdict))
            return
        super()._say(judged, verdict, findings)

    def _judged(self, records: tuple[DayRecord, ...], provisional: str, coverage: float | None) -> Judged:
        minutes = self._minutes(records)
        idle = not any(record.sums.discharging_us for record in records)
        first, last = records[0], records[-1]
        context = {
            "window": "month",
            "from": first.date,
            "to": last.date,
            "days": len(records),
            "coverage": coverage,
            "provisional": provisional,
            "inside": [self._inside.low, self._inside.high],
        }
        return Judged(
            first.start,
            last.end,
            None if idle else minutes,
            f"{minutes:.6g} min outside {_words(self._inside)} in the month",
            provisional,
            certain=True,
            duration_us=last.end.mono_us - first.start.mono_us,
            context=context,
        )

    def _minutes(self, records: tuple[DayRecord, ...]) -> float:
        return sum(record.sums.plain for record in records) / (VALUE_SCALE * _MINUTE_US)

    def state(self) -> dict[str, Any]:
        """JSON-able, with the rule's own ledger."""
        return {**super().state(), "told_month": self._told_month, "ledger": self.ledger.state()}

    def restore(self, state: Mapping[str, Any], resume: Resume) -> list[Finding]:
        """Bring the state back; then feed the readings since."""
        self.ledger.restore(state["ledger"], resume)
        self._told_month = state["told_month"]
        return super().restore(state, resume)


class _OutsideRun(SlugRule):
    """A run outside the range: the slug of an indicator that is 1 outside and 0 inside."""

    words = ""

    def proof(self) -> str:
        """For example: outside 6 to 9 for longer than 60 min."""
        longer = "longer than" if self.rule.strict_duration else "at least"
        return f"outside {self.words} for {longer} {self.rule.duration_us / _MINUTE_US:g} min"


class SingleExcursionRule:
    """One excursion longer than the limit in minutes, from its first to its last sample outside, as with a slug.

    `observed` and `extreme` of its findings are minutes; the value furthest outside is in the context. Terms that name
    another number of minutes are not applied to it.
    """

    def __init__(self, rule: Rule, channel: Channel, hashes: Mapping[str, str], start: Instant) -> None:
        if rule.limit is None:
            raise ValueError(f"rule {rule.id}: an excursion needs its limit in minutes")
        self.rule = rule
        self.channel = channel.name
        self._inside = _range(rule)
        inner = replace(
            rule, comparison=">", limit=0.5, factor=None, unit="", to_unit=Conversion(), terms=(), uncertainty=None,
            duration_us=round(rule.limit * _MINUTE_US), strict_duration=rule.comparison == ">",
        )  # fmt: skip
        self._outside = _OutsideRun(inner, _indicator(channel), hashes, start)
        self._outside.words = _words(self._inside)
        self.seconds: RuleSeconds = self._outside.seconds
        self._furthest: float | None = None

    @property
    def deadline_us(self) -> int:
        """As of a slug."""
        return self._outside.deadline_us

    @property
    def active(self) -> bool:
        """Whether an excursion is under way."""
        return self._outside.active

    @property
    def quiet(self) -> bool:
        """As of a slug."""
        return self._outside.quiet

    @property
    def stance(self) -> Stance:
        """The loudest thing this rule can say now."""
        return self._outside.stance

    def begin(self, start: Instant) -> list[Finding]:
        """Nothing."""
        return self._outside.begin(start)

    def judge(self, reading: Reading, evidence: int, *, discharging: bool) -> list[Finding]:
        """Take the channel's next reading."""
        if evidence == Evidence.VALID and reading.value is not None:
            self._measure(reading.value)
        findings = self._outside.judge(_indicated(reading, self._inside), evidence, discharging=discharging)
        return [self._in_minutes(finding) for finding in findings]

    def tick(self, now: Instant) -> list[Finding]:
        """Discover that the hold has passed."""
        return [self._in_minutes(finding) for finding in self._outside.tick(now)]

    def condition(self) -> Condition:
        """The stance in full."""
        condition = self._outside.condition()
        finding = None if condition.finding is None else self._in_minutes(condition.finding)
        return replace(condition, margin=None, finding=finding)

    def open_since(self) -> Run | None:
        """The proven excursion under way."""
        return self._outside.open_since()

    def state(self) -> dict[str, Any] | None:
        """JSON-able; None when no excursion is under way."""
        state = self._outside.state()
        return None if state is None else {**state, "furthest": self._furthest}

    def restore(self, state: Mapping[str, Any], resume: Resume) -> list[Finding]:
        """Bring an excursion back."""
        self._furthest = state["furthest"]
        return [self._in_minutes(finding) for finding in self._outside.restore(state, resume)]

    def _measure(self, value: float) -> None:
        """Keep the value furthest outside since the excursion began."""
        if self._inside.holds(value):
            return
        furthest = self._furthest if self._outside.active else None
        if furthest is None or self._beyond(value) > self._beyond(furthest):
            self._furthest = value

    def _beyond(self, value: float) -> float:
        low, high = self._inside.low, self._inside.high
        return max(0.0 if low is None else low - value, 0.0 if high is None else value - high)

    def _in_minutes(self, finding: Finding) -> Finding:
        minutes = finding.duration_us / _MINUTE_US
        context = {"window": "excursion", "inside": [self._inside.low, self._inside.high], "furthest": self._furthest}
        return replace(
            finding, unit=self.rule.unit, limit=self.rule.limit, observed=minutes, extreme=minutes, context=context
        )


def _range(rule: Rule) -> Span:
    if rule.inside is None or (rule.inside.low is None and rule.inside.high is None):
        raise ValueError(f"rule {rule.id}: an excursion needs the range that it leaves")
    return rule.inside


def _words(inside: Span) -> str:
    if inside.low is None:
        return f"0 to {inside.high:g}"
    return f"{inside.low:g} and up" if inside.high is None else f"{inside.low:g} to {inside.high:g}"


def _indicator(channel: Channel) -> Channel:
    return replace(channel, quantity="contact", unit="state", full_scale=None)


def _indicated(reading: Reading, inside: Span) -> Reading:
    value = reading.value
    outside = None if value is None else 0.0 if inside.holds(value) else 1.0
    return Reading(
        reading.channel, reading.at, reading.raw, outside, reading.quality, reading.tests, reading.mode, reading.dry
    )
