"""Sums while they grow: one minute or day under way, and the minutes of the last 24 h with their running total."""

from collections import deque
from typing import Any

from gateway.rules.sums import DaySums

__all__ = ["Tally", "Window"]

_DAY_US = 86_400_000_000

# weighted, volume, plain, valid_us, discharging_us, flowed_us, unflowed
_Sums = tuple[int, int, int, int, int, int, int]
_Entry = tuple[int, _Sums, float | None, float | None]  # its end_us, its sums, its least and greatest value


class Tally:
    """The sums of a `DaySums`, still growing."""

    __slots__ = (
        "discharging_us", "flowed_us", "maximum", "minimum", "plain", "unflowed", "valid_us", "volume", "weighted",
    )  # fmt: skip

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.weighted = self.volume = self.plain = 0
        self.valid_us = self.discharging_us = self.flowed_us = self.unflowed = 0
        self.minimum: float | None = None
        self.maximum: float | None = None

    def count(self, weighted: int, volume: int, plain: int, valid_us: int, discharging_us: int, flowed_us: int) -> None:
        """Add to the sums; the extremes and `unflowed` are the caller's."""
        self.weighted += weighted
        self.volume += volume
        self.plain += plain
        self.valid_us += valid_us
        self.discharging_us += discharging_us
        self.flowed_us += flowed_us

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
        self._total = Tally()

    def add(self, end_us: int, minute: Tally) -> None:
        """Append a minute that ended now, and let go of those that ended 24 h ago or earlier."""
        sums = (
            minute.weighted, minute.volume, minute.plain, minute.valid_us, minute.discharging_us,
            minute.flowed_us, minute.unflowed,
        )  # fmt: skip
        self._append((end_us, sums, minute.minimum, minute.maximum))
        oldest_us = end_us - _DAY_US
        entries = self._entries
        while entries[0][0] <= oldest_us:
            _, (weighted, volume, plain, valid_us, discharging_us, flowed_us, unflowed), low, _ = entries.popleft()
            total = self._total
            total.discharging_us -= discharging_us
            if low is not None:
                total.weighted -= weighted
                total.volume -= volume
                total.plain -= plain
                total.valid_us -= valid_us
                total.flowed_us -= flowed_us
                total.unflowed -= unflowed
        lows, highs = self._lows, self._highs
        while lows and lows[0][1] <= oldest_us:
            lows.popleft()
        while highs and highs[0][1] <= oldest_us:
            highs.popleft()

    def _append(self, entry: _Entry) -> None:
        self._entries.append(entry)
        end_us, (weighted, volume, plain, valid_us, discharging_us, flowed_us, unflowed), low, high = entry
        total = self._total
        total.discharging_us += discharging_us
        if low is None or high is None:
            return
        total.weighted += weighted
        total.volume += volume
        total.plain += plain
        total.valid_us += valid_us
        total.flowed_us += flowed_us
        total.unflowed += unflowed
        lows, highs = self._lows, self._highs
        while lows and lows[-1][0] >= low:
            lows.pop()
        lows.append((low, end_us))
        while highs and highs[-1][0] <= high:
            highs.pop()
        highs.append((high, end_us))

    def sums(self, *, hydrogen: bool) -> DaySums:
        """The window as a record."""
        total = self._total
        total.minimum = self._lows[0][0] if self._lows else None
        total.maximum = self._highs[0][0] if self._highs else None
        return total.sums(hydrogen=hydrogen)

    def state(self) -> list[list[Any]]:
        """JSON-able: one row for each minute, short where nothing counted."""
        return [
            [end_us, sums[4]] if low is None else [end_us, *sums, low, high]
            for end_us, sums, low, high in self._entries
        ]

    def restore(self, state: list[list[Any]], shift_us: int) -> None:
        """Bring the minutes back, moved by `shift_us`."""
        for queue in (self._entries, self._lows, self._highs):
            queue.clear()
        self._total = Tally()
        for end_us, *row in state:
            if len(row) == 1:
                self._append((end_us + shift_us, (0, 0, 0, 0, row[0], 0, 0), None, None))
            else:
                weighted, volume, plain, valid_us, discharging_us, flowed_us, unflowed, low, high = row
                sums = (weighted, volume, plain, valid_us, discharging_us, flowed_us, unflowed)
                self._append((end_us + shift_us, sums, low, high))
