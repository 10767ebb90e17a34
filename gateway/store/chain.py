r"""The hash chain over the journal's batches, and its proof.

Every committed batch carries the SHA-256 of what it holds and of its predecessor's hash. The input of the hash is this
byte string, and nothing else::

    text    = length in bytes as u32 big endian, then the bytes (UTF-8)
    integer = i64 big endian, two's complement
    hash(batch) = SHA-256(
        text("MHGW1")             format tag
        text(site id)
        integer(batch id)         1, 2, 3 ... without a hole
        integer(first_seq)        sequence number of the batch's first record
        integer(last_seq)         of its last; first_seq - 1 when the batch is empty
        prev_hash                 32 bytes; zeros for the first batch of a file
        text(boot id)
        integer(mono_us)          monotonic clock at the commit
        integer(utc_us)           UTC at the commit
        byte(synced)              00 or 01, whether that UTC was trusted
        SHA-256(readings)         of the `readings` text as stored (JSON, ASCII); "[]" when there are none
        SHA-256(events) )         of the batch's event rows in seq order, each
                                  integer(seq) text(kind) integer(utc_us) text(body as stored)

Test vector: site ``lv-mh3``, batch 1, first_seq 1, last_seq 2, zeros before it, boot ``b``, mono 5, utc 7, synced,
readings ``[[7,5,true,["ph",[],7.0,1]]]`` and one event (2, ``note``, 7, ``{}``) give
``5669a691b23acdbafbcc0bfca1cf75e243b25b4a3491befa42b9b94cc88b1cd4``.

What a chain alone cannot find: a tail cut off, and a file rewritten from some batch to its end by someone who knows
this page. Both are found by a head that was sent off the box in time and is handed to `verify`.
"""

import contextlib
import hashlib
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from gateway.model import Instant
from gateway.store.database import Database, Row, open_reader

__all__ = [
    "GENESIS",
    "TAG",
    "BatchHeader",
    "ChainFinding",
    "ChainVerdict",
    "Head",
    "batch_hash",
    "matches_own_hash",
    "verify",
]

TAG = "MHGW1"
GENESIS = bytes(32)

# Text as bytes: what is no longer UTF-8 is to be found altered, not to stop the proof.
_BATCHES = """SELECT id, first_seq, last_seq, CAST(boot_id AS BLOB), utc_us, mono_us, synced, prev_hash, hash,
CAST(readings AS BLOB) FROM batch"""
_EVENTS = """SELECT seq, CAST(kind AS BLOB), utc_us, CAST(body AS BLOB), batch_id FROM event
WHERE seq BETWEEN ? AND ? ORDER BY seq"""


@dataclass(frozen=True, slots=True)
class BatchHeader:
    """What a batch says of itself beside its records; `at` is the moment of the commit on both clocks."""

    batch_id: int
    first_seq: int
    last_seq: int
    boot_id: str | bytes  # bytes as read for a proof
    at: Instant


@dataclass(frozen=True, slots=True)
class Head:
    """The end of the chain at some moment: what is sent off the box."""

    batch_id: int
    last_seq: int
    hash: bytes


class ChainFinding(StrEnum):
    """What a proof of the chain can come to."""

    INTACT = "intact"
    ALTERED = "altered"  # a batch does not hash to what it says: a payload, a stamp or a record was changed
    GAP = "gap"  # a batch is missing, or the numbers do not follow
    TRUNCATED = "truncated"  # a head sent off the box lies beyond the end of the file
    REWRITTEN = "rewritten"  # the chain holds, but a head sent off the box names another hash


@dataclass(frozen=True, slots=True)
class ChainVerdict:
    """The result of one pass. When it is not INTACT, `batch_id` and `seq` name the first bad batch and record.

    `after_utc_us` is the stamp of the last good batch before it and `before_utc_us` that of the next batch there is:
    the span of time in doubt (None where the file ends). `batches` and `records` count what was proven good.
    """

    finding: ChainFinding
    batches: int
    records: int
    head: Head | None = None
    batch_id: int | None = None
    seq: int | None = None
    after_utc_us: int | None = None
    before_utc_us: int | None = None
    reason: str = ""

    @property
    def intact(self) -> bool:
        """Whether nothing was found."""
        return self.finding is ChainFinding.INTACT


def batch_hash(site_id: str, header: BatchHeader, prev_hash: bytes, readings: bytes, events: Iterable[Row]) -> bytes:
    """The hash of one batch, as the head of this module fixes it. Events are (seq, kind, utc_us, body) in seq order."""
    rows = hashlib.sha256()
    for seq, kind, utc_us, body in events:
        rows.update(_integer(seq) + _text(kind) + _integer(utc_us) + _text(body))
    return hashlib.sha256(
        b"".join(
            (
                _text(TAG),
                _text(site_id),
                _integer(header.batch_id),
                _integer(header.first_seq),
                _integer(header.last_seq),
                prev_hash,
                _text(header.boot_id),
                _integer(header.at.mono_us),
                _integer(header.at.utc_us),
                b"\x01" if header.at.synced else b"\x00",
                hashlib.sha256(readings).digest(),
                rows.digest(),
            )
        )
    ).digest()


def verify(path: Path, site_id: str | None = None, heads: Sequence[Head] = ()) -> ChainVerdict:
    """Prove the chain of a journal in one pass, stopping at the first bad batch.

    `site_id` is taken from the file when not given. `heads` are ends of the chain that were sent off the box earlier:
    with them a cut-off tail and a rewritten file are found too. Works beside a running gateway. Raises StoreError when
    there is no such journal, Corrupt when it cannot be read.
    """
    with contextlib.closing(open_reader(path)) as database, database.snapshot():
        if site_id is None:
            owner = database.row("SELECT value FROM meta WHERE key = 'site'")
            site_id = owner[0] if owner else ""
        return _Proof(database, site_id, heads).run()


def matches_own_hash(database: Database, site_id: str, batch_id: int) -> bool:
    """Whether one batch hashes to what it says; a batch that is not there does."""
    row = database.row(f"{_BATCHES} WHERE id = ?", (batch_id,))
    return row is None or _own_fault(database, site_id, row) is None


@dataclass(frozen=True, slots=True)
class _Good:
    """A batch that was found good: its end, its stamp, and how much was good up to and including it."""

    head: Head
    utc_us: int
    batches: int
    records: int


class _Proof:
    """One pass over one file."""

    def __init__(self, database: Database, site_id: str, heads: Sequence[Head]) -> None:
        self._database = database
        self._site_id = site_id
        self._heads = heads
        self._first_seq = 1
        self._last: _Good | None = None
        self._last_but_one: _Good | None = None

    def run(self) -> ChainVerdict:
        with contextlib.closing(self._database.stream(f"{_BATCHES} ORDER BY id")) as batches:
            for row in batches:
                if self._last is None:
                    self._first_seq = row[1]
                if row[0] != self._next_id:
                    missing = f"batch {self._next_id} is missing; the next there is, is {row[0]}"
                    return self._bad(ChainFinding.GAP, missing, row)
                fault = _own_fault(self._database, self._site_id, row)
                if fault is not None:
                    return self._bad(ChainFinding.ALTERED, fault, next(batches, None))
                if not self._follows(row):
                    return self._unlinked(row)
                if self._contradicts_head(row):
                    reason = f"batch {row[0]} holds together, but another hash had been sent away for it"
                    return self._bad(ChainFinding.REWRITTEN, reason, next(batches, None))
                self._accept(row)
        return self._end()

    @property
    def _next_id(self) -> int:
        return 1 if self._last is None else self._last.head.batch_id + 1

    @property
    def _next_seq(self) -> int:
        return self._first_seq if self._last is None else self._last.head.last_seq + 1

    def _follows(self, row: Row) -> bool:
        previous = GENESIS if self._last is None else self._last.head.hash
        return bool(row[7] == previous and row[1] == self._next_seq)

    def _unlinked(self, row: Row) -> ChainVerdict:
        """A sound batch that names another predecessor: the predecessor is the one that was replaced."""
        if self._last is None:
            return self._bad(ChainFinding.GAP, f"batch {row[0]} is not the beginning of a file", row)
        replaced, self._last = self._last, self._last_but_one
        reason = f"batch {replaced.head.batch_id} is not the one that batch {row[0]} was chained to"
        return self._bad(ChainFinding.ALTERED, reason, row)

    def _contradicts_head(self, row: Row) -> bool:
        return any(head.batch_id == row[0] and head.hash != row[8] for head in self._own_heads())

    def _own_heads(self) -> Iterator[Head]:
        """The heads of this file: one that was started after a quarantine goes on above its predecessor's numbers."""
        return (head for head in self._heads if head.last_seq >= self._first_seq - 1)

    def _accept(self, row: Row) -> None:
        batches, records = (0, 0) if self._last is None else (self._last.batches, self._last.records)
        self._last_but_one = self._last
        self._last = _Good(Head(row[0], row[2], row[8]), row[4], batches + 1, records + row[2] - row[1] + 1)

    def _end(self) -> ChainVerdict:
        """After the last batch: records that belong to none, and heads that lie beyond."""
        stray = self._database.row(
            "SELECT seq FROM event WHERE seq < ? OR seq >= ? ORDER BY seq", (self._first_seq, self._next_seq)
        )
        if stray is not None:
            return self._bad(ChainFinding.ALTERED, f"record {stray[0]} belongs to no batch", None)
        beyond = [head.last_seq for head in self._own_heads() if head.batch_id >= self._next_id]
        if beyond:
            reason = f"the file ends at record {self._next_seq - 1}, but {max(beyond)} had been reached"
            return self._bad(ChainFinding.TRUNCATED, reason, None)
        batches, records = (0, 0) if self._last is None else (self._last.batches, self._last.records)
        return ChainVerdict(ChainFinding.INTACT, batches, records, None if self._last is None else self._last.head)

    def _bad(self, finding: ChainFinding, reason: str, following: Row | None) -> ChainVerdict:
        last = self._last
        return ChainVerdict(
            finding,
            batches=0 if last is None else last.batches,
            records=0 if last is None else last.records,
            head=None if last is None else last.head,
            batch_id=self._next_id,
            seq=self._next_seq,
            after_utc_us=None if last is None else last.utc_us,
            before_utc_us=None if following is None else following[4],
            reason=reason,
        )


def _own_fault(database: Database, site_id: str, row: Row) -> str | None:
    """What is wrong with a batch by itself, None when it is sound."""
    batch_id, first_seq, last_seq, boot_id, utc_us, mono_us, synced, prev_hash, stored, readings = row
    try:
        events = _events(database, batch_id, first_seq, last_seq)
        header = BatchHeader(batch_id, first_seq, last_seq, boot_id, Instant(utc_us, mono_us, bool(synced)))
        computed = batch_hash(site_id, header, prev_hash, readings, events)
    except (TypeError, ValueError, AttributeError, struct.error):
        return f"batch {batch_id} holds what no batch can hold"
    if computed != stored or synced not in (0, 1):
        return f"batch {batch_id} does not match its own hash"
    return None


def _events(database: Database, batch_id: int, first_seq: int, last_seq: int) -> list[Row]:
    rows = database.rows(_EVENTS, (first_seq, last_seq))
    if any(row[4] != batch_id for row in rows):
        raise ValueError("an event claims another batch")
    return [row[:4] for row in rows]


def _integer(value: int) -> bytes:
    return struct.pack(">q", value)


def _text(value: str | bytes) -> bytes:
    encoded = value.encode() if isinstance(value, str) else value
    return struct.pack(">I", len(encoded)) + encoded
