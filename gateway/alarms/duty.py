"""Who is told of an edge, and in which words: from an alarm's edge to the messages it obliges us to send."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import tzinfo

from gateway.alarms.memory import AlarmMemory
from gateway.alarms.record import COVERED, display_state
from gateway.alarms.wording import ENDED, LANGUAGES, SensorHealth, Subject, raised_text, returned_text
from gateway.model import AlarmEdge, AlarmEvent, Instant, Message, MessageKind, Severity
from gateway.site import Contact, Rule, Site

__all__ = ["call", "code_of", "recipients", "tell"]

_KINDS = {
    AlarmEdge.RAISED: MessageKind.RAISED,
    AlarmEdge.SEVERITY_UP: MessageKind.SEVERITY_UP,
    AlarmEdge.REALARMED: MessageKind.REALARM,
    AlarmEdge.CLEARED: MessageKind.RETURNED,
}


def recipients(site: Site, severity: Severity) -> tuple[Contact, ...]:
    """Whom an alarm of this severity reaches at once: by their own threshold, and not those who are called later."""
    duty = site.duty
    later: set[str] = set()
    if duty.steps and severity >= duty.from_severity:
        later = {name for step in duty.steps[1:] for name in step.tell} - set(duty.steps[0].tell)
    return tuple(c for c in site.contacts if c.from_severity <= severity and c.id not in later)


def code_of(memory: AlarmMemory) -> str:
    """What a person sends back to acknowledge: the alarm's number at this site and the occurrence."""
    return f"{memory.number}-{memory.record.occurrence}"


def tell(
    site: Site, zone: tzinfo, rule: Rule | None, memory: AlarmMemory, event: AlarmEvent, sensor: SensorHealth
) -> tuple[AlarmMemory, AlarmEvent, tuple[Message, ...]]:
    """The memory with who has been told, the event with whether anyone was to be, and one message to each of them.

    An annunciating edge goes to every contact its severity reaches; a return to normal only to those who were told of
    this occurrence, and to nobody while the alarm is covered.
    """
    returned = event.edge is AlarmEdge.CLEARED and event.to_state not in COVERED
    if returned:
        told = [contact for contact in site.contacts if contact.id in memory.told]
        event = replace(event, annunciate=bool(told))
    elif event.annunciate:
        told = list(recipients(site, event.severity))
        names = tuple(contact.id for contact in told if contact.id not in memory.told)
        memory, known = replace(memory, annunciations=memory.annunciations + 1, told=memory.told + names), memory.told
    else:
        return memory, event, ()
    text = _writer(site, zone, rule, memory, event, sensor)
    messages = []
    for contact in told:
        again = not returned and contact.id in known
        kind = _KINDS.get(event.edge, MessageKind.REALARM if again else MessageKind.RAISED)
        key = f"{event.alarm}:{event.occurrence}:{kind}:{memory.annunciations}:{contact.id}"
        messages.append(
            Message(
                contact.id, text(contact.language), key, event.at, kind, event.severity, event.alarm, event.occurrence
            )
        )
    return memory, event, tuple(messages)


def call(
    subject: Subject,
    memory: AlarmMemory,
    people: Iterable[Contact],
    sensor: SensorHealth,
    *,
    kind: MessageKind,
    number: int,
    now: Instant,
) -> tuple[AlarmMemory, tuple[Message, ...]]:
    """The memory with these people among the told, and the `number`-th call of an occurrence to each of them."""
    record, state = memory.record, display_state(memory.record)
    cleared_at = record.cleared_at if state in ENDED else None
    event = AlarmEvent(
        subject.alarm, record.occurrence, AlarmEdge.REALARMED, now, record.severity, state, state, memory.reason,
        finding=(cleared_at and memory.ending) or memory.finding,
    )  # fmt: skip
    people = tuple(people)
    code, began = code_of(memory), record.began_at or now
    messages = []
    for contact in people:
        spoken = replace(subject, phrases=LANGUAGES[contact.language])
        if cleared_at is not None:
            gone = replace(event, at=cleared_at, edge=AlarmEdge.CLEARED, reason=memory.end_reason)
            text = returned_text(spoken, gone, code=code, began=began, reminder=number)
        else:
            text = raised_text(spoken, event, code=code, began=began, sensor=sensor, reminder=number)
        key = f"{event.alarm}:{event.occurrence}:{kind}:{memory.annunciations}.{number}:{contact.id}"
        messages.append(Message(contact.id, text, key, now, kind, record.severity, event.alarm, event.occurrence))
    told = memory.told + tuple(contact.id for contact in people if contact.id not in memory.told)
    return replace(memory, told=told), tuple(messages)


def _writer(
    site: Site, zone: tzinfo, rule: Rule | None, memory: AlarmMemory, event: AlarmEvent, sensor: SensorHealth
) -> Callable[[str], str]:
    """The text of an event in a contact's language."""
    code, began = code_of(memory), memory.record.began_at or event.at

    def write(language: str) -> str:
        subject = Subject(site, event.alarm, rule, zone, LANGUAGES[language])
        if event.edge is AlarmEdge.CLEARED:
            return returned_text(subject, event, code=code, began=began)
        reminder = memory.record.realarms if event.edge is AlarmEdge.REALARMED else 0
        return raised_text(subject, event, code=code, began=began, sensor=sensor, reminder=reminder)

    return write
