"""A site with a duty roster, its alarm engine and its call-out, driven in virtual time."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gateway.alarms.callout import CallOut
from gateway.alarms.engine import AlarmEngine, EngineStep
from gateway.model import AlarmEvent, Instant, Message, Resume, Severity
from gateway.site import AlarmPolicy, Contact, Duty, DutyStep, Site
from tests.support.alarm_site import alarm_site, at, say

__all__ = ["DUTY", "MINUTE", "Night", "roster_site"]

MINUTE = 60
S = 1_000_000
PEOPLE = tuple(
    Contact(name, name.title(), ("bench",), from_severity=Severity.WARNING) for name in ("ann", "bob", "cai", "dee")
)
# Ann at once, Ann again at 5 min, Bob at 10, Cai at 20, everybody every 30 min from there.
DUTY = Duty(
    steps=tuple(
        DutyStep(minutes * MINUTE * S, (name,)) for minutes, name in ((0, "ann"), (5, "ann"), (10, "bob"), (20, "cai"))
    ),
    repeat_us=30 * MINUTE * S,
    reminder_us=60 * MINUTE * S,
)


def roster_site(duty: Duty = DUTY, **policies: AlarmPolicy) -> Site:
    """Four people, of whom Dee is in no step of the roster."""
    return replace(alarm_site(PEOPLE, **policies), duty=duty)


@dataclass
class Night:
    """The engine and the call-out of one site, with everything they said."""

    site: Site
    engine: AlarmEngine = field(init=False)
    callout: CallOut = field(init=False)
    messages: list[Message] = field(default_factory=list)
    events: list[AlarmEvent] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    second: float = 0

    def __post_init__(self) -> None:
        self.engine = AlarmEngine(self.site)
        self.callout = CallOut(self.site, self.engine)

    def now(self, minute: float) -> Instant:
        """That minute of the night."""
        self.second = minute * MINUTE
        return at(self.second)

    def says(self, minute: float, **causes: object) -> list[str]:
        """What the core says of the causes; who is told of what."""
        return self._took(say(self.engine, minute * MINUTE, **causes), self.now(minute))

    def ack(self, minute: float, who: str = "ann", alarm: str = "ph") -> list[str]:
        """Somebody acknowledges."""
        return self._took(self.engine.acknowledge(alarm, None, who, self.now(minute)), self.now(minute))

    def does(self, minute: float, step: EngineStep) -> list[str]:
        """Another action of a person."""
        return self._took(step, self.now(minute))

    def passes(self, until: float, step: float = 1) -> list[str]:
        """Minutes go by, one tick each; who is called when, and why."""
        told: list[str] = []
        minute = self.second / MINUTE
        while minute < until:
            minute = min(until, minute + step)
            told += self._took(self.engine.tick(self.now(minute)), self.now(minute))
        return told

    def restarted(self, minute: float, *, placed: bool = True) -> "Night":
        """The same night in a new process that came back at that minute, with nothing but what was on disk."""
        again = Night(self.site)
        stored: Mapping[str, Any] = {key: value for key, value in self.state.items() if value is not None}
        now = again.now(minute)
        resume = Resume(now, 0 if placed else None)
        again.state = dict(self.state)
        step = again.engine.restore(stored, resume)
        again.callout.restore(stored, resume)
        again._took(step, now)
        return again

    def _took(self, step: EngineStep, now: Instant) -> list[str]:
        self.events += step.events
        self.callout.hear(step.events)
        messages = (*step.messages, *self.callout.tick(now))
        self.messages += messages
        self.state |= self.engine.changes()
        self.state |= self.callout.changes()
        return [f"{now.mono_us / S / MINUTE:g} {m.recipient} {m.kind}" for m in messages]
