"""THE path: sample -> reading -> finding -> alarm event -> message, in one pure step.

Nothing here does I/O, reads a clock or knows where a sample came from: the gateway and `replay` run the same code. The
caller commits the Outcome and then tells the world (decision 0003).
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from gateway.alarms.callout import CallOut
from gateway.alarms.engine import AlarmEngine, EngineStep
from gateway.alarms.memory import from_json
from gateway.judgement import Judgement, unreadable
from gateway.lab_command import LabStep
from gateway.model import AlarmState, Condition, Instant, Note, Outcome, Reading, Resume, Sample, Severity
from gateway.outputs.ordered import note_orders
from gateway.outputs.wired import Carried
from gateway.rules.accounts import Accounts
from gateway.rules.judge import Judge
from gateway.rules.laboratory import Laboratory
from gateway.rules.totals import CounterToday, FlowToday, volumes_today
from gateway.signals.derived import FlowFrom
from gateway.signals.diagnosis.frame import Health
from gateway.signals.interlock import Discharge, Interlock
from gateway.signals.level_flows import LevelFlows
from gateway.signals.qc import QualityControl, evidence
from gateway.signals.seconds import ChannelSeconds
from gateway.signals.sensor import SensorWatch, sensor_alarm
from gateway.signals.watch import Watch
from gateway.site import Channel, Site
from gateway.step import Step
from gateway.watches import Watches

__all__ = ["Pipeline"]

_QUIET = Outcome()
_INTERLOCK, _INTERLOCK_AS_OF = "interlock", "interlock:as_of"
_STEP_US = 2_000_000  # a wall clock that moves this much against the monotonic one was stepped (decision 0007)


class _Channel:
    """Everything that follows one channel, side by side."""

    __slots__ = (
        "comparison", "derived", "health", "hold_us", "interlocked", "is_witness", "listeners", "qc", "rank",
        "rules", "seconds", "sensor", "spec", "watches",
    )  # fmt: skip

    def __init__(
        self,
        spec: Channel,
        start: Instant,
        severity: Severity,
        rules: list[Judge],
        watches: tuple[Watch, ...],
        health: Health | None,
        flows: LevelFlows,
        *,
        is_witness: bool,
        interlocked: bool,
    ) -> None:
        self.spec = spec
        self.hold_us = spec.hold_us
        self.qc = QualityControl(spec)
        self.seconds = ChannelSeconds(spec, start.mono_us)
        self.sensor = SensorWatch(spec, start, severity)
        self.rules = rules
        self.watches = watches
        self.health = health
        self.is_witness = is_witness
        self.interlocked = interlocked
        self.derived: list[FlowFrom | CounterToday | FlowToday] = [*flows.computed[spec.name]]
        self.listeners = flows.heard[spec.name]
        self.comparison: Callable[[Sample], Sample] | None = flows.compared.get(spec.name)
        # What others hang on comes first in a poll: levels that weaken a flow, then witnesses and levels that give one.
        self.rank = 0 if self.listeners else 1 if is_witness or self.derived else 2


class Pipeline:
    """Judges one site. Call `process` and `tick` with moments that never go back on the monotonic axis; one thread.

    `measured` names derived channels whose own values are supplied (a recorded flow), so they are not computed.
    """

    def __init__(self, site: Site, start: Instant, *, measured: frozenset[str] = frozenset()) -> None:
        self.site = site
        self.start = start
        self.interlock = Interlock(site.discharging, dict(site.channels))
        self._holds_off = site.discharging.hold_off_us > 0
        self.engine = AlarmEngine(site)
        self.callout = CallOut(site, self.engine)
        self.judgement = Judgement(site, start)
        self.watches = Watches(site, start, self.accounts.flows)
        volumes = volumes_today(site, self.watches.totals, self.accounts.flows, measured)
        flows = LevelFlows(site, measured)
        self.maintenance = self.watches.maintenance
        self.calibrations = self.watches.calibrations
        self._channels = {
            name: _Channel(
                spec,
                start,
                _sensor_severity(site, name),
                self.judgement.by_channel[name],
                self.watches.by_channel[name],
                self.watches.diagnosis.by_channel[name],
                flows,
                is_witness=self.interlock.is_witness(name),
                interlocked=name in site.discharging.applies_to,
            )
            for name, spec in site.channels.items()
        }
        for name, totals in self.watches.totals.items():
            self._channels[name].comparison = totals.doubt
        for name, derived in volumes.items():
            self._channels[name].derived += derived
        self._next_us = start.mono_us
        self._last = start
        self._began = False

    def process(self, samples: Iterable[Sample], now: Instant) -> Outcome:
        """Take the samples of one poll or one row, in any order of channels; `now` is not earlier than any of them.

        Deadlines that passed before the earliest of them are settled first. Raises LookupError for a channel that is
        not of this site.
        """
        ranks: tuple[list[tuple[_Channel, Sample]], ...] = ([], [], [])
        earliest = now
        for sample in samples:
            channel = self._channels.get(sample.channel)
            if channel is None:
                raise LookupError(f"no channel {sample.channel!r} on site {self.site.id}: {', '.join(self._channels)}")
            if sample.at.mono_us < earliest.mono_us:
                earliest = sample.at
            ranks[channel.rank].append((channel, sample))
        step = Step()
        self._settle(earliest, step)
        for rank in ranks:
            for channel, sample in rank:
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

    def station(self, conditions: Iterable[Condition], now: Instant) -> Outcome:
        """The Outcome of what the station says of itself."""
        step = Step()
        step.conditions.extend(conditions)
        return self._close(step, now)

    def laboratory_step(self, lab: LabStep, now: Instant) -> Outcome:
        """The Outcome of results that were entered: recorded, judged, and told like any exceedance."""
        step = Step()
        self.judgement.laboratory_step(lab, step)
        return self._close(step, now)

    def carried(self, carried: Carried, now: Instant) -> Outcome:
        """The Outcome of an order that was carried out, or was not."""
        step = Step()
        self.watches.carried(carried, step)
        return self._close(step, now)

    def said(self, step: Step, now: Instant) -> Outcome:
        """The Outcome of what a person made the outputs or the sampler do."""
        return self._close(step, now)

    def snapshot(self) -> dict[str, Any]:
        """The long memory by durable key: windows, baselines and days of violation, as of the last reading."""
        return {**self.judgement.snapshot(), **self.watches.snapshot(), _INTERLOCK_AS_OF: self.interlock.memory()}

    def refeed(self, reading: Reading) -> None:
        """Let the long memory hear a reading recorded after the snapshot it came back from; nothing is said."""
        channel = self._channels.get(reading.channel)
        if channel is None or reading.tests == ("order",):
            return
        self.judgement.advance(reading.at)
        if self._holds_off and channel.interlocked:
            self.interlock.state(reading.at.mono_us)  # to notice when the probes came back into the water
        idle = False
        if channel.is_witness:  # asked before it is heard, as ever
            idle = self.interlock.discharging(reading.channel, reading.at.mono_us) is False
            self.interlock.hear(reading)
        channel.qc.hear_again(reading, still_expected=reading.dry or idle)
        if channel.health is not None:
            channel.health.hear(reading, None)
        settled = self.interlock.discharging(reading.channel, reading.at.mono_us)
        weight = evidence(reading)
        self.judgement.refeed(reading, weight, discharging=not channel.is_witness or settled is not False)
        self.watches.refeed(reading, weight)

    def restore(self, state: Mapping[str, Any], resume: Resume) -> Outcome:
        """Bring runs and alarms back after a restart; call once, before the first sample."""
        step = Step()
        self.judgement.restore(state, resume, step)
        self.watches.restore(state, resume, step)
        # As of the snapshot where there is one, since the readings after it are heard again; else as it last changed.
        memory = state.get(_INTERLOCK_AS_OF, state.get(_INTERLOCK))
        try:
            self.interlock.restore(memory, resume)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            step.notes.append(unreadable(_INTERLOCK, error, resume))
        alarms = {}
        for key, value in state.items():
            if key.startswith("alarm:"):
                try:
                    from_json(key, value)
                except ValueError as error:  # as if it had never been raised: it can only be told once too often
                    step.notes.append(unreadable(key, error, resume))
                    continue
                alarms[key] = value
        step.alarms(self.engine.restore(alarms, resume))
        try:
            self.callout.restore(state, resume)
        except (LookupError, TypeError, ValueError) as error:
            step.notes.append(unreadable("callout", error, resume))
        self.watches.stood(self.engine.view(), resume.now, step)
        self.judgement.stood(view.id for view in self.engine.view() if view.state is not AlarmState.NORMAL)
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
    def accounts(self) -> Accounts:
        """Windows, baselines and days of violation."""
        return self.judgement.accounts

    @property
    def laboratory(self) -> Laboratory:
        """Laboratory results and what is judged from them."""
        return self.judgement.laboratory

    @property
    def rules(self) -> list[Judge]:
        """Every rule that judges a channel."""
        return self.judgement.rules

    @property
    def under_way(self) -> frozenset[str]:
        """The measured channels that a rule on single values has a run on: worth a closer look while it lasts."""
        if not self.judgement.watching:
            return frozenset()
        channels = (self.site.channels[rule.channel] for rule in self.judgement.under_way)
        return frozenset(channel.derived_from or channel.name for channel in channels)

    @property
    def settled(self) -> Instant:
        """The latest moment up to which everything has been heard: what may be asked of windows and baselines."""
        return self._last

    def _take(self, channel: _Channel, sample: Sample, step: Step) -> None:
        mono_us = sample.at.mono_us
        discharge = self.interlock.state(mono_us) if channel.interlocked else None
        dry = discharge is not None and discharge is not Discharge.WET
        idle = channel.is_witness and self.interlock.discharging(sample.channel, mono_us) is False
        if channel.comparison is not None:
            sample = channel.comparison(sample)
        rewetted = self._holds_off and channel.interlocked and not dry and self.interlock.rewetted(mono_us)
        disagree = discharge is Discharge.DISAGREE
        reading = channel.qc.assess(sample, dry=dry, disagree=disagree, idle=idle, rewetted=rewetted)
        if self.maintenance.spans:
            reading = self.maintenance.mark(reading)
        if self.calibrations.marks:
            reading = self.calibrations.mark(reading)
        late = reading.tests == ("order",)
        if channel.health is not None and not late:
            reading = channel.health.hear(reading, step)
        step.readings.append(reading)
        if late:
            return  # kept and flagged; not later than the newest, so it takes part in nothing
        self._next_us = min(self._next_us, mono_us + channel.hold_us)
        if channel.is_witness and self.interlock.hear(reading):
            step.state[_INTERLOCK] = self.interlock.memory()
        channel.seconds.add(reading, discharge)
        weight = evidence(reading)
        sensed = channel.sensor.see(reading, weight)
        if sensed is not None:
            step.conditions.append(sensed)
        discharging = not channel.is_witness or self.interlock.discharging(sample.channel, mono_us) is not False
        self.judgement.judge(channel.rules, reading, weight, step, discharging=discharging)
        for watch in channel.watches:
            watch.hear(reading, weight, step)
        if self.maintenance.follows:
            self.maintenance.follow(reading)
        for listener in channel.listeners:
            listener.hear(reading)
        for derive in channel.derived:
            self._take(self._channels[derive.channel], derive(reading), step)

    def _settle(self, now: Instant, step: Step) -> None:
        """Everything that falls due before or at this moment, in order of its own deadline."""
        if not self._began:
            self._began = True
            self.judgement.begin(step)
        self._watch_clock(now, step)
        if now.mono_us >= self.accounts.next_minute_us:
            self.judgement.close_days(now, step)
        if now.mono_us <= self._next_us:
            return
        self._next_us = self._earliest_us(now)  # what was heard since may have moved every deadline
        if now.mono_us <= self._next_us:
            return
        self.judgement.tick(now, step)
        self.watches.tick(now, step)
        for channel in self._channels.values():
            sensed = channel.sensor.tick(now)
            if sensed is not None:
                step.conditions.append(sensed)
        step.findings.sort(key=lambda finding: finding.at.mono_us)

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
        """The earliest deadline of any rule, sensor or watch."""
        candidates = [rule.deadline_us for rule in self.rules]
        candidates += [channel.sensor.deadline_us for channel in self._channels.values()]
        candidates.append(self.watches.deadline_us)
        return min(candidates)

    def _close(self, step: Step, now: Instant) -> Outcome:
        """Let the alarm engine speak, collect the durable state, and say when the next deadline is."""
        if step.findings:
            self.watches.found(tuple(step.findings), step)
        if step.conditions:
            answer = self.engine.update(step.conditions, now)
            self.judgement.heard(answer.events)
            step.alarms(answer)
        deadline_us = self.engine.next_deadline_us()
        if deadline_us is not None and deadline_us <= now.mono_us:
            step.alarms(self.engine.tick(now))
            deadline_us = self.engine.next_deadline_us()
        if now.mono_us > self._next_us or step.conditions or step.findings or step.notes:
            self._next_us = self._earliest_us(now)
        if deadline_us is not None:
            self._next_us = min(self._next_us, deadline_us)
        if step.alarm_events:
            self.callout.hear(step.alarm_events)
            self.watches.alarmed(step.alarm_events, step)
        if self.callout.deadline_us <= now.mono_us:
            step.messages.extend(self.callout.tick(now))
        if step.orders:
            note_orders(step)
        self._next_us = min(self._next_us, self.watches.deadline_us, self.callout.deadline_us)
        step.state.update(self.callout.changes())
        if step.is_empty:
            return _QUIET
        step.state.update(self.engine.changes())
        return step.outcome(watching=self.judgement.watching)


def _sensor_severity(site: Site, channel: str) -> Severity:
    policy = site.alarms.get(sensor_alarm(channel))
    return Severity.WARNING if policy is None else policy.severity
