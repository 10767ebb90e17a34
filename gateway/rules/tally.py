"""Sums while they grow: one minute or day under way, and the minutes of the last 24 h with their running total."""

from collections import deque
from collections.abc import Callable
from operator import ge, le
from typing import Any

from gateway.rules.sums import DaySums

__all__ = ["Tally", "Window"]

_DAY_US = 86_400_000_000

# weighted, volume, plain, valid_us, discharging_us, flowed_us, unflowed
_Sums = tuple[int, int, int, int, int, int, int]
_Entry = tuple[_Sums, int, float | None, float | None]  # its end_us, its least and greatest value


class Tally:
    """The sums of a `DaySums`, still growing."""

    __slots__ = (
        "discharging_us", "flowed_us", "maximum", "minimum", "plain", "unflowed", "valid_us", "volume", "weighted",
    )  # fmt: skip

    def __init__(self) -> None:
        self.weighted = self.volume = self.plain = 0
        self.valid_us = self.discharging_us = self.flowed_us = self.unflowed = 0
        self.minimum: float | None = None
        self.maximum: float | None = None

    def add(self, other: "Tally") -> None:
        """Add what another one counted."""
        self.discharging_us += other.discharging_us
        if other.minimum is None or other.maximum is None:
            return
        self.weighted += other.weighted
        self.volume += other.volume
        self.plain += other.plain
        self.valid_us += other.valid_us
        self.flowed_us += other.flowed_us
        self.unflowed += other.unflowed
        self.minimum = other.minimum if self.minimum is None else min(self.minimum, other.minimum)
        self.maximum = other.maximum if self.maximum is None else max(self.maximum, other.maximum)

    def sums(self, *, hydrogen: bool) -> DaySums:
        """As a record."""
        return DaySums(
            self.weighted, self.volume, self.plain, self.valid_us, self.discharging_us,
            self.minimum, self.maximum, self.flowed_us, self.unflowed, hydrogen,
        )  # fmt: skip

    def state(self) -> list[Any]:
        """JSON-able."""
        return self.sums(hydrogen=False).state()

    @classmethod
    def from_state(cls, state: list[Any]) -> "Tally":
        """As it was."""
        tally = cls()
        (
            tally.weighted, tally.volume, tally.plain, tally.valid_us, tally.discharging_us,
            tally.minimum, tally.maximum, tally.flowed_us, tally.unflowed, _,
        ) = state  # fmt: skip
        return tally


class Window:
    """Whole minutes of the last 24 h on the monotonic axis: sums by adding and subtracting, extremes by two queues."""

    __slots__ = ("_entries", "_highs", "_lows", "_total")

    def __init__(self) -> None:
        self._entries: deque[_Entry] = deque()
        self._lows: deque[tuple[float, int]] = deque()  # values that rise to the right: the first is the least
        self._highs: deque[tuple[float, int]] = deque()
        self._total = [0] * 7

    def add(self, end_us: int, minute: Tally) -> None:
        """Append a minute that ended now, and let go of those that ended 24 h ago or earlier."""
        sums = (minute.weighted, minute.volume, minute.plain, minute.valid_us, minute.discharging_us)
        self._append(((*sums, minute.flowed_us, minute.unflowed), end_us, minute.minimum, minute.maximum))
        oldest_us = end_us - _DAY_US
        entries, total = self._entries, self._total
        while entries[0][1] <= oldest_us:
            for index, gone in enumerate(entries.popleft()[0]):
                total[index] -= gone
        for queue in (self._lows, self._highs):
            while queue and queue[0][1] <= oldest_us:
                queue.popleft()

    def _append(self, entry: _Entry) -> None:
        self._entries.append(entry)
        sums, end_us, low, high = entry
        total = self._total
        for index, more in enumerate(sums):
            total[index] += more
        if low is not None and high is not None:
            _queue(self._lows, low, end_us, ge)
            _queue(self._highs, high, end_us, le)

    def sums(self, *, hydrogen: bool) -> DaySums:
        """The window as a record."""
        weighted, volume, plain, valid_us, discharging_us, flowed_us, unflowed = self._total
        return DaySums(
            weighted, volume, plain, valid_us, discharging_us,
            self._lows[0][0] if self._lows else None, self._highs[0][0] if self._highs else None,
            flowed_us, unflowed, hydrogen,
        )  # fmt: skip

    def state(self) -> list[list[Any]]:
        """JSON-able: one row for each minute, short where nothing counted."""
        return [
            [end_us, sums[4]] if low is None else [end_us, *sums, low, high]
            for sums, end_us, low, high in self._entries
        ]

    def restore(self, state: list[list[Any]], shift_us: int) -> None:
        """Bring the minutes back, moved by `shift_us`."""
        for queue in (self._entries, self._lows, self._highs):
            queue.clear()
        self._total = [0] * 7
        for end_us, *row in state:
            if len(row) == 1:
                self._append(((0, 0, 0, 0, row[0], 0, 0), end_us + shift_us, None, None))
            else:
                weighted, volume, plain, valid_us, discharging_us, flowed_us, unflowed, low, high = row
                sums = (weighted, volume, plain, valid_us, discharging_us, flowed_us, unflowed)
                self._append((sums, end_us + shift_us, low, high))


def _queue(queue: deque[tuple[float, int]], value: float, end_us: int, beaten: Callable[[float, float], bool]) -> None:
    while queue and beaten(queue[-1][0], value):
        queue.pop()
    queue.append((value, end_us))
