"""Texts that come in: fetched from every way to a person, acted on once, answered, and only then taken off the path."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from gateway.alarms.conversation import Asked, Conversation
from gateway.alarms.notifier import Inbound, Notifier
from gateway.alarms.reply import Verb, answer_text
from gateway.alarms.status_text import status_text
from gateway.alarms.wording import LANGUAGES
from gateway.clock import Clock
from gateway.errors import DeliveryError
from gateway.model import Instant, Message, MessageKind, Note, Outcome, Reading, Severity
from gateway.secret import secret
from gateway.site import Contact, Site

__all__ = ["Inbox"]

_log = logging.getLogger(__name__)

_EVERY_US = 10_000_000
_PATIENCE_S = 30.0

Carry = Callable[[str, str, Mapping[str, Any], str], Awaitable[dict[str, Any]]]
"""Carries out a command: its name, who asks, its arguments, the key that makes a repeat recognisable."""


class Station(Protocol):
    """What the inbox needs of the gateway."""

    site: Site
    clock: Clock
    latest: dict[str, Reading]

    async def record(self, outcome: Outcome) -> None:
        """Commit an outcome; returns once it is on disk."""
        ...


class Inbox:
    """Runs until cancelled. A path that fails is asked again at the next round; its failure is told once, and no path
    waits for another."""

    def __init__(
        self, station: Station, conversation: Conversation, notifiers: Mapping[str, Notifier], carry: Carry
    ) -> None:
        self._station = station
        self._conversation = conversation
        self._notifiers = notifiers
        self._carry = carry
        self._failing: set[str] = set()
        self._looking = asyncio.Lock()  # one text at a time: two looks at once would both take it for new

    async def run(self) -> None:
        """Look at every path, again and again."""
        async with asyncio.TaskGroup() as group:
            for name, notifier in self._notifiers.items():
                group.create_task(self._watch(name, notifier), name=f"replies {name}")
            await asyncio.Event().wait()

    async def _watch(self, name: str, notifier: Notifier) -> None:
        while True:
            try:
                await self.look(name, notifier)
            except Exception:  # noqa: BLE001  # the task boundary of one path: the others' replies are read on
                level = logging.DEBUG if name in self._failing else logging.ERROR
                self._failing.add(name)
                _log.log(level, "replies by %s failed unexpectedly", name, exc_info=True)
            await self._station.clock.sleep(_EVERY_US)

    async def look(self, name: str, notifier: Notifier) -> None:
        """Fetch what one path has and act on it, oldest first."""
        try:
            async with asyncio.timeout(_PATIENCE_S):
                texts = await notifier.inbound()
            for text in texts:
                async with self._looking:
                    if not self._conversation.is_known(text.key):
                        await self._act(name, text)
                async with asyncio.timeout(_PATIENCE_S):
                    await notifier.settle(text.key)
        except (DeliveryError, TimeoutError) as error:
            level = logging.DEBUG if name in self._failing else logging.WARNING
            self._failing.add(name)
            _log.log(level, "replies by %s cannot be fetched: %s", name, str(error) or "no answer")
            return
        if name in self._failing:
            self._failing.discard(name)
            _log.info("replies by %s are fetched again", name)

    async def _act(self, path: str, text: Inbound) -> None:
        """One text: carried out, recorded with who sent it, answered."""
        heard_us = self._station.clock.now().mono_us
        asked = self._conversation.understand(text.sender, text.text, self._pins(), text.at_utc_us, heard_us)
        answer: dict[str, Any] = {"ok": not asked.refused, "error": asked.refused}
        if asked.contact is not None and asked.command:
            answer = await self._carry(asked.command, asked.contact.name, asked.args or {}, text.key)
        now = self._station.clock.now()
        messages: tuple[Message, ...] = ()
        if asked.contact is not None and self._conversation.may_answer(asked.contact, now):
            messages = (self._answer(asked, asked.contact, answer, text.key, now),)
        body = {
            "path": path,
            "from": asked.contact.id if asked.contact else f"...{text.sender[-4:]}",
            "asked": asked.reply.verb.value,
            "code": asked.reply.code,
            "done": bool(asked.command and answer.get("ok")),
            "why": str(answer.get("error", "")) if asked.contact else "not a number of this site",
            "sent_utc_us": text.at_utc_us,
            "id": text.key,
        }
        note = Note("text_received", now, body)
        state = self._conversation.done(text.key, now)
        await self._station.record(Outcome(messages=messages, notes=(note,), state=state, urgent=True))

    def _answer(self, asked: Asked, contact: Contact, answer: dict[str, Any], key: str, now: Instant) -> Message:
        site, words = self._station.site, LANGUAGES[contact.language]
        if asked.refused == "pin":
            answer = {"text": words.pin_wanted}
        elif asked.refused == "which":
            answer = {"text": words.which.format(codes=", ".join(self._conversation.waiting()))}
        elif asked.refused == "nothing":
            answer = {"text": words.nothing_told}
        elif asked.reply.verb is Verb.STATUS:
            codes = self._conversation.waiting()
            answer = {"text": status_text(site, self._station.latest, codes, now, words)}
        elif asked.reply.verb in {Verb.HELP, Verb.UNCLEAR}:
            answer = {"text": words.help}
        told = answer_text(site.id.upper(), asked.reply, answer, words)
        return Message(contact.id, told, f"reply:{key}:{contact.id}", now, MessageKind.NOTICE, Severity.NOTICE, "", 0)

    def _pins(self) -> dict[str, str]:
        """The PIN of every contact that has one; one that cannot be read lets nobody through."""
        pins = {}
        for contact in self._station.site.contacts:
            if contact.pin:
                try:
                    pins[contact.id] = secret(contact.pin)
                except (OSError, ValueError) as error:
                    _log.warning("the PIN of %s cannot be read: %s", contact.id, error)
                    pins[contact.id] = "\0"
        return pins
