"""Where a Modbus frame begins and ends, and what is in it: RTU, ASCII and TCP, for a proxy that sits on the line.

Written on its own and not taken from the gateway's reader: what one gets wrong the other shall notice.
"""

from collections.abc import Mapping
from typing import Protocol

__all__ = ["FRAMINGS", "Ascii", "Framing", "Mbap", "Rtu", "crc", "lrc"]

_WITH_BYTE_COUNT = frozenset({1, 2, 3, 4, 17, 20, 21, 23})  # their answers: function, count of bytes, bytes
_OF_FIVE = frozenset({5, 6, 8, 15, 16})  # their answers: function, address, value or count


def crc(data: bytes) -> bytes:
    """The CRC-16 of Modbus over serial line 2.5.1.2, bit by bit as it is defined there, low byte first."""
    register = 0xFFFF
    for byte in data:
        register ^= byte
        for _ in range(8):
            register = register >> 1 ^ (0xA001 if register & 1 else 0)
    return register.to_bytes(2, "little")


def lrc(data: bytes) -> int:
    """The check sum of Modbus ASCII, same 2.5.2.2: the two's complement of the sum of the bytes."""
    return -sum(data) & 0xFF


class Framing(Protocol):
    """How one kind of line wraps a body: unit, function and data. Pure; `bytes` in and out."""

    name: str
    starts_when_silent: bool
    """Whether silence ends a frame, so that what is left then is no frame."""

    def first(self, data: bytes, *, answer: bool) -> int:
        """How many bytes the whole, sound frame takes that stands at the start of these; 0 when none does (yet)."""
        ...

    def body(self, frame: bytes) -> bytes:
        """Unit, function and data of a sound frame."""
        ...

    def frame(self, body: bytes, like: bytes) -> bytes:
        """The sound frame of a body; a TCP header takes its transaction from the frame it is `like`."""
        ...


class Rtu:
    """Modbus RTU, on a line or over TCP."""

    name = "rtu"
    starts_when_silent = True

    def first(self, data: bytes, *, answer: bool) -> int:  # noqa: D102 - the protocol says it
        length = _answer_length(data) if answer else _request_length(data)
        if length == 0 or len(data) < length or crc(data[: length - 2]) != data[length - 2 : length]:
            return 0
        return length

    def body(self, frame: bytes) -> bytes:  # noqa: D102 - the protocol says it
        return frame[:-2]

    def frame(self, body: bytes, like: bytes) -> bytes:  # noqa: D102 - the protocol says it
        return body + crc(body)


class Ascii:
    """Modbus ASCII: a colon, hexadecimal digits, the check sum, carriage return and line feed."""

    name = "ascii"
    starts_when_silent = False

    def first(self, data: bytes, *, answer: bool) -> int:  # noqa: D102 - the protocol says it
        end = data.find(b"\r\n")
        if not data.startswith(b":") or end < 0:
            return 0
        try:
            content = bytes.fromhex(data[1:end].decode("ascii"))
        except ValueError:
            return 0
        return end + 2 if len(content) >= 3 and lrc(content[:-1]) == content[-1] else 0

    def body(self, frame: bytes) -> bytes:  # noqa: D102 - the protocol says it
        return bytes.fromhex(frame[1:-2].decode("ascii"))[:-1]

    def frame(self, body: bytes, like: bytes) -> bytes:  # noqa: D102 - the protocol says it
        return b":" + (body + bytes((lrc(body),))).hex().upper().encode("ascii") + b"\r\n"


class Mbap:
    """Modbus TCP: transaction, protocol 0, length, then the body without a check sum."""

    name = "tcp"
    starts_when_silent = False

    def first(self, data: bytes, *, answer: bool) -> int:  # noqa: D102 - the protocol says it
        if len(data) < 8 or data[2:4] != b"\0\0":
            return 0
        length = 6 + int.from_bytes(data[4:6], "big")
        return length if 8 <= length <= len(data) else 0

    def body(self, frame: bytes) -> bytes:  # noqa: D102 - the protocol says it
        return frame[6:]

    def frame(self, body: bytes, like: bytes) -> bytes:  # noqa: D102 - the protocol says it
        return like[:4] + len(body).to_bytes(2, "big") + body


FRAMINGS: Mapping[str, Framing] = {"rtu": Rtu(), "ascii": Ascii(), "tcp": Mbap()}
"""By the name the command line knows them by."""


def _request_length(data: bytes) -> int:
    if len(data) < 2:
        return 0
    if data[1] in {15, 16}:
        return 9 + data[6] if len(data) > 6 else 0
    return 8 if 1 <= data[1] <= 6 else len(data)  # of any other function: as it came, if its check sum is right


def _answer_length(data: bytes) -> int:
    if len(data) < 3:
        return 0
    if data[1] & 0x80:
        return 5
    if data[1] in _WITH_BYTE_COUNT:
        return 5 + data[2]
    return 8 if data[1] in _OF_FIVE else len(data)
