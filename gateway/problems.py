"""Mistakes and warnings found in one configuration file, gathered until all are known."""

from collections.abc import Iterable, Mapping

from gateway.errors import Problem
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path, dotted, nearest_line

__all__ = ["Problems"]


class Problems:
    """What is wrong (`errors`) and what is odd (`warnings`) in one file, each with its path and line."""

    def __init__(self, file: str, lines: Mapping[Path, int]) -> None:
        self.file = file
        self.errors: list[Problem] = []
        self.warnings: list[Problem] = []
        self._lines = lines

    def error(self, path: Path, text: str) -> None:
        """The file cannot be used as it stands."""
        self._add(self.errors, path, text)

    def warning(self, path: Path, text: str) -> None:
        """The file can be used, and someone should look at this."""
        self._add(self.warnings, path, text)

    def told(self, path: Path) -> bool:
        """Whether a mistake was told of this key or of anything inside it."""
        name = dotted(path)
        return any(e.path == name or e.path.startswith((f"{name}.", f"{name}[")) for e in self.errors)

    def unknown_keys(self, table: Mapping[str, object], known: Iterable[str], path: Path = ()) -> None:
        """One error for each key of a table that nothing reads."""
        names = tuple(known)
        for key in table:
            if key not in names:
                self.error((*path, key), f"unknown key{did_you_mean(key, names)}")

    def _add(self, where: list[Problem], path: Path, text: str) -> None:
        problem = Problem(self.file, dotted(path), nearest_line(self._lines, path), text)
        if problem not in where:
            where.append(problem)
