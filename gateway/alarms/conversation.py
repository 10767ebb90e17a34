"""Who may ask for what by text, and what the station remembers of it. Pure: the shell fetches texts and sends answers.

A text is acted on once, however often a path shows it; strangers are never answered; nobody is answered more often than
`MOST_ANSWERS` times an hour, though what they ask for is still done.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.alarms.engine import AlarmEngine
from gateway.alarms.reply import Reply, Verb, parse
from gateway.model import AlarmState, Instant, Message, MessageKind, Severity
from gateway.site import Contact, Site

__all__ = ["MOST_ANSWERS", "MOST_MISSES", "Asked", "Conversation"]

MOST_ANSWERS = 12
MOST_MISSES = 5
"""Wrong PINs of one person within an hour, after which no PIN is right: 10,000 would take 80 days."""
_HOUR_US = 3_600_000_000
_KEPT_US = 14 * 24 * _HOUR_US  # a provider's list and a modem's memory show nothing that is older
_MOST_SEEN = 500
_STAMP_US = 1_000_000  # a path stamps in whole seconds
_NATIONAL = 10  # digits of a number without its country
_NUMBER = frozenset("+0123456789 ()-./")
_KEY = "texts:"
_Told = tuple[str, int, int | None]  # alarm, occurrence, and when in UTC where the clock was trusted
_WAITS = frozenset({
    AlarmState.UNACKNOWLEDGED, AlarmState.RETURNED_UNACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED,
})  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asked:
    """What one inbound text comes to. Without a `contact` it is a stranger's; `refused` says why nothing is done.

    `command` and `args` are what to carry out; with neither the verb alone says what to answer. `refused` is `pin`,
    `which`, `nothing`, or a reason in plain words.
    """

    contact: Contact | None
    reply: Reply
    command: str = ""
    args: Mapping[str, Any] | None = None
    refused: str = ""


class Conversation:
    """The texts people send to one site."""

    def __init__(self, site: Site, engine: AlarmEngine) -> None:
        self._site = site
        self._engine = engine
        self._by_number = {_digits(contact.phone): contact for contact in site.contacts if contact.phone}
        self._by_ending = {number[-_NATIONAL:]: contact for number, contact in self._by_number.items()}
        self._seen: dict[str, int] = {}  # key of a text: when it was acted on, utc_us
        self._told: dict[str, _Told] = {}  # by contact: what they were last told of
        self._misses: dict[str, list[int]] = {}  # contact: when a wrong PIN came, mono_us
        self._answers: dict[str, list[int]] = {}  # contact: when they were answered, mono_us

    def told(self, messages: Iterable[Message]) -> dict[str, Any]:
        """Remember what each person was last told of; the durable keys that changed."""
        changed = {}
        for message in messages:
            if message.kind is not MessageKind.RETURNED and message.occurrence:
                before = self._told.get(message.recipient)
                if before is not None and before[:2] == (message.alarm, message.occurrence):
                    continue  # told again: an answer to the first text is one to this
                utc_us = message.at.utc_us if message.at.synced else None
                self._told[message.recipient] = (message.alarm, message.occurrence, utc_us)
                changed[f"{_KEY}told:{message.recipient}"] = [message.alarm, message.occurrence, utc_us]
        return changed

    def is_known(self, key: str) -> bool:
        """Whether this text was acted on before."""
        return key in self._seen

    def done(self, key: str, now: Instant) -> dict[str, Any]:
        """A text was acted on; the durable keys that changed."""
        self._seen[key] = now.utc_us
        old = [k for k, at_us in self._seen.items() if now.utc_us - at_us > _KEPT_US]
        surplus = sorted(self._seen, key=self._seen.__getitem__)[: max(0, len(self._seen) - _MOST_SEEN)]
        for gone in {*old, *surplus}:
            self._seen.pop(gone, None)
        return {f"{_KEY}seen": dict(self._seen)}

    def may_answer(self, contact: Contact, now: Instant) -> bool:
        """Whether this person gets an answer now; counted when they do."""
        times = [at_us for at_us in self._answers.get(contact.id, []) if now.mono_us - at_us < _HOUR_US]
        answered = len(times) < MOST_ANSWERS
        self._answers[contact.id] = [*times, now.mono_us] if answered else times
        return answered

    def understand(
        self, sender: str, text: str, pin: Mapping[str, str], sent_utc_us: int | None = None, now_us: int = 0
    ) -> Asked:
        """What a text comes to. `pin` holds the PIN of every contact that has one, by contact id; `sent_utc_us` is when
        its path says that it was sent."""
        contact = self._who(sender)
        reply = parse(text)
        if contact is None:
            return Asked(None, reply)
        if reply.verb in {Verb.STATUS, Verb.HELP, Verb.UNCLEAR}:
            return Asked(contact, reply)
        wanted = pin.get(contact.id, "")
        if wanted and (why := self._without_pin(contact, reply, wanted, now_us)):
            return Asked(contact, reply, refused=why)
        number = "" if wanted and reply.number == wanted else reply.number
        try:
            alarm, occurrence = self._meant(contact, reply.code, number, sent_utc_us)
        except LookupError as error:
            return Asked(contact, reply, refused=str(error.args[0]))
        args: dict[str, Any] = {"alarm": alarm, "occurrence": occurrence}
        if reply.verb is Verb.SHELVE:
            loud = next((v.severity for v in self._engine.view() if v.id == alarm), Severity.CRITICAL)
            if loud >= Severity.HIGH:  # a number can be forged: what calls people out is not silenced by a text
                return Asked(contact, reply, refused="an alarm this severe is not shelved by text")
            return Asked(contact, reply, "shelve", {**args, "for": reply.duration, "reason": "by text"})
        return Asked(contact, reply, "ack", args)

    def _without_pin(self, contact: Contact, reply: Reply, wanted: str, now_us: int) -> str:
        """Why nothing is done, empty when the PIN is right: a forged number must not try them all."""
        misses = [at_us for at_us in self._misses.get(contact.id, []) if now_us - at_us < _HOUR_US]
        if len(misses) >= MOST_MISSES:
            self._misses[contact.id] = misses
            return f"{MOST_MISSES} wrong PINs within an hour: use another way, or wait"
        if wanted in {reply.pin, reply.number}:
            self._misses.pop(contact.id, None)
            return ""
        if reply.pin or reply.number:
            self._misses[contact.id] = [*misses, now_us]
        return "pin"

    def waiting(self) -> tuple[str, ...]:
        """The codes of the alarms that wait for an acknowledgement."""
        return tuple(view.code for view in self._engine.view() if view.state in _WAITS and view.code)

    def restore(self, state: Mapping[str, Any]) -> None:
        """Bring back what was remembered. TypeError or ValueError for what cannot be read."""
        for key, value in state.items():
            if key == f"{_KEY}seen":
                self._seen = {str(text): int(at_us) for text, at_us in value.items()}
            elif key.startswith(f"{_KEY}told:"):
                alarm, occurrence, utc_us = (*value, None)[:3]
                told = (str(alarm), int(occurrence), None if utc_us is None else int(utc_us))
                self._told[key.removeprefix(f"{_KEY}told:")] = told

    def _who(self, sender: str) -> Contact | None:
        """Whose number this is. A network may leave out the country; another country's number is somebody else's."""
        if not _NUMBER.issuperset(sender):
            return None
        digits = _digits(sender)
        if sender.strip().startswith("+") or len(digits) > _NATIONAL:
            return self._by_number.get(digits)
        return self._by_ending.get(digits)

    def _meant(self, contact: Contact, code: str, number: str, sent_utc_us: int | None) -> tuple[str, int]:
        """The alarm and occurrence a person means. LookupError says `which` or `nothing` or why there is none."""
        if code:
            return self._engine.find(code)
        if number:
            codes = [c for c in self.waiting() if c.partition("-")[2] == number]
            if len(codes) != 1:
                raise LookupError("which" if codes or self.waiting() else "nothing")
            return self._engine.find(codes[0])
        told = self._told.get(contact.id)
        if told is None:
            raise LookupError("which" if self.waiting() else "nothing")
        alarm, occurrence, told_utc_us = told
        if sent_utc_us is not None and told_utc_us is not None and sent_utc_us + _STAMP_US < told_utc_us:
            raise LookupError("which" if self.waiting() else "nothing")  # it was on its way: another one was meant
        return alarm, occurrence


def _digits(number: str) -> str:
    """A number as it is compared: its digits alone."""
    return "".join(c for c in number if c.isdigit())
