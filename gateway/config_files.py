"""The files behind a configuration, read whole: the site file, its ordinance packs and its device profiles."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway.content_hash import content_hash
from gateway.drivers import profiles
from gateway.drivers.profile import Profile
from gateway.drivers.quirks import refused_on
from gateway.errors import ConfigError, Problem
from gateway.problems import Problems
from gateway.rules.pack import Pack, parse_pack
from gateway.shipped import shipped
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path as KeyPath
from gateway.toml_lines import key_lines

__all__ = ["DeviceProfile", "Source", "load_packs", "load_profiles", "read_toml"]

_PROFILE_KEYS = (
    "order", "address_offset", "limits", "status", "units", "points", "transport", "variant", "confirmed", "lists",
    "facts", "trigger", "start", "wake", "writable", "refresh",
)  # fmt: skip

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
    except RecursionError as error:
        raise ConfigError([Problem(name, "", None, "is nested too deeply to be read")]) from error
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
    return site_file.parent / name if _is_path(name) else shipped(kind, name)


def _is_path(name: str) -> bool:
    """A name of the user's own file, rather than of one that ships."""
    return "/" in name or name.endswith(".toml")


@dataclass(frozen=True, slots=True)
class DeviceProfile:
    """A device's profile with the site's overrides laid over it, and the hash of the profile's file."""

    profile: Profile
    hash: str
    source: str
    """The name of a shipped profile, or the absolute path of the user's own."""


def load_profiles(
    site_file: Path, devices: Mapping[str, Any], buses: Mapping[str, Any], problems: Problems
) -> dict[str, DeviceProfile]:
    """The profile of each device, by device; one with a mistake is left out, as is one its bus cannot speak to.

    `devices` by name, each with `bus`, `profile` and its overrides in `model_extra`; `buses` by name, with their kind.
    """
    loaded: dict[str, DeviceProfile] = {}
    for name, table in devices.items():
        overrides = table.model_extra or {}
        try:
            profile = profiles.load(table.profile, overrides, site_file.parent)
            refusal = refused_on(buses[table.bus].kind if table.bus in buses else "", profile.transport.framings)
            if refusal:
                problems.error(("devices", name, "profile"), refusal)
                continue
            path = _beside(site_file, table.profile, "devices")
            source = str(path.resolve()) if _is_path(table.profile) else table.profile
            loaded[name] = DeviceProfile(profile, content_hash(read_toml(path).content), source)
        except ConfigError as error:
            for problem in error.problems:
                _at_device(problem, name, overrides, type(table).model_fields, problems)
    return loaded


def _at_device(
    problem: Problem, device: str, overrides: Mapping[str, Any], fields: Iterable[str], problems: Problems
) -> None:
    """A profile's mistake where the reader of the site file can mend it: at the override that caused it, if one did."""
    key = re.split(r"[.\[]", problem.path)[0]
    if key not in overrides:
        problems.error(("devices", device, "profile"), str(problem))
    elif key in _PROFILE_KEYS:
        problems.error(("devices", device, key), f"{problem.path}: {problem.text}")
    else:
        hint = did_you_mean(key, [*fields, *_PROFILE_KEYS])
        problems.error(("devices", device, key), f"is no key of a device and none of its profile{hint}")
