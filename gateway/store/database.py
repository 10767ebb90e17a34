"""The one door to SQLite: opens connections as the journal needs them and translates every error.

A `Database` is one connection and belongs to the thread that opened it. There is one writer, and only the writer
checkpoints; readers are opened read-only. WAL with synchronous=FULL lost no acknowledged commit in any simulated power
cut, while NORMAL and DELETE+FULL did; memory mapping is off and no second connection checkpoints because of SQLite's
WAL-reset defect (fixed only in 3.51.3).
"""

import contextlib
import sqlite3
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from gateway.errors import Corrupt, DiskFull, StoreError

__all__ = ["Database", "Row", "open_foreign", "open_memory", "open_reader", "open_writer"]

Row = tuple[Any, ...]
Parameters = Sequence[Any] | Mapping[str, Any]

_BUSY_S = 5.0
_PRIMARY = 0xFF  # the low byte of an extended result code is the primary one
_COMMON = ("PRAGMA mmap_size=0", "PRAGMA trusted_schema=OFF", "PRAGMA temp_store=MEMORY")
_WRITER = ("PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON", "PRAGMA secure_delete=OFF")


class Database:
    """One connection. Every method raises StoreError, DiskFull or Corrupt, never SQLite's own."""

    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self.path = path

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Row]:
        """All rows of a query."""
        with self._translating():
            return self._connection.execute(sql, parameters).fetchall()

    def row(self, sql: str, parameters: Sequence[Any] = ()) -> Row | None:
        """The first row of a query, None when there is none."""
        with self._translating(), contextlib.closing(self._connection.execute(sql, parameters)) as cursor:
            found: Row | None = cursor.fetchone()
            return found

    def stream(self, sql: str, parameters: Sequence[Any] = ()) -> Generator[Row, None, None]:
        """The rows of a query one by one; close the iterator to end the read early."""
        with self._translating(), contextlib.closing(self._connection.execute(sql, parameters)) as cursor:
            yield from cursor

    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run one statement; returns how many rows it changed."""
        with self._translating():
            return self._connection.execute(sql, parameters).rowcount

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        """Run one statement for every row."""
        with self._translating():
            self._connection.executemany(sql, rows)

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """All of the block or nothing of it, durable when the block has been left without an exception."""
        self.execute("BEGIN IMMEDIATE")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:  # some failures have rolled back already
                with contextlib.suppress(StoreError):
                    self.execute("ROLLBACK")
            raise

    @contextlib.contextmanager
    def snapshot(self) -> Iterator[None]:
        """One unchanging view of the file for every read in the block."""
        self.execute("BEGIN")
        try:
            yield
        finally:
            if self._connection.in_transaction:
                self.execute("ROLLBACK")

    def quick_check(self, tables: Sequence[str] = ()) -> None:
        """SQLite's own check of the whole file, or of the named tables only; Corrupt with the first fault found."""
        for argument in tables or ("1",):
            found = self.rows(f"PRAGMA quick_check({argument})")
            if found != [("ok",)]:
                raise Corrupt(f"{self.path}: {found[0][0] if found else 'quick_check gave no answer'}")

    def limit_bytes(self, max_bytes: int) -> None:
        """Let the file grow to `max_bytes` at most; a commit beyond it is DiskFull."""
        page = self.rows("PRAGMA page_size")[0][0]
        self.execute(f"PRAGMA max_page_count={max(1, max_bytes // page)}")

    def close(self) -> None:
        """Close the connection; the last one to close folds the write-ahead log into the file."""
        with self._translating():
            self._connection.close()

    @contextlib.contextmanager
    def _translating(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise _translated(error, self.path) from error


def open_writer(path: Path) -> Database:
    """The writer's connection: WAL, synchronous=FULL, foreign keys; the file is made when it is absent.

    Raises StoreError when the place is unusable, Corrupt when the file is not a database.
    """
    database = _connect(path, f"{path.absolute().as_uri()}?mode=rwc")
    try:
        for pragma in (*_COMMON, *_WRITER):
            database.execute(pragma)
        mode = database.rows("PRAGMA journal_mode=WAL")[0][0]
    except BaseException:
        database.close()
        raise
    if mode != "wal":
        database.close()
        raise StoreError(f"{path}: this file system cannot hold a write-ahead log (journal mode {mode})")
    return database


def open_reader(path: Path) -> Database:
    """A connection that can change nothing. StoreError when there is no file."""
    database = _connect(path, f"{path.absolute().as_uri()}?mode=ro")
    try:
        for pragma in (*_COMMON, "PRAGMA query_only=ON"):
            database.execute(pragma)
    except BaseException:
        database.close()
        raise
    return database


def open_foreign(path: Path) -> Database:
    """Another program's database, as that program keeps it: nothing of its settings is touched.

    StoreError when there is no file.
    """
    return _connect(path, f"{path.absolute().as_uri()}?mode=rw")


def open_memory() -> Database:
    """A database without a file, to see what a schema looks like once made."""
    return _connect(Path(":memory:"), "file::memory:")


def _connect(path: Path, uri: str) -> Database:
    try:
        # isolation_level=None: transactions begin and end where this package says so
        return Database(sqlite3.connect(uri, uri=True, timeout=_BUSY_S, isolation_level=None), path)
    except sqlite3.Error as error:
        raise _translated(error, path) from error


def _translated(error: sqlite3.Error, path: Path) -> StoreError:
    code: int | None = getattr(error, "sqlite_errorcode", None)
    name: str = getattr(error, "sqlite_errorname", type(error).__name__)
    text = f"{path}: {error} ({name})"
    if code is None:  # raised by the binding: text that is not UTF-8
        return Corrupt(text) if isinstance(error, sqlite3.OperationalError) else StoreError(text)
    if code & _PRIMARY == sqlite3.SQLITE_FULL:
        return DiskFull(text)
    if code & _PRIMARY in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Corrupt(text)
    return StoreError(text)
