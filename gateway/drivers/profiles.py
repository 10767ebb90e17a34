"""Reads device profiles: TOML in, frozen `Profile` out, every mistake at once with its file, line and key."""

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from gateway.drivers.profile import (
    Band,
    Limits,
    Point,
    Profile,
    Register,
    StatusRule,
    Transport,
    UnitRule,
)
from gateway.drivers.registers import ORDERS, TYPES, words_of
from gateway.errors import ConfigError, Problem
from gateway.model import Quality
from gateway.shipped import shipped
from gateway.toml_lines import Path as KeyPath
from gateway.toml_lines import dotted, key_lines, nearest_line

__all__ = ["Point", "Profile", "load", "parse"]

_QUALITIES = {"good": Quality.GOOD, "suspect": Quality.SUSPECT, "fail": Quality.FAIL}
_REQUIRED: Any = object()
_MAX_REQUEST = 125  # registers in one request, Modbus application protocol 6.3
_LAST_ADDRESS = 0xFFFF


def load(name: str, overrides: Mapping[str, Any] | None = None, beside: Path | None = None) -> Profile:
    """A shipped profile by its name, or the user's own by its path, with a site's overrides laid over it.

    A name that ends in `.toml` is a path, relative to the folder `beside` when given. `overrides` may replace any key
    of the file (`order = "ABCD"`, `points.pH.sentinels = [...]`). ConfigError carries every mistake.
    """
    path = (beside or Path()) / name if name.endswith(".toml") else shipped("devices", name)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError([Problem(str(path), "", None, f"cannot read the device profile: {error}")]) from error
    return parse(text, str(path), overrides)


def parse(text: str, file: str, overrides: Mapping[str, Any] | None = None) -> Profile:
    """The text of one profile as a Profile; `file` only names it in messages. ConfigError carries every mistake."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([Problem(file, "", None, f"not TOML: {error}")]) from error
    reader = _ProfileReader(file, text)
    profile = reader.profile(_merged(reader.expanded(document), overrides or {}))
    if reader.problems:
        raise ConfigError(reader.problems)
    return profile


def _merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    result = dict(under)
    for key, value in over.items():
        mine = result.get(key)
        result[key] = _merged(mine, value) if isinstance(mine, Mapping) and isinstance(value, Mapping) else value
    return result


@dataclass(slots=True)
class _Table:
    """One TOML table while it is read: keys are taken one by one, what is left over is a mistake."""

    reader: "_ProfileReader"
    path: KeyPath
    left: dict[str, Any]

    def take(self, key: str, kind: type | tuple[type, ...], default: Any = _REQUIRED) -> Any:
        if key not in self.left:
            if default is _REQUIRED:
                self.reader.problem((*self.path, key), "is missing")
                return None
            return default
        value = self.left.pop(key)
        kinds = kind if isinstance(kind, tuple) else (kind,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = " or ".join(_WORDS[k] for k in kinds)
            self.reader.problem((*self.path, key), f"must be {wanted}, not {value!r}")
            return None if default is _REQUIRED else default
        return value

    def table(self, key: str) -> "_Table":
        return _Table(self.reader, (*self.path, key), dict(self.take(key, dict, {})))

    def texts(self, key: str) -> tuple[str, ...]:
        value = self.take(key, (list, str), [])
        return (value,) if isinstance(value, str) else tuple(str(item) for item in value)

    def done(self) -> None:
        for key in self.left:
            self.reader.problem((*self.path, key), "is not a key of a device profile here")


_WORDS = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    dict: "a table",
    list: "a list",
}


@dataclass(slots=True)
class _ProfileReader:
    """Gathers the problems of one file; the methods mirror the parts of a profile."""

    file: str
    text: str
    problems: list[Problem] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)  # expanded point -> its name in the file
    order: str = "ABCD"
    address_offset: int = 0
    limits: Limits = field(default_factory=Limits)

    def problem(self, path: KeyPath, text: str) -> None:
        in_file = tuple(self.aliases.get(p, p) if isinstance(p, str) else p for p in path)
        self.problems.append(Problem(self.file, dotted(path), nearest_line(key_lines(self.text), in_file), text))

    def expanded(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """The document with each `"AI{n}"` point written out `repeat` times, its addresses `stride` apart."""
        points: dict[str, Any] = {}
        listed = document.get("points", {})
        for name, raw in listed.items() if isinstance(listed, Mapping) else ():
            repeat = raw.get("repeat") if isinstance(raw, Mapping) else None
            if "{n}" not in name or not isinstance(repeat, int):
                points[name] = raw
                continue
            body = {key: value for key, value in raw.items() if key != "repeat"}
            for n in range(1, repeat + 1):
                self.aliases[name.replace("{n}", str(n))] = name
                points[name.replace("{n}", str(n))] = _shifted(body, n - 1, body.get("stride", 1))
        return dict(document) | {"points": points}

    def profile(self, document: dict[str, Any]) -> Profile:
        root = _Table(self, (), dict(document))
        self.order = self._order(root, "ABCD")
        self.address_offset = root.take("address_offset", int, 0)
        self.limits = self._limits(root.table("limits"))
        status = self._named(root.table("status"))
        units = self._named(root.table("units"))
        points = {}
        listed = root.take("points", dict, {})
        for name, body in listed.items():
            point = self._point(_Table(self, ("points", name), dict(body)), status, units)
            if point is not None:
                points[name] = point
        if not listed:
            self.problem(("points",), "a profile without a point delivers nothing")
        profile = Profile(
            id=root.take("id", str),
            model=root.take("model", str),
            source=root.texts("source"),
            points=points,
            limits=self.limits,
            transport=self._transport(root.table("transport")),
            confidence=root.take("confidence", str, ""),
            notes=root.texts("notes"),
        )
        root.done()
        return profile

    def _named(self, table: _Table) -> dict[str, dict[str, Any]]:
        """The tables of codes that points refer to by name."""
        return {name: dict(table.take(name, dict, {})) for name in tuple(table.left)}

    def _limits(self, table: _Table) -> Limits:
        limits = Limits(
            max_registers=table.take("max_registers", int, _MAX_REQUEST),
            max_gap=table.take("max_gap", int, 0),
            even_start=table.take("even_start", bool, False),
        )
        table.done()
        if not 1 <= limits.max_registers <= _MAX_REQUEST:
            self.problem((*table.path, "max_registers"), f"must lie between 1 and {_MAX_REQUEST}")
        return limits

    def _transport(self, table: _Table) -> Transport:
        transport = Transport(
            baud=table.take("baud", int, None),
            parity=table.take("parity", str, None),
            stop_bits=table.take("stop_bits", int, None),
            unit=table.take("unit", int, None),
        )
        table.done()
        if transport.parity not in {None, "N", "E", "O"}:
            self.problem((*table.path, "parity"), f"must be N, E or O, not {transport.parity!r}")
        return transport

    def _point(
        self, table: _Table, status: Mapping[str, dict[str, Any]], units: Mapping[str, dict[str, Any]]
    ) -> Point | None:
        before = len(self.problems)
        register = self._register(table)
        block = table.take("block", list, None)
        scale = table.take("scale", (int, float), 1.0)
        offset = table.take("offset", (int, float), 0.0)
        sentinels = table.take("sentinels", list, [])
        unit = table.take("unit", str, "")
        doc_register = table.take("doc_register", (str, int), "")
        band = self._band(table)
        unit_rule = self._unit_rule(table.table("unit_register"), units) if "unit_register" in table.left else None
        rules = []
        for index, body in enumerate(table.take("status", list, [])):
            rules.append(self._status_rule(_Table(self, (*table.path, "status", index), dict(body)), status))
        table.done()
        if not unit and unit_rule is None:
            self.problem((*table.path, "unit"), "is missing, and there is no unit_register that would tell it")
        if scale == 0:
            self.problem((*table.path, "scale"), "must not be zero")
        if not all(isinstance(s, int | float) and not isinstance(s, bool) for s in sentinels):
            self.problem((*table.path, "sentinels"), f"must be numbers, not {sentinels!r}")
        if len(self.problems) > before or register is None:
            return None
        point = Point(
            name=str(table.path[-1]),
            register=register,
            unit=unit,
            doc_register=str(doc_register),
            scale=float(scale),
            offset=float(offset),
            sentinels=tuple(float(s) for s in sentinels),
            block=self._block(table, block, register),
            status=tuple(rule for rule in rules if rule is not None),
            unit_register=unit_rule,
            band=band,
        )
        self._check_widths(table, point)
        return point

    def _check_widths(self, table: _Table, point: Point) -> None:
        for register in point.registers():
            span = point.span_of(register)
            if span.count > self.limits.max_registers:
                text = f"needs {span.count} registers in one request; the device gives {self.limits.max_registers}"
                self.problem(table.path, text)
                return

    def _block(self, table: _Table, block: list[Any] | None, register: Register) -> tuple[int, int] | None:
        if block is None:
            return None
        if len(block) != 2 or not all(isinstance(item, int) for item in block):
            self.problem((*table.path, "block"), f"must be [first address, number of registers], not {block!r}")
            return None
        start, count = block[0] + self.address_offset, block[1]
        if not (start <= register.address and register.span.end <= start + count):
            self.problem((*table.path, "block"), "does not hold the value itself")
        return start, count

    def _register(self, table: _Table, function: int | None = None) -> Register | None:
        default = _REQUIRED if function is None else function
        found = table.take("function", int, default)
        address = table.take("address", int)
        type_name = table.take("type", str)
        order = self._order(table, self.order)
        if found not in {3, 4, None}:
            self.problem((*table.path, "function"), f"must be 3 (holding) or 4 (input registers), not {found}")
        if type_name is not None and type_name not in TYPES:
            self.problem((*table.path, "type"), f"unknown type {type_name!r}; known are {', '.join(TYPES)}")
        if found not in {3, 4} or address is None or type_name not in TYPES:
            return None
        address += self.address_offset
        if not 0 <= address <= _LAST_ADDRESS + 1 - words_of(type_name):
            self.problem((*table.path, "address"), f"{address} is no wire address (0 to {_LAST_ADDRESS})")
            return None
        return Register(found, address, type_name, order)

    def _order(self, table: _Table, default: str) -> str:
        order = table.take("order", str, default)
        if order not in ORDERS:
            self.problem((*table.path, "order"), f"unknown byte order {order!r}; known are {', '.join(ORDERS)}")
            return default
        return str(order)

    def _band(self, table: _Table) -> Band:
        names = [item.name for item in fields(Band)]
        bounds = [table.take(name, (int, float), None) for name in names]
        given = [float(bound) for bound in bounds if bound is not None]
        if given != sorted(given):
            self.problem(table.path, f"{', '.join(names)} must rise in this order")
        return Band(*(None if bound is None else float(bound) for bound in bounds))

    def _unit_rule(self, table: _Table, units: Mapping[str, dict[str, Any]]) -> UnitRule | None:
        register = self._register(table, function=3)
        codes = self._reference(table, "units", units)
        table.done()
        return None if register is None else UnitRule(register, self._coded(table, codes, str))

    def _status_rule(self, table: _Table, status: Mapping[str, dict[str, Any]]) -> StatusRule | None:
        register = self._register(table, function=3)
        rule_name = table.left.get("rule", "status")
        rule = _Table(self, ("status", str(rule_name)), self._reference(table, "rule", status))
        table.done()
        kind = rule.take("kind", str, None)
        if kind not in {"codes", "bits", "band"}:
            self.problem((*rule.path, "kind"), f"must be codes, bits or band, not {kind!r}")
            return None
        otherwise = self._quality(rule, "otherwise", rule.take("otherwise", str, "fail"))
        meanings = {}
        listed = rule.table("meanings")
        for code, entry in self._coded(listed, listed.left, list).items():
            if len(entry) != 2 or entry[0] not in _QUALITIES:
                self.problem((*listed.path, str(code)), f'must be ["good", "suspect" or "fail", text], not {entry!r}')
                continue
            meanings[code] = (_QUALITIES[entry[0]], str(entry[1]))
        band = self._band(rule)
        rule.done()
        return None if register is None else StatusRule(register, kind, meanings, otherwise, band, str(rule_name))

    def _quality(self, table: _Table, key: str, word: str) -> Quality:
        if word not in _QUALITIES:
            self.problem((*table.path, key), f"must be good, suspect or fail, not {word!r}")
        return _QUALITIES.get(word, Quality.FAIL)

    def _reference(self, table: _Table, key: str, tables: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
        name = table.take(key, str)
        if name is not None and name not in tables:
            self.problem((*table.path, key), f"there is no table {name!r}; known are {', '.join(tables) or 'none'}")
        return dict(tables.get(name or "", {}))

    def _coded(self, table: _Table, codes: Mapping[str, Any], kind: type) -> dict[int, Any]:
        """Keys of a TOML table as numbers: decimal or 0x."""
        result = {}
        for key, value in codes.items():
            try:
                code = int(key, 0)
            except ValueError:
                self.problem((*table.path, key), f"{key!r} is no code: write a whole number, or one in 0x")
                continue
            if not isinstance(value, kind):
                self.problem((*table.path, key), f"must be {_WORDS[kind]}, not {value!r}")
                continue
            result[code] = value
        return result


def _shifted(body: Any, steps: int, stride: int) -> Any:
    """A point's table with every address moved on by `steps` strides; an inner table may have its own stride."""
    if isinstance(body, Sequence) and not isinstance(body, str):
        return [_shifted(item, steps, stride) if isinstance(item, Mapping) else item for item in body]
    mine = body.get("stride", stride)
    result = {key: value for key, value in body.items() if key != "stride"}
    for key, value in body.items():
        if key == "address" and isinstance(value, int):
            result[key] = value + steps * mine
        elif key == "doc_register":
            result[key] = value + steps * mine if isinstance(value, int) else value.replace("{n}", str(steps + 1))
        elif key == "block" and isinstance(value, list):
            result[key] = [value[0] + steps * mine, *value[1:]]
        elif isinstance(value, Mapping) or (isinstance(value, list) and key == "status"):
            result[key] = _shifted(value, steps, mine)
    return result
