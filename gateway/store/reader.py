"""Reading the journal back. Every method runs in the reader thread, on a connection that can change nothing."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.model import Instant
from gateway.store import cursor, outbox
from gateway.store.cursor import SinkCounts
from gateway.store.database import Database, open_reader
from gateway.store.outbox import StoredMessage
from gateway.store.records import Record, body_instant, reading_of, readings_of

__all__ = ["Reader"]

_UNREADABLE = (ValueError, KeyError, TypeError, IndexError)


@dataclass(frozen=True, slots=True)
class _Batch:
    """One batch as parsed; its records are made only when they are asked for. `events` maps seq to (kind, body)."""

    batch_id: int
    first_seq: int
    last_seq: int
    at: Instant
    readings: list[tuple[Instant, Any]]
    events: dict[int, tuple[str, bytes]]


class Reader:
    """Records by position, cursors, owed texts.

    `files` is the writer's count of opened files: when it has grown, the connection may look at a file that was put
    aside since, and a new one is opened.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._database: Database | None = None
        self._files = 0
        self._parsed: _Batch | None = None

    def records(self, files: int, after_seq: int, limit: int, until_seq: int | None) -> tuple[Record, ...]:
        """Up to `limit` records with after_seq < seq <= until_seq, in order of seq.

        A record that can no longer be read comes as a note `unreadable` in its place: whoever reads on is told, and is
        not held up by it for ever.
        """
        database = self._use(files)
        found: list[Record] = []
        batch_id = self._first_beyond(database, after_seq)
        while batch_id is not None and len(found) < limit:
            batch = self._batch(database, batch_id)
            if batch is None or (until_seq is not None and batch.first_seq > until_seq):
                break
            first = max(after_seq + 1, batch.first_seq)
            last = min(batch.last_seq, first + limit - len(found) - 1)
            found.extend(_records(batch, first, last if until_seq is None else min(last, until_seq)))
            batch_id = batch.batch_id + 1
        return tuple(found)

    def last_seq(self, files: int) -> int:
        """The number of the newest record; 0 in an empty journal."""
        last = self._use(files).row("SELECT last_seq FROM batch ORDER BY id DESC LIMIT 1")
        return 0 if last is None else int(last[0])

    def cursor(self, files: int, sink: str) -> int:
        """The sink's position as last written."""
        return cursor.position(self._use(files), sink)

    def counts(self, files: int, sink: str, moved_to: int | None) -> SinkCounts:
        """How far behind the sink is; `moved_to` is a newer position that is not yet written."""
        database = self._use(files)
        acknowledged = cursor.position(database, sink) if moved_to is None else moved_to
        first = database.row("SELECT first_seq FROM batch ORDER BY id LIMIT 1")
        last = database.row("SELECT last_seq FROM batch ORDER BY id DESC LIMIT 1")
        unsent = 0 if first is None or last is None else max(0, last[0] - max(acknowledged, first[0] - 1))
        oldest = self.records(files, acknowledged, 1, None) if unsent else ()
        return SinkCounts(unsent, oldest[0].at.utc_us if oldest else None, cursor.rejected(database, sink))

    def outbox_due(self, files: int) -> tuple[StoredMessage, ...]:
        """Every text that is queued or unknown, oldest first."""
        return outbox.due(self._use(files))

    def close(self) -> None:
        """Close the connection; harmless when there is none."""
        if self._database is not None:
            database, self._database, self._parsed = self._database, None, None
            database.close()

    def _use(self, files: int) -> Database:
        if self._files != files:
            self.close()
        if self._database is None:
            self._database = open_reader(self._path)
            self._files = files
        return self._database

    def _first_beyond(self, database: Database, after_seq: int) -> int | None:
        """Where to find the first batch that ends after `after_seq`: by halving, since batches rise in both numbers.

        An index on the numbers would cost a page written at every commit.
        """
        parsed = self._parsed
        if parsed is not None and parsed.first_seq - 1 <= after_seq <= parsed.last_seq:
            return parsed.batch_id + (after_seq == parsed.last_seq)
        bounds = database.row("SELECT (SELECT min(id) FROM batch), id, last_seq FROM batch ORDER BY id DESC LIMIT 1")
        if bounds is None or bounds[2] <= after_seq:
            return None
        low, high = int(bounds[0]), int(bounds[1])
        while low < high:
            middle = (low + high) // 2
            probe = database.rows("SELECT id, last_seq FROM batch WHERE id >= ? ORDER BY id LIMIT 1", (middle,))[0]
            if probe[1] > after_seq:
                high = middle
            else:
                low = int(probe[0]) + 1
        return low

    def _batch(self, database: Database, batch_id: int) -> _Batch | None:
        """The batch with that id, or the next there is."""
        if self._parsed is not None and self._parsed.batch_id == batch_id:
            return self._parsed
        row = database.row(
            "SELECT id, first_seq, last_seq, utc_us, mono_us, synced, CAST(readings AS BLOB) FROM batch "
            "WHERE id >= ? ORDER BY id LIMIT 1",
            (batch_id,),
        )
        if row is None:
            return None
        found_id, first_seq, last_seq, utc_us, mono_us, synced, text = row
        try:
            readings = readings_of(json.loads(text))
        except _UNREADABLE:
            readings = []
        events = database.rows(
            "SELECT seq, kind, CAST(body AS BLOB) FROM event WHERE seq BETWEEN ? AND ?", (first_seq, last_seq)
        )
        self._parsed = _Batch(
            found_id,
            first_seq,
            last_seq,
            Instant(utc_us, mono_us, bool(synced)),
            readings,
            {seq: (kind, body) for seq, kind, body in events},
        )
        return self._parsed


def _records(batch: _Batch, first: int, last: int) -> Iterator[Record]:
    """The batch's records from seq `first` to `last`: events at their own numbers, readings at all the others."""
    index = first - batch.first_seq - sum(seq < first for seq in batch.events)
    for seq in range(first, last + 1):
        event = batch.events.get(seq)
        try:
            if event is None:
                index += 1
                reading = reading_of(*batch.readings[index - 1])
                yield Record(seq, "reading", reading.at, reading)
            else:
                body = json.loads(event[1])
                yield Record(seq, event[0], body_instant(body), body)
        except _UNREADABLE:
            at = {"utc_us": batch.at.utc_us, "mono_us": batch.at.mono_us, "synced": batch.at.synced}
            yield Record(seq, "note", batch.at, {"kind": "unreadable", "at": at, "body": {"batch_id": batch.batch_id}})
