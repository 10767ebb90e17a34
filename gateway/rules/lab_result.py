"""One laboratory result as a record: what it must say, how it travels, and its number as an exact fraction."""

import math
from collections.abc import Mapping
from dataclasses import asdict, fields
from fractions import Fraction
from typing import Any

from gateway.model import LabResult, SampleType
from gateway.units import canonical_unit, conversion

__all__ = ["exact", "in_unit", "mistakes", "number_text", "result_body", "result_from", "said_result"]

_LONGEST_US = 32 * 86_400 * 1_000_000  # a composite over more than a month is a slip of the pen
_YEARS_US = (631_152_000 * 10**6, 4_102_444_800 * 10**6)  # 1990 to 2100: no sample of this sewer lies outside
_WORDS = ("id", "analyte", "unit", "method", "laboratory", "entered_by")


def exact(value: float) -> Fraction:
    """The decimal a person wrote, not its nearest binary fraction: 1.61 is 161/100."""
    return Fraction(repr(float(value)))


def in_unit(value: float, from_unit: str, to_unit: str) -> Fraction:
    """A concentration in another unit, exactly (the factors between mg/L, ug/L, g/L and ppm are powers of ten).

    ValueError when the units measure different things.
    """
    if from_unit == to_unit:
        return exact(value)
    factor = conversion(from_unit, to_unit)
    return exact(value) * exact(factor.gain) + exact(factor.offset)


def number_text(value: float | Fraction) -> str:
    """A number for people: ten significant digits at most, none of them padding."""
    return f"{float(value):.10g}"


def said_result(result: LabResult) -> str:
    """The number as the laboratory wrote it: `1.61 mg/L` or `< 0.005 mg/L`."""
    if result.value is None:
        return f"< {number_text(result.detection_limit or 0.0)} {result.unit}"
    return f"{number_text(result.value)} {result.unit}"


def mistakes(result: LabResult) -> list[tuple[str, str]]:
    """Everything that keeps a result from being one, as (field, words); empty when it is sound.

    Method, laboratory and who entered it are part of the record that has to be kept (40 CFR 403.12(o)).
    """
    found = [(name, "is required") for name in _WORDS if not str(getattr(result, name)).strip()]
    found += [
        (name, "holds a line break or another character that cannot be printed")
        for name in (*_WORDS, "remark")
        if not str(getattr(result, name)).isprintable()
    ]
    if result.version < 1:
        found.append(("version", "counts from 1"))
    if result.unit:
        try:
            canonical_unit(result.unit)
        except ValueError as error:
            found.append(("unit", str(error)))
    if result.value is None and result.detection_limit is None:
        found.append(("value", "is required; a non-detect is written with its detection limit, as in <0.005"))
    for name, number in (("value", result.value), ("detection_limit", result.detection_limit)):
        if number is not None and not math.isfinite(number):
            found.append((name, "is not a finite number"))
        elif number is not None and number < 0:
            found.append((name, "is below zero"))
    if result.detection_limit == 0:
        found.append(("detection_limit", "must be above zero"))
    return found + _of_times(result)


def _of_times(result: LabResult) -> list[tuple[str, str]]:
    for name, utc_us in (("start", result.start_utc_us), ("stop", result.stop_utc_us)):
        if not _YEARS_US[0] <= utc_us < _YEARS_US[1]:
            return [(name, "lies before 1990 or after 2100")]
    period_us = result.stop_utc_us - result.start_utc_us
    if result.sample_type is SampleType.GRAB:
        return [] if period_us == 0 else [("stop", "a grab is one moment: leave stop empty, or equal to start")]
    if period_us <= 0:
        return [("stop", "a composite ends after it starts")]
    return [("stop", "the composite would be longer than a month")] if period_us > _LONGEST_US else []


def result_body(result: LabResult) -> dict[str, Any]:
    """JSON-able; `result_from` is its inverse."""
    return {**asdict(result), "sample_type": result.sample_type.value}


def result_from(body: Mapping[str, Any]) -> LabResult:
    """The result in a JSON object. ValueError names the field that is missing, unknown, of the wrong type or wrong."""
    _require(isinstance(body, Mapping), "a laboratory result is a JSON object")
    known = {field.name for field in fields(LabResult)}
    name = f"result {body.get('id', '?')}"
    if unknown := sorted(set(body) - known):
        raise ValueError(f"{name}: unknown field {unknown[0]!r}")
    if missing := sorted(known - set(body) - {"detection_limit", "remark"}):
        raise ValueError(f"{name}: {missing[0]} is missing")
    for key in (*_WORDS, "remark"):
        _require(isinstance(body.get(key, ""), str), f"{name}: {key} must be a text")
    for key in ("version", "start_utc_us", "stop_utc_us"):
        _require(type(body[key]) is int, f"{name}: {key} must be a whole number")
    for key in ("value", "detection_limit"):
        number = body.get(key)
        _require(number is None or type(number) is float or _is_count(number), f"{name}: {key} must be a number")
    _require(body["sample_type"] in tuple(SampleType), f"{name}: sample_type is none of {', '.join(SampleType)}")
    numbers = {key: None if body.get(key) is None else float(body[key]) for key in ("value", "detection_limit")}
    result = LabResult(**{**body, **numbers, "sample_type": SampleType(body["sample_type"])})
    if found := mistakes(result):
        raise ValueError(f"{name}: " + "; ".join(f"{key} {words}" for key, words in found))
    return result


def _is_count(number: object) -> bool:
    """A whole number that a float can hold."""
    return type(number) is int and abs(number) < 1 << 53


def _require(holds: object, words: str) -> None:
    if not holds:
        raise ValueError(words)
