"""What we rely on of the Modbus library as it is installed, and what of it we keep away from."""

import ast
import asyncio
import tomllib
from importlib.metadata import version

import pytest

from gateway.drivers.modbus import ModbusLine
from gateway.errors import BusDown, DeviceSilent
from gateway.site import Bus
from tests.conftest import ROOT
from tests.support.scripted_devices import Devices, TcpDevices
from tests.support.scripted_line import serial_line


def test_the_library_is_the_one_that_was_tried() -> None:
    """Its minor versions changed bit order, framing and names (3.9 to 3.16): the pin is what is installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "pymodbus>=3.16.1,<3.17" in project["dependencies"]
    assert version("pymodbus").startswith("3.16.")


def test_bits_do_not_depend_on_the_librarys_order() -> None:
    """Of the bytes 00 01 the ninth coil is the one that is on, whatever order the library has this year."""

    async def scenario() -> None:
        async with serial_line() as (peer, line):
            reading = asyncio.create_task(line.read(1, 1, 0, 16, 1.0))
            assert await peer.receive(8) == bytes.fromhex("01 01 00 00 00 10 3D C6")
            await peer.send(bytes.fromhex("01 01 02 00 01 78 3C"))
            assert await reading == (0,) * 8 + (1,) + (0,) * 7

    asyncio.run(scenario())


def test_the_library_repeats_nothing_by_itself() -> None:
    """One request, one time-out: a repetition sent at once would have its answer taken for the next one's."""

    async def scenario() -> None:
        async with serial_line() as (peer, line):
            reading = asyncio.create_task(line.read(1, 3, 0, 1, 0.05))
            assert len(await peer.receive(8)) == 8
            with pytest.raises(DeviceSilent):
                await reading
            await asyncio.sleep(0.1)
            assert not peer.pending

    asyncio.run(scenario())


def test_the_library_calls_no_server_by_itself() -> None:
    """After a loss only `open` connects again: the pauses between calls are ours."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        line = ModbusLine(Bus("bench", "modbus-tcp", host="127.0.0.1", tcp_port=server.port))
        await line.open()
        await server.kill()
        await asyncio.sleep(0.02)
        await server.start()
        with pytest.raises(BusDown, match="is not open"):
            await line.read(1, 3, 0, 1, 0.2)
        await asyncio.sleep(0.2)
        assert server.accepted == 1
        await line.open()
        assert await line.read(1, 3, 0, 1, 1.0) == (100,)
        assert server.accepted == 2
        line.close()
        await server.kill()

    asyncio.run(scenario())


def test_nothing_installs_anything_at_run_time() -> None:
    """A gateway that starts without a network starts as it was installed: no module knows an installer."""
    found = []
    for path in sorted((ROOT / "gateway").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) else []
            found += [(path.name, name) for name in names if name.split(".")[0] in {"pip", "ensurepip", "uv"}]
    assert not found
