"""One TOML table of a device profile, read key by key: what is missing, of the wrong kind or left over is a mistake."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from gateway.spelling import did_you_mean
from gateway.toml_lines import Path as KeyPath
from gateway.units import parse_duration_us

__all__ = ["REQUIRED", "Table"]

REQUIRED: Any = object()
_LARGEST = 2**64 - 1  # what four registers hold
_OF_FRACTIONS = frozenset("0123456789./-+ ")
_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


@dataclass(slots=True)
class Table:
    """The table at `path`; `problem` takes what is wrong with it, `left` was not read yet, `asked` was looked for."""

    problem: Callable[[KeyPath, str], None]
    path: KeyPath
    left: dict[str, Any]
    asked: set[str] = field(default_factory=set)

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = REQUIRED) -> Any:
        """The value of a key, of one of the kinds; the default, or None when there is none, after saying why."""
        self.asked.add(key)
        if key not in self.left:
            if default is REQUIRED:
                self.problem((*self.path, key), "is missing")
                return None
            return default
        value = self.left.pop(key)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = " or ".join(_WORDS[k] for k in kinds)
            self.problem((*self.path, key), f"must be {wanted}, not {value!r}")
            return None if default is REQUIRED else default
        if isinstance(value, int | float) and not _fits(value):
            self.problem((*self.path, key), f"is no number to calculate with: {value!r:.40}")
            return None if default is REQUIRED else default
        return value

    def table(self, key: str) -> "Table":
        """A table within, empty when it is not there."""
        return Table(self.problem, (*self.path, key), dict(self.take(key, dict, {})))

    def tables(self, key: str) -> "list[Table]":
        """A list of tables within."""
        found = []
        for index, body in enumerate(self.take(key, list, [])):
            if isinstance(body, Mapping):
                found.append(Table(self.problem, (*self.path, key, index), dict(body)))
            else:
                self.problem((*self.path, key, index), f"must be a table, not {body!r}")
        return found

    def texts(self, key: str) -> tuple[str, ...]:
        """A text or a list of them."""
        value = self.take(key, (list, str), [])
        return (value,) if isinstance(value, str) else tuple(str(item) for item in value)

    def word(self, key: str, known: Sequence[str], default: str) -> str:
        """One of the known words."""
        value = self.take(key, str, default)
        if value not in known:
            self.problem((*self.path, key), f"must be {', '.join(known[:-1])} or {known[-1]}, not {value!r}")
            return default
        return str(value)

    def duration_us(self, key: str, default: Any = REQUIRED) -> Any:
        """A duration as "500 ms", in microseconds."""
        text = self.take(key, str, default)
        if not isinstance(text, str):
            return text
        try:
            return parse_duration_us(text)
        except ValueError as error:
            self.problem((*self.path, key), str(error))
            return None if default is REQUIRED else default

    def factor(self, key: str, default: float) -> float:
        """A number that is not zero, or a fraction as "10/4095"."""
        value = self.take(key, (int, float, str), default)
        try:
            found = _fraction(value) if isinstance(value, str) else float(value)
        except (ValueError, ZeroDivisionError, OverflowError):
            self.problem((*self.path, key), f'must be a number or a fraction as "10/4095", not {value!r:.40}')
            return default
        if found == 0:
            self.problem((*self.path, key), "must not be zero")
            return default
        if not math.isfinite(1 / found):
            self.problem((*self.path, key), f"is too small to calculate with: {found!r}")
            return default
        return found

    def coded(self, codes: Mapping[str, Any], kind: type) -> dict[int, Any]:
        """Keys of a table of codes as numbers: decimal or 0x."""
        result = {}
        for key, value in codes.items():
            try:
                code = int(key, 0)
            except ValueError:
                self.problem((*self.path, key), f"{key!r} is no code: write a whole number, or one in 0x")
                continue
            if not isinstance(value, kind):
                self.problem((*self.path, key), f"must be {_WORDS[kind]}, not {value!r}")
                continue
            result[code] = value
        return result

    def done(self) -> None:
        """Whatever was not read is no key of a profile."""
        for key in self.left:
            self.problem((*self.path, key), f"is not a key of a device profile here{did_you_mean(key, self.asked)}")


def _fits(number: float) -> bool:
    """Whether this is a finite number that a float holds and that no address, count or code exceeds."""
    return abs(number) <= _LARGEST if isinstance(number, int) else math.isfinite(number)


def _fraction(text: str) -> float:
    """A fraction as "10/4095"; without an exponent, for "1e999999999" would be written out."""
    if not set(text) <= _OF_FRACTIONS:
        raise ValueError(text)
    return float(Fraction(text.replace(" ", "")))
