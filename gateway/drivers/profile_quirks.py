"""What a device profile says of the device as a whole: limits, serial defaults, facts, and its quirks as data."""

from gateway.drivers.answers import MOST_BITS
from gateway.drivers.profile import Fact, Limits, Pace, Span, Transport
from gateway.drivers.profile_rules import RuleReader
from gateway.drivers.profile_table import Table
from gateway.drivers.quirks import MOST_WAIT_US, Quirks, Start, Trigger, Wake, Watchdog
from gateway.drivers.registers import TYPES, words_of
from gateway.drivers.texts import TEXT_TYPES, TIME_TYPES

__all__ = ["read_fact", "read_limits", "read_pace", "read_quirks", "read_transport"]

_MAX_REQUEST = 125  # registers in one request, Modbus application protocol 6.3
_FRAMINGS = ("rtu", "ascii", "tcp")
_WRITES = (6, 16)
_MOST_RETRIES = 5


def read_limits(table: Table) -> Limits:
    """What one request may ask."""
    limits = Limits(
        max_registers=table.take("max_registers", int, _MAX_REQUEST),
        max_gap=table.take("max_gap", int, 0),
        even_start=table.take("even_start", bool, False),
        align=table.take("align", int, 1),
        unknown_is_silent=table.take("unknown_is_silent", bool, False),
        max_bits=table.take("max_bits", int, MOST_BITS),
    )
    table.done()
    if not 1 <= limits.max_registers <= _MAX_REQUEST:
        table.problem((*table.path, "max_registers"), f"must lie between 1 and {_MAX_REQUEST}")
    if not 1 <= limits.max_bits <= MOST_BITS:
        table.problem((*table.path, "max_bits"), f"must lie between 1 and {MOST_BITS}")
    if limits.max_gap < 0:
        table.problem((*table.path, "max_gap"), "must not be negative")
    if not 1 <= limits.align <= max(1, limits.max_registers):
        table.problem((*table.path, "align"), "must lie between 1 and max_registers")
        return Limits()
    return limits


def read_transport(table: Table) -> Transport:
    """Factory settings of the serial side."""
    transport = Transport(
        baud=table.take("baud", int, None),
        parity=table.take("parity", str, None),
        stop_bits=table.take("stop_bits", int, None),
        unit=table.take("unit", int, None),
        verified=table.take("verified", bool, False),
        framings=table.texts("framings") or ("rtu",),
    )
    table.done()
    if transport.parity not in {None, "N", "E", "O"}:
        table.problem((*table.path, "parity"), f"must be N, E or O, not {transport.parity!r}")
    for framing in transport.framings:
        if framing not in _FRAMINGS:
            table.problem((*table.path, "framings"), f"must be of {', '.join(_FRAMINGS)}, not {framing!r}")
    return transport


def read_pace(root: Table) -> Pace:
    """How patiently the device is to be asked, as far as the file says so."""
    pace = Pace(
        timeout_us=root.duration_us("timeout", None),
        retries=root.take("retries", int, None),
        gap_us=root.duration_us("gap", None),
        warm_up_us=root.duration_us("warm_up", None),
    )
    if pace.timeout_us == 0:
        root.problem(("timeout",), "must be above zero")
    if not 0 <= (pace.retries or 0) <= _MOST_RETRIES:
        root.problem(("retries",), f"must lie between 0 and {_MOST_RETRIES}")
    return pace


def read_fact(table: Table, rules: RuleReader) -> Fact | None:
    """Something the device says of itself that is no measurement."""
    function = table.take("function", int, 3)
    address = table.take("address", int)
    type_name = table.take("type", str)
    registers = table.take("registers", int, None)
    order = rules.own_order(table, rules.order)
    doc_register = table.take("doc_register", (str, int), "")
    meanings = table.table("meanings")
    unit, scale, verified = table.take("unit", str, ""), table.factor("scale", 1.0), table.take("verified", bool, True)
    identifies, block = table.texts("identifies"), table.take("block", list, None)
    table.done()
    if function not in {3, 4}:
        table.problem((*table.path, "function"), f"must be 3 (holding) or 4 (input registers), not {function}")
        return None
    if type_name not in (*TYPES, *TEXT_TYPES, *TIME_TYPES):
        known = ", ".join((*TYPES, *TEXT_TYPES, *TIME_TYPES))
        table.problem((*table.path, "type"), f"unknown type {type_name!r}; known are {known}")
        return None
    if type_name in TEXT_TYPES:
        if registers is None:
            table.problem((*table.path, "registers"), "is missing: how many registers the text takes")
        words = registers or 1
    else:
        words = TIME_TYPES.get(type_name) or words_of(type_name)
    if not 1 <= words <= _MAX_REQUEST:
        table.problem((*table.path, "registers"), f"must lie between 1 and {_MAX_REQUEST}")
    if address is None or not rules.is_address(table, address, words):
        return None
    if block is not None and not _holds(block, address, words):
        table.problem((*table.path, "block"), "must be [start, count] around the fact's own registers")
        block = None
    return Fact(
        name=str(table.path[-1]),
        span=Span(function, address + rules.address_offset, words, whole=True),
        type=type_name,
        order=order,
        doc_register=str(doc_register),
        unit=unit,
        scale=scale,
        meanings=meanings.coded(meanings.left, str),
        verified=verified,
        block=None if block is None else (block[0] + rules.address_offset, block[1]),
        identifies=identifies,
    )


def _holds(block: list[object], address: int, words: int) -> bool:
    match block:
        case [int() as start, int() as count]:
            return 0 <= start <= address and address + words <= start + count <= start + _MAX_REQUEST
    return False


def read_quirks(root: Table, rules: RuleReader) -> Quirks:
    """Trigger, start command, sleep, and the whitelist of what may be written."""
    writable = root.take("writable", list, [])
    if not all(isinstance(address, int) for address in writable):
        root.problem((*root.path, "writable"), f"must be a list of wire addresses, not {writable!r}")
        writable = []
    allowed = frozenset(address + rules.address_offset for address in writable)
    return Quirks(
        trigger=_trigger(root.table("trigger"), rules, allowed) if "trigger" in root.left else None,
        start=_start(root.table("start")) if "start" in root.left else None,
        wake=_wake(root.table("wake")) if "wake" in root.left else None,
        writable=allowed,
        refresh_us=root.duration_us("refresh", None),
        writable_coils=_writable_coils(root, rules),
        watchdog=_watchdog(root.table("watchdog"), rules) if "watchdog" in root.left else None,
    )


def _writable_coils(root: Table, rules: RuleReader) -> frozenset[int]:
    """Coils by wire address; "0-7" is a run of them."""
    coils: set[int] = set()
    for one in root.take("writable_coils", list, []):
        first, dash, last = str(one).partition("-")
        if not first.isdecimal() or (dash and not last.isdecimal()) or isinstance(one, bool):
            root.problem((*root.path, "writable_coils"), f'must be wire addresses or runs as "0-7", not {one!r}')
        else:
            coils.update(range(int(first), int(last or first) + 1))
    if any(coil > 0xFFFF for coil in coils):
        root.problem((*root.path, "writable_coils"), "must be 0 to 65535")
    return frozenset(coil + rules.address_offset for coil in coils)


def _watchdog(table: Table, rules: RuleReader) -> Watchdog | None:
    address, unit_us = table.take("address", int), table.duration_us("unit")
    table.done()
    if address is None or unit_us is None or not rules.is_address(table, address, 1):
        return None
    if unit_us <= 0:
        table.problem((*table.path, "unit"), "must be above zero")
        return None
    return Watchdog(address + rules.address_offset, unit_us)


def _trigger(table: Table, rules: RuleReader, writable: frozenset[int]) -> Trigger | None:
    function = table.take("function", int, 6)
    address, value = table.take("address", int), table.take("value", int)
    wait_us = _wait(table)
    table.done()
    if function not in _WRITES:
        table.problem((*table.path, "function"), f"must be 6 or 16, not {function}")
        return None
    if address is None or value is None or not rules.is_address(table, address, 1):
        return None
    if not 0 <= value <= 0xFFFF:
        table.problem((*table.path, "value"), "must be 0 to 65535")
        return None
    address += rules.address_offset
    if address not in writable:
        table.problem((*table.path, "address"), f"{address} is not among the writable addresses of this profile")
        return None
    return Trigger(function, address, value, wait_us)


def _start(table: Table) -> Start | None:
    text = table.take("request", str, "")
    wait_us, every_us = _wait(table), table.duration_us("every", None)
    table.done()
    try:
        request = bytes.fromhex(text)
    except ValueError:
        request = b""
    reads_nothing = len(request) == 5 and request[0] in {3, 4} and request[3:] == b"\0\0"
    writes_nothing = len(request) == 6 and request[0] == 16 and request[3:] == b"\0\0\0"
    if not (reads_nothing or writes_nothing):
        told = "must be a request of no registers from its function code on, as 03 25 00 00 00 or 10 1C 00 00 00 00"
        table.problem((*table.path, "request"), f"{told}, not {text!r}: anything else could change the device")
        return None
    return Start(request, wait_us, every_us)


def _wake(table: Table) -> Wake | None:
    asleep_after_us = table.duration_us("asleep_after")
    wait_us = _wait(table)
    table.done()
    return None if asleep_after_us is None else Wake(asleep_after_us, wait_us)


def _wait(table: Table) -> int:
    wait_us = table.duration_us("wait", 0)
    if wait_us > MOST_WAIT_US:
        text = f"is longer than {MOST_WAIT_US / 1e6:g} s: the values of one poll are to be of one moment"
        table.problem((*table.path, "wait"), text)
    return int(wait_us)
