"""The options of a sink or a notifier, taken out of its table one by one, with every mistake told at once. Pure."""

from collections.abc import Callable, Mapping
from typing import Any

from gateway.errors import ConfigError, Problem
from gateway.site import Part
from gateway.spelling import did_you_mean
from gateway.units import parse_duration_us

__all__ = ["PartOptions"]


class PartOptions:
    """Takes options out of a table by name; `finish` raises ConfigError with everything that is wrong with them.

    `section` is the table the part stands in: `sinks` or `notify`.
    """

    def __init__(self, section: str, part: Part) -> None:
        self._where = f"{section}.{part.name}"
        self._left = dict(part.options)
        self._asked: list[str] = []
        self._problems: list[Problem] = []

    def problem(self, key: str, text: str) -> None:
        """Note one mistake."""
        self._problems.append(Problem("site file", f"{self._where}.{key}", None, text))

    def take(self, key: str, kind: Any, default: Any, holds: Callable[[Any], bool] | None = None) -> Any:
        """An option of a kind of Python type, its default where it is absent or wrong."""
        self._asked.append(key)
        value = self._left.pop(key, default)
        # True is an int to Python and never a port.
        if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
            self.problem(key, f"{value!r} is not of the kind of {default!r}")
        elif holds is not None and not holds(value):
            self.problem(key, f"{value!r} is outside what this can be")
        else:
            return value
        return default

    def duration_s(self, key: str, default_s: float) -> float:
        """A duration above zero in seconds, from text with a unit or a number of seconds."""
        self._asked.append(key)
        value = self._left.pop(key, default_s)
        try:
            seconds = parse_duration_us(value) / 1e6 if isinstance(value, str) else float(value)
        except (TypeError, ValueError) as error:
            self.problem(key, str(error))
            return default_s
        if seconds <= 0:
            self.problem(key, f"{value!r} is not above zero")
            return default_s
        return seconds

    def table(self, key: str) -> Mapping[str, Any] | bool:
        """A table, or true or false in its place."""
        self._asked.append(key)
        value = self._left.pop(key, False)
        if isinstance(value, Mapping | bool):
            return value
        self.problem(key, f"{value!r} is neither true, false nor a table of ca, cert and key")
        return False

    def finish(self) -> None:
        """Say which keys nobody knows, and raise ConfigError when anything was wrong."""
        for key in self._left:
            self.problem(key, f"unknown key{did_you_mean(key, self._asked)}")
        if self._problems:
            raise ConfigError(self._problems)
