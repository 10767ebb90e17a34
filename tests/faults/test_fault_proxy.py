"""The proxy on real sockets and a real serial port, between the gateway's own line and the bench's instruments."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.drivers.modbus import ModbusLine
from gateway.errors import BadReply, BusDown, DeviceFault, DeviceSilent, InputError
from gateway.site import Bus
from simulators.fault_command import main
from simulators.fault_proxy import SerialProxy, TcpProxy
from simulators.fault_script import parse
from simulators.faults import Script
from simulators.framing import FRAMINGS
from simulators.instruments import HamiltonPhArc
from simulators.line import Line
from simulators.modbus import SerialServer, TcpServer
from tests.conftest import ROOT

TIMEOUT_S = 0.3
PH = (3, 2089, 10)  # what the gateway asks a Hamilton Arc for: function, wire address, count


@asynccontextmanager
async def over_tcp(*script: str) -> AsyncIterator[tuple[ModbusLine, TcpProxy, Script]]:
    """A pH sensor behind Modbus TCP behind the proxy, and an open line to it."""
    sensor = HamiltonPhArc(1)
    sensor.set("pH", 7.0)
    server = TcpServer([sensor])
    await server.start()
    course = Script(parse(script))
    proxy = TcpProxy(FRAMINGS["tcp"], course, (server.host, server.port))
    await proxy.start()
    line = ModbusLine(Bus("bench", "modbus-tcp", host=proxy.host, tcp_port=proxy.port))
    try:
        await line.open()
        yield line, proxy, course
    finally:
        line.close()
        await proxy.stop()
        await server.stop()
        await asyncio.sleep(0)


@asynccontextmanager
async def on_a_port(tmp_path: Path, *script: str) -> AsyncIterator[tuple[ModbusLine, Line, SerialProxy]]:
    """The same on a serial line: the proxy opens one end of it, the gateway the proxy's own."""
    sensor = HamiltonPhArc(1)
    sensor.set("pH", 7.0)
    wire = Line()
    wire.open()
    server = SerialServer([sensor], wire.bench_path)
    await server.start()
    proxy = SerialProxy(FRAMINGS["rtu"], Script(parse(script)), wire.gateway_path, link=tmp_path / "ttyFAULTY")
    proxy.start()
    line = ModbusLine(Bus("bench", "modbus-rtu", port=str(tmp_path / "ttyFAULTY"), baud=115200))
    try:
        await line.open()
        yield line, wire, proxy
    finally:
        line.close()
        proxy.stop()
        await server.stop()
        wire.close()
        await asyncio.sleep(0)


def test_faults_over_tcp_reach_the_gateway_as_what_they_are() -> None:
    """The second read fails as the script says, the first and the third are sound."""

    async def run(fault: str, error: type[Exception]) -> None:
        async with over_tcp(fault) as (line, _, course):
            first = await line.read(1, *PH, 2.0)
            with pytest.raises(error):
                await line.read(1, *PH, TIMEOUT_S)
            if not line.connected:
                await line.open()
            assert await line.read(1, *PH, 2.0) == first
            assert course.applied.total() == 1

    for fault, error in [
        ("answer 2: drop", DeviceSilent),
        ("answer 2: delay 400ms", DeviceSilent),
        ("answer 2: transaction 9999", DeviceSilent),
        ("answer 2: unit 2", BadReply),
        ("answer 2: function 4", BadReply),
        ("answer 2: registers 2", BadReply),
        ("answer 2: exception 6", DeviceFault),
        ("request 2: hang-up", BusDown),
    ]:
        asyncio.run(run(fault, error))


def test_a_half_open_connection_is_silent_and_a_new_one_is_not() -> None:
    """Nothing passes and nobody hangs up, until the gateway calls again; the script goes on where it was."""

    async def run() -> None:
        async with over_tcp("request 2: half-open") as (line, _, course):
            first = await line.read(1, *PH, 2.0)
            for _ in range(2):
                with pytest.raises(DeviceSilent):
                    await line.read(1, *PH, 0.1)
            assert line.connected
            await line.open()
            assert await line.read(1, *PH, 2.0) == first
            assert course.frames["request"] == 3

    asyncio.run(run())


def test_devices_that_cannot_be_reached_are_no_connection() -> None:
    """The proxy hangs up on the gateway when nobody listens behind it."""

    async def run() -> None:
        proxy = TcpProxy(FRAMINGS["tcp"], Script(()), ("127.0.0.1", 1))
        await proxy.start()
        line = ModbusLine(Bus("bench", "modbus-tcp", host=proxy.host, tcp_port=proxy.port))
        await line.open()
        with pytest.raises(BusDown):
            await line.read(1, *PH, 2.0)
        await proxy.stop()

    asyncio.run(run())


def test_faults_on_a_serial_port_reach_the_gateway_as_what_they_are(tmp_path: Path) -> None:
    """Echo and noise are seen through; a spoilt answer is silence, a wrong one is named."""

    async def run(fault: str, error: type[Exception] | None) -> None:
        async with on_a_port(tmp_path, fault) as (line, _, _):
            first = await line.read(1, *PH, 2.0)
            if error is None:
                assert await line.read(1, *PH, TIMEOUT_S) == first
            else:
                with pytest.raises(error):
                    await line.read(1, *PH, TIMEOUT_S)
            assert await line.read(1, *PH, 2.0) == first

    for fault, error in [
        ("request 2: echo", None),
        ("answer 2: noise 00", None),
        ("answer 2: twice", None),
        ("answer 2: flip 80", DeviceSilent),
        ("answer 2: unit 2", BadReply),
        ("answer 2: exception 6", DeviceFault),
    ]:
        asyncio.run(run(fault, error))


def test_a_port_that_vanishes_ends_the_proxy(tmp_path: Path) -> None:
    """An adapter pulled out is told, and the name for the gateway's side goes away with the proxy."""

    async def run() -> None:
        async with on_a_port(tmp_path) as (_, wire, proxy):
            assert (tmp_path / "ttyFAULTY").is_symlink()
            wire.close()
            async with asyncio.timeout(10):
                await proxy.gone.wait()
        assert not (tmp_path / "ttyFAULTY").is_symlink()

    asyncio.run(run())


def test_a_file_is_not_overwritten_by_a_name_for_the_port(tmp_path: Path) -> None:
    """A name that is taken by anything but a link is refused, and what is there stays."""
    (tmp_path / "notes").write_text("mine")

    async def run() -> None:
        wire = Line()
        wire.open()
        proxy = SerialProxy(FRAMINGS["rtu"], Script(()), wire.gateway_path, link=tmp_path / "notes")
        with pytest.raises(FileExistsError):
            proxy.start()
        wire.close()

    asyncio.run(run())
    assert (tmp_path / "notes").read_text() == "mine"


def test_the_command_says_where_to_point_a_gateway_and_what_it_did(tmp_path: Path) -> None:
    """`simulate faults` prints the script, the address and each frame, and sums up when it is stopped."""
    script = tmp_path / "bad-day.txt"
    script.write_text("answer 1: exception 6\n", encoding="utf-8")

    async def run() -> str:
        server = TcpServer([HamiltonPhArc(1)])
        await server.start()
        arguments = ("-m", "gateway", "simulate", "faults", "--to", f"127.0.0.1:{server.port}", "--show")
        command = await asyncio.create_subprocess_exec(
            sys.executable, *arguments, "--script", str(script), cwd=ROOT, stdout=asyncio.subprocess.PIPE
        )
        assert command.stdout is not None
        told = b""
        while b"tcp_port" not in told:
            told += await asyncio.wait_for(command.stdout.readuntil(), 60)
        port = int(told.rsplit(b"=", 1)[1])
        line = ModbusLine(Bus("bench", "modbus-tcp", host="127.0.0.1", tcp_port=port))
        await line.open()
        with pytest.raises(DeviceFault):
            await line.read(1, *PH, 5.0)
        line.close()
        command.send_signal(signal.SIGTERM)
        told += (await command.communicate())[0]
        assert command.returncode == 0
        await server.stop()
        return told.decode()

    told = asyncio.run(run())
    assert told.startswith("# answer 1: exception 6\n# point the gateway here:\nhost = ")
    assert "\n>> 00 01 00 00 00 06 01 03 08 29 00 0a\n<< 00 01 00 00 00 17 01 03 14" in told
    assert "   # answer 1: exception 6\n" in told
    assert told.endswith("# 1 requests, 1 answers; 1 x exception\n")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "say where the devices are"),
        (["--to", "h:1", "--port", "/dev/x"], "say where the devices are"),
        (["--port", "/dev/x", "--framing", "tcp"], "on a serial line frames are rtu or ascii"),
        (["--to", "h:1", "--fault", "answer 1: flip 3"], "answer 1: flip 3: there is no such fault on TCP"),
        (["--port", "/dev/x", "--fault", "request 1: hang-up"], "there is no such fault on a serial line"),
        (["--to", "h:1", "--framing", "rtu", "--fault", "answer 1: transaction 3"], "no such fault on TCP"),
        (["--to", "h:1", "--fault", "answer 1"], "--fault:1: 'answer 1' is not WHICH: WHAT"),
        (["--to", "h:1", "--script", "/nowhere/at-all"], "/nowhere/at-all: "),
        (["--to", "h:1", "--seed", "1", "--frames", "3"], "--frames 3: at least 10"),
        (["--port", "/nowhere/ttyUSB0"], "cannot open the line: "),
    ],
)
def test_what_the_command_cannot_do_is_refused(arguments: list[str], said: str) -> None:
    """Each mistake is named."""
    with pytest.raises(InputError) as caught:
        main(arguments)
    assert said in str(caught.value)
