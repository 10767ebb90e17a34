"""From the outbox to people: the delivery of texts, one obligation at a time.

Queued, then `sending` on disk, then the call, then the answer on disk: whatever ends the process in between, the text
is known to be owed or known to be doubtful, and a doubtful one goes out again marked as a repeat. To a human a text is
delivered at least once; the occurrence in it makes a repeat recognisable. Nobody waits for somebody else's text.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from gateway.alarms.gsm7 import SEGMENT_SEPTETS, clip
from gateway.alarms.notifier import Fate, Notifier, Receipt
from gateway.backoff import Backoff
from gateway.clock import Clock
from gateway.errors import InDoubt, Refused, StoreError, TryLater
from gateway.model import Instant, Message
from gateway.site import Contact

__all__ = ["NOT_RECORDED", "Outbox", "OwedText", "REPEAT", "TextCounts", "TextDelivery", "marked"]

log = logging.getLogger(__name__)

REPEAT = " (rpt)"
NOT_RECORDED = " (not recorded)"
_T = TypeVar("_T")
_PATIENCE_S = 120.0  # a modem may take a minute; one that takes two has told us nothing


class OwedText(Protocol):
    """A text that is owed: status `queued`, or `unknown` when nobody can say whether it went out."""

    @property
    def message(self) -> Message:
        """What to tell whom."""
        ...

    @property
    def status(self) -> str:
        """Where it stands."""
        ...

    @property
    def attempts(self) -> int:
        """How often it was tried."""
        ...

    @property
    def provider_ref(self) -> str:
        """`<notifier>:<reference>` of the last receipt, empty without one."""
        ...


class Outbox(Protocol):
    """What the delivery needs of the journal. Any call may raise StoreError."""

    async def outbox_due(self) -> Sequence[OwedText]:
        """Every text that is queued or unknown."""
        ...

    async def set_message_status(
        self, dedupe_key: str, status: str, at: Instant, provider_ref: str = "", error: str = ""
    ) -> None:
        """Record a step, durably, before this returns. KeyError when no such text is owed."""
        ...


@dataclass(frozen=True, slots=True)
class TextCounts:
    """Since the start. `accepted` includes what is known to be `delivered`; `repeated` were marked as repeats."""

    attempts: int = 0
    accepted: int = 0
    delivered: int = 0
    failed: int = 0
    repeated: int = 0


@dataclass(frozen=True, slots=True)
class _Unrecorded:
    """A text the journal could not take."""

    message: Message
    status: str = "queued"
    attempts: int = 0
    provider_ref: str = ""


@dataclass(frozen=True, slots=True)
class _Step:
    """A step that is to be on disk."""

    status: str
    provider_ref: str = ""
    error: str = ""


def _retrieved(task: asyncio.Task[Any]) -> None:
    """Take note of how work ended that nobody waits for any more."""
    if not task.cancelled():
        task.exception()


def marked(text: str, marks: str) -> str:
    """A text with marks behind it, in one segment: a second one may be lost alone. What gives way is its middle."""
    return clip(text, SEGMENT_SEPTETS - len(marks)) + marks if marks else text


class TextDelivery:
    """Brings owed texts to people. `run` until cancelled; `wake` after each commit.

    Each attempt tries the contact's notifiers in their order until one takes the text. Refused by all of them it has
    failed; otherwise it is kept and tried again, with a delay that grows to `retry_cap_s`. Delays are real ones.
    """

    def __init__(
        self,
        outbox: Outbox,
        contacts: Iterable[Contact],
        notifiers: Mapping[str, Notifier],
        clock: Clock,
        retry_base_s: float = 5.0,
        retry_cap_s: float = 300.0,
        disk_patience_s: float = 15.0,
    ) -> None:
        self._outbox = outbox
        self._contacts = {contact.id: contact for contact in contacts}
        self._notifiers = dict(notifiers)
        self._clock = clock
        self._retry_base_s, self._retry_cap_s = retry_base_s, retry_cap_s
        self._disk_patience_s = disk_patience_s
        self._backoffs: dict[str, Backoff] = {}
        self._resting: set[str] = set()
        self._busy: set[str] = set()  # recipients
        self._unrecorded: dict[str, _Unrecorded] = {}
        self._untold: dict[str, _Step] = {}  # outcomes the disk does not know yet
        self._retell: set[str] = set()  # those of them the disk should know by now
        self._stir = asyncio.Event()
        self._moved = asyncio.Event()
        self._store_backoff = Backoff(retry_base_s, retry_cap_s)
        self.counts = TextCounts()

    def wake(self) -> None:
        """Look again. Never blocks."""
        self._stir.set()

    def tell_unrecorded(self, messages: Iterable[Message]) -> None:
        """Send texts the journal could not take, marked as not recorded.

        When the journal takes them later after all, they are not sent a second time by this process.
        """
        for message in messages:
            if message.dedupe_key not in self._untold:
                self._unrecorded.setdefault(message.dedupe_key, _Unrecorded(message))
        self.wake()

    async def run(self) -> None:
        """Deliver until cancelled. A text in the middle of its call is doubtful afterwards."""
        async with asyncio.TaskGroup() as group:
            while True:
                self._stir.clear()
                for key in self._retell - self._resting:
                    if (step := self._untold.get(key)) is not None:
                        await self._record(key, step)
                for recipient, texts in (await self._due()).items():
                    self._busy.add(recipient)
                    group.create_task(self._tell(recipient, texts), name=f"texts {recipient}")
                self._moved.set()
                await self._stir.wait()

    async def drained(self) -> None:
        """Wait until no text is owed: everything is accepted or has failed, on disk too."""
        self.wake()
        while self._busy or self._unrecorded or self._retell or await self._outbox.outbox_due():
            self._moved.clear()
            await self._moved.wait()

    async def _due(self) -> dict[str, list[OwedText]]:
        """What can be sent now, by recipient, the most severe first."""
        owed: list[OwedText] = []
        # Whoever is being told while the outbox is read may be listed as it stood before: not this time.
        busy = set(self._busy)
        try:
            owed.extend(await self._on_disk(self._outbox.outbox_due()))
            if failures := self._store_backoff.reset():
                log.info("texts: the outbox can be read again after %d failed attempts", failures)
        except StoreError as error:
            level = logging.DEBUG if self._store_backoff.failures else logging.WARNING
            log.log(level, "texts: the outbox cannot be read: %s", error)
            asyncio.get_running_loop().call_later(self._store_backoff.next_s(), self.wake)
        listed = {text.message.dedupe_key for text in owed}
        owed.extend(text for key, text in self._unrecorded.items() if key not in listed)
        by_recipient: dict[str, list[OwedText]] = {}
        for text in sorted(owed, key=lambda text: -text.message.severity):
            message = text.message
            if message.dedupe_key not in self._resting and message.recipient not in busy:
                by_recipient.setdefault(message.recipient, []).append(text)
        return by_recipient

    async def _tell(self, recipient: str, texts: Sequence[OwedText]) -> None:
        try:
            for text in texts:
                await self._deliver(text)
        finally:
            self._busy.discard(recipient)
            self.wake()

    async def _deliver(self, text: OwedText) -> None:
        message, key = text.message, text.message.dedupe_key
        if key in self._untold:  # sent already; only the disk does not know
            await self._record(key, self._untold[key])
            return
        contact = self._contacts.get(message.recipient)
        if contact is None:
            await self._settle(key, _Step("failed", error="no such contact in the site file"))
            return
        unrecorded = key in self._unrecorded
        fate = await self._fate(contact, text) if text.status == "unknown" else Fate.UNKNOWN
        if fate in {Fate.PENDING, Fate.DELIVERED}:
            await self._settle(key, _Step("delivered" if fate is Fate.DELIVERED else "accepted"))
            return
        if not unrecorded:
            # A disk that cannot be written is no reason to leave a person untold: the text goes out all the same.
            await self._record(key, _Step("sending"))
        repeat = text.status == "unknown" and fate is Fate.UNKNOWN
        self._count(attempts=1, repeated=repeat)
        marks = (REPEAT if repeat else "") + (NOT_RECORDED if unrecorded else "")
        body = marked(message.text, marks)
        try:
            receipt = await self._through(contact, body, key)
        except Refused as error:
            await self._settle(key, _Step("failed", error=str(error)))
        except TryLater as error:
            doubtful = repeat or isinstance(error, InDoubt)
            if not unrecorded:
                await self._record(key, _Step("unknown" if doubtful else "queued", error=str(error)))
            self._rest(text, error)
        else:
            await self._settle(key, _Step("delivered" if receipt.delivered else "accepted", receipt.provider_ref))

    async def _fate(self, contact: Contact, text: OwedText) -> Fate:
        """What the contact's notifiers know of a text that is in doubt: ABSENT only when every one of them is sure."""
        message = text.message
        asked: list[Fate] = []
        for name in contact.notifiers:
            notifier = self._notifiers.get(name)
            if notifier is None:
                continue
            prefix = f"{name}:"
            ref = text.provider_ref.removeprefix(prefix) if text.provider_ref.startswith(prefix) else ""
            for body in (message.text, marked(message.text, REPEAT)):
                fate = Fate.UNKNOWN
                with suppress(TimeoutError):
                    async with asyncio.timeout(_PATIENCE_S):
                        fate = await notifier.fate(contact, body, message.dedupe_key, ref)
                if fate in {Fate.PENDING, Fate.DELIVERED}:
                    return fate
                asked.append(fate)
        sure = {Fate.ABSENT, Fate.FAILED}
        return Fate.ABSENT if asked and sure.issuperset(asked) else Fate.UNKNOWN

    async def _through(self, contact: Contact, body: str, key: str) -> Receipt:
        """The first receipt of the contact's notifiers, in their order."""
        kept: TryLater | None = None
        refusals: list[str] = []
        for name in contact.notifiers:
            notifier = self._notifiers.get(name)
            if notifier is None:
                refusals.append(f"{name}: no such notifier")
                continue
            again = isinstance(kept, InDoubt) and REPEAT not in body
            try:
                async with asyncio.timeout(_PATIENCE_S):
                    receipt = await notifier.send(contact, marked(body, REPEAT) if again else body, key)
                return Receipt(f"{name}:{receipt.provider_ref}", receipt.delivered)
            except Refused as error:
                refusals.append(f"{name}: {error}")
            except InDoubt as error:
                kept = InDoubt(f"{name}: {error}", error.not_before_s)
            except TryLater as error:
                kept = kept or TryLater(f"{name}: {error}", error.not_before_s)
            except TimeoutError:
                kept = InDoubt(f"{name}: no answer within {_PATIENCE_S:g} s")
            except Exception as error:  # a fault in one notifier must not take the other ways to a person with it
                log.exception("texts: notifier %s failed unexpectedly", name)
                kept = InDoubt(f"{name}: {error!r}")
        raise kept or Refused("; ".join(refusals) or "the contact has no notifier")

    async def _settle(self, key: str, step: _Step) -> None:
        """The text needs nothing more but its record."""
        self._untold[key] = step
        self._unrecorded.pop(key, None)
        backoff = self._backoffs.pop(key, None)
        if step.status == "failed":
            self._count(failed=1)
            log.warning("texts: %s failed for good: %s", key, step.error)
        else:
            self._count(accepted=1, delivered=step.status == "delivered")
            if backoff is not None:
                log.info("texts: %s went out after %d failed attempts", key, backoff.failures)
        await self._record(key, step)

    async def _record(self, key: str, step: _Step) -> None:
        try:
            at = self._clock.now()
            await self._on_disk(self._outbox.set_message_status(key, step.status, at, step.provider_ref, step.error))
        except StoreError as error:
            log.warning("texts: %s is %s, not recorded: %s", key, step.status, error)
            if key in self._untold:
                self._retell.add(key)
                self._keep_off(key, self._retry_base_s)
        except KeyError:
            # Not in the journal, or not yet: what was settled stays known here, so that it is not sent twice.
            self._retell.discard(key)
        else:
            self._retell.discard(key)
            self._untold.pop(key, None)

    async def _on_disk(self, work: Coroutine[Any, Any, _T]) -> _T:
        """What the outbox says, or StoreError when it takes too long: a stuck disk must not hold up a person's text.

        The work goes on meanwhile; its steps keep their order, since the outbox takes them in turn.
        """
        task = asyncio.create_task(work)
        task.add_done_callback(_retrieved)
        try:
            await asyncio.wait((task,), timeout=self._disk_patience_s)
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait((task,), timeout=self._disk_patience_s)
            raise
        if not task.done():
            raise StoreError(f"no answer from the disk within {self._disk_patience_s:g} s")
        return task.result()

    def _rest(self, text: OwedText, error: TryLater) -> None:
        key = text.message.dedupe_key
        level = logging.DEBUG if key in self._backoffs else logging.WARNING
        fresh = Backoff(self._retry_base_s, self._retry_cap_s, failures=text.attempts)
        backoff = self._backoffs.setdefault(key, fresh)
        delay_s = backoff.next_s(error.not_before_s)
        log.log(level, "texts: %s kept, trying again in %.1f s: %s", key, delay_s, error)
        self._keep_off(key, delay_s)

    def _count(
        self, attempts: int = 0, accepted: int = 0, delivered: int = 0, failed: int = 0, repeated: int = 0
    ) -> None:
        old = self.counts
        self.counts = TextCounts(
            old.attempts + attempts, old.accepted + accepted, old.delivered + delivered, old.failed + failed,
            old.repeated + repeated,
        )  # fmt: skip

    def _keep_off(self, key: str, delay_s: float) -> None:
        self._resting.add(key)
        asyncio.get_running_loop().call_later(delay_s, self._rested, key)

    def _rested(self, key: str) -> None:
        self._resting.discard(key)
        self.wake()
