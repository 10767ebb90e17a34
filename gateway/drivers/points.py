"""From the registers of one poll to what a point says: number, fault, quality. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass

from gateway.drivers.profile import Point, Register, StatusRule, UnitRule
from gateway.drivers.registers import decode, scaled, set_bits
from gateway.model import Fault, Quality

__all__ = ["Decoded", "Words", "read_point", "worse"]

Words = Mapping[tuple[int, int], int]  # (function, wire address) -> register

_RANK = {Quality.GOOD: 0, Quality.NOT_EVALUATED: 1, Quality.SUSPECT: 2, Quality.MISSING: 3, Quality.FAIL: 4}


@dataclass(frozen=True, slots=True)
class Decoded:
    """One point of one poll. `note` says in words what the device said against its own value."""

    raw: tuple[int, ...]
    value: float | None
    fault: Fault | None = None
    quality: Quality = Quality.GOOD
    note: str = ""


def read_point(point: Point, words: Words, expected_unit: str = "") -> Decoded:
    """What the point says in these registers, which must hold all of `point.registers()`.

    `expected_unit` is the unit the channel can take, the point's own unless given. A number in any other unit is no
    value (WRONG_UNIT), nor is a sentinel. A status that says FAIL leaves the number for the record and says
    DEVICE_FAULT. NaN and infinities come through as they are: quality control flags them.
    """
    raw = _raw(point.register, words)
    number = decode(point.register.type, raw, point.register.order)
    if point.unit_register is not None:
        reported = _reported_unit(point.unit_register, words)
        wanted = expected_unit or point.unit
        if reported != wanted:
            note = f"the device reports {reported}, the channel takes {wanted}"
            return Decoded(raw, None, Fault.WRONG_UNIT, Quality.FAIL, note)
    if number in point.sentinels:
        return Decoded(raw, None, Fault.SENTINEL, Quality.FAIL, f"the device's word for no value: {number}")
    value = scaled(number, point.scale, point.offset)
    quality, note = Quality.GOOD, ""
    if not math.isnan(value):
        quality = point.band.judge(value)
        note = "" if quality is Quality.GOOD else f"{value} {point.unit} is outside the band of a sound signal"
    for rule in point.status:
        said, meaning = _status(rule, words)
        if worse(said, quality) is not quality:
            quality, note = said, meaning
    fault = Fault.DEVICE_FAULT if quality is Quality.FAIL else None
    return Decoded(raw, value, fault, quality, note)


def worse(one: Quality, other: Quality) -> Quality:
    """The worse of two flags: FAIL, MISSING, SUSPECT, then the rest."""
    return one if _RANK[one] > _RANK[other] else other


def _raw(register: Register, words: Words) -> tuple[int, ...]:
    span = register.span
    return tuple(words[span.function, address] for address in range(span.start, span.end))


def _reported_unit(rule: UnitRule, words: Words) -> str:
    code = int(decode(rule.register.type, _raw(rule.register, words), rule.register.order))
    return rule.units.get(code, f"unit code {code} (0x{code:X}), which its profile does not know")


def _status(rule: StatusRule, words: Words) -> tuple[Quality, str]:
    """The worst that the status register says, with its meaning."""
    number = decode(rule.register.type, _raw(rule.register, words), rule.register.order)
    if rule.kind == "band":
        quality = rule.band.judge(number)
        return quality, "" if quality is Quality.GOOD else f"{rule.name} is {number}"
    codes = (int(number),) if rule.kind == "codes" else set_bits(int(number))
    worst, said = Quality.GOOD, ""
    for code in codes:
        quality, meaning = rule.meanings.get(code, (rule.otherwise, f"{rule.name} {code}, which is not documented"))
        if worse(quality, worst) is not worst:
            worst, said = quality, meaning
    return worst, said
