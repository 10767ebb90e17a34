"""Which requests fetch the points of a device: as few as its limits allow, no value ever split. Pure.

A request may run over a hole of registers nobody asked for, since that is quicker than a second request. Some devices
refuse such a request, and some refuse registers their manual lists; which, is found out by asking: `ReadPlan`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gateway.drivers.frames import BIT_READS
from gateway.drivers.profile import Limits, Point, Span

__all__ = ["Read", "ReadPlan", "plan", "spans_of", "split"]

_REMERGE_AFTER_US = 600_000_000  # ten minutes: a refused merge costs one request more, once
_REMERGE_AT_MOST_US = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Read:
    """One request, and the indivisible spans of registers it is made for."""

    function: int
    start: int
    count: int
    spans: tuple[Span, ...]

    @property
    def end(self) -> int:
        """The address after the last register."""
        return self.start + self.count


def plan(points: Iterable[Point], limits: Limits) -> tuple[Read, ...]:
    """The requests that fetch every register of the points, ordered by function and address.

    Neighbouring spans share a request while it stays within `limits.most` and no hole in it is wider than
    `limits.hole`; coils, inputs and the two kinds of registers never share one. A whole block is always a request of
    its own. ValueError when one span alone exceeds the limit.
    """
    return _merged(spans_of(points, limits), limits)


def split(read: Read, limits: Limits) -> tuple[Read, ...]:
    """The request in two halves, so that one bad register fails alone; nothing when it is a single span already."""
    if len(read.spans) == 1:
        return ()
    middle = len(read.spans) // 2
    return _read(read.spans[:middle], limits), _read(read.spans[middle:], limits)


def spans_of(points: Iterable[Point], limits: Limits) -> tuple[Span, ...]:
    """Everything the points need, in indivisible spans, none within another; grown to whole `limits.align` blocks."""
    wanted = {_grown(point.span_of(register), limits) for point in points for register in point.registers()}
    blocks = {span for span in wanted if span.whole}
    loose = {s for s in wanted if not s.whole and not any(block.covers(s) for block in blocks)}
    return tuple(sorted(blocks | {s for s in loose if not any(o.covers(s) and o != s for o in loose)}))


@dataclass(slots=True)
class _Doubt:
    """A merge that was refused: not tried again before `until_us`, and for twice as long if it fails again."""

    wait_us: int
    until_us: int


@dataclass(slots=True)
class ReadPlan:
    """The requests of one device poll, which learn from what the device refuses.

    A refused request is first cut at its holes, then halved until the register that does not exist stands alone. It is
    asked for alone from then on; its good neighbours, cut apart only in the search, are put together again at once. A
    cut that found no such register is remembered: the merge is tried again after ten minutes, then after twice as long
    each time, up to a day.
    """

    spans: tuple[Span, ...]
    limits: Limits
    reads: tuple[Read, ...] = ()
    _cuts: dict[tuple[Span, Span], _Doubt] = field(default_factory=dict)
    _missing: set[Span] = field(default_factory=set)
    _searched: set[tuple[Span, Span]] = field(default_factory=set)
    _stale: bool = False
    _retry_us: int | None = None

    @classmethod
    def of(cls, points: Iterable[Point], limits: Limits) -> "ReadPlan":
        """The plan of a device of which nothing is known yet. ValueError as in `plan`."""
        spans = spans_of(points, limits)
        return cls(spans, limits, _merged(spans, limits))

    def refused(self, read: Read, now_us: int) -> tuple[Read, ...]:
        """The device knows no such registers: the smaller requests to try instead; none when it is one value alone."""
        if len(read.spans) == 1:
            self._stale |= read.spans[0] not in self._missing
            self._missing.add(read.spans[0])
            return ()
        self._stale = True
        pieces = self._at_holes(read, now_us)
        if len(pieces) > 1:
            return pieces
        middle = len(read.spans) // 2
        self._cut((read.spans[middle - 1], read.spans[middle]), now_us)
        return split(read, self.limits)

    def answered(self, read: Read) -> None:
        """The device has these registers, in one request: doubts about them are over."""
        if not self._missing and not self._cuts:
            return
        known = self._missing.intersection(read.spans)
        self._missing -= known
        self._stale |= bool(known)
        for pair in zip(read.spans, read.spans[1:], strict=False):
            self._cuts.pop(pair, None)

    def settle(self, now_us: int) -> None:
        """After a poll that was answered throughout: the requests of the next one."""
        if not self._stale and (self._retry_us is None or now_us < self._retry_us):
            return
        for cut in self._searched:  # a search that has found its register leaves nothing else to be careful about
            if self._missing & self._run_around(cut):
                self._cuts.pop(cut, None)
        self._searched.clear()
        apart = {cut for cut, doubt in self._cuts.items() if doubt.until_us > now_us}
        self.reads = _merged(self.spans, self.limits, apart, self._missing)
        self._retry_us = min((self._cuts[cut].until_us for cut in apart), default=None)
        self._stale = False

    def _cut(self, pair: tuple[Span, Span], now_us: int) -> None:
        before = self._cuts.get(pair)
        wait_us = _REMERGE_AFTER_US if before is None else min(2 * before.wait_us, _REMERGE_AT_MOST_US)
        self._cuts[pair] = _Doubt(wait_us, now_us + wait_us)
        self._searched.add(pair)

    def _at_holes(self, read: Read, now_us: int) -> tuple[Read, ...]:
        pieces: list[list[Span]] = [[read.spans[0]]]
        reach = read.spans[0].end
        for before, span in zip(read.spans, read.spans[1:], strict=False):
            if span.start > reach:
                self._cut((before, span), now_us)
                pieces.append([])
            pieces[-1].append(span)
            reach = max(reach, span.end)
        return tuple(_read(piece, self.limits) for piece in pieces)

    def _run_around(self, cut: tuple[Span, Span]) -> set[Span]:
        """The spans without a hole between them on both sides of a cut."""
        at = self.spans.index(cut[0])
        first, last = at, at + 1
        while first > 0 and _touch(self.spans[first - 1], self.spans[first]):
            first -= 1
        while last + 1 < len(self.spans) and _touch(self.spans[last], self.spans[last + 1]):
            last += 1
        return set(self.spans[first : last + 1])


def _touch(before: Span, after: Span) -> bool:
    return before.function == after.function and after.start <= before.end


def _merged(
    spans: Sequence[Span],
    limits: Limits,
    apart: Iterable[tuple[Span, Span]] = (),
    alone: Iterable[Span] = (),
) -> tuple[Read, ...]:
    """The spans in as few requests as limits allow, pairs in `apart` and spans in `alone` not put together."""
    cuts, single = frozenset(apart), frozenset(alone)
    reads = [_read([span], limits) for span in spans if span.whole or span in single]
    group: list[Span] = []
    for span in spans:
        if span.whole or span in single:
            continue
        if group and ((group[-1], span) in cuts or not _fit([*group, span], limits, single)):
            reads.append(_read(group, limits))
            group = []
        group.append(span)
    if group:
        reads.append(_read(group, limits))
    return tuple(sorted(reads, key=lambda read: (read.function, read.start)))


def _fit(spans: list[Span], limits: Limits, avoided: frozenset[Span]) -> bool:
    *before, last = spans
    reach = max(span.end for span in before)
    if before[0].function != last.function or last.start - reach > limits.hole(last.function):
        return False
    start, count = _extent(spans, limits)
    if count > limits.most(last.function):
        return False
    return not any(s.function == last.function and s.start < start + count and start < s.end for s in avoided)


def _grown(span: Span, limits: Limits) -> Span:
    if span.whole or limits.align == 1 or span.function in BIT_READS:
        return span
    start = span.start - span.start % limits.align
    end = span.end + -span.end % limits.align
    return Span(span.function, start, end - start)


def _extent(spans: Iterable[Span], limits: Limits) -> tuple[int, int]:
    spans = tuple(spans)
    start = min(span.start for span in spans)
    if limits.even_start and not spans[0].whole and spans[0].function not in BIT_READS:
        start -= start % 2
    return start, max(span.end for span in spans) - start


def _read(spans: Iterable[Span], limits: Limits) -> Read:
    spans = tuple(spans)
    start, count = _extent(spans, limits)
    most = limits.most(spans[0].function)
    if count > most:
        raise ValueError(f"{count} registers from {start} in one request; the device gives {most}")
    return Read(spans[0].function, start, count, spans)
