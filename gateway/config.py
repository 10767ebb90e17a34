"""From a site file to a `Site`: read, checked and put together, with every mistake in one go.

Each mistake has its dotted path and its line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path

from gateway.clock import SystemClock
from gateway.config_files import DeviceProfile, load_packs, load_profiles, read_toml
from gateway.config_shape import json_schema, validated
from gateway.errors import ConfigError, Problem
from gateway.problems import Problems
from gateway.rules.pack import Pack
from gateway.site import Site
from gateway.site_advice import advise
from gateway.site_build import build_site

__all__ = ["Loaded", "json_schema", "load", "read"]


@dataclass(frozen=True, slots=True)
class Loaded:
    """What reading a site file gave: a site when there are no errors, and everything to be said about it."""

    site: Site | None
    errors: tuple[Problem, ...]
    warnings: tuple[Problem, ...]
    packs: tuple[Pack, ...]  # as this site takes them: its answers and its stricter numbers included
    profiles: Mapping[str, DeviceProfile]  # by device
    unbound: Mapping[str, str]  # rule id -> why no channel feeds it
    pipe_gpm: float | None = None  # what the sewer carries when full


def load(path: Path, *, for_replay: bool = False) -> Site:
    """The site in a file, checked. ConfigError carries every mistake of the file and its ordinance packs.

    `for_replay` lets no date gate and does not insist on approvals. No port, secret or certificate is opened here.
    """
    loaded = read(path, for_replay=for_replay)
    if loaded.site is None:
        raise ConfigError(loaded.errors)
    return loaded.site


def read(path: Path, *, for_replay: bool = False, today: date | None = None) -> Loaded:
    """The same without raising for mistakes, and with the warnings.

    `today` gates dates; left out, it is the system's date if its clock is trusted, else dates do not gate. ConfigError
    only when the file cannot be read or is no TOML at all.
    """
    source = read_toml(path)
    problems = Problems(source.name, source.lines)
    tree = validated(source, problems)
    packs, pack_problems = load_packs(path, tree.site.ordinances, problems)
    packs_sound = len(packs) == len(tree.site.ordinances) and not any(found.errors for found in pack_problems)
    profiles = load_profiles(path, tree.devices, tree.buses, problems)
    gate = None if for_replay else today or _today()
    built = build_site(
        tree,
        source.content,
        packs,
        profiles,
        problems,
        packs_sound=packs_sound,
        today=gate,
        for_replay=for_replay,
    )
    every = [problems, *pack_problems]
    errors = tuple(e for found in every for e in sorted(found.errors, key=_line))
    if not errors:
        advise(built, profiles, problems, for_replay=for_replay)
    return Loaded(
        site=None if errors else built.site,
        errors=errors,
        warnings=tuple(w for found in every for w in sorted(found.warnings, key=_line)),
        packs=tuple(built.packs.values()),
        profiles=profiles,
        unbound=built.unbound,
        pipe_gpm=built.pipe_gpm,
    )


def _line(problem: Problem) -> int:
    return problem.line or 0


def _today() -> date | None:
    now = SystemClock().now()
    return datetime.fromtimestamp(now.utc_us / 1e6, UTC).date() if now.synced else None
