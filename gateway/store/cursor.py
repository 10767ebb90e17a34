"""How far each sink has come, and what it refused."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.model import Instant
from gateway.store.database import Database

__all__ = ["SinkCounts", "move", "park", "position", "rejected"]


@dataclass(frozen=True, slots=True)
class SinkCounts:
    """How far behind a sink is: records not acknowledged, the stamp of the oldest of them, records it refused."""

    unsent: int
    oldest_unsent_utc_us: int | None
    rejected: int


def move(database: Database, moves: Mapping[str, int], now: Instant) -> None:
    """Write the sinks' positions, inside the caller's transaction."""
    database.execute_many(
        "INSERT INTO cursor(sink, seq, utc_us, synced) VALUES (?, ?, ?, ?) ON CONFLICT (sink) DO UPDATE "
        "SET seq = excluded.seq, utc_us = excluded.utc_us, synced = excluded.synced",
        [(sink, seq, now.utc_us, int(now.synced)) for sink, seq in moves.items()],
    )


def position(database: Database, sink: str) -> int:
    """The last record the sink has acknowledged; 0 for a sink nobody has heard of."""
    row = database.row("SELECT seq FROM cursor WHERE sink = ?", (sink,))
    return 0 if row is None else int(row[0])


def park(database: Database, sink: str, seq: int, reason: str, now: Instant) -> None:
    """Set a refused record aside, in its own transaction; parking it again keeps the first reason."""
    with database.transaction():
        database.execute(
            "INSERT INTO reject(sink, seq, reason, utc_us, synced) VALUES (?, ?, ?, ?, ?) "
            "ON CONFLICT (sink, seq) DO NOTHING",
            (sink, seq, reason, now.utc_us, int(now.synced)),
        )


def rejected(database: Database, sink: str) -> int:
    """How many records the sink has refused."""
    row = database.row("SELECT count(*) FROM reject WHERE sink = ?", (sink,))
    return 0 if row is None else int(row[0])
