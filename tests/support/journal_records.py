"""Records for the journal's tests: small, complete, each different from the next."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

from gateway.model import (
    AlarmEdge,
    AlarmEvent,
    AlarmState,
    Finding,
    FindingEvent,
    Instant,
    Message,
    MessageKind,
    Note,
    Outcome,
    Quality,
    Reading,
    Severity,
    Verdict,
)
from gateway.store.journal import Journal, Record

__all__ = ["SITE", "all_records", "full_outcome", "instant", "message", "note", "readings", "tamper", "write_batches"]

SITE = "lv-mh3"
START_US = 1_893_456_000_000_000  # 2030-01-01T00:00:00Z


def instant(second: int, *, synced: bool = True) -> Instant:
    """A moment that many seconds into the test."""
    return Instant(START_US + second * 1_000_000, second * 1_000_000 + 77, synced)


def readings(second: int, count: int = 2) -> tuple[Reading, ...]:
    """Readings of `count` channels at one moment, with raw words that name second and channel."""
    return tuple(
        Reading(f"ch{n}", instant(second), (second % 65536, n), second + n / 7, Quality.GOOD) for n in range(count)
    )


def message(key: str, second: int = 0) -> Message:
    """An owed text."""
    return Message(
        "superintendent", f"pH 11.96 {key}", key, instant(second), MessageKind.RAISED, Severity.HIGH, "lv-ph-high", 1
    )


def note(second: int, kind: str = "command") -> Note:
    """A note that says its own second."""
    return Note(kind, instant(second), {"second": second})


def full_outcome(second: int) -> Outcome:
    """Two readings and one event of every kind."""
    finding = Finding(
        FindingEvent.RAISED, "lv-ph-high", "§ 194-6C(2)", "ch0", Verdict.EXCEEDED, instant(second), instant(second),
        30_000_000, "above 9.5", "pH", observed=11.96, limit=9.5, hashes={"pack": "p"},
    )  # fmt: skip
    event = AlarmEvent(
        "lv-ph-high", 1, AlarmEdge.RAISED, instant(second), Severity.HIGH, AlarmState.NORMAL,
        AlarmState.UNACKNOWLEDGED, finding=finding,
    )  # fmt: skip
    return Outcome(
        readings=readings(second), findings=(finding,), alarm_events=(event,),
        messages=(message(f"lv-ph-high:{second}:raised:0:superintendent", second),), notes=(note(second),),
        state={"second": second}, urgent=True,
    )  # fmt: skip


async def write_batches(path: Path, count: int, make: Callable[[int], Outcome] = full_outcome) -> None:
    """A journal of that many commits, a second apart, closed."""
    journal = Journal(path, SITE, "boot-1")
    await journal.open(instant(0))
    for second in range(1, count + 1):
        journal.add(make(second))
        await journal.commit(instant(second))
    await journal.close(instant(count))


async def all_records(journal: Journal, page: int = 1000) -> list[Record]:
    """Everything committed, read a page at a time."""
    found: list[Record] = []
    while got := await journal.records(found[-1].seq if found else 0, page):
        found.extend(got)
    return found


def tamper(path: Path, *statements: str) -> None:
    """Change the file as someone with the database tool would: triggers dropped first, put back afterwards."""
    connection = sqlite3.connect(path)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    for statement in statements:
        connection.execute(statement)
    for _, sql in triggers:
        connection.execute(sql)
    connection.commit()
    connection.close()
