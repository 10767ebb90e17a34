"""What a journal file says, read here by other means than the gateway's own."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

__all__ = ["events", "readings", "texts"]


def _rows(path: Path, sql: str, parameters: tuple[str, ...] = ()) -> list[tuple[Any, ...]]:
    if not path.exists():
        return []
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True, timeout=5)) as database:
        if not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'meta'").fetchall():
            return []  # the file is there, its tables not yet
        return database.execute(sql, parameters).fetchall()


def events(path: Path, kind: str) -> list[dict[str, Any]]:
    """The bodies of every finding, alarm, message or note, in order."""
    return [json.loads(body) for (body,) in _rows(path, "SELECT body FROM event WHERE kind = ? ORDER BY seq", (kind,))]


def readings(path: Path, channel: str, *, in_between: bool = True) -> list[tuple[int, float | None, int]]:
    """(monotonic us, value, quality) of every reading of a channel, in order, with those in between the schedule's."""
    found = []
    for (packed,) in _rows(path, "SELECT readings FROM batch ORDER BY id"):
        for _, mono_us, _, *rows in json.loads(packed):
            own = [row for row in rows if row[0] == channel and (in_between or "between" not in (*row, ())[4])]
            found += [(mono_us, row[2], row[3]) for row in own]
    return found


def texts(path: Path) -> list[dict[str, Any]]:
    """The bodies of every text that was ever owed, with its status."""
    rows = _rows(path, "SELECT body, status FROM outbox ORDER BY seq")
    return [json.loads(body) | {"status": status} for body, status in rows]
