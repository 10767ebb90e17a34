"""Reads device profiles: TOML in, frozen `Profile` out, every mistake at once with its file, line and key."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.drivers.profile import Fact, Point, Profile
from gateway.drivers.profile_points import PointReader
from gateway.drivers.profile_quirks import read_fact, read_limits, read_pace, read_quirks, read_transport
from gateway.drivers.profile_rules import RuleReader
from gateway.drivers.profile_table import Table
from gateway.errors import ConfigError, Problem
from gateway.shipped import shipped
from gateway.toml_lines import Path as KeyPath
from gateway.toml_lines import dotted, key_lines, nearest_line

__all__ = ["Point", "Profile", "load", "parse", "variants_of"]

_TIERS = ("A", "B", "C")
_MOST_REPEATS = 512  # of one point: more channels than any module has


def load(name: str, overrides: Mapping[str, Any] | None = None, beside: Path | None = None) -> Profile:
    """A shipped profile by its name, or the user's own by its path, with a site's overrides laid over it.

    A name that ends in `.toml` is a path, relative to the folder `beside` when given. `overrides` may replace any key
    of the file (`order = "ABCD"`, `points.pH.sentinels = [...]`), choose one of its variants (`variant`) and say that
    the open facts of a template were settled on the device (`confirmed`). ConfigError carries every mistake.
    """
    path = _path(name, beside)
    return parse(_text(path), str(path), overrides)


def variants_of(name: str, beside: Path | None = None) -> tuple[str, ...]:
    """The variants of which one must be chosen, in the order of the file; none for most instruments. ConfigError."""
    path = _path(name, beside)
    variants = _document(_text(path), str(path)).get("variants", {})
    return tuple(variants) if isinstance(variants, Mapping) else ()


def parse(text: str, file: str, overrides: Mapping[str, Any] | None = None) -> Profile:
    """The text of one profile as a Profile; `file` only names it in messages. ConfigError carries every mistake."""
    reader = _ProfileReader(file, text)
    profile = reader.profile(_document(text, file), dict(overrides or {}))
    if reader.problems:
        raise ConfigError(reader.problems)
    return profile


def _path(name: str, beside: Path | None) -> Path:
    return (beside or Path()) / name if name.endswith(".toml") else shipped("devices", name)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Problem(str(path), "", None, f"cannot read the device profile: {error}")]) from error


def _document(text: str, file: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except RecursionError as error:
        raise ConfigError([Problem(file, "", None, "is nested too deeply to be read")]) from error
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem(file, "", None, f"not TOML: {error}")]) from error


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(under)
    for key, value in over.items():
        mine = result.get(key)
        result[key] = _merged(mine, value) if isinstance(mine, Mapping) and isinstance(value, Mapping) else value
    return result


@dataclass(slots=True)
class _ProfileReader:
    """Gathers the problems of one file; the methods mirror the parts of a profile."""

    file: str
    text: str
    problems: list[Problem] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)  # expanded point -> its name in the file
    variant: str = ""

    def problem(self, path: KeyPath, text: str) -> None:
        """One mistake; a key that an overlay brought is looked for there first."""
        in_file = tuple(self.aliases.get(p, p) if isinstance(p, str) else p for p in path)
        lines = key_lines(self.text)
        in_variant = ("variants", self.variant, *in_file)
        line = lines.get(in_variant) if self.variant else None
        problem = Problem(self.file, dotted(path), line or nearest_line(lines, in_file), text)
        if problem not in self.problems:
            self.problems.append(problem)

    def profile(self, document: dict[str, Any], overrides: dict[str, Any]) -> Profile:
        """The whole file, with the chosen variant and the overrides laid over it."""
        chosen = Table(self.problem, (), overrides)
        self.variant = chosen.take("variant", str, "")
        confirmed = chosen.take("confirmed", bool, False)
        if "writable" in overrides:
            self.problem(("writable",), "belongs to the profile: a site file cannot allow more to be written")
        document = self._with_variant(document)
        root = Table(self.problem, (), _merged(self._expanded(document), overrides))
        rules = RuleReader(status=_named(root.table("status")), units=_named(root.table("units")))
        rules.order = rules.own_order(root, "ABCD")
        rules.address_offset = root.take("address_offset", int, 0)
        limits = read_limits(root.table("limits"))
        points = self._points(root, PointReader(rules, limits, _named(root.table("lists"))))
        profile = Profile(
            id=root.take("id", str),
            model=root.take("model", str),
            source=root.texts("source"),
            points=points,
            limits=limits,
            transport=read_transport(root.table("transport")),
            confidence=root.take("confidence", str, ""),
            notes=root.texts("notes"),
            tier=root.word("tier", _TIERS, "A"),
            confirm=root.texts("confirm"),
            confirmed=confirmed,
            facts=self._facts(root, rules),
            quirks=read_quirks(root, rules),
            variant=self.variant,
            pace=read_pace(root),
        )
        if not root.take("enabled", bool, True) and not confirmed:
            self.problem(
                ("enabled",),
                f"this profile is a template: {'; '.join(profile.confirm) or 'its facts were not verified'}. "
                "Settle that on the device, override what differs, and say confirmed = true",
            )
        root.done()
        return profile

    def _with_variant(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document with the chosen one of its variants laid over it: a model, a generation, a module of a stack."""
        variants = document.pop("variants", {})
        chosen = self.variant = self.variant or str(document.pop("default_variant", ""))
        document.pop("default_variant", None)
        if not isinstance(variants, Mapping) or not variants:
            if chosen:
                self.problem(("variant",), f"there is no variant {chosen!r}: this profile has none")
            return document
        if chosen not in variants:
            what = f"there is no variant {chosen!r}" if chosen else "is missing: which of them is it"
            self.problem(("variant",), f"{what}; there are {', '.join(variants)}")
            self.variant = chosen = next(iter(variants))
        body = variants[chosen]
        if not isinstance(body, Mapping):
            self.problem(("variants", chosen), f"must be a table, not {body!r}")
            return document
        return _merged(document, body)

    def _expanded(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The document with each `"AI{n}"` point written out `repeat` times, its addresses `stride` apart."""
        points: dict[str, Any] = {}
        listed = document.get("points", {})
        for name, raw in listed.items() if isinstance(listed, Mapping) else ():
            repeat = raw.get("repeat") if isinstance(raw, Mapping) else None
            if "{n}" not in name or not isinstance(repeat, int):
                points[name] = raw
                continue
            if not 1 <= repeat <= _MOST_REPEATS:
                self.problem(("points", name, "repeat"), f"must lie between 1 and {_MOST_REPEATS}")
                continue
            body = {key: value for key, value in raw.items() if key != "repeat"}
            for n in range(1, repeat + 1):
                self.aliases[name.replace("{n}", str(n))] = name
                points[name.replace("{n}", str(n))] = _shifted(body, n - 1, 1)
        return dict(document) | {"points": points}

    def _points(self, root: Table, reader: PointReader) -> dict[str, Point]:
        points = {}
        listed = root.take("points", dict, {})
        for name, body in listed.items():
            if not isinstance(body, Mapping):
                self.problem(("points", name), f"must be a table, not {body!r}")
                continue
            point = reader.point(Table(self.problem, ("points", name), dict(body)))
            if point is not None:
                points[name] = point
        if not listed:
            self.problem(("points",), "a profile without a point delivers nothing")
        return points

    def _facts(self, root: Table, rules: RuleReader) -> dict[str, Fact]:
        facts = {}
        for name, body in _named(root.table("facts")).items():
            fact = read_fact(Table(self.problem, ("facts", name), body), rules)
            if fact is not None:
                facts[name] = fact
        return facts


def _named(table: Table) -> dict[str, dict[str, Any]]:
    """Tables that are referred to by name."""
    return {name: dict(table.take(name, dict, {})) for name in tuple(table.left)}


def _shifted(body: Any, steps: int, stride: int) -> Any:
    """A point's table with every address moved on by `steps` strides; an inner table may have its own stride.

    `{n}` in a text is the number of the repetition.
    """
    if isinstance(body, str):
        return body.replace("{n}", str(steps + 1))
    if isinstance(body, Sequence):
        return [_shifted(item, steps, stride) if isinstance(item, Mapping | str) else item for item in body]
    mine = body.get("stride", stride)
    if not isinstance(mine, int):  # kept, and then found to be no key of a point
        return body
    result = {key: value for key, value in body.items() if key != "stride"}
    for key, value in result.items():
        if key in {"address", "doc_register"} and isinstance(value, int):
            result[key] = value + steps * mine
        elif key == "block" and isinstance(value, list) and value and isinstance(value[0], int):
            result[key] = [value[0] + steps * mine, *value[1:]]
        elif isinstance(value, Mapping | list | str):
            result[key] = _shifted(value, steps, mine)
    return result
