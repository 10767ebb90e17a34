"""The instruments on real sockets and pseudo-terminals, asked by raw frames and by a plain Modbus client."""

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from struct import pack, unpack

import pytest
import serial
from pymodbus.client import AsyncModbusSerialClient, AsyncModbusTcpClient
from pymodbus.exceptions import ModbusIOException

from gateway.drivers.modbus import ModbusLine
from gateway.errors import DeviceSilent, NoSuchRegister
from gateway.site import SERIAL_KINDS, Bus
from simulators.instruments import HamiltonPhArc, Instrument, Liquiline, Mag6000
from simulators.line import Line
from simulators.modbus import SerialServer, TcpServer

SILENCE_S = 0.15
DELAY_S = 0.1


def _crc(frame: bytes) -> bytes:
    """The check sum of the serial-line specification: polynomial A001, start FFFF, low byte first."""
    crc = 0xFFFF
    for byte in frame:
        crc ^= byte
        for _ in range(8):
            crc = (crc >> 1) ^ (0xA001 if crc & 1 else 0)
    return pack("<H", crc)


def _request(unit: int, function: int, address: int, count: int) -> bytes:
    frame = pack(">BBHH", unit, function, address, count)
    return frame + _crc(frame)


def _answer(unit: int, function: int, *words: int) -> bytes:
    frame = pack(f">BBB{len(words)}H", unit, function, 2 * len(words), *words)
    return frame + _crc(frame)


@asynccontextmanager
async def _line(*instruments: Instrument, baud: int | None = None) -> AsyncIterator[tuple[Line, SerialServer]]:
    line = Line(baud)
    line.open()
    server = SerialServer(instruments, line.bench_path)
    await server.start()
    try:
        yield line, server
    finally:
        await server.stop()
        line.close()


@asynccontextmanager
async def _tcp(*instruments: Instrument, rtu_framing: bool = False) -> AsyncIterator[TcpServer]:
    server = TcpServer(instruments, rtu_framing=rtu_framing)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()
        await asyncio.sleep(0)


async def _exchange(port: serial.Serial, request: bytes) -> bytes:
    """What comes back within a short while, byte for byte."""
    port.write(request)
    received = b""
    for _ in range(round(SILENCE_S / 0.005)):
        await asyncio.sleep(0.005)
        received += port.read(256)
    return received


def _mag() -> Mag6000:
    """A flow meter, unit 2, that shows the example of the manual: 40C3 5293."""
    return _mag_as(2)


def _mag_as(unit: int) -> Mag6000:
    mag = Mag6000(unit)
    mag._show(mag.points["volume_flow"], unpack(">f", bytes.fromhex("40C35293"))[0])
    return mag


def test_the_answer_on_the_wire_is_the_one_the_manual_prints() -> None:
    """Unit 1 asked for two registers answers 40C3 5293 in the frame Siemens prints, with the right check sum."""

    async def ask() -> bytes:
        async with _line(_mag_as(1)) as (line, _):
            with serial.Serial(line.gateway_path, 9600, timeout=0) as port:
                return await _exchange(port, _request(1, 3, 3002, 2))

    assert asyncio.run(ask()) == bytes.fromhex("01 03 04 40 C3 52 93 62 C2")


def test_absent_and_mute_units_leave_the_line_silent() -> None:
    """No exception, no byte: for a unit that is not there and for one that has died; its neighbour still answers."""

    async def ask() -> tuple[bytes, bytes, bytes, dict[int, int]]:
        arc, mag = HamiltonPhArc(1), _mag()
        arc.silent = True
        async with _line(arc, mag) as (line, server):
            with serial.Serial(line.gateway_path, 9600, timeout=0) as port:
                absent = await _exchange(port, _request(9, 3, 3002, 2))
                mute = await _exchange(port, _request(1, 3, 2089, 10))
                alive = await _exchange(port, _request(2, 3, 3002, 2))
                return absent, mute, alive, dict(server.heard)

    absent, mute, alive, heard = asyncio.run(ask())
    assert absent == mute == b""
    assert alive == _answer(2, 3, 0x40C3, 0x5293)
    assert heard == {9: 1, 1: 1, 2: 1}


def test_an_instrument_that_comes_back_answers_again() -> None:
    """Silence is a state, not the end: when it is lifted the very next request is answered."""

    async def ask() -> list[bytes]:
        mag = _mag()
        async with _line(mag) as (line, _):
            with serial.Serial(line.gateway_path, 9600, timeout=0) as port:
                answers = []
                for silent in (False, True, False):
                    mag.silent = silent
                    answers.append(await _exchange(port, _request(2, 3, 3002, 2)))
                return answers

    good = _answer(2, 3, 0x40C3, 0x5293)
    assert asyncio.run(ask()) == [good, b"", good]


def test_refusals_are_exceptions_on_the_wire_and_nothing_can_be_written() -> None:
    """Half a block is exception 2, an unknown register exception 2, a write exception 1."""

    async def ask() -> list[bytes]:
        async with _line(HamiltonPhArc(1), _mag()) as (line, _):
            with serial.Serial(line.gateway_path, 9600, timeout=0) as port:
                write = pack(">BBHH", 2, 6, 3002, 1)
                return [
                    await _exchange(port, _request(1, 3, 2091, 2)),
                    await _exchange(port, _request(2, 3, 7, 1)),
                    await _exchange(port, write + _crc(write)),
                ]

    frames = [bytes((1, 0x83, 2)), bytes((2, 0x83, 2)), bytes((2, 0x86, 1))]
    assert asyncio.run(ask()) == [frame + _crc(frame) for frame in frames]


def test_the_line_outlives_a_gateway_that_dies_and_comes_back() -> None:
    """Its end is closed in mid-exchange, ten times: the line never hangs up, and the next to open it is answered."""

    trouble: list[object] = []

    async def ask() -> list[bytes]:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: trouble.append(context))
        async with _line(_mag()) as (line, _):
            answers = []
            for _ in range(10):
                dying = os.open(line.gateway_path, os.O_RDWR | os.O_NOCTTY)
                os.write(dying, _request(2, 3, 3002, 2))
                os.close(dying)
                await asyncio.sleep(0.02)
                with serial.Serial(line.gateway_path, 9600, timeout=0, exclusive=True) as port:
                    port.reset_input_buffer()
                    answers.append(await _exchange(port, _request(2, 3, 3002, 2)))
            return answers

    assert asyncio.run(ask()) == [_answer(2, 3, 0x40C3, 0x5293)] * 10
    assert trouble == []


def test_a_cut_cable_loses_everything_until_it_is_mended() -> None:
    """While the line is cut no answer comes, and nothing of what was lost comes later."""

    async def ask() -> list[bytes]:
        async with _line(_mag()) as (line, _):
            with serial.Serial(line.gateway_path, 9600, timeout=0) as port:
                answers = []
                for cut in (True, False):
                    line.cut = cut
                    answers.append(await _exchange(port, _request(2, 3, 3002, 2)))
                return answers

    assert asyncio.run(ask()) == [b"", _answer(2, 3, 0x40C3, 0x5293)]


def test_a_slow_line_brings_the_same_bytes_in_pieces() -> None:
    """Paced at 9600 baud the answer trickles in, complete and in order."""

    async def ask() -> tuple[bytes, int]:
        async with _line(_mag(), baud=9600) as (line, _):
            with serial.Serial(line.gateway_path, 9600, timeout=0) as port:
                port.write(_request(2, 3, 3002, 2))
                received, pieces = b"", 0
                async with asyncio.timeout(10):
                    while len(received) < 9:
                        await asyncio.sleep(0.001)
                        piece = port.read(1)
                        received, pieces = received + piece, pieces + bool(piece)
                return received, pieces

    received, pieces = asyncio.run(ask())
    assert received == _answer(2, 3, 0x40C3, 0x5293)
    assert pieces > 1


def test_a_delayed_line_answers_late() -> None:
    """A delay holds request and answer back, each for its time, and loses neither."""

    async def ask() -> tuple[bytes, float]:
        loop = asyncio.get_running_loop()
        async with _line(_mag()) as (line, _):
            line.delay_s = DELAY_S
            with serial.Serial(line.gateway_path, 9600, timeout=0) as port:
                sent_at, received = loop.time(), b""
                port.write(_request(2, 3, 3002, 2))
                async with asyncio.timeout(10):
                    while len(received) < 9:
                        await asyncio.sleep(0.005)
                        received += port.read(256)
                return received, loop.time() - sent_at

    received, took_s = asyncio.run(ask())
    assert received == _answer(2, 3, 0x40C3, 0x5293)
    assert took_s >= 2 * DELAY_S


def test_a_plain_client_reads_the_serial_line() -> None:
    """An ordinary Modbus client opens the path as a serial port and reads whole blocks of two instruments."""

    async def ask() -> tuple[list[int], list[int]]:
        arc = HamiltonPhArc(1)
        arc.set("pH", 7.0)
        async with _line(arc, _mag()) as (line, _):
            client = AsyncModbusSerialClient(line.gateway_path, baudrate=9600, timeout=1, retries=0)
            await client.connect()
            ph = await client.read_holding_registers(2089, count=10, device_id=1)
            flow = await client.read_holding_registers(3002, count=2, device_id=2)
            client.close()
            return ph.registers, flow.registers

    ph, flow = asyncio.run(ask())
    assert ph == [0x1000, 0, 0, 0x40E0, 0, 0, 0, 0, 0, 0x4160]
    assert flow == [0x40C3, 0x5293]


def test_a_plain_client_reads_tcp_and_an_absent_unit_is_silent() -> None:
    """On Modbus/TCP too: holding and input registers the same, and no answer at all from a unit that is not there."""

    async def ask() -> tuple[list[int], list[int], str]:
        analyser = Liquiline(5, {1: "pH"})
        analyser.set("AI1", 7.0)
        async with _tcp(analyser) as server:
            client = AsyncModbusTcpClient(server.host, port=server.port, timeout=SILENCE_S, retries=0)
            await client.connect()
            holding = await client.read_holding_registers(0, count=4, device_id=5)
            inputs = await client.read_input_registers(0, count=4, device_id=5)
            try:
                await client.read_holding_registers(0, count=4, device_id=6)
            except ModbusIOException as error:
                absent = str(error)
            client.close()
            return holding.registers, inputs.registers, absent

    holding, inputs, absent = asyncio.run(ask())
    assert holding == inputs == [0x40E0, 0, 0, 53]
    assert "No response" in absent


def test_rtu_frames_over_tcp() -> None:
    """A serial device server: the same frames with check sum, through a socket."""

    async def ask() -> bytes:
        async with _tcp(_mag(), rtu_framing=True) as server:
            reader, writer = await asyncio.open_connection(server.host, server.port)
            writer.write(_request(2, 3, 3002, 2))
            answer = await reader.readexactly(9)
            writer.close()
            await writer.wait_closed()
            return answer

    assert asyncio.run(ask()) == _answer(2, 3, 0x40C3, 0x5293)


def test_two_instruments_with_one_unit_are_refused() -> None:
    """A bus on which two devices would answer at once is a mistake of the site."""
    with pytest.raises(ValueError, match="unit 2"):
        SerialServer([Mag6000(2), HamiltonPhArc(2)], "")


@pytest.mark.parametrize("kind", ["modbus-rtu", "modbus-ascii", "modbus-tcp", "modbus-rtu-over-tcp"])
def test_the_gateways_line_and_the_librarys_server_understand_each_other(kind: str) -> None:
    """In each framing the same registers, the same exception and the same silence, from a server we did not write."""

    async def ask(line: ModbusLine) -> tuple[int, ...]:
        await line.open()
        words = await line.read(2, 3, 3002, 2, 1.0)
        with pytest.raises(NoSuchRegister):
            await line.read(2, 3, 9, 1, 1.0)
        with pytest.raises(DeviceSilent):
            await line.read(3, 3, 3002, 2, SILENCE_S)
        assert await line.read(2, 3, 3002, 2, 1.0) == words
        line.close()
        return words

    async def over_tcp() -> tuple[int, ...]:
        async with _tcp(_mag(), rtu_framing=kind == "modbus-rtu-over-tcp") as server:
            return await ask(ModbusLine(Bus("b", kind, host=server.host, tcp_port=server.port)))

    async def on_a_line() -> tuple[int, ...]:
        line = Line()
        line.open()
        server = SerialServer([_mag()], line.bench_path, ascii_framing=kind == "modbus-ascii")
        await server.start()
        try:
            return await ask(ModbusLine(Bus("b", kind, port=line.gateway_path)))
        finally:
            await server.stop()
            line.close()

    assert asyncio.run(on_a_line() if kind in SERIAL_KINDS else over_tcp()) == (0x40C3, 0x5293)
