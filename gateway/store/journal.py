"""The journal: the only truth. Everything else (broker, historian, texts, page) is a cursor over it.

One writer thread owns the writing connection, so that waiting for the disk never holds up the event loop; one reader
thread owns a read-only one. All methods belong to one event loop.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from gateway.errors import Corrupt
from gateway.model import Instant, Note, Outcome
from gateway.store.chain import Head
from gateway.store.cursor import SinkCounts
from gateway.store.opening import Recovered, Replaced
from gateway.store.outbox import MessageStatus, StoredMessage
from gateway.store.pending import Pending, Taken
from gateway.store.reader import Reader
from gateway.store.records import Record
from gateway.store.writer import Commit, Writer

__all__ = [
    "Commit", "Head", "Journal", "MessageStatus", "Record", "Recovered", "SinkCounts", "StoredMessage",
]  # fmt: skip

_P = ParamSpec("_P")
_T = TypeVar("_T")


class Journal:
    """Append-only record of one site.

    `add` buffers; `commit` makes everything buffered durable in one transaction, all of it or nothing. When a commit
    fails the records are kept for the next one: events and state without bound, readings up to `pending.READINGS_MAX`,
    the oldest shed first and counted in `shed_readings`. Every record gets a number of its own, rising by one.
    `max_bytes` caps the file: beyond it a commit raises DiskFull.
    """

    def __init__(self, path: Path, site_id: str, boot_id: str, *, max_bytes: int | None = None) -> None:
        self.path = path
        self._pending = Pending()
        self._in_flight = 0
        self._moves: dict[str, int] = {}
        self._doubtful: Taken | None = None
        self._told: Replaced | None = None
        self._closed = False
        self._lock = asyncio.Lock()
        self._writer = Writer(path, site_id, boot_id)
        self._writer.max_bytes = max_bytes
        self._reader = Reader(path)
        self._writer_thread = ThreadPoolExecutor(1, thread_name_prefix="journal-writer")
        self._reader_thread = ThreadPoolExecutor(1, thread_name_prefix="journal-reader")

    async def open(self, now: Instant) -> Recovered:
        """Take the file, check it, and say what it knew.

        A file that is not sound is put aside as `<name>.corrupt-<utc stamp>` and a new one started; the next commit
        then holds a note `journal_replaced`. Raises StoreError when another process writes the journal, or the file is
        of a newer schema, of another site or no journal at all; `commit` then tries to open again.
        """
        async with self._lock:
            return await self._write(now, _nothing, partial(self._writer.open, now))

    @property
    def pending(self) -> int:
        """How many records are not yet durable, those in a running commit included."""
        return self._pending.readings + self._pending.events + self._in_flight

    @property
    def shed_readings(self) -> int:
        """How many readings have been given up since the start because nothing could be written."""
        return self._pending.shed_total

    @property
    def head(self) -> Head:
        """The end of the hash chain: what to send off the box."""
        return self._writer.head

    @property
    def quarantined(self) -> Path | None:
        """The file last put aside as broken, at the start or since."""
        return None if self._writer.replaced is None else self._writer.replaced.file

    def add(self, outcome: Outcome) -> None:
        """Buffer one outcome for the next commit; never waits.

        TypeError or ValueError when a part of it cannot be written as JSON; nothing of it is buffered then.
        """
        self._pending.add(outcome)

    async def commit(self, now: Instant) -> Commit:
        """Make everything buffered durable, with the sinks' positions, in one transaction stamped `now`.

        Calls queue behind each other; one that finds nothing left to do says so with zero counts. Raises StoreError,
        DiskFull or Corrupt, and keeps the records. A cancelled call still waits until the outcome is known.
        """
        async with self._lock:
            await self._resolve_doubt(now)
            taken, moves = self._pending.take(), dict(self._moves)
            if not taken and not moves:
                head = self._writer.head
                return Commit(head.batch_id, head.last_seq + 1, head.last_seq, 0, 0)
            self._in_flight = taken.records

            def settle(future: asyncio.Future[Commit]) -> None:
                self._in_flight = 0
                if future.exception() is None:
                    self._settle_moves(moves)
                else:
                    self._pending.restore(taken)
                    self._doubtful = taken

            return await self._write(now, settle, partial(self._writer.append, taken, moves, now))

    async def flush(self, now: Instant) -> None:
        """Write the sinks' positions alone, if any has moved. Raises StoreError and keeps them."""
        async with self._lock:
            moves = dict(self._moves)
            if not moves:
                return

            def settle(future: asyncio.Future[None]) -> None:
                if future.exception() is None:
                    self._settle_moves(moves)

            await self._write(now, settle, partial(self._writer.move_cursors, moves, now))

    async def records(self, after_seq: int, limit: int, until_seq: int | None = None) -> tuple[Record, ...]:
        """Up to `limit` committed records with after_seq < seq <= until_seq, in order of seq.

        A record whose bytes can no longer be read comes as a note `unreadable` in its place. Raises StoreError.
        """
        return await self._read(self._reader.records, after_seq, limit, until_seq)

    async def last_seq(self) -> int:
        """The number of the last committed record; a file that replaces a broken one starts far above zero."""
        return self._writer.head.last_seq

    def move_cursor(self, sink: str, seq: int) -> None:
        """Say that a sink has acknowledged everything up to `seq`; written with the next commit or flush.

        A lower number than before is a replay. ValueError for a negative one.
        """
        if seq < 0:
            raise ValueError(f"{sink}: no record has the number {seq}")
        sink.encode()
        self._moves[sink] = seq

    async def cursor(self, sink: str) -> int:
        """The last record the sink has acknowledged, written or not; 0 for a new sink."""
        if sink in self._moves:
            return self._moves[sink]
        return await self._read(self._reader.cursor, sink)

    async def park(self, sink: str, seq: int, reason: str, now: Instant) -> None:
        """Set aside, at once and durably, a record the sink refused for good; parking it again changes nothing."""
        async with self._lock:
            await self._write(now, _nothing, partial(self._writer.park, sink, seq, reason, now))

    async def counts(self, sink: str) -> SinkCounts:
        """How far behind a sink is. Raises StoreError."""
        return await self._read(self._reader.counts, sink, self._moves.get(sink))

    async def outbox_due(self) -> tuple[StoredMessage, ...]:
        """Every text that is queued, or unknown since a restart, oldest first. Raises StoreError."""
        return await self._read(self._reader.outbox_due)

    async def set_message_status(
        self, dedupe_key: str, status: MessageStatus | str, at: Instant, provider_ref: str = "", error: str = ""
    ) -> None:
        """Record, at once and durably, where a text is; `sending` counts an attempt.

        An empty `provider_ref` keeps the one there is. KeyError when no such text is owed, ValueError for a status that
        does not exist, StoreError when it cannot be written.
        """
        step = partial(self._writer.set_message_status, dedupe_key, MessageStatus(status), at, provider_ref, error)
        async with self._lock:
            await self._write(at, _nothing, step)

    async def close(self, now: Instant) -> None:
        """Commit what is left and let go of the file. StoreError, after closing, when it could not be committed."""
        if self._closed:
            return
        self._closed = True
        try:
            await self.commit(now)
        finally:
            async with self._lock:
                await asyncio.get_running_loop().run_in_executor(self._reader_thread, self._reader.close)
                await self._write(now, _nothing, self._writer.close)
            self._reader_thread.shutdown()
            self._writer_thread.shutdown()

    async def _resolve_doubt(self, now: Instant) -> None:
        """Find out whether the commit that failed last is in the file all the same, before anything is tried again."""
        doubtful = self._doubtful
        if doubtful is None:
            return

        def settle(future: asyncio.Future[bool]) -> None:
            if future.exception() is None:
                self._doubtful = None
                if future.result():
                    self._pending.forget(doubtful)

        await self._write(now, settle, partial(self._writer.landed, now))

    def _settle_moves(self, written: dict[str, int]) -> None:
        for sink, seq in written.items():
            if self._moves.get(sink) == seq:
                del self._moves[sink]

    async def _write(self, now: Instant, settle: Callable[[asyncio.Future[_T]], None], work: Callable[[], _T]) -> _T:
        """Run work in the writer thread and settle what came of it, whatever happens to the caller meanwhile."""
        future = asyncio.get_running_loop().run_in_executor(self._writer_thread, work)
        cancelled: asyncio.CancelledError | None = None
        while not future.done():
            try:
                await asyncio.wait((future,))
            except asyncio.CancelledError as error:  # the transaction goes on; leave only when its outcome is known
                cancelled = error
        settle(future)
        self._tell_replacement(now)
        if cancelled is not None:
            raise cancelled
        return future.result()

    async def _read(self, work: Callable[Concatenate[int, _P], _T], *args: _P.args, **kwargs: _P.kwargs) -> _T:
        """Run work in the reader thread, on the file the writer has now."""
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._reader_thread, partial(work, self._writer.files, *args, **kwargs))
        except Corrupt:
            await loop.run_in_executor(self._writer_thread, self._writer.distrust)
            raise

    def _tell_replacement(self, now: Instant) -> None:
        replaced = self._writer.replaced
        if replaced is not None and replaced is not self._told:
            self._told = replaced
            note = Note("journal_replaced", now, {"file": replaced.file.name, "reason": replaced.reason})
            self._pending.add(Outcome(notes=(note,)))


def _nothing(_future: asyncio.Future[_T]) -> None:
    """Nothing to settle."""
