"""Numbers of a rule that no reading can ever reach, or every reading does: slips of the pen that must not pass."""

from collections.abc import Sequence
from math import inf

from gateway.rules.pack_fields import Fields
from gateway.units import conversion

__all__ = ["check_sense"]

# Least and most that the limit of a quantity can sensibly be, in the unit; concentrations, flows and shares are never
# below zero. pH: the range that probes are made for. Temperature: water that still flows, with room to spare.
_RANGES = {"pH": (0.0, 14.0, "pH"), "temperature": (-50.0, 200.0, "degC")}
_SIGNED = ("pH", "temperature", "orp", "level")
_MOST_CONFIRM = 1000  # at a poll a minute, most of a day
_MONTH_MIN = 745 * 60  # October where the clock goes back


def check_sense(fields: Fields, kind: str, quantities: Sequence[str], limit: float | None, unit: str) -> None:
    """Note what is absurd about the limit and the counts of one rule; what could not be read was told before."""
    if fields.count("confirm", default=1) > _MOST_CONFIRM:
        fields.error("confirm", f"is more than {_MOST_CONFIRM} samples in a row: it would never be reached")
    if kind == "average" and fields.count("min_days", default=1) > 30:
        fields.error("min_days", "is more than the 30 days of the longest window")
    if limit is None:
        return
    if kind == "excursion" and limit > _MONTH_MIN:
        fields.error("limit", "is longer than any month")
    elif kind == "share" and limit > 100:
        fields.error("limit", "is more than the whole")
    elif kind in ("limit", "slug", "average"):
        for quantity in quantities:
            _check_range(fields, quantity, limit, unit)


def _check_range(fields: Fields, quantity: str, limit: float, unit: str) -> None:
    low, high, in_unit = _RANGES.get(quantity, (-inf if quantity in _SIGNED else 0.0, inf, unit))
    try:
        value = conversion(unit, in_unit)(limit)
    except ValueError:
        return  # a unit that the quantity does not have was told before
    if not low <= value <= high:
        fields.error("limit", f"{limit:g} {unit} is no sensible limit of {quantity}: nothing would ever tell on it")
