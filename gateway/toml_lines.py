"""Where each key of a TOML text stands: the line numbers that tomllib does not give.

Only for text that tomllib has already accepted; the walk trusts it to be well formed.
"""

import re
import tomllib
from collections.abc import Mapping

__all__ = ["Path", "dotted", "key_lines", "nearest_line"]

Path = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_KEY_PART = re.compile(r'[A-Za-z0-9_-]+|"(?:[^"\\\n]|\\.)*"|\'[^\'\n]*\'')
_STRING = re.compile(
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE_VALUE = re.compile(r"[^\s,\]}#]+(?: [0-9][^\s,\]}#]*)?")  # a date and its time may have a space between them
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def key_lines(text: str) -> dict[Path, int]:
    """The line (from 1) of every key, table header and array item, by its full path."""
    walk = _Walk(text)
    walk.document()
    return walk.lines


def nearest_line(lines: Mapping[Path, int], path: Path) -> int | None:
    """The line of a path, or of the closest table around it that stands in the text; None for the whole file."""
    for end in range(len(path), 0, -1):
        if path[:end] in lines:
            return lines[path[:end]]
    return None


def dotted(path: Path) -> str:
    """A path as people read it: `channels.ph.poll`, `waivers[0].rule`, `alarms."a.b".severity`."""
    text = ""
    for part in path:
        if isinstance(part, int):
            text += f"[{part}]"
        else:
            name = part if _BARE_KEY.fullmatch(part) else f'"{part}"'
            text += f".{name}" if text else name
    return text


class _Walk:
    """One pass over the text; `at` is the position, `lines` the result."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.lines: dict[Path, int] = {}
        self._counted_to = 0
        self._line = 1
        self._arrays: dict[Path, int] = {}  # index of the last item of each array of tables

    def document(self) -> None:
        """Headers and key-value pairs to the end of the text."""
        table: Path = ()
        self._skip(_BLANK)
        while self.at < len(self.text):
            if self.text.startswith("[", self.at):
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)

    def _header(self) -> Path:
        is_array = self.text.startswith("[[", self.at)
        line = self._here()
        self.at += 2 if is_array else 1
        keys = self._keys()
        self.at += 2 if is_array else 1
        path: Path = ()
        for key in keys[:-1]:
            path = self._latest((*path, key))
            self.lines.setdefault(path, line)
        path = (*path, keys[-1])
        if is_array:
            index = self._arrays.get(path, -1) + 1
            self._arrays[path] = index
            self.lines.setdefault(path, line)
            path = (*path, index)
        self.lines.setdefault(path, line)
        return path

    def _latest(self, path: Path) -> Path:
        return (*path, self._arrays[path]) if path in self._arrays else path

    def _pair(self, table: Path) -> None:
        line = self._here()
        path = table
        for key in self._keys():
            path = (*path, key)
            self.lines.setdefault(path, line)
        self.at += 1  # the equals sign
        self._skip(_SPACE)
        self._value(path)

    def _value(self, path: Path) -> None:
        if self.text.startswith("[", self.at):
            self._array(path)
        elif self.text.startswith("{", self.at):
            self._inline_table(path)
        elif not self._skip(_STRING):
            self._skip(_BARE_VALUE)

    def _array(self, path: Path) -> None:
        self.at += 1
        index = 0
        self._skip(_BLANK)
        while not self.text.startswith("]", self.at):
            self.lines.setdefault((*path, index), self._here())
            self._value((*path, index))
            index += 1
            self._separator()
        self.at += 1

    def _inline_table(self, path: Path) -> None:
        self.at += 1
        self._skip(_BLANK)
        while not self.text.startswith("}", self.at):
            self._pair(path)
            self._separator()
        self.at += 1

    def _separator(self) -> None:
        self._skip(_BLANK)
        if self.text.startswith(",", self.at):
            self.at += 1
            self._skip(_BLANK)

    def _keys(self) -> list[str]:
        keys = []
        while True:
            self._skip(_SPACE)
            match = _KEY_PART.match(self.text, self.at)
            if match is None:
                raise ValueError(f"no key at line {self._here()}")
            token = match.group()
            keys.append(token if _BARE_KEY.fullmatch(token) else next(iter(tomllib.loads(f"{token}=0"))))
            self.at = match.end()
            self._skip(_SPACE)
            if not self.text.startswith(".", self.at):
                return keys
            self.at += 1

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        match = pattern.match(self.text, self.at)
        if match is None or match.end() == self.at:
            return False
        self.at = match.end()
        return True

    def _here(self) -> int:
        self._line += self.text.count("\n", self._counted_to, self.at)
        self._counted_to = self.at
        return self._line
