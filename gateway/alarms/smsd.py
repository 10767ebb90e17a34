"""Texts through gammu-smsd and its SQLite database: for modems that speak AT commands and nothing else.

The daemon owns the modem; we write into its `outbox` and read `sentitems`, `inbox` and `phones` (schema version 17,
gammu 1.42). A text carries its key as `CreatorID`, so whatever was killed in between, it is known whether it was handed
over and what became of it.
"""

import asyncio
import contextlib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from gateway.alarms.notifier import Fate, Inbound, Notifier, PathHealth, Receipt
from gateway.alarms.path_options import SmsdOptions
from gateway.clock import Clock
from gateway.errors import InDoubt, Refused, StoreError, TryLater
from gateway.site import Contact, Part, Site
from gateway.store.database import Database, open_foreign

__all__ = ["Smsd", "provide"]

_LOOK_S = 0.5
_LONG_PAST = "1970-01-01 00:00:00"
_SILENT_S = 300  # the daemon renews its row every minute unless told otherwise (StatusFrequency)
_FATES = {
    "SendingOK": Fate.PENDING, "SendingOKNoReport": Fate.PENDING, "DeliveryPending": Fate.PENDING,
    "DeliveryUnknown": Fate.PENDING, "DeliveryOK": Fate.DELIVERED, "DeliveryFailed": Fate.FAILED,
    "SendingError": Fate.FAILED, "Error": Fate.FAILED, "Reserved": Fate.PENDING,
}  # fmt: skip
_WENT_OUT = ("SendingOK", "SendingOKNoReport", "DeliveryPending", "DeliveryUnknown", "DeliveryOK")


class Smsd(Notifier):
    """One daemon. A text counts as taken when the modem has sent it, not when it lies in the daemon's outbox."""

    def __init__(self, options: SmsdOptions) -> None:
        self._options = options

    async def send(self, contact: Contact, text: str, dedupe_key: str) -> Receipt:
        """Hand over one text and wait for the modem; one that it does not take in time is withdrawn."""
        if not contact.phone:
            raise Refused("the contact has no phone number")
        creator = _creator(dedupe_key)
        await asyncio.to_thread(self._enqueue, contact.phone, text, creator)
        loop = asyncio.get_running_loop()
        until = loop.time() + self._options.patience_s
        while True:
            fate, ref, reason = await asyncio.to_thread(self._look, creator)
            if fate is Fate.DELIVERED or (fate is Fate.PENDING and ref):
                return Receipt(ref, delivered=fate is Fate.DELIVERED)
            if fate is Fate.FAILED:
                raise TryLater(f"the modem did not send it: {reason}")
            if loop.time() >= until:
                await asyncio.to_thread(self._withdraw, creator)
                raise TryLater(f"the modem did not take it within {self._options.patience_s:g} s; withdrawn")
            await asyncio.sleep(_LOOK_S)

    async def fate(self, contact: Contact, text: str, dedupe_key: str, provider_ref: str) -> Fate:
        """What the daemon's tables say of the text."""
        try:
            return (await asyncio.to_thread(self._look, _creator(dedupe_key)))[0]
        except TryLater:
            return Fate.UNKNOWN

    async def inbound(self) -> tuple[Inbound, ...]:
        """What lies unprocessed in the inbox, oldest first."""
        rows = await asyncio.to_thread(self._inbox)
        return tuple(
            Inbound(_key(sender, stamp, text), sender, text, None if stamp_s is None else int(stamp_s) * 1_000_000)
            for sender, stamp, text, stamp_s in rows
        )

    async def settle(self, key: str) -> None:
        """Mark every row that is this text as processed: a modem may bring one twice."""
        await asyncio.to_thread(self._processed, key)

    async def health(self) -> PathHealth:
        """The daemon is alive while it renews its row in `phones`; signal and network are the modem's."""
        try:
            row = await asyncio.to_thread(self._phone)
        except TryLater as error:
            return PathHealth(usable=False, why=str(error))
        if row is None:
            return PathHealth(usable=False, why="gammu-smsd has not found its modem yet")
        alive, signal, network = row
        facts: dict[str, str | float] = {"signal_percent": float(signal), "network": str(network)}
        if not alive:
            return PathHealth(usable=False, why="gammu-smsd has given no sign of life", facts=facts)
        if signal == 0:
            return PathHealth(usable=False, why="no signal", facts=facts)
        return PathHealth(usable=True, facts=facts)

    @contextlib.contextmanager
    def _open(self) -> Iterator[Database]:
        """The daemon's database; whatever is wrong with it is a reason to try later."""
        try:
            with contextlib.closing(open_foreign(self._options.database)) as database:
                yield database
        except StoreError as error:
            raise TryLater(f"gammu-smsd's database: {error}") from error

    def _enqueue(self, number: str, text: str, creator: str) -> None:
        """Put the text into the outbox, unless it lies there already or has gone out."""
        went_out = ", ".join("?" for _ in _WENT_OUT)
        with self._open() as database, database.transaction():
            sent = database.row(
                f"SELECT 1 FROM sentitems WHERE CreatorID = ? AND Status IN ({went_out})",  # noqa: S608 - only marks
                (creator, *_WENT_OUT),
            )
            if sent is None and database.row("SELECT 1 FROM outbox WHERE CreatorID = ?", (creator,)) is None:
                # A former attempt that failed must not answer for this one.
                database.execute("DELETE FROM sentitems WHERE CreatorID = ?", (creator,))
                # The table's own defaults are UTC and the daemon compares them with local time: west of Greenwich a
                # text would wait for hours. A moment long past is past in every zone.
                database.execute(
                    "INSERT INTO outbox(DestinationNumber, TextDecoded, CreatorID, DeliveryReport, SendingDateTime, "
                    "SendingTimeOut) VALUES (?, ?, ?, ?, ?, ?)",
                    (number, text, creator, "yes" if self._options.report else "no", _LONG_PAST, _LONG_PAST),
                )

    def _look(self, creator: str) -> tuple[Fate, str, str]:
        """Fate, reference and the reason of a failure. Without a reference it still lies in the outbox."""
        with self._open() as database, database.snapshot():
            row = database.row(
                "SELECT ID, Status, StatusError FROM sentitems WHERE CreatorID = ? ORDER BY ID DESC LIMIT 1", (creator,)
            )
            if row is not None:
                return _FATES.get(row[1], Fate.UNKNOWN), str(row[0]), f"{row[1]}, error {row[2]}"
            waiting = database.row("SELECT ID FROM outbox WHERE CreatorID = ?", (creator,))
        return (Fate.ABSENT if waiting is None else Fate.PENDING), "", ""

    def _withdraw(self, creator: str) -> None:
        """Take a text back that the daemon is not sending at this moment; InDoubt when it may be."""
        with self._open() as database:
            # The daemon moves SendingTimeOut into the future for as long as it holds a text.
            taken_back = database.execute(
                "DELETE FROM outbox WHERE CreatorID = ? AND SendingTimeOut <= datetime('now', 'localtime')", (creator,)
            )
        if not taken_back:
            raise InDoubt("the modem is still at it")

    def _inbox(self) -> list[tuple[Any, ...]]:
        with self._open() as database:
            return database.rows(
                "SELECT SenderNumber, ReceivingDateTime, TextDecoded, strftime('%s', ReceivingDateTime, 'utc') "
                "FROM inbox WHERE Processed = 'false' ORDER BY ID"
            )

    def _processed(self, key: str) -> None:
        with self._open() as database:
            rows = database.rows(
                "SELECT ID, SenderNumber, ReceivingDateTime, TextDecoded FROM inbox WHERE Processed = 'false'"
            )
            for number, sender, stamp, text in rows:
                if _key(sender, stamp, text) == key:
                    database.execute("UPDATE inbox SET Processed = 'true' WHERE ID = ?", (number,))

    def _phone(self) -> tuple[Any, ...] | None:
        with self._open() as database:
            return database.row(
                f"SELECT UpdatedInDB >= datetime('now', '-{_SILENT_S} seconds'), Signal, NetName FROM phones "  # noqa: S608 - a number
                "ORDER BY UpdatedInDB DESC LIMIT 1"
            )


def _creator(dedupe_key: str) -> str:
    return f"manhole-{sha256(dedupe_key.encode()).hexdigest()[:32]}"


def _key(sender: str, stamp: str, text: str) -> str:
    """Sender, the centre's time stamp and content: the same however often the modem brings it."""
    return f"sms:{sender}:{stamp}:{sha256(text.encode()).hexdigest()[:16]}"


def provide(part: Part, _site: Site, _clock: Clock, _state_directory: Path) -> Smsd:
    """The notifier of `[notify.*]` kind `gammu-smsd`."""
    return Smsd(SmsdOptions.of(part))
