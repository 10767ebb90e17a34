"""How a number of the channel stands to a limit of the rule."""

from operator import ge, gt, le, lt

from gateway.site import Channel, Conversion, Rule
from gateway.units import conversion

__all__ = ["Comparison"]

_COMPARE = {">": gt, ">=": ge, "<": lt, "<=": le}


class Comparison:
    """Compares in the channel's unit: 150 degF taken to degC and back is no longer 150, and 150 complies."""

    __slots__ = ("_beyond", "_bound", "_from_unit", "_limit", "_plain", "_to_unit", "upward")

    def __init__(self, rule: Rule, channel: Channel) -> None:
        self.upward = rule.comparison.startswith(">")
        self._beyond = _COMPARE[rule.comparison]
        self._to_unit = rule.to_unit
        self._plain = rule.to_unit.is_identity
        self._from_unit = Conversion() if self._plain else conversion(rule.unit, channel.unit)
        self._limit: float | None = None
        self._bound = 0.0

    def value(self, number: float) -> float:
        """The channel's number in the rule's unit, for people."""
        return number if self._plain else self._to_unit(number)

    def beyond(self, number: float, limit: float) -> bool:
        """Whether the channel's number is beyond a limit in the rule's unit."""
        if limit != self._limit:
            self._limit = limit
            self._bound = limit if self._plain else self._from_unit(limit)
        return bool(self._beyond(number, self._bound))
