"""What shipped profiles make of registers: numbers, and every way an instrument says not to believe one."""

import math

import pytest

from gateway.drivers.points import Decoded, read_point
from gateway.drivers.profiles import load
from gateway.model import Fault, Quality

G, S, F = Quality.GOOD, Quality.SUSPECT, Quality.FAIL


def decoded(profile: str, point: str, registers: dict[int, list[int]], unit: str = "", function: int = 3) -> Decoded:
    """The point from registers given as address -> consecutive words."""
    words = {(function, start + n): word for start, run in registers.items() for n, word in enumerate(run)}
    return read_point(load(profile).points[point], words, unit)


BLOCK = [0x1000, 0x0000, 0xCD0C, 0x4080, 0x0000, 0x0000, 0x0000, 0x0000, 0x0000, 0x4160]  # manual, figure 2.5.2.3.2


def test_the_block_of_the_manual() -> None:
    """The pH block printed in the maker's manual is 4.02503 pH, in order."""
    found = decoded("hamilton-ph-arc", "pH", {2089: BLOCK})
    assert found.value == pytest.approx(4.02503, abs=1e-5)
    assert (found.fault, found.quality, found.raw) == (None, G, (0xCD0C, 0x4080))


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ([0x0000, 0x4120], None),  # 10 m3/s with its words swapped: 2.3e-41
        ([0x8000, 0x0001], None),  # the same kind below zero
        ([0x0080, 0x0000], 2.0**-126),  # the least that is normal: IEEE 754, table 3.5
        ([0x0000, 0x0000], 0.0),
    ],
)
def test_a_flow_with_its_words_swapped_is_not_no_flow(words: list[int], value: float | None) -> None:
    """A subnormal number is nobody's measurement; a flow of 10 must not pass for a manhole that is dry."""
    found = decoded("siemens-mag6000", "volume_flow", {3002: words})
    assert found.value == value
    assert (found.fault, found.quality) == ((Fault.NOT_A_NUMBER, F) if value is None else (None, G))
    assert ("another order" in found.note) is (value is None)


def test_millivolts_never_become_a_ph() -> None:
    """A sensor switched to mV delivers no number at all to a pH channel."""
    found = decoded("hamilton-ph-arc", "pH", {2089: [0x0000, 0x0020, *BLOCK[2:]]})
    assert (found.value, found.fault, found.quality) == (None, Fault.WRONG_UNIT, F)
    assert "reports mV" in found.note
    assert found.raw == (0xCD0C, 0x4080)


@pytest.mark.parametrize(
    ("status", "quality", "why"),
    [
        (0b00001, F, "temperature out of measurement range: it does not measure there"),
        (0b00010, F, "temperature out of operating range"),
        (0b00100, S, "calibration status: the number is doubtful"),
        (0b01000, S, "a warning"),
        (0b10000, F, "an error"),
        (0b11100, F, "the worst of several bits counts"),
        (1 << 20, S, "a bit nobody documented"),
    ],
)
def test_status_bits_of_the_ph_sensor(status: int, quality: Quality, why: str) -> None:
    """Every status bit worsens the quality as far as its meaning goes, and the number is kept."""
    words = [*BLOCK[:4], status & 0xFFFF, status >> 16, *BLOCK[6:]]
    found = decoded("hamilton-ph-arc", "pH", {2089: words})
    assert found.quality is quality, why
    assert found.value == pytest.approx(4.02503, abs=1e-5)
    assert found.fault is (Fault.DEVICE_FAULT if quality is F else None)


PH_7_02 = [0x40E0, 0xA3D7]  # 7.02 as the float nearest to it


@pytest.mark.parametrize(
    ("status", "quality", "fault"),
    [(0, G, None), (1, S, None), (2, F, Fault.DEVICE_FAULT), (3, F, Fault.DEVICE_FAULT), (9, F, Fault.DEVICE_FAULT)],
)
def test_status_of_an_analyser_input(status: int, quality: Quality, fault: Fault | None) -> None:
    """Good, uncertain, bad, not assigned, and a code nobody documented."""
    found = decoded("eh-liquiline-cm44x", "AI3", {8: [*PH_7_02, status, 53]}, "pH")
    assert (found.quality, found.fault) == (quality, fault)
    assert found.value == pytest.approx(7.02, abs=1e-6)


def test_an_analyser_input_that_carries_something_else() -> None:
    """An input configured for turbidity is refused to a pH channel, and accepted for FNU."""
    registers = {0: [*PH_7_02, 0, 33]}
    assert decoded("eh-liquiline-cm44x", "AI1", registers, "pH").fault is Fault.WRONG_UNIT
    assert decoded("eh-liquiline-cm44x", "AI1", registers, "FNU").fault is None


def test_an_unknown_unit_code_is_no_unit() -> None:
    """A code the profile does not know is told as it came."""
    found = decoded("eh-liquiline-cm44x", "AI1", {0: [*PH_7_02, 0, 200]}, "pH")
    assert found.fault is Fault.WRONG_UNIT
    assert "200" in found.note


def test_not_a_number_is_passed_on() -> None:
    """The analyser's signalling NaN reaches quality control as NaN, without a verdict of its own."""
    found = decoded("eh-liquiline-cm44x", "AI1", {0: [0x7FA0, 0x0000, 0, 53]}, "pH")
    assert found.value is not None
    assert math.isnan(found.value)
    assert (found.fault, found.quality) == (None, G)


@pytest.mark.parametrize(
    ("words", "value"), [([0x7F80, 0], math.inf), ([0xFF80, 0], -math.inf), ([0x3F75, 0xF07B], 0.960701)]
)
def test_the_level_transmitter_says_overflow_with_infinity(words: list[int], value: float) -> None:
    """Infinities of the float registers are passed on; a real pressure is the manual's example."""
    assert decoded("keller-series30", "P1", {2: words}).value == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize(
    ("point", "address", "words"),
    [
        ("P1_i16", 0x11, [0x7FFF]),
        ("P1_i16", 0x11, [0x8000]),
        ("P1_i32", 0x22, [0x7FFF, 0xFFFF]),
        ("TOB1_i32", 0x28, [0x8000, 0x0000]),
    ],
)
def test_integer_sentinels_are_compared_before_scaling(point: str, address: int, words: list[int]) -> None:
    """The largest and smallest integers are the transmitter's words for overflow and underflow, not pressures."""
    found = decoded("keller-series30", point, {address: words})
    assert (found.value, found.fault, found.quality) == (None, Fault.SENTINEL, F)


@pytest.mark.parametrize(
    ("microamperes", "quality"),
    [(3599, F), (3600, S), (3799, S), (3800, G), (12000, G), (20500, G), (20501, S), (21000, S), (21001, F), (0, F)],
)
def test_namur_ne43_on_a_current_loop(microamperes: int, quality: Quality) -> None:
    """Below 3.6 and above 21 mA the loop is broken; to 3.8 and from 20.5 mA it is at its end. The current is kept."""
    words = {(4, 0): microamperes, (3, 0x1000): 3}
    found = read_point(load("waveshare-ai8").points["AI1"], words)
    assert found.quality is quality
    assert found.value == microamperes / 1000
    assert found.fault is (Fault.DEVICE_FAULT if quality is F else None)


def test_a_current_input_set_to_volts() -> None:
    """An input in a voltage mode delivers no milliamperes."""
    found = read_point(load("waveshare-ai8").points["AI2"], {(4, 1): 12000, (3, 0x1001): 0})
    assert found.fault is Fault.WRONG_UNIT


@pytest.mark.parametrize(
    ("error", "signal", "quality", "why"),
    [
        (0x0000, 61, G, "no error and a good signal"),
        (0x0000, 59, S, "a signal between 50 and 60"),
        (0x0000, 38, F, "a signal below 50"),
        (0x0001, 90, F, "no received signal"),
        (0x0004, 90, S, "poor received signal"),
        (0x0008, 90, F, "pipe empty"),
        (0x0040, 90, G, "an output the gateway does not use"),
    ],
)
def test_the_flow_meter_doubts_itself(error: int, signal: int, quality: Quality, why: str) -> None:
    """Error bits and signal quality decide whether the captured flow of 0.1128 m3/h counts."""
    found = decoded("tuf-2000m", "flow_rate", {0: [0xF89F, 0x3DE6], 71: [error], 91: [0x0300 | signal]})
    assert found.quality is quality, why
    assert found.value == 0.11277889460325241
