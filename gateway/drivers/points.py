"""From the registers of one poll to what a point says: number, fault, quality. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from gateway.drivers.profile import OPEN, Fact, Point, Register, StatusRule, Term, UnitRule
from gateway.drivers.registers import decoder, scaled, set_bits
from gateway.drivers.texts import TIME_TYPES, moment, text, utf16
from gateway.model import Fault, Quality
from gateway.site import Conversion
from gateway.units import conversion

__all__ = ["Decoded", "Words", "read_fact", "read_point", "still_moving", "still_the_same", "worse"]

Words = Mapping[tuple[int, int], int]  # (function, wire address) -> register

_RANK = {Quality.GOOD: 0, Quality.NOT_EVALUATED: 1, Quality.SUSPECT: 2, Quality.MISSING: 3, Quality.FAIL: 4}
_LARGEST_POWER = 30  # of ten, in an exponent register: beyond it the register holds something else
_FULL_SCALE = 32767
_LEAST_FLOAT = {"f32": 2.0**-126, "f64": 2.0**-1022}
"""IEEE 754, 3.3 and table 3.5: below it numbers are subnormal, with fewer digits the smaller they are. No instrument
measures one, and every round number with its words swapped is one: a flow of 10 reads 2.3e-41, which is none. Ours."""
_LEAST_PH = 1e-6
"""No electrode tells a pH nearer to zero from zero itself: 7.0 with its words swapped reads 2.3e-41, between 0 and 14,
and below every limit. Ours."""


@dataclass(frozen=True, slots=True)
class Decoded:
    """One point of one poll. `note` says in words what the device said against its own value, or what was converted."""

    raw: tuple[int, ...]
    value: float | None
    fault: Fault | None = None
    quality: Quality = Quality.GOOD
    note: str = ""


class _Refused(Exception):
    """The registers do not make a number together; the message says why."""


def read_point(point: Point, words: Words, expected_unit: str = "") -> Decoded:
    """What the point says in these registers, which must hold all of `point.needed(words)`.

    `expected_unit` is the unit the channel can take, the point's own unless given. A number in another unit is
    converted where there is a conversion (degF to degC); where there is none (mV to pH) it is no value (WRONG_UNIT). A
    sentinel is no value, nor are parts that contradict each other. A status that says FAIL leaves the number for the
    record and says DEVICE_FAULT. NaN and infinities come through as they are: quality control flags them.
    """
    if point.listing is not None:
        return _read_listed(point, words, expected_unit)
    return _read(point, words, expected_unit, "")


def still_the_same(point: Point, words: Words, decoded: Decoded, codes: dict[Register, float]) -> Decoded:
    """The same reading, unless a code that must not change is another than in `codes`, which learns from sound ones.

    Who changes what an instrument measures, or its unit, does so at the instrument: its number is then another thing.
    """
    if decoded.fault is not None:
        return decoded
    for rule in (point.slot(words) or point).status:
        if rule.kind == "unchanged":
            code = rule.register.number(_raw(rule.register, words))
            was = codes.setdefault(rule.register, code)
            if code != was:
                note = f"{rule.name} was {was:g} and is {code:g}: somebody changed the instrument"
                return Decoded(decoded.raw, None, Fault.WRONG_UNIT, Quality.FAIL, note)
    return decoded


def still_moving(
    point: Point, words: Words, decoded: Decoded, counts: dict[Register, tuple[float, int]], at_us: int, for_us: int
) -> Decoded:
    """The same reading, unless a count that goes on while the instrument measures has stood for so long.

    `counts` holds of each register what it was and when it was first seen so. The number is kept, and has failed.
    """
    for rule in (point.slot(words) or point).status:
        if rule.kind == "moves":
            count = rule.register.number(_raw(rule.register, words))
            was, since_us = counts.get(rule.register, (None, at_us))
            if count != was:
                counts[rule.register] = count, at_us
            elif at_us - since_us >= for_us and decoded.fault is None:
                note = f"{rule.name} stands at {count:g}: the values are old"
                return Decoded(decoded.raw, decoded.value, Fault.DEVICE_FAULT, Quality.FAIL, note)
    return decoded


def read_fact(fact: Fact, words: Words) -> str:
    """What the device says of itself in these registers, in words; what makes no sense is told as it came."""
    span = fact.span
    raw = tuple(words[span.function, address] for address in range(span.start, span.end))
    if fact.type == "ascii":
        return text(raw, fact.order)
    if fact.type == "utf16":
        return utf16(raw, fact.order)
    if fact.type in TIME_TYPES:
        try:
            return moment(fact.type, raw, fact.order)
        except ValueError as error:
            return f"no time: {' '.join(f'{word:04X}' for word in raw)} ({error})"
    number = decoder(fact.type, fact.order)(raw)
    if fact.meanings:
        return fact.meanings.get(int(number), f"code {number}") if _whole(number) else f"code {number}"
    return f"{scaled(number, fact.scale):.9g} {fact.unit}".rstrip()


def worse(one: Quality, other: Quality) -> Quality:
    """The worse of two flags: FAIL, MISSING, SUSPECT, then the rest."""
    return one if _RANK[one] > _RANK[other] else other


def _read_listed(point: Point, words: Words, expected_unit: str) -> Decoded:
    listing = point.listing
    slot = point.slot(words)
    if listing is None or slot is None:
        note = f"the device's list has no {point.name} now"
        return Decoded((), None, Fault.NO_SUCH_REGISTER, Quality.FAIL, note)
    code = int(listing.codes[listing.slots.index(slot)].number(_raw(listing.codes[listing.slots.index(slot)], words)))
    return _read(slot, words, expected_unit or point.unit, listing.units[code])


def _read(point: Point, words: Words, expected_unit: str, listed_unit: str) -> Decoded:
    register = point.register
    raw = _raw(register, words)
    number = register.number(raw)
    wanted = expected_unit or point.unit
    reported = listed_unit or point.unit or wanted
    if point.unit_register is not None:
        reported = _reported_unit(point.unit_register, words)
    change = None
    if reported != wanted:
        change = _conversion(reported, wanted)
        if change is None:
            note = f"the device reports {reported}, the channel takes {wanted}"
            return Decoded(raw, None, Fault.WRONG_UNIT, Quality.FAIL, note)
    if number in point.sentinels:
        return Decoded(raw, None, Fault.SENTINEL, Quality.FAIL, f"the device's word for no value: {number}")
    if register.type in _LEAST_FLOAT and 0 < abs(number) < _LEAST_FLOAT[register.type]:
        note = f"{number:.2g} is smaller than any measurement: bytes in another order?"
        return Decoded(raw, None, Fault.NOT_A_NUMBER, Quality.FAIL, note)
    quality, note = Quality.GOOD, ""
    if point.terms:
        try:
            for term in point.terms:
                number = _ROLES[term.role](number, term, words)
        except _Refused as error:
            return Decoded(_all_raw(point, words), None, Fault.DEVICE_FAULT, Quality.FAIL, str(error))
        raw = _all_raw(point, words)
    value = scaled(number, point.scale, point.offset)
    if reported == "pH" and 0 < abs(value) < _LEAST_PH:
        note = f"{value:.2g} is no pH: bytes in another order?"
        return Decoded(raw, None, Fault.NOT_A_NUMBER, Quality.FAIL, note)
    if point.band is not OPEN and not math.isnan(value):
        quality, note = _judged(point, value, reported)
    for rule in point.status:
        said, meaning = _status(rule, words)
        if worse(said, quality) is not quality:
            quality, note = said, meaning
    if change is not None:
        value = change(value)
        note = note or f"converted from {reported}"
    fault = Fault.DEVICE_FAULT if quality is Quality.FAIL else None
    return Decoded(raw, value, fault, quality, note)


def _judged(point: Point, value: float, reported: str) -> tuple[Quality, str]:
    """The value against the band of the point, which is in the point's own unit."""
    if point.unit and reported != point.unit:
        change = _conversion(reported, point.unit)
        value = change(value) if change is not None else value
    quality = point.band.judge(value)
    return quality, "" if quality is Quality.GOOD else f"{value} {point.unit} is outside the band of a sound signal"


def _raw(register: Register, words: Words) -> tuple[int, ...]:
    return tuple([words[key] for key in register.keys])


def _all_raw(point: Point, words: Words) -> tuple[int, ...]:
    """The registers of every part of the number, the value's first, none twice."""
    keys = dict.fromkeys(key for r in (point.register, *(t.register for t in point.terms)) for key in r.keys)
    return tuple(words[key] for key in keys)


def _whole(number: float) -> bool:
    return math.isfinite(number) and number == int(number)


def _reported_unit(rule: UnitRule, words: Words) -> str:
    code = rule.register.number(_raw(rule.register, words))
    unit = rule.units.get(int(code)) if _whole(code) else None
    if unit is None:
        shown = f"{int(code)} (0x{int(code):X})" if _whole(code) else str(code)
        return f"unit code {shown}, which its profile does not know"
    return _reported_unit(rule.refined[unit], words) if unit in rule.refined else unit


@lru_cache(maxsize=512)
def _conversion(reported: str, wanted: str) -> Conversion | None:
    try:
        return conversion(reported, wanted)
    except ValueError:
        return None


def _status(rule: StatusRule, words: Words) -> tuple[Quality, str]:
    """The worst that the status register says, with its meaning."""
    register = rule.register
    number = register.number(_raw(register, words))
    if rule.kind in ("unchanged", "moves"):
        return Quality.GOOD, ""  # what it was before is the poll's to know
    if rule.kind == "band":
        quality = rule.band.judge(number)
        return quality, "" if quality is Quality.GOOD else f"{rule.name} is {number}"
    if not _whole(number):
        return rule.otherwise, f"{rule.name} {number}, which is not documented"
    codes: tuple[int, ...] = (int(number),)
    if rule.kind == "bits":
        width = 8 if register.type.startswith("u8") else 16 * register.span.count
        codes = set_bits(int(number), rule.numbering, width) if number else ()
    worst, said = Quality.GOOD, ""
    for code in codes:
        quality, meaning = rule.meanings.get(code, (rule.otherwise, f"{rule.name} {code}, which is not documented"))
        if worse(quality, worst) is not worst:
            worst, said = quality, meaning
    return worst, said


def _fraction(number: float, term: Term, words: Words) -> float:
    part = term.register.number(_raw(term.register, words))
    if number * part < 0:
        raise _Refused(f"integer part {number} and fraction {part} have different signs: torn apart or misread")
    part *= term.weight
    if abs(part) > 1:
        raise _Refused(f"fraction {part} is more than one unit of the integer part")
    return number + part


def _carry(number: float, term: Term, words: Words) -> float:
    part = term.register.number(_raw(term.register, words))
    if number * part < 0:
        raise _Refused(f"carry {part} and remainder {number} have different signs: torn apart or misread")
    if abs(number) > term.weight:
        raise _Refused(f"remainder {number} is more than one carry of {term.weight:g}")
    return part * term.weight + number


def _exponent(number: float, term: Term, words: Words) -> float:
    code = term.register.number(_raw(term.register, words))
    power = code + term.add
    if not _whole(code) or abs(power) > _LARGEST_POWER:
        raise _Refused(f"exponent register holds {code}")
    ten = 10.0 ** abs(int(power))
    return float(number * ten if power >= 0 else number / ten)


def _decimals(number: float, term: Term, words: Words) -> float:
    places = term.register.number(_raw(term.register, words))
    if not _whole(places) or not 0 <= places <= _LARGEST_POWER:
        raise _Refused(f"decimals register holds {places}")
    return float(number / 10.0 ** int(places))


def _multiplier(number: float, term: Term, words: Words) -> float:
    factor = term.register.number(_raw(term.register, words))
    if not math.isfinite(factor) or factor <= 0:
        raise _Refused(f"multiplier register holds {factor}")
    return number * factor


def _full_scale(number: float, term: Term, words: Words) -> float:
    return _multiplier(number, term, words) / _FULL_SCALE


def _negative(number: float, term: Term, words: Words) -> float:
    return -number if term.register.number(_raw(term.register, words)) else number


_ROLES = {
    "fraction": _fraction,
    "carry": _carry,
    "exponent": _exponent,
    "decimals": _decimals,
    "multiplier": _multiplier,
    "full_scale": _full_scale,
    "negative": _negative,
}
