"""A journal whose file was taken away while in use: what is still open is written out again, so nothing is lost."""

import contextlib
import os
from pathlib import Path

from gateway.errors import StoreError
from gateway.model import Instant
from gateway.store.database import Database
from gateway.store.files import companions, free_name, quarantine, sync_directory

__all__ = ["FileId", "file_id", "rescue"]

FileId = tuple[int, int]
"""Device and inode: what a file is, whatever it is called."""


def file_id(path: Path) -> FileId | None:
    """Which file stands there now, None when there is none. StoreError when the place cannot be looked at."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StoreError(f"{path}: {error.strerror}") from error
    return found.st_dev, found.st_ino


def rescue(database: Database, path: Path, now: Instant) -> tuple[Path, str]:
    """Write the whole open journal into a file again and close it; where it is now, and what had happened.

    Where nothing stands in its place it is the journal again; beside a file that somebody put there, which is not
    touched, it becomes `<name>.displaced-<utc stamp>`. StoreError, with the old file still open, when it cannot be
    written.
    """
    gone = file_id(path) is None
    copy = path.with_name(path.name + ".rescue") if gone else free_name(path, "displaced", now)
    copy.unlink(missing_ok=True)
    database.execute("VACUUM INTO ?", (str(copy),))
    with copy.open("rb") as file:
        os.fsync(file.fileno())
    with contextlib.suppress(StoreError):
        database.close()
    if not gone:
        sync_directory(path.parent)
        return copy, "another file was put in its place while it was in use"
    if any(name.exists() for name in companions(path)):
        quarantine(path, now)  # its write-ahead log, which means nothing without it
    copy.rename(path)
    sync_directory(path.parent)
    return path, "it was deleted while in use, and was written again from what was still open"
