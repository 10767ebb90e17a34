"""Every rule of the site, the accounts they share, and what the alarm engine was last told of each. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any
from zoneinfo import ZoneInfo

from gateway.lab_command import LabStep
from gateway.model import AlarmEdge, AlarmEvent, Finding, Instant, Note, Reading, Resume
from gateway.rules.accounts import Accounts, baseline_key
from gateway.rules.excursion import MonthlyExcursionRule
from gateway.rules.judge import Judge
from gateway.rules.judges import hashes_of, judges_of
from gateway.rules.laboratory import Laboratory
from gateway.rules.notice import due
from gateway.rules.run import ExceedanceRule
from gateway.rules.stance import Stance
from gateway.site import Site
from gateway.step import Step

__all__ = ["Judgement", "unreadable"]

_UP = frozenset({Stance.EXCEEDED, Stance.SUSPECTED, Stance.PREALARM})


class Judgement:
    """Judges the readings of one site. Moments never go back on the monotonic axis."""

    def __init__(self, site: Site, start: Instant) -> None:
        self.site = site
        self.start = start
        zone = ZoneInfo(site.time_zone)
        self.accounts = Accounts(site, zone, start)
        self.rules: list[Judge] = judges_of(site, self.accounts, zone, start)
        self.by_channel: dict[str, list[Judge]] = {name: [] for name in site.channels}
        for judge in self.rules:
            self.by_channel[judge.channel].append(judge)
        self.laboratory = Laboratory(
            site.rules, zone, site.nondetect, self.accounts.volume_of_day, lambda rule: hashes_of(rule, site)
        )
        self._by_rule = {(rule.id, rule.channel): rule for rule in site.rules}
        self._told: dict[str, object] = {}
        self._standing: set[str] = set()  # alarms whose return may hang on a deadband
        self._stored: set[str] = set()  # alarms whose rule has a run in the durable state

    @property
    def watching(self) -> bool:
        """Whether any rule has a run under way: every poll is then committed (decision 0003)."""
        return bool(self._stored)

    @property
    def under_way(self) -> Iterator[Judge]:
        """The rules that have a run under way: suspected, in pre-alarm or exceeded."""
        return (rule for rule in self.rules if rule.rule.alarm in self._stored and rule.active)

    def begin(self, step: Step) -> None:
        """What every rule says before the first reading."""
        for rule in self.rules:
            step.findings.extend(rule.begin(self.start))

    def judge(self, rules: Iterable[Judge], reading: Reading, weight: int, step: Step, *, discharging: bool) -> None:
        """Let the accounts and the channel's rules hear a reading."""
        self.accounts.take(reading, weight, discharging=discharging)
        for rule in rules:
            if findings := rule.judge(reading, weight, discharging=discharging):
                self.find(findings, step)
            if not rule.quiet or self._standing:  # a deadband may hang on the margin
                self._ask(rule, step)

    def tick(self, now: Instant, step: Step) -> None:
        """What elapsed time alone has changed for the rules."""
        for rule in self.rules:
            was_active = rule.active
            findings = rule.tick(now)
            if findings:
                self.find(findings, step)
                if not isinstance(rule, ExceedanceRule):  # a window that was judged must not be judged again
                    step.state[_state_key(rule.rule.alarm)] = rule.state()
            if findings or rule.active is not was_active or self._told.get(rule.rule.alarm) is not rule.stance:
                self._ask(rule, step)

    def close_days(self, now: Instant, step: Step) -> None:
        """Settle the accounts; what a local day's end brings is written down, and the laboratory judges months."""
        closed = self.accounts.advance(now)
        for name, day in closed:
            step.notes.extend(self.accounts.day_closed(name, day, self.by_channel[name], day.end))
        if not closed:
            return
        findings = self.laboratory.tick(now)
        if findings:
            self.find(findings, step)
            step.conditions.extend(self.laboratory.conditions(findings))
        step.state.update(self.laboratory.changes())
        day = closed[0][1]
        for sheet in self.accounts.worksheets(day, self.site.rules, self.laboratory.measurements):
            step.notes.append(Note("significant_noncompliance", day.end, sheet))

    def laboratory_step(self, lab: LabStep, step: Step) -> None:
        """Results that were entered: recorded, judged, and told like any exceedance."""
        self.find(list(lab.findings), step)
        step.conditions.extend(lab.conditions)
        step.notes.extend(lab.notes)
        step.state.update(lab.state)

    def find(self, findings: Sequence[Finding], step: Step) -> None:
        """Keep what a rule found, let the accounts hear of it, and start the clocks that it starts."""
        step.findings.extend(findings)
        for finding in findings:
            self.accounts.hear(finding)
            for notice in due(finding, self._by_rule.get((finding.rule, finding.channel))):
                body = {"rule": finding.rule, "channel": finding.channel, **asdict(notice)}
                step.notes.append(Note("notice_due", finding.at, body))

    def stood(self, alarms: Iterable[str]) -> None:
        """These alarms stand from before: what their rules say next is told although it is nothing new."""
        self._standing.update(alarms)

    def heard(self, events: Iterable[AlarmEvent]) -> None:
        """What the alarm engine did: an alarm that cleared hangs on no deadband any more."""
        self._standing.difference_update(event.alarm for event in events if event.edge is AlarmEdge.CLEARED)

    def snapshot(self) -> dict[str, Any]:
        """The long memory by durable key: windows, baselines and days of violation, as of the last reading."""
        state = self.accounts.state()
        for rule in self.rules:
            if not isinstance(rule, ExceedanceRule):
                state[_state_key(rule.rule.alarm)] = rule.state()
        return state

    def advance(self, now: Instant) -> None:
        """Settle the accounts while the record is heard again: what the days bring is on record already."""
        for name, day in self.accounts.advance(now):
            for _ in self.accounts.day_closed(name, day, self.by_channel[name], day.end):
                pass

    def refeed(self, reading: Reading, weight: int, *, discharging: bool) -> None:
        """Let the long memory hear a reading recorded after the snapshot it came back from; nothing is said."""
        self.accounts.take(reading, weight, discharging=discharging)
        for rule in self.by_channel[reading.channel]:
            if isinstance(rule, MonthlyExcursionRule):  # it keeps a ledger of its own
                rule.judge(reading, weight, discharging=discharging)

    def restore(self, state: Mapping[str, Any], resume: Resume, step: Step) -> None:
        """Bring accounts, laboratory and runs back after a restart, before the first sample."""
        try:
            for change in self.accounts.restore(state, resume):
                step.notes.append(Note("rebaselined", resume.now, change))
                key = baseline_key(change["channel"])
                step.state[key] = self.accounts.baselines[change["channel"]].state()
        except (LookupError, TypeError, ValueError) as error:
            step.notes.append(unreadable("accounts", error, resume))
        try:
            self.laboratory.restore(state)
        except (LookupError, TypeError, ValueError) as error:
            step.notes.append(unreadable("laboratory", error, resume))
        by_key = {_state_key(rule.rule.alarm): rule for rule in self.rules}
        for key, value in state.items():
            if key.startswith("rule:"):
                self._restore_rule(key, value, by_key.get(key), resume, step)

    def _restore_rule(self, key: str, value: Any, rule: Judge | None, resume: Resume, step: Step) -> None:
        if rule is None:
            step.notes.append(Note("run_dropped", resume.now, {"state": key, "why": "the rule is gone"}))
            step.state[key] = None
            return
        if isinstance(rule, ExceedanceRule):
            self._stored.add(rule.rule.alarm)
        try:
            step.findings.extend(rule.restore(value, resume))
        except (LookupError, TypeError, ValueError) as error:
            if isinstance(rule, ExceedanceRule):
                rule.forget(resume)
            step.notes.append(unreadable(key, error, resume))
            step.state[key] = None
        if rule.active:
            self._stored.add(rule.rule.alarm)

    def _ask(self, rule: Judge, step: Step) -> None:
        """Hand the rule's condition to the alarm engine when it says something new, or while a deadband may matter."""
        alarm = rule.rule.alarm
        if rule.active:
            step.state[_state_key(alarm)] = rule.state()
            self._stored.add(alarm)
        elif alarm in self._stored:
            self._stored.discard(alarm)
            if isinstance(rule, ExceedanceRule):
                step.state[_state_key(alarm)] = None
        stance = rule.stance
        if self._told.get(alarm) is stance and not (stance is Stance.WITHIN and alarm in self._standing):
            return
        self._told[alarm] = stance
        if stance in _UP:
            self._standing.add(alarm)
        step.conditions.append(rule.condition())


def _state_key(alarm: str) -> str:
    return f"rule:{alarm}"


def unreadable(key: str, error: Exception, resume: Resume) -> Note:
    """A stored state that cannot be brought back: no reason not to measure, but one to write down."""
    return Note("state_unreadable", resume.now, {"state": key, "why": f"{type(error).__name__}: {error}"})
