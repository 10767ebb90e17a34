"""The registers of a device profile and what is said about values: status, units, bands; from TOML to records."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from gateway.drivers.frames import BIT_READS
from gateway.drivers.profile import Band, Register, StatusRule, UnitRule
from gateway.drivers.profile_table import REQUIRED, Table
from gateway.drivers.registers import NUMBERINGS, ORDERS, TYPES, words_of
from gateway.model import Quality

__all__ = ["RuleReader"]

_QUALITIES = {"good": Quality.GOOD, "suspect": Quality.SUSPECT, "fail": Quality.FAIL}
_LAST_ADDRESS = 0xFFFF
_READS = (1, 2, 3, 4)


@dataclass(slots=True)
class RuleReader:
    """What every register of one profile shares: byte order, address offset, and the named tables of codes."""

    order: str = "ABCD"
    address_offset: int = 0
    status: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, Any] = field(default_factory=dict)

    def register(self, table: Table, function: int | None = None) -> Register | None:
        """The register a table names; `function` when it need not say which."""
        found = table.take("function", int, REQUIRED if function is None else function)
        address = table.take("address", int)
        is_bit = found in BIT_READS
        type_name = table.take("type", str, "bit" if is_bit else REQUIRED)
        order = self.own_order(table, self.order)
        byte = table.take("byte", int, None)
        bits = table.take("bits", list, None)
        if type_name == "bool":
            type_name = "bit"
        if found not in {*_READS, None}:
            known = "1 (coils), 2 (discrete inputs), 3 (holding registers) or 4 (input registers)"
            table.problem((*table.path, "function"), f"must be {known}, not {found}")
        elif type_name in (*TYPES, "bit") and (type_name == "bit") != is_bit:
            text = (
                "a coil or an input is a bit"
                if is_bit
                else 'a register holds no single bit; take bits = [n, n] of "u16"'
            )
            table.problem((*table.path, "type"), f"{type_name} cannot be read with function {found}: {text}")
            return None
        if type_name is not None and type_name not in (*TYPES, "bit"):
            table.problem((*table.path, "type"), f"unknown type {type_name!r}; known are {', '.join(TYPES)}")
        if byte is not None and byte < 0:
            table.problem((*table.path, "byte"), "must not be negative")
            byte = None
        if found not in _READS or address is None or type_name not in (*TYPES, "bit"):
            return None
        if not self.is_address(table, address, words_of(type_name, byte or 0)):
            return None
        if bits is not None and not (len(bits) == 2 and all(isinstance(bit, int) for bit in bits)):
            table.problem((*table.path, "bits"), f"must be [lowest, highest], not {bits!r}")
            return None
        try:
            return Register(
                found, address + self.address_offset, type_name, order, byte, None if bits is None else tuple(bits)
            )
        except ValueError as error:
            table.problem((*table.path, "bits"), str(error))
            return None

    def is_address(self, table: Table, address: int, words: int) -> bool:
        """Whether so many registers from here exist in any device, after saying if not."""
        on_wire = address + self.address_offset
        if 0 <= on_wire <= _LAST_ADDRESS + 1 - words:
            return True
        table.problem((*table.path, "address"), f"{on_wire} is no wire address (0 to {_LAST_ADDRESS})")
        return False

    def own_order(self, table: Table, default: str) -> str:
        """The table's own byte order, or the default."""
        order = table.take("order", str, default)
        if order not in ORDERS:
            table.problem((*table.path, "order"), f"unknown byte order {order!r}; known are {', '.join(ORDERS)}")
            return default
        return str(order)

    def band(self, table: Table) -> Band:
        """The bounds a table gives."""
        names = [item.name for item in fields(Band)]
        bounds = [table.take(name, (int, float), None) for name in names]
        given = [float(bound) for bound in bounds if bound is not None]
        if given != sorted(given):
            table.problem(table.path, f"{', '.join(names)} must rise in this order")
        return Band(*(None if bound is None else float(bound) for bound in bounds))

    def unit_rule(self, table: Table) -> UnitRule | None:
        """The register that tells the unit."""
        register = self.register(table, function=3)
        codes = self._reference(table, "units", self.units)
        refined = {}
        further = table.table("refined")
        for unit in tuple(further.left):
            rule = self.unit_rule(further.table(unit))
            if rule is not None:
                refined[unit] = rule
        table.done()
        return None if register is None else UnitRule(register, table.coded(codes, str), refined)

    def status_rule(self, table: Table) -> StatusRule | None:
        """The register that judges the value: by a named rule, by the one number it must hold (`equals`), by going on
        holding what it held (`unchanged`), or by never standing still (`moves`)."""
        register = self.register(table, function=3)
        for kind in ("unchanged", "moves"):
            if kind in table.left:
                return self._remembered(table, register, kind)
        if "equals" in table.left:
            return self._equals(table, register)
        rule_name = str(table.left.get("rule", "status"))
        rule = Table(table.problem, ("status", rule_name), self._reference(table, "rule", self.status))
        table.done()
        kind = rule.take("kind", str, None)
        if kind not in {"codes", "bits", "band"}:
            rule.problem((*rule.path, "kind"), f"must be codes, bits or band, not {kind!r}")
            return None
        numbering = rule.word("numbering", NUMBERINGS, "lsb0")
        otherwise = _QUALITIES[rule.word("otherwise", tuple(_QUALITIES), "fail")]
        meanings = {}
        listed = rule.table("meanings")
        for code, entry in listed.coded(listed.left, list).items():
            if len(entry) != 2 or not isinstance(entry[0], str) or entry[0] not in _QUALITIES:
                rule.problem((*listed.path, str(code)), f'must be ["good", "suspect" or "fail", text], not {entry!r}')
                continue
            meanings[code] = (_QUALITIES[entry[0]], str(entry[1]))
        band = self.band(rule)
        rule.done()
        if register is None:
            return None
        return StatusRule(register, kind, meanings, otherwise, band, rule_name, numbering)

    def _equals(self, table: Table, register: Register | None) -> StatusRule | None:
        said = table.take("equals", (int, str))
        name = table.take("name", str, "status")
        table.done()
        try:
            wanted = int(said)
        except (TypeError, ValueError):
            table.problem((*table.path, "equals"), f"must be a whole number, not {said!r}")
            return None
        return None if register is None else StatusRule(register, "codes", {wanted: (Quality.GOOD, "")}, name=name)

    def _remembered(self, table: Table, register: Register | None, kind: str) -> StatusRule | None:
        if table.take(kind, bool) is not True:
            table.problem((*table.path, kind), "must be true, or be left out")
        name = table.take("name", str, "status")
        table.done()
        return None if register is None else StatusRule(register, kind, name=name)

    def _reference(self, table: Table, key: str, tables: Mapping[str, Any]) -> dict[str, Any]:
        name = table.take(key, str)
        if name is not None and name not in tables:
            table.problem((*table.path, key), f"there is no table {name!r}; known are {', '.join(tables) or 'none'}")
        found = tables.get(name or "", {})
        return dict(found) if isinstance(found, Mapping) else {}
