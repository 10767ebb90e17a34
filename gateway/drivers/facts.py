"""What devices say of themselves: serial numbers, firmware, settings; and which shipped profile that fits."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache

from gateway.drivers import profiles
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.points import read_fact
from gateway.drivers.profile import Fact, Profile
from gateway.errors import BadReply, BusDown, ConfigError, DeviceFault, DeviceSilent, DriverError, NoSuchRegister
from gateway.shipped import names

__all__ = ["FactReader", "FactReading", "Likeness", "known_profiles"]

_OWN_ADDRESS = "{unit}"
_MOST_SILENCES = 2  # in a row: then the device is gone, or gives no answer where it has no register


@dataclass(frozen=True, slots=True)
class FactReading:
    """One fact as told, with its registers; `text` is empty and `error` says why when it could not be read."""

    name: str
    function: int
    address: int
    raw: tuple[int, ...] = ()
    text: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class Likeness:
    """A shipped profile whose identifying facts all hold here. `weak` when all of them are the device's own address."""

    profile: str
    variant: str
    model: str
    evidence: tuple[str, ...]
    weak: bool


@dataclass(slots=True)
class FactReader:
    """Reads the facts of one unit, each register block once however many profiles ask for it."""

    line: ModbusLine
    unit: int
    timeout_s: float
    _words: dict[tuple[int, int], int] = field(default_factory=dict)
    _errors: dict[tuple[int, int, int], str] = field(default_factory=dict)
    _silences: int = 0

    async def read(self, profile: Profile) -> tuple[FactReading, ...]:
        """Every fact of a profile, in the order of its file. BusDown is raised; other failures are in the readings."""
        return tuple([await self._fact(fact) for fact in profile.facts.values()])

    async def likenesses(self, first: str = "") -> tuple[Likeness, ...]:
        """The shipped profiles that this unit fits, the best founded first. A proposal for people: never a choice.

        The facts of the profile `first` are asked for before all others.
        """
        found: list[Likeness] = []
        for profile in sorted(known_profiles(), key=lambda one: one.id != first):
            likeness = await self._likeness(profile)
            if likeness is not None and all(other.profile != likeness.profile for other in found):
                found.append(likeness)
        return tuple(sorted(found, key=lambda one: (one.weak, -len(one.evidence))))

    async def _likeness(self, profile: Profile) -> Likeness | None:
        evidence: list[str] = []
        wanted = [fact for fact in profile.facts.values() if fact.identifies]
        for fact in wanted:
            reading = await self._fact(fact)
            if reading.error or not any(_fits(reading.text, one, self.unit) for one in fact.identifies):
                return None
            evidence.append(f"{fact.name} (register {fact.span.start}) is {reading.text}")
        if not evidence:
            return None
        weak = all(_OWN_ADDRESS in fact.identifies for fact in wanted)
        return Likeness(profile.id, profile.variant, profile.model, tuple(evidence), weak)

    async def _fact(self, fact: Fact) -> FactReading:
        span = fact.span
        start, count = fact.block or (span.start, span.count)
        error = await self._fetch(span.function, start, count)
        if error:
            return FactReading(fact.name, span.function, span.start, error=error)
        raw = tuple(self._words[span.function, address] for address in range(span.start, span.end))
        return FactReading(fact.name, span.function, span.start, raw, read_fact(fact, self._words))

    async def _fetch(self, function: int, start: int, count: int) -> str:
        """Why these registers cannot be had; empty when they are there."""
        key = (function, start, count)
        if key in self._errors or all((function, start + n) in self._words for n in range(count)):
            return self._errors.get(key, "")
        if self._silences >= _MOST_SILENCES:
            return "not asked: it gave no answer before"
        try:
            if not self.line.connected:
                await self.line.open()
            registers = await self.line.read(self.unit, function, start, count, self.timeout_s)
        except BusDown:
            raise
        except DriverError as error:
            self._silences += isinstance(error, DeviceSilent | BadReply)
            self._errors[key] = _reason(error)
            return self._errors[key]
        self._silences = 0
        self._words |= {(function, start + n): word for n, word in enumerate(registers)}
        return ""


@lru_cache(maxsize=1)
def known_profiles() -> tuple[Profile, ...]:
    """Every shipped profile, once for each of its variants, templates included."""
    return tuple(_known_profiles())


def _known_profiles() -> Iterator[Profile]:
    for name in names("devices"):
        for variant in profiles.variants_of(name) or ("",):
            overrides: Mapping[str, object] = {"confirmed": True} | ({"variant": variant} if variant else {})
            try:
                yield profiles.load(name, overrides)
            except ConfigError:
                continue  # a mistake in a shipped file is for its own test to find, not for a technician on a ladder


def _fits(told: str, wanted: str, unit: int) -> bool:
    if wanted == _OWN_ADDRESS:
        return told == str(unit)
    return told.startswith(wanted[:-1]) if wanted.endswith("*") else told == wanted


def _reason(error: DriverError) -> str:
    match error:
        case NoSuchRegister() | DeviceFault():
            return f"exception {error.code}"
        case DeviceSilent():
            return "no answer"
        case _:
            return str(error)
