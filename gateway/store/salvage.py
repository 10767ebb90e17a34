"""What can still be read from a broken journal, so that its successor goes on where it ended.

Open alarms and owed texts are carried over as far as they can be read; records stay in the file that was put aside. The
new file's numbers begin above every number the old one can have used, because consumers tell records apart by them.
"""

import contextlib
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.errors import StoreError
from gateway.model import Instant
from gateway.store.database import Database, Row, open_reader
from gateway.store.outbox import MessageStatus
from gateway.store.records import message_of

__all__ = ["Salvage", "by_time", "carry_over", "salvage"]

_MARGIN = 1_000_000  # records that may have been sent but can no longer be read
_PLAUSIBLE_MAX = 1 << 52  # a number above this was not written by us; JSON readers lose whole numbers above 2^53

_STATE_COLUMNS = "key, body, boot_id, mono_us, utc_us, synced"
_OUTBOX_COLUMNS = (
    "dedupe_key, seq, recipient, body, status, attempts, provider_ref, last_error, "
    "queued_utc_us, changed_utc_us, accepted_utc_us, delivered_utc_us"
)
_STATE = f"SELECT {_STATE_COLUMNS} FROM state"  # noqa: S608 - constants
_OUTBOX = f"SELECT {_OUTBOX_COLUMNS} FROM outbox"  # noqa: S608 - constants
_KEEP_STATE = f"INSERT OR IGNORE INTO state({_STATE_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?)"  # noqa: S608 - constants
_KEEP_OUTBOX = f"INSERT OR IGNORE INTO outbox({_OUTBOX_COLUMNS}) VALUES ({', '.join('?' * 12)})"  # noqa: S608 - constants
_LAST = "SELECT last_seq, boot_id, utc_us, mono_us, synced FROM batch ORDER BY id DESC LIMIT 1"


@dataclass(frozen=True, slots=True)
class Salvage:
    """What could be read. `seq_base` is the number below which the new file must not go."""

    seq_base: int
    last: Instant | None = None
    last_boot_id: str | None = None
    state: tuple[Row, ...] = ()
    outbox: tuple[Row, ...] = ()


def salvage(path: Path, now: Instant) -> Salvage:
    """Read what can be read of a broken file. Never fails: what cannot be read is left out."""
    with contextlib.suppress(StoreError), contextlib.closing(open_reader(path)) as database:
        last = next(_readable(database, _LAST, _is_last), None)
        state = tuple(_readable(database, _STATE, _is_state))
        outbox = tuple(_readable(database, _OUTBOX, _is_owed))
        if last is not None:
            at = Instant(last[2], last[3], bool(last[4]))
            return Salvage(last[0] + _MARGIN, at, last[1], state, outbox)
        return Salvage(by_time(path, now), None, None, state, outbox)
    return Salvage(by_time(path, now))


def carry_over(database: Database, saved: Salvage) -> None:
    """Write what was saved into the new file, inside the caller's transaction."""
    origin: dict[str, Any] = {"boot_id": saved.last_boot_id, "seq_base": saved.seq_base}
    if saved.last is not None:
        origin |= {"utc_us": saved.last.utc_us, "mono_us": saved.last.mono_us, "synced": saved.last.synced}
    database.execute("INSERT INTO meta(key, value) VALUES ('origin', ?)", (json.dumps(origin, sort_keys=True),))
    database.execute_many(_KEEP_STATE, saved.state)
    database.execute_many(_KEEP_OUTBOX, saved.outbox)


def by_time(path: Path, now: Instant) -> int:
    """A number above all used ones when none can be read: milliseconds since 1970, by the clock or the file's stamp.

    No gateway records a thousand readings a second for its whole life, so the count of records stays below it.
    """
    with contextlib.suppress(OSError):
        return max(now.utc_us // 1000, int(path.stat().st_mtime * 1000))
    return now.utc_us // 1000


def _readable(database: Database, sql: str, is_sound: Callable[[Row], bool]) -> Iterator[Row]:
    """The sound rows up to the first that cannot be read."""
    with contextlib.suppress(StoreError):
        for row in database.stream(sql):
            if is_sound(row):
                yield row


def _is_last(row: Row) -> bool:
    return _has_types(row, (int, str, int, int, int)) and 0 <= row[0] < _PLAUSIBLE_MAX


def _is_state(row: Row) -> bool:
    if not _has_types(row, (str, str, str, int, int, int)):
        return False
    try:
        json.loads(row[1])
    except ValueError:
        return False
    return True


def _is_owed(row: Row) -> bool:
    optional = (int, type(None))
    if not _has_types(row, (str, int, str, str, str, int, str, str, int, int, optional, optional)):
        return False
    try:
        return message_of(json.loads(row[3])).dedupe_key == row[0] and row[4] in set(MessageStatus)
    except (ValueError, KeyError, TypeError):
        return False


def _has_types(row: Row, types: tuple[type | tuple[type, ...], ...]) -> bool:
    return all(isinstance(value, expected) for value, expected in zip(row, types, strict=True))
