"""The 24-hour, 30-day and calendar-month averages of laboratory results by plain arithmetic, from the text alone.

Everything is computed anew from the whole list of results for every day anyone asks about. Values are whole hundredths
of a mg/L, so that the arithmetic is that of whole numbers.
"""

from dataclasses import dataclass
from datetime import date, timedelta

COUNTS = {"zero": 0, "half": 1, "limit": 2}  # halves of the detection limit


@dataclass(frozen=True)
class Taken:
    """One composite of one local day: hundredths of a mg/L; a less-than result has its detection limit there."""

    day: date
    hundredths: int
    below: bool = False


def _halves(one: Taken, counts: int) -> int:
    """Two hundredths' worth: twice the value, or as many halves of the detection limit as the site counts."""
    return one.hundredths * counts if one.below else 2 * one.hundredths


def daily(one: Taken, limit: int) -> str:
    """What one composite says of a 24-h limit in hundredths."""
    if one.below:
        return "compliant" if one.hundredths <= limit else "not_evaluable"
    return "exceeded" if one.hundredths > limit else "compliant"


def _mean_verdict(results: list[Taken], volumes: dict[date, int] | None, limit: int, nondetect: str) -> str:
    """Sum of C x V over sum of V against the limit, multiplied out: no fraction is ever formed."""
    weights = [1 if volumes is None else volumes[one.day] for one in results]
    bound = 2 * limit * sum(weights)

    def total(counts: int) -> int:
        return sum(weight * _halves(one, counts) for weight, one in zip(weights, results, strict=True))

    counted = [one for one, weight in zip(results, weights, strict=True) if weight]
    too_coarse = any(one.below and one.hundredths > limit for one in counted)
    if not too_coarse:
        if all(one.below for one in counted):
            return "compliant"
        return "exceeded" if total(COUNTS[nondetect]) > bound else "compliant"
    if total(0) > bound:
        return "exceeded"
    return "compliant" if total(2) <= bound else "not_evaluable"


def trailing(
    results: list[Taken],
    last: date,
    limit: int,
    *,
    nondetect: str = "half",
    volumes: dict[date, int] | None = None,
    min_days: int = 22,
) -> str:
    """What the thirty local days that end with `last` say; days without discharge have no concentration."""
    inside = [one for one in results if last - timedelta(days=30) < one.day <= last]
    flowing = [one for one in inside if volumes is None or volumes[one.day] > 0]
    if not flowing:
        return "not_evaluable"
    verdict = _mean_verdict(flowing, volumes, limit, nondetect)
    first_of_all = min(one.day for one in results)
    provisional = len(flowing) < min_days or first_of_all > last - timedelta(days=29)
    return {"exceeded": "suspected", "compliant": "not_evaluable"}.get(verdict, verdict) if provisional else verdict


def month(results: list[Taken], year: int, number: int, limit: int, *, nondetect: str = "half", min_days: int) -> str:
    """What a calendar month that is over says."""
    inside = [one for one in results if (one.day.year, one.day.month) == (year, number)]
    verdict = _mean_verdict(inside, None, limit, nondetect)
    if len(inside) < min_days:
        return {"exceeded": "suspected", "compliant": "not_evaluable"}.get(verdict, verdict)
    return verdict
