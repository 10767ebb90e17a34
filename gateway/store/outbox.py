"""The texts that are owed, each with its own delivery record."""

import json
from dataclasses import dataclass, replace
from enum import StrEnum

from gateway.errors import Corrupt
from gateway.model import Instant, Message, Outcome
from gateway.store.database import Database, Row
from gateway.store.records import EventDraft, event_drafts, message_of

__all__ = ["MessageStatus", "StoredMessage", "due", "enqueue", "interrupted", "set_status", "obligations"]


class MessageStatus(StrEnum):
    """Where a text is on its way."""

    QUEUED = "queued"  # to be sent, for the first time or again
    SENDING = "sending"  # handed to the provider; committed before the call
    ACCEPTED = "accepted"  # the provider or modem took it
    DELIVERED = "delivered"  # the receipt says so
    FAILED = "failed"  # given up, with the reason
    UNKNOWN = "unknown"  # the gateway stopped while it was sending: ask the provider, else send again marked as repeat


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A text and where it is. `seq` is its record in the journal; `attempts` counts how often it became `sending`."""

    message: Message
    seq: int
    status: MessageStatus
    attempts: int
    provider_ref: str
    last_error: str
    changed_utc_us: int


def obligations(database: Database, drafts: list[EventDraft]) -> dict[int, EventDraft]:
    """What to write for each message draft that is a new obligation, by the identity of the draft.

    The same message again, under the same dedupe key, is the same obligation and is left out. Another message under a
    key that is taken is not: an alarm that lost its state counts its occurrences from one again, and the person must
    still be told. It gets a key of its own.
    """
    fresh: dict[int, EventDraft] = {}
    bodies: dict[str, str] = {}
    for draft in drafts:
        if draft.message is None:
            continue
        message, written, number = draft.message, draft, 1
        while True:
            body = bodies.get(message.dedupe_key) or _body(database, message.dedupe_key)
            if body is None or body == written.body:
                break
            number += 1
            message = replace(draft.message, dedupe_key=f"{draft.message.dedupe_key}~{number}")
            written = next(event_drafts(Outcome(messages=(message,))))
        if body is None:
            fresh[id(draft)] = written
            bodies[message.dedupe_key] = written.body
    return fresh


def _body(database: Database, dedupe_key: str) -> str | None:
    row = database.row("SELECT body FROM outbox WHERE dedupe_key = ?", (dedupe_key,))
    return None if row is None else str(row[0])


def enqueue(database: Database, seq: int, draft: EventDraft, now: Instant) -> None:
    """Make the delivery record of a message event, inside the caller's transaction."""
    message = draft.message
    if message is None:
        return
    database.execute(
        "INSERT INTO outbox(dedupe_key, seq, recipient, body, status, queued_utc_us, changed_utc_us) "
        "VALUES (?, ?, ?, ?, 'queued', ?, ?)",
        (message.dedupe_key, seq, message.recipient, draft.body, now.utc_us, now.utc_us),
    )


def interrupted(database: Database, now: Instant) -> None:
    """Whatever was being sent when the last process ended is now unknown."""
    if database.row("SELECT 1 FROM outbox WHERE status = 'sending'"):
        with database.transaction():
            database.execute(
                "UPDATE outbox SET status = 'unknown', changed_utc_us = ? WHERE status = 'sending'", (now.utc_us,)
            )


def set_status(database: Database, dedupe_key: str, status: MessageStatus, at: Instant, ref: str, error: str) -> None:
    """Record a step of one delivery, in its own transaction. KeyError when there is no such message.

    An empty `ref` keeps the reference there is; `error` always replaces the last one.
    """
    with database.transaction():
        changed = database.execute(
            "UPDATE outbox SET status = :status, changed_utc_us = :at, last_error = :error, "
            "attempts = attempts + (:status = 'sending'), "
            "provider_ref = CASE WHEN :ref = '' THEN provider_ref ELSE :ref END, "
            "accepted_utc_us = CASE WHEN :status = 'accepted' THEN :at ELSE accepted_utc_us END, "
            "delivered_utc_us = CASE WHEN :status = 'delivered' THEN :at ELSE delivered_utc_us END "
            "WHERE dedupe_key = :key",
            {"status": str(status), "at": at.utc_us, "error": error, "ref": ref, "key": dedupe_key},
        )
        if changed == 0:
            raise KeyError(dedupe_key)


def due(database: Database) -> tuple[StoredMessage, ...]:
    """Every text that is queued or unknown, oldest first. Corrupt when one cannot be read."""
    rows = database.rows(
        "SELECT body, seq, status, attempts, provider_ref, last_error, changed_utc_us FROM outbox "
        "WHERE status IN ('queued', 'unknown') ORDER BY seq"
    )
    return tuple(_stored(row) for row in rows)


def _stored(row: Row) -> StoredMessage:
    body, seq, status, attempts, provider_ref, last_error, changed_utc_us = row
    try:
        message = message_of(json.loads(body))
    except (ValueError, KeyError, TypeError) as error:
        raise Corrupt(f"the owed text of record {seq} cannot be read: {error!r}") from error
    return StoredMessage(message, seq, MessageStatus(status), attempts, provider_ref, last_error, changed_utc_us)
