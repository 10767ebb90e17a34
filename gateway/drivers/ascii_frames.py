"""Modbus ASCII: finds the one right answer among the characters of a serial line. Pure.

A frame is a colon, two hexadecimal digits to each byte, the longitudinal redundancy check, and CR LF (Modbus over
serial line V1.02, 2.5.2). Characters may come up to a second apart. The standard writes digits in capitals; small ones
are taken too, for the check is over the bytes they stand for, and a bit that tells `a` from `A` changes no number.
"""

from dataclasses import dataclass

from gateway.drivers.frames import Expected, Found, Scan, answers, difference, request_pdu

__all__ = ["ASCII_PAUSE_S", "ascii_request", "lrc", "scan_ascii", "take_ascii"]

ASCII_PAUSE_S = 1.0
"""How far apart two characters of one frame may come (Modbus over serial line V1.02, 2.5.2.1)."""

_START, _END = b":", b"\r\n"
_LONGEST = 513  # the same, 2.5.2.1
_SHORTEST = 3  # unit, function, check
_DIGITS = frozenset(b"0123456789ABCDEFabcdef")


@dataclass(frozen=True, slots=True)
class Taken:
    """The first frame in the characters: unit and PDU in `body`, empty when it was damaged, None when none is whole.

    `stray` characters stood before it; `rest` comes after it.
    """

    body: bytes | None
    rest: bytes
    stray: int = 0


def lrc(data: bytes) -> int:
    """The longitudinal redundancy check: the two's complement of the sum of the bytes (same, 6.2.1)."""
    return -sum(data) & 0xFF


def ascii_request(expected: Expected) -> bytes:
    """Unit and PDU of the request: what an echo brings back."""
    return bytes((expected.unit,)) + request_pdu(expected)


def take_ascii(data: bytes) -> Taken:
    """The first frame, whole or damaged. A colon always begins a frame anew (same, 2.5.2.1)."""
    stray = 0
    while True:
        start = data.find(_START)
        if start < 0:
            return Taken(None, b"", stray + len(data))
        data, stray = data[start:], stray + start
        end, again = data.find(_END), data.find(_START, 1)
        if again > 0 and (end < 0 or again < end):
            data, stray = data[again:], stray + again
        elif end >= 0:
            return Taken(_content(data[1:end]), data[end + len(_END) :], stray)
        elif len(data) > _LONGEST:
            data, stray = data[1:], stray + 1
        else:
            return Taken(None, data, stray)


def scan_ascii(data: bytes, expected: Expected, late_units: frozenset[int] = frozenset()) -> Scan:
    """Looks for the answer in the characters that came since the request, by the rules of `frames.scan_rtu`.

    A frame whose check is wrong is GARBLED at once unless another begins behind it.
    """
    echoed, damaged, noise = False, False, 0
    skipped: tuple[int, ...] = ()
    while True:
        taken = take_ascii(data)
        body, data, noise = taken.body, taken.rest, noise + taken.stray
        if body is None:
            if damaged and not data:
                return Scan(Found.GARBLED, text="the check of the answer is wrong", skipped=skipped, echoed=echoed)
            return Scan(Found.MORE, rest=data, skipped=skipped, echoed=echoed, noise=noise)
        if not body:
            damaged = True
            continue
        unit, pdu = body[0], body[1:]
        if (echoed or not expected.echoing) and unit == expected.unit and answers(pdu, expected):
            return Scan(Found.REPLY, pdu, b"", "", skipped, echoed, noise)
        if not echoed and body == ascii_request(expected):
            echoed = True
        elif unit in late_units and unit != expected.unit:
            skipped += (unit,)
        else:
            return Scan(Found.WRONG, b"", b"", difference(unit, pdu, expected), skipped, echoed)


def _content(digits: bytes) -> bytes:
    """The bytes between colon and CR LF without their check; empty when they are no sound frame."""
    if len(digits) % 2 or not _DIGITS.issuperset(digits):
        return b""
    content = bytes.fromhex(digits.decode("ascii"))
    if len(content) < _SHORTEST or lrc(content[:-1]) != content[-1]:
        return b""
    return content[:-1]
