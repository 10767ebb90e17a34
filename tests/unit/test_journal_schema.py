"""The file itself: its version, its append-only tables, and which files are refused untouched."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

import pytest

from gateway.errors import Corrupt, StoreError
from gateway.model import Instant
from gateway.store import schema
from gateway.store.database import open_writer
from gateway.store.journal import Journal, Recovered
from gateway.store.schema import MIGRATIONS, Migration, prepare
from tests.support.journal_records import SITE, full_outcome, instant, write_batches


def open_once(path: Path, site_id: str = SITE) -> Recovered:
    """Open and close as a new process would."""

    async def run() -> Recovered:
        journal = Journal(path, site_id, "boot-2")
        try:
            return await journal.open(instant(100))
        finally:
            with contextlib.suppress(StoreError):
                await journal.close(instant(100))

    return asyncio.run(run())


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A journal of three commits, closed."""
    path = tmp_path / "j.db"
    asyncio.run(write_batches(path, 3))
    return path


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE batch SET utc_us = 1 WHERE id = 2",
        "DELETE FROM batch WHERE id = 3",
        "INSERT OR REPLACE INTO batch SELECT id, first_seq, last_seq, 'b', 1, 1, 1, hash, hash, '[]' FROM batch",
        "INSERT INTO batch SELECT 0, 1, 1, 'b', 1, 1, 1, hash, hash, '[]' FROM batch WHERE id = 1",
        "UPDATE event SET body = '{}'",
        "DELETE FROM event WHERE seq = 3",
        "REPLACE INTO event VALUES (3, 1, 'note', 1, '{}')",
        "INSERT INTO event VALUES (1, 1, 'note', 1, '{}')",
    ],
)
def test_the_record_can_only_grow(written: Path, statement: str) -> None:
    """No statement changes, deletes, replaces or slips in a batch or an event, on any connection."""
    connection = sqlite3.connect(written)
    with pytest.raises(sqlite3.IntegrityError, match="append-only"):
        connection.execute(statement)
    connection.close()


def test_the_version_is_in_the_file_twice(written: Path) -> None:
    """PRAGMA user_version and `meta` both say 1.0, and `meta` when it was made and for which site."""
    connection = sqlite3.connect(written)
    assert connection.execute("PRAGMA user_version").fetchone() == (1000,)
    assert connection.execute("PRAGMA application_id").fetchone() == (int.from_bytes(b"MHGW", "big"),)
    meta = dict(connection.execute("SELECT key, value FROM meta"))
    assert meta == {"schema": "1.0", "site": SITE, "migrated.1.0": str(instant(0).utc_us)}
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


def test_the_writer_syncs_every_commit(tmp_path: Path) -> None:
    """The writing connection is WAL with synchronous=FULL, foreign keys on, no secure delete, no memory mapping."""
    with contextlib.closing(open_writer(tmp_path / "j.db")) as database:
        names = ("journal_mode", "synchronous", "foreign_keys", "secure_delete", "mmap_size")
        found = [(database.rows(f"PRAGMA {name}") or [(0,)])[0][0] for name in names]
    assert found == ["wal", 2, 1, 0, 0]


def test_a_newer_major_version_is_refused_untouched(written: Path) -> None:
    """A file of schema 2.3 is refused by name of both versions and stays byte for byte as it was."""
    connection = sqlite3.connect(written)
    connection.execute("PRAGMA user_version=2003")
    connection.close()
    before = written.read_bytes()
    with pytest.raises(StoreError, match=r"schema 2\.3 is newer than this release understands \(1\.0\)") as raised:
        open_once(written)
    assert not isinstance(raised.value, Corrupt)
    assert written.read_bytes() == before


def test_a_newer_minor_version_can_be_used(written: Path) -> None:
    """The previous release works on a file to which the next one has added a column and a table."""
    connection = sqlite3.connect(written)
    connection.execute("ALTER TABLE outbox ADD COLUMN cost INTEGER NOT NULL DEFAULT 0")
    connection.execute("CREATE TABLE signature(seq INTEGER PRIMARY KEY) STRICT")
    connection.execute("PRAGMA user_version=1001")
    connection.close()
    found = open_once(written)
    assert (found.records, found.quarantined) == (18, None)
    connection = sqlite3.connect(written)
    assert connection.execute("PRAGMA user_version").fetchone() == (1001,)
    connection.close()


NEXT = Migration(1, 1, ("ALTER TABLE outbox ADD COLUMN cost INTEGER NOT NULL DEFAULT 0",))


def test_a_migration_is_recorded_and_done_once(written: Path) -> None:
    """An older file gets the addition, `meta` says when, and the next opening changes nothing."""
    with contextlib.closing(open_writer(written)) as database:
        for second in (200, 300):
            prepare(database, SITE, instant(second), migrations=(*MIGRATIONS, NEXT))
        meta = dict(database.rows("SELECT key, value FROM meta"))
        assert meta["schema"] == "1.1"
        assert meta["migrated.1.1"] == str(instant(200).utc_us)
        assert database.rows("PRAGMA user_version") == [(1001,)]
        assert database.rows("SELECT DISTINCT cost FROM outbox") == [(0,)]


def test_a_migration_that_fails_leaves_the_file_as_it_was(written: Path) -> None:
    """Its statements and its record are one transaction: a failure half-way undoes the first half."""
    broken = Migration(1, 1, (*NEXT.statements, "CREATE TABLE batch(id INTEGER)"))
    with contextlib.closing(open_writer(written)) as database:
        with pytest.raises(StoreError, match="batch already exists"):
            prepare(database, SITE, instant(200), migrations=(*MIGRATIONS, broken))
        assert database.rows("PRAGMA user_version") == [(1000,)]
    assert open_once(written).quarantined is None


def test_another_sites_journal_is_refused(written: Path) -> None:
    """A card moved to another cabinet is not continued under the wrong name."""
    with pytest.raises(StoreError, match="journal of site 'lv-mh3', not of 'mb-mh1'"):
        open_once(written, "mb-mh1")


@pytest.mark.parametrize("version", [0, 7])
def test_someone_elses_database_is_refused(tmp_path: Path, version: int) -> None:
    """A SQLite file that is no journal is neither written to nor put aside."""
    path = tmp_path / "weather.db"
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE rain(mm REAL)")
    connection.execute(f"PRAGMA user_version={version}")
    connection.close()
    with pytest.raises(StoreError, match="left as it is"):
        open_once(path)
    connection = sqlite3.connect(path)
    assert [row[0] for row in connection.execute("SELECT name FROM sqlite_master")] == ["rain"]
    connection.close()


def test_a_missing_directory_is_named(tmp_path: Path) -> None:
    """A data partition that is not mounted is an error that names the directory; none is made in its place."""
    with pytest.raises(StoreError, match="data: no such directory"):
        open_once(tmp_path / "data" / "j.db")
    assert not (tmp_path / "data").exists()


def test_two_gateways_never_write_one_journal(tmp_path: Path) -> None:
    """The second one is told, and the first goes on; after it has ended the file is free."""
    path = tmp_path / "j.db"

    async def run() -> None:
        first, second = Journal(path, SITE, "boot-1"), Journal(path, SITE, "boot-1")
        await first.open(instant(0))
        with pytest.raises(StoreError, match="another gateway is writing"):
            await second.open(instant(0))
        first.add(full_outcome(1))
        assert (await first.commit(instant(1))).last_seq == 6
        await first.close(instant(2))
        assert (await second.open(instant(3))).records == 6
        await second.close(instant(4))

    asyncio.run(run())


def test_missing_triggers_are_not_overlooked(written: Path) -> None:
    """A file whose tables or triggers are not word for word as made is not trusted to be append-only."""
    connection = sqlite3.connect(written)
    connection.execute("DROP TRIGGER event_no_update")
    connection.close()
    missing = pytest.raises(Corrupt, match="event_no_update is missing")
    with contextlib.closing(open_writer(written)) as database, missing:
        prepare(database, SITE, instant(1))


def test_the_schema_says_which_tables_are_small() -> None:
    """Every table is either append-only or in the list that is checked however large the file is."""
    made = {
        s.split("(")[0].split()[-1] for m in schema.MIGRATIONS for s in m.statements if s.startswith("CREATE TABLE")
    }
    assert made == {"batch", "event", *schema.MUTABLE}


def test_prepare_takes_its_time_from_the_caller(tmp_path: Path) -> None:
    """The stamp of a migration is the moment handed in, in 1970 as in 2038."""
    for utc_us in (0, 2_145_916_800_000_000):
        with contextlib.closing(open_writer(tmp_path / f"{utc_us}.db")) as database:
            prepare(database, SITE, Instant(utc_us, 0))
            assert database.rows("SELECT value FROM meta WHERE key = 'migrated.1.0'") == [(str(utc_us),)]
