"""Register words to numbers, texts and dates: types, orders, bytes and bits, scales."""

import math
import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.drivers.registers import ORDERS, TYPES, decode, decoder, order_letters, scaled, set_bits, size_of, words_of
from gateway.drivers.texts import TIME_TYPES, moment, text, utf16


def test_two_bytes_in_one_register_are_taken_apart() -> None:
    """Register 92 of the flow meter, 0x033D, is working step 3 and quality 61."""
    assert decode("u8_hi", [0x033D]) == 3
    assert decode("u8_lo", [0x033D]) == 61


def test_a_converter_code_scales_to_volts() -> None:
    """0x05AF of a 12-bit converter over 10 V is 3.55 V, as its manual says."""
    assert scaled(decode("u16", [0x05AF]), 10 / 4095) == pytest.approx(3.553, abs=0.01)


def test_the_word_for_never_updated_is_found_before_scaling() -> None:
    """-99.0 in swapped words is the number to compare a sentinel with."""
    assert decode("f32", [0x0000, 0xC2C6], "CDAB") == -99.0


@given(st.integers(-32768, 32767), st.sampled_from([1, 0.1, 0.01, 0.001]))
def test_a_decimal_scale_gives_the_number_on_the_display(number: int, scale: float) -> None:
    """raw x 0.01 is the float that the printed decimal reads as."""
    digits = {1: 0, 0.1: 1, 0.01: 2, 0.001: 3}[scale]
    sign, body = ("-", -number) if number < 0 else ("", number)
    printed = f"{sign}{body // 10**digits}" + (f".{body % 10**digits:0{digits}d}" if digits else "")
    assert scaled(number, scale) == float(printed)


@given(st.sampled_from([t for t in TYPES if not t.startswith(("u8", "i8"))]), st.sampled_from(ORDERS), st.data())
def test_every_order_is_its_own_reverse(type_name: str, order: str, data: st.DataObject) -> None:
    """Putting the bytes of plain words into an order and decoding in that order gives the plain number."""
    count = words_of(type_name)
    plain = data.draw(st.lists(st.integers(0, 0xFFFF), min_size=count, max_size=count))
    letters = order_letters(order, count)
    value_bytes = b"".join(word.to_bytes(2, "big") for word in plain)
    sent = bytes(value_bytes["ABCDEFGH".index(letter)] for letter in letters)
    words = [int.from_bytes(sent[2 * n : 2 * n + 2], "big") for n in range(count)]
    assert repr(decode(type_name, words, order)) == repr(decode(type_name, plain, "ABCD"))


@pytest.mark.parametrize(
    ("order", "words"),
    [
        ("ABCD", [0x40EB, 0x8333, 0x3333, 0x3334]),
        ("CDAB", [0x3334, 0x3333, 0x8333, 0x40EB]),
        ("BADC", [0xEB40, 0x3383, 0x3333, 0x3433]),
        ("DCBA", [0x3433, 0x3333, 0x3383, 0xEB40]),
    ],
)
def test_the_four_orders_of_a_double(order: str, words: list[int]) -> None:
    """The short names serve 64 bits too: words reversed, bytes swapped, or both."""
    assert decode("u64", words, order) == 0x40EB833333333334


def test_mistakes_are_named() -> None:
    """Unknown type, unknown order and a wrong number of registers each get their own words."""
    with pytest.raises(ValueError, match="unknown register type 'f16'"):
        decode("f16", [0])
    with pytest.raises(ValueError, match="unknown byte order 'ACBD'"):
        decode("f32", [0, 0], "ACBD")
    with pytest.raises(ValueError, match="f32 takes 2 registers, not 1"):
        decode("f32", [0])


@given(st.sampled_from(TYPES), st.sampled_from(ORDERS), st.integers(0, 5), st.data())
def test_a_number_that_begins_inside_a_register(type_name: str, order: str, byte: int, data: st.DataObject) -> None:
    """So many bytes further on in the stream of bytes stands the same number as at the start of a register."""
    size = size_of(type_name)
    sent = data.draw(st.binary(min_size=size, max_size=size))
    stream = bytes(byte) + sent + bytes((byte + size) % 2)
    words = [int.from_bytes(stream[n : n + 2], "big") for n in range(0, len(stream), 2)]
    assert len(words) == words_of(type_name, byte)
    padded = sent if size > 1 else b"\0" + sent
    plain = [int.from_bytes(padded[n : n + 2], "big") for n in range(0, len(padded), 2)]
    aligned = decode(type_name, plain, order) if size > 1 else decoder(type_name, byte=1)(plain)
    assert repr(decoder(type_name, order, byte)(words)) == repr(aligned)


@pytest.mark.parametrize(
    ("type_name", "words", "value", "why"),
    [
        ("sm16", [0x8005], -5, "sign and magnitude: the top bit is the sign"),
        ("sm16", [0x7FFF], 32767, "the largest"),
        ("sm16", [0x8000], 0, "minus nothing is nothing"),
        ("sm32", [0x8000, 0x0001], -1, "the same over 32 bits"),
        ("bcd16", [0x1234], 1234, "four decimal digits"),
        ("bcd32", [0x1234, 0x5678], 12345678, "eight"),
        ("bcd16", [0x12A4], math.nan, "a digit above nine is no number"),
        ("i8_hi", [0xFF02], -1, "a signed byte"),
        ("i8_lo", [0x0280], -128, "the smallest"),
        ("u64", [0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF], 2**64 - 1, "whole numbers stay whole"),
    ],
)
def test_less_usual_numbers(type_name: str, words: list[int], value: float, why: str) -> None:
    """Sign and magnitude, binary-coded decimals, signed bytes, and the largest whole number."""
    assert repr(decode(type_name, words)) == repr(value), why


@given(st.integers(0, 2**64 - 1))
def test_a_count_of_cubic_millimetres_becomes_the_nearest_cubic_metres(count: int) -> None:
    """A 64-bit count is divided as a whole number: beyond 9007 m3 a double would have lost its last digits before."""
    words = [count >> shift & 0xFFFF for shift in (0, 16, 32, 48)]  # the lowest word first
    value = scaled(decode("u64", words, "CDAB"), 1e-9)
    assert value == count / 10**9


@pytest.mark.parametrize(
    ("numbering", "number", "positions"),
    [
        ("lsb0", 0b1001, (0, 3)),
        ("lsb1", 0b1001, (1, 4)),
        ("msb1", 0b1001, (16, 13)),
        ("msb1", 0x8000, (1,)),
        ("lsb1", 0x8000, (16,)),
        ("lsb0", 0, ()),
    ],
)
def test_three_ways_to_number_bits(numbering: str, number: int, positions: tuple[int, ...]) -> None:
    """From 0 or from 1 at the bottom, or from 1 at the top, as the manual at hand does."""
    assert set_bits(number, numbering) == positions


def test_bits_of_a_register_are_taken_out() -> None:
    """Four nibbles of 0xABCD, the lowest first, and a field across them."""
    assert [decoder("u16", bits=(n, n + 3))([0xABCD]) for n in (0, 4, 8, 12)] == [0xD, 0xC, 0xB, 0xA]
    assert decoder("u16", bits=(3, 8))([0xABCD]) == 0xABCD >> 3 & 0x3F
    with pytest.raises(ValueError, match="f32 has no bits 0 to 3"):
        decoder("f32", bits=(0, 3))
    with pytest.raises(ValueError, match="u16 has no bits 12 to 16"):
        decoder("u16", bits=(12, 16))


@pytest.mark.parametrize(
    ("words", "order", "value"),
    [
        ([0x4142, 0x4300], "ABCD", "ABC"),
        ([0x4241, 0x0043], "DCBA", "ABC"),
        ([0x4142, 0x4320], "CDAB", "ABC"),
        ([0xFF41, 0x0000], "ABCD", "\ufffdA"),
    ],
)
def test_texts_of_two_characters_per_register(words: list[int], order: str, value: str) -> None:
    """An order that swaps bytes swaps characters, one that swaps words does not; blanks at the end go."""
    assert text(words, order) == value


def test_texts_of_one_character_per_register() -> None:
    """Any character, up to the first zero."""
    assert utf16([0x00B0, 0x0043, 0x0000, 0x0058]) == "\u00b0C"
    assert utf16([0xB000, 0x4300], "BADC") == "\u00b0C"


def as_float(number: float) -> list[int]:
    """The two registers of a single float."""
    high, low = struct.unpack(">HH", struct.pack(">f", number))
    return [high, low]


@pytest.mark.parametrize(
    ("kind", "words", "said"),
    [
        ("time6", [33, 24, 7, 3, 8, 2018], "2018-08-03T07:24:33"),
        ("epoch_u32", [1, 0x5180], "1970-01-02T00:00:00Z"),  # 65536 + 20864 = 86400 s
        ("epoch_u64", [0, 0, 1, 0x5180], "1970-01-02T00:00:00Z"),
        ("f32_ddmmyy", as_float(30818), "2018-08-03"),
        ("f32_mmddyy", as_float(80318), "2018-08-03"),
        ("f32_yymmdd", as_float(180803), "2018-08-03"),
        ("f32_hhmmss", as_float(72433), "07:24:33"),
    ],
)
def test_forms_of_time(kind: str, words: list[int], said: str) -> None:
    """Six registers, seconds since 1970, or six digits held in a float."""
    assert moment(kind, words) == said
    assert len(words) == TIME_TYPES[kind]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("bcd_smhdmy", [0x2433, 0x0307, 0x18A8]),
        ("bcd_smhdmy", [0x2433, 0x0307, 0x1813]),
        ("time6", [33, 24, 7, 31, 2, 2018]),
        ("time6", [0, 0, 0, 0, 0, 0]),
        ("f32_ddmmyy", as_float(-1)),
        ("f32_hhmmss", as_float(240000)),
        ("f32_ddmmyy", [0x7FC0, 0]),
        ("epoch_u64", [0xFFFF] * 4),
    ],
)
def test_no_time_is_made_up(kind: str, words: list[int]) -> None:
    """Digits above nine, a 13th month, the 31st of February, NaN and the end of all counting are no time."""
    with pytest.raises(ValueError):
        moment(kind, words)
