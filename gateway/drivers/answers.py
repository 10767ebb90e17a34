"""From the right answer's PDU to what was asked for, or to the exception it stands for. Pure."""

import struct

from gateway.drivers.frames import BIT_READS, Expected
from gateway.errors import DeviceFault, DeviceSilent, NoSuchRegister

__all__ = ["MOST_BITS", "MOST_REGISTERS", "read_answer"]

MOST_BITS = 2000
"""Coils or inputs in one request (Modbus V1.1b3, 6.1 and 6.2)."""
MOST_REGISTERS = 125
"""Registers in one request (same, 6.3 and 6.4)."""

_EXCEPTION = 0x80
_NO_SUCH = frozenset({1, 2, 3})
_ABSENT_UNIT = frozenset({10, 11})  # a TCP gateway's "path unavailable" and "target did not respond"
_THINGS = {1: "coil", 2: "input", 5: "coil", 15: "coil"}


def read_answer(pdu: bytes, expected: Expected) -> tuple[int, ...]:
    """The registers, or a 0 or 1 for every coil or input, lowest bit first; nothing for a command.

    DeviceFault, NoSuchRegister or DeviceSilent for an exception, by its code. `pdu` must be `frames.answers`.
    """
    if pdu[0] & _EXCEPTION:
        raise _refusal(pdu[1], expected)
    if expected.command:
        return ()
    if expected.function in BIT_READS:
        packed = int.from_bytes(pdu[2:], "little")  # what pads the last byte is nobody's
        return tuple(packed >> place & 1 for place in range(expected.count))
    return struct.unpack(f">{expected.count}H", pdu[2:])


def _refusal(code: int, expected: Expected) -> DeviceFault | NoSuchRegister | DeviceSilent:
    thing = _THINGS.get(expected.function, "register")
    what = f"{thing}s {expected.address} to {expected.address + expected.count - 1}"
    if expected.command:
        what = f"function {expected.function} at {thing} {expected.address}"
    text = f"unit {expected.unit}, {what}: exception {code}"
    if code in _NO_SUCH:
        return NoSuchRegister(f"{text}, the device has no such {thing}", code)
    if code in _ABSENT_UNIT:
        return DeviceSilent(f"{text}, the TCP gateway cannot reach it")
    return DeviceFault(f"{text}, the device cannot answer now", code)
