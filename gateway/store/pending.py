"""What waits for the next commit, in the order it came, bounded.

When the disk takes nothing, readings pile up to `READINGS_MAX`; then the oldest readings go first, counted, and the
next commit that succeeds begins with a note `readings_shed` saying how many and of which span. Events (findings, alarm
events, messages, notes) and state are never shed.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from gateway.model import Instant, Note, Outcome
from gateway.store.records import EventDraft, encode_readings, encode_state, event_drafts

__all__ = ["BATCH_RECORDS_MAX", "READINGS_MAX", "Pending", "ReadingsRun", "Shed", "Taken", "packed"]

READINGS_MAX = 100_000  # about 9 MB as text; 14 hours of 10 channels at 5 s
BATCH_RECORDS_MAX = 2_000  # a commit after a long outage makes several batches, so that no reader parses a huge one
_SHED_TO = 0.95  # shed a little more than needed: the search for the oldest is not repeated for every reading


@dataclass(frozen=True, slots=True)
class ReadingsRun:
    """Consecutive readings as encoded rows, without the outer brackets."""

    text: str
    count: int
    from_utc_us: int
    to_utc_us: int


@dataclass(frozen=True, slots=True)
class Shed:
    """Readings given up because nothing could be written."""

    count: int
    from_utc_us: int
    to_utc_us: int

    def __add__(self, other: "Shed") -> "Shed":
        return Shed(
            self.count + other.count,
            min(self.from_utc_us, other.from_utc_us),
            max(self.to_utc_us, other.to_utc_us),
        )

    def note(self, now: Instant) -> Note:
        """What the record says of it."""
        body = {"count": self.count, "from_utc_us": self.from_utc_us, "to_utc_us": self.to_utc_us}
        return Note("readings_shed", now, body)


Item = ReadingsRun | EventDraft


@dataclass(frozen=True, slots=True)
class Taken:
    """Everything one commit tries to write. `state` maps each key to its JSON, None to remove the key."""

    items: tuple[Item, ...] = ()
    state: dict[str, str | None] = field(default_factory=dict)
    shed: Shed | None = None

    @property
    def records(self) -> int:
        """How many records these are."""
        return sum(item.count if isinstance(item, ReadingsRun) else 1 for item in self.items)

    def __bool__(self) -> bool:
        return bool(self.items or self.state or self.shed)


class Pending:
    """The buffer itself. Event-loop side only."""

    def __init__(self, readings_max: int = READINGS_MAX) -> None:
        self._readings_max = readings_max
        self._items: list[Item] = []
        self._state: dict[str, str | None] = {}
        self._shed: Shed | None = None
        self.readings = 0
        self.events = 0
        self.shed_total = 0

    def add(self, outcome: Outcome) -> None:
        """Buffer one outcome: readings, then its events. TypeError or ValueError when it cannot be written as JSON.

        An outcome that cannot be written leaves nothing behind: it must not spoil the commit of the others.
        """
        runs = [_run(outcome, start) for start in range(0, len(outcome.readings), BATCH_RECORDS_MAX)]
        events = list(event_drafts(outcome))
        state = {_storable(key): None if value is None else encode_state(value) for key, value in outcome.state.items()}
        for message in outcome.messages:
            _storable(message.dedupe_key + message.recipient)
        self._items.extend(runs)
        self._items.extend(events)
        self._state.update(state)
        self.readings += len(outcome.readings)
        self.events += len(events)
        self._keep_bound()

    def take(self) -> Taken:
        """Hand over everything; the buffer is empty afterwards."""
        taken = Taken(tuple(self._items), self._state, self._shed)
        self._items, self._state, self._shed, self.readings, self.events = [], {}, None, 0, 0
        return taken

    def restore(self, taken: Taken) -> None:
        """Put back, before what came since, what could not be written."""
        self._items[:0] = taken.items
        self._state = {**taken.state, **self._state}
        if taken.shed is not None:
            self._shed = taken.shed if self._shed is None else taken.shed + self._shed
        self._count()
        self._keep_bound()

    def forget(self, taken: Taken) -> None:
        """Drop what turned out to have been written after all, though the commit had reported a failure."""
        written = {id(item) for item in taken.items}
        self._items = [item for item in self._items if id(item) not in written]
        if self._shed is not None and taken.shed is not None:
            left = self._shed.count - taken.shed.count
            self._shed = Shed(left, self._shed.from_utc_us, self._shed.to_utc_us) if left else None
        self._count()

    def _count(self) -> None:
        self.readings = sum(item.count for item in self._items if isinstance(item, ReadingsRun))
        self.events = sum(isinstance(item, EventDraft) for item in self._items)

    def _keep_bound(self) -> None:
        if self.readings <= self._readings_max:
            return
        target = int(self._readings_max * _SHED_TO)
        kept: list[Item] = []
        for item in self._items:
            if isinstance(item, ReadingsRun) and self.readings > target:
                self.readings -= item.count
                self.shed_total += item.count
                gone = Shed(item.count, item.from_utc_us, item.to_utc_us)
                self._shed = gone if self._shed is None else self._shed + gone
            else:
                kept.append(item)
        self._items = kept


def packed(items: tuple[Item, ...], records_max: int = BATCH_RECORDS_MAX) -> Iterator[list[Item]]:
    """The items in order, in groups of at most `records_max` records; one empty group when there are none."""
    group: list[Item] = []
    records = 0
    for item in items:
        count = item.count if isinstance(item, ReadingsRun) else 1
        if group and records + count > records_max:
            yield group
            group, records = [], 0
        group.append(item)
        records += count
    yield group


def _run(outcome: Outcome, start: int) -> ReadingsRun:
    readings = outcome.readings[start : start + BATCH_RECORDS_MAX]
    stamps = [reading.at.utc_us for reading in readings]
    return ReadingsRun(encode_readings(readings), len(readings), min(stamps), max(stamps))


def _storable(text: str) -> str:
    """The text, if SQLite can hold it as text. ValueError otherwise."""
    text.encode()
    return text
