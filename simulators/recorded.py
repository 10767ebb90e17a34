"""A recorded series on simulated instruments: every row is shown until all of it was polled, then the next.

So nothing of the file is skipped, repeated beyond its row or made up, however fast or slowly anybody polls. After the
last row the instruments fall silent: there is nothing left to say.
"""

import asyncio
import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path

from gateway.errors import InputError
from gateway.site import Channel
from gateway.units import conversion
from simulators.wiring import Feed

__all__ = ["Recorded", "Row", "read_rows"]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the file: its time as written, and a value in the channel's unit, or None, per channel."""

    time: str
    values: Mapping[str, float | None]


class Recorded:
    """Shows the rows, one after the other, on the feeds of the channels they name.

    `served` counts the rows that were polled completely; `finished` is set when that is all of them.
    """

    def __init__(self, rows: Sequence[Row], feeds: Sequence[Feed]) -> None:
        """InputError for no rows, for a channel without an instrument, or for two channels on one point."""
        names = set(rows[0].values) if rows else set()
        self._feeds = [feed for feed in feeds if feed.channel.name in names]
        missing = names - {feed.channel.name for feed in self._feeds}
        if not names or missing:
            raise InputError(f"no instrument shows {', '.join(sorted(missing))}" if missing else "the file has no rows")
        if len({(id(feed.instrument), feed.point.name) for feed in self._feeds}) < len(self._feeds):
            raise InputError("two recorded channels are on one point of one instrument")
        self._rows = rows
        self._waiting: set[int] = set()
        self.served = 0
        self.finished = asyncio.Event()

    def begin(self) -> None:
        """Show the first row and start listening for polls."""
        for instrument in {id(feed.instrument): feed.instrument for feed in self._feeds}.values():
            mine = [i for i, feed in enumerate(self._feeds) if feed.instrument is instrument]
            instrument.on_read = partial(self._polled, mine)
        self._show()

    def _show(self) -> None:
        values = self._rows[self.served].values
        for feed in self._feeds:
            feed.set(values[feed.channel.name])
        self._waiting = set(range(len(self._feeds)))

    def _polled(self, mine: Sequence[int], address: int, count: int) -> None:
        """A read was answered: tick off the values it carried, and turn the page when none is left."""
        if self.finished.is_set():
            return
        self._waiting.difference_update(i for i in mine if self._feeds[i].point.covered_by(address, count))
        if self._waiting:
            return
        self.served += 1
        if self.served < len(self._rows):
            self._show()
            return
        for feed in self._feeds:
            feed.instrument.silent = True
        self.finished.set()


def read_rows(path: Path, channels: Mapping[str, Channel], columns: Mapping[str, str] | None = None) -> list[Row]:
    """A CSV whose first column is the time; other columns are channels by their name, or as `columns` says.

    `columns` takes a channel to its column; a heading `name [unit]` gives the unit, else it is the channel's. An empty
    cell, nan and inf are None. InputError names the file and the line.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file)
            heading = next(reader, None)
            if heading is None:
                raise InputError(f"{path}: empty")
            found = _columns(path, heading, channels, columns)
            return [_row(path, reader.line_num, cells, len(heading), found) for cells in reader if cells]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise InputError(f"{path}: {error}") from error


@dataclass(frozen=True, slots=True)
class _Column:
    index: int
    channel: Channel
    unit: str


def _columns(
    path: Path, heading: Sequence[str], channels: Mapping[str, Channel], columns: Mapping[str, str] | None
) -> list[_Column]:
    places: dict[str, tuple[int, str]] = {}
    for index, text in enumerate(heading[1:], start=1):
        name, _, unit = text.strip().partition("[")
        places[name.strip()] = (index, unit.strip().removesuffix("]").strip())
    wanted = columns or {name: name for name in channels if name in places}
    if not wanted:
        raise InputError(f"{path}:1: no column is a channel of the site; they are {', '.join(places) or 'none'}")
    result = []
    for name, column in wanted.items():
        if name not in channels:
            raise InputError(f"{path}: the site has no channel {name!r}; it has {', '.join(channels)}")
        if column not in places:
            raise InputError(f"{path}:1: no column {column!r}; they are {', '.join(places)}")
        index, unit = places[column]
        result.append(_Column(index, channels[name], unit or channels[name].unit))
    return result


def _row(path: Path, line: int, cells: Sequence[str], width: int, columns: Sequence[_Column]) -> Row:
    if len(cells) != width:
        raise InputError(f"{path}:{line}: {len(cells)} cells under {width} headings")
    values: dict[str, float | None] = {}
    for column in columns:
        text = cells[column.index].strip()
        try:
            value = float(text) if text else None
            convert = conversion(column.unit, column.channel.unit)
        except ValueError as error:
            raise InputError(f"{path}:{line}: {column.channel.name}: {error}") from error
        values[column.channel.name] = None if value is None or not isfinite(value) else convert(value)
    return Row(cells[0], values)
