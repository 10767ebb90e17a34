"""Register words to numbers, against every worked example of the instruments' documents that these types cover."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.drivers.registers import ORDERS, TYPES, decode, order_letters, scaled, set_bits, words_of
from gateway.drivers.texts import text
from tests.conftest import SHARED_DATA

VECTORS_FILE = SHARED_DATA.parent / "registers.json"
NUMBERS = frozenset({"f32", "f64", "i16", "u16", "i32", "u16_le", "f32x2", "string", "bits", "onehot_unit_u32"})
OTHERS = frozenset({"byte_pack", "f32_sentinel", "block10", "code12", "frame"})  # here below, in points, in frames
LATER = frozenset({
    "split_total", "split_total_carry", "bcd_calendar", "nibbles", "unaligned_bytes", "string_utf16_per_register",
    "i16_span",
})  # fmt: skip


def vectors() -> list[Any]:
    """The worked examples of one kind per parameter; none where the file is not at hand."""
    if not VECTORS_FILE.exists():
        return [pytest.param(None, id="absent", marks=pytest.mark.skip(reason="../shared/registers.json is not here"))]
    listed = json.loads(VECTORS_FILE.read_text())["decode_vectors"]
    chosen = [v for v in listed if v["type"] in NUMBERS]
    return [pytest.param(v, id=f"{n}-{v['type']}-{v.get('order', '')}-{v['value']}") for n, v in enumerate(chosen)]


def words_in(vector: dict[str, Any]) -> list[int]:
    """The registers of a worked example."""
    return [int(word, 16) for word in vector["words"]]


@pytest.mark.parametrize("vector", vectors())
def test_a_worked_example_decodes_to_the_number_the_document_gives(vector: dict[str, Any]) -> None:
    """Type, order and scale of the document give the document's value."""
    words, order, wanted = words_in(vector), vector.get("order", "ABCD"), vector["value"]
    tolerance = vector.get("tol", 0)
    match vector["type"]:
        case "string":
            assert text(words) == wanted
        case "bits":
            assert set_bits(int(decode("bits", words))) == (2,)  # bit 2 is "poor received signal" of the flow meter
        case "onehot_unit_u32":
            assert decode("u32_bitflag_unit", words, order) == 0x1000
        case "f32x2":
            found = [decode("f32", words[:2], order), decode("f32", words[2:], order)]
            assert found == pytest.approx(wanted, abs=tolerance)
        case "f32" if wanted == "NaN":
            assert math.isnan(decode("f32", words, order))
        case kind:
            number = scaled(decode(kind.removesuffix("_le"), words, order), vector.get("scale", 1))
            assert number == pytest.approx(wanted, abs=tolerance, rel=0)


@pytest.mark.skipif(not VECTORS_FILE.exists(), reason="../shared/registers.json is not here")
def test_no_worked_example_is_forgotten() -> None:
    """Each kind of example is tested here, tested elsewhere, or named as belonging to a later extension."""
    kinds = {vector["type"] for vector in json.loads(VECTORS_FILE.read_text())["decode_vectors"]}
    assert kinds == NUMBERS | OTHERS | LATER


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
