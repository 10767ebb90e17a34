"""The journal's tables, their version, and how an older file becomes a newer one.

The version is major.minor, kept in `meta` and as 1000 x major + minor in PRAGMA user_version. A minor version only adds
(tables, columns with a default), so the previous release can still read the file; a file of a newer major version is
refused and left untouched. Every migration is one transaction that also records itself.
"""

import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gateway.errors import Corrupt, NotOurs
from gateway.model import Instant
from gateway.store.database import Database, open_memory

__all__ = ["APPLICATION_ID", "MIGRATIONS", "MUTABLE", "Migration", "prepare"]

APPLICATION_ID = 0x4D484757  # "MHGW": says that a SQLite file is ours before anything is written to it
MUTABLE = ("state", "outbox", "cursor", "reject", "meta")  # small tables; batch and event only ever grow
_MINORS = 1000


@dataclass(frozen=True, slots=True)
class Migration:
    """The statements that lead to one version, applied in one transaction."""

    major: int
    minor: int
    statements: tuple[str, ...]

    @property
    def number(self) -> int:
        """As PRAGMA user_version holds it."""
        return self.major * _MINORS + self.minor

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


_BATCH = """CREATE TABLE batch(
  id INTEGER PRIMARY KEY,
  first_seq INTEGER NOT NULL,
  last_seq INTEGER NOT NULL,
  boot_id TEXT NOT NULL,
  utc_us INTEGER NOT NULL,
  mono_us INTEGER NOT NULL,
  synced INTEGER NOT NULL,
  prev_hash BLOB NOT NULL,
  hash BLOB NOT NULL,
  readings TEXT NOT NULL
) STRICT"""

_EVENT = """CREATE TABLE event(
  seq INTEGER PRIMARY KEY,
  batch_id INTEGER NOT NULL REFERENCES batch(id),
  kind TEXT NOT NULL CHECK (kind IN ('finding', 'alarm', 'message', 'note')),
  utc_us INTEGER NOT NULL,
  body TEXT NOT NULL
) STRICT"""

_STATE = """CREATE TABLE state(
  key TEXT PRIMARY KEY NOT NULL,
  body TEXT NOT NULL,
  boot_id TEXT NOT NULL,
  mono_us INTEGER NOT NULL,
  utc_us INTEGER NOT NULL,
  synced INTEGER NOT NULL
) STRICT"""

_OUTBOX = """CREATE TABLE outbox(
  dedupe_key TEXT PRIMARY KEY NOT NULL,
  seq INTEGER NOT NULL,
  recipient TEXT NOT NULL,
  body TEXT NOT NULL,
  status TEXT NOT NULL CHECK (status IN ('queued', 'sending', 'accepted', 'delivered', 'failed', 'unknown')),
  attempts INTEGER NOT NULL DEFAULT 0,
  provider_ref TEXT NOT NULL DEFAULT '',
  last_error TEXT NOT NULL DEFAULT '',
  queued_utc_us INTEGER NOT NULL,
  changed_utc_us INTEGER NOT NULL,
  accepted_utc_us INTEGER,
  delivered_utc_us INTEGER
) STRICT"""

_CURSOR = """CREATE TABLE cursor(
  sink TEXT PRIMARY KEY NOT NULL,
  seq INTEGER NOT NULL,
  utc_us INTEGER NOT NULL,
  synced INTEGER NOT NULL
) STRICT"""

_REJECT = """CREATE TABLE reject(
  sink TEXT NOT NULL,
  seq INTEGER NOT NULL,
  reason TEXT NOT NULL,
  utc_us INTEGER NOT NULL,
  synced INTEGER NOT NULL,
  PRIMARY KEY (sink, seq)
) STRICT"""

_META = "CREATE TABLE meta(key TEXT PRIMARY KEY NOT NULL, value TEXT NOT NULL) STRICT"

# Only what waits to be sent is indexed: delivered texts pile up for years.
_OUTBOX_DUE = "CREATE INDEX outbox_due ON outbox(seq) WHERE status IN ('queued', 'unknown')"


def _append_only(table: str, key: str) -> tuple[str, ...]:
    """Triggers that let rows only be added, each above the last. REPLACE fires no delete trigger, hence the third."""
    refuse = f"BEGIN SELECT RAISE(ABORT, '{table} is append-only'); END"
    not_rising = f"NEW.{key} <= (SELECT max({key}) FROM {table})"  # noqa: S608 - constants
    return (
        f"CREATE TRIGGER {table}_no_update BEFORE UPDATE ON {table} {refuse}",
        f"CREATE TRIGGER {table}_no_delete BEFORE DELETE ON {table} {refuse}",
        f"CREATE TRIGGER {table}_rising BEFORE INSERT ON {table} WHEN {not_rising} {refuse}",
    )


MIGRATIONS = (
    Migration(
        major=1,
        minor=0,
        statements=(
            *(_META, _BATCH, _EVENT, _STATE, _OUTBOX, _OUTBOX_DUE, _CURSOR, _REJECT),
            *_append_only("batch", "id"),
            *_append_only("event", "seq"),
            f"PRAGMA application_id={APPLICATION_ID}",
        ),
    ),
)


def prepare(
    database: Database,
    site_id: str,
    now: Instant,
    *,
    inaugurate: Callable[[], None] | None = None,
    migrations: Sequence[Migration] = MIGRATIONS,
) -> None:
    """Make a new file's tables or bring an older file up to date.

    `inaugurate` is called for a new file, inside the transaction that makes its tables.

    Raises StoreError when the file is not a journal, is of a newer major version, or is another site's; Corrupt when
    its tables or triggers are not the ones its version says. Nothing is written in any of these cases.
    """
    found = database.rows("PRAGMA user_version")[0][0]
    known = migrations[-1]
    if found == 0:
        if database.row("SELECT 1 FROM sqlite_master"):
            raise NotOurs(f"{database.path}: a SQLite file, but not a journal; it is left as it is")
    elif database.rows("PRAGMA application_id")[0][0] != APPLICATION_ID:
        raise NotOurs(f"{database.path}: not a journal of this product; it is left as it is")
    elif found // _MINORS > known.major:
        raise NotOurs(
            f"{database.path}: journal schema {found // _MINORS}.{found % _MINORS} is newer than this release "
            f"understands ({known}); install the newer release, or move the file away to start a new one"
        )
    else:
        _check_shape(database, [migration for migration in migrations if migration.number <= found])
        _check_site(database, site_id)
    for migration in migrations:
        if migration.number > found:
            first_words = inaugurate if found == 0 and migration is migrations[0] else None
            _apply(database, migration, site_id, now, first_words)


def _apply(
    database: Database, migration: Migration, site_id: str, now: Instant, inaugurate: Callable[[], None] | None
) -> None:
    with database.transaction():
        for statement in migration.statements:
            database.execute(statement)
        database.execute(f"PRAGMA user_version={migration.number}")
        entries = {"site": site_id, "schema": str(migration), f"migrated.{migration}": str(now.utc_us)}
        for entry in entries.items():
            database.execute("INSERT OR REPLACE INTO meta(key, value) VALUES (?, ?)", entry)
        if inaugurate is not None:
            inaugurate()


def _check_site(database: Database, site_id: str) -> None:
    owner = database.row("SELECT value FROM meta WHERE key = 'site'")
    if owner is None:
        raise Corrupt(f"{database.path}: the journal does not say which site it belongs to")
    if owner[0] != site_id:
        raise NotOurs(f"{database.path}: this is the journal of site {owner[0]!r}, not of {site_id!r}")


def _check_shape(database: Database, applied: Sequence[Migration]) -> None:
    """Corrupt unless every table, index and trigger is word for word what the migrations make; extras are let be."""
    if database.rows("PRAGMA user_version")[0][0] > applied[-1].number:
        return  # a newer minor version may have added columns; nothing here can say which
    with contextlib.closing(open_memory()) as fresh:
        for migration in applied:
            for statement in migration.statements:
                fresh.execute(statement)
        expected = _objects(fresh)
    found = _objects(database)
    for name, sql in expected.items():
        if found.get(name) != sql:
            what = "is missing" if name not in found else "is not as it was made"
            raise Corrupt(f"{database.path}: {name} {what}")


def _objects(database: Database) -> dict[str, str]:
    return dict(database.rows("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"))
