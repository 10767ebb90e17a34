"""Numbers as registers, written from the makers' documents and not from the gateway's decoder: the other half of proof.

An order names the bytes as transmitted for a value whose big-endian bytes are ABCD.
"""

from struct import pack, unpack

__all__ = ["Words", "NAN_EH", "abcd", "cdab", "f32", "f64", "i32", "text", "u32"]

Words = tuple[int, ...]

NAN_EH: Words = (0x7FA0, 0x0000)  # Endress+Hauser's "not a number", a signalling one, high word first


def abcd(raw: bytes) -> Words:
    """Big-endian bytes, high word first."""
    return unpack(f">{len(raw) // 2}H", raw)


def cdab(raw: bytes) -> Words:
    """Big-endian bytes within a word, low word first."""
    return abcd(raw)[::-1]


def f32(value: float) -> bytes:
    """IEEE 754 single precision; NaN is the quiet 7FC00000."""
    return pack(">f", value)


def f64(value: float) -> bytes:
    """IEEE 754 double precision."""
    return pack(">d", value)


def u32(value: int) -> bytes:
    """Unsigned 32 bits."""
    return pack(">I", value)


def i32(value: int) -> bytes:
    """Signed 32 bits, two's complement."""
    return pack(">i", value)


def text(value: str, registers: int) -> Words:
    """ASCII, two characters to a register, padded with zeros."""
    return abcd(value.encode("ascii").ljust(registers * 2, b"\0")[: registers * 2])
