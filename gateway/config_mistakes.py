"""Mistakes of shape in a site file: what to tell its reader, and how to go on checking past them. Pure.

The shape is a class whose `model_fields` name its keys; this module needs to know no more of it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, get_args, get_origin

from gateway.spelling import did_you_mean
from gateway.toml_lines import Path

__all__ = ["ANY_SITE", "known_keys", "prune", "reworded"]

# Stands in for what is wrong in [site], so that the rest of the file can be checked in the same go.
ANY_SITE: Mapping[str, Any] = {
    "id": "unknown", "name": "unknown", "discharger": "unknown", "time_zone": "UTC", "ordinances": [],
}  # fmt: skip

_PLAIN = {
    "missing": "is required",
    "string_type": "must be a text in quotes",
    "int_type": "must be a whole number",
    "float_type": "must be a number",
    "bool_type": "must be true or false",
    "list_type": "must be a list in square brackets",
    "dict_type": "must be a table",
    "model_type": "must be a table",
    "date_type": "must be a date, as 2026-01-31 without quotes",
    "finite_number": "must be a finite number",
}

_PATTERNS = {
    r"\S": "must not be empty",
    r"^[a-z0-9][a-z0-9-]*$": "must be lower-case letters, digits and hyphens",
}


def reworded(mistake: Mapping[str, Any], known_keys: Sequence[str]) -> str:
    """What a reader of the site file should be told of one shape mistake.

    `mistake` has `type`, `msg`, `input`, `ctx` and `loc`; `known_keys` are the keys its table may have.
    """
    kind, context = mistake["type"], mistake.get("ctx", {})
    if kind == "extra_forbidden":
        return f"unknown key{did_you_mean(str(mistake['loc'][-1]), known_keys)}"
    if kind == "value_error":
        return str(context["error"])
    value = mistake.get("input")
    if kind == "literal_error":
        expected = str(context["expected"])
        known = [word.strip("' ") for word in expected.replace(" or ", ",").split(",")]
        hint = did_you_mean(value, known) if isinstance(value, str) else ""
        return f"{value!r} is none of {expected}{hint if hint.startswith('; did') else ''}"
    if kind == "string_pattern_mismatch":
        return _PATTERNS.get(str(context["pattern"]), f"must match {context['pattern']}")
    if kind in _PLAIN:
        return _PLAIN[kind]
    if kind == "less_than_equal":
        return f"must be at most {context['le']}"
    if kind == "greater_than_equal":
        return f"must be at least {context['ge']}"
    if kind in ("too_short", "too_long"):
        return f"must be a list of {'at least ' if kind == 'too_short' else 'at most '}{_length(context)}"
    text = str(mistake["msg"])
    return text[:1].lower() + text[1:]


def _length(context: Mapping[str, Any]) -> int:
    return int(context.get("min_length", context.get("max_length", 0)))


# A table that lacks one of these can still be checked for everything else.
_STAND_INS: Mapping[Path, Any] = {("devices", "unit"): 1, ("contacts", "name"): "unknown"}


def prune(content: dict[str, Any], path: Path, *, missing: bool) -> None:
    """Take out the smallest part whose absence makes the rest checkable: a wrong value, or a table that lacks a key."""
    section = path[0]
    if section == "site" and (missing or len(path) == 1):
        site = content.get("site") if len(path) > 1 else None
        content["site"] = {**ANY_SITE, **site} if isinstance(site, dict) else dict(ANY_SITE)
        return
    stand_in = _STAND_INS.get((section, path[-1])) if missing else None
    table = content.get(str(section), {}).get(path[1]) if stand_in is not None else None
    if table is not None:  # another mistake may have taken it away already
        table[path[-1]] = stand_in
        return
    holder, last = content, section
    node: Any = content
    for key in path[:2] if missing else path:
        if not isinstance(node, dict) or key not in node:
            break
        holder, last = node, key
        node = node[key]
    holder.pop(str(last), None)


def known_keys(shape: Any, path: Path) -> list[str]:
    """The keys the table at a path may have, or none when it is no table of a fixed shape."""
    kind = shape
    for key in path:
        kind = _keys_of(kind).get(str(key)) if _is_table(kind) else next(iter(get_args(kind)[-1:]), None)
        if get_origin(kind) not in (dict, list):  # an optional table
            kind = next((option for option in get_args(kind) if _is_table(option)), kind)
    return list(_keys_of(kind)) if _is_table(kind) else []


def _is_table(kind: Any) -> bool:
    return hasattr(kind, "model_fields")


def _keys_of(table: Any) -> dict[str, Any]:
    return {field.alias or name: field.annotation for name, field in table.model_fields.items()}
