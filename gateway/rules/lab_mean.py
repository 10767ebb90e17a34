"""Means of laboratory results, exact, with what a less-than result may hide (docs/judging.md 7).

A non-detect counts in a mean as zero, half its detection limit or all of it, as the site says; the two ends are always
carried along, because a mean whose verdict hangs on a detection limit above the legal limit proves nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date, tzinfo
from fractions import Fraction
from operator import ge, gt, le, lt

from gateway.model import LabResult, SampleType, Verdict
from gateway.rules.lab_result import in_unit
from gateway.rules.local_day import local_date

__all__ = [
    "NONDETECTS", "Estimate", "Mean", "compare", "day_of", "day_results", "estimate", "is_grab_analyte",
    "mean_of_days", "mean_of_results", "verdict_of",
]  # fmt: skip

NONDETECTS = {"zero": Fraction(0), "half": Fraction(1, 2), "limit": Fraction(1)}
_COMPARE: dict[str, Callable[[Fraction, Fraction], bool]] = {">": gt, ">=": ge, "<": lt, "<=": le}

# 40 CFR 403.12(g)(3): these change in the bottle or cling to it, so they are taken by grab; all else by composite.
_GRAB = ("cyanide", "phenol", "fog", "oil", "grease", "sulfide", "temperature", "voc")


def is_grab_analyte(quantity: str) -> bool:
    """Whether the federal default for this analyte is a grab sample and not a 24-h composite."""
    return quantity.lower() == "ph" or quantity.startswith(_GRAB)


def day_of(result: LabResult, zone: tzinfo) -> date:
    """The local day a result stands for: a grab's own, a composite's middle (from 08:00 to 08:00 is the first day)."""
    if result.sample_type is SampleType.GRAB:
        return local_date(result.start_utc_us, zone)
    return local_date((result.start_utc_us + result.stop_utc_us - 1) // 2, zone)


def compare(comparison: str, value: Fraction, limit: Fraction) -> bool:
    """Whether the value exceeds, unrounded."""
    return _COMPARE[comparison](value, limit)


@dataclass(frozen=True, slots=True)
class Estimate:
    """A concentration in the rule's unit: `counted` by the site's convention, between `low` and `high`.

    `nondetects` of the `n` results behind it were less-than results; `coarse_from` is the greatest of their detection
    limits.
    """

    low: Fraction
    counted: Fraction
    high: Fraction
    n: int = 1
    nondetects: int = 0
    coarse_from: Fraction = Fraction(0)

    @property
    def all_below(self) -> bool:
        """Nothing was detected in any result."""
        return self.nondetects == self.n


def estimate(result: LabResult, unit: str, nondetect: str) -> Estimate:
    """One result in the rule's unit. ValueError when its unit measures something else."""
    if result.value is not None:
        value = in_unit(result.value, result.unit, unit)
        return Estimate(value, value, value)
    ceiling = in_unit(result.detection_limit or 0.0, result.unit, unit)
    return Estimate(Fraction(0), ceiling * NONDETECTS[nondetect], ceiling, 1, 1, ceiling)


@dataclass(frozen=True, slots=True)
class Mean:
    """A mean and how it was taken. `n` counts what was averaged: results of a day, or days."""

    estimate: Estimate
    n: int
    weighting: str
    idle_days: int = 0  # sampled days left out because nothing was discharged


def mean_of_results(estimates: Sequence[Estimate]) -> Estimate:
    """The arithmetic mean of results of one day."""
    return _weighted([(one, Fraction(1)) for one in estimates])


def mean_of_days(days: Sequence[tuple[date, Estimate]], volume_gal: Callable[[date], float | None] | None) -> Mean:
    """Sum of C x V over sum of V when every sampled day has its volume, else the arithmetic mean of the days.

    A day without discharge has no concentration and is left out; `n` is then zero when no day is left.
    """
    if volume_gal is None:
        return Mean(_weighted([(one, Fraction(1)) for _, one in days]), len(days), "arithmetic")
    volumes = [volume_gal(day) for day, _ in days]
    known = [Fraction(v) for v in volumes if v is not None and 0 <= v < float("inf")]
    if len(known) < len(days):
        kept = [one for (_, one), v in zip(days, volumes, strict=True) if v != 0]
        lacking = f"arithmetic (no volume for {len(days) - len(known)} of {len(days)} days)"
        return Mean(_weighted([(one, Fraction(1)) for one in kept]), len(kept), lacking, len(days) - len(kept))
    pairs = [(one, v) for (_, one), v in zip(days, known, strict=True) if v > 0]
    return Mean(_weighted(pairs), len(pairs), "flow-weighted", len(days) - len(pairs))


def _weighted(pairs: Sequence[tuple[Estimate, Fraction]]) -> Estimate:
    if len(pairs) == 1:
        return pairs[0][0]
    total = sum((weight for _, weight in pairs), Fraction(0)) or Fraction(1)
    nondetects = sum(one.nondetects for one, _ in pairs)
    counted = sum((one.counted * weight for one, weight in pairs), Fraction(0)) / total
    low = high = counted
    if nondetects:
        low = sum((one.low * weight for one, weight in pairs), Fraction(0)) / total
        high = sum((one.high * weight for one, weight in pairs), Fraction(0)) / total
    coarse_from = max((one.coarse_from for one, _ in pairs), default=Fraction(0))
    return Estimate(low, counted, high, sum(one.n for one, _ in pairs), nondetects, coarse_from)


def day_results(results: Iterable[LabResult], quantity: str) -> list[LabResult]:
    """Those results of one local day that are its average: of the proper sample type, or what there is."""
    proper = SampleType.GRAB if is_grab_analyte(quantity) else SampleType.COMPOSITE
    every = sorted(results, key=lambda result: (result.start_utc_us, result.id))
    return [result for result in every if result.sample_type is proper] or every


def verdict_of(one: Estimate, limit: Fraction, comparison: str) -> Verdict:
    """What the estimate says of the limit: exceeded, compliant, or not evaluable for a detection limit above it."""
    low, high = compare(comparison, one.low, limit), compare(comparison, one.high, limit)
    if comparison.startswith("<"):
        doubtful, exceeds = low != high, low
    elif one.all_below and one.coarse_from <= limit:
        doubtful, exceeds = False, False  # every value is below a detection limit that is itself no more than the limit
    elif one.coarse_from > limit:
        doubtful, exceeds = low != high, low
    else:
        doubtful, exceeds = False, compare(comparison, one.counted, limit)
    if doubtful:
        return Verdict.NOT_EVALUABLE
    return Verdict.EXCEEDED if exceeds else Verdict.COMPLIANT
