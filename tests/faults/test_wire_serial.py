"""What a serial line does when others have it, when it is pulled out, held up, noisy or echoing: on real ptys."""

import asyncio
import fcntl
import io
import json
import logging
import os
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from gateway.clock import ScaledClock
from gateway.drivers import opening
from gateway.drivers.bus import PollBus
from gateway.drivers.frames import crc16
from gateway.drivers.modbus import ECHO, BadCheckSum, ModbusLine
from gateway.drivers.read import run_read
from gateway.errors import BusDown, DeviceSilent
from gateway.model import Fault, Sample
from gateway.site import Bus
from tests.support.scripted_devices import Devices, SerialDevices, channel, device, profile
from tests.support.scripted_line import TIMEOUT_S, serial_line

PATIENCE_S = 20.0  # nothing here takes as long; who waits longer has found a fault
REQUEST, ANSWER = bytes.fromhex("01 03 00 00 00 01 84 0A"), bytes.fromhex("01 03 02 00 DE 38 1C")

_HOLD = """
import fcntl, os, sys
port = os.open(sys.argv[1], os.O_RDWR | os.O_NOCTTY)
if sys.argv[2] == "lock":
    fcntl.flock(port, fcntl.LOCK_EX)
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def other_program(port: str, how: str) -> Iterator[int]:
    """Another program that has the port open, with a lock or without; its process id."""
    program = subprocess.Popen(
        [sys.executable, "-c", _HOLD, port, how], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert program.stdout is not None
        assert program.stdout.readline() == "open\n"
        yield program.pid
    finally:
        program.communicate("")


def is_exclusive(end: int) -> bool:
    """Whether the terminal refuses to be opened again (TIOCGEXCL, Linux)."""
    return bool(struct.unpack("i", fcntl.ioctl(end, 0x80045440, b"\0\0\0\0"))[0])


def test_who_has_the_port_is_told_by_name() -> None:
    """A port that another program has locked is not opened, and the message names the program and its process."""

    async def scenario() -> None:
        async with serial_line() as (peer, line):
            line.close()
            with other_program(peer.path, "lock") as process:
                told = rf"is in use by another program: python\S* \(process {process}\); stop it first"
                with pytest.raises(BusDown, match=told):
                    await line.open()
            await line.open()

    asyncio.run(scenario())


def test_nobody_else_opens_a_port_that_is_in_use(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While the gateway has it the port refuses every other program (TIOCEXCL), and no longer once it is closed.

    A program that had it open before, without a lock, takes bytes away: its name is in the log. Pseudo-terminals are
    spared all that in the product; here one plays the port.
    """
    monkeypatch.setattr(opening, "_PSEUDO_TERMINALS", "/nowhere/")

    async def scenario() -> None:
        async with serial_line() as (peer, line):
            assert is_exclusive(peer._slave)
            line.close()
            assert not is_exclusive(peer._slave)
            assert not caplog.records
            with other_program(peer.path, "no lock") as process:
                await line.open()
                assert f"(process {process}), which will take some of its bytes" in caplog.text

    with caplog.at_level(logging.WARNING, "gateway"):
        asyncio.run(scenario())


def test_an_adapter_plugged_in_elsewhere_is_found_again(tmp_path: Path) -> None:
    """The by-path name leads to another node after replugging: the polls go on there, without a restart."""
    port = tmp_path / "platform-usb-0:1.2:1.0-port0"

    async def scenario() -> None:
        first, second = SerialDevices(Devices()), SerialDevices(Devices())
        port.symlink_to(first.path)
        latest: list[Sample] = []

        def deliver(samples: tuple[Sample, ...], _now: object) -> None:
            latest[:] = samples

        bus = PollBus(
            Bus("bench", "modbus-rtu", port=str(port), baud=115200),
            [device(1)],
            [channel("d1", 0, 1_000_000)],
            ScaledClock(20),
            deliver,
            profiles={"d1": profile(0)},
        )
        polling = asyncio.create_task(bus.run())

        async def until(value: float | None) -> None:
            async with asyncio.timeout(PATIENCE_S):
                while not latest or latest[0].value != value:  # noqa: ASYNC110 - the deliveries are the bus's own
                    await asyncio.sleep(0.002)

        await until(100.0)
        port.unlink()
        first.close()
        await until(None)
        assert latest[0].fault is Fault.BUS_DOWN
        port.symlink_to(second.path)
        await until(100.0)
        assert second.devices.log
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling
        second.close()

    asyncio.run(scenario())


def test_a_port_that_takes_no_bytes_is_opened_afresh() -> None:
    """A request the port never took is not sent later, in front of another: the port is closed with it, and says so."""

    async def scenario() -> None:
        async with serial_line() as (peer, line):
            termios.tcflow(peer._slave, termios.TCOOFF)  # as flow control, or an adapter that hangs
            with pytest.raises(BusDown, match="took no bytes for"):
                await line.read(1, 3, 0, 1, 0.05)
            assert not line.connected
            termios.tcflow(peer._slave, termios.TCOON)
            await line.open()
            reading = asyncio.create_task(line.read(2, 3, 0, 1, 1.0))
            body = bytes.fromhex("02 03 00 00 00 01")
            assert await peer.receive(8) == body + crc16(body)
            await peer.send(bytes.fromhex("02 03 02 00 DE 7C 1C"))
            assert await reading == (0xDE,)
            assert not peer.pending

    asyncio.run(scenario())


@pytest.mark.parametrize("noise", [b"\x55\xaa" * 20, b"\x01\x03\xfa" * 13])
def test_noise_that_never_stops_ends_in_an_error_every_time(noise: bytes) -> None:
    """Garbage without a pause: each read ends by its outer deadline, or because the line is never silent."""

    async def scenario() -> None:
        async with serial_line(baud=300) as (peer, line):  # hardly ever a gap of 128 ms in noise every 0.3 ms
            stop = threading.Event()

            def rattle() -> None:
                while not stop.wait(0.0003):
                    with suppress(BlockingIOError):
                        os.write(peer.master, noise)

            rattling = threading.Thread(target=rattle)
            rattling.start()
            try:
                told = []
                async with asyncio.timeout(PATIENCE_S):
                    for _ in range(3):
                        with pytest.raises(BadCheckSum) as caught:
                            await line.read(1, 3, 0, 1, TIMEOUT_S)
                        told.append(str(caught.value))
                assert any("the line is never silent" in text for text in told[1:])
            finally:
                stop.set()
                rattling.join()
            assert line.connected
            assert line.counts.of(1).garbled == 3

    asyncio.run(scenario())


def test_an_echoing_adapter_is_told_once_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """With the first request that comes back the log says what the adapter does; then never again."""

    async def scenario() -> None:
        async with serial_line() as (peer, line):
            for _ in range(3):
                reading = asyncio.create_task(line.read(1, 3, 0, 1, 1.0))
                await peer.send(await peer.receive(8))
                await peer.send(ANSWER)
                assert await reading == (0xDE,)
            reading = asyncio.create_task(line.read(1, 3, 0, 1, 0.05))
            await peer.send(await peer.receive(8))
            with pytest.raises(DeviceSilent, match="only the echo of the request came, from the adapter"):
                await reading
            assert line.counts.echoes == 4

    with caplog.at_level(logging.WARNING, "gateway"):
        asyncio.run(scenario())
    assert [record.getMessage() for record in caplog.records] == [f"bus bench: {ECHO}"]


@pytest.mark.parametrize("as_json", [False, True])
def test_an_echoing_adapter_is_told_in_the_output_of_read(as_json: bool) -> None:
    """The technician sees it under the readings, where he looks."""
    from gateway import config

    site_file = """
[site]
id = "x"
name = "x"
discharger = "x"
time_zone = "UTC"
ordinances = []
[buses.rs485]
kind = "modbus-rtu"
port = "PORT"
baud = 115200
[devices.meter]
bus = "rs485"
unit = 1
profile = "PROFILE"
[channels.ph]
quantity = "pH"
device = "meter"
point = "pH"
"""
    probe = """id = "p"
model = "p"
[points.pH]
function = 3
address = 0
type = "u16"
scale = 0.01
unit = "pH"
"""
    master, slave = os.openpty()
    answering = subprocess.Popen(
        [sys.executable, "-c", _ECHOING, str(master), os.ttyname(slave)], pass_fds=(master,), stdout=subprocess.PIPE
    )
    try:
        assert answering.stdout is not None
        assert answering.stdout.readline() == b"ready\n"
        out = io.StringIO()
        with _site(site_file.replace("PORT", os.ttyname(slave)), probe) as path:
            assert run_read(config.load(path), [], out, as_json=as_json) == 0
    finally:
        answering.kill()
        answering.communicate()
        os.close(master)
        os.close(slave)
    lines = out.getvalue().splitlines()
    assert len(lines) == 2
    if as_json:
        assert json.loads(lines[0])["value"] == pytest.approx(2.22)
        assert json.loads(lines[1]) == {"bus": "rs485", "echo": True, "note": ECHO}
    else:
        assert lines[1] == f"bus rs485: {ECHO}"


_ECHOING = """
import os, sys, tty
master = int(sys.argv[1])
slave = os.open(sys.argv[2], os.O_RDWR | os.O_NOCTTY)
tty.setraw(slave)
print("ready", flush=True)
data = b""
while True:
    got = os.read(master, 64)
    os.write(master, got)
    data += got
    if len(data) == 8:
        os.write(master, bytes.fromhex("01030200DE381C"))
        data = b""
"""


@contextmanager
def _site(text: str, probe: str) -> Iterator[Path]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "p.toml").write_text(probe)
        path = Path(folder) / "site.toml"
        path.write_text(text.replace("PROFILE", "./p.toml"))
        yield path


def test_two_requests_at_once_take_turns() -> None:
    """One port has one request out at a time, whoever asks: the second goes out after the first answer and its gap."""

    async def scenario() -> None:
        async with serial_line() as (peer, line):
            both = [asyncio.create_task(line.read(1, 3, 0, 1, 1.0)) for _ in range(2)]
            assert await peer.receive(8) == REQUEST
            await asyncio.sleep(0.02)
            assert not peer.pending
            await peer.send(ANSWER)
            assert await both[0] == (0xDE,)
            assert await peer.receive(8) == REQUEST
            await peer.send(ANSWER)
            assert await both[1] == (0xDE,)

    asyncio.run(scenario())


def test_a_silent_unit_does_not_close_the_port_for_the_others() -> None:
    """The port stays open through a unit's silences as long as anyone answers on it."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1}))
        line = ModbusLine(Bus("bench", "modbus-rtu", port=peer.path, baud=115200))
        await line.open()
        for _ in range(8):
            with pytest.raises(DeviceSilent):
                await line.read(1, 3, 0, 1, 0.02)
            assert await line.read(2, 3, 0, 1, 1.0) == (200,)
        assert line.connected
        assert line.counts.resets == 0
        line.close()
        peer.close()

    asyncio.run(scenario())


def test_a_silent_and_a_busy_unit_spoil_nothing_of_the_others() -> None:
    """Every device fails for itself: the third gives its number, and nobody is asked again for another's."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1}, busy={2}))
        units = (1, 2, 3)
        bus = PollBus(
            Bus("bench", "modbus-rtu", port=peer.path, baud=115200),
            [device(unit, 60_000, retries=0) for unit in units],
            [channel(f"d{unit}", 0, 1_000_000) for unit in units],
            ScaledClock(1),
            lambda _samples, _now: None,
            profiles={f"d{unit}": profile(0) for unit in units},
        )
        readings = await bus.read_once()
        assert [(r.sample.value, r.sample.fault) for r in readings] == [
            (None, Fault.SILENT),
            (None, Fault.DEVICE_FAULT),
            (300, None),
        ]
        assert [asked.unit for asked in peer.devices.log] == [1, 2, 3]
        peer.close()

    asyncio.run(scenario())


def test_a_port_on_which_nobody_answers_is_opened_afresh() -> None:
    """Five requests in a row without a byte from anybody: an adapter that has hung is closed and opened again."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1, 2}))
        line = ModbusLine(Bus("bench", "modbus-rtu", port=peer.path, baud=115200))
        await line.open()
        for turn in range(5):
            assert line.connected
            with pytest.raises(DeviceSilent):
                await line.read(1 + turn % 2, 3, 0, 1, 0.02)
        assert not line.connected
        assert line.was_reset
        peer.devices.silent.clear()
        await line.open()
        assert await line.read(1, 3, 0, 1, 1.0) == (100,)
        line.close()
        peer.close()

    asyncio.run(scenario())


def test_a_clock_set_back_during_a_read_moves_no_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """An hour back on the wall clock while a silent unit is waited for: the deadline comes when it would have."""

    async def scenario() -> None:
        async with serial_line() as (peer, line):
            loop = asyncio.get_running_loop()
            started = loop.time()
            reading = asyncio.create_task(line.read(1, 3, 0, 1, 0.1))
            assert await peer.receive(8) == REQUEST
            real = time.time
            monkeypatch.setattr(time, "time", lambda: real() - 3600)
            with pytest.raises(DeviceSilent):
                await reading
            assert loop.time() - started < 20 * 0.1

    asyncio.run(scenario())


def test_no_timeout_is_shorter_than_the_bytes_need() -> None:
    """With a timeout of nothing the answer still has twice the time that request and answer take on the wire.

    At 1200 baud 8 + 7 characters of 11 bits take 137 ms: an answer after 180 ms is in time, none is late before.
    """

    async def scenario() -> None:
        async with serial_line(baud=1200) as (peer, line):
            reading = asyncio.create_task(line.read(1, 3, 0, 1, 0.0))
            assert await peer.receive(8) == REQUEST
            await asyncio.sleep(0.18)
            await peer.send(ANSWER)
            assert await reading == (0xDE,)

    asyncio.run(scenario())


def test_a_broadcast_leaves_the_devices_time_to_carry_it_out() -> None:
    """After a write to all nobody is asked for at least 100 ms (Modbus over serial line V1.02, 2.4.1), nobody answers.

    A read of unit 0 can have no answer and is refused before it is sent; so is a broadcast that is no write.
    """

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={0}))
        line = ModbusLine(Bus("bench", "modbus-rtu", port=peer.path, baud=115200))
        await line.open()
        await line.command(0, bytes.fromhex("06 00 01 00 03"), 1.0)
        assert await line.read(1, 3, 0, 1, 1.0) == (100,)
        sent, read = peer.devices.log
        assert (sent.unit, sent.function) == (0, 6)
        assert read.at - sent.at >= 0.1
        with pytest.raises(ValueError, match="nobody answers a read of unit 0: it is the address of all devices"):
            await line.read(0, 3, 0, 1, 1.0)
        with pytest.raises(ValueError, match="only writes may be broadcast"):
            await line.command(0, bytes.fromhex("03 00 01 00 03"), 1.0)
        assert len(peer.devices.log) == 2
        line.close()
        peer.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(("function", "count"), [(1, 0), (1, 2001), (2, 2001), (3, 0), (3, 126), (4, 126)])
def test_what_no_answer_could_hold_is_not_asked(function: int, count: int) -> None:
    """At most 125 registers or 2000 coils fit an answer (Modbus V1.1b3, 6.1 to 6.4)."""

    async def scenario() -> None:
        async with serial_line() as (peer, line):
            with pytest.raises(ValueError, match=f"function {function} reads 1 to"):
                await line.read(1, function, 0, count, 1.0)
            assert not peer.pending

    asyncio.run(scenario())
