"""How records are written down: readings as compact JSON groups, everything else as canonical JSON bodies.

A batch's readings are a JSON array of groups, one for each run of readings taken at the same instant:
``[utc_us, mono_us, synced, row, row, ...]`` with rows ``[channel, raw, value, quality, tests, mode, dry]``, of which
the last three are left out when they are ``[], "run", false``. Rows are in seq order. Naming each instant once, and no
default, halves the bytes of a batch, and so saves pages that a memory card must take.

A body is a JSON object with sorted keys, no spaces, ASCII only, so that the same event always gives the same bytes.
Neither ever holds NaN or an infinity: those become null, and a flag says so (the test `not_a_number` on a reading, the
object `non_finite` of path and word on a body).
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass, replace
from enum import Enum
from typing import Any

from gateway.model import Instant, Message, MessageKind, Mode, Outcome, Quality, Reading, Severity

__all__ = [
    "EventDraft", "Record", "body_instant", "encode_readings", "encode_state", "event_drafts", "message_of",
    "reading_of", "readings_of",
]  # fmt: skip

_INT64 = 1 << 63
_PLAIN_FIELDS = 4  # of a reading in run, with no test to its name and not dry
_NOT_A_NUMBER = "not_a_number"
_QUALITIES = {int(quality): quality for quality in Quality}
_MODES = {str(mode): mode for mode in Mode}

_compact = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_canonical = json.JSONEncoder(separators=(",", ":"), allow_nan=False, sort_keys=True).encode
_as_given = json.JSONEncoder(separators=(",", ":")).encode


@dataclass(frozen=True, slots=True)
class Record:
    """One entry of the journal as a sink sees it.

    `kind` is reading, finding, alarm, message or note. `body` is the `Reading`, or for the others a mapping with the
    fields of the model's record: enums by value, Instants as utc_us, mono_us, synced.
    """

    seq: int
    kind: str
    at: Instant
    body: Reading | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EventDraft:
    """An event before it has its number. `message` is set when it is also an obligation to deliver."""

    kind: str
    utc_us: int
    body: str
    message: Message | None = None


def encode_readings(readings: Sequence[Reading]) -> str:
    """The groups of some readings, joined by commas without the outer brackets. TypeError when a field is not JSON."""
    try:
        return _compact(_groups(readings))[1:-1]
    except ValueError:  # a NaN or an infinity somewhere
        return _compact(_groups([_finite(reading) for reading in readings]))[1:-1]


def readings_of(groups: Sequence[Any]) -> list[tuple[Instant, Any]]:
    """The rows of a batch, each with its instant. ValueError or TypeError when the groups are none."""
    rows: list[tuple[Instant, Any]] = []
    for utc_us, mono_us, synced, *members in groups:
        at = Instant(utc_us, mono_us, synced)
        rows += [(at, row) for row in members]
    return rows


def reading_of(at: Instant, row: Sequence[Any]) -> Reading:
    """The reading of one row. ValueError, KeyError or TypeError when it is not one."""
    if len(row) == _PLAIN_FIELDS:
        channel, raw, value, quality = row
        return Reading(channel, at, tuple(raw), value, _QUALITIES[quality])
    channel, raw, value, quality, tests, mode, dry = row
    return Reading(channel, at, tuple(raw), value, _QUALITIES[quality], tuple(tests), _MODES[mode], dry)


def event_drafts(outcome: Outcome) -> Iterator[EventDraft]:
    """The outcome's events in the order of cause: findings, alarm events, messages, notes.

    TypeError when a note's body cannot be written as JSON, ValueError when a stamp does not fit 64 bits.
    """
    yield from (_draft("finding", finding) for finding in outcome.findings)
    yield from (_draft("alarm", event) for event in outcome.alarm_events)
    yield from (_draft("message", message) for message in outcome.messages)
    yield from (_draft("note", note) for note in outcome.notes)


def encode_state(value: Any) -> str:
    """A state value as JSON, exactly as given (infinities too: state is never published). TypeError when not JSON."""
    return _as_given(value)


def body_instant(body: Mapping[str, Any]) -> Instant:
    """The `at` of a body."""
    return Instant(**body["at"])


def message_of(body: Mapping[str, Any]) -> Message:
    """The message of a message event's body."""
    return Message(
        recipient=body["recipient"],
        text=body["text"],
        dedupe_key=body["dedupe_key"],
        at=body_instant(body),
        kind=MessageKind(body["kind"]),
        severity=Severity(body["severity"]),
        alarm=body["alarm"],
        occurrence=body["occurrence"],
    )


def _groups(readings: Sequence[Reading]) -> list[list[Any]]:
    groups: list[list[Any]] = []
    last: Instant | None = None
    for reading in readings:
        at = reading.at
        if at is not last and at != last:
            groups.append([at.utc_us, at.mono_us, at.synced])
            last = at
        row: tuple[Any, ...] = (reading.channel, reading.raw, reading.value, reading.quality)
        if reading.tests or reading.dry or reading.mode is not Mode.RUN:
            row = (*row, reading.tests, reading.mode, reading.dry)
        groups[-1].append(row)
    return groups


def _finite(reading: Reading) -> Reading:
    if reading.value is None or math.isfinite(reading.value):
        return reading
    tests = reading.tests if _NOT_A_NUMBER in reading.tests else (*reading.tests, _NOT_A_NUMBER)
    return replace(reading, value=None, tests=tests)


def _draft(kind: str, event: Any) -> EventDraft:
    non_finite: dict[str, str] = {}
    body = _plain(event, (), non_finite)
    if non_finite:
        body["non_finite"] = non_finite
    if not -_INT64 <= event.at.utc_us < _INT64:
        raise ValueError(f"{kind}: {event.at.utc_us} us is not a moment")
    return EventDraft(kind, event.at.utc_us, _canonical(body), event if isinstance(event, Message) else None)


def _plain(value: Any, path: tuple[str, ...], non_finite: dict[str, str]) -> Any:
    """The value in JSON's own types; every NaN or infinity becomes None and is named in `non_finite`."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, float) and not math.isfinite(value):
        non_finite[".".join(path)] = repr(float(value))
        return None
    if is_dataclass(value):
        return _mapping(((field.name, getattr(value, field.name)) for field in fields(value)), path, non_finite)
    if isinstance(value, Mapping):
        return _mapping(((str(key), item) for key, item in value.items()), path, non_finite)
    if isinstance(value, list | tuple):
        return [_plain(item, (*path, str(index)), non_finite) for index, item in enumerate(value)]
    return value


def _mapping(items: Iterable[tuple[str, Any]], path: tuple[str, ...], non_finite: dict[str, str]) -> dict[str, Any]:
    return {key: _plain(item, (*path, key), non_finite) for key, item in items}
