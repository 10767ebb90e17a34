"""What the registers around an address could mean: every reading of them beside what the display says. Pure.

A manual's register number is the wire address or one more than it, and a number of several registers comes in one of
four byte orders: eight candidates. None is chosen here. A wrong one is not always absurd: pH 7.0 with its words swapped
is 2.3e-41, a number between 0 and 14.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from gateway.drivers.registers import ORDERS, decoder, scaled, words_of

__all__ = ["FULL_NAMES", "Candidate", "Display", "Verdict", "candidates", "places_of", "survivors", "twins"]

FULL_NAMES: Mapping[str, str] = {
    "float32": "f32", "float64": "f64", "int16": "i16", "uint16": "u16", "int32": "i32", "uint32": "u32",
    "int64": "i64", "uint64": "u64",
}  # fmt: skip
"""What manuals and other programs call the types."""

_INTEGERS = ("u16", "i16", "u32", "i32")
_FLOATS = frozenset({"f32", "f64"})
_SCALES = (1.0, 0.1, 0.01, 0.001, 0.0001)
_LEAST = 1e-6  # ours: no instrument of a sewer shows a number nearer to zero than this, but for zero itself
_NEAR_DIGITS = 3  # ours: the display may have moved by so many of its last digits between the look and the read
_NEAR_SHARE = 0.02  # or by so much of its number

Words = Mapping[tuple[int, int], int]  # (function, wire address) -> register


class Verdict(IntEnum):
    """How well a candidate agrees, the best first."""

    EQUAL = 0  # rounds to what the display says
    NEAR = 1  # an instrument whose value moves could have shown it
    PLAUSIBLE = 2  # lies where the quantity can lie, but is not what the display says, or nobody said
    IMPLAUSIBLE = 3
    NO_NUMBER = 4  # NaN or infinity
    REFUSED = 5  # the registers could not be read


@dataclass(frozen=True, slots=True)
class Display:
    """What the instrument's own display says: the number, and how much its last digit is worth."""

    value: float
    step: float

    @classmethod
    def of(cls, text: str) -> "Display":
        """`7.02` as shown, its last digit worth 0.01. ValueError when it is no number."""
        value = float(text)
        if not math.isfinite(value):
            raise ValueError(f"not a number: {text}")
        mantissa, _, power = text.lower().partition("e")
        decimals = len(mantissa.partition(".")[2])
        return cls(value, 10.0 ** (int(power or 0) - decimals))


@dataclass(frozen=True, slots=True)
class Candidate:
    """One reading of the registers: where, how, and what it gives.

    `functions` are those that give these very words. `base` is what was added to the manual's number to get the wire
    address. `words` is empty and `value` None when they could not be read; `remark` then says why.
    """

    functions: tuple[int, ...]
    address: int
    base: int
    type: str
    order: str
    scale: float = 1.0
    words: tuple[int, ...] = ()
    value: float | None = None
    verdict: Verdict = Verdict.REFUSED
    off: float | None = None
    remark: str = ""


def places_of(address: int) -> tuple[int, ...]:
    """What must be added to a register number to get the wire addresses it may mean: as it stands, or one less."""
    return (0, -1) if address > 0 else (0,)


def candidates(
    words: Words,
    refusals: Mapping[int, str],
    *,
    functions: Sequence[int],
    address: int,
    types: Sequence[str] = (),
    display: Display | None = None,
    band: tuple[float, float] | None = None,
) -> tuple[Candidate, ...]:
    """Every reading of what was read, in the order of functions, addresses, types and byte orders.

    `refusals` says, by function, why registers are not in `words`. Without `types` these are the float's readings, and
    of the whole numbers, with up to four decimals, those that agree with the display, or are plausible where there is
    none; with neither display nor band the whole numbers as they stand. `band` is where the quantity can lie.
    """
    places = [(same, address + base, base) for same in _alike(words, functions) for base in places_of(address)]
    found = [
        candidate
        for same, at, base in places
        for type_name in types or ("f32",)
        for candidate in _readings(words, refusals, same, at, base, type_name, display, band)
    ]
    if not types:
        worst = Verdict.PLAUSIBLE if display is None else Verdict.NEAR
        whole = (
            candidate
            for same, at, base in places
            for type_name in _INTEGERS
            for candidate in _readings(words, refusals, same, at, base, type_name, display, band)
        )
        # A zero is a zero in any type: of it the float's readings say all there is to say.
        # With nothing to compare with, decimals are anybody's guess.
        blind = display is None and band is None
        found += [c for c in whole if c.verdict <= worst and c.value and (c.scale == 1.0 or not blind)]
    return tuple(found)


def _alike(words: Words, functions: Sequence[int]) -> list[tuple[int, ...]]:
    """The functions in groups that gave the same registers: many devices answer function 4 with their holding ones."""
    groups: dict[tuple[tuple[int, int], ...], tuple[int, ...]] = {}
    for function in functions:
        gave = tuple(sorted((at, word) for (asked, at), word in words.items() if asked == function))
        key = gave or ((-function, 0),)
        groups[key] = (*groups.get(key, ()), function)
    return list(groups.values())


def survivors(found: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Those that agree best: with the display where one does, else those that are at least plausible; maybe none."""
    best = min((candidate.verdict for candidate in found), default=Verdict.REFUSED)
    return tuple(c for c in found if c.verdict is best) if best <= Verdict.PLAUSIBLE else ()


def twins(found: Sequence[Candidate]) -> tuple[tuple[Candidate, ...], ...]:
    """Groups of candidates with one and the same number: this reading cannot tell them apart."""
    groups: dict[float, list[Candidate]] = {}
    for candidate in found:
        if candidate.value is not None:
            groups.setdefault(candidate.value, []).append(candidate)
    return tuple(tuple(group) for group in groups.values() if len(group) > 1)


def _readings(
    words: Words,
    refusals: Mapping[int, str],
    functions: tuple[int, ...],
    address: int,
    base: int,
    type_name: str,
    display: Display | None,
    band: tuple[float, float] | None,
) -> list[Candidate]:
    count = words_of(type_name)
    keys = [(functions[0], address + n) for n in range(count)]
    if any(key not in words for key in keys):
        reason = refusals.get(functions[0], "not read")
        return [Candidate(functions, address, base, type_name, order, remark=reason) for order in _orders(type_name)]
    raw = tuple(words[key] for key in keys)
    result: list[Candidate] = []
    for order in _orders(type_name):
        number = decoder(type_name, order)(raw)
        if type_name in ("i16", "i32") and number >= 0:
            continue  # the unsigned reading says the same, and stands there already
        remark = f"or i{type_name[1:]}: the same so far" if type_name in ("u16", "u32") and _small(number, raw) else ""
        for scale in (1.0,) if type_name in _FLOATS else _SCALES:
            value = scaled(number, scale)
            verdict, why = _judged(value, display, band)
            off = None if display is None or not math.isfinite(value) else value - display.value
            result.append(
                Candidate(
                    functions, address, base, type_name, order, scale, raw, value, verdict, off, why or remark
                )
            )  # fmt: skip
    if type_name not in _FLOATS and display is not None:
        result = _best_scales(result)
    return result


def _orders(type_name: str) -> tuple[str, ...]:
    return ORDERS if words_of(type_name) > 1 else ("ABCD", "BADC")


def _small(number: float, raw: tuple[int, ...]) -> bool:
    return number < 1 << (16 * len(raw) - 1)


def _best_scales(found: list[Candidate]) -> list[Candidate]:
    """Of one whole number with its decimals the reading that is nearest to the display."""
    best: dict[str, Candidate] = {}
    for candidate in found:
        before = best.get(candidate.order)
        if before is None or abs(candidate.off or 0.0) < abs(before.off or 0.0):
            best[candidate.order] = candidate
    return list(best.values())


def _judged(value: float, display: Display | None, band: tuple[float, float] | None) -> tuple[Verdict, str]:
    if not math.isfinite(value):
        return Verdict.NO_NUMBER, ""
    if display is not None:
        off = abs(value - display.value)
        # A float32 has seven digits, so what is rounded on its way to the display may miss half a step by that much.
        if off <= 0.5 * display.step + 1e-6 * abs(display.value):
            return Verdict.EQUAL, ""
        if off <= max(_NEAR_DIGITS * display.step, _NEAR_SHARE * abs(display.value)):
            return Verdict.NEAR, ""
    if 0 < abs(value) < _LEAST:
        return Verdict.IMPLAUSIBLE, "so near to zero is another number's bytes"
    if band is not None and not band[0] <= value <= band[1]:
        return Verdict.IMPLAUSIBLE, f"outside {band[0]:g} to {band[1]:g}"
    if band is None and abs(value) > _MOST:
        return Verdict.IMPLAUSIBLE, "so large is another number's bytes"
    return Verdict.PLAUSIBLE, ""


_MOST = 1e12  # ours: even a totalizer in litres is less
