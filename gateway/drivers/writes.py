"""Writes as PDUs: one coil, one register, several of either (Modbus V1.1b3, 6.5, 6.6, 6.11 and 6.12). Pure.

They are sent by `modbus.ModbusLine.command`, which never repeats one.
"""

from collections.abc import Sequence

__all__ = ["MOST_COILS", "MOST_REGISTERS", "WRITES", "write_coil", "write_coils", "write_register", "write_registers"]

WRITES = frozenset({5, 6, 15, 16})
"""The functions that write; only they may be broadcast."""

MOST_COILS = 1968
"""As many as one request may write (same, 6.11)."""
MOST_REGISTERS = 123
"""As many as one request may write (same, 6.12)."""

_LAST = 0xFFFF


def write_coil(address: int, on: bool) -> bytes:
    """Function 5. ValueError for an address outside 0 to 65535."""
    return _head(5, address, 1) + (b"\xff\x00" if on else b"\x00\x00")


def write_register(address: int, value: int) -> bytes:
    """Function 6. ValueError for an address or a value outside 0 to 65535."""
    return _head(6, address, 1) + _word(value)


def write_coils(address: int, on: Sequence[bool]) -> bytes:
    """Function 15, for 1 to 1968 coils from `address` on, the first in the lowest bit. ValueError for any other."""
    if not 1 <= len(on) <= MOST_COILS:
        raise ValueError(f"one request writes 1 to {MOST_COILS} coils, not {len(on)}")
    packed = sum(1 << place for place, state in enumerate(on) if state).to_bytes(-(-len(on) // 8), "little")
    return _head(15, address, len(on)) + _word(len(on)) + bytes((len(packed),)) + packed


def write_registers(address: int, values: Sequence[int]) -> bytes:
    """Function 16, for 1 to 123 registers from `address` on. ValueError for any other number, address or value."""
    if not 1 <= len(values) <= MOST_REGISTERS:
        raise ValueError(f"one request writes 1 to {MOST_REGISTERS} registers, not {len(values)}")
    words = b"".join(_word(value) for value in values)
    return _head(16, address, len(values)) + _word(len(values)) + bytes((len(words),)) + words


def _head(function: int, address: int, count: int) -> bytes:
    if not 0 <= address <= _LAST + 1 - count:
        raise ValueError(f"{address} is no wire address for {count} of function {function} (0 to {_LAST})")
    return bytes((function,)) + address.to_bytes(2, "big")


def _word(value: int) -> bytes:
    if not 0 <= value <= _LAST:
        raise ValueError(f"{value} does not fit a register (0 to {_LAST})")
    return value.to_bytes(2, "big")
