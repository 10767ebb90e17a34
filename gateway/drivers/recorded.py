"""Recorded series: a CSV of times and values as rows of samples: what `replay` reads.

Irregular intervals, duplicate stamps and backward steps are input: they are counted, and a row that is not later than
the newest keeps the newest row's place on the monotonic axis, so that quality control flags it. A cell that is no
number, a time that is no time or a leap forward that no logger lives through stops the reading with its line.
"""

import csv
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from difflib import get_close_matches
from pathlib import Path
from typing import TextIO
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateway.errors import InputError
from gateway.model import Fault, Instant, Mode, Quality, Sample
from gateway.site import Channel, Conversion
from gateway.units import conversion

__all__ = ["Column", "ColumnMap", "RecordedSeries", "Row", "read_map"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST_US = -2_208_988_800_000_000  # 1900-01-01T00:00Z: before any logger; zones have no rules so long ago
_LAST_US = 253_370_764_800_000_000  # 9999-01-01T00:00Z: a year short of where local days end
_LEAP_DAYS = (
    400  # a year and its holidays; every minute that passed is settled, and a wild stamp would ask for millions
)
_LEAP_US = _LEAP_DAYS * 86_400_000_000
_WORDS: Mapping[str, tuple[Quality, Mode, Fault | None]] = {
    "": (Quality.GOOD, Mode.RUN, None),
    "good": (Quality.GOOD, Mode.RUN, None),
    "suspect": (Quality.SUSPECT, Mode.RUN, None),
    "fail": (Quality.FAIL, Mode.RUN, Fault.DEVICE_FAULT),
    "maintenance": (Quality.GOOD, Mode.MAINTENANCE, None),
    "missing": (Quality.MISSING, Mode.RUN, Fault.NO_SAMPLE),
}


@dataclass(frozen=True, slots=True)
class Column:
    """Where one channel's numbers stand in the file, in which unit, and what its quality codes mean.

    `codes` maps a code to good, suspect, fail, maintenance or missing; `*` stands for any other code that is not empty.
    """

    column: str
    unit: str | None = None
    quality: str | None = None
    codes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ColumnMap:
    """A `--map` file: the time column, the zone of naive times, and a column for each channel that has one."""

    time: str = "time"
    time_zone: str | None = None
    channels: Mapping[str, Column] = field(default_factory=dict)


def read_map(path: Path) -> ColumnMap:
    """Read a map file. InputError names the file and the key.

    `time = "timestamp"`, `time_zone = "..."`, and under `[channels]` either `ph = "column"` or a table with `column`,
    `unit`, `quality` and `codes`.
    """
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: {error}") from error
    _only(path, "", data, ("time", "time_zone", "channels"))
    for key in ("time", "time_zone"):
        _text(path, key, data.get(key))
    columns: dict[str, Column] = {}
    for name, entry in _table(path, "channels", data.get("channels", {})).items():
        if isinstance(entry, str):
            columns[name] = Column(entry)
            continue
        key = f"channels.{name}"
        if not isinstance(entry, dict) or "column" not in entry:
            raise InputError(f"{path}: {key}: needs a column, as a name or as a table with `column`")
        _only(path, key, entry, ("column", "unit", "quality", "codes"))
        for word in ("column", "unit", "quality"):
            _text(path, f"{key}.{word}", entry.get(word))
        codes = {code: str(word) for code, word in _table(path, f"{key}.codes", entry.get("codes", {})).items()}
        for code, word in codes.items():
            if word not in _WORDS or not word:
                raise InputError(f"{path}: {key}.codes.{code}: {word!r} is none of {', '.join(w for w in _WORDS if w)}")
        columns[name] = Column(entry["column"], entry.get("unit"), entry.get("quality"), codes)
    return ColumnMap(data.get("time", "time"), data.get("time_zone"), columns)


def _text(path: Path, key: str, value: object) -> None:
    if value is not None and not isinstance(value, str):
        raise InputError(f"{path}: {key}: {value!r} is no text")


def _table(path: Path, key: str, value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise InputError(f"{path}: {key}: {value!r} is no table")
    return value


def _only(path: Path, at: str, table: Mapping[str, object], known: Sequence[str]) -> None:
    for key in table:
        if key not in known:
            where = f"{at}.{key}" if at else key
            raise InputError(f"{path}: {where}: unknown key; known are {', '.join(known)}")


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the file: its number, its moment, and a sample for each channel the file has a column for."""

    line: int
    at: Instant
    samples: tuple[Sample, ...]


@dataclass(frozen=True, slots=True)
class _Cell:
    """How to read one channel's cell."""

    channel: str
    index: int
    unit: Conversion
    quality_index: int | None
    codes: Mapping[str, str]


class RecordedSeries:
    """A CSV file bound to the channels of a site. `rows()` reads it once, from the start; counts stand afterwards.

    Raises InputError when the file is absent, has no time column or a column that is no channel. A sample's number is
    the file's own; `units` takes it to the channel's unit.
    """

    def __init__(
        self,
        path: Path,
        channels: Mapping[str, Channel],
        mapping: ColumnMap | None = None,
        time_zone: str | None = None,
    ) -> None:
        self.path = path
        self.duplicates = 0
        self.backward_steps = 0
        self._map = mapping
        self._zone = _zone(path, time_zone or (mapping.time_zone if mapping else None))
        header = next((fields for _, fields in self._lines()), None)
        if not header:
            raise InputError(f"{path}:1: the file is empty")
        names = [name.strip() for name in header]
        self._time_index, self._cells = _bind(path, names, channels, mapping)
        self._width = len(names)

    @property
    def units(self) -> Mapping[str, Conversion]:
        """For each channel of the file, from the column's unit to the channel's."""
        return {cell.channel: cell.unit for cell in self._cells}

    @property
    def channels(self) -> frozenset[str]:
        """The channels the file has a column for."""
        return frozenset(cell.channel for cell in self._cells)

    def rows(self) -> Iterator[Row]:
        """Each line in file order; the monotonic axis starts at zero with the first and never goes back."""
        self.duplicates = self.backward_steps = 0
        first_us = newest_us = previous_us = None
        lines = self._lines()
        next(lines)
        for line, fields in lines:
            if not fields:
                continue
            if len(fields) != self._width:
                raise InputError(f"{self.path}:{line}: {len(fields)} fields where the header has {self._width}")
            utc_us = self._moment_us(fields[self._time_index], line, previous_us)
            if first_us is None or newest_us is None or previous_us is None:
                first_us = newest_us = previous_us = utc_us
            elif utc_us == previous_us:
                self.duplicates += 1
            elif utc_us < previous_us:
                self.backward_steps += 1
            if utc_us - newest_us > _LEAP_US:
                text = f"{fields[self._time_index]!r} is more than {_LEAP_DAYS} days after the row before it"
                raise InputError(f"{self.path}:{line}: {text}; mend its stamp, or cut the file in two")
            previous_us = utc_us
            newest_us = max(newest_us, utc_us)
            at = Instant(utc_us, newest_us - first_us, True)
            yield Row(line, at, tuple([self._sample(cell, fields, at, line) for cell in self._cells]))

    def _lines(self) -> Iterator[tuple[int, list[str]]]:
        """The number and the fields of every line, the header's too."""
        with self._open() as lines:
            reader = csv.reader(lines)
            try:
                for fields in reader:
                    yield reader.line_num, fields
            except UnicodeDecodeError as error:
                where = f"{self.path}:{reader.line_num + 1} or later"  # the file is decoded ahead of the lines
                raise InputError(f"{where}: is not UTF-8 text: {error.reason}") from error
            except csv.Error as error:
                raise InputError(f"{self.path}:{reader.line_num}: {error}") from error

    def _open(self) -> TextIO:
        try:
            return self.path.open(encoding="utf-8-sig", newline="")
        except OSError as error:
            raise InputError(f"{self.path}: {error.strerror or error}") from error

    def _moment_us(self, text: str, line: int, previous_us: int | None) -> int:
        """The stamp's UTC. In the hour that a zone repeats, the first reading that is not before the previous stamp."""
        try:
            moment = datetime.fromisoformat(text.strip())
        except ValueError as error:
            raise InputError(f"{self.path}:{line}: {text!r} is no ISO 8601 time") from error
        if moment.tzinfo is None:
            if self._zone is None:
                raise InputError(f"{self.path}:{line}: {text!r} has no offset; say the zone with --time-zone")
            moment = moment.replace(tzinfo=self._zone)
            if previous_us is not None and _elapsed_us(moment - _EPOCH) < previous_us:
                again = moment.replace(fold=1)
                if _elapsed_us(again - _EPOCH) >= previous_us:
                    moment = again
        utc_us = _elapsed_us(moment - _EPOCH)
        if not _FIRST_US <= utc_us < _LAST_US:
            raise InputError(f"{self.path}:{line}: {text!r} is outside the years 1900 to 9998 in UTC")
        return utc_us

    def _sample(self, cell: _Cell, fields: Sequence[str], at: Instant, line: int) -> Sample:
        text = fields[cell.index].strip()
        value: float | None = None
        fault: Fault | None = None
        quality, mode = Quality.GOOD, Mode.RUN
        if cell.quality_index is not None:
            quality, mode, fault = self._quality(cell, fields[cell.quality_index].strip(), line)
        if text:
            try:
                value = float(text)
            except ValueError as error:
                raise InputError(f"{self.path}:{line}: {cell.channel}: {text!r} is no number") from error
            if "_" in text:  # Python's own way to write a number, nobody else's
                raise InputError(f"{self.path}:{line}: {cell.channel}: {text!r} is no number")
        elif fault is None:
            fault = Fault.NO_SAMPLE
        return Sample(cell.channel, at, (), value, fault, quality, mode)

    def _quality(self, cell: _Cell, code: str, line: int) -> tuple[Quality, Mode, Fault | None]:
        word = cell.codes.get(code)
        if word is None:
            word = cell.codes.get("*", code) if code else ""
        found = _WORDS.get(word)
        if found is None:
            known = ", ".join(w for w in _WORDS if w)
            raise InputError(f"{self.path}:{line}: {cell.channel}: quality {code!r} is none of {known}")
        return found


def _elapsed_us(elapsed: timedelta) -> int:
    return (elapsed.days * 86_400 + elapsed.seconds) * 1_000_000 + elapsed.microseconds


def _zone(path: Path, name: str | None) -> ZoneInfo | None:
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError) as error:
        raise InputError(f"{path}: unknown time zone {name!r}") from error


def _bind(
    path: Path, names: Sequence[str], channels: Mapping[str, Channel], mapping: ColumnMap | None
) -> tuple[int, tuple[_Cell, ...]]:
    """Which field is the time, and which fields feed which channels."""
    for name in names:
        if name and names.count(name) > 1:
            raise InputError(f"{path}:1: column {name!r} stands twice")
    if mapping is None:
        return _bind_by_name(path, names, channels)
    if mapping.time not in names:
        raise InputError(f"{path}:1: no time column {mapping.time!r}")
    cells = []
    for name, column in mapping.channels.items():
        channel = channels.get(name)
        if channel is None:
            raise InputError(f"{path}: the map names {name!r}, which is no channel of this site{_hint(name, channels)}")
        for wanted in (column.column, column.quality):
            if wanted is not None and wanted not in names:
                raise InputError(f"{path}:1: no column {wanted!r} for channel {name}{_hint(wanted, names)}")
        quality_index = None if column.quality is None else names.index(column.quality)
        unit = _unit(path, channel, column.unit)
        cells.append(_Cell(name, names.index(column.column), unit, quality_index, column.codes))
    return names.index(mapping.time), tuple(cells)


def _bind_by_name(path: Path, names: Sequence[str], channels: Mapping[str, Channel]) -> tuple[int, tuple[_Cell, ...]]:
    """`time` first, then `channel`, `channel [unit]` and `channel.quality`."""
    if names[0] != "time":
        raise InputError(f"{path}:1: the first column is {names[0]!r}, not time; rename columns with --map")
    qualities = {name.removesuffix(".quality"): i for i, name in enumerate(names) if name.endswith(".quality")}
    cells: list[_Cell] = []
    for index, title in enumerate(names):
        if index == 0 or title.endswith(".quality"):
            continue
        name, _, rest = title.partition("[")
        name = name.strip()
        channel = channels.get(name)
        if channel is None:
            hint = _hint(name, channels)
            raise InputError(f"{path}:1: column {title!r} is no channel of this site{hint}; use --map to leave it out")
        unit = rest.rstrip("] ").strip() if rest else None
        if any(cell.channel == name for cell in cells):
            raise InputError(f"{path}:1: column {title!r} is a second one for channel {name}")
        cells.append(_Cell(name, index, _unit(path, channel, unit), qualities.pop(name, None), {}))
    if qualities:
        raise InputError(f"{path}:1: {next(iter(qualities))}.quality stands without its channel")
    return 0, tuple(cells)


def _unit(path: Path, channel: Channel, unit: str | None) -> Conversion:
    if unit is None:
        return Conversion()
    try:
        return conversion(unit, channel.unit)
    except ValueError as error:
        raise InputError(f"{path}:1: channel {channel.name}: {error}") from error


def _hint(name: str, known: Mapping[str, object] | Sequence[str]) -> str:
    close = get_close_matches(name, list(known), n=1)
    return f" (did you mean {close[0]}?)" if close else ""
