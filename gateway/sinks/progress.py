"""What one sink has settled of a numbered series, and how far its cursor may move. Pure."""

from bisect import bisect_right

__all__ = ["Progress"]


class Progress:
    """A cursor, and the settled stretches that lie ahead of it.

    A record is settled when the far side accepted it, when it was parked, or when its number does not exist. The
    cursor stands on the last record of the unbroken settled run from the start, so moving it to disk loses nothing.
    """

    def __init__(self, cursor: int) -> None:
        self._cursor = cursor
        # Sorted, disjoint and never touching, as first and last number; all beyond the cursor.
        self._firsts: list[int] = []
        self._lasts: list[int] = []

    @property
    def cursor(self) -> int:
        """Every record up to and including this one is settled."""
        return self._cursor

    @property
    def stretches(self) -> tuple[tuple[int, int], ...]:
        """The settled stretches ahead of the cursor, as first and last number."""
        return tuple(zip(self._firsts, self._lasts, strict=True))

    def settle(self, first: int, last: int | None = None) -> None:
        """Settle one record, or every number from `first` to `last`; what was settled before stays so."""
        first, last = max(first, self._cursor + 1), first if last is None else last
        if first > last:
            return
        low = bisect_right(self._lasts, first - 2)  # the first stretch that touches or overlaps
        high = bisect_right(self._firsts, last + 1)  # one past the last such stretch
        if low < high:
            first, last = min(first, self._firsts[low]), max(last, self._lasts[high - 1])
        self._firsts[low:high] = [first]
        self._lasts[low:high] = [last]
        if self._firsts[0] == self._cursor + 1:
            self._cursor = self._lasts[0]
            del self._firsts[0], self._lasts[0]

    def is_settled(self, seq: int) -> bool:
        """Whether this record needs nothing more."""
        at = bisect_right(self._firsts, seq) - 1
        return seq <= self._cursor or (at >= 0 and seq <= self._lasts[at])

    def before_next_open(self, after: int) -> int:
        """The highest number from `after` on whose successor is not settled: where reading on loses nothing."""
        after = max(after, self._cursor)
        at = bisect_right(self._firsts, after + 1) - 1
        return max(after, self._lasts[at]) if at >= 0 else after

    def open_between(self, first: int, last: int) -> int:
        """How many of the numbers `first` to `last` are not settled."""
        first = max(first, self._cursor + 1)
        if first > last:
            return 0
        settled = sum(
            max(0, min(last, stretch_last) - max(first, stretch_first) + 1)
            for stretch_first, stretch_last in zip(self._firsts, self._lasts, strict=True)
        )
        return last - first + 1 - settled
