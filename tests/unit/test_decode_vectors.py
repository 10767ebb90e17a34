"""Every worked example of the instruments' documents and captures, decoded by the product: none is left out."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from gateway.drivers.frames import Expected, Found, crc16, request_pdu, scan_rtu
from gateway.drivers.points import Decoded, Words, read_fact, read_point
from gateway.drivers.profile import Profile
from gateway.drivers.profiles import load, parse
from gateway.drivers.registers import decode, decoder, scaled
from gateway.drivers.texts import text, utf16
from gateway.model import Fault
from tests.conftest import SHARED_DATA

VECTORS_FILE = SHARED_DATA.parent / "registers.json"
Vector = dict[str, Any]
HOW_MANY = 49


def vectors() -> list[Any]:
    """All examples of the list, in its order; none where the file is not at hand."""
    if not VECTORS_FILE.exists():
        return [pytest.param(None, id="absent", marks=pytest.mark.skip(reason="../shared/registers.json is not here"))]
    listed = json.loads(VECTORS_FILE.read_text(encoding="utf-8"))["decode_vectors"]
    return [pytest.param(v, id=f"{n}-{v['type']}") for n, v in enumerate(listed)]


def words_in(vector: Vector) -> list[int]:
    """The registers of an example."""
    return [int(word, 16) for word in vector["words"]]


def at(address: int, words: list[int], function: int = 3) -> Words:
    """The same at an address."""
    return {(function, address + n): word for n, word in enumerate(words)}


def made_up(point: str) -> Profile:
    """A profile of one point `x`, given as TOML."""
    return parse(f'id = "x"\nmodel = "x"\n[points.x]\nfunction = 3\nunit = "m3"\n{point}\n', "x.toml")


def value_of(profile: Profile, words: Words) -> Decoded:
    """Point `x` in these registers."""
    return read_point(profile.points["x"], words)


def a_number(vector: Vector) -> None:
    """One number: type, order and scale give the document's value."""
    kind = vector["type"].removesuffix("_le")
    number = scaled(decode(kind, words_in(vector), vector.get("order", "ABCD")), vector.get("scale", 1))
    if vector["value"] == "NaN":
        assert math.isnan(number)
    else:
        assert number == pytest.approx(vector["value"], abs=vector.get("tol", 0), rel=0)


def two_floats(vector: Vector) -> None:
    """Pressure and temperature in one request."""
    profile = parse(
        'id = "x"\nmodel = "x"\n'
        '[points.p]\nfunction = 3\naddress = 256\ntype = "f32"\nunit = "bar"\n'
        '[points.t]\nfunction = 3\naddress = 258\ntype = "f32"\nunit = "degC"\n',
        "x.toml",
    )
    found = [read_point(profile.points[name], at(256, words_in(vector))).value for name in ("p", "t")]
    assert found == pytest.approx(vector["value"], abs=vector["tol"])


def split_total(vector: Vector) -> None:
    """Whole number and fraction of one sign, as the flow meter's positive total."""
    found = read_point(load("tuf-2000m").points["positive_total"], at(8, words_in(vector)), "m3")
    assert found.value == pytest.approx(vector["value"], abs=vector["tol"])
    assert found.fault is None


def split_total_carry(vector: Vector) -> None:
    """Carry and remainder: the remainder is a single float, the carry counts hundreds."""
    profile = made_up('address = 0\ntype = "f32"\ncarry = { address = 2, type = "u16", weight = 100 }')
    remainder = {34.5: [0x420A, 0x0000]}[vector["fraction"]]  # 34.5 = 1.078125 x 2^5
    assert value_of(profile, at(0, [*remainder, vector["carry"]])).value == vector["value"]


def bcd_calendar(vector: Vector) -> None:
    """The flow meter's clock."""
    assert read_fact(load("tuf-2000m").facts["calendar"], at(52, words_in(vector))) == vector["value"]


def byte_pack(vector: Vector) -> None:
    """Two bytes in one register."""
    match vector["value"]:
        case {"step": step, "quality": quality}:
            meter = load("tuf-2000m")
            words = at(91, words_in(vector))
            assert read_point(meter.points["quality"], words).value == quality
            assert read_fact(meter.facts["working_step"], words) == str(step)
        case {"sensor": sensor, "status": "MEASURE"}:
            rules = load("ysi-iq-sensornet").points[f"main{sensor}"].status
            number, state = rules[0], rules[1]
            assert number.register.number(words_in(vector)) == sensor
            assert number.meanings[sensor][0].name == "GOOD"
            assert state.meanings[int(state.register.number(words_in(vector)))][1] == "measuring"
        case other:
            pytest.fail(f"unknown bytes {other}")


def bits(vector: Vector) -> None:
    """The flow meter's error word, in words; the number under it is the capture's."""
    words = {**at(0, [0xF89F, 0x3DE6]), **at(71, words_in(vector)), **at(91, [0x033D])}
    assert [read_point(load("tuf-2000m").points["flow_rate"], words).note] == vector["value"]


def nibbles(vector: Vector) -> None:
    """Main value valid, secondary value missing, in the two halves of one byte."""
    points = load("ysi-iq-sensornet").points
    said = {}
    for name in ("main", "secondary"):
        rule = points[f"{name}2"].status[-1]
        said[name] = rule.meanings[int(rule.register.number(words_in(vector)))][1].upper()
    assert {"mode": decoder("u8_hi")(words_in(vector)), **said} == vector["value"]


def unaligned_bytes(vector: Vector) -> None:
    """A signed byte, and a word that begins inside a register."""
    words = words_in(vector)
    found = {"temperature_s8": decoder("i8", byte=0)(words[:1]), "level_u16": decoder("u16", byte=1)(words)}
    assert found == vector["value"]


def onehot_unit(vector: Vector) -> None:
    """The one bit of 32 that stands for pH."""
    rule = load("hamilton-ph-arc").points["pH"].unit_register
    assert rule is not None
    assert rule.units[int(rule.register.number(words_in(vector)))] == vector["value"]


def block_of_ten(vector: Vector) -> None:
    """Unit, value, status, minimum and maximum, two registers each."""
    words, wanted = words_in(vector), vector["value"]
    found = read_point(load("hamilton-ph-arc").points["pH"], at(2089, words), wanted["unit"])
    assert found.value == pytest.approx(wanted["value"], abs=vector["tol"])
    assert (found.fault, found.note) == (None, "")
    ends = [decode("f32", words[n : n + 2], vector["order"]) for n in (6, 8)]
    assert ends == [wanted["min"], wanted["max"]]


def i16_of_span(vector: Vector) -> None:
    """A share of the span set in the device."""
    profile = made_up(f'address = 0\ntype = "i16"\nfull_scale = {vector["span"]}')
    assert value_of(profile, at(0, words_in(vector))).value == pytest.approx(vector["value"], abs=vector["tol"])


def code_of_twelve_bits(vector: Vector) -> None:
    """The code of a converter, its scale written as a fraction."""
    profile = made_up(f'address = 0\ntype = "u16"\nscale = "{vector["scale"]}"')
    assert value_of(profile, at(0, words_in(vector))).value == pytest.approx(vector["value"], abs=vector["tol"])


def a_sentinel(vector: Vector) -> None:
    """The monitor's word for a register it never updated."""
    assert vector["value"].startswith("-99.0")
    profile = load("ads-triton-plus", {"variant": "FlowShark"})
    found = read_point(profile.points["FLOW1"], at(0, words_in(vector)))
    assert (found.value, found.fault) == (None, Fault.SENTINEL)


def a_frame(vector: Vector) -> None:
    """A request as our side makes it, check sum included, and its answer as our side takes it."""
    request = bytes.fromhex(vector["request"])
    expected = Expected(
        request[0], request[1], int.from_bytes(request[2:4], "big"), int.from_bytes(request[4:6], "big")
    )
    body = bytes((expected.unit,)) + request_pdu(expected)
    assert body + crc16(body) == request
    if "response" in vector:
        response = bytes.fromhex(vector["response"])
        found = scan_rtu(response, expected)
        assert (found.found, found.pdu) == (Found.REPLY, response[1:-2])


DECODED: dict[str, Callable[[Vector], None]] = {
    **dict.fromkeys(("f32", "f64", "i16", "u16", "u16_le", "i32"), a_number),
    "f32x2": two_floats,
    "split_total": split_total,
    "split_total_carry": split_total_carry,
    "bcd_calendar": bcd_calendar,
    "byte_pack": byte_pack,
    "bits": bits,
    "nibbles": nibbles,
    "unaligned_bytes": unaligned_bytes,
    "string": lambda vector: _equal(text(words_in(vector)), vector["value"]),
    "string_utf16_per_register": lambda vector: _equal(utf16(words_in(vector)), vector["value"]),
    "onehot_unit_u32": onehot_unit,
    "block10": block_of_ten,
    "i16_span": i16_of_span,
    "code12": code_of_twelve_bits,
    "f32_sentinel": a_sentinel,
    "frame": a_frame,
}


def _equal(found: object, wanted: object) -> None:
    assert found == wanted


@pytest.mark.parametrize("vector", vectors())
def test_a_worked_example_decodes_as_its_document_says(vector: Vector) -> None:
    """The value, the words or the frame of the document; a kind of example that is not known here fails."""
    assert vector["type"] in DECODED, f"nobody decodes {vector['type']}"
    DECODED[vector["type"]](vector)


def test_no_worked_example_was_lost() -> None:
    """All 49 are there."""
    if VECTORS_FILE.exists():
        assert len(vectors()) == HOW_MANY
