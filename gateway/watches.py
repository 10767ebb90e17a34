"""The watches of a site: everything beside the rules that listens to readings, built in one place."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gateway.alarms.engine import AlarmView
from gateway.calibration_book import CalibrationBook
from gateway.judgement import unreadable
from gateway.maintenance import Maintenance
from gateway.model import AlarmEvent, Finding, Instant, Reading, Resume, Severity
from gateway.outputs.composite import CompositeWatch
from gateway.outputs.contacts import ContactWatch
from gateway.outputs.grab import GrabWatch
from gateway.outputs.ordered import KEY as ORDER_KEY
from gateway.outputs.ordered import interrupted, note_carried
from gateway.outputs.switched import Annunciator, Switched, Valve
from gateway.outputs.wired import Carried, ContactRole, OutputRole
from gateway.rules.flow_ledger import FlowLedger
from gateway.rules.totals import totals_of
from gateway.signals.diagnosis.sensors import SensorDiagnosis
from gateway.signals.watch import FAR_US, Said, Watch
from gateway.site import Site
from gateway.step import Step

__all__ = ["Watches"]

_CONTACT_HOLD_US = 10_000_000  # ours: a poll that is late on a busy line is no news of a door


class Watches:
    """All watches of one site, heard in the order they are built in."""

    def __init__(self, site: Site, start: Instant, flows: Mapping[str, FlowLedger]) -> None:
        self.totals = totals_of(site, flows)
        self._site = site
        plan = site.sampler
        self.maintenance = Maintenance(site, start)
        self.calibrations = CalibrationBook(site, start)
        self.diagnosis = SensorDiagnosis(site)
        self.switched = _outputs(site, start)
        self.composite = self.grab = None
        if plan.composite is not None:
            self.composite = CompositeWatch(
                plan.composite, site.outputs[plan.composite.output], start, self.maintenance.held
            )
        if plan.grab is not None:
            self.grab = GrabWatch(
                plan.grab, site.outputs[plan.grab.output], frozenset(site.channels), start, self.maintenance.held
            )
        self.contacts = _contacts(site, self.composite, start)
        samplers = [watch for watch in (self.composite, self.grab) if watch is not None]
        self._all: list[Watch] = [
            self.maintenance,
            self.calibrations,
            self.diagnosis,
            *self.contacts.values(),
            *samplers,
            *self.switched.values(),
        ]
        self._all += self.totals.values()
        # Most never wait for anything, and this is asked at every poll.
        self._waiting = [watch for watch in self._all if type(watch).tick is not Watch.tick]
        if not self.diagnosis.waits:
            self._waiting.remove(self.diagnosis)
        self.by_channel: dict[str, tuple[Watch, ...]] = {
            name: tuple(watch for watch in self._all if name in watch.channels) for name in site.channels
        }

    @property
    def deadline_us(self) -> int:
        """The earliest deadline of any watch."""
        earliest_us = FAR_US
        for watch in self._waiting:
            earliest_us = min(earliest_us, watch.deadline_us)
        return earliest_us

    def found(self, findings: Iterable[Finding], step: Step) -> None:
        """Let every watch take what the rules found."""
        for finding in findings:
            for watch in self._all:
                watch.found(finding, step)

    def tick(self, now: Instant, step: Step) -> None:
        """Let every watch whose deadline has passed discover it."""
        for watch in self._waiting:
            if watch.deadline_us <= now.mono_us:
                watch.tick(now, step)

    def snapshot(self) -> dict[str, Any]:
        """What the watches remember by durable key, as of the last reading."""
        return {key: value for watch in self._all for key, value in watch.snapshot().items()}

    def refeed(self, reading: Reading, weight: int) -> None:
        """Let the watches hear a reading of the record again; what they say is on record already."""
        unsaid = Step()
        for watch in self.by_channel[reading.channel]:
            watch.hear(reading, weight, unsaid)
        self.maintenance.follow(reading)

    def restore(self, state: Mapping[str, Any], resume: Resume, step: Step) -> None:
        """Bring every watch back; one whose state cannot be read starts afresh, and that is written down.

        Orders that were under way are over: nobody knows whether they were done, and none is repeated.
        """
        for watch in self._all:
            own = {key: value for key, value in state.items() if key.startswith(watch.key)}
            try:
                watch.restore(own, resume, step)
            except (LookupError, TypeError, ValueError) as error:
                step.notes.append(unreadable(watch.key, error, resume))
        for one in self.switched.values():
            if isinstance(one, Valve):
                one.forget_gone(self._site.rules)
        for key, value in state.items():
            if key.startswith(ORDER_KEY):
                try:
                    carried = interrupted(key, value, resume)
                except (LookupError, TypeError, ValueError) as error:
                    step.notes.append(unreadable(key, error, resume))
                    step.state[key] = None
                else:
                    self.carried(carried, step)
                    if carried.order.action == "pulse" and carried.order.output in self.switched:
                        self.switched[carried.order.output].pulse_was_cut(resume.now, step)

    def alarmed(self, events: Sequence[AlarmEvent], step: Step) -> None:
        """Let every watch take what the alarm engine did."""
        for watch in self._all:
            watch.alarmed(events, step)

    def stood(self, views: Iterable[AlarmView], at: Instant, step: Step) -> None:
        """Tell every watch how the alarms stand after a restart."""
        views = tuple(views)
        for watch in self._all:
            for view in views:
                watch.stands(view.id, view.state, view.severity)
            watch.stood(at, step)

    def carried(self, carried: Carried, step: Step) -> None:
        """Let every watch take what became of an order, and write it down."""
        note_carried(carried, step)
        for watch in self._all:
            watch.carried(carried, step)

    @property
    def latched(self) -> frozenset[str]:
        """The outputs whose safe state must not be written now."""
        return frozenset(name for name, switched in self.switched.items() if switched.latched)


def _outputs(site: Site, start: Instant) -> dict[str, Switched]:
    kinds = {OutputRole.HORN: Annunciator, OutputRole.BEACON: Annunciator, OutputRole.VALVE: Valve}
    return {
        name: kinds.get(output.role, Switched)(output, _severity(site, output.alarm), start)
        for name, output in site.outputs.items()
    }


def _contacts(site: Site, composite: CompositeWatch | None, start: Instant) -> dict[str, ContactWatch]:
    contacts = {}
    for name, spec in site.inputs.items():

        def turned(at: Instant, off_normal: bool, news: bool, said: Said, role: ContactRole = spec.role) -> None:
            if composite is not None:
                composite.contact(role, at, off_normal, said, news=news)

        severity = _severity(site, spec.alarm)
        contacts[name] = ContactWatch(spec, max(site.channels[name].hold_us, _CONTACT_HOLD_US), severity, start, turned)
    return contacts


def _severity(site: Site, alarm: str) -> Severity:
    policy = site.alarms.get(alarm)
    return Severity.WARNING if policy is None else policy.severity
