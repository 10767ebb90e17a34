"""Scenario files: what the simulated discharge is to do, when, and how the story should end.

A scenario is TOML beside this module (or anywhere, by path):

    title = "One English sentence."
    story = "What the gateway should make of it, in words."
    starts_at = 2026-11-30T09:40:00-05:00       # sets the shift pattern and the demo's calendar
    duration = "40 min"
    alarms = ["lv-slug-flow"]                   # what a gateway on the Little Valley example should raise, in order
    seed = 1

    [[events]]
    at = "3 min"
    for = "19 min"
    kind = "slug"                               # see EventKind
    flow = "62 gpm"

    [broker]                                    # data for whoever runs the broker
    down_at = "8 min"
    up_at = "14 min"
"""

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeVar

from gateway.errors import ConfigError, Problem
from gateway.units import conversion, parse_duration_us, parse_quantity

__all__ = ["EventKind", "Event", "Outage", "Scenario", "load", "names"]

_FOLDER = files("simulators") / "scenarios"
_T = TypeVar("_T")


class EventKind(StrEnum):
    """What can happen on top of an ordinary day."""

    SLUG = "slug"  # the whole discharge is brought to `flow` for the time
    DUMP = "dump"  # one more stream of `flow`, with its own pH, temperature, conductivity and solids
    STOP = "stop"  # nothing is discharged at all
    SILENT = "silent"  # the instrument that measures `quantity` stops answering


@dataclass(frozen=True, slots=True)
class Event:
    """One event; the strength of its water is None where the plant's ordinary water is meant."""

    kind: EventKind
    at_s: float
    for_s: float
    flow_gpm: float = 0.0
    ph: float | None = None
    temperature_c: float | None = None
    conductivity_us_cm: float | None = None
    tss_mg_l: float | None = None
    quantity: str = ""

    @property
    def until_s(self) -> float:
        """The end of the event, in seconds from the start of the scenario."""
        return self.at_s + self.for_s


@dataclass(frozen=True, slots=True)
class Outage:
    """When the broker is killed and when it is started again, in seconds from the start of the scenario."""

    down_at_s: float
    up_at_s: float


@dataclass(frozen=True, slots=True)
class Scenario:
    """One story on the bench. `starts_at` carries its UTC offset; its wall time sets the shift pattern."""

    name: str
    title: str
    story: str
    starts_at: datetime
    duration_s: float
    events: tuple[Event, ...] = ()
    alarms: tuple[str, ...] = ()
    outage: Outage | None = None
    recorded: bool = False
    seed: int = 1

    @property
    def starts_at_us(self) -> int:
        """The start in UTC microseconds: where a bench clock is anchored."""
        return round(self.starts_at.timestamp() * 1_000_000)


def names() -> tuple[str, ...]:
    """The scenarios that ship with the product, sorted."""
    found = (entry.name for entry in _FOLDER.iterdir())
    return tuple(sorted(name.removesuffix(".toml") for name in found if name.endswith(".toml")))


def load(name: str) -> Scenario:
    """A shipped scenario by name, or any by the path of its file. ConfigError lists every mistake at once."""
    file = f"{name}.toml"
    entry = Path(name) if name.endswith(".toml") else _FOLDER / file
    try:
        text = entry.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = f"known scenarios: {', '.join(names())}"
        raise ConfigError([Problem(str(name), "", None, f"no such scenario ({error}); {known}")]) from error
    where = str(entry) if name.endswith(".toml") else file
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem(where, "", None, f"not TOML: {error}")]) from error
    return _Reader(where).scenario(Path(where).stem, table)


# Each amount of an event: the key in the file, the field it becomes, and the unit of that field.
_AMOUNTS = {
    "flow": ("flow_gpm", "gpm"),
    "ph": ("ph", "pH"),
    "temperature": ("temperature_c", "degC"),
    "conductivity": ("conductivity_us_cm", "uS/cm"),
    "tss": ("tss_mg_l", "mg/L"),
}
_KEYS = frozenset(
    ("title", "story", "starts_at", "duration", "alarms", "seed", "events", "broker", "recorded"),
)
_NEEDS_FLOW = (EventKind.SLUG, EventKind.DUMP)


class _Reader:
    """Reads one table, gathering problems instead of stopping at the first."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.problems: list[Problem] = []

    def scenario(self, name: str, table: Mapping[str, Any]) -> Scenario:
        self.unknown(table, _KEYS, "")
        starts_at = table.get("starts_at")
        if not isinstance(starts_at, datetime) or starts_at.tzinfo is None:
            self.problem("starts_at", "give a date and time with its offset, as 2026-11-30T09:40:00-05:00")
        events = table.get("events", [])
        if not isinstance(events, list):
            self.problem("events", "write each event as its own [[events]] table")
            events = []
        read = [self.event(f"events[{i}]", entry) for i, entry in enumerate(events)]
        alarms = self.get(table, "alarms", list, default=[])
        title, story = self.get(table, "title", str), self.get(table, "story", str)
        duration_s = self.duration(table, "duration", "")
        outage = self.outage(table["broker"]) if "broker" in table else None
        recorded = self.get(table, "recorded", bool, default=False)
        seed = self.get(table, "seed", int, default=1)
        if self.problems:
            raise ConfigError(self.problems)
        assert isinstance(starts_at, datetime)  # noqa: S101 - a wrong one is among the problems
        return Scenario(
            name=name,
            title=title,
            story=story,
            starts_at=starts_at,
            duration_s=duration_s,
            events=tuple(event for event in read if event is not None),
            alarms=tuple(str(alarm) for alarm in alarms),
            outage=outage,
            recorded=recorded,
            seed=seed,
        )

    def event(self, path: str, table: Any) -> Event | None:
        if not isinstance(table, dict):
            self.problem(path, "write each event as its own [[events]] table")
            return None
        self.unknown(table, {"kind", "at", "for", "quantity", *_AMOUNTS}, path)
        try:
            kind = EventKind(table.get("kind", ""))
        except ValueError:
            self.problem(f"{path}.kind", f"{table.get('kind')!r} is none of {', '.join(EventKind)}")
            return None
        amounts = {field: self.amount(table, key, unit, path) for key, (field, unit) in _AMOUNTS.items()}
        flow = amounts.pop("flow_gpm")
        if kind in _NEEDS_FLOW and flow is None:
            self.problem(f"{path}.flow", f"a {kind} needs its flow, as in '62 gpm'")
        quantity = self.get(table, "quantity", str, path, default="")
        if kind is EventKind.SILENT and not quantity:
            self.problem(f"{path}.quantity", "say which quantity's instrument stops answering")
        at_s = self.duration(table, "at", path)
        return Event(kind, at_s, self.duration(table, "for", path), flow_gpm=flow or 0.0, quantity=quantity, **amounts)

    def outage(self, table: Any) -> Outage | None:
        if not isinstance(table, dict):
            self.problem("broker", "write it as a [broker] table with down_at and up_at")
            return None
        self.unknown(table, {"down_at", "up_at"}, "broker")
        outage = Outage(self.duration(table, "down_at", "broker"), self.duration(table, "up_at", "broker"))
        if outage.up_at_s < outage.down_at_s:
            self.problem("broker.up_at", "the broker comes back before it went down")
        return outage

    def amount(self, table: Mapping[str, Any], key: str, unit: str, path: str) -> float | None:
        if key not in table:
            return None
        value = table[key]
        if unit == "pH" and isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        return self.attempt(f"{path}.{key}", lambda: _in_unit(value, unit), 0.0)

    def duration(self, table: Mapping[str, Any], key: str, path: str) -> float:
        where = f"{path}.{key}".lstrip(".")
        if key not in table:
            self.problem(where, "missing; a duration as in '15 min'")
            return 0.0
        return self.attempt(where, lambda: parse_duration_us(_text(table[key])) / 1_000_000, 0.0)

    def get(self, table: Mapping[str, Any], key: str, kind: type[_T], path: str = "", default: _T | None = None) -> _T:
        value = table.get(key, default)
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            what = "missing" if key not in table else f"{value!r} is not a {kind.__name__}"
            self.problem(f"{path}.{key}".lstrip("."), what)
            return kind()
        return value

    def attempt(self, path: str, read: Callable[[], float], fallback: float) -> float:
        try:
            return read()
        except ValueError as error:
            self.problem(path, str(error))
            return fallback

    def unknown(self, table: Mapping[str, Any], known: frozenset[str] | set[str], path: str) -> None:
        for key in table:
            if key not in known:
                self.problem(f"{path}.{key}".lstrip("."), f"unknown key; known are {', '.join(sorted(known))}")

    def problem(self, path: str, text: str) -> None:
        self.problems.append(Problem(self.file, path, None, text))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError(f"{value!r} has no unit; write it as text, as in '15 min'")  # noqa: TRY004 - gathered with the rest
    return value


def _in_unit(value: Any, unit: str) -> float:
    number, given = parse_quantity(_text(value))
    return conversion(given, unit)(number)
