"""Who is told of an edge, and in which words: from an alarm's edge to the messages it obliges us to send."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import tzinfo

from gateway.alarms.memory import AlarmMemory
from gateway.alarms.record import COVERED
from gateway.alarms.wording import LANGUAGES, SensorHealth, Subject, raised_text, returned_text
from gateway.model import AlarmEdge, AlarmEvent, Message, MessageKind, Severity
from gateway.site import Contact, Rule, Site

__all__ = ["recipients", "tell", "code_of"]

_KINDS = {
    AlarmEdge.RAISED: MessageKind.RAISED,
    AlarmEdge.SEVERITY_UP: MessageKind.SEVERITY_UP,
    AlarmEdge.REALARMED: MessageKind.REALARM,
    AlarmEdge.CLEARED: MessageKind.RETURNED,
}


def recipients(contacts: Iterable[Contact], severity: Severity) -> tuple[Contact, ...]:
    """The contacts whom an alarm of this severity reaches."""
    return tuple(contact for contact in contacts if contact.from_severity <= severity)


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
        told = list(recipients(site.contacts, event.severity))
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
