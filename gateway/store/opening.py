"""Opening a journal: checked before it is trusted, and replaced when it cannot be.

A file that is not sound is put aside, never repaired in place and never deleted. Its successor is complete under
another name before the old file is moved: a power cut in between leaves one or the other, never an empty start.
"""

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.errors import Corrupt, StoreError
from gateway.model import Instant
from gateway.store import outbox, schema
from gateway.store.chain import GENESIS, Head, matches_own_hash
from gateway.store.database import Database, open_writer
from gateway.store.files import companions, is_remnant, quarantine, sync_directory
from gateway.store.salvage import Salvage, by_time, carry_over, salvage

__all__ = ["Recovered", "Replaced", "head_of", "open_sound", "recovered", "replace"]

FULL_CHECK_MAX_BYTES = 256 << 20  # checking more would keep a gateway on a memory card from starting for minutes


@dataclass(frozen=True, slots=True)
class Recovered:
    """What a journal knew when it was opened.

    `state` is every durable key; `last` the moment of the last commit, on the monotonic axis of boot `last_boot_id`;
    `same_boot` whether that axis is still the present one (an unknown boot id is never the same). `quarantined` is the
    new name of a file that was not sound: then state and owed texts are what could be saved of it. `records` counts
    what is in the file now.
    """

    state: dict[str, Any]
    last: Instant | None
    same_boot: bool
    last_boot_id: str | None
    quarantined: Path | None
    records: int


@dataclass(frozen=True, slots=True)
class Replaced:
    """A broken file that was put aside, and why."""

    file: Path
    reason: str


def open_sound(path: Path, site_id: str, now: Instant, *, whole_check: bool) -> Database:
    """Open a journal and prove it usable, or make a new one where there is none.

    Checks, in this order: SQLite's structure (the whole file up to `FULL_CHECK_MAX_BYTES` or when `whole_check`, else
    the small tables), the schema, the hash of the last batch, every state body, every owed text. Raises Corrupt when
    one fails, StoreError when the file is not ours to use.
    """
    _finish_replacement(path)
    if is_remnant(path):
        raise Corrupt(f"{path}: what is left of the file is not a journal")
    is_new = not path.exists()
    database = open_writer(path)
    try:
        small_enough = path.stat().st_size <= FULL_CHECK_MAX_BYTES
        known = database.row("SELECT 1 FROM sqlite_master WHERE name = 'meta'") is not None
        database.quick_check(() if whole_check or small_enough or not known else schema.MUTABLE)
        schema.prepare(database, site_id, now)
        if is_new:
            sync_directory(path.parent)
        _check_contents(database, site_id)
    except BaseException:
        with contextlib.suppress(StoreError):
            database.close()
        raise
    return database


def replace(path: Path, site_id: str, now: Instant, reason: str) -> Replaced:
    """Put a broken file aside and leave a new one in its place, with what could be saved of state and owed texts."""
    fresh = _fresh(path)
    for leftover in companions(fresh):
        leftover.unlink(missing_ok=True)
    saved = Salvage(by_time(path, now)) if is_remnant(path) else salvage(path, now)
    with contextlib.closing(open_writer(fresh)) as database:
        schema.prepare(database, site_id, now, inaugurate=lambda: carry_over(database, saved))
    aside = quarantine(path, now)
    _finish_replacement(path)
    return Replaced(aside, reason)


def head_of(database: Database) -> Head:
    """The end of the chain; a file without batches begins where its predecessor ended."""
    row = database.row("SELECT id, last_seq, hash FROM batch ORDER BY id DESC LIMIT 1")
    if row is not None:
        return Head(*row)
    return Head(0, _origin(database).get("seq_base", 0), GENESIS)


def recovered(database: Database, boot_id: str, quarantined: Path | None) -> Recovered:
    """What the open journal knows."""
    row = database.row("SELECT utc_us, mono_us, synced, boot_id FROM batch ORDER BY id DESC LIMIT 1")
    origin = _origin(database)
    last, last_boot_id, records = None, None, 0
    if row is not None:
        last, last_boot_id = Instant(row[0], row[1], bool(row[2])), str(row[3])
        first = database.rows("SELECT first_seq FROM batch ORDER BY id LIMIT 1")[0][0]
        records = head_of(database).last_seq - first + 1
    elif "utc_us" in origin:
        last, last_boot_id = Instant(origin["utc_us"], origin["mono_us"], origin["synced"]), origin["boot_id"]
    same_boot = last_boot_id == boot_id != "unknown"
    return Recovered(_state(database), last, same_boot, last_boot_id, quarantined, records)


def _check_contents(database: Database, site_id: str) -> None:
    """What SQLite cannot know: that the end can be built on and that nothing owed has become unreadable."""
    if not matches_own_hash(database, site_id, head_of(database).batch_id):
        raise Corrupt(f"{database.path}: the last batch does not match its own hash")
    _state(database)
    outbox.due(database)


def _state(database: Database) -> dict[str, Any]:
    try:
        return {key: json.loads(body) for key, body in database.rows("SELECT key, body FROM state ORDER BY key")}
    except ValueError as error:
        raise Corrupt(f"{database.path}: a state body is not JSON: {error}") from error


def _origin(database: Database) -> dict[str, Any]:
    row = database.row("SELECT value FROM meta WHERE key = 'origin'")
    if row is None:
        return {}
    try:
        origin: dict[str, Any] = json.loads(row[0])
    except ValueError as error:
        raise Corrupt(f"{database.path}: what the file came from is not JSON: {error}") from error
    return origin


def _fresh(path: Path) -> Path:
    return path.with_name(path.name + ".new")


def _finish_replacement(path: Path) -> None:
    """Move a complete successor into a place that is empty."""
    fresh = _fresh(path)
    if fresh.exists() and not any(name.exists() for name in companions(path)):
        try:
            fresh.rename(path)
            sync_directory(path.parent)
        except OSError as error:
            raise StoreError(f"{fresh}: cannot take the place of {path.name}: {error.strerror}") from error
