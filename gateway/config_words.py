"""The words of a site file: texts that carry units. Pure."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from gateway.units import parse_quantity

__all__ = ["Measured", "parse_clock_min", "parse_rate", "parse_span", "said"]

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


def parse_clock_min(text: Any) -> int:
    """A time of the day as `07:00`, in minutes after midnight. ValueError says how to write it."""
    hour, colon, minute = text.partition(":") if isinstance(text, str) else ("", "", "")
    if not (colon and len(hour) == len(minute) == 2 and (hour + minute).isdecimal() and hour < "24" and minute < "60"):
        raise ValueError(f'{text!r} is no time of the day, as "07:00"')
    return int(hour) * 60 + int(minute)


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
