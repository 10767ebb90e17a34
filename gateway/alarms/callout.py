"""The duty roster at work: an alarm that nobody acknowledges calls the next person, again and again. Pure.

A call-out under way is not cancelled because its cause went away: only a person ends it (or somebody who puts the alarm
aside, by name and reason). It survives restarts; a call whose moment nobody can place after one is due at once.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.alarms.engine import AlarmEngine
from gateway.alarms.record import moment
from gateway.model import AlarmEdge, AlarmEvent, AlarmState, Instant, Message, MessageKind, Resume
from gateway.signals.watch import FAR_US
from gateway.site import Contact, DutyStep, Site

__all__ = ["CallOut"]

_KEY = "callout:"
_UNACKNOWLEDGED = frozenset({
    AlarmState.UNACKNOWLEDGED, AlarmState.RETURNED_UNACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Call:
    """One occurrence that calls. `step` counts the steps of the roster that are done, `number` the calls so far."""

    occurrence: int
    began: Instant
    due: Instant
    step: int = 1
    number: int = 0
    acknowledged: bool = False


class CallOut:
    """Hears what the alarm engine did and says whom to call. Moments never go back on the monotonic axis."""

    def __init__(self, site: Site, engine: AlarmEngine) -> None:
        self._duty = site.duty
        self._engine = engine
        self._contacts = {contact.id: contact for contact in site.contacts}
        self._calls: dict[str, _Call] = {}
        self._changed: set[str] = set()
        self.deadline_us = FAR_US
        """When the next call is due, FAR_US when none is: asked at every poll, so kept and not worked out."""

    def hear(self, events: Iterable[AlarmEvent]) -> None:
        """Take what the engine did."""
        if not self._duty.steps:
            return
        for event in events:
            if event.annunciate and event.edge is not AlarmEdge.CLEARED:
                if event.severity >= self._duty.from_severity:
                    self._begin(event)
            elif event.to_state in _UNACKNOWLEDGED:
                continue
            elif event.edge is AlarmEdge.ACKNOWLEDGED and event.to_state is AlarmState.ACKNOWLEDGED:
                self._remind(event)
            elif event.edge is not AlarmEdge.REFUSED:
                self._drop(event.alarm)

    def tick(self, now: Instant) -> tuple[Message, ...]:
        """The calls that are due by now, each at its own moment and in the order of their moments."""
        messages: list[Message] = []
        while (due_us := self.deadline_us) <= now.mono_us:
            for alarm in sorted(alarm for alarm, call in self._calls.items() if call.due.mono_us == due_us):
                messages += self._make(alarm, self._calls[alarm], moment(now, due_us))
        return tuple(messages)

    def changes(self) -> dict[str, Any]:
        """The durable state of every call that changed since the last time; None for one that is over."""
        if not self._changed:
            return {}
        changed, self._changed = self._changed, set()
        return {_KEY + alarm: _json(self._calls.get(alarm)) for alarm in sorted(changed)}

    def restore(self, state: Mapping[str, Any], resume: Resume) -> None:
        """Bring the calls back; what fell due while the gateway was away is due once, now.

        LookupError, TypeError or ValueError for a call that cannot be read.
        """
        known = {view.id: view for view in self._engine.view()}
        for key, value in state.items():
            if not key.startswith(_KEY):
                continue
            alarm = key.removeprefix(_KEY)
            if alarm not in known or not self._duty.steps:
                self._changed.add(alarm)  # gone from the site file: its key goes too
                continue
            due = _moment(value["due"], resume)
            call = _Call(
                int(value["occurrence"]),
                _moment(value["began"], resume) or resume.now,
                due if due is not None and due.mono_us > resume.now.mono_us else resume.now,
                int(value["step"]),
                int(value["number"]),
                bool(value["acknowledged"]),
            )
            self._put(alarm, call)

    def _make(self, alarm: str, call: _Call, now: Instant) -> tuple[Message, ...]:
        """One call, and when the next one is due: the steps reached since the last one become one call."""
        number, steps = call.number + 1, self._duty.steps
        if call.acknowledged:
            due = _later(now, self._duty.reminder_us or FAR_US)
            self._put(alarm, replace(call, number=number, due=due))
            return self._engine.call(alarm, self._people(steps[:1]), MessageKind.REMINDER, number, now).messages
        reached = sum(step.after_us <= now.mono_us - call.began.mono_us for step in steps)
        people = self._people(steps[call.step : reached] or steps)  # once every step is done, everybody
        done = max(call.step, reached)
        due = self._after(call.began, done) if done < len(steps) else _later(now, self._duty.repeat_us)
        self._put(alarm, replace(call, step=done, number=number, due=due))
        return self._engine.call(alarm, people, MessageKind.ESCALATED, number, now).messages

    def _people(self, steps: Sequence[DutyStep]) -> tuple[Contact, ...]:
        """Who is named in these steps, each once."""
        names = dict.fromkeys(name for step in steps for name in step.tell)
        return tuple(self._contacts[name] for name in names if name in self._contacts)

    def _begin(self, event: AlarmEvent) -> None:
        """People are told: the roster runs from here, or goes on where nobody has answered the one before.

        An alarm that chatters, or grows worse, would else call the first person for ever and never the second.
        """
        before = self._calls.get(event.alarm)
        if before is not None and not before.acknowledged:
            self._put(event.alarm, replace(before, occurrence=event.occurrence))
        else:
            self._put(event.alarm, _Call(event.occurrence, event.at, self._after(event.at, 1)))

    def _remind(self, event: AlarmEvent) -> None:
        """Acknowledged while the cause stands: from calls to reminders."""
        if self._duty.reminder_us is None or event.severity < self._duty.from_severity:
            self._drop(event.alarm)
            return
        before = self._calls.get(event.alarm)
        number = before.number if before is not None and before.occurrence == event.occurrence else 0
        due = _later(event.at, self._duty.reminder_us)
        self._put(event.alarm, _Call(event.occurrence, event.at, due, 1, number, acknowledged=True))

    def _after(self, began: Instant, step: int) -> Instant:
        """When a step of the roster is due, or the first repetition behind the last."""
        steps = self._duty.steps
        return _later(began, steps[step].after_us if step < len(steps) else steps[-1].after_us + self._duty.repeat_us)

    def _put(self, alarm: str, call: _Call) -> None:
        self._calls[alarm] = call
        self._note(alarm)

    def _drop(self, alarm: str) -> None:
        if self._calls.pop(alarm, None) is not None:
            self._note(alarm)

    def _note(self, alarm: str) -> None:
        self._changed.add(alarm)
        self.deadline_us = min((call.due.mono_us for call in self._calls.values()), default=FAR_US)


def _later(at: Instant, wait_us: int) -> Instant:
    return Instant(at.utc_us + wait_us, at.mono_us + wait_us, at.synced)


def _json(call: _Call | None) -> dict[str, Any] | None:
    if call is None:
        return None
    began, due = ([at.utc_us, at.mono_us, at.synced] for at in (call.began, call.due))
    return {
        "occurrence": call.occurrence, "began": began, "due": due, "step": call.step, "number": call.number,
        "acknowledged": call.acknowledged,
    }  # fmt: skip


def _moment(stored: Any, resume: Resume) -> Instant | None:
    """A stored moment on this process's axis; None when nobody can place it."""
    utc_us, mono_us, synced = stored
    placed_us = resume.mono(int(mono_us))
    return None if placed_us is None else Instant(int(utc_us), placed_us, bool(synced))
