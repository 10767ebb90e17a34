"""The one writer of a journal. Every method runs in the writer thread, which alone waits for the disk."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.errors import Corrupt, DiskFull, StoreError
from gateway.model import Instant, Outcome
from gateway.store import cursor, outbox
from gateway.store.chain import GENESIS, BatchHeader, Head, batch_hash
from gateway.store.database import Database
from gateway.store.files import Hold
from gateway.store.opening import Recovered, Replaced, head_of, open_sound, recovered, replace
from gateway.store.outbox import MessageStatus
from gateway.store.pending import Item, ReadingsRun, Taken, packed
from gateway.store.records import EventDraft, event_drafts
from gateway.store.rescue import FileId, file_id, rescue

__all__ = ["Commit", "Writer"]

_GIVE_UP_AFTER = 2  # a file that passes its check but fails this often in a row as corrupt is replaced all the same


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit made durable. Numbers include both ends; `last_seq` < `first_seq` when none was used.

    `batch_id` is the last batch written: one, but for a commit that makes up for a long outage.
    """

    batch_id: int
    first_seq: int
    last_seq: int
    readings: int
    events: int


class Writer:
    """Opens, appends, moves cursors.

    After any failure but a full disk the connection is dropped, and the next call opens and checks the file anew: what
    a failed sync left in the page cache cannot be trusted, so no sync is ever simply repeated.
    """

    def __init__(self, path: Path, site_id: str, boot_id: str) -> None:
        self.path = path
        self.site_id = site_id
        self.boot_id = boot_id
        self.max_bytes: int | None = None
        self.head = Head(0, 0, GENESIS)
        self.replaced: Replaced | None = None
        self.files = 0  # how many times a file was opened: a reader that counts less has an older one
        self._database: Database | None = None
        self._file: FileId | None = None  # which file `_database` is
        self._hold = Hold(path)
        self._corruptions = 0  # by this writer, in a row
        self._reports = 0  # by readers of this file
        self._limit_bytes: int | None = None
        self._attempted: Head | None = None

    def open(self, now: Instant) -> Recovered:
        """Take the journal, check it, replace it if it is not sound, and say what it knew."""
        database = self._open(now)
        return recovered(database, self.boot_id, None if self.replaced is None else self.replaced.file)

    def append(self, taken: Taken, moves: Mapping[str, int], now: Instant) -> Commit:
        """Write everything taken, and the cursors, in one transaction."""
        with self._writing(now) as database:
            with database.transaction():
                head, commit = self._write_batches(database, taken, now)
                self._write_state(database, taken.state, now)
                cursor.move(database, moves, now)
                self._attempted = head
            self.head, self._attempted = head, None
        return commit

    def landed(self, now: Instant) -> bool:
        """Whether the append that failed last is in the file all the same: a failed sync may still have been enough."""
        attempted = self._attempted
        if attempted is None:
            return False
        with self._writing(now) as database:
            self.head = head_of(database)
        self._attempted = None
        return self.head == attempted

    def move_cursors(self, moves: Mapping[str, int], now: Instant) -> None:
        """Write the sinks' positions alone."""
        with self._writing(now) as database, database.transaction():
            cursor.move(database, moves, now)

    def park(self, sink: str, seq: int, reason: str, now: Instant) -> None:
        """Set a refused record aside."""
        with self._writing(now) as database:
            cursor.park(database, sink, seq, reason, now)

    def set_message_status(self, dedupe_key: str, status: MessageStatus, at: Instant, ref: str, error: str) -> None:
        """Record a step of one delivery. KeyError when there is no such message."""
        with self._writing(at) as database:
            outbox.set_status(database, dedupe_key, status, at, ref, error)

    def distrust(self) -> None:
        """A reader found the file corrupt: check the whole of it before the next write; the second time, replace it."""
        self._reports += 1
        database, self._database = self._database, None
        if database is not None:
            with contextlib.suppress(StoreError):
                database.close()

    def close(self) -> None:
        """Close the file and let go of it; harmless when not open."""
        try:
            if self._database is not None:
                self._database.close()
        finally:
            self._database = None
            self._hold.release()

    def _open(self, now: Instant) -> Database:
        if self._database is not None:
            if file_id(self.path) == self._file:
                return self._database
            self.replaced = Replaced(*rescue(self._database, self.path, now))
            self._database = None
        if not self.path.parent.is_dir():
            raise StoreError(f"{self.path.parent}: no such directory for the journal")
        self._hold.take()
        try:
            database = self._open_sound(now)
        except Corrupt as error:
            self.replaced = replace(self.path, self.site_id, now, str(error))
            database = open_sound(self.path, self.site_id, now, whole_check=True)
            self._corruptions = self._reports = 0
        if self.files == 0:
            outbox.interrupted(database, now)
        self._limit_bytes = None
        self._database = database
        self._file = file_id(self.path)
        self.head = head_of(database)
        self.files += 1
        return database

    def _open_sound(self, now: Instant) -> Database:
        found_corrupt = max(self._corruptions, self._reports)
        if found_corrupt >= _GIVE_UP_AFTER:
            raise Corrupt(f"{self.path}: found corrupt {found_corrupt} times, though it passes its check")
        return open_sound(self.path, self.site_id, now, whole_check=found_corrupt > 0)

    @contextlib.contextmanager
    def _writing(self, now: Instant) -> Iterator[Database]:
        database = self._open(now)
        try:
            if self.max_bytes is not None and self.max_bytes != self._limit_bytes:
                database.limit_bytes(self.max_bytes)
                self._limit_bytes = self.max_bytes
            yield database
        except DiskFull:
            raise
        except StoreError as error:
            self._corruptions += isinstance(error, Corrupt)
            self._database = None
            with contextlib.suppress(StoreError):
                database.close()
            raise
        self._corruptions = 0

    def _write_batches(self, database: Database, taken: Taken, now: Instant) -> tuple[Head, Commit]:
        head = self.head
        first_seq = head.last_seq + 1
        events = 0
        if not taken:
            return head, Commit(head.batch_id, first_seq, head.last_seq, 0, 0)
        for group in packed((*_first_words(taken, now), *_without_repeats(database, taken.items))):
            head = self._write_batch(database, head, group, now)
            events += sum(isinstance(item, EventDraft) for item in group)
        readings = head.last_seq - first_seq + 1 - events
        return head, Commit(head.batch_id, first_seq, head.last_seq, readings, events)

    def _write_batch(self, database: Database, previous: Head, group: Sequence[Item], now: Instant) -> Head:
        batch_id, first_seq = previous.batch_id + 1, previous.last_seq + 1
        seq = first_seq
        numbered: list[tuple[int, EventDraft]] = []
        texts: list[str] = []
        for item in group:
            if isinstance(item, ReadingsRun):
                texts.append(item.text)
                seq += item.count
            else:
                numbered.append((seq, item))
                seq += 1
        readings = f"[{','.join(texts)}]"
        header = BatchHeader(batch_id, first_seq, seq - 1, self.boot_id, now)
        rows = [(event_seq, draft.kind, draft.utc_us, draft.body) for event_seq, draft in numbered]
        stamps = (now.utc_us, now.mono_us, int(now.synced))
        digest = batch_hash(self.site_id, header, previous.hash, readings.encode(), rows)
        database.execute(
            "INSERT INTO batch(id, first_seq, last_seq, boot_id, utc_us, mono_us, synced, prev_hash, hash, readings) "
            "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (batch_id, first_seq, seq - 1, self.boot_id, *stamps, previous.hash, digest, readings),
        )
        database.execute_many(
            f"INSERT INTO event(seq, batch_id, kind, utc_us, body) VALUES (?, {batch_id:d}, ?, ?, ?)",  # noqa: S608 - a number
            rows,
        )
        for event_seq, draft in numbered:
            outbox.enqueue(database, event_seq, draft, now)
        return Head(batch_id, seq - 1, digest)

    def _write_state(self, database: Database, state: Mapping[str, str | None], now: Instant) -> None:
        gone = [(key,) for key, body in state.items() if body is None]
        kept = [
            (key, body, self.boot_id, now.mono_us, now.utc_us, int(now.synced))
            for key, body in state.items()
            if body is not None
        ]
        database.execute_many("DELETE FROM state WHERE key = ?", gone)
        database.execute_many(
            "INSERT INTO state(key, body, boot_id, mono_us, utc_us, synced) VALUES (?, ?, ?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE SET body = excluded.body, boot_id = excluded.boot_id, "
            "mono_us = excluded.mono_us, utc_us = excluded.utc_us, synced = excluded.synced",
            kept,
        )


def _first_words(taken: Taken, now: Instant) -> Iterator[EventDraft]:
    if taken.shed is not None:
        yield from event_drafts(Outcome(notes=(taken.shed.note(now),)))


def _without_repeats(database: Database, items: tuple[Item, ...]) -> tuple[Item, ...]:
    """The items without messages that are already owed."""
    messages = [item for item in items if isinstance(item, EventDraft) and item.message is not None]
    if not messages:
        return items
    fresh = outbox.obligations(database, messages)
    repeats = {id(draft) for draft in messages} - fresh.keys()
    return tuple(fresh.get(id(item), item) for item in items if id(item) not in repeats)
