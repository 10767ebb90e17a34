"""Register words to numbers: types, byte orders, scale. Pure.

A byte order is written as the letters of the bytes in the order they are transmitted, for a value whose big-endian
bytes are ABCD (or A to H): Modbus itself is big-endian, so `ABCD` is plain and `CDAB` has its words swapped. The names
in instrument manuals and blogs contradict each other; these letters do not.
"""

import struct
from collections.abc import Sequence

__all__ = ["ORDERS", "TYPES", "decode", "order_letters", "scaled", "set_bits", "text", "words_of"]

_FORMATS = {
    "u16": ">H", "i16": ">h", "u8_hi": ">H", "u8_lo": ">H", "bits": ">H",
    "u32": ">I", "i32": ">i", "f32": ">f", "u32_bitflag_unit": ">I", "u32_bits": ">I",
    "u64": ">Q", "i64": ">q", "f64": ">d",
}  # fmt: skip
_STRUCTS = {name: struct.Struct(layout) for name, layout in _FORMATS.items()}
TYPES = tuple(_STRUCTS)

ORDERS = ("ABCD", "CDAB", "BADC", "DCBA")
_LETTERS = {
    1: {"AB": "AB", "BA": "BA", "ABCD": "AB", "CDAB": "AB", "BADC": "BA", "DCBA": "BA"},
    2: {order: order for order in ORDERS},
    4: {"ABCD": "ABCDEFGH", "CDAB": "GHEFCDAB", "BADC": "BADCFEHG", "DCBA": "HGFEDCBA"},
}
_LETTERS[4] |= {letters: letters for letters in tuple(_LETTERS[4].values())}


def words_of(type_name: str) -> int:
    """How many registers a value of this type takes. ValueError for an unknown type."""
    if type_name not in _STRUCTS:
        raise ValueError(f"unknown register type {type_name!r}; known are {', '.join(TYPES)}")
    return _STRUCTS[type_name].size // 2


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


def decode(type_name: str, words: Sequence[int], order: str = "ABCD") -> int | float:
    """The number in the registers, not yet scaled; NaN and infinities of a float come through as they are.

    `words` are 16-bit registers in the order they were transmitted. ValueError for an unknown type or order or a wrong
    number of words.
    """
    if len(words) != words_of(type_name):
        raise ValueError(f"{type_name} takes {words_of(type_name)} registers, not {len(words)}")
    sent = struct.pack(f">{len(words)}H", *words)
    letters = order_letters(order, len(words))
    value_bytes = bytes(sent[letters.index(letter)] for letter in sorted(letters))
    number: int | float = _STRUCTS[type_name].unpack(value_bytes)[0]
    if type_name == "u8_hi":
        return int(number) >> 8
    if type_name == "u8_lo":
        return int(number) & 0xFF
    return number


def scaled(number: float, scale: float = 1.0, offset: float = 0.0) -> float:
    """number x scale + offset, a decimal fraction like 0.01 applied as the exact division it stands for.

    -251 x 0.01 is then the float nearest to -2.51, as the device's own display says, and not its neighbour.
    """
    divisor = round(1 / scale) if 0 < abs(scale) < 1 else 0
    value = number / divisor if divisor and 1 / divisor == scale else float(number) * scale
    return value + offset if offset else value


def set_bits(number: int) -> tuple[int, ...]:
    """The positions of the bits that are set, the lowest (0) first."""
    return tuple(bit for bit in range(number.bit_length()) if number >> bit & 1)


def text(words: Sequence[int]) -> str:
    """Two ASCII characters per register, high byte first, up to the first NUL; anything else becomes U+FFFD."""
    sent = struct.pack(f">{len(words)}H", *words)
    return sent.split(b"\0", 1)[0].decode("ascii", errors="replace")
