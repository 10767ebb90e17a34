"""The files behind a configuration, read whole: the site file, its ordinance packs and its device profiles."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.drivers import profiles
from gateway.drivers.profile import Point
from gateway.errors import ConfigError, Problem
from gateway.problems import Problems
from gateway.rules.pack import Pack, parse_pack
from gateway.shipped import shipped
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path as KeyPath
from gateway.toml_lines import key_lines

__all__ = ["Source", "device_points", "load_packs", "read_toml"]

_PROFILE_KEYS = ("order", "address_offset", "limits", "status", "units", "points", "transport")

_AT_LINE = re.compile(r" \(at (?:line (\d+), column \d+|end of document)\)")


@dataclass(frozen=True, slots=True)
class Source:
    """A TOML file: its name as people know it, what it says, and on which lines."""

    name: str
    content: Mapping[str, Any]
    lines: Mapping[KeyPath, int]


def read_toml(path: Path) -> Source:
    """One TOML file. ConfigError when it cannot be read, is not UTF-8 or is no TOML, with the line where it stops."""
    name = str(path)
    try:
        text = path.read_bytes().decode()
        content = tomllib.loads(text)
    except OSError as error:
        raise ConfigError([Problem(name, "", None, f"cannot be read: {error.strerror}")]) from error
    except UnicodeDecodeError as error:
        raise ConfigError([Problem(name, "", None, f"is not UTF-8 text: {error.reason}")]) from error
    except tomllib.TOMLDecodeError as error:
        place = _AT_LINE.search(str(error))
        line = int(place.group(1)) if place and place.group(1) else None
        raise ConfigError([Problem(name, "", line, f"is not TOML: {_AT_LINE.sub('', str(error))}")]) from error
    return Source(name, content, key_lines(text.replace("\r\n", "\n")))


def load_packs(
    site_file: Path, ordinances: Sequence[str], problems: Problems
) -> tuple[dict[str, Pack], list[Problems]]:
    """The packs a site names, by pack id, and what is wrong inside each of their files.

    A bare name is a shipped pack; anything with a slash or `.toml` is a file beside the site file.
    """
    packs: dict[str, Pack] = {}
    found: list[Problems] = []
    for index, name in enumerate(ordinances):
        path: KeyPath = ("site", "ordinances", index)
        try:
            source = read_toml(_beside(site_file, name, "ordinances"))
        except ConfigError as error:
            for problem in error.problems:
                problems.error(path, f"{problem.file}: {problem.text}" if not problem.line else str(problem))
            continue
        inside = Problems(source.name, source.lines)
        pack = parse_pack(source.content, inside)
        found.append(inside)
        if pack.id in packs:
            problems.error(path, f"the pack {pack.id!r} is already there")
        twice = {r.id for other in packs.values() for r in other.rules} & {r.id for r in pack.rules}
        for rule in sorted(twice):
            problems.error(path, f"the rule {rule!r} is also in another pack")
        packs[pack.id] = pack
    return packs, found


def _beside(site_file: Path, name: str, kind: str) -> Path:
    if "/" in name or name.endswith(".toml"):
        return site_file.parent / name
    return shipped(kind, name)


def device_points(site_file: Path, devices: Mapping[str, Any], problems: Problems) -> dict[str, Mapping[str, Point]]:
    """The points each device's profile offers, the site's overrides laid over it; a device with a mistake is left out.

    `devices` by name, each with `profile` and its overrides in `model_extra`.
    """
    points: dict[str, Mapping[str, Point]] = {}
    for name, table in devices.items():
        overrides = table.model_extra or {}
        profile = table.profile
        try:
            if "/" in profile and not profile.endswith(".toml"):
                profile += ".toml"
            points[name] = profiles.load(profile, overrides, site_file.parent).points
        except ConfigError as error:
            for problem in error.problems:
                key = problem.path.split(".")[0].split("[")[0]
                if key in overrides:
                    known = [*type(table).model_fields, *_PROFILE_KEYS]
                    problems.error(
                        ("devices", name, key),
                        f"is no key of a device and none of its profile{did_you_mean(key, known)}"
                        if key not in _PROFILE_KEYS
                        else f"{problem.path}: {problem.text}",
                    )
                else:
                    problems.error(("devices", name, "profile"), str(problem))
    return points
