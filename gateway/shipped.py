"""Finds the data files that come with the product: ordinance packs, device profiles and example sites."""

import difflib
from pathlib import Path

from gateway.errors import ConfigError, Problem

__all__ = ["KINDS", "names", "shipped"]

KINDS = ("ordinances", "devices", "examples")

_PACKAGE = Path(__file__).resolve().parent


def shipped(kind: str, name: str) -> Path:
    """The file of one shipped ordinance, device or example, by its bare name (`keller-series30`).

    ConfigError names the nearest shipped name when there is no such file. ValueError for a kind that is not in KINDS.
    """
    known = names(kind)
    if name not in known:
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(known) or 'none'}"
        raise ConfigError([Problem(f"{name}.toml", "", None, f"no {kind} file of this name is shipped; {hint}")])
    return _folder(kind) / f"{name}.toml"


def names(kind: str) -> tuple[str, ...]:
    """The names of all shipped files of one kind, in alphabetical order."""
    return tuple(sorted(path.stem for path in _folder(kind).glob("*.toml")))


def _folder(kind: str) -> Path:
    if kind not in KINDS:
        raise ValueError(f"unknown kind of shipped file {kind!r}; known are {', '.join(KINDS)}")
    in_wheel = _PACKAGE / "_shipped"
    return (in_wheel if in_wheel.is_dir() else _PACKAGE.parent / "config") / kind
