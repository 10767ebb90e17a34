"""What a TCP connection does when the far side vanishes, swallows everything or takes one client at a time."""

import asyncio
import socket
from contextlib import suppress

import pytest

from gateway.clock import ScaledClock
from gateway.drivers import modbus, opening
from gateway.drivers.bus import PollBus
from gateway.drivers.modbus import ModbusLine
from gateway.errors import BusDown, DeviceSilent
from gateway.model import Sample
from gateway.site import Bus
from tests.support import far_network
from tests.support.far_network import FarNetwork
from tests.support.scripted_devices import Devices, TcpDevices, channel, device, profile

PATIENCE_S = 20.0  # nothing here takes as long; who waits longer has found a fault


def over_tcp(server: TcpDevices, **options: int) -> Bus:
    """The bus to that server."""
    return Bus("bench", "modbus-tcp", host="127.0.0.1", tcp_port=server.port, **options)


def test_a_vanished_peer_is_noticed_within_thirty_seconds_by_the_options_set() -> None:
    """The socket itself says so: keepalive after 10 s, and 10 s without an acknowledgement end the connection."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        line = ModbusLine(over_tcp(server))
        await line.open()
        transport = line._connection._transport
        assert transport is not None
        connection: socket.socket = transport.get_extra_info("socket")

        def option(level: int, name: int) -> int:
            return connection.getsockopt(level, name)

        assert option(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0
        assert option(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0
        idle_s = option(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
        every_s = option(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL)
        gone_s = option(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) / 1000
        assert 0 < gone_s <= 10
        assert idle_s + max(every_s * option(socket.IPPROTO_TCP, socket.TCP_KEEPCNT), gone_s + every_s) <= 30
        line.close()
        await server.kill()

    asyncio.run(scenario())


@pytest.mark.skipif(not far_network.usable(), reason="needs root and network namespaces")
@pytest.mark.parametrize("asking", [False, True], ids=["idle", "asking"])
def test_a_wire_that_is_cut_is_noticed_whether_anybody_asks_or_not(
    asking: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A far network that stops answering even TCP ends the connection, here with tenths of the times.

    With the times of the product it took 15 s idle and 10 s after a request (measured once, on such a network).
    """
    for name, value in (("_PROBE_AFTER_S", 1), ("_PROBE_EVERY_S", 1), ("_UNACKNOWLEDGED_S", 1)):
        monkeypatch.setattr(opening, name, value)

    async def scenario() -> None:
        with FarNetwork().up() as far:
            lost = asyncio.Event()
            line = ModbusLine(Bus("bench", "modbus-tcp", host=far.host, tcp_port=far_network.PORT), lost.set)
            await line.open()
            assert await line.read(1, 3, 0, 1, 5.0) == (0x1234,)
            far.cut()
            if asking:
                with pytest.raises(DeviceSilent):
                    await line.read(1, 3, 0, 1, 0.1)
            async with asyncio.timeout(PATIENCE_S):
                await lost.wait()
            assert not line.connected
            assert line.counts.resets == 0  # the network's own verdict, not ours

    asyncio.run(scenario())


def test_a_peer_that_swallows_everything_is_called_anew_while_nobody_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    """One request without an answer and then nothing at all: the connection is given up though TCP is content."""
    assert modbus._MUTE_S <= 30
    monkeypatch.setattr(modbus, "_MUTE_S", 0.2)

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        lost = asyncio.Event()
        line = ModbusLine(over_tcp(server), lost.set)
        await line.open()
        assert await line.read(1, 3, 0, 1, 1.0) == (100,)
        server.devices.silent.add(1)
        with pytest.raises(DeviceSilent):
            await line.read(1, 3, 0, 1, 0.02)
        assert line.connected  # one silence is a device's
        async with asyncio.timeout(PATIENCE_S):
            await lost.wait()
        assert not line.connected
        assert line.was_reset
        await line.open()
        server.devices.silent.clear()
        assert await line.read(1, 3, 0, 1, 1.0) == (100,)
        line.close()
        await server.kill()

    asyncio.run(scenario())


def test_a_peer_that_answers_for_another_device_is_not_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A dead device behind a living converter costs the connection nothing."""
    monkeypatch.setattr(modbus, "_MUTE_S", 0.2)

    async def scenario() -> None:
        server = TcpDevices(Devices(silent={1}))
        await server.start()
        line = ModbusLine(over_tcp(server))
        await line.open()
        for _ in range(12):
            with pytest.raises(DeviceSilent):
                await line.read(1, 3, 0, 1, 0.02)
            assert await line.read(2, 3, 0, 1, 1.0) == (200,)
        await asyncio.sleep(0.25)
        assert line.connected
        assert (line.counts.resets, server.accepted) == (0, 1)
        line.close()
        await server.kill()

    asyncio.run(scenario())


def test_a_connection_is_closed_when_idle_and_opened_for_the_next_request() -> None:
    """A server that takes one client is free between polls; the gateway's next request calls again, unasked."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        line = ModbusLine(over_tcp(server, close_when_idle_us=30_000))
        await line.open()
        for turn in range(1, 4):
            assert await line.read(1, 3, 0, 1, 1.0) == (100,)
            assert await line.read(1, 3, 5, 1, 1.0) == (105,)  # at once: the same connection
            assert server.accepted == turn
            async with asyncio.timeout(PATIENCE_S):
                while server.open:  # noqa: ASYNC110 - the far end's own count
                    await asyncio.sleep(0.005)
            assert line.connected  # as far as anyone can tell
        await server.kill()
        with pytest.raises(BusDown, match="refuses the connection"):
            await line.read(1, 3, 0, 1, 1.0)
        assert not line.connected

    asyncio.run(scenario())


def test_a_connection_that_was_hung_up_is_nothing_to_be_called_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a silence the idle connection is closed anyway: it is not found useless a second time, nor told as lost."""
    monkeypatch.setattr(modbus, "_MUTE_S", 0.1)

    async def scenario() -> None:
        server = TcpDevices(Devices(silent={1}))
        await server.start()
        lost = asyncio.Event()
        line = ModbusLine(over_tcp(server, close_when_idle_us=20_000), lost.set)
        await line.open()
        with pytest.raises(DeviceSilent):
            await line.read(1, 3, 0, 1, 0.02)
        await asyncio.sleep(0.2)
        assert not server.open
        assert line.connected
        assert not lost.is_set()
        assert line.counts.resets == 0
        server.devices.silent.clear()
        assert await line.read(1, 3, 0, 1, 1.0) == (100,)
        await asyncio.sleep(0.1)
        await line.open()  # opened and never asked: idle from the beginning
        await asyncio.sleep(0.1)
        assert not server.open
        await server.kill()

    asyncio.run(scenario())


def test_a_server_killed_a_hundred_times_is_found_again_every_time() -> None:
    """Whenever the server comes back the polls go on."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        latest: list[Sample] = []

        def deliver(samples: tuple[Sample, ...], _now: object) -> None:
            latest[:] = samples

        known = {"d1": profile(0)}
        channels = [channel("d1", 0, 1_000_000)]
        bus = PollBus(over_tcp(server), [device(1)], channels, ScaledClock(200), deliver, profiles=known)
        polling = asyncio.create_task(bus.run())

        async def until(value: float | None) -> None:
            async with asyncio.timeout(PATIENCE_S):
                while not latest or latest[0].value != value:  # noqa: ASYNC110 - the deliveries are the bus's own
                    await asyncio.sleep(0.001)

        for _ in range(100):
            await until(100.0)
            await server.kill()
            await until(None)
            await server.start()
        await until(100.0)
        assert bus.health().connections == 101
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling
        await server.kill()

    asyncio.run(scenario())


def test_a_server_that_accepts_and_hangs_up_is_not_called_without_a_pause() -> None:
    """The pauses between calls double: in half a minute it is called a handful of times, not all the time."""

    async def scenario() -> None:
        called = 0

        async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal called
            called += 1
            writer.transport.abort()

        server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
        delivered: list[Sample] = []
        bus = PollBus(
            Bus("bench", "modbus-tcp", host="127.0.0.1", tcp_port=server.sockets[0].getsockname()[1]),
            [device(1)],
            [channel("d1", 0, 1_000_000)],
            ScaledClock(30),
            lambda samples, _now: delivered.extend(samples),
            profiles={"d1": profile(0)},
            jitter=lambda: 0.0,
        )
        polling = asyncio.create_task(bus.run())
        async with asyncio.timeout(PATIENCE_S):
            while len(delivered) < 30:  # noqa: ASYNC110 - the deliveries are the bus's own
                await asyncio.sleep(0.005)
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling
        server.close()
        await server.wait_closed()
        assert 2 <= called <= 6  # after 0, 1, 3, 7, 15 and 31 s

    asyncio.run(scenario())


def test_a_server_that_greets_with_a_banner_is_not_called_all_the_time() -> None:
    """A login prompt where Modbus TCP was expected is broken framing before anything was asked: calls have pauses."""

    async def scenario() -> None:
        called = 0

        async def greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal called
            called += 1
            await asyncio.sleep(0.002)
            writer.write(b"Welcome to the serial server\r\nlogin: ")
            with suppress(ConnectionError):
                await reader.read()
            writer.close()

        server = await asyncio.start_server(greet, "127.0.0.1", 0)
        delivered: list[Sample] = []
        bus = PollBus(
            Bus("bench", "modbus-tcp", host="127.0.0.1", tcp_port=server.sockets[0].getsockname()[1]),
            [device(1)],
            [channel("d1", 0, 1_000_000)],
            ScaledClock(30),
            lambda samples, _now: delivered.extend(samples),
            profiles={"d1": profile(0)},
            jitter=lambda: 0.0,
        )
        polling = asyncio.create_task(bus.run())
        async with asyncio.timeout(PATIENCE_S):
            while len(delivered) < 30:  # noqa: ASYNC110 - the deliveries are the bus's own
                await asyncio.sleep(0.005)
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0.02)  # the far end hears of it
        assert {sample.value for sample in delivered} == {None}
        assert 2 <= called <= 6 + 30  # the doubling pauses, and at most once more for every poll

    asyncio.run(scenario())


def test_a_swallowing_peer_is_called_anew_while_every_device_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the only device in its growing pauses the connection is found useless by itself, and made anew each time."""
    monkeypatch.setattr(modbus, "_MUTE_S", 0.15)

    async def scenario() -> None:
        server = TcpDevices(Devices(silent={1}))
        await server.start()
        bus = PollBus(
            over_tcp(server),
            [device(1, 20_000)],
            [channel("d1", 0, 3_600_000_000)],  # asked once, and then not for an hour
            ScaledClock(1),
            lambda _samples, _now: None,
            profiles={"d1": profile(0)},
        )
        polling = asyncio.create_task(bus.run())
        async with asyncio.timeout(PATIENCE_S):
            while server.accepted < 2:  # noqa: ASYNC110 - the far end's own count
                await asyncio.sleep(0.01)
        assert 1 <= len(server.devices.log) <= 2
        assert bus.line.counts.resets == 1
        polling.cancel()
        with suppress(asyncio.CancelledError):
            await polling
        await server.kill()

    asyncio.run(scenario())
