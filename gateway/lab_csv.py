"""Laboratory results as a person writes them: one CSV file, or the fields of one result.

The header names the columns, in any order: `id, analyte, value, unit, sample_type, start, stop, method, laboratory,
entered_by, remark, version`. `value` is a number or `<` and a detection limit; `stop` stays empty for a grab;
`entered_by`, `remark` and `version` may be left out. Every mistake is told, with file and line, and nothing is read
by halves.
"""

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateway.errors import InputError
from gateway.model import LabResult, SampleType
from gateway.rules.lab_result import mistakes
from gateway.spelling import did_you_mean
from gateway.units import canonical_unit

__all__ = ["COLUMNS", "OPTIONAL", "read_results", "result_of_row", "zone_named"]

COLUMNS = (
    "id", "analyte", "value", "unit", "sample_type", "start", "stop", "method", "laboratory", "entered_by", "remark",
    "version",
)  # fmt: skip
OPTIONAL = ("stop", "entered_by", "remark", "version")

_NUMBER = re.compile(r"(<)?\s*(-?[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,2})?")
_NONDETECT = ("nd", "n.d.", "non-detect", "not detected", "bdl", "u")
_YEARS = (1990, 2100)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_US = timedelta(microseconds=1)
_FIELDS = {"start_utc_us": "start", "stop_utc_us": "stop", "detection_limit": "value"}


def zone_named(name: str | None) -> tzinfo | None:
    """The zone of times without an offset; None when none is named. InputError for an unknown one."""
    if name is None:
        return None
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(f"--time-zone: {name!r} is no time zone, as in America/New_York") from error


def read_results(path: Path, zone: tzinfo | None = None, entered_by: str = "") -> tuple[LabResult, ...]:
    """Every result of a file, in its order. `entered_by` stands where the file does not say who.

    Raises InputError with every mistake, a line each, as `file:line: column: words`.
    """
    found: list[str] = []
    results: list[LabResult] = []
    lines: dict[tuple[str, int], int] = {}
    for line, row, wrong in _rows(path):
        result, in_row = (None, [("", wrong)]) if wrong else result_of_row(row, zone, entered_by)
        found += [
            f"{path}:{line}: {column}: {words}" if column else f"{path}:{line}: {words}" for column, words in in_row
        ]
        if result is None:
            continue
        key = (result.id, result.version)
        if key in lines:
            found.append(f"{path}:{line}: id: version {key[1]} of {key[0]} stands in line {lines[key]} already")
        lines.setdefault(key, line)
        results.append(result)
    if found:
        raise InputError("\n".join(found))
    if not results:
        raise InputError(f"{path}: holds no result")
    return tuple(results)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, str], str]]:
    """Line, fields by column, and what is wrong with the line as a whole. InputError for a file that is no table."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            try:
                header = next(reader, None)
                columns = _columns(path, header)
                for fields in reader:
                    if not any(field.strip() for field in fields):
                        continue
                    count = f"{len(fields)} fields where the header has {len(columns)}"
                    row = dict(zip(columns, (field.strip() for field in fields), strict=False))
                    yield reader.line_num, row, "" if len(fields) == len(columns) else count
            except csv.Error as error:
                raise InputError(f"{path}:{reader.line_num}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text ({error.reason} at byte {error.start})") from error


def _columns(path: Path, header: Sequence[str] | None) -> list[str]:
    if header is None or not any(name.strip() for name in header):
        raise InputError(f"{path}:1: the file is empty; its header is {', '.join(COLUMNS)}")
    columns = [name.strip().lower() for name in header]
    if len(columns) == 1 and (";" in columns[0] or "\t" in columns[0]):
        raise InputError(f"{path}:1: the columns are to be separated by commas")
    found = [f"unknown column {name!r}{did_you_mean(name, COLUMNS)}" for name in columns if name not in COLUMNS]
    found += [f"the column {name!r} is there twice" for name in dict.fromkeys(columns) if columns.count(name) > 1]
    found += [f"the column {name!r} is missing" for name in COLUMNS if name not in columns and name not in OPTIONAL]
    if found:
        raise InputError("\n".join(f"{path}:1: {words}" for words in found))
    return columns


def result_of_row(
    row: Mapping[str, str], zone: tzinfo | None = None, entered_by: str = ""
) -> tuple[LabResult | None, list[tuple[str, str]]]:
    """The result in the fields of one row, or None; and its mistakes as (column, words)."""
    found: list[tuple[str, str]] = []
    value, ceiling = _value(row.get("value", ""), found)
    start_us = _moment(row, "start", zone, found)
    kind = row.get("sample_type", "").lower()
    if kind not in tuple(SampleType):
        found.append(("sample_type", f"{kind!r} is none of {', '.join(SampleType)}"))
    stop_us = start_us
    if row.get("stop"):
        stop_us = _moment(row, "stop", zone, found)
    elif kind == SampleType.COMPOSITE:
        found.append(("stop", "a composite needs the moment it ended"))
    version = row.get("version") or "1"
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        found.append(("version", f"{version!r} is no version: they are counted 1, 2, 3"))
    unit = _unit(row.get("unit", ""), found)
    result = LabResult(
        id=row.get("id", ""),
        version=1 if _has(found, "version") else int(version),
        analyte=_analyte(row.get("analyte", "")),
        value=value,
        unit=unit,
        sample_type=SampleType.GRAB if _has(found, "sample_type") else SampleType(kind),
        start_utc_us=start_us or 0,
        stop_utc_us=stop_us or 0,
        method=row.get("method", ""),
        laboratory=row.get("laboratory", ""),
        entered_by=row.get("entered_by") or entered_by,
        detection_limit=ceiling,
        remark=row.get("remark", ""),
    )
    known = {column for column, _ in found}
    if "start" in known or "sample_type" in known:
        known |= {"start", "stop"}
    more = [(_FIELDS.get(field, field), words) for field, words in mistakes(result)]
    found += [(column, words) for column, words in more if column not in known]
    order = {column: i for i, column in enumerate(COLUMNS)}
    found.sort(key=lambda mistake: order[mistake[0]])
    return (None if found else result), found


def _analyte(text: str) -> str:
    """As rules name it: in small letters, words joined by hyphens; pH alone is written as everybody writes it."""
    name = "-".join(text.lower().split()) if text.isprintable() else text
    return "pH" if name == "ph" else name


def _has(found: list[tuple[str, str]], column: str) -> bool:
    return any(name == column for name, _ in found)


def _value(text: str, found: list[tuple[str, str]]) -> tuple[float | None, float | None]:
    """Value and detection limit: one of the two."""
    match = _NUMBER.fullmatch(text)
    if match is not None:
        number = float(text.removeprefix("<"))
        return (None, number) if match[1] else (number, None)
    if text.lower() in _NONDETECT:
        words = f"{text!r} needs its detection limit: write it as <0.005"
    elif not text:
        words = "is required; a non-detect is written with its detection limit, as in <0.005"
    elif re.fullmatch(r"<?\s*[0-9]+,[0-9]+", text):
        words = f"{text!r}: write the decimal point as a point, and no thousands separators"
    elif re.fullmatch(r"<?\s*[0-9.]+\s*[a-zA-Zµμ%].*", text):
        words = f"{text!r}: the unit belongs into its own column"
    else:
        words = f"{text!r} is no number, as in 1.61 or <0.005"
    found.append(("value", words))
    return None, None


def _unit(text: str, found: list[tuple[str, str]]) -> str:
    try:
        return canonical_unit(text)
    except ValueError as error:
        found.append(("unit", str(error) if text else "is required"))
        return text


def _moment(row: Mapping[str, str], column: str, zone: tzinfo | None, found: list[tuple[str, str]]) -> int | None:
    """A moment in microseconds of UTC, or None with the mistake noted."""
    text = row.get(column, "")
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        words = f"{text!r} is no ISO 8601 time, as in 2026-03-01T08:00-05:00" if text else "is required"
        found.append((column, words))
        return None
    if len(text) <= len("2026-03-01"):
        found.append((column, f"{text!r} has no time of day"))
        return None
    if not _YEARS[0] <= moment.year < _YEARS[1]:
        found.append((column, f"{text!r} lies before {_YEARS[0]} or after {_YEARS[1] - 1}"))
        return None
    if moment.tzinfo is None:
        if zone is None:
            found.append((column, f"{text!r} has no offset; say the zone with --time-zone"))
            return None
        moment = moment.replace(tzinfo=zone)
        if words := _twist(moment, zone):
            found.append((column, f"{text!r} {words}; write it with its offset"))
            return None
    return (moment - _EPOCH) // _US


def _twist(moment: datetime, zone: tzinfo) -> str:
    """Why a local time is not one moment; empty when it is."""
    if moment.astimezone(UTC).astimezone(zone).replace(tzinfo=None) != moment.replace(tzinfo=None):
        return "does not exist: the clocks were put forward over it"
    if moment.utcoffset() != moment.replace(fold=1).utcoffset():
        return "happened twice when the clocks were put back"
    return ""
