"""Finds the one right answer in what came in on a line, and names what is wrong with any other. Pure.

The library's own framing takes a late answer, an answer of another function and a short answer for the one it waits
for, accepts transaction id 0, and loses a good frame behind one stray byte. So frames are told apart here, strictly:
right unit, right function, right count, right check sum or transaction id.
"""

from dataclasses import dataclass
from enum import Enum, auto

__all__ = [
    "BIT_READS", "Expected", "Found", "Scan", "answers", "crc16", "difference", "request_pdu", "rtu_frame", "scan_rtu",
    "scan_tcp",
]  # fmt: skip

_EXCEPTION = 0x80
_CRC_LENGTH = 2
_EXCEPTION_LENGTH = 5  # RTU: unit, function, code, check sum
BIT_READS = frozenset({1, 2})  # coils, discrete inputs
_READS = frozenset({1, 2, 3, 4})
_ECHOES = frozenset({5, 6, 15, 16})  # answers of a fixed eight bytes
_MBAP_LENGTH = 6  # transaction, protocol, length; the unit counts as content
_MAX_TCP_CONTENT = 254


class Found(Enum):
    """What the bytes are so far."""

    MORE = auto()  # nothing whole yet
    REPLY = auto()  # the answer, or the exception, that was waited for
    WRONG = auto()  # a sound frame that is not the answer
    GARBLED = auto()  # an answer whose check is wrong
    BROKEN = auto()  # TCP: the stream cannot be framed any more


@dataclass(frozen=True, slots=True)
class Expected:
    """The request that is out: only its answer counts. `transaction` is 0 where the framing has none.

    `count` is of coils or discrete inputs (functions 1 and 2) or of registers (3 and 4). `command` is the PDU of a
    request that is no plain read of `count` things: a write, or a read of none. On a line that is known to be
    `echoing`, the answer that looks like the request is the second of the two.
    """

    unit: int
    function: int
    address: int
    count: int
    transaction: int = 0
    command: bytes = b""
    echoing: bool = False

    @classmethod
    def to_command(cls, unit: int, pdu: bytes, *, echoing: bool = False) -> "Expected":
        """The request made of this PDU, of at least a function code, an address and a count or value."""
        return cls(unit, pdu[0], int.from_bytes(pdu[1:3], "big"), 0, command=pdu, echoing=echoing)

    @property
    def answer_head(self) -> bytes:
        """How the PDU of the right answer begins; for a command it is the whole of it."""
        if self.function in _ECHOES:
            return self.command[:5]
        return bytes((self.function, self.data_bytes))

    @property
    def answer_length(self) -> int:
        """The bytes of the right answer's PDU."""
        return 5 if self.function in _ECHOES else 2 + self.data_bytes

    @property
    def data_bytes(self) -> int:
        """What a read brings: two bytes to a register, eight coils or inputs to a byte (Modbus V1.1b3, 6.1 to 6.4)."""
        return -(-self.count // 8) if self.function in BIT_READS else 2 * self.count


@dataclass(frozen=True, slots=True)
class Scan:
    """The outcome of a look at the buffer.

    `pdu` is the answer from its function code on; `rest` the bytes to keep for the next look; `skipped` the units whose
    sound frames were thrown away because they answer something else (late units, foreign transactions); `echoed`
    whether the line gave our own request back first; `noise` how many stray bytes stood before the answer.
    """

    found: Found
    pdu: bytes = b""
    rest: bytes = b""
    text: str = ""
    skipped: tuple[int, ...] = ()
    echoed: bool = False
    noise: int = 0


def crc16(data: bytes) -> bytes:
    """The check sum of Modbus over serial line, in the order it is sent (low byte first)."""
    crc = 0xFFFF
    for byte in data:
        crc = (crc >> 8) ^ _CRC_TABLE[(crc ^ byte) & 0xFF]
    return crc.to_bytes(2, "little")


def request_pdu(expected: Expected) -> bytes:
    """A request from its function code on."""
    if expected.command:
        return expected.command
    return bytes((expected.function,)) + expected.address.to_bytes(2, "big") + expected.count.to_bytes(2, "big")


def rtu_frame(data: bytes, at: int = 0) -> int | None:
    """The length of the sound answer frame that starts here, 0 while it is not whole, None when there is none."""
    length = _rtu_length(data, at)
    if length is None:
        return None
    if length == 0 or len(data) < at + length:
        return 0
    return length if _sound(data, at, length) else None


def scan_rtu(data: bytes, expected: Expected, late_units: frozenset[int] = frozenset()) -> Scan:
    """Looks for the answer in the bytes that came since the request.

    Stray bytes before a good answer are stepped over. A sound frame of a unit in `late_units` (it still owes an answer
    from before) is thrown away; any other sound frame that is not the answer is WRONG at once.
    """
    echoed = False
    skipped: tuple[int, ...] = ()
    while True:
        if (echoed or not expected.echoing) and (length := _answer_at(data, 0, expected)):
            return Scan(Found.REPLY, data[1 : length - _CRC_LENGTH], b"", "", skipped, echoed)
        if not echoed and (echo := _echo(data, expected)):
            data, echoed = data[echo:], True
            continue
        other = rtu_frame(data)
        if not other:
            break
        if data[0] not in late_units or data[0] == expected.unit:
            return Scan(Found.WRONG, b"", b"", difference(data[0], data[1 : other - 2], expected), skipped, echoed)
        data, skipped = data[other:], (*skipped, data[0])
    return _hunt(data, expected, skipped, echoed)


def scan_tcp(data: bytes, expected: Expected | None) -> Scan:
    """Looks for the answer in a TCP stream; with nothing expected every sound frame is thrown away.

    A frame of another transaction never counts, not even transaction 0. A frame that breaks the protocol leaves no way
    to find the next one: BROKEN.
    """
    skipped: tuple[int, ...] = ()
    while len(data) > _MBAP_LENGTH:
        protocol = int.from_bytes(data[2:4], "big")
        length = int.from_bytes(data[4:6], "big")
        if protocol or not 3 <= length <= _MAX_TCP_CONTENT:
            return Scan(Found.BROKEN, text=f"protocol id {protocol}, length {length} in the header", skipped=skipped)
        end = _MBAP_LENGTH + length
        if len(data) < end:
            break
        frame, data = data[:end], data[end:]
        if expected is None or int.from_bytes(frame[:2], "big") != expected.transaction:
            skipped += (frame[6],)
            continue
        pdu = frame[7:]
        if frame[6] == expected.unit and answers(pdu, expected):
            return Scan(Found.REPLY, pdu, data, "", skipped)
        return Scan(Found.WRONG, b"", data, difference(frame[6], pdu, expected), skipped)
    return Scan(Found.MORE, rest=data, skipped=skipped)


def _hunt(data: bytes, expected: Expected, skipped: tuple[int, ...], echoed: bool) -> Scan:
    """Nothing sound stands at the start: look behind it, or give the answer up as garbled."""
    head = bytes((expected.unit,)) + expected.answer_head
    whole = 1 + expected.answer_length + _CRC_LENGTH
    refusal = bytes((expected.unit, expected.function | _EXCEPTION))
    if (data.startswith(head) and len(data) < whole) or (not echoed and _request(expected).startswith(data)):
        return Scan(Found.MORE, rest=data, skipped=skipped, echoed=echoed)
    for at in range(1, len(data)):
        if length := _answer_at(data, at, expected):
            pdu = data[at + 1 : at + length - _CRC_LENGTH]
            return Scan(Found.REPLY, pdu, b"", "", skipped, echoed, noise=at)
    waiting = rtu_frame(data) == 0 or any(
        data[at:].startswith(start[: len(data) - at])
        for start, length in ((head, whole), (refusal, _EXCEPTION_LENGTH))
        for at in range(max(0, len(data) - length + 1), len(data))
    )
    if waiting or len(data) < _EXCEPTION_LENGTH:
        return Scan(Found.MORE, rest=data, skipped=skipped, echoed=echoed)
    if len(data) < whole and not data.startswith(refusal):
        return Scan(Found.MORE, rest=data, skipped=skipped, echoed=echoed)
    return Scan(Found.GARBLED, text=f"{len(data)} bytes and no sound check sum", skipped=skipped, echoed=echoed)


def _answer_at(data: bytes, at: int, expected: Expected) -> int:
    """The length of the sound answer to the request at this offset, or 0."""
    if data[at : at + 1] != bytes((expected.unit,)):
        return 0
    length = rtu_frame(data, at)
    return length if length and answers(data[at + 1 : at + length - _CRC_LENGTH], expected) else 0


def answers(pdu: bytes, expected: Expected) -> bool:
    """Whether this is the right answer, or an exception to the request."""
    if pdu[0] == expected.function | _EXCEPTION:
        return len(pdu) == 2
    return len(pdu) == expected.answer_length and pdu.startswith(expected.answer_head)


def _echo(data: bytes, expected: Expected) -> int:
    request = _request(expected)
    return len(request) if data.startswith(request) else 0


def _request(expected: Expected) -> bytes:
    body = bytes((expected.unit,)) + request_pdu(expected)
    return body + crc16(body)


def difference(unit: int, pdu: bytes, expected: Expected) -> str:
    """What makes a sound frame no answer to the request."""
    if unit != expected.unit:
        return f"unit {unit} answered instead of unit {expected.unit}"
    function = pdu[0] & ~_EXCEPTION
    if function != expected.function:
        return f"the answer is to function {function}, the request was function {expected.function}"
    if expected.command:
        return f"the answer is {pdu.hex(' ')}, to the request {expected.command.hex(' ')}"
    if function in BIT_READS:
        return f"{len(pdu) - 2} bytes came, {expected.count} bits were asked for, which are {expected.data_bytes}"
    return f"{(len(pdu) - 2) / 2:g} registers came, {expected.count} were asked for"


def _rtu_length(data: bytes, at: int) -> int | None:
    """How long the frame here must be; 0 when that cannot be told yet, None for a function nobody answers with."""
    if len(data) < at + 3:
        return 0
    function = data[at + 1]
    if function & _EXCEPTION:
        return _EXCEPTION_LENGTH
    if function in _READS:
        return data[at + 2] + 5
    return 8 if function in _ECHOES else None


def _sound(data: bytes, at: int, length: int) -> bool:
    end = at + length - _CRC_LENGTH
    return crc16(data[at:end]) == data[end : at + length]


def _crc_of_byte(byte: int) -> int:
    crc = byte
    for _ in range(8):
        crc = (crc >> 1) ^ 0xA001 if crc & 1 else crc >> 1
    return crc


_CRC_TABLE = tuple(_crc_of_byte(byte) for byte in range(256))
