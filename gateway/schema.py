"""The bodies of `schema`: the JSON Schema of a site file or an ordinance pack, for editors that check as one types."""

import json
from typing import Any, TextIO

from gateway.config import json_schema
from gateway.model import Severity
from gateway.rules.pack import JURISDICTIONS
from gateway.rules.provision import COMPARISONS, KINDS, PLACES, SOURCES, WINDOWS
from gateway.units import QUANTITIES

__all__ = ["pack_schema", "run_pack_schema", "run_schema"]


def run_schema(out: TextIO) -> int:
    """Write the schema of a site file; always exit status 0."""
    out.write(json.dumps(json_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0


def run_pack_schema(out: TextIO) -> int:
    """Write the schema of an ordinance pack; always exit status 0."""
    out.write(json.dumps(pack_schema(), indent=2, ensure_ascii=False) + "\n")
    return 0


def pack_schema() -> dict[str, Any]:
    """The JSON Schema of an ordinance pack. It knows shapes and words; what belongs to which kind is for `check`."""
    rule = _table(_RULE | {"each": _EACH}, required=("id", "clause", "title", "text", "kind", "comparison"))
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "An ordinance pack of Manhole Gateway",
        **_table(
            {
                "pack": _table(_HEAD, required=("id", "name", "version")),
                "options": {"type": "object", "additionalProperties": _table(_OPTION, required=("text",))},
                "rules": {"type": "array", "items": rule},
                "notes": {"type": "array", "items": _table(_NOTE, required=("clause", "text"))},
            },
            required=("pack",),
        ),
    }


def _table(properties: dict[str, Any], required: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }


def _words(*known: str) -> dict[str, Any]:
    return {"type": "string", "enum": list(known)}


def _one_or_more(item: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [item, {"type": "array", "items": item, "minItems": 1}]}


def _quantity(what: str, example: str) -> dict[str, Any]:
    return {"type": "string", "pattern": r"^\s*[+-]?[0-9.]", "description": what, "examples": [example]}


_TEXT = {"type": "string", "pattern": r"\S"}
_ID = {"type": "string", "pattern": r"^[a-z0-9{][a-z0-9{}-]*$"}
_DAY = {"type": "string", "format": "date"}
_POSITIVE = {"type": "number", "exclusiveMinimum": 0}
_COUNT = {"type": "integer", "minimum": 1}
_FLAG = {"type": "boolean"}
_ANSWERS = {"type": "object", "additionalProperties": {"type": ["boolean", "string"]}, "minProperties": 1}
_DURATION = _quantity("a duration with its unit", "15 min")

_HEAD: dict[str, Any] = {
    "id": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]*$"},
    "name": _TEXT,
    "version": _TEXT,
    "effective": _DAY,
    "note": {"type": "string"},
    "jurisdiction": _words(*JURISDICTIONS),
}
_OPTION: dict[str, Any] = {"text": _TEXT, "choices": {"type": "array", "items": _TEXT, "minItems": 1}}
_NOTE: dict[str, Any] = {"clause": _TEXT, "text": _TEXT, "rules": _one_or_more({"type": "string"})}
_RULE: dict[str, Any] = {
    "id": _ID,
    "clause": _TEXT,
    "title": _TEXT,
    "text": {**_TEXT, "description": "what the clause says, in your own words"},
    "kind": _words(*KINDS),
    "quantity": _one_or_more(_words(*QUANTITIES)),
    "place": _words(*PLACES),
    "sources": _one_or_more(_words(*SOURCES)),
    "comparison": {**_words(*COMPARISONS), "description": "when the value exceeds"},
    "limit": _quantity("the limit with its unit", "5.5 pH"),
    "unit": {"type": "string"},
    "factor": {**_POSITIVE, "description": "times the baseline of the channel"},
    "duration": _DURATION,
    "strict_duration": {**_FLAG, "description": "true: longer than the duration; false: at least as long"},
    "confirm": {**_COUNT, "description": "valid samples in a row that make an exceedance"},
    "prealarms": {"type": "array", "items": _DURATION},
    "bridge_gap": _DURATION,
    "bridge_dip": _DURATION,
    "window": _words(*dict.fromkeys(window for known in WINDOWS.values() for window in known)),
    "coverage": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
    "min_days": _COUNT,
    "inside": {"type": "array", "items": _quantity("a bound", "6 pH"), "minItems": 2, "maxItems": 2},
    "trc": _POSITIVE,
    "severity": _words(*(severity.name.lower() for severity in Severity)),
    "advisory": _FLAG,
    "tell": _one_or_more({"type": "string"}),
    "action": {"type": "string"},
    "reading": {"type": "string"},
    "reading_approved_by": {"type": "string"},
    "reading_approved_on": _DAY,
    "exceptions": {"type": "string"},
    "surrogates": _one_or_more(_words(*QUANTITIES)),
    "effective": _DAY,
    "enabled": _FLAG,
    "only_if": _ANSWERS,
    "relaxed": _table(
        {"when": _ANSWERS, "factor": _POSITIVE, "note": _TEXT},
        required=("when", "factor", "note"),
    ),
}
_EACH: dict[str, Any] = {
    "type": "array",
    "minItems": 1,
    "description": "one rule for each row; a row's keys take the place of the table's",
    "items": _table({"row": _TEXT, "name": _TEXT, **_RULE}),
}
