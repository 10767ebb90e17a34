"""Numbers made of several registers, units that change behind the gateway, lists in which a device tells its places."""

import math
import struct
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.drivers.points import Decoded, read_fact, read_point
from gateway.drivers.profile import Point, Span
from gateway.drivers.profiles import load, parse
from gateway.errors import ConfigError
from gateway.model import Fault, Quality

G, S, F = Quality.GOOD, Quality.SUSPECT, Quality.FAIL


def f32(number: float) -> list[int]:
    """A single float, high word first."""
    return list(struct.unpack(">HH", struct.pack(">f", number)))


def cdab(words: list[int]) -> list[int]:
    """The words in reverse."""
    return words[::-1]


def registers(runs: dict[int, list[int]], function: int = 3) -> dict[tuple[int, int], int]:
    """Registers given as address -> consecutive words."""
    return {(function, start + n): word for start, run in runs.items() for n, word in enumerate(run)}


def point(body: str, before: str = "") -> Point:
    """A made-up point, given as TOML."""
    head = f'id = "x"\nmodel = "x"\n{before}\n[points.x]\nfunction = 3\n'
    return parse(head + body, "x.toml").points["x"]


def read(made: Point, runs: dict[int, list[int]], unit: str = "") -> Decoded:
    """What the point says in these registers."""
    return read_point(made, registers(runs), unit)


TOTAL = 'unit = "m3"\naddress = 0\ntype = "i32"\nfraction = { address = 2, type = "f32" }'


def test_parts_of_a_total_are_of_one_request() -> None:
    """Whole number and fraction are one span that is never split, and their registers are the raw record."""
    made = point(TOTAL)
    assert {made.span_of(register) for register in made.registers()} == {Span(3, 0, 4)}
    found = read(made, {0: [0, 23, *f32(0.5)]})
    assert (found.value, found.raw) == (23.5, (0, 23, 0x3F00, 0x0000))


@pytest.mark.parametrize(
    ("whole", "fraction", "value", "why"),
    [
        (23, 0.5, 23.5, "both above zero"),
        (-1104, -0.25, -1104.25, "both below zero: a net flow backwards"),
        (0, -0.5, -0.5, "nothing whole yet"),
        (5, 0.0, 5.0, "nothing left over"),
        (23, 1.0, 24.0, "a fraction about to carry"),
        (23, -0.5, None, "of two signs: torn, or the wrong word order"),
        (-3, 0.5, None, "the same the other way"),
        (23, 1.5, None, "more than one whole: another register or another order"),
    ],
)
def test_whole_and_fraction_are_of_one_sign(whole: int, fraction: float, value: float | None, why: str) -> None:
    """A total whose parts contradict each other is no number; the device's registers are kept."""
    words = [whole >> 16 & 0xFFFF, whole & 0xFFFF, *f32(fraction)]
    found = read(point(TOTAL), {0: words})
    assert found.value == value, why
    assert found.raw == tuple(words)
    assert (found.fault, found.quality) == ((None, G) if value is not None else (Fault.DEVICE_FAULT, F))


def test_a_fraction_that_is_not_a_number() -> None:
    """NaN in one part is NaN of the whole, for quality control to flag."""
    found = read(point(TOTAL), {0: [0, 23, 0x7FC0, 0]})
    assert found.value is not None
    assert math.isnan(found.value)


def test_parts_that_lie_too_far_apart_are_refused() -> None:
    """A carry that no single request can fetch with its remainder would be torn at every roll-over."""
    with pytest.raises(ConfigError, match=r"points\.x\.carry: cannot be read in one request with the value"):
        point('unit = "m3"\naddress = 69\ntype = "f32"\ncarry = { address = 1035, type = "u16", weight = 100 }')


@pytest.mark.parametrize(
    ("body", "words", "value"),
    [
        ('decimals = { address = 1, type = "u16" }', [702, 2], 7.02),
        ('decimals = { address = 1, type = "u16" }', [702, 0], 702.0),
        ('decimals = { address = 1, type = "u16" }', [702, 99], None),
        ('exponent = { address = 1, type = "u16", add = -3 }', [702, 5], 70200.0),
        ('exponent = { address = 1, type = "u16", add = -3 }', [702, 1], 7.02),
        ('exponent = { address = 1, type = "u16", add = -3 }', [702, 0xFFFF], None),
        ('multiplier = { address = 1, type = "u16" }', [702, 10], 7020.0),
        ('multiplier = { address = 1, type = "u16" }', [702, 0], None),
        ('negative = { address = 1, type = "u16" }', [702, 1], -702.0),
        ('negative = { address = 1, type = "u16" }', [702, 0], 702.0),
        ('fraction = { address = 1, type = "u16", weight = 0.001 }', [7, 20], 7.02),
        ('full_scale = { address = 1, type = "u16" }', [16383, 32767], 16383.0),
    ],
)
def test_a_register_that_says_how_to_take_the_value(body: str, words: list[int], value: float | None) -> None:
    """Decimals, a power of ten, a factor, a sign, a span; a register that holds something else makes no number."""
    found = read(point(f'unit = "m3"\naddress = 0\ntype = "u16"\n{body}'), {0: words})
    assert found.value == (None if value is None else pytest.approx(value, rel=1e-15))
    assert (found.fault is Fault.DEVICE_FAULT) == (value is None)


def test_a_total_in_floats_with_unit_and_exponent_codes() -> None:
    """Codes held in floats: code 1 is gallons, code 4 is 10 to the 2: 12.5 is 1250 gal."""
    made = load("dynasonics-tfx-ultra").points["net_total"]
    runs = {703: f32(12.5), 743: [*f32(1), *f32(4)]}
    assert read(made, runs, "gal").value == 1250.0
    assert read(made, runs, "L").value == pytest.approx(1250 * 3.785411784)
    assert read(made, runs | {743: [*f32(1.5), *f32(4)]}, "gal").fault is Fault.WRONG_UNIT
    assert read(made, runs | {743: [*f32(float("nan")), *f32(4)]}, "gal").fault is Fault.WRONG_UNIT


@given(st.integers(0, 2**64 - 1))
def test_a_64_bit_total_keeps_its_last_digit(count: int) -> None:
    """Cubic millimetres to cubic metres without going through a double."""
    made = point('unit = "m3"\naddress = 0\ntype = "u64"\norder = "CDAB"\nscale = 1e-9')
    found = read(made, {0: [count >> shift & 0xFFFF for shift in (0, 16, 32, 48)]})
    assert found.value == count / 10**9


def test_a_sentinel_of_64_bits_is_compared_whole() -> None:
    """The largest whole number is the device's word for none, its neighbour is a number."""
    made = point('unit = "m3"\naddress = 0\ntype = "i64"\nsentinels = [9223372036854775807]')
    assert read(made, {0: [0x7FFF, 0xFFFF, 0xFFFF, 0xFFFF]}).fault is Fault.SENTINEL
    assert read(made, {0: [0x7FFF, 0xFFFF, 0xFFFF, 0xFFFE]}).fault is None


def test_a_sentinel_of_a_single_float_is_compared_as_sent() -> None:
    """-9999.9 has no single float: what the device sends is its nearest, and that is found."""
    made = point('unit = "m3"\naddress = 0\ntype = "f32"\nsentinels = [-9999.9]')
    assert read(made, {0: f32(-9999.9)}).fault is Fault.SENTINEL


ARC = load("hamilton-ph-arc").points


def arc_block(unit_flag: int, value: float) -> list[int]:
    """The ten registers of a measurement, low word first."""
    flag = [unit_flag & 0xFFFF, unit_flag >> 16]
    return [*flag, *cdab(f32(value)), 0, 0, *cdab(f32(0)), *cdab(f32(0))]


@pytest.mark.parametrize(
    ("flag", "sent", "unit", "value", "note"),
    [
        (0x4, 25.0, "degC", 25.0, ""),
        (0x8, 77.0, "degC", 25.0, "converted from degF"),
        (0x2, 298.15, "degC", 25.0, "converted from K"),
        (0x4, 25.0, "degF", 77.0, "converted from degC"),
        (0x8, 77.0, "degF", 77.0, ""),
        (0x1000, 7.0, "degC", None, "the device reports pH, the channel takes degC"),
    ],
)
def test_a_unit_switched_at_the_device_is_converted(
    flag: int, sent: float, unit: str, value: float | None, note: str
) -> None:
    """Whatever the sensor was switched to, the channel gets its own unit, and a word about it; or nothing."""
    found = read(ARC["temperature"], {2409: arc_block(flag, sent)}, unit)
    assert found.value == (None if value is None else pytest.approx(value, abs=1e-4))
    assert found.note == note


def test_millivolts_are_no_ph_and_a_conductivity_is_converted() -> None:
    """There is no way from mV to pH; mS/cm become uS/cm; FNU and NTU count alike."""
    assert read(ARC["pH"], {2089: arc_block(0x20_0000, 12.0)}, "pH").fault is Fault.WRONG_UNIT
    analyser = load("eh-liquiline-cm44x").points["AI1"]
    assert read(analyser.for_unit("uS/cm"), {0: [*f32(1.25), 0, 72]}, "uS/cm").value == 1250.0
    assert read(analyser.for_unit("NTU"), {0: [*f32(4.0), 0, 33]}, "NTU").value == 4.0


@pytest.mark.parametrize(("code", "value"), [(0, 25.0), (1, -35.0 / 9.0), (2, 25.0 - 273.15), (7, None)])
def test_a_temperature_whose_unit_stands_elsewhere(code: int, value: float | None) -> None:
    """The analyser's input says degC whatever the device shows: one register for all temperatures decides."""
    made = load("eh-liquiline-cm44x").points["AI2"].for_unit("degC")
    found = read(made, {4: [*f32(25.0), 0, 89], 1016: [code]}, "degC")
    assert found.value == (None if value is None else pytest.approx(value))
    assert (found.fault is Fault.WRONG_UNIT) == (value is None)


def test_a_point_without_a_unit_register_is_in_its_own_unit() -> None:
    """A channel that was told another unit gets it converted where that can be, and nothing where not."""
    made = load("keller-series30").points["P1"]
    assert read(made, {2: f32(0.5)}, "mbar").value == 500.0
    assert read(made, {2: f32(0.5)}, "pH").fault is Fault.WRONG_UNIT
    meter = load("tuf-2000m").points["velocity"]
    assert read_point(meter, registers({4: cdab(f32(1.5)), 71: [0], 91: [80]}), "gpm").fault is Fault.WRONG_UNIT


def test_the_band_of_a_value_is_in_the_values_own_unit() -> None:
    """A band in degC judges a temperature that came in degF after its conversion, and the channel takes degF."""
    made = point(
        'unit = "degC"\naddress = 0\ntype = "u16"\nsuspect_above = 40\n'
        'unit_register = { address = 1, type = "u16", units = "t" }',
        '[units.t]\n0 = "degC"\n1 = "degF"',
    )
    assert [read(made, {0: [words, 1]}, "degF").quality for words in (104, 105)] == [G, S]
    assert read(made, {0: [41, 0]}, "degF").quality is S


EXO = load("ysi-exo-599825").points


def exo(*entries: tuple[int, float, int], tail: int = 0) -> dict[int, list[int]]:
    """The adapter's list: code, value and status of each place; `tail` fills the codes behind the end."""
    codes = [code for code, _, _ in entries] + [0] + [tail] * (31 - len(entries))
    values = [word for _, value, _ in entries for word in cdab(f32(value))] + [0] * (64 - 2 * len(entries))
    states = [state for _, _, state in entries] + [0] * (32 - len(entries))
    return {128: codes, 256: states, 384: values}


def test_a_value_is_found_where_its_code_stands() -> None:
    """The same sensor in another place of the list is found there, with its own status."""
    first = exo((1, 21.5, 0), (18, 7.02, 0), (19, 250.0, 0))
    moved = exo((19, 250.0, 0), (12, 30.0, 2), (18, 7.02, 0), (1, 21.5, 2))
    for runs in (first, moved):
        assert read(EXO["pH"], runs, "pH").value == pytest.approx(7.02, abs=1e-6)
        assert read(EXO["ORP"], runs, "mV").value == 250.0
    assert read(EXO["temperature"], first, "degC").quality is G
    found = read(EXO["temperature"], moved, "degC")
    assert (found.quality, found.note) == (F, "not available")


def test_a_code_also_says_the_unit() -> None:
    """Code 2 is the temperature in degF, code 6 the specific conductance in mS/cm: both are converted."""
    runs = exo((2, 77.0, 0), (6, 1.25, 0))
    assert read(EXO["temperature"], runs, "degC").value == pytest.approx(25.0)
    assert read(EXO["specific_conductance"], runs, "uS/cm").value == pytest.approx(1250.0)


def test_millivolts_of_the_ph_glass_are_not_the_orp() -> None:
    """Two values in millivolts are told apart by their codes, whichever stands first."""
    assert read(EXO["ORP"], exo((17, -12.0, 0), (19, 250.0, 0)), "mV").value == 250.0


def test_a_sensor_that_was_unplugged_is_no_value() -> None:
    """A code that is not in the list, or only behind its end, is not there: the neighbour's value is never taken."""
    for runs in (exo((1, 21.5, 0)), exo((1, 21.5, 0), tail=18)):
        found = read(EXO["pH"], runs, "pH")
        assert (found.value, found.fault) == (None, Fault.NO_SUCH_REGISTER)
        assert found.note == "the device's list has no pH now"


def test_of_a_list_only_the_place_of_the_code_is_needed() -> None:
    """Registers of places that are not in use may be missing without harm."""
    words = registers({128: exo((1, 21.5, 0), (18, 7.02, 0))[128]})
    needed = {register.address for register in EXO["pH"].needed(words)}
    assert needed == set(range(128, 160)) | {386, 257}


@pytest.mark.parametrize(
    ("quality", "said", "fault"),
    [(0, G, None), (1, S, None), (3, F, Fault.DEVICE_FAULT), (7, F, Fault.DEVICE_FAULT), (9, F, Fault.DEVICE_FAULT)],
)
def test_a_ph_of_zero_is_judged_by_its_quality(quality: int, said: Quality, fault: Fault | None) -> None:
    """The sonde sends 0.0 when its sensor is off line; the quality id tells."""
    found = read(load("insitu-aqua-troll-400").points["pH"], {1537: [*f32(0.0), 17, 145, quality]}, "pH")
    assert (found.quality, found.fault) == (said, fault)


def test_another_parameter_in_the_block_is_refused() -> None:
    """A block that carries parameter 18, the glass's millivolts, never becomes a pH."""
    troll = load("insitu-aqua-troll-400").points["pH"]
    assert read(troll, {1537: [*f32(7.0), 18, 145, 0]}, "pH").quality is F
    assert read(troll, {1537: [*f32(7.0), 17, 162, 0]}, "pH").fault is Fault.WRONG_UNIT


@pytest.mark.parametrize(
    ("head", "state", "quality", "why"),
    [
        (0x0202, 0x0011, G, "sensor 2 measures, both values are valid"),
        (0x0302, 0x0011, F, "the module answered for sensor 3"),
        (0x0205, 0x0011, S, "it does something that is not in the manual"),
        (0x0202, 0x0041, F, "the main value is missing"),
        (0x0202, 0x0014, G, "only the secondary value is missing"),
    ],
)
def test_the_sensor_that_answered_must_be_the_one_asked_for(head: int, state: int, quality: Quality, why: str) -> None:
    """Sensor number, state and the nibble of the main value decide, as the module's manual warns."""
    made = load("ysi-iq-sensornet").points["main2"]
    found = read_point(made, registers({8: [head, 0, 0, state, *f32(79.0)]}, function=4), "FNU")
    assert (found.value, found.quality) == (79.0, quality), why


@pytest.mark.parametrize(("word", "quality"), [(0, G), (0x0010, F), (0x0100, F), (0x0800, F), (0x0001, G)])
def test_a_converter_that_holds_its_value_is_no_reading(word: int, quality: Quality) -> None:
    """HOLD and WASH of the four-wire converter, once the site has said where its global block is."""
    site = {"confirmed": True, "address_offset": 100, "points": {"pH": {"status": [
        {"function": 4, "address": -93, "type": "bits", "rule": "hold"},
    ]}}}  # fmt: skip
    converter = load("yokogawa-flxa402", site).points["pH"]
    found = read_point(converter, registers({7: [word], 106: f32(7.0)}, function=4), "pH")
    assert (found.value, found.quality) == (7.0, quality)


def test_an_absent_probe_of_the_sonde_is_no_value() -> None:
    """Exactly 0.0 is the sonde's word for a probe that is not there; a small number is a number."""
    sonde = load("yosemitech-y4000").points
    assert read(sonde["pH"], {0x2607: [0, 0], 0x0800: [0]}).fault is Fault.SENTINEL
    assert read(sonde["DO"], {0x2601: [0xCDCC, 0xFC40], 0x0800: [0]}).value == pytest.approx(7.9, abs=1e-6)


FACTS: list[tuple[str, dict[str, Any], str, dict[int, list[int]], str]] = [
    ("eh-liquiline-cm44x", {}, "device_tag", {1151: [0x4C69, 0x7175, 0x6964] + [0] * 13}, "Liquid"),
    ("siemens-mag6000", {}, "product_code", {602: [24]}, "MAG 6000"),
    ("siemens-mag6000", {}, "product_code", {602: [99]}, "code 99"),
    ("seeed-s-ph-01", {}, "response_delay", {0x206: [5]}, "50 ms"),
    ("yosemitech-y4000", {}, "serial", {0x1400: [0x594C, 0x3031, 0x3134, 0x3031, 0x3030, 0x3232]}, "YL0114010022"),
    ("yosemitech-y4000", {}, "brush_interval", {0x0E00: [0x1E00]}, "30 min"),
    (
        "tuf-2000m",
        {},
        "calendar",
        {52: [0x2433, 0x0307, 0x18FF]},
        "no time: 2433 0307 18FF (0xFF are no two decimal digits)",
    ),
]


@pytest.mark.parametrize(("profile", "overrides", "fact", "runs", "said"), FACTS)
def test_what_a_device_says_of_itself(
    profile: str, overrides: dict[str, Any], fact: str, runs: dict[int, list[int]], said: str
) -> None:
    """Texts, codes and settings as words for the technician; what makes no sense is shown as it came."""
    assert read_fact(load(profile, overrides).facts[fact], registers(runs)) == said
