"""Bytes that are no answer here, and a sound one somewhere else: the setting that is wrong is named."""

import asyncio

import pytest

from gateway.drivers.ascii_frames import lrc
from gateway.drivers.frames import crc16
from gateway.drivers.misread import looks_like
from gateway.errors import DriverError
from tests.support.scripted_line import serial_line, tcp_line

ANSWER = bytes.fromhex("01 03 02 00 DE")
AS_RTU = ANSWER + crc16(ANSWER)
AS_ASCII = b":" + (ANSWER + bytes((lrc(ANSWER),))).hex().upper().encode() + b"\r\n"
AS_TCP = bytes.fromhex("00 01 00 00 00 05") + ANSWER
EVEN = bytes(byte | (byte.bit_count() % 2) << 7 for byte in AS_ASCII)  # even parity in the eighth bit


@pytest.mark.parametrize(
    ("kind", "data", "said"),
    [
        ("modbus-rtu", AS_ASCII, 'kind = "modbus-ascii"'),
        ("modbus-rtu-over-tcp", AS_TCP, 'kind = "modbus-tcp"'),
        ("modbus-tcp", AS_RTU, 'kind = "modbus-rtu-over-tcp"'),
        ("modbus-ascii", AS_RTU, 'kind = "modbus-rtu"'),
        ("modbus-ascii", EVEN, "data_bits = 7"),
        ("modbus-tcp", b"Welcome\r\nlogin: ", "which are text, from another service or another protocol: 'Welcome"),
        ("modbus-rtu", b"+007.02 pH\r\n", "which are text"),
    ],
)
def test_what_the_bytes_are_elsewhere_is_told(kind: str, data: bytes, said: str) -> None:
    """A sound frame of another framing, or plain text, is named with the setting that would read it."""
    assert said in looks_like(data, kind)


@pytest.mark.parametrize("kind", ["modbus-rtu", "modbus-ascii", "modbus-tcp", "modbus-rtu-over-tcp"])
@pytest.mark.parametrize("data", [b"", b"\x00\xff\x55", ANSWER, AS_ASCII[:-3] + b"0\r\n", bytes(20)])
def test_nothing_is_made_of_mere_noise(kind: str, data: bytes) -> None:
    """Bytes that are sound nowhere get no hint; a damaged frame of ASCII is text at most."""
    assert "kind" not in looks_like(data, kind)


@pytest.mark.parametrize(
    ("kind", "came", "said"),
    [
        ("modbus-rtu", AS_ASCII, 'which are a frame of Modbus ASCII: kind = "modbus-ascii"'),
        ("modbus-ascii", AS_RTU, 'which are a frame of Modbus RTU: kind = "modbus-rtu"'),
        ("modbus-rtu-over-tcp", AS_TCP, 'which are a frame of Modbus TCP: kind = "modbus-tcp"'),
        ("modbus-tcp", AS_RTU, 'which are a serial frame as it is: kind = "modbus-rtu-over-tcp"'),
    ],
)
def test_the_error_of_the_read_says_so(kind: str, came: bytes, said: str) -> None:
    """The technician finds the setting in the error of the read itself."""

    async def scenario() -> None:
        async with serial_line(kind=kind) if kind in {"modbus-rtu", "modbus-ascii"} else tcp_line(kind) as (peer, line):
            reading = asyncio.create_task(line.read(1, 3, 0, 1, 0.1))
            await asyncio.sleep(0.02)
            await peer.send(came)
            with pytest.raises(DriverError) as caught:
                await reading
            assert said in str(caught.value)

    asyncio.run(scenario())
