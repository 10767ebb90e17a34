"""A journal in a list, for tests of what reads one."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.errors import StoreError
from gateway.model import Instant, Quality, Reading

__all__ = ["Listed", "ListedSource", "reading_record"]


@dataclass(frozen=True, slots=True)
class Listed:
    """One record."""

    seq: int
    kind: str
    at: Instant
    body: Reading | Mapping[str, Any]


def reading_record(seq: int, channel: str = "ph") -> Listed:
    """A reading whose value is its number."""
    at = Instant(seq * 1_000_000, seq * 1_000_000)
    return Listed(seq, "reading", at, Reading(channel, at, (seq % 65536,), float(seq), Quality.GOOD))


@dataclass
class ListedSource:
    """Records by number, the cursor as it would be on disk, what was parked, and how many calls fail first."""

    listed: list[Listed] = field(default_factory=list)
    stored_cursor: int = 0
    cursor_moves: list[int] = field(default_factory=list)
    parked: dict[int, str] = field(default_factory=dict)
    failing_reads: int = 0
    failing_parks: int = 0

    async def records(self, after_seq: int, limit: int, until_seq: int | None = None) -> tuple[Listed, ...]:
        """Records above one number and not above another."""
        await asyncio.sleep(0)
        if self.failing_reads:
            self.failing_reads -= 1
            raise StoreError("disk I/O error")
        end = self.listed[-1].seq if until_seq is None and self.listed else (until_seq or 0)
        return tuple(r for r in self.listed if after_seq < r.seq <= end)[:limit]

    async def last_seq(self) -> int:
        """The newest number."""
        return self.listed[-1].seq if self.listed else 0

    async def cursor(self, sink: str) -> int:
        """Where the last process left it."""
        return self.stored_cursor

    def move_cursor(self, sink: str, seq: int) -> None:
        """Remember every move."""
        self.cursor_moves.append(seq)
        self.stored_cursor = seq

    async def park(self, sink: str, seq: int, reason: str, now: Instant) -> None:
        """Remember the reason."""
        await asyncio.sleep(0)
        if self.failing_parks:
            self.failing_parks -= 1
            raise StoreError("disk full")
        self.parked[seq] = reason
