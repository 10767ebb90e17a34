"""THE path: sample -> reading -> finding -> alarm event -> message, in one pure step.

Nothing here does I/O, reads a clock or knows where a sample came from: the gateway and `replay` run the same code. The
caller commits the Outcome and then tells the world (design 2).
"""

from collections.abc import Iterable, Mapping
from typing import Any

from gateway.alarms.engine import AlarmEngine, EngineStep
from gateway.alarms.memory import from_json
from gateway.model import (
    AlarmEdge,
    AlarmEvent,
    AlarmState,
    Condition,
    Finding,
    Instant,
    Message,
    Note,
    Outcome,
    Reading,
    Resume,
    Sample,
    Severity,
)
from gateway.rules.limit import LimitRule
from gateway.rules.run import ExceedanceRule, Stance
from gateway.rules.slug import SlugRule
from gateway.signals.derived import FlowFrom
from gateway.signals.interlock import Discharge, Interlock
from gateway.signals.qc import QualityControl, evidence
from gateway.signals.seconds import ChannelSeconds
from gateway.signals.sensor import SensorWatch, sensor_alarm
from gateway.site import Channel, Rule, Site

__all__ = ["Pipeline"]

_KINDS: Mapping[str, type[ExceedanceRule]] = {"limit": LimitRule, "slug": SlugRule}
_QUIET = Outcome()
_UP = frozenset({Stance.EXCEEDED, Stance.SUSPECTED, Stance.PREALARM})
_STEP_US = 2_000_000  # a wall clock that moves this much against the monotonic one was stepped (links 5)


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
        self.rules: list[ExceedanceRule] = []
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
        self.rules: list[ExceedanceRule] = []
        for rule in site.rules:
            if rule.laboratory or rule.kind not in _KINDS:
                continue
            judged = _KINDS[rule.kind](rule, site.channels[rule.channel], _hashes(rule, site), start)
            self.rules.append(judged)
            self._channels[rule.channel].rules.append(judged)
        for spec in site.channels.values():
            if spec.derived_from is not None and spec.name not in measured:
                level = site.channels[spec.derived_from]
                self._channels[level.name].derived.append(FlowFrom(spec, level))
        self._told: dict[str, Stance] = {}
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
        step = _Step()
        self._settle(earliest, step)
        for channel, sample in first:
            self._take(channel, sample, step)
        for channel, sample in then:
            self._take(channel, sample, step)
        return self._close(step, now)

    def tick(self, now: Instant) -> Outcome:
        """Discover what elapsed time alone has changed. Cheap when nothing is due."""
        step = _Step()
        self._settle(now, step)
        return self._close(step, now)

    def carry(self, engine_step: EngineStep, now: Instant, notes: tuple[Note, ...] = ()) -> Outcome:
        """The Outcome of an operator's action on the alarm engine, with the notes that record it."""
        step = _Step()
        step.alarms(engine_step)
        step.notes.extend(notes)
        return self._close(step, now)

    def restore(self, state: Mapping[str, Any], resume: Resume) -> Outcome:
        """Bring runs and alarms back after a restart; call once, before the first sample."""
        step = _Step()
        by_key = {_state_key(rule.rule.alarm): rule for rule in self.rules}
        for key, value in state.items():
            if key.startswith("rule:"):
                rule = by_key.get(key)
                if rule is None:
                    step.notes.append(Note("run_dropped", resume.now, {"state": key, "why": "the rule is gone"}))
                    step.state[key] = None
                    continue
                self._stored.add(rule.rule.alarm)
                try:
                    step.findings.extend(rule.restore(value, resume))
                except (LookupError, TypeError, ValueError) as error:
                    rule.forget(resume)
                    step.notes.append(_unreadable(key, error, resume))
                    step.state[key] = None
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
    def watching(self) -> bool:
        """Whether any rule has a run under way: every poll is then committed (design 2)."""
        return any(rule.active for rule in self.rules)

    def _take(self, channel: _Channel, sample: Sample, step: "_Step") -> None:
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
        for rule in channel.rules:
            if findings := rule.judge(reading, weight, discharging=discharging):
                step.findings.extend(findings)
            self._ask(rule, step)
        for flow_from in channel.derived:
            self._take(self._channels[flow_from.channel], flow_from(reading), step)

    def _ask(self, rule: ExceedanceRule, step: "_Step") -> None:
        """Hand the rule's condition to the alarm engine when it says something new, or while a deadband may matter."""
        alarm = rule.rule.alarm
        if rule.active:
            step.state[_state_key(alarm)] = rule.state()
            self._stored.add(alarm)
        elif alarm in self._stored:
            step.state[_state_key(alarm)] = None
            self._stored.discard(alarm)
        stance = rule.stance
        if self._told.get(alarm) is stance and not (stance is Stance.WITHIN and alarm in self._standing):
            return
        self._told[alarm] = stance
        if stance in _UP:
            self._standing.add(alarm)
        step.conditions.append(rule.condition())

    def _settle(self, now: Instant, step: "_Step") -> None:
        """Everything that falls due before or at this moment, in order of its own deadline."""
        if not self._began:
            self._began = True
            for rule in self.rules:
                step.findings.extend(rule.begin(self.start))
        self._watch_clock(now, step)
        if now.mono_us <= self._next_us:
            return
        for rule in self.rules:
            was_active = rule.active
            if (findings := rule.tick(now)) or rule.active is not was_active:
                step.findings.extend(findings)
                self._ask(rule, step)
        for channel in self._channels.values():
            sensed = channel.sensor.tick(now)
            if sensed is not None:
                step.conditions.append(sensed)
        step.findings.sort(key=lambda finding: finding.at.mono_us)

    def _watch_clock(self, now: Instant, step: "_Step") -> None:
        """A wall clock that moved against the monotonic one is written down; durations never follow it."""
        last = self._last
        if now.mono_us <= last.mono_us:
            return
        self._last = now
        moved_us = (now.utc_us - last.utc_us) - (now.mono_us - last.mono_us)
        if abs(moved_us) > _STEP_US:
            body = {"step_us": moved_us, "from_utc_us": last.utc_us, "to_utc_us": now.utc_us, "synced": now.synced}
            step.notes.append(Note("clock_step", now, body))

    def _close(self, step: "_Step", now: Instant) -> Outcome:
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
            candidates = [rule.deadline_us for rule in self.rules]
            candidates += [channel.sensor.deadline_us for channel in self._channels.values()]
            self._next_us = min(candidates, default=now.mono_us)
        if deadline_us is not None:
            self._next_us = min(self._next_us, deadline_us)
        if step.is_empty:
            return _QUIET
        step.findings.sort(key=lambda finding: finding.at.mono_us)  # devices of one poll have moments of their own
        step.state.update(self.engine.changes())
        return step.outcome(watching=self.watching)


class _Step:
    """What one call gathers before it becomes an Outcome."""

    __slots__ = ("alarm_events", "conditions", "findings", "messages", "notes", "readings", "state")

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.findings: list[Finding] = []
        self.conditions: list[Condition] = []
        self.alarm_events: list[AlarmEvent] = []
        self.messages: list[Message] = []
        self.notes: list[Note] = []
        self.state: dict[str, Any] = {}

    def alarms(self, engine_step: EngineStep) -> None:
        self.alarm_events.extend(engine_step.events)
        self.messages.extend(engine_step.messages)

    @property
    def is_empty(self) -> bool:
        return not (self.readings or self.findings or self.conditions or self.alarm_events or self.notes or self.state)

    def outcome(self, *, watching: bool) -> Outcome:
        urgent = bool(watching or self.findings or self.alarm_events or self.messages or self.notes)
        return Outcome(
            tuple(self.readings),
            tuple(self.findings),
            tuple(self.alarm_events),
            tuple(self.messages),
            tuple(self.notes),
            self.state,
            urgent,
        )


def _state_key(alarm: str) -> str:
    return f"rule:{alarm}"


def _sensor_severity(site: Site, channel: str) -> Severity:
    policy = site.alarms.get(sensor_alarm(channel))
    return Severity.WARNING if policy is None else policy.severity


def _unreadable(key: str, error: Exception, resume: Resume) -> Note:
    """A stored state that cannot be brought back: no reason not to measure, but one to write down."""
    return Note("state_unreadable", resume.now, {"state": key, "why": f"{type(error).__name__}: {error}"})


def _hashes(rule: Rule, site: Site) -> Mapping[str, str]:
    hashes = {"config": site.config_hash, "pack": rule.pack_hash}
    if rule.baseline is not None:
        hashes["baseline"] = rule.baseline.hash
    return hashes
