"""Register words to numbers: types, byte orders, bytes and bits inside a register, scale. Pure.

A byte order is written as the letters of the bytes in the order they are transmitted, for a value whose big-endian
bytes are ABCD (or A to H): Modbus itself is big-endian, so `ABCD` is plain and `CDAB` has its words swapped. The names
in instrument manuals and blogs contradict each other; these letters do not.
"""

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache

__all__ = [
    "NUMBERINGS", "ORDERS", "TYPES", "Decoder", "decode", "decoder", "nearest_f32", "order_letters", "scaled",
    "set_bits", "size_of", "words_of",
]  # fmt: skip

Decoder = Callable[[Sequence[int]], int | float]

_FORMATS = {
    "u8": "B", "i8": "b",
    "u16": "H", "i16": "h", "sm16": "H", "bcd16": "H", "u8_hi": "H", "u8_lo": "H", "i8_hi": "H", "i8_lo": "H",
    "bits": "H", "bit": "H",
    "u32": "I", "i32": "i", "sm32": "I", "bcd32": "I", "f32": "f", "u32_bitflag_unit": "I", "u32_bits": "I",
    "u64": "Q", "i64": "q", "f64": "d",
}  # fmt: skip
TYPES = tuple(name for name in _FORMATS if name != "bit")
"""The types of numbers in registers; a coil or an input is a `bit`."""
_FLOATS = frozenset({"f32", "f64"})

ORDERS = ("ABCD", "CDAB", "BADC", "DCBA")
NUMBERINGS = ("lsb0", "lsb1", "msb1")

_LETTERS = {
    1: {"AB": "AB", "BA": "BA", "ABCD": "AB", "CDAB": "AB", "BADC": "BA", "DCBA": "BA"},
    2: {order: order for order in ORDERS},
    4: {"ABCD": "ABCDEFGH", "CDAB": "GHEFCDAB", "BADC": "BADCFEHG", "DCBA": "HGFEDCBA"},
}
_LETTERS[4] |= {letters: letters for letters in tuple(_LETTERS[4].values())}
# How the words are packed and the value is taken out again: every order is one of four pairs of byte orders.
_ENDS = {
    "AB": (">", ">"), "ABCD": (">", ">"), "ABCDEFGH": (">", ">"),
    "CDAB": ("<", "<"), "GHEFCDAB": ("<", "<"),
    "BADC": ("<", ">"), "BADCFEHG": ("<", ">"),
    "BA": (">", "<"), "DCBA": (">", "<"), "HGFEDCBA": (">", "<"),
}  # fmt: skip


def size_of(type_name: str) -> int:
    """How many bytes a number of this type takes. ValueError for an unknown type."""
    if type_name not in _FORMATS:
        raise ValueError(f"unknown register type {type_name!r}; known are {', '.join(TYPES)}")
    return struct.calcsize(f">{_FORMATS[type_name]}")


def words_of(type_name: str, byte: int = 0) -> int:
    """How many registers a number of this type takes, `byte` bytes after the start of the first one.

    ValueError for an unknown type.
    """
    return (byte + size_of(type_name) + 1) // 2


def order_letters(order: str, words: int) -> str:
    """The full letters of an order for a value of so many registers.

    The four short names serve every width: for 64 bits `CDAB` means all words reversed (`GHEFCDAB`), and for 16 bits an
    order that swaps the bytes of a word swaps them there too, as a device-wide byte-order setting does. ValueError for
    an unknown order.
    """
    letters = _LETTERS[words].get(order)
    if letters is None:
        raise ValueError(f"unknown byte order {order!r}; known are {', '.join(_LETTERS[words])}")
    return letters


@cache
def decoder(
    type_name: str, order: str = "ABCD", byte: int | None = None, bits: tuple[int, int] | None = None
) -> Decoder:
    """The function that makes the number of the transmitted 16-bit words, not yet scaled.

    `byte` is for a number that does not begin with a register: so many bytes after the start of the first word.
    `bits` takes the bits from one to the other, both included, 0 the lowest, out of a whole number (nibbles are 0 to 3
    up to 12 to 15). NaN and infinities of a float come through as they are; binary-coded decimals with a digit above 9
    are NaN. The function takes as many words as `words_of` says and trusts its caller in that. ValueError for an
    unknown type or order, or bits of something that has none. A `bit` is a coil or an input, 0 or 1, without an order.
    """
    if type_name == "bit":
        if byte is not None or bits is not None:
            raise ValueError("a coil or an input has no bytes or bits")
        return _first
    size = size_of(type_name)
    found = _aligned(type_name, order) if byte is None and size > 1 else _unaligned(type_name, order, byte or 0)
    finish = _FINISH.get(type_name)
    if finish is not None:
        found = _then(found, finish)
    if bits is None:
        return found
    if type_name in _FLOATS or not 0 <= bits[0] <= bits[1] < 8 * size:
        raise ValueError(f"{type_name} has no bits {bits[0]} to {bits[1]}")
    low, mask = bits[0], (1 << (bits[1] - bits[0] + 1)) - 1
    return _then(found, lambda number: int(number) >> low & mask)


def decode(type_name: str, words: Sequence[int], order: str = "ABCD") -> int | float:
    """The number in the registers, as `decoder` makes it.

    ValueError for an unknown type or order or a wrong number of words.
    """
    if len(words) != words_of(type_name):
        raise ValueError(f"{type_name} takes {words_of(type_name)} registers, not {len(words)}")
    return decoder(type_name, order)(words)


def scaled(number: float, scale: float = 1.0, offset: float = 0.0) -> float:
    """number x scale + offset, a decimal fraction like 0.01 applied as the exact division it stands for.

    -251 x 0.01 is then the float nearest to -2.51, as the device's own display says, and not its neighbour; and a
    64-bit count of mm3 becomes the float nearest to its m3, though the count itself has no float.
    """
    divisor = round(1 / scale) if 0 < abs(scale) < 1 else 0
    value = number / divisor if divisor and 1 / divisor == scale else float(number * scale)
    return value + offset if offset else value


def set_bits(number: int, numbering: str = "lsb0", width: int = 16) -> tuple[int, ...]:
    """The positions of the bits that are set, as the manual numbers them, the lowest bit first.

    `lsb0` counts from 0 and `lsb1` from 1, the lowest bit first; `msb1` counts from 1 at the top of `width` bits.
    """
    found = [bit for bit in range(number.bit_length()) if number >> bit & 1]
    if numbering == "lsb0":
        return tuple(found)
    return tuple(bit + 1 if numbering == "lsb1" else width - bit for bit in found)


def nearest_f32(number: float) -> float:
    """The number as a single-precision register can hold it: -9999.9 in a manual is -9999.900390625 on the wire."""
    return float(struct.unpack(">f", struct.pack(">f", number))[0])


def _aligned(type_name: str, order: str) -> Decoder:
    words = words_of(type_name)
    letters = order_letters(order, words)
    if words == 1 and letters == "AB" and _FORMATS[type_name] == "H":
        return _first
    pack_end, unpack_end = _ENDS[letters]
    pack = struct.Struct(f"{pack_end}{words}H").pack
    unpack = struct.Struct(unpack_end + _FORMATS[type_name]).unpack

    def number(sent: Sequence[int]) -> int | float:
        value: int | float = unpack(pack(*sent))[0]
        return value

    return number


def _first(sent: Sequence[int]) -> int:
    return sent[0]


def _unaligned(type_name: str, order: str, byte: int) -> Decoder:
    size = size_of(type_name)
    letters = order_letters(order, size // 2) if size > 1 else "A"
    places = [byte + letters.index(letter) for letter in sorted(letters)]
    unpack = struct.Struct(">" + _FORMATS[type_name]).unpack
    count = words_of(type_name, byte)

    def number(sent: Sequence[int]) -> int | float:
        stream = struct.pack(f">{count}H", *sent)
        value: int | float = unpack(bytes(stream[place] for place in places))[0]
        return value

    return number


def _then(first: Decoder, second: Callable[[int | float], int | float]) -> Decoder:
    return lambda sent: second(first(sent))


def _sign_magnitude(number: float, top: int) -> int:
    magnitude = int(number) & (top - 1)
    return -magnitude if int(number) & top else magnitude


def _bcd(number: float) -> int | float:
    digits = f"{int(number):x}"
    return int(digits) if digits.isdecimal() else math.nan


_FINISH: dict[str, Callable[[int | float], int | float]] = {
    "u8_hi": lambda n: int(n) >> 8,
    "u8_lo": lambda n: int(n) & 0xFF,
    "i8_hi": lambda n: ((int(n) >> 8) ^ 0x80) - 0x80,
    "i8_lo": lambda n: ((int(n) & 0xFF) ^ 0x80) - 0x80,
    "sm16": lambda n: _sign_magnitude(n, 0x8000),
    "sm32": lambda n: _sign_magnitude(n, 0x8000_0000),
    "bcd16": _bcd,
    "bcd32": _bcd,
}
