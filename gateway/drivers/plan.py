"""Which requests fetch the points of a device: as few as its limits allow, no value ever split. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass

from gateway.drivers.profile import Limits, Point, Span

__all__ = ["Read", "plan", "split"]


@dataclass(frozen=True, slots=True)
class Read:
    """One request, and the indivisible spans of registers it is made for."""

    function: int
    start: int
    count: int
    spans: tuple[Span, ...]


def plan(points: Iterable[Point], limits: Limits) -> tuple[Read, ...]:
    """The requests that fetch every register of the points, ordered by function and address.

    Neighbouring spans share a request while it stays within `limits.max_registers` and no hole in it is wider than
    `limits.max_gap`. A whole block is always a request of its own. ValueError when one span alone exceeds the limit.
    """
    wanted = {point.span_of(register) for point in points for register in point.registers()}
    blocks = sorted(span for span in wanted if span.whole)
    loose = sorted(s for s in wanted if not s.whole and not any(block.covers(s) for block in blocks))
    reads = [_read([block], limits) for block in blocks]
    group: list[Span] = []
    for span in loose:
        if group and not _fit([*group, span], limits):
            reads.append(_read(group, limits))
            group = []
        group.append(span)
    if group:
        reads.append(_read(group, limits))
    return tuple(sorted(reads, key=lambda read: (read.function, read.start)))


def split(read: Read, limits: Limits) -> tuple[Read, ...]:
    """The request in two halves, so that one bad register fails alone; nothing when it is a single span already."""
    if len(read.spans) == 1:
        return ()
    middle = len(read.spans) // 2
    return _read(read.spans[:middle], limits), _read(read.spans[middle:], limits)


def _fit(spans: list[Span], limits: Limits) -> bool:
    *before, last = spans
    reach = max(span.end for span in before)
    same_function = before[0].function == last.function
    return same_function and last.start - reach <= limits.max_gap and _extent(spans, limits)[1] <= limits.max_registers


def _extent(spans: Iterable[Span], limits: Limits) -> tuple[int, int]:
    spans = tuple(spans)
    start = min(span.start for span in spans)
    if limits.even_start and not spans[0].whole:
        start -= start % 2
    return start, max(span.end for span in spans) - start


def _read(spans: Iterable[Span], limits: Limits) -> Read:
    spans = tuple(spans)
    start, count = _extent(spans, limits)
    if count > limits.max_registers:
        raise ValueError(f"{count} registers from {start} in one request; the device gives {limits.max_registers}")
    return Read(spans[0].function, start, count, spans)
