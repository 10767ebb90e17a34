"""What rules over windows have in common: a window is judged once, when it closes, from the channel's ledger.

An exceedance stands until a later window complies; a provisional window (thin coverage, too few days) neither raises
nor clears one: it is suspected above the limit and not evaluable otherwise. A window without discharge says nothing.
Windows that do not overlap (days, months) are each raised; of overlapping ones only the first that exceeds, and the
first under which a suspension of the rule has begun or ended.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import tzinfo
from operator import ge, gt, le, lt
from typing import Any

from gateway.model import Condition, Finding, FindingEvent, Instant, Reading, Resume, Severity, Verdict
from gateway.rules.ledger import DayRecord, Ledger
from gateway.rules.stance import Stance
from gateway.rules.terms import ORDINANCE, Terms
from gateway.rules.track import Run, instant_from, instant_state
from gateway.rules.window_seconds import WindowSeconds
from gateway.site import Channel, Rule

__all__ = ["Judged", "WindowRule"]

_COMPARE = {">": gt, ">=": ge, "<": lt, "<=": le}
_DAILY = ("average", "volume")
_EVENTS = {
    Verdict.EXCEEDED: FindingEvent.RAISED,
    Verdict.SUSPECTED: FindingEvent.SUSPECTED,
    Verdict.NOT_EVALUABLE: FindingEvent.NOT_EVALUABLE,
}


@dataclass(frozen=True, slots=True)
class Judged:
    """One closed window: `value` in the rule's unit, None when there was nothing to judge.

    `provisional` says why it cannot be told for certain, empty when it can. `certain` means that a value beyond the
    limit stays beyond it whatever is missing (a volume only grows).
    """

    since: Instant
    at: Instant
    value: float | None
    what: str
    provisional: str = ""
    certain: bool = False
    extreme: float | None = None
    duration_us: int = 0
    context: Mapping[str, Any] = field(default_factory=dict)


class WindowRule(ABC):
    """One rule on one channel's ledger. Feed and advance the ledger (and its flow) first, then `judge` or `tick`.

    Single-threaded. Between full minutes nothing changes and every call is cheap. Nothing here needs every poll
    committed: store `state` whenever the rule has spoken, and with the ledger's.
    """

    quiet = False
    overlapping = False
    """Whether one window shares days with the next."""

    def __init__(
        self, rule: Rule, channel: Channel, hashes: Mapping[str, str], start: Instant, ledger: Ledger, zone: tzinfo
    ) -> None:
        if rule.limit is None:
            raise ValueError(f"rule {rule.id}: a {rule.kind} over a window needs its limit")
        self.rule = rule
        self.channel = channel.name
        self.ledger = ledger
        self.zone = zone
        self.limit: float | None = rule.limit
        self.seconds = WindowSeconds(start.mono_us)
        self._hashes = hashes
        self._exceeds = _COMPARE[rule.comparison]
        self._terms = Terms(rule)
        self._source = ORDINANCE
        self._suspended = False
        self._due_us = ledger.next_minute_us
        self._news: list[Finding] = []
        self._seen = ledger.closed
        self._judged_until_utc_us: int | None = None
        self._fed_again: int | None = None  # up to this UTC, days that close were judged before a restart
        self._not_ours = self._day_so_far()
        self._pending_us = 0
        self._raised: Finding | None = None
        self._suspected: Finding | None = None
        self._early: Finding | None = None
        self._within = False
        self._why, self._because = Stance.WARM_UP, Stance.WARM_UP.value
        ledger.watch(self._minute_passed)

    @abstractmethod
    def window(self, record: DayRecord) -> Judged | None:
        """The window that closes with this local day; None when none does."""

    def of_day(self, record: DayRecord) -> tuple[Verdict, float | None, float | None] | None:
        """What a closed day comes to by itself: verdict, value and limit. None where a window is more than a day.

        Changes nothing, whenever it is asked.
        """
        if self.rule.kind not in _DAILY or (self.rule.window or "day") != "day":
            return None
        judged = self.window(record)
        if judged is None:
            return None
        limit, _ = self._terms.ruling(judged.at.utc_us - 1).limit(self.rule.limit)
        return self._verdict_by(judged, limit), judged.value, limit

    def early(self) -> list[Finding]:
        """What can be said before the window closes, at a full minute."""
        return []

    @property
    def deadline_us(self) -> int:
        """The next full minute."""
        return self._due_us

    @property
    def active(self) -> bool:
        """Never: a window under way lives in the ledger, and no single poll decides it."""
        return False

    @property
    def stance(self) -> Stance:
        """The loudest thing this rule can say now."""
        if self._raised is not None:
            return Stance.EXCEEDED
        if self._suspected is not None:
            return Stance.SUSPECTED
        if self._early is not None:
            return Stance.PREALARM
        return Stance.WITHIN if self._within else self._why

    def begin(self, start: Instant) -> list[Finding]:
        """Call after a restore and the readings fed again: the seconds of the day under way begin here.

        Nothing to say: what was found while readings were fed again is on record from when they came first.
        """
        self._news.clear()
        self._not_ours = self._day_so_far()
        return []

    def judge(self, reading: Reading, evidence: int, *, discharging: bool) -> list[Finding]:
        """The ledger hears the reading; here only its moment counts."""
        return self.tick(reading.at)

    def tick(self, now: Instant) -> list[Finding]:
        """What was found at the full minutes and midnights up to now, oldest first."""
        if now.mono_us >= self._due_us:
            self.ledger.settle(now)
            self._due_us = self.ledger.next_minute_us
        if not self._news:
            return []
        news, self._news = self._news, []
        return news

    def _minute_passed(self) -> None:
        """The ledger is as of a full minute: judge the days that closed with it, then what can be said early."""
        ledger = self.ledger
        news = min(ledger.closed - self._seen, len(ledger.days))
        self._seen = ledger.closed
        for record in ledger.days[len(ledger.days) - news :]:
            until_us, ends_us = self._fed_again, record.end.utc_us
            if until_us is None or ends_us > until_us:
                self._close(record, self._news)
            if until_us is not None and ends_us >= until_us:
                self._fed_again = None
        if self._fed_again is None:
            self._news += self.early()

    def _close(self, record: DayRecord, findings: list[Finding]) -> None:
        judged = self.window(record)
        self._judged_until_utc_us = record.end.utc_us
        verdict = None if judged is None else self._verdict(judged)
        self._spend(record, verdict)
        if judged is not None and verdict is not None:
            self._say(judged, verdict, findings)

    def _verdict(self, judged: Judged) -> Verdict:
        self._take_terms(judged.at)
        return self._verdict_by(judged, self.limit)

    def _verdict_by(self, judged: Judged, limit: float | None) -> Verdict:
        if judged.value is None and not judged.provisional:
            return Verdict.NO_DISCHARGE
        exceeds = judged.value is not None and limit is not None and self._exceeds(judged.value, limit)
        if judged.provisional and not (exceeds and judged.certain):
            return Verdict.SUSPECTED if exceeds else Verdict.NOT_EVALUABLE
        return Verdict.EXCEEDED if exceeds else Verdict.COMPLIANT

    def beyond(self, value: float | None) -> bool:
        """Whether a value exceeds the limit in force, strictly or not as the rule says."""
        return value is not None and self.limit is not None and self._exceeds(value, self.limit)

    def _take_terms(self, at: Instant) -> None:
        """The terms in force in the last moment of a window rule it."""
        ruling = self._terms.ruling(at.utc_us - 1)
        self.limit, self._source = ruling.limit(self.rule.limit)
        self._suspended = ruling.suspended

    def _say(self, judged: Judged, verdict: Verdict, findings: list[Finding]) -> None:
        if verdict is Verdict.NO_DISCHARGE:
            self._why, self._because = Stance.DRY, "no discharge"
            return
        if verdict is Verdict.COMPLIANT:
            self._comply(judged, findings)
            return
        before = {Verdict.EXCEEDED: self._raised, Verdict.SUSPECTED: self._suspected}.get(verdict)
        finding = self._finding(_EVENTS[verdict], verdict, judged, self._reason(judged, verdict))
        if verdict is Verdict.EXCEEDED:
            self._raised, self._suspected = finding, None
        elif verdict is Verdict.SUSPECTED:
            self._suspected = finding
        else:
            self._why, self._because = Stance.COVERAGE, judged.provisional
        self._within = False
        again = before is not None and bool(before.context.get("suspended")) is not self._suspended
        if before is None or again or not self.overlapping:
            findings.append(finding)

    def _comply(self, judged: Judged, findings: list[Finding]) -> None:
        raised = self._raised
        self._raised = self._suspected = None
        self._within = True
        if raised is not None:
            reason = f"{judged.what} within the limit again"
            cleared = self._finding(FindingEvent.CLEARED, Verdict.COMPLIANT, judged, reason)
            findings.append(cleared)

    def _reason(self, judged: Judged, verdict: Verdict) -> str:
        if verdict is Verdict.NOT_EVALUABLE:
            return judged.provisional
        above = {">": "above", ">=": "at or above", "<": "below", "<=": "at or below"}[self.rule.comparison]
        limit = "" if self.limit is None else f" {above} {self.limit:g} {self.rule.unit}"
        surrogate = "; measured by a surrogate" if self.rule.surrogate else ""
        return f"{judged.what}{limit}{surrogate}" + (f"; {judged.provisional}" if judged.provisional else "")

    def _spend(self, record: DayRecord, verdict: Verdict | None) -> None:
        """Account for a closed day; without a verdict yet its valid time waits for its window."""
        valid_us, discharging_us, length_us = self._not_ours
        self._not_ours = (0, 0, 0)
        sums, end_us = record.sums, record.end.mono_us
        idle_us = record.length_us - length_us - (sums.discharging_us - discharging_us)
        self.seconds.settle(Verdict.NO_DISCHARGE, idle_us, end_us)
        self._pending_us += sums.valid_us - valid_us
        if verdict is not None:
            self.seconds.settle(verdict, self._pending_us, end_us)
            self._pending_us = 0

    def _day_so_far(self) -> tuple[int, int, int]:
        today = self.ledger.today
        return today.sums.valid_us, today.sums.discharging_us, today.length_us

    def condition(self) -> Condition:
        """The stance in full, for the alarm engine."""
        alarm, stance = self.rule.alarm, self.stance
        loud = Severity.NOTICE if self._suspended else self.rule.severity
        match stance:
            case Stance.EXCEEDED if self._raised is not None:
                return Condition(alarm, True, loud, self._raised.reason, None, self._raised)
            case Stance.SUSPECTED if self._suspected is not None:
                return Condition(
                    alarm, True, min(Severity.WARNING, loud), self._suspected.reason, None, self._suspected
                )
            case Stance.PREALARM if self._early is not None:
                return Condition(alarm, True, Severity.NOTICE, self._early.reason, None, self._early)
            case Stance.WITHIN:
                return Condition(alarm, False, Severity.NOTICE, "within the limit")
            case _:
                return Condition(alarm, None, Severity.NOTICE, f"cannot tell ({self._because})")

    def open_since(self) -> Run | None:
        """The exceedance that stands, from the start of the window that raised it."""
        raised = self._raised
        if raised is None:
            return None
        run = Run(raised.since, raised.observed or 0.0)
        run.last, run.proven = raised.at, True
        if raised.extreme is not None:
            run.extreme = raised.extreme
        return run

    def state(self) -> dict[str, Any]:
        """JSON-able. Small; consistent with any state of the ledger from the same time or before."""
        return {
            "judged_until_utc_us": self._judged_until_utc_us,
            "raised": _told(self._raised),
            "suspected": _told(self._suspected),
            "early": _told(self._early),
            "within": self._within,
            "why": self._why.value,
            "because": self._because,
            "limit": self.limit,
            "source": self._source,
            "suspended": self._suspended,
        }

    def restore(self, state: Mapping[str, Any], resume: Resume) -> list[Finding]:
        """Bring the state back after the ledger's; days that were judged are not judged again as they are fed again."""
        until_us = state["judged_until_utc_us"]
        self._judged_until_utc_us = until_us
        days = self.ledger.days
        news = 0 if until_us is None else sum(1 for record in days if record.end.utc_us > until_us)
        self._seen = self.ledger.closed - news
        self._fed_again = until_us if not days or until_us is None or days[-1].end.utc_us < until_us else None
        self._due_us = self.ledger.next_minute_us
        self.limit, self._source, self._suspended = state["limit"], state["source"], state["suspended"]
        self._within, self._because = state["within"], state["because"]
        self._why = Stance(state["why"])
        placed = resume if resume.offset_us is not None else Resume(resume.now, 0)
        self._raised = self._retold(state["raised"], placed)
        self._suspected = self._retold(state["suspected"], placed)
        self._early = self._retold(state["early"], placed)
        return []

    def _retold(self, told: list[Any] | None, placed: Resume) -> Finding | None:
        if told is None:
            return None
        since, at = instant_from(told[2], placed), instant_from(told[3], placed)
        if since is None or at is None:
            return None
        judged = Judged(since, at, told[5], "", "", False, told[6], told[4], told[8])
        return self._finding(FindingEvent(told[0]), Verdict(told[1]), judged, told[7])

    def _finding(self, event: FindingEvent, verdict: Verdict, judged: Judged, reason: str) -> Finding:
        rule = self.rule
        context = dict(judged.context)
        if self._suspended:
            context["suspended"] = True
        if self._source != ORDINANCE:
            context["ordinance_limit"] = rule.limit
        return Finding(
            event=event,
            rule=rule.id,
            clause=rule.clause,
            channel=self.channel,
            verdict=verdict,
            since=judged.since,
            at=judged.at,
            duration_us=judged.duration_us,
            reason=reason,
            unit=rule.unit,
            observed=judged.value,
            limit=self.limit,
            extreme=judged.extreme,
            hashes=self._hashes,
            source=self._source,
            context=context,
        )


def _told(finding: Finding | None) -> list[Any] | None:
    if finding is None:
        return None
    return [
        finding.event.value, finding.verdict.value, instant_state(finding.since), instant_state(finding.at),
        finding.duration_us, finding.observed, finding.extreme, finding.reason, dict(finding.context),
    ]  # fmt: skip
