"""The words of a site file: texts that carry units, and what is said when a value is not what it should be. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from gateway.spelling import did_you_mean
from gateway.units import parse_quantity

__all__ = ["Measured", "parse_rate", "parse_span", "reworded", "said"]

T = TypeVar("T")
Measured = tuple[float, str]  # a value and its unit

_PER_MINUTE = {"/min": 1.0, "/s": 60.0, "/h": 1 / 60}


def said(parse: Callable[[str], T], example: str) -> Callable[[Any], T]:
    """A reader that takes texts only; anything else is told how to write it."""

    def read(value: Any) -> T:
        if not isinstance(value, str):
            raise ValueError(f"must be written with its unit, in quotes, as {example!r}")  # noqa: TRY004 - pydantic's contract
        return parse(value)

    return read


def parse_rate(text: str) -> Measured:
    """A rate of change as `0.5 pH/min`: (value per minute, unit). ValueError says what is wrong."""
    for ending, per_minute in _PER_MINUTE.items():
        if text.rstrip().endswith(ending):
            value, unit = parse_quantity(text.rstrip().removesuffix(ending))
            return value * per_minute, unit
    raise ValueError(f"{text!r} is not a rate of change, as in '0.5 pH/min'")


def parse_span(value: Any) -> tuple[Measured | None, Measured | None]:
    """Lowest and highest, as `["0 pH", "14 pH"]` or `{low = "0 pH"}`; an open side is None."""
    if isinstance(value, Mapping):
        for key in value:
            if key not in ("low", "high"):
                raise ValueError(f"unknown key {key!r}; a span has low and high")
        low, high = value.get("low"), value.get("high")
    elif isinstance(value, list) and len(value) == 2:
        low, high = value
    else:
        raise ValueError('must be a list of two quantities, as ["0 pH", "14 pH"], or { low = "0 pH", high = "14 pH" }')
    if low is None and high is None:
        raise ValueError("a span needs low or high")
    read = said(parse_quantity, "0 pH")
    return (None if low is None else read(low), None if high is None else read(high))


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
        return f"{value!r} does not look right: it must match {context['pattern']}" if value else "must not be empty"
    if kind in _PLAIN:
        return _PLAIN[kind]
    text = str(mistake["msg"])
    return text[:1].lower() + text[1:]
