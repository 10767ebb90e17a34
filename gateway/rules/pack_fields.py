"""One table of an ordinance pack, read field by field; every mistake is noted and reading goes on."""

import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from typing import Any

from gateway.problems import Problems
from gateway.site import Span
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path
from gateway.units import QUANTITIES, canonical_unit, parse_duration_us, parse_quantity

__all__ = ["Fields"]

_NAME = re.compile(r"[a-z0-9][a-z0-9-]*")


class Fields:
    """Typed access to one table. A field that is absent or wrong gives its empty value, after noting the mistake.

    `elsewhere` says where keys stand that were written outside the table's own path.
    """

    def __init__(self, table: Any, path: Path, problems: Problems, elsewhere: Mapping[str, Path] | None = None) -> None:
        self._path = path
        self._problems = problems
        self._elsewhere = elsewhere or {}
        self._table: Mapping[str, Any] = table if isinstance(table, Mapping) else {}
        if not isinstance(table, Mapping):
            problems.error(path, "must be a table")

    def __contains__(self, key: str) -> bool:
        return key in self._table

    def error(self, key: str, text: str) -> None:
        """Note a mistake in one field."""
        self._problems.error((*self._elsewhere.get(key, self._path), key), text)

    def unknown(self, *known: str) -> None:
        """Note every key that is not known."""
        for key in self._table:
            if key not in known:
                self.error(key, f"unknown key{did_you_mean(key, known)}")

    def table(self, key: str) -> tuple[Any, Path]:
        """An inner table as it was written, and where."""
        return self._table.get(key), (*self._elsewhere.get(key, self._path), key)

    def text(self, key: str, default: str | None = None, *, may_be_empty: bool = False) -> str:
        """A text; required when there is no default."""
        value = self._table.get(key, default)
        if value is None:
            self.error(key, "is required")
        elif not isinstance(value, str) or not (value.strip() or default == "" or may_be_empty):
            self.error(key, "must be a text")
        else:
            return " ".join(value.split())
        return ""

    def name(self, key: str) -> str:
        """An identifier: lower-case letters, digits and hyphens."""
        value = self.text(key)
        if value and not _NAME.fullmatch(value):
            self.error(key, f"{value!r} must be lower-case letters, digits and hyphens")
        return value

    def texts(self, key: str, *, required: bool = True) -> tuple[str, ...]:
        """A text or a list of texts."""
        value = self._table.get(key)
        if value is None and not required:
            return ()
        items = [value] if isinstance(value, str) else value
        if not isinstance(items, list) or not items or not all(isinstance(item, str) for item in items):
            self.error(key, "is required" if value is None else "must be a text or a list of texts")
            return ()
        return tuple(items)

    def choice(self, key: str, known: Sequence[str], default: str | None = None) -> str:
        """One of a few words."""
        value = self.text(key, default)
        if value and value not in known:
            self.error(key, f"{value!r} is none of {', '.join(known)}")
            return ""
        return value

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        value = self._table.get(key, default)
        if not isinstance(value, bool):
            self.error(key, "must be true or false")
            return default
        return value

    def count(self, key: str, default: int) -> int:
        """A whole number of at least one."""
        value = self._table.get(key, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            self.error(key, "must be a whole number of at least 1")
            return default
        return value

    def number(self, key: str) -> float | None:
        """A positive number without a unit, or None when absent."""
        value = self._table.get(key)
        if value is None:
            return None
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            self.error(key, "must be a number above zero")
            return None
        return float(value)

    def share(self, key: str, default: float) -> float:
        """A share from above 0 to 1."""
        value = self._table.get(key, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value <= 1:
            self.error(key, "must be a share above 0 and up to 1, as 0.75")
            return default
        return float(value)

    def answers(self, key: str) -> dict[str, bool | str]:
        """Options of the pack and the answer to each; empty when absent."""
        value = self._table.get(key, {})
        if not isinstance(value, Mapping) or not all(isinstance(answer, bool | str) for answer in value.values()):
            self.error(key, "must be a table of options and answers, as { fluoridated = false }")
            return {}
        return dict(value)

    def span(self, key: str, quantities: Sequence[str]) -> tuple[Span | None, str]:
        """Lowest and highest with their unit, as `["6 pH", "9 pH"]`; (None, "") when absent."""
        value = self._table.get(key)
        if value is None:
            return None, ""
        if not isinstance(value, list) or len(value) != 2 or not all(isinstance(end, str) for end in value):
            self.error(key, 'must be two quantities, lowest and highest, as ["6 pH", "9 pH"]')
            return None, ""
        try:
            (low, low_unit), (high, high_unit) = (parse_quantity(end) for end in value)
        except ValueError as error:
            self.error(key, str(error))
            return None, ""
        unit = self._suiting(key, low_unit, quantities)
        if low_unit != high_unit or low >= high:
            self.error(key, "must be two quantities in one unit, the lowest first")
            return None, ""
        return Span(low, high), unit

    def day(self, key: str) -> date | None:
        """A TOML date, or None when absent."""
        value = self._table.get(key)
        if value is None:
            return None
        if not isinstance(value, date) or isinstance(value, datetime):
            self.error(key, "must be a date, as in 2026-01-31 without quotes")
            return None
        return value

    def duration(self, key: str) -> int:
        """A duration in microseconds; zero when absent."""
        return self._duration(key, self._table[key]) if key in self._table else 0

    def durations(self, key: str) -> tuple[int, ...]:
        """A list of durations in microseconds, in rising order."""
        value = self._table.get(key, [])
        if not isinstance(value, list):
            self.error(key, 'must be a list of durations, as in ["5 min", "10 min"]')
            return ()
        return tuple(sorted(self._duration(key, item) for item in value))

    def _duration(self, key: str, value: Any) -> int:
        if not isinstance(value, str):
            self.error(key, "must be a duration with its unit, as in '15 min'")
            return 0
        try:
            return parse_duration_us(value)
        except ValueError as error:
            self.error(key, str(error))
            return 0

    def limit(self, key: str, quantities: Sequence[str]) -> tuple[float | None, str]:
        """A value with a unit that suits every one of the quantities: (value, unit), (None, "") when absent."""
        value = self._table.get(key)
        if value is None:
            return None, ""
        if not isinstance(value, str):
            self.error(key, "must be a quantity with its unit, as in '5.5 pH'")
            return None, ""
        try:
            number, unit = parse_quantity(value)
        except ValueError as error:
            self.error(key, str(error))
            return None, ""
        return number, self._suiting(key, unit, quantities)

    def unit(self, key: str, quantities: Sequence[str]) -> str:
        """A unit that suits every one of the quantities."""
        try:
            return self._suiting(key, canonical_unit(self.text(key)), quantities)
        except ValueError as error:
            self.error(key, str(error))
            return ""

    def _suiting(self, key: str, unit: str, quantities: Sequence[str]) -> str:
        for quantity in quantities:
            if unit not in QUANTITIES.get(quantity, (unit,)):
                self.error(key, f"{quantity} is not measured in {unit} but in {', '.join(QUANTITIES[quantity])}")
        return unit
