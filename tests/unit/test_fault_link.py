"""What each fault does to the bytes on a line, and that nothing else happens to them."""

import asyncio
from collections.abc import Sequence

import pytest

from gateway.drivers.frames import crc16
from simulators.fault_script import parse
from simulators.faults import FaultyLink, Script
from simulators.framing import FRAMINGS, crc, lrc

REQUEST = bytes.fromhex("01 03 00 00 00 02 C4 0B")  # Modbus application protocol, a read of two registers of unit 1
ANSWER = bytes.fromhex("01 03 04 12 34 56 78 81 07")
OVER_TCP = bytes.fromhex("00 07 00 00 00 05 01 03 02 12 34")


def whole(text: str) -> bytes:
    """Bytes with their check sum."""
    data = bytes.fromhex(text)
    return data + crc16(data)


class Ends:
    """Both ends of a faulty link, with what arrived there."""

    def __init__(self, script: Sequence[str], framing: str = "rtu") -> None:
        self.script = Script(parse(script))
        self.at_gateway: list[bytes] = []
        self.at_device: list[bytes] = []
        self.hung_up = False
        self.link = FaultyLink(
            FRAMINGS[framing], self.script, self.at_gateway.append, self.at_device.append, self._hang_up
        )

    def _hang_up(self) -> None:
        self.hung_up = True


@pytest.mark.parametrize(
    ("fault", "arrives"),
    [
        ("answer 9: drop", [ANSWER]),
        ("answer 1: drop", []),
        ("answer 1 of unit 2: drop", [ANSWER]),
        ("answer 1 of unit 1: drop", []),
        ("request 1: drop", [ANSWER]),
        ("answer 1: twice", [ANSWER, ANSWER]),
        ("answer 1: keep 4", [ANSWER[:4]]),
        ("answer 1: keep 0", []),
        ("answer 1: noise 00 ff", [b"\x00\xff" + ANSWER]),
        ("answer 1: flip 0 71", [b"\x00" + ANSWER[1:-1] + b"\x87"]),
        ("answer 1: unit 9", [whole("09 03 04 12 34 56 78")]),
        ("answer 1: function 4", [whole("01 04 04 12 34 56 78")]),
        ("answer 1: registers 1", [whole("01 03 02 12 34")]),
        ("answer 1: registers 3", [whole("01 03 06 12 34 56 78 00 00")]),
        ("answer 1: exception 6", [whole("01 83 06")]),
    ],
)
def test_what_a_fault_does_to_an_answer(fault: str, arrives: list[bytes]) -> None:
    """Spoilt as the line of the script says; names and counts with the right check sum; other frames as they came."""

    async def run() -> None:
        ends = Ends([fault])
        for byte in ANSWER:  # a frame is one however it comes
            ends.link.from_device(bytes((byte,)))
        assert ends.at_gateway == arrives
        assert ends.at_device == []

    asyncio.run(run())


def test_an_echo_comes_before_the_answer() -> None:
    """The adapter gives the request back, and the device gets it all the same."""

    async def run() -> None:
        ends = Ends(["request 1: echo"])
        ends.link.from_gateway(REQUEST)
        ends.link.from_device(ANSWER)
        assert (ends.at_device, ends.at_gateway) == ([REQUEST], [REQUEST, ANSWER])

    asyncio.run(run())


def test_a_held_answer_comes_behind_the_next() -> None:
    """Two answers change places."""

    async def run() -> None:
        ends = Ends(["answer 1: hold"])
        second = whole("01 03 02 00 01")
        ends.link.from_device(ANSWER)
        ends.link.from_device(second)
        assert ends.at_gateway == [second, ANSWER]

    asyncio.run(run())


def test_a_delayed_answer_is_overtaken() -> None:
    """It comes so much later; what is not delayed does not wait for it."""

    async def run() -> None:
        ends = Ends(["answer 1: delay 30ms"])
        loop = asyncio.get_running_loop()
        second, began = whole("01 03 02 00 01"), loop.time()
        ends.link.from_device(ANSWER)
        ends.link.from_device(second)
        assert ends.at_gateway == [second]
        await asyncio.sleep(0.029 - (loop.time() - began))
        assert ends.at_gateway == [second] or loop.time() - began >= 0.03
        await asyncio.sleep(0.01)
        assert ends.at_gateway == [second, ANSWER]

    asyncio.run(run())


def test_a_black_hole_ends() -> None:
    """For so long nothing passes in either direction, then everything."""

    async def run() -> None:
        ends = Ends(["request 1: black-hole 40ms"])
        ends.link.from_gateway(REQUEST)
        ends.link.from_device(ANSWER)
        assert (ends.at_gateway, ends.at_device) == ([], [])
        await asyncio.sleep(0.05)
        ends.link.from_gateway(REQUEST)
        ends.link.from_device(ANSWER)
        assert (ends.at_gateway, ends.at_device) == ([ANSWER], [REQUEST])

    asyncio.run(run())


@pytest.mark.parametrize(("fault", "hangs_up"), [("request 1: half-open", False), ("request 1: hang-up", True)])
def test_a_connection_that_is_of_no_more_use(fault: str, hangs_up: bool) -> None:
    """Nothing passes on it again; only a hang-up tells the gateway."""

    async def run() -> None:
        ends = Ends([fault], "tcp")
        ends.link.from_gateway(OVER_TCP)
        ends.link.from_device(OVER_TCP)
        assert (ends.at_gateway, ends.at_device, ends.hung_up, ends.link.dead) == ([], [], hangs_up, True)

    asyncio.run(run())


def test_a_stream_ends_behind_a_hole() -> None:
    """On TCP nothing follows a frame that was cut short: no server goes on as if nothing had happened."""

    async def run() -> None:
        ends = Ends(["answer 1: keep 9"], "tcp")
        ends.link.from_device(OVER_TCP + OVER_TCP)
        assert ends.at_gateway == [OVER_TCP[:9]]

    asyncio.run(run())


@pytest.mark.parametrize(
    ("fault", "arrives"),
    [
        ("answer 1: transaction 258", "01 02 00 00 00 05 01 03 02 12 34"),
        ("answer 1: unit 9", "00 07 00 00 00 05 09 03 02 12 34"),
        ("answer 1: exception 11", "00 07 00 00 00 03 01 83 0B"),
        ("answer 1: registers 2", "00 07 00 00 00 07 01 03 04 12 34 00 00"),
    ],
)
def test_what_a_fault_does_to_an_answer_over_tcp(fault: str, arrives: str) -> None:
    """The header keeps its transaction, unless that is the fault, and its length is right."""

    async def run() -> None:
        ends = Ends([fault], "tcp")
        ends.link.from_device(OVER_TCP)
        assert ends.at_gateway == [bytes.fromhex(arrives)]

    asyncio.run(run())


def test_an_ascii_answer_keeps_its_check_sum() -> None:
    """The check of 01 03 02 12 34 is 100h - 4Ch = B4h, and one less when unit 1 is called unit 2."""

    async def run() -> None:
        ends = Ends(["answer 2: unit 2"], "ascii")
        ends.link.from_device(b":0103021234B4\r\n:0103021234B4\r\n")
        assert ends.at_gateway == [b":0103021234B4\r\n", b":0203021234B3\r\n"]

    asyncio.run(run())


def test_bytes_that_are_no_frame_pass_after_a_silence() -> None:
    """Noise, and a frame with a wrong check sum, come through unchanged and uncounted, and the next frame is found."""

    async def run() -> None:
        ends = Ends(["answer 1: drop"])
        noise = b"\x55\xaa\x55" + ANSWER[:-1] + b"\x00"
        ends.link.from_device(noise)
        await asyncio.sleep(0.04)  # twice the silence that ends a frame
        assert (ends.at_gateway, ends.script.frames["answer"]) == ([noise], 0)
        ends.link.from_device(ANSWER)
        assert ends.script.frames["answer"] == 1

    asyncio.run(run())


def test_the_check_sums_of_the_specification() -> None:
    """CRC of `01 03 00 00 00 02` is C4 0B and of `02 07` is 41 12; LRC of 01 03 00 00 00 02 is the two's complement."""
    assert crc(REQUEST[:-2]) == b"\xc4\x0b"
    assert crc(b"\x02\x07") == b"\x41\x12"  # the example of Modbus over serial line, appendix B
    assert lrc(bytes.fromhex("01 03 00 00 00 02")) == 0x100 - 6
