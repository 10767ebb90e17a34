"""Register words to texts and dates: serial numbers, tags, clocks. Pure; none of this is ever a measured value."""

import struct
from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from gateway.drivers.registers import decoder

__all__ = ["TEXT_TYPES", "TIME_TYPES", "moment", "text", "utf16"]

TEXT_TYPES = ("ascii", "utf16")
_SWAPPED = frozenset({"BADC", "DCBA"})
_CENTURY = 2000


def text(words: Sequence[int], order: str = "ABCD") -> str:
    """Two ASCII characters per register up to the first NUL, without blanks at the end; any other byte is U+FFFD.

    The high byte comes first unless the device's byte order swaps the bytes of a word.
    """
    sent = struct.pack(f"{'<' if order in _SWAPPED else '>'}{len(words)}H", *words)
    return sent.split(b"\0", 1)[0].decode("ascii", errors="replace").rstrip()


def utf16(words: Sequence[int], order: str = "ABCD") -> str:
    """One Unicode character per register (In-Situ, section 8.11.8) up to the first zero, without blanks at the end."""
    sent = struct.pack(f"{'<' if order in _SWAPPED else '>'}{len(words)}H", *words)
    return sent.decode("utf-16-be", errors="replace").split("\0", 1)[0].rstrip()


def moment(type_name: str, words: Sequence[int], order: str = "ABCD") -> str:
    """A date and time, a date or a time of the device's own clock, as ISO 8601 without a zone (`epoch_…` with Z).

    ValueError when the registers hold no such moment.
    """
    return _MOMENTS[type_name][1](words, order)


def _bcd_smhdmy(words: Sequence[int], order: str) -> str:
    """TUF-2000 registers 53 to 55: low byte seconds, high byte minutes; hour and day; month and year of the century."""
    del order
    second, minute, hour, day, month, year = (_two_digits(part) for word in words for part in (word & 0xFF, word >> 8))
    return datetime(_CENTURY + year, month, day, hour, minute, second).isoformat()  # noqa: DTZ001 - the device has no zone


def _two_digits(byte: int) -> int:
    if byte & 0xF > 9 or byte >> 4 > 9:
        raise ValueError(f"0x{byte:02X} are no two decimal digits")
    return 10 * (byte >> 4) + (byte & 0xF)


def _six(words: Sequence[int], order: str) -> str:
    """ISCO 2100: one register each for second, minute, hour, day, month, year."""
    second, minute, hour, day, month, year = (int(decoder("u16", order)([word])) for word in words)
    return datetime(year, month, day, hour, minute, second).isoformat()  # noqa: DTZ001 - the device has no zone


def _epoch(type_name: str) -> Callable[[Sequence[int], str], str]:
    def told(words: Sequence[int], order: str) -> str:
        seconds = int(decoder(type_name, order)(words))
        try:
            return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
        except (OverflowError, OSError) as error:
            raise ValueError(f"{seconds} seconds since 1970 are no date") from error

    return told


def _in_a_float(fields: str) -> Callable[[Sequence[int], str], str]:
    """EXO: six decimal digits held in a float, two for each of `fields` (d, m, y or h, m, s)."""

    def told(words: Sequence[int], order: str) -> str:
        number = decoder("f32", order)(words)
        if not 0 <= number < 1_000_000 or number != int(number):
            raise ValueError(f"{number} is no packed date or time")
        parts = dict(zip(fields, (int(number) // 10_000, int(number) // 100 % 100, int(number) % 100), strict=True))
        if "h" in parts:
            return datetime(_CENTURY, 1, 1, parts["h"], parts["m"], parts["s"]).time().isoformat()  # noqa: DTZ001 - a time only
        return datetime(_CENTURY + parts["y"], parts["m"], parts["d"]).date().isoformat()  # noqa: DTZ001 - a date only

    return told


# Registers taken, and how to read them.
_MOMENTS: dict[str, tuple[int, Callable[[Sequence[int], str], str]]] = {
    "bcd_smhdmy": (3, _bcd_smhdmy),
    "time6": (6, _six),
    "epoch_u32": (2, _epoch("u32")),
    "epoch_u64": (4, _epoch("u64")),
    "f32_ddmmyy": (2, _in_a_float("dmy")),
    "f32_mmddyy": (2, _in_a_float("mdy")),
    "f32_yymmdd": (2, _in_a_float("ymd")),
    "f32_hhmmss": (2, _in_a_float("hms")),
}
TIME_TYPES = {name: words for name, (words, _) in _MOMENTS.items()}
"""The types of a moment, each with the number of registers it takes."""
