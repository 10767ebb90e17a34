"""The simulated instruments against the makers' printed words and numbers."""

from math import isnan
from struct import pack, unpack

import pytest

from simulators.instruments import (
    PROFILES,
    HamiltonPhArc,
    Instrument,
    KellerSeries30,
    Liquiline,
    Mag6000,
    Refusal,
    Tuf2000m,
    WaveshareAi8,
)
from simulators.words import abcd, cdab, f32, f64, i32, text, u32


@pytest.mark.parametrize(
    ("written", "words"),
    [
        pytest.param(abcd(f32(6.10383)), "40C3 5293", id="Siemens SITRANS F appendix H"),
        pytest.param(abcd(f32(55.32)), "425D 47AE", id="Siemens appendix H table"),
        pytest.param(abcd(f32(-123.45)), "C2F6 E666", id="a negative number"),
        pytest.param(cdab(f32(30.56)), "7AE1 41F4", id="low word first, Vaisala Indigo520"),
        pytest.param(cdab(f32(0.11277889460325241)), "F89F 3DE6", id="a captured TUF-2000M"),
        pytest.param(cdab(f32(7.101173400878906)), "3CD0 40E3", id="another captured TUF-2000M"),
        pytest.param(abcd(f64(56345.6)), "40EB 8333 3333 3333", id="a double, Siemens totalizer type"),
        pytest.param(cdab(i32(-1104)), "FBB0 FFFF", id="a negative integer of a captured TUF-2000M"),
        pytest.param(cdab(u32(0x1000)), "1000 0000", id="Hamilton's bit for pH"),
        pytest.param(text("Liquiline", 5), "4C69 7175 696C 696E 6500", id="a text, E+H guideline"),
    ],
)
def test_words_are_those_the_documents_print(written: tuple[int, ...], words: str) -> None:
    """Each number becomes the registers its maker printed or a real meter sent."""
    assert " ".join(f"{word:04X}" for word in written) == words


def _f32(words: tuple[int, ...], *, low_first: bool = False) -> float:
    return float(unpack(">f", pack(">2H", *(reversed(words) if low_first else words)))[0])


def test_a_hamilton_block_is_the_figure_of_the_manual() -> None:
    """pH 4.02503 in the ten registers of figure 2.5.2.3.2: unit pH, value, status 0, 0 to 14, low words first."""
    arc = HamiltonPhArc()
    arc._show(arc.points["pH"], 4.02503)  # before the digits are cut
    assert arc.read(3, 2089, 10) == (0x1000, 0, 0xCD0C, 0x4080, 0, 0, 0, 0, 0, 0x4160)


def test_a_hamilton_temperature_is_its_own_block() -> None:
    """Register 2410 of the manual is wire 2409: unit bit 2 is degC, the value in tenths."""
    arc = HamiltonPhArc()
    arc.set("temperature", 25.04)
    words = arc.read(4, 2409, 10)
    assert words[:2] == (4, 0)
    assert _f32(words[2:4], low_first=True) == 25.0
    assert words[4:6] == (0, 0)


@pytest.mark.parametrize(("address", "count"), [(2091, 2), (2089, 4), (2089, 20), (2090, 10), (0, 1)])
def test_a_hamilton_refuses_part_of_a_block(address: int, count: int) -> None:
    """Anything but a whole block is an illegal address."""
    assert HamiltonPhArc().read(3, address, count) is Refusal.ILLEGAL_ADDRESS


def test_a_hamilton_without_a_value_says_error() -> None:
    """There is no number for "no value": bit 4 of the status says it."""
    arc = HamiltonPhArc()
    arc.set("pH", 7.0)
    arc.set("pH", None)
    assert arc.read(3, 2089, 10)[4:6] == (16, 0)


def test_a_liquiline_input_is_value_status_and_unit() -> None:
    """Inputs of four registers from 0: f32 high word first, status 0, unit code; the rest are not assigned."""
    analyser = Liquiline(1, {1: "pH", 2: "conductivity", 4: "tss"})
    analyser.set("AI1", 7.9)
    analyser.set("AI2", 0.8504)
    words = analyser.read(3, 0, 16)
    assert _f32(words[0:2]) == pytest.approx(7.9)
    assert words[2:4] == (0, 53)
    assert _f32(words[4:6]) == pytest.approx(0.850)
    assert words[6:8] == (0, 72)
    assert words[8:12] == (0x7FA0, 0, 3, 0)
    assert words[12:16] == (0x7FA0, 0, 2, 47)
    assert analyser.read(4, 0, 16) == words
    assert analyser.read(4, 1016, 1) is Refusal.ILLEGAL_ADDRESS
    assert analyser.read(3, 1016, 1) == (0,)


def test_a_liquiline_carries_only_what_it_can() -> None:
    """An input for a quantity the analyser has no sensor for is refused when it is set up."""
    with pytest.raises(ValueError, match="no input 1 for flow"):
        Liquiline(1, {1: "flow"})


def test_a_mag_shows_m3_per_second_and_its_total() -> None:
    """4:03003 is wire 3002; 62 gpm are 0.0039116 m3/s; the total stands as f64 at 3014 and as f32 at 3022."""
    mag = Mag6000()
    mag.set("volume_flow", 62 * 3.785411784e-3 / 60)
    mag.set("totalizer1", 56345.6)
    assert _f32(mag.read(3, 3002, 2)) == pytest.approx(0.0039116, abs=1e-9)
    assert mag.read(3, 3014, 4) == (0x40EB, 0x8333, 0x3333, 0x3333)
    assert _f32(mag.read(3, 3022, 2)) == pytest.approx(56345.6)
    assert mag.read(4, 3002, 2) is Refusal.ILLEGAL_FUNCTION
    mag.set("volume_flow", None)
    assert isnan(_f32(mag.read(3, 3002, 2)))


def test_a_keller_shows_bar_in_all_its_forms() -> None:
    """The printed example: 3F75F07B is 0.960701 bar; the same in Pa as a long and in hundredths as a short integer."""
    keller, printed = KellerSeries30(), _f32((0x3F75, 0xF07B))
    assert printed == pytest.approx(0.960701, abs=1e-6)
    keller._show(keller.points["P1"], printed)  # before the digits are cut
    keller.set("TOB1", 22.72)
    assert keller.read(3, 0x0002, 2) == (0x3F75, 0xF07B)
    assert keller.read(3, 0x0100, 4)[:2] == (0x3F75, 0xF07B)
    assert _f32(keller.read(3, 0x0102, 2)) == pytest.approx(22.72)
    assert keller.read(3, 0x0022, 2) == (96070 >> 16, 96070 & 0xFFFF)
    assert keller.read(3, 0x0011, 1) == (96,)
    assert keller.read(3, 0x0028, 2) == (0, 2272)
    assert keller.read(3, 0x0014, 1) == (2272,)


def test_a_keller_refuses_what_its_protocol_refuses() -> None:
    """Odd starts and halves of values are illegal addresses; more than four registers an illegal value."""
    keller = KellerSeries30()
    assert keller.read(3, 0x0003, 2) is Refusal.ILLEGAL_ADDRESS
    assert keller.read(3, 0x0002, 1) is Refusal.ILLEGAL_ADDRESS
    assert keller.read(3, 0x0002, 6) is Refusal.ILLEGAL_VALUE
    assert keller.read(4, 0x0002, 2) is Refusal.ILLEGAL_FUNCTION


def test_a_keller_without_a_value_is_nan_and_its_largest_integers() -> None:
    """Inactive: NaN as f32, 32767 and 2147483647 as integers; the unused second sensor is always so."""
    keller = KellerSeries30()
    assert isnan(_f32(keller.read(3, 0x0002, 2)))
    assert keller.read(3, 0x0022, 2) == (0x7FFF, 0xFFFF)
    assert keller.read(3, 0x0011, 1) == (0x7FFF,)
    assert isnan(_f32(keller.read(3, 0x0004, 2)))


def test_a_tuf_shows_flow_total_and_signal() -> None:
    """Register 1 is wire 0 in m3/h, low word first; register 9 the whole and 11 the fraction; 92 step and quality."""
    tuf, printed = Tuf2000m(), _f32((0x806B, 0x4212), low_first=True)
    assert printed == pytest.approx(36.6254, abs=1e-3)
    tuf._show(tuf.points["flow_rate"], printed)  # before the digits are cut
    tuf.set("positive_total", 23.88)
    words = tuf.read(3, 0, 100)
    assert words[0:2] == (0x806B, 0x4212)
    assert words[8:10] == (23, 0)
    assert _f32(words[10:12], low_first=True) == pytest.approx(0.88)
    assert words[71] == 0
    assert words[91] & 0xFF > 60
    tuf.set("flow_rate", None)
    assert tuf.read(3, 71, 1) == (1,)
    assert tuf.read(3, 91, 1)[0] & 0xFF == 0


@pytest.mark.parametrize(
    ("milliamperes", "microamperes"),
    [(4.0, 4000), (12.0, 12_000), (20.0, 20_000), (3.5, 3500), (25.0, 20_000), (None, 0)],
)
def test_a_waveshare_shows_microamperes_in_twelve_bits(milliamperes: float | None, microamperes: int) -> None:
    """Input registers in uA within half a step of 20 mA over 4095 codes; no loop reads no current."""
    module = WaveshareAi8(7)
    module.set("AI3", milliamperes)
    (shown,) = module.read(4, 2, 1)
    assert abs(shown - microamperes) <= 20_000 / 4095 / 2 + 0.5
    assert module.read(3, 0x1002, 1) == (3,)
    assert module.read(3, 0x4000, 1) == (7,)
    assert module.read(3, 2, 1) is Refusal.ILLEGAL_ADDRESS
    assert module.read(4, 0x1000, 1) is Refusal.ILLEGAL_ADDRESS


@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_every_point_lies_in_its_instruments_registers(profile: str) -> None:
    """Each point and each other form of it can be read whole; the blocks cover them without overlap."""
    instrument: Instrument = PROFILES[profile](1)
    registers = [address + i for address, count in instrument.blocks() for i in range(count)]
    assert len(registers) == len(set(registers))
    for point in instrument.points.values():
        for address, words in ((point.address, point.words), *point.also):
            assert set(range(address, address + words)) <= set(registers)
            assert point.covered_by(address, words)
            assert not point.covered_by(address + 1, words)


@pytest.mark.parametrize("value", [None, float("nan"), float("inf")])
@pytest.mark.parametrize("profile", sorted(PROFILES))
def test_no_value_is_never_yesterdays_value(profile: str, value: float | None) -> None:
    """Whatever stands for "no value" changes the registers that a value left behind."""
    options = ({1: "pH"},) if profile == Liquiline.profile else ()
    instrument: Instrument = PROFILES[profile](1, *options)
    for point in instrument.points.values():
        if point.quantity == "volume":
            continue  # a meter keeps its total whatever happens
        instrument.set(point.name, 5.0)
        before = dict(instrument._registers)
        instrument.set(point.name, value)
        assert instrument._registers != before, point.name


def test_a_read_is_reported_after_it_was_answered() -> None:
    """Whoever follows the polls may change the value at once: the answer already given stays as it was."""
    mag = Mag6000()
    mag.set("volume_flow", 0.001)
    heard: list[tuple[int, int]] = []

    def turn_the_page(address: int, count: int) -> None:
        heard.append((address, count))
        mag.set("volume_flow", 0.002)

    mag.on_read = turn_the_page
    assert _f32(mag.read(3, 3002, 2)) == pytest.approx(0.001)
    assert _f32(mag.read(3, 3002, 2)) == pytest.approx(0.002)
    assert mag.read(3, 1, 2) is Refusal.ILLEGAL_ADDRESS
    assert heard == [(3002, 2), (3002, 2)]
