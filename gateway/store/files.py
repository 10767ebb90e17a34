"""The journal as files: who holds it, how a broken one is put aside, how a directory entry is made durable."""

import contextlib
import fcntl
import os
from datetime import UTC, datetime
from pathlib import Path

from gateway.errors import NotOurs, StoreError
from gateway.model import Instant

__all__ = ["Hold", "companions", "free_name", "is_remnant", "quarantine", "sync_directory"]

_SUFFIXES = ("", "-wal", "-shm")  # the file itself first: a new file must never meet the old write-ahead log


class Hold:
    """The right to write one journal, kept by an exclusive lock on `<name>.lock` until released or the process dies.

    The lock is on a file of its own because closing any descriptor of the database would drop SQLite's own locks.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._descriptor: int | None = None

    def take(self) -> None:
        """Take the lock; a second call is free. StoreError when another process has it or the place is unusable."""
        if self._descriptor is not None:
            return
        try:
            descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise StoreError(f"{self._path}: {error.strerror}") from error
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(descriptor)
            raise NotOurs(f"{self._path}: another gateway is writing this journal") from error
        self._descriptor = descriptor

    def release(self) -> None:
        """Let go; harmless when not held."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


def companions(path: Path) -> tuple[Path, ...]:
    """The database file and what SQLite keeps beside it, the file itself first."""
    return tuple(path.with_name(path.name + suffix) for suffix in _SUFFIXES)


def is_remnant(path: Path) -> bool:
    """Whether something is left of a journal that cannot be one: an emptied file, or a write-ahead log alone.

    SQLite would take either for a new database and delete the log.
    """
    main, wal, _ = companions(path)
    if main.exists():
        return main.stat().st_size == 0
    return wal.exists() and wal.stat().st_size > 0


def free_name(path: Path, word: str, now: Instant) -> Path:
    """`<name>.<word>-<utc stamp>`, numbered from 2 on where it is taken."""
    stamp = datetime.fromtimestamp(now.utc_us // 1_000_000, UTC).strftime("%Y%m%dT%H%M%SZ")
    target = path.with_name(f"{path.name}.{word}-{stamp}")
    number = 1
    while any(name.exists() for name in companions(target)):
        number += 1
        target = path.with_name(f"{path.name}.{word}-{stamp}-{number}")
    return target


def quarantine(path: Path, now: Instant) -> Path:
    """Rename the file and its companions to `<name>.corrupt-<utc stamp>`; returns the new name of the file.

    Nothing is deleted, so that what is left can be examined and recovered. StoreError when it cannot be renamed.
    """
    target = free_name(path, "corrupt", now)
    try:
        for source, destination in zip(companions(path), companions(target), strict=True):
            with contextlib.suppress(FileNotFoundError):
                source.rename(destination)
        sync_directory(path.parent)
    except OSError as error:
        raise StoreError(f"{path}: cannot be put aside as {target.name}: {error.strerror}") from error
    return target


def sync_directory(directory: Path) -> None:
    """Make renames and creations in a directory survive a power cut. OSError when the directory cannot be synced."""
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
