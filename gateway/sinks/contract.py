"""What a delivery asks of the journal and of a sink, and what it says about itself."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from gateway.model import Instant, Reading

__all__ = ["Counts", "Pace", "Record", "RecordSource", "Replayed", "Sink"]


class Record(Protocol):
    """One record of the journal. `kind` is reading, finding, alarm, message or note; a reading's body is a Reading."""

    @property
    def seq(self) -> int:
        """Its number: grows, and is never used twice."""
        ...

    @property
    def kind(self) -> str:
        """What it is."""
        ...

    @property
    def at(self) -> Instant:
        """When it happened."""
        ...

    @property
    def body(self) -> Reading | Mapping[str, Any]:
        """What it says."""
        ...


class RecordSource(Protocol):
    """What a delivery needs of the journal. Every call from the event loop; any may raise StoreError."""

    async def records(self, after_seq: int, limit: int, until_seq: int | None = None) -> Sequence[Record]:
        """Committed records with numbers above `after_seq` and not above `until_seq`, lowest first."""
        ...

    async def last_seq(self) -> int:
        """The number of the newest committed record, 0 when there is none."""
        ...

    async def cursor(self, sink: str) -> int:
        """Where this sink stands, 0 at first."""
        ...

    def move_cursor(self, sink: str, seq: int) -> None:
        """Remember the place; it reaches the disk with the next commit."""
        ...

    async def park(self, sink: str, seq: int, reason: str, now: Instant) -> None:
        """Put a refused record aside, durably."""
        ...


class Sink(Protocol):
    """One receiver of records. Every call from the event loop; `submit` and `current` never block and never raise."""

    @property
    def name(self) -> str:
        """The name its cursor is kept under."""
        ...

    @property
    def room(self) -> int:
        """How many more records it can take at this moment; 0 while it is down."""
        ...

    def watch(self, stir: Callable[[], None]) -> None:
        """Call `stir` whenever `room` may have grown for another reason than an answer."""
        ...

    def submit(self, record: Record, hist: bool) -> "asyncio.Future[None]":
        """Take one record. The future ends with None, Refused or TryLater, within a bounded time."""
        ...

    def current(self, record: Record) -> None:
        """Show the newest state of something now, ahead of the history that leads to it. Nothing is answered."""
        ...

    async def run(self) -> None:
        """Hold the connection until cancelled; a cancelled sink says goodbye first."""
        ...


@dataclass(frozen=True, slots=True)
class Pace:
    """How a delivery behaves when it is behind, and how it waits after a failure."""

    live_first_above: int = 1000
    hist_per_s: float = 100.0
    retry_base_s: float = 1.0
    retry_cap_s: float = 60.0


@dataclass(frozen=True, slots=True)
class Counts:
    """Since the start: handed over (repeats included), accepted, parked; and how many records still wait."""

    published: int = 0
    acknowledged: int = 0
    rejected: int = 0
    unsent: int = 0


@dataclass(frozen=True, slots=True)
class Replayed:
    """What became of a range sent again."""

    acknowledged: int
    rejected: int
