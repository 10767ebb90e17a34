"""The three framings of Modbus, as what a line needs of each. Pure."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gateway.drivers.ascii_frames import scan_ascii, take_ascii
from gateway.drivers.frames import Expected, Found, Scan, rtu_frame, scan_rtu, scan_tcp

__all__ = ["FRAMINGS", "Framing"]


@dataclass(frozen=True, slots=True)
class Framing:
    """How requests and answers stand on the wire.

    `scan` looks for the answer to a request among the bytes since, given the units that may still answer an earlier
    one; `stray` takes the same bytes when nobody waits: every sound frame is skipped; `characters` is how many
    a frame with so many bytes of PDU takes. `tagged`: answers carry the number of their request. `paused`: characters
    of one frame may come far apart.
    """

    scan: Callable[[bytes, Expected, frozenset[int]], Scan]
    stray: Callable[[bytes], Scan]
    characters: Callable[[int], int]
    tagged: bool = False
    paused: bool = False


def _stray_rtu(data: bytes) -> Scan:
    units: tuple[int, ...] = ()
    while data and (length := rtu_frame(data)) != 0:
        if length is None:
            data = b""
            break
        units, data = (*units, data[0]), data[length:]
    return Scan(Found.MORE, rest=data, skipped=units)


def _stray_ascii(data: bytes) -> Scan:
    units: tuple[int, ...] = ()
    while (taken := take_ascii(data)).body is not None:
        data = taken.rest
        if taken.body:
            units = (*units, taken.body[0])
    return Scan(Found.MORE, rest=taken.rest, skipped=units)


def _scan_tcp(data: bytes, expected: Expected, _late_units: frozenset[int]) -> Scan:
    return scan_tcp(data, expected)


_RTU = Framing(scan_rtu, _stray_rtu, lambda pdu: pdu + 3)  # unit and check sum
_ASCII = Framing(scan_ascii, _stray_ascii, lambda pdu: 2 * (pdu + 2) + 3, paused=True)  # colon, CR and LF besides
_TCP = Framing(_scan_tcp, lambda data: scan_tcp(data, None), lambda pdu: pdu + 7, tagged=True)

FRAMINGS: Mapping[str, Framing] = {
    "modbus-rtu": _RTU,
    "modbus-rtu-over-tcp": _RTU,
    "modbus-ascii": _ASCII,
    "modbus-tcp": _TCP,
}
"""By kind of bus."""
