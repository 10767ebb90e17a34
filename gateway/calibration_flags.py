"""A calibration record from the command line's flags or from a TOML file, as the running gateway takes it."""

import argparse
import hashlib
import json
import tomllib
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from gateway.errors import InputError

__all__ = ["attached", "record_from_file", "record_from_flags"]

_REFERENCE = {
    "instrument": "reference_instrument",
    "serial": "reference_serial",
    "calibrated_on": "reference_calibrated_on",
}
_TIMES = ("started", "stopped")
_NUMBERS = frozenset({"temperature", "nominal", "value", "reference", "mv"})
_SHORT = {"temperature": "temperature_c", "in": "place"}


def record_from_file(path: Path) -> dict[str, Any]:
    """The record of a TOML file, or of the JSON that a guide left. InputError names it and what is wrong with it."""
    try:
        if path.suffix == ".json":
            record = json.loads(path.read_text(encoding="utf-8"))
            if not isinstance(record, dict):
                raise InputError(f"{path}: a record is a JSON object")
            return record
        with path.open("rb") as file:
            content = tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, json.JSONDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: {error}") from error
    record = {key: _plain(value) for key, value in content.items() if key not in ("reference", *_TIMES, "attachment")}
    reference = content.get("reference", {})
    if not isinstance(reference, dict) or not set(reference) <= set(_REFERENCE):
        raise InputError(f"{path}: reference is a table of {', '.join(_REFERENCE)}")
    record |= {_REFERENCE[key]: _plain(value) for key, value in reference.items()}
    for key in _TIMES:
        if key in content:
            record[f"{key}_utc_us"] = _moment(f"{path}: {key}", content[key])
    if content.get("attachment"):
        record |= attached(path.parent / str(content["attachment"]))
    return record


def record_from_flags(arguments: argparse.Namespace) -> dict[str, Any]:
    """The record of the flags that were given. InputError says which of them cannot be read."""
    given = {
        "sensor_serial": arguments.sensor_serial,
        "reason": arguments.reason,
        "cleaning": arguments.cleaning,
        "reference_instrument": arguments.reference,
        "reference_serial": arguments.reference_serial,
        "reference_calibrated_on": arguments.reference_calibrated,
        "response_s": arguments.response_s,
        "slope_percent": arguments.slope,
        "offset_mv": arguments.offset,
        "next_due": arguments.next_due,
        "remark": arguments.remark,
        "corrects": arguments.corrects,
        "accepted": arguments.accepted,
    }
    record: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    for key in _TIMES:
        if (text := getattr(arguments, key)) is not None:
            record[f"{key}_utc_us"] = _moment(f"--{key}", text)
    record["standards"] = [_row("--standard", text) for text in arguments.standard]
    record["readings"] = [_row("--reading", text) for text in arguments.reading]
    if arguments.attachment is not None:
        record |= attached(arguments.attachment)
    return record


def attached(path: Path) -> dict[str, str]:
    """A file beside the record: its path, and the hash that says it is still the same. InputError without one."""
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    return {"attachment": str(path.resolve()), "attachment_sha256": digest}


def _row(flag: str, text: str) -> dict[str, Any]:
    """`phase=check,in=4,value=4.05` as a table."""
    row: dict[str, Any] = {}
    for part in text.split(","):
        key, equals, value = (side.strip() for side in part.partition("="))
        if not equals or not value:
            raise InputError(f"{flag} {text!r}: write key=value, separated by commas")
        try:
            row[_SHORT.get(key, key)] = float(value) if key in _NUMBERS else value
        except ValueError as error:
            raise InputError(f"{flag} {text!r}: {key} is a number") from error
    return row


def _plain(value: Any) -> Any:
    """Dates as ISO text, as JSON wants them."""
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return value.isoformat() if isinstance(value, date) else value


def _moment(what: str, given: Any) -> int:
    try:
        moment = given if isinstance(given, datetime) else datetime.fromisoformat(str(given))
    except ValueError as error:
        raise InputError(f"{what} is a time as 2026-11-30T14:00:00-05:00, not {given!r}") from error
    if moment.tzinfo is None:
        raise InputError(f"{what} needs its offset from UTC, as in 2026-11-30T14:00:00-05:00")
    return round(moment.astimezone(UTC).timestamp() * 1_000_000)
