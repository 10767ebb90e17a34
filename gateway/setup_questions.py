"""Questions on a terminal, a pipe or a file of answers; nothing that was answered is ever lost."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any, TextIO, TypeVar

from gateway.errors import InputError

__all__ = ["Questions", "no_check", "yes_or_no"]

T = TypeVar("T")


@dataclass(slots=True)
class Questions:
    """Asks by key: what `given` answers is not asked again, the rest is read from `source`, line by line.

    Keys are dotted: `bus.1.port`. At the end of `source`, or with `silent`, the defaults hold. `answers` is everything
    answered up to now, as typed.
    """

    given: Mapping[str, Any]
    source: TextIO
    err: TextIO
    silent: bool = False
    answers: dict[str, str] = field(default_factory=dict)
    _over: bool = False

    def ask(self, key: str, question: str, check: Callable[[str], T], default: str | None = None) -> T:
        """The answer, checked; `check` raises ValueError with what is wrong with it.

        A person at a terminal is asked again; a wrong answer of a file or a pipe, or none where there is no default,
        is an InputError that names the key.
        """
        known = self._given(key)
        if known is not None:
            return self._checked(key, known, check)
        while True:
            typed = self._typed(f"{question}{'' if not default else f' [{default}]'}: ")
            if typed is None and default is None:
                raise InputError(f"{key}: no answer, and nothing to assume ({question})")
            text = (typed or "").strip() or (default or "")
            if typed is None or not self.source.isatty():
                return self._checked(key, text, check)
            try:
                value = check(_printable(text))
            except ValueError as error:
                self.say(f"  {error}")
                continue
            self.answers[key] = text
            return value

    def has(self, key: str) -> bool:
        """Whether anything that begins with this key was answered beforehand."""
        return _walk(self.given, key) is not None

    def say(self, text: str) -> None:
        """Something for whoever answers; never on stdout, which is for data."""
        if not self.silent:
            self.err.write(f"{text}\n")
            self.err.flush()

    def as_toml(self) -> str:
        """The answers as a file that `given` can be read from."""
        tables: dict[str, list[str]] = {}
        for key, text in self.answers.items():
            table, _, name = key.rpartition(".")
            tables.setdefault(table, []).append(f"{name} = {json.dumps(text, ensure_ascii=False)}")
        blocks = [
            "\n".join(([f"[{_quoted(table)}]"] if table else []) + lines) for table, lines in sorted(tables.items())
        ]
        return (
            "# What setup was told; go on with: manhole-gateway setup --answers THIS_FILE\n\n"
            + "\n\n".join(blocks)
            + "\n"
        )

    def _given(self, key: str) -> str | None:
        found = _walk(self.given, key)
        return None if found is None or isinstance(found, Mapping) else _as_typed(found)

    def _checked(self, key: str, text: str, check: Callable[[str], T]) -> T:
        try:
            value = check(_printable(text))
        except ValueError as error:
            raise InputError(f"{key}: {error}") from error
        self.answers[key] = text
        return value

    def _typed(self, prompt: str) -> str | None:
        """One line; None when there are no more."""
        if self.silent or self._over:
            return None
        self.err.write(prompt)
        self.err.flush()
        line = self.source.readline()
        if not line:
            self._over = True
            self.err.write("\n")
            return None
        return line


def no_check(text: str) -> str:
    """Anything, but not nothing. ValueError."""
    if not text:
        raise ValueError("an answer is needed here")
    return text


def yes_or_no(text: str) -> bool:
    """`yes` or `no`, or their first letters. ValueError."""
    if text.lower() in {"y", "yes", "true"}:
        return True
    if text.lower() in {"n", "no", "false", ""}:
        return False
    raise ValueError(f"yes or no, not {text!r}")


def _printable(text: str) -> str:
    """An arrow key types an escape sequence, which nobody wants in a name. ValueError."""
    if not text.isprintable():
        raise ValueError("there are control characters in it: type it again")
    return text


def _walk(tree: Mapping[str, Any], key: str) -> Any:
    found: Any = tree
    for part in key.split("."):
        if not isinstance(found, Mapping) or part not in found:
            return None
        found = found[part]
    return found


def _as_typed(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(str(item) for item in value)
    return value.isoformat() if isinstance(value, date) else str(value)


def _quoted(table: str) -> str:
    return ".".join(
        part if part.replace("-", "").replace("_", "").isalnum() else json.dumps(part) for part in table.split(".")
    )
