"""All points of one instrument as they stand now, for a technician to compare with its display."""

import asyncio
import math
from dataclasses import dataclass

from gateway.drivers.modbus import ModbusLine
from gateway.drivers.plan import Read, plan, split
from gateway.drivers.points import read_point
from gateway.drivers.profile import Point, Profile, UnitRule
from gateway.errors import BusDown, DriverError, NoSuchRegister
from gateway.model import Quality
from gateway.site import Bus

__all__ = ["LiveValue", "live_values"]


@dataclass(frozen=True, slots=True)
class LiveValue:
    """One point: its number in `unit`, the unit the device itself reports where it does, or why there is none."""

    point: str
    unit: str
    value: float | None
    quality: Quality
    note: str

    def __str__(self) -> str:
        if self.value is None:
            return f"no value: {self.note}" if self.note else "no value"
        doubt = "" if self.quality is Quality.GOOD else f" ({self.quality.name.lower()}: {self.note})"
        return f"{self.value:.6g} {self.unit}{doubt}"


def live_values(bus: Bus, unit: int, profile: Profile) -> dict[str, LiveValue]:
    """The points of a device by name, in the order of its profile. It only reads: a device that wants to be told to
    measure first shows old values or none. DriverError when the line cannot be opened or nobody answers.
    """
    return asyncio.run(_live(bus, unit, profile))


async def _live(bus: Bus, unit: int, profile: Profile) -> dict[str, LiveValue]:
    line = ModbusLine(bus)
    words: dict[tuple[int, int], int] = {}
    timeout_s = (profile.pace.timeout_us or 1_000_000) / 1e6
    failure: DriverError | None = None
    try:
        await line.open()
        queue = list(plan(profile.points.values(), profile.limits))
        while queue:
            read = queue.pop(0)
            try:
                registers = await line.read(unit, read.function, read.start, read.count, timeout_s)
            except NoSuchRegister as error:
                queue[:0] = split(read, profile.limits)
                failure = failure or error
                continue
            except BusDown:
                raise
            except DriverError as error:
                failure = error
                if not words:
                    raise
                break
            words |= _held(read, registers)
    finally:
        line.close()
    return {name: _value(point, words, failure) for name, point in profile.points.items()}


def _held(read: Read, registers: tuple[int, ...]) -> dict[tuple[int, int], int]:
    return {(read.function, read.start + n): word for n, word in enumerate(registers)}


def _value(point: Point, words: dict[tuple[int, int], int], failure: DriverError | None) -> LiveValue:
    if any(key not in words for register in point.needed(words) for key in register.keys):
        refused = isinstance(failure, NoSuchRegister)
        why = "the device has no such register" if refused else str(failure or "not read")
        return LiveValue(point.name, point.unit, None, Quality.MISSING, why)
    unit = point.unit or (_reported(point.unit_register, words) if point.unit_register is not None else "")
    decoded = read_point(point, words, unit)
    if decoded.value is not None and not math.isfinite(decoded.value):
        return LiveValue(point.name, unit, None, Quality.FAIL, "not a number")
    return LiveValue(point.name, unit, decoded.value, decoded.quality, decoded.note)


def _reported(rule: UnitRule, words: dict[tuple[int, int], int]) -> str:
    code = rule.register.number([words[key] for key in rule.register.keys])
    unit = rule.units.get(int(code), "") if math.isfinite(code) else ""
    return _reported(rule.refined[unit], words) if unit in rule.refined else unit
