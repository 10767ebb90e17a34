"""The points of a device profile: from their TOML tables to records, every mistake named."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gateway.drivers.plan import plan
from gateway.drivers.profile import Limits, Listing, Point, Register, Span, Term
from gateway.drivers.profile_rules import RuleReader
from gateway.drivers.profile_table import Table
from gateway.drivers.registers import nearest_f32

__all__ = ["PointReader"]

_ROLES = ("carry", "fraction", "decimals", "exponent", "multiplier", "negative")  # in the order they are applied
_JOINED = frozenset({"carry", "fraction", "decimals", "negative"})  # of one moment with the value, or it is torn
_FULL_SCALE = 32767
_MOST_PLACES = 125
_ADDRESSES = 1 << 16


@dataclass(slots=True)
class PointReader:
    """What the points of one profile share: how registers and rules are read, limits, and the lists they refer to."""

    rules: RuleReader
    limits: Limits
    lists: Mapping[str, Any] = field(default_factory=dict)

    def point(self, table: Table) -> Point | None:
        """The point of one table, None after naming what is wrong with it."""
        point = self._listed(table) if "list" in table.left else self._plain(table)
        table.done()
        if point is None:
            return None
        for register in point.registers():
            span, most = point.span_of(register), self.limits.most(register.function)
            if span.count > most:
                table.problem(table.path, f"needs {span.count} registers in one request; the device gives {most}")
                return None
        try:
            reads = plan((point,), self.limits)
        except ValueError as error:  # even starts and whole blocks make a request longer
            table.problem(table.path, f"cannot be asked for: {error}")
            return None
        if any(read.start < 0 or read.end > _ADDRESSES for read in reads):
            table.problem(table.path, "its request runs beyond the addresses there are (0 to 65535)")
            return None
        return point

    def _plain(self, table: Table) -> Point | None:
        register = self.rules.register(table)
        block = table.take("block", list, None)
        alone = table.take("alone", bool, False)
        scale, full_scale = self._scale(table)
        terms = [term for role in _ROLES if (term := self._term(table, role, register)) is not None]
        if full_scale is not None:
            terms.append(Term("full_scale", full_scale))
        unit_rule = self.rules.unit_rule(table.table("unit_register")) if "unit_register" in table.left else None
        if "unit" not in table.left and unit_rule is None:
            table.problem((*table.path, "unit"), "is missing, and there is no unit_register that would tell it")
        point = self._common(table, register)
        if point is None:
            return None
        point = replace(point, scale=scale, terms=tuple(terms), unit_register=unit_rule)
        if alone:
            point = replace(point, block=(point.address, point.register.span.count))
        elif block is not None:
            point = replace(point, block=self._block(table, block, point.register))
        return replace(point, groups=self._groups(table, point))

    def _common(self, table: Table, register: Register | None) -> Point | None:
        """What every point has, of a list or not."""
        offset = table.take("offset", (int, float), 0.0)
        sentinels = table.take("sentinels", list, [])
        unit = table.take("unit", str, "")
        doc_register = table.take("doc_register", (str, int), "")
        verified = table.take("verified", bool, True)
        resolution = table.take("resolution", (int, float), None)
        band = self.rules.band(table)
        status = [self.rules.status_rule(body) for body in table.tables("status")]
        if not all(isinstance(s, int | float) and not isinstance(s, bool) for s in sentinels):
            table.problem((*table.path, "sentinels"), f"must be numbers, not {sentinels!r}")
            return None
        if not all(math.isfinite(s) for s in sentinels):
            text = "must be finite: what is not a number is no value without being named"
            table.problem((*table.path, "sentinels"), text)
            return None
        if resolution is not None and resolution <= 0:
            table.problem((*table.path, "resolution"), "must be above zero")
        if register is None:
            return None
        try:
            as_sent = [nearest_f32(s) if register.type == "f32" else s for s in sentinels]
        except OverflowError:
            table.problem((*table.path, "sentinels"), f"do not fit a single-precision float: {sentinels!r}")
            return None
        return Point(
            name=str(table.path[-1]),
            register=register,
            unit=unit,
            doc_register=str(doc_register),
            offset=float(offset),
            sentinels=tuple(as_sent),
            status=tuple(rule for rule in status if rule is not None),
            band=band,
            verified=verified,
            resolution=None if resolution is None else float(resolution),
        )

    def _scale(self, table: Table) -> tuple[float, Register | None]:
        """`scale`, or `full_scale`: what 32767 stands for, as a number or as the register that tells it."""
        if "full_scale" not in table.left:
            return table.factor("scale", 1.0), None
        if "scale" in table.left:
            table.problem((*table.path, "scale"), "scale and full_scale are two ways to say the same: keep one")
        if isinstance(table.left["full_scale"], Mapping):
            return 1.0, self._register_of(table.table("full_scale"))
        return table.factor("full_scale", 1.0) / _FULL_SCALE, None

    def _register_of(self, table: Table) -> Register | None:
        register = self.rules.register(table, function=3)
        table.done()
        return register

    def _term(self, table: Table, role: str, value: Register | None) -> Term | None:
        if role not in table.left:
            return None
        body = table.table(role)
        weight = body.factor("weight", 1.0) if role in {"carry", "fraction"} else 1.0
        add = body.take("add", int, 0) if role == "exponent" else 0
        register = self.rules.register(body, function=value.function if value is not None else 3)
        body.done()
        return None if register is None else Term(role, register, weight, add)

    def _block(self, table: Table, block: list[Any], register: Register) -> tuple[int, int] | None:
        if len(block) != 2 or not all(isinstance(item, int) for item in block):
            table.problem((*table.path, "block"), f"must be [first address, number of registers], not {block!r}")
            return None
        start, count = block[0] + self.rules.address_offset, block[1]
        if not (start <= register.address and register.span.end <= start + count):
            table.problem((*table.path, "block"), "does not hold the value itself")
        return start, count

    def _groups(self, table: Table, point: Point) -> tuple[Span, ...]:
        """What must come in one request: the parts of a split number, and beside it its unit and status if they touch.

        Parts that cannot come in one request would be torn at a roll-over: refused.
        """
        if point.block is not None:
            return ()
        joined = point.register.span
        for term in point.terms:
            if term.role not in _JOINED:
                continue
            joined = _around(joined, term.register.span)
            if term.register.function != joined.function or joined.count > self.limits.max_registers:
                text = f"cannot be read in one request with the value: a {term.role} of another moment would tear it"
                table.problem((*table.path, term.role), text)
                return ()
        grown = True
        while grown:
            grown = False
            for register in point.registers():
                span = register.span
                near = span.function == joined.function and span.start <= joined.end and joined.start <= span.end
                wider = _around(joined, span) if near else joined
                if wider != joined and wider.count <= self.limits.max_registers:
                    joined, grown = wider, True
        return () if joined == point.register.span else (joined,)

    def _listed(self, table: Table) -> Point | None:
        """A point that is found by its code in a list of the device's own."""
        name = table.take("list", str)
        codes = table.take("codes", dict, {})
        units = table.coded(codes, str)
        if not units:
            table.problem((*table.path, "codes"), 'must say which codes are this value, as { 18 = "pH" }')
        if name not in self.lists:
            table.problem(
                (*table.path, "list"), f"there is no list {name!r}; known are {', '.join(self.lists) or 'none'}"
            )
            return None
        inside = Table(table.problem, ("lists", name), dict(self.lists[name]))
        place, value, states = inside.table("codes"), inside.table("value"), inside.tables("status")
        inside.done()
        count, end = place.take("count", int), place.take("end", int, None)
        if not isinstance(count, int) or not 1 <= count <= _MOST_PLACES:
            table.problem((*place.path, "count"), f"must lie between 1 and {_MOST_PLACES}")
            return None
        registers = self._places(place, count)
        values = self._places(value, count)
        common = self._common(table, values[0] if values else None)
        if common is None or len(registers) != count or len(values) != count:
            return None
        slots = []
        for n in range(count):
            rules = [self.rules.status_rule(_moved(state, n)) for state in states]
            own = (*common.status, *(rule for rule in rules if rule is not None))
            slots.append(replace(common, register=values[n], status=own))
        return replace(common, listing=Listing(registers, units, tuple(slots), end))

    def _places(self, table: Table, count: int) -> tuple[Register, ...]:
        """A register for each place of a list, `stride` apart."""
        stride = table.take("stride", int, 1)
        found: Iterable[Register | None] = [
            self.rules.register(Table(table.problem, table.path, _at(table.left, n * stride)), function=3)
            for n in range(count)
        ]
        return tuple(register for register in found if register is not None)


def _around(one: Span, other: Span) -> Span:
    start = min(one.start, other.start)
    return Span(one.function, start, max(one.end, other.end) - start)


def _at(body: Mapping[str, Any], by: int) -> dict[str, Any]:
    address = body.get("address")
    return dict(body) | ({"address": address + by} if isinstance(address, int) else {})


def _moved(table: Table, places: int) -> Table:
    """The table of a status register, moved on by so many places of its list."""
    body = dict(table.left)
    stride = body.pop("stride", 1)
    return Table(table.problem, table.path, _at(body, places * (stride if isinstance(stride, int) else 1)))
