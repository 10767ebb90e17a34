"""What an answer of `setup` must be: each turns the typed text into what is meant, or says what is wrong with it."""

import re
from collections.abc import Callable
from datetime import date
from pathlib import Path
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from gateway.drivers.facts import known_profiles
from gateway.drivers.profile import Profile
from gateway.drivers.target import Setting, bus_of
from gateway.errors import InputError
from gateway.shipped import names
from gateway.spelling import did_you_mean
from gateway.units import canonical_unit, conversion, parse_duration_us, parse_quantity, quantity_units

__all__ = [
    "choice", "day", "duration", "identifier", "measured", "number", "optional", "packs", "place", "profile_named",
    "profiles_like", "quantity", "time_zone", "unit_of",
]  # fmt: skip

_ID = re.compile(r"[a-z0-9][a-z0-9-]*")


def identifier(text: str) -> str:
    """A short name. ValueError."""
    if not _ID.fullmatch(text):
        raise ValueError("lower-case letters, digits and hyphens, as mh3-mill-street")
    return text


def time_zone(text: str) -> str:
    """An IANA name. ValueError."""
    try:
        ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(f"no time zone {text!r}: as America/New_York") from error
    return text


def packs(text: str) -> tuple[str, ...]:
    """Shipped ordinance packs by name, or files; none is an answer. ValueError."""
    chosen = tuple(part.strip() for part in text.split(",") if part.strip() and part.strip() != "none")
    known = names("ordinances")
    for name in chosen:
        if "/" not in name and not name.endswith(".toml") and name not in known:
            raise ValueError(f"no ordinance pack {name!r}{did_you_mean(name, known)}; there are {', '.join(known)}")
    return chosen


def place(text: str) -> str:
    """A serial port, or a host with or without its port. ValueError."""
    try:
        bus_of(text, Setting(9600, "N", 1))
    except InputError as error:
        raise ValueError(str(error)) from error
    return text


def number(low: int, high: int) -> Callable[[str], int]:
    """A whole number between these. The check raises ValueError."""

    def check(text: str) -> int:
        if not text.lstrip("-").isdecimal() or not low <= int(text) <= high:
            raise ValueError(f"a whole number from {low} to {high}, not {text!r}")
        return int(text)

    return check


def choice(*allowed: str) -> Callable[[str], str]:
    """One of these words, whatever the case. The check raises ValueError."""

    def check(text: str) -> str:
        for word in allowed:
            if text.lower() == word.lower():
                return word
        raise ValueError(f"one of {', '.join(allowed)}, not {text!r}")

    return check


def duration(text: str) -> str:
    """A duration, as typed. ValueError."""
    parse_duration_us(text)
    return text


def day(text: str) -> str:
    """A date. ValueError."""
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError as error:
        raise ValueError(f"a date as 2026-03-01, not {text!r}") from error


def quantity(text: str) -> str:
    """A quantity the product knows. ValueError."""
    quantity_units(text)
    return text


def unit_of(quantity_name: str) -> Callable[[str], str]:
    """A unit of this quantity. The check raises ValueError."""

    def check(text: str) -> str:
        unit, known = canonical_unit(text), quantity_units(quantity_name)
        if unit not in known:
            raise ValueError(f"{quantity_name} is measured in {', '.join(known)}, not in {unit}")
        return unit

    return check


def measured(unit: str) -> Callable[[str], str]:
    """A number with a unit that can be turned into this one; a bare number is taken in it. Raises ValueError."""

    def check(text: str) -> str:
        try:
            float(text)
        except ValueError:
            pass
        else:
            text = f"{text} {unit}"
        _, given = parse_quantity(text)
        conversion(given, unit)
        return text

    return check


def optional(check: Callable[[str], str]) -> Callable[[str], str]:
    """The same, and nothing is an answer too."""
    return lambda text: check(text) if text else ""


def profiles_like(text: str) -> tuple[Profile, ...]:
    """The shipped profiles whose name or model has all of these words, one for each file; all of them for nothing."""
    words = text.lower().split()
    found: dict[str, Profile] = {}
    for profile in known_profiles():
        told = f"{profile.id} {profile.model} {profile.variant}".lower()
        if all(word in told for word in words):
            found.setdefault(profile.id, profile)
    return tuple(found.values())


def profile_named(text: str) -> str:
    """A profile by a part of its name or model that only one has, or one's own file. ValueError lists the others."""
    if text in names("devices"):
        return text
    if text.endswith(".toml"):
        if not Path(text).exists():
            raise ValueError(f"{text}: no such file")
        return text
    found = profiles_like(text) if text else ()
    if len(found) == 1:
        return found[0].id
    listed = "".join(f"\n    {profile.id:<26} {profile.model}" for profile in found or profiles_like(""))
    raise ValueError(f"{'several profiles fit' if found else 'no profile fits'} {text!r}:{listed}")
