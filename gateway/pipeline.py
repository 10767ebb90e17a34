"""THE path: sample -> reading -> finding -> alarm event -> message, in one pure step.

Nothing here does I/O, reads a clock or knows where a sample came from: the gateway and `replay` run the same code. The
caller commits the Outcome and then tells the world (decision 0003).
"""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any
from zoneinfo import ZoneInfo

from gateway.alarms.engine import AlarmEngine, EngineStep
from gateway.alarms.memory import from_json
from gateway.lab_command import LabStep
from gateway.model import (
    AlarmEdge,
    AlarmState,
    Finding,
    Instant,
    Note,
    Outcome,
    Reading,
    Resume,
    Sample,
    Severity,
)
from gateway.rules.accounts import Accounts, baseline_key
from gateway.rules.excursion import MonthlyExcursionRule
from gateway.rules.judge import Judge
from gateway.rules.judges import hashes_of, judges_of
from gateway.rules.laboratory import Laboratory
from gateway.rules.notice import due
from gateway.rules.run import ExceedanceRule
from gateway.rules.stance import Stance
from gateway.signals.derived import FlowFrom
from gateway.signals.interlock import Discharge, Interlock
from gateway.signals.qc import QualityControl, evidence
from gateway.signals.seconds import ChannelSeconds
from gateway.signals.sensor import SensorWatch, sensor_alarm
from gateway.site import Channel, Site
from gateway.step import Step

__all__ = ["Pipeline"]

_QUIET = Outcome()
_UP = frozenset({Stance.EXCEEDED, Stance.SUSPECTED, Stance.PREALARM})
_STEP_US = 2_000_000  # a wall clock that moves this much against the monotonic one was stepped (decision 0007)


class _Channel:
    """Everything that follows one channel, side by side."""

    __slots__ = ("derived", "interlocked", "is_witness", "qc", "rules", "seconds", "sensor", "spec")

    def __init__(
        self, spec: Channel, start: Instant, severity: Severity, *, is_witness: bool, interlocked: bool
    ) -> None:
        self.spec = spec
        self.qc = QualityControl(spec)
        self.seconds = ChannelSeconds(spec, start.mono_us)
        self.sensor = SensorWatch(spec, start, severity)
        self.rules: list[Judge] = []
        self.is_witness = is_witness
        self.interlocked = interlocked
        self.derived: list[FlowFrom] = []


class Pipeline:
    """Judges one site. Call `process` and `tick` with moments that never go back on the monotonic axis; one thread.

    `measured` names derived channels whose own values are supplied (a recorded flow), so they are not computed.
    """

    def __init__(self, site: Site, start: Instant, *, measured: frozenset[str] = frozenset()) -> None:
        self.site = site
        self.start = start
        self.interlock = Interlock(site.discharging, dict(site.channels))
        self.engine = AlarmEngine(site)
        self._channels = {
            name: _Channel(
                spec,
                start,
                _sensor_severity(site, name),
                is_witness=self.interlock.is_witness(name),
                interlocked=name in site.discharging.applies_to,
            )
            for name, spec in site.channels.items()
        }
        zone = ZoneInfo(site.time_zone)
        self.accounts = Accounts(site, zone, start)
        self.rules: list[Judge] = judges_of(site, self.accounts, zone, start)
        for judge in self.rules:
            self._channels[judge.channel].rules.append(judge)
        self.laboratory = Laboratory(
            site.rules, zone, site.nondetect, self.accounts.volume_of_day, lambda rule: hashes_of(rule, site)
        )
        self._by_rule = {(rule.id, rule.channel): rule for rule in site.rules}
        for spec in site.channels.values():
            if spec.derived_from is not None and spec.name not in measured:
                level = site.channels[spec.derived_from]
                self._channels[level.name].derived.append(FlowFrom(spec, level))
        self._told: dict[str, object] = {}
        self._standing: set[str] = set()  # alarms whose return may hang on a deadband
        self._stored: set[str] = set()  # alarms whose rule has a run in the durable state
        self._next_us = start.mono_us
        self._last = start
        self._began = False

    def process(self, samples: Iterable[Sample], now: Instant) -> Outcome:
        """Take the samples of one poll or one row, in any order of channels; `now` is not earlier than any of them.

        Deadlines that passed before the earliest of them are settled first. Raises LookupError for a channel that is
        not of this site.
        """
        first: list[tuple[_Channel, Sample]] = []  # what others hang on: witnesses, and levels that give a flow
        then: list[tuple[_Channel, Sample]] = []
        earliest = now
        for sample in samples:
            channel = self._channels.get(sample.channel)
            if channel is None:
                raise LookupError(f"no channel {sample.channel!r} on site {self.site.id}: {', '.join(self._channels)}")
            if sample.at.mono_us < earliest.mono_us:
                earliest = sample.at
            (first if channel.is_witness or channel.derived else then).append((channel, sample))
        step = Step()
        self._settle(earliest, step)
        for channel, sample in first:
            self._take(channel, sample, step)
        for channel, sample in then:
            self._take(channel, sample, step)
        return self._close(step, now)

    def tick(self, now: Instant) -> Outcome:
        """Discover what elapsed time alone has changed. Cheap when nothing is due."""
        step = Step()
        self._settle(now, step)
        return self._close(step, now)

    def carry(self, engine_step: EngineStep, now: Instant, notes: tuple[Note, ...] = ()) -> Outcome:
        """The Outcome of an operator's action on the alarm engine, with the notes that record it."""
        step = Step()
        step.alarms(engine_step)
        step.notes.extend(notes)
        return self._close(step, now)

    def laboratory_step(self, lab: LabStep, now: Instant) -> Outcome:
        """The Outcome of results that were entered: recorded, judged, and told like any exceedance."""
        step = Step()
        self._find(list(lab.findings), step)
        step.conditions.extend(lab.conditions)
        step.notes.extend(lab.notes)
        step.state.update(lab.state)
        return self._close(step, now)

    def snapshot(self) -> dict[str, Any]:
        """The long memory by durable key: windows, baselines and days of violation, as of the last reading."""
        state = self.accounts.state()
        for rule in self.rules:
            if not isinstance(rule, ExceedanceRule):
                state[_state_key(rule.rule.alarm)] = rule.state()
        return state

    def refeed(self, reading: Reading) -> None:
        """Let the long memory hear a reading recorded after the snapshot it came back from; nothing is said."""
        channel = self._channels.get(reading.channel)
        if channel is None or reading.tests == ("order",):
            return
        for name, day in self.accounts.advance(reading.at):
            for _ in self.accounts.day_closed(name, day, self._channels[name].rules, day.end):
                pass  # what the day counts for is heard again; its notes are on record
        if channel.is_witness:
            self.interlock.hear(reading)
        settled = self.interlock.discharging(reading.channel, reading.at.mono_us)
        discharging = not channel.is_witness or settled is not False
        weight = evidence(reading)
        self.accounts.take(reading, weight, discharging=discharging)
        for rule in channel.rules:
            if isinstance(rule, MonthlyExcursionRule):  # it keeps a ledger of its own
                rule.judge(reading, weight, discharging=discharging)

    def restore(self, state: Mapping[str, Any], resume: Resume) -> Outcome:
        """Bring runs and alarms back after a restart; call once, before the first sample."""
        step = Step()
        try:
            for change in self.accounts.restore(state, resume):
                step.notes.append(Note("rebaselined", resume.now, change))
                key = baseline_key(change["channel"])
                step.state[key] = self.accounts.baselines[change["channel"]].state()
        except (LookupError, TypeError, ValueError) as error:
            step.notes.append(_unreadable("accounts", error, resume))
        try:
            self.laboratory.restore(state)
        except (LookupError, TypeError, ValueError) as error:
            step.notes.append(_unreadable("laboratory", error, resume))
        by_key = {_state_key(rule.rule.alarm): rule for rule in self.rules}
        for key, value in state.items():
            if key.startswith("rule:"):
                rule = by_key.get(key)
                if rule is None:
                    step.notes.append(Note("run_dropped", resume.now, {"state": key, "why": "the rule is gone"}))
                    step.state[key] = None
                    continue
                if isinstance(rule, ExceedanceRule):
                    self._stored.add(rule.rule.alarm)
                try:
                    step.findings.extend(rule.restore(value, resume))
                except (LookupError, TypeError, ValueError) as error:
                    if isinstance(rule, ExceedanceRule):
                        rule.forget(resume)
                    step.notes.append(_unreadable(key, error, resume))
                    step.state[key] = None
                if rule.active:
                    self._stored.add(rule.rule.alarm)
        alarms = {}
        for key, value in state.items():
            if key.startswith("alarm:"):
                try:
                    from_json(key, value)
                except ValueError as error:  # as if it had never been raised: it can only be told once too often
                    step.notes.append(_unreadable(key, error, resume))
                    continue
                alarms[key] = value
        step.alarms(self.engine.restore(alarms, resume))
        self._standing.update(view.id for view in self.engine.view() if view.state is not AlarmState.NORMAL)
        return self._close(step, resume.now)

    def discharge(self, now: Instant) -> Discharge:
        """What flow and level say of the discharge."""
        return self.interlock.state(now.mono_us)

    def channel_seconds(self, now: Instant) -> dict[str, dict[str, int]]:
        """Microseconds by class for each channel since the start; each sums to the period."""
        for channel in self._channels.values():
            channel.seconds.advance(now.mono_us)
        return {name: dict(channel.seconds.spent_us) for name, channel in self._channels.items()}

    @property
    def settled(self) -> Instant:
        """The latest moment up to which everything has been heard: what may be asked of windows and baselines."""
        return self._last

    @property
    def watching(self) -> bool:
        """Whether any rule has a run under way: every poll is then committed (decision 0003)."""
        return bool(self._stored)

    def _take(self, channel: _Channel, sample: Sample, step: Step) -> None:
        mono_us = sample.at.mono_us
        discharge = self.interlock.state(mono_us) if channel.interlocked else None
        dry = discharge is not None and discharge is not Discharge.WET
        idle = channel.is_witness and self.interlock.discharging(sample.channel, mono_us) is False
        reading = channel.qc.assess(sample, dry=dry, disagree=discharge is Discharge.DISAGREE, idle=idle)
        step.readings.append(reading)
        if reading.tests == ("order",):
            return  # kept and flagged; not later than the newest, so it takes part in nothing
        self._next_us = min(self._next_us, mono_us + channel.spec.hold_us)
        if channel.is_witness:
            self.interlock.hear(reading)
        channel.seconds.add(reading, discharge)
        weight = evidence(reading)
        sensed = channel.sensor.see(reading, weight)
        if sensed is not None:
            step.conditions.append(sensed)
        discharging = not channel.is_witness or self.interlock.discharging(sample.channel, mono_us) is not False
        self.accounts.take(reading, weight, discharging=discharging)
        for rule in channel.rules:
            if findings := rule.judge(reading, weight, discharging=discharging):
                self._find(findings, step)
            if not rule.quiet or self._standing:  # a deadband may hang on the margin
                self._ask(rule, step)
        for flow_from in channel.derived:
            self._take(self._channels[flow_from.channel], flow_from(reading), step)

    def _find(self, findings: list[Finding], step: Step) -> None:
        """Keep what a rule found, let the accounts hear of it, and start the clocks that it starts."""
        step.findings.extend(findings)
        for finding in findings:
            self.accounts.hear(finding)
            for notice in due(finding, self._by_rule.get((finding.rule, finding.channel))):
                body = {"rule": finding.rule, "channel": finding.channel, **asdict(notice)}
                step.notes.append(Note("notice_due", finding.at, body))

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

    def _settle(self, now: Instant, step: Step) -> None:
        """Everything that falls due before or at this moment, in order of its own deadline."""
        if not self._began:
            self._began = True
            for rule in self.rules:
                step.findings.extend(rule.begin(self.start))
        self._watch_clock(now, step)
        if now.mono_us >= self.accounts.next_minute_us:
            self._close_days(now, step)
        if now.mono_us <= self._next_us:
            return
        self._next_us = self._earliest_us(now)  # what was heard since may have moved every deadline
        if now.mono_us <= self._next_us:
            return
        for rule in self.rules:
            was_active = rule.active
            findings = rule.tick(now)
            if findings:
                self._find(findings, step)
                if not isinstance(rule, ExceedanceRule):  # a window that was judged must not be judged again
                    step.state[_state_key(rule.rule.alarm)] = rule.state()
            if findings or rule.active is not was_active or self._told.get(rule.rule.alarm) is not rule.stance:
                self._ask(rule, step)
        for channel in self._channels.values():
            sensed = channel.sensor.tick(now)
            if sensed is not None:
                step.conditions.append(sensed)
        step.findings.sort(key=lambda finding: finding.at.mono_us)

    def _close_days(self, now: Instant, step: Step) -> None:
        """Settle the accounts; what a local day's end brings is written down, and the laboratory judges months."""
        closed = self.accounts.advance(now)
        for name, day in closed:
            step.notes.extend(self.accounts.day_closed(name, day, self._channels[name].rules, day.end))
        if not closed:
            return
        self._hear_laboratory(self.laboratory.tick(now), step)
        day = closed[0][1]
        for sheet in self.accounts.worksheets(day, self.site.rules, self.laboratory.measurements):
            step.notes.append(Note("significant_noncompliance", day.end, sheet))

    def _hear_laboratory(self, findings: list[Finding], step: Step) -> None:
        if findings:
            self._find(findings, step)
            step.conditions.extend(self.laboratory.conditions(findings))
        step.state.update(self.laboratory.changes())

    def _watch_clock(self, now: Instant, step: Step) -> None:
        """A wall clock that moved against the monotonic one is written down; durations never follow it."""
        last = self._last
        if now.mono_us <= last.mono_us:
            return
        self._last = now
        moved_us = (now.utc_us - last.utc_us) - (now.mono_us - last.mono_us)
        if abs(moved_us) > _STEP_US:
            body = {"step_us": moved_us, "from_utc_us": last.utc_us, "to_utc_us": now.utc_us, "synced": now.synced}
            step.notes.append(Note("clock_step", now, body))

    def _earliest_us(self, now: Instant) -> int:
        """The earliest deadline of any rule or sensor."""
        candidates = [rule.deadline_us for rule in self.rules]
        candidates += [channel.sensor.deadline_us for channel in self._channels.values()]
        return min(candidates, default=now.mono_us)

    def _close(self, step: Step, now: Instant) -> Outcome:
        """Let the alarm engine speak, collect the durable state, and say when the next deadline is."""
        if step.conditions:
            answer = self.engine.update(step.conditions, now)
            self._standing.difference_update(e.alarm for e in answer.events if e.edge is AlarmEdge.CLEARED)
            step.alarms(answer)
        deadline_us = self.engine.next_deadline_us()
        if deadline_us is not None and deadline_us <= now.mono_us:
            step.alarms(self.engine.tick(now))
            deadline_us = self.engine.next_deadline_us()
        if now.mono_us > self._next_us or step.conditions or step.findings:
            self._next_us = self._earliest_us(now)
        if deadline_us is not None:
            self._next_us = min(self._next_us, deadline_us)
        if step.is_empty:
            return _QUIET
        step.state.update(self.engine.changes())
        return step.outcome(watching=self.watching)


def _state_key(alarm: str) -> str:
    return f"rule:{alarm}"


def _sensor_severity(site: Site, channel: str) -> Severity:
    policy = site.alarms.get(sensor_alarm(channel))
    return Severity.WARNING if policy is None else policy.severity


def _unreadable(key: str, error: Exception, resume: Resume) -> Note:
    """A stored state that cannot be brought back: no reason not to measure, but one to write down."""
    return Note("state_unreadable", resume.now, {"state": key, "why": f"{type(error).__name__}: {error}"})
