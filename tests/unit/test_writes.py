"""Writes as requests, against the examples of the standard, and answers as what was asked for."""

from collections.abc import Callable

import pytest

from gateway.drivers.answers import read_answer
from gateway.drivers.frames import Expected
from gateway.drivers.writes import write_coil, write_coils, write_register, write_registers
from gateway.errors import DeviceFault, DeviceSilent, NoSuchRegister


@pytest.mark.parametrize(
    ("made", "printed"),
    [
        (write_coil(172, True), "05 00 AC FF 00"),
        (write_coil(172, False), "05 00 AC 00 00"),
        (write_register(1, 3), "06 00 01 00 03"),
        (write_coils(19, [c == "1" for c in "1011001110"]), "0F 00 13 00 0A 02 CD 01"),
        (write_registers(1, [0x000A, 0x0102]), "10 00 01 00 02 04 00 0A 01 02"),
        (write_coils(0, [True] * 8), "0F 00 00 00 08 01 FF"),
    ],
)
def test_the_requests_printed_in_the_standard(made: bytes, printed: str) -> None:
    """Modbus application protocol V1.1b3, examples of 6.5, 6.6, 6.11 and 6.12."""
    assert made == bytes.fromhex(printed)


@pytest.mark.parametrize(
    "made",
    [
        lambda: write_coil(65536, True),
        lambda: write_coil(-1, True),
        lambda: write_register(0, 65536),
        lambda: write_register(0, -1),
        lambda: write_coils(0, []),
        lambda: write_coils(0, [True] * 1969),
        lambda: write_coils(65535, [True, True]),
        lambda: write_registers(0, []),
        lambda: write_registers(0, [0] * 124),
    ],
)
def test_what_no_request_can_say_is_refused(made: Callable[[], bytes]) -> None:
    """Nothing is cut to fit: addresses, values and numbers beyond the protocol's are errors."""
    with pytest.raises(ValueError, match=r"0 to 65535|1 to 1968|1 to 123"):
        made()


def test_coils_come_lowest_bit_first_whatever_pads_the_last_byte() -> None:
    """The example of 6.1, with ones instead of noughts in the bits nobody asked for."""
    asked = Expected(1, 1, 19, 19)
    bits = tuple(int(c) for c in "1011001111010110101")
    assert read_answer(bytes.fromhex("01 03 CD 6B 05"), asked) == bits
    assert read_answer(bytes.fromhex("01 03 CD 6B FD"), asked) == bits


@pytest.mark.parametrize(
    ("answer", "asked", "error", "said"),
    [
        ("81 02", Expected(1, 1, 19, 19), NoSuchRegister, "coils 19 to 37: exception 2, the device has no such coil"),
        ("82 02", Expected(1, 2, 0, 1), NoSuchRegister, "inputs 0 to 0"),
        ("83 06", Expected(1, 3, 0, 1), DeviceFault, "registers 0 to 0: exception 6"),
        ("85 04", Expected.to_command(1, write_coil(7, True)), DeviceFault, "function 5 at coil 7: exception 4"),
        ("90 0B", Expected.to_command(1, write_registers(7, [1])), DeviceSilent, "function 16 at register 7"),
    ],
)
def test_an_exception_says_what_was_refused(answer: str, asked: Expected, error: type[Exception], said: str) -> None:
    """The exception's class says what happens next, its text what was asked of whom."""
    with pytest.raises(error, match=said):
        read_answer(bytes.fromhex(answer), asked)
