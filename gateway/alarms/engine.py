"""The alarm engine of one site: conditions and people's actions in, journal lines and messages out.

It keeps one record per alarm, decides suppression, and knows who was told. No timers: a tick discovers what is due.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from zoneinfo import ZoneInfo

from gateway.alarms.duty import call, tell
from gateway.alarms.machine import deadlines, observe, step
from gateway.alarms.memory import AlarmMemory, from_json, resumed, to_json
from gateway.alarms.moves import Event, Stimulus
from gateway.alarms.record import AlarmRecord, Cause, Input, display_state, moment
from gateway.alarms.view import AlarmView, view_of
from gateway.alarms.wording import LANGUAGES, SensorHealth, Subject, clock_text
from gateway.model import (
    AlarmEdge,
    AlarmEvent,
    Condition,
    FindingEvent,
    Instant,
    Message,
    MessageKind,
    Resume,
    Severity,
)
from gateway.site import AlarmPolicy, Contact, Site

__all__ = ["AlarmEngine", "AlarmView", "EngineStep"]

_KEY = "alarm:"
_NEWS_US = 3600 * 1_000_000  # a run that begins this long after the last one is another story
_BY_CAUSE = frozenset({AlarmEdge.RAISED, AlarmEdge.SEVERITY_UP, AlarmEdge.REALARMED})


@dataclass(frozen=True, slots=True)
class EngineStep:
    """What one call did. `refused` says why a person's action was not done, `reply` what to answer when it was."""

    events: tuple[AlarmEvent, ...] = ()
    messages: tuple[Message, ...] = ()
    refused: str = ""
    reply: str = ""


@dataclass(slots=True)
class _Step:
    """What one call gathers."""

    events: list[AlarmEvent] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)

    def done(self, refused: str = "", reply: str = "") -> EngineStep:
        return EngineStep(tuple(self.events), tuple(self.messages), refused, reply)


class AlarmEngine:
    """Call with moments that never go back on the monotonic axis; one thread. Reads the site's time zone once.

    Raises ValueError for a site whose suppressions name an unknown alarm or go round in a circle, or whose contact
    reads a language there is no table for.
    """

    def __init__(self, site: Site) -> None:
        self._site = site
        self._zone = ZoneInfo(site.time_zone)
        self._rules = {rule.alarm: rule for rule in site.rules}
        self._order = _suppressors_first(site.alarms)
        self._rank = {alarm: rank for rank, alarm in enumerate(self._order)}
        self._memories = {a: AlarmMemory(AlarmRecord(site.alarms[a].severity)) for a in self._order}
        self._gone: dict[str, AlarmMemory] = {}  # stored alarms this site no longer has: kept, not evaluated
        self._suppressible = tuple(a for a in self._order if self._may_be_suppressed(a))
        self._due_us: dict[str, int] = {}
        self._changed: set[str] = set()
        self._last_number = 0
        for contact in site.contacts:
            if contact.language not in LANGUAGES:
                raise ValueError(
                    f"contact {contact.id}: no texts in {contact.language!r} (there are {', '.join(LANGUAGES)})"
                )

    def update(self, conditions: Iterable[Condition], now: Instant) -> EngineStep:
        """Take what the core says of the causes now. Raises LookupError, with nothing done, for an unknown alarm."""
        given = sorted(conditions, key=lambda condition: self._rank[self._known(condition.alarm)])
        done = _Step()
        self._advance(now, done)
        for condition in given:
            if self._site.alarms[condition.alarm].enabled:
                self._suppress(condition.alarm, now, done)
                self._observe(condition, now, done)
        self._settle_suppression(now, done)
        return done.done()

    def tick(self, now: Instant) -> EngineStep:
        """Discover what elapsed time alone has changed; each edge is stamped at its deadline."""
        done = _Step()
        self._advance(now, done)
        return done.done()

    def next_deadline_us(self) -> int | None:
        """The monotonic stamp before which a tick finds nothing; None when nothing is pending."""
        return min(self._due_us.values(), default=None)

    def acknowledge(self, alarm: str, occurrence: int | None, actor: str, now: Instant) -> EngineStep:
        """Somebody knows. Bound to the occurrence (None: the present one); once acknowledged, again is a success."""
        self._known(alarm)
        done = _Step()
        self._advance(now, done)
        record = self._memories[alarm].record
        if record.occurrence and record.acked and occurrence in (None, record.occurrence) and actor.strip():
            return done.done(reply=self._already(alarm, record, now))
        return self._act(alarm, Stimulus(Event.ACKNOWLEDGE, actor=actor, occurrence=occurrence), now, done)

    def shelve(self, alarm: str, until_us: int | None, actor: str, reason: str, now: Instant) -> EngineStep:
        """Put an alarm aside until a monotonic stamp, or with None for the present or next active period."""
        return self._act(alarm, Stimulus(Event.SHELVE, actor=actor, reason=reason, until_us=until_us), now)

    def unshelve(self, alarm: str, actor: str, now: Instant) -> EngineStep:
        """Take an alarm off the shelf; if it waits for an acknowledgement, people are told now."""
        return self._act(alarm, Stimulus(Event.UNSHELVE, actor=actor), now)

    def out_of_service(self, alarm: str, actor: str, reason: str, now: Instant) -> EngineStep:
        """Take an alarm out of service, until somebody returns it."""
        return self._act(alarm, Stimulus(Event.OUT_OF_SERVICE, actor=actor, reason=reason), now)

    def return_to_service(self, alarm: str, actor: str, now: Instant) -> EngineStep:
        """Return an alarm to service; if it waits for an acknowledgement, people are told now."""
        return self._act(alarm, Stimulus(Event.RETURN_TO_SERVICE, actor=actor), now)

    def reset(self, alarm: str, actor: str, now: Instant) -> EngineStep:
        """Let go of a latched alarm; refused unless its cause is known to have gone."""
        return self._act(alarm, Stimulus(Event.RESET, actor=actor), now)

    def call(self, alarm: str, people: Sequence[Contact], kind: MessageKind, number: int, now: Instant) -> EngineStep:
        """Tell people of the present occurrence again; from now on they hear of its end. Nothing else changes."""
        memory = self._memories[self._known(alarm)]
        subject = Subject(self._site, alarm, self._rules.get(alarm), self._zone, LANGUAGES["en"])
        memory, messages = call(subject, memory, people, self._sensor(alarm), kind=kind, number=number, now=now)
        self._keep(alarm, memory)
        return EngineStep(messages=messages)

    def find(self, code: str) -> tuple[str, int]:
        """The alarm and occurrence an acknowledgement code stands for. Raises LookupError for one never given."""
        number, _, occurrence = code.strip().partition("-")
        for alarm, memory in self._memories.items():
            if memory.number and number == str(memory.number) and occurrence.isdecimal():
                return alarm, int(occurrence)
        raise LookupError(f"no alarm was ever sent with the code {code!r}")

    def view(self) -> tuple[AlarmView, ...]:
        """Every alarm of the site, in the order of the site file."""
        return tuple(view_of(a, self._memories[a], self._site.alarms[a]) for a in self._site.alarms)

    def changes(self) -> dict[str, Any]:
        """The durable state, JSON-able, of every alarm that changed since the last call, under `alarm:<id>`."""
        changed, self._changed = sorted(self._changed), set()
        return {_KEY + alarm: to_json(self._memories.get(alarm) or self._gone[alarm]) for alarm in changed}

    def restore(self, state: Mapping[str, Any], resume: Resume) -> EngineStep:
        """Bring alarms back after a restart; call once, before the first update. Nobody is told again what they know.

        The first word about each cause decides what happened meanwhile. A shelf that ended while the gateway was down,
        or whose end nobody can place, is over. Raises ValueError for a state that cannot be read.
        """
        done = _Step()
        read = {key.removeprefix(_KEY): from_json(key, value) for key, value in state.items() if key.startswith(_KEY)}
        for alarm, memory in read.items():
            policy = self._site.alarms.get(alarm)
            self._last_number = max(self._last_number, memory.number)
            self._changed.add(alarm)  # its stamps are on a new axis now
            if policy is None:
                self._gone[alarm] = resumed(memory, resume, AlarmPolicy(alarm, memory.record.severity))
            else:
                self._memories[alarm] = resumed(memory, resume, policy)
                self._plan(alarm)
        self._suppressible = tuple(a for a in self._order if self._may_be_suppressed(a))
        for alarm in self._order:
            self._end_lost_shelf(alarm, resume.now, done)
        self._advance(resume.now, done)
        self._settle_suppression(resume.now, done)
        done.events = [e if e.at.mono_us == resume.now.mono_us else replace(e, inferred=True) for e in done.events]
        return done.done()

    def _known(self, alarm: str) -> str:
        if alarm not in self._memories:
            raise LookupError(f"no alarm {alarm!r} at {self._site.id}; known are {', '.join(self._site.alarms)}")
        return alarm

    def _act(self, alarm: str, stimulus: Stimulus, now: Instant, done: _Step | None = None) -> EngineStep:
        """A person's action: done, or refused with one journal line saying why."""
        policy = self._site.alarms[self._known(alarm)]
        done = done or _Step()
        self._advance(now, done)
        if policy.enabled:
            self._step(alarm, stimulus, now, done)
            self._settle_suppression(now, done)
        else:
            record = self._memories[alarm].record
            state = display_state(record)
            done.events.append(
                AlarmEvent(
                    alarm, record.occurrence, AlarmEdge.REFUSED, now, record.severity, state, state,
                    "disabled by configuration", stimulus.actor,
                )
            )  # fmt: skip
        return done.done(next((e.reason for e in done.events if e.edge is AlarmEdge.REFUSED), ""))

    def _already(self, alarm: str, record: AlarmRecord, now: Instant) -> str:
        if not record.acked_by or record.acked_at is None:
            return f"occurrence {record.occurrence} is over and asks for no acknowledgement"
        subject = Subject(self._site, alarm, self._rules.get(alarm), self._zone, LANGUAGES["en"])
        return f"already by {record.acked_by} at {clock_text(record.acked_at, subject, now)}"

    def _observe(self, condition: Condition, now: Instant, done: _Step) -> None:
        memory = self._memories[condition.alarm]
        event = observe(condition, self._site.alarms[condition.alarm])
        proven = _is_news(memory, condition)
        self._keep(condition.alarm, _remembering(memory, condition, event))
        self._step(condition.alarm, Stimulus(event, condition.severity, proven=proven), now, done)

    def _step(self, alarm: str, stimulus: Stimulus, now: Instant, done: _Step) -> None:
        """One event to one alarm; the journal lines and messages of every edge on the way."""
        memory = self._memories[alarm]
        record, edges = step(memory.record, stimulus, now, self._site.alarms[alarm])
        if record is not memory.record:
            memory = replace(memory, record=record)
        for edge in edges:
            memory = self._journal(memory, edge, done)
        self._keep(alarm, memory)

    def _journal(self, memory: AlarmMemory, edge: AlarmEvent, done: _Step) -> AlarmMemory:
        if edge.edge is AlarmEdge.RAISED:
            if not memory.number:
                self._last_number += 1
            memory = replace(memory, number=memory.number or self._last_number, told=(), annunciations=0)
        event = edge
        if edge.edge is AlarmEdge.CLEARED:
            event = replace(edge, finding=memory.ending or memory.finding, reason=memory.end_reason)
        elif edge.annunciate or edge.edge in _BY_CAUSE:
            event = replace(edge, finding=memory.finding, reason=edge.reason or memory.reason)
        rule = self._rules.get(event.alarm)
        memory, event, messages = tell(self._site, self._zone, rule, memory, event, self._sensor(event.alarm))
        done.events.append(event)
        done.messages.extend(messages)
        return memory

    def _sensor(self, alarm: str) -> SensorHealth:
        """What the sensor's own alarm says of the channel behind an alarm; unknown while the cause is out of sight."""
        rule = self._rules.get(alarm)
        sensor = None if rule is None else self._memories.get(f"sensor-{rule.channel}")
        if sensor is None:
            return SensorHealth.UNKNOWN
        if sensor.record.cause is not Cause.NORMAL and sensor.record.cause_severity > Severity.NOTICE:
            return SensorHealth.FAULT
        return SensorHealth.UNKNOWN if self._memories[alarm].record.input is Input.BAD else SensorHealth.OK

    def _advance(self, now: Instant, done: _Step) -> None:
        """Everything due up to now, across all alarms, in the order of its deadlines."""
        while (due_us := self.next_deadline_us()) is not None and due_us <= now.mono_us:
            at = moment(now, due_us)
            for alarm in sorted((a for a, d in self._due_us.items() if d == due_us), key=self._rank.__getitem__):
                self._suppress(alarm, at, done)
                self._step(alarm, Stimulus(Event.TICK), at, done)
            self._settle_suppression(at, done)

    def _suppress(self, alarm: str, now: Instant, done: _Step) -> None:
        """Suppress an alarm before it can speak, if one that says more is active."""
        policy = self._site.alarms[alarm]
        if not policy.suppressed_by or not policy.enabled or self._memories[alarm].record.suppressed_by:
            return
        if suppressor := next((s for s in policy.suppressed_by if self._speaks(s)), ""):
            reason = f"{suppressor} is active"
            self._step(alarm, Stimulus(Event.SUPPRESS, actor=suppressor, reason=reason), now, done)

    def _speaks(self, alarm: str) -> bool:
        """Whether an alarm is active and not put aside: a shelf must not silence others, nor must a pre-alarm."""
        record = self._memories[alarm].record
        put_aside = record.shelf is not None or bool(record.out_of_service_by)
        loud = record.severity > Severity.NOTICE
        return self._site.alarms[alarm].enabled and record.active and loud and not put_aside

    def _may_be_suppressed(self, alarm: str) -> bool:
        """Also one that is so by an earlier configuration, and must come out."""
        policy = self._site.alarms[alarm]
        return policy.enabled and bool(policy.suppressed_by or self._memories[alarm].record.suppressed_by)

    def _settle_suppression(self, now: Instant, done: _Step) -> None:
        for alarm in self._suppressible:
            self._suppress(alarm, now, done)
            suppressor = self._memories[alarm].record.suppressed_by
            if suppressor and not any(self._speaks(s) for s in self._site.alarms[alarm].suppressed_by):
                reason = f"{suppressor} no longer speaks for it"
                self._step(alarm, Stimulus(Event.UNSUPPRESS, actor=suppressor, reason=reason), now, done)

    def _end_lost_shelf(self, alarm: str, now: Instant, done: _Step) -> None:
        """End a shelf that this configuration does not permit, or whose end nobody can place: silence must be sure."""
        shelf, policy = self._memories[alarm].record.shelf, self._site.alarms[alarm]
        if shelf is None or not policy.enabled:
            return
        lost = shelf.until.mono_us > now.mono_us + policy.max_shelve_us
        if lost or not policy.shelvable:
            reason = "nobody can tell when it ends" if lost else "this alarm may not be shelved any more"
            self._step(alarm, Stimulus(Event.SHELF_OVER, reason=reason), now, done)

    def _keep(self, alarm: str, memory: AlarmMemory) -> None:
        if memory is self._memories[alarm] or memory == self._memories[alarm]:
            return
        self._memories[alarm] = memory
        self._changed.add(alarm)
        self._plan(alarm)

    def _plan(self, alarm: str) -> None:
        due = deadlines(self._memories[alarm].record) if self._site.alarms[alarm].enabled else ()
        if due:
            self._due_us[alarm] = min(d[0] for d in due)
        else:
            self._due_us.pop(alarm, None)


def _remembering(memory: AlarmMemory, condition: Condition, event: Event) -> AlarmMemory:
    """The memory with what a condition says of the cause that is there, or of its going."""
    if event is Event.TRUE:
        fresh = memory.record.cause is Cause.NORMAL
        finding = condition.finding if fresh else condition.finding or memory.finding
        return replace(memory, reason=condition.reason, finding=finding, ending=None, end_reason="")
    if event in (Event.FALSE, Event.WITHIN_DEADBAND) and memory.record.active:
        ends = condition.finding is not None and condition.finding.event is FindingEvent.CLEARED
        return replace(memory, end_reason=condition.reason, ending=condition.finding if ends else memory.ending)
    return memory


def _is_news(memory: AlarmMemory, condition: Condition) -> bool:
    """Whether a condition is a proven exceedance that nobody has been told of, though the alarm stands already.

    So it is where the suspicion was as loud as the proof (above WARNING the severity alone tells them apart), and for a
    new run of an alarm that could not clear because nobody could tell: one that began after the acknowledgement, or
    long after the last one ended. A discharger in batches would else be told of once and never again.
    """
    before, after = memory.finding, condition.finding
    if before is None or after is None or after.event is not FindingEvent.RAISED:
        return False
    if condition.severity <= Severity.WARNING and before.event in (FindingEvent.PREALARM, FindingEvent.SUSPECTED):
        return True
    acked_at, since_us = memory.record.acked_at, after.since.mono_us
    return since_us - before.at.mono_us >= _NEWS_US or (acked_at is not None and since_us > acked_at.mono_us)


def _suppressors_first(alarms: Mapping[str, AlarmPolicy]) -> Sequence[str]:
    """The alarms ordered so that one comes after all that suppress it."""
    order: dict[str, None] = {}

    def visit(alarm: str, path: tuple[str, ...]) -> None:
        if alarm in path:
            raise ValueError(f"alarms suppress each other in a circle: {' <- '.join((*path, alarm))}")
        if alarm not in alarms:
            raise ValueError(f"alarm {path[-1]} is suppressed by {alarm!r}, which this site does not have")
        if alarm not in order:
            for suppressor in alarms[alarm].suppressed_by:
                visit(suppressor, (*path, alarm))
            order[alarm] = None

    for alarm in alarms:
        visit(alarm, ())
    return tuple(order)
