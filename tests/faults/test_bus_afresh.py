"""A line that is closed to start afresh is not down, and what is down says so: no sample, note or state is a lie."""

import asyncio
from contextlib import suppress
from dataclasses import replace

import pytest

from gateway.clock import SystemClock
from gateway.drivers.bus import PollBus
from gateway.drivers.device_state import DeviceState
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.plan import Read
from gateway.drivers.poll import DevicePoll
from gateway.drivers.profile import Limits, Point, Profile, Register
from gateway.errors import BusDown, DeviceSilent
from gateway.model import Fault, Quality, Sample
from gateway.site import Bus
from tests.support.polling import Deliveries, over_tcp, polling, run, serial
from tests.support.scripted_devices import Devices, SerialDevices, TcpDevices, channel, device, profile


def test_a_line_on_which_nobody_answers_is_no_port_that_is_down() -> None:
    """Seven devices behind a cut cable: the port is opened afresh now and then, and nobody says that it is not open."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent=set(range(1, 8))))
        delivered = Deliveries()
        bus = PollBus(
            serial(peer),
            [device(n, 60_000) for n in range(1, 8)],
            [channel(f"d{n}", 0, 300_000) for n in range(1, 8)],
            SystemClock(),
            delivered.deliver,
            profiles={f"d{n}": profile(0) for n in range(1, 8)},
            tell=delivered.notes.append,
        )
        async with polling(bus) as until:
            await until(lambda: bus.health().connections >= 2 and delivered.told.count("device_down") >= 3)
            health = bus.health()
        peer.close()
        assert set(delivered.told) == {"device_down"}
        assert (health.state, health.connected) == ("up", True)
        assert {sample.fault for call in delivered.calls for sample in call} == {Fault.SILENT}

    run(scenario)


def test_a_connection_closed_to_start_afresh_costs_the_other_device_nothing() -> None:
    """Unit 1's answer stops half way, so the stream has lost its place; unit 2, that waits, is asked on the new one."""

    async def scenario() -> None:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            with suppress(asyncio.IncompleteReadError, ConnectionError):
                while True:
                    asked = await reader.readexactly(12)
                    answer = asked[:4] + b"\0\5" + asked[6:8] + b"\2\0\7"
                    writer.write(answer[:-2] if asked[6] == 1 else answer)
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        bus = PollBus(
            Bus("bench", "modbus-tcp", host="127.0.0.1", tcp_port=server.sockets[0].getsockname()[1]),
            [device(1, 100_000, 3), replace(device(2, 100_000, 3), warm_up_us=1)],  # its first answer alone is cold
            [channel("d1", 0, 200_000), channel("d2", 0, 200_000)],
            SystemClock(),
            (delivered := Deliveries()).deliver,
            profiles={"d1": profile(0), "d2": profile(0)},
            tell=delivered.notes.append,
        )
        async with polling(bus) as until:
            await until(lambda: len(delivered.of("d2-0")) >= 4)
            resets = bus.health().resets
        server.close()
        await asyncio.sleep(0.05)  # its connections see it
        assert resets
        assert {sample.value for sample in delivered.of("d2-0")} == {7}
        assert [s.quality is Quality.GOOD for s in delivered.of("d2-0")][:4] == [False, True, True, True]
        assert "port_down" not in delivered.told

    run(scenario)


def test_after_its_port_was_down_every_device_warms_up() -> None:
    """A power cut takes converter and probes together: what each says first when the port is back does not count."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        delivered = Deliveries()
        devices = [replace(device(unit, 100_000), warm_up_us=600_000) for unit in (1, 2)]
        channels = [channel(f"d{unit}", 0, 200_000) for unit in (1, 2)]
        bus = PollBus(
            over_tcp(server), devices, channels, SystemClock(), delivered.deliver,
            profiles={"d1": profile(0), "d2": profile(0)}, tell=delivered.notes.append, jitter=lambda: 0.0,
        )  # fmt: skip

        def last(unit: int) -> Sample:
            return delivered.of(f"d{unit}-0")[-1]

        async with polling(bus) as until:
            await until(lambda: bool(delivered.of("d1-0") and delivered.of("d2-0")))
            await until(lambda: last(1).quality is last(2).quality is Quality.GOOD)
            await server.kill()
            await until(lambda: last(1).fault is last(2).fault is Fault.BUS_DOWN)
            await server.start()
            await until(lambda: last(1).quality is last(2).quality is Quality.GOOD)
        await server.kill()
        assert delivered.told == ["port_down", "port_back"]
        for unit in (1, 2):
            samples = delivered.of(f"d{unit}-0")
            away = next(n for n, sample in enumerate(samples) if sample.value is None)
            back = [sample for sample in samples[away:] if sample.value is not None]
            cold = [sample for sample in back if sample.at.mono_us - back[0].at.mono_us < 600_000]
            assert len(cold) >= 2
            assert {(s.quality, s.note) for s in cold} == {(Quality.FAIL, "warm_up")}
            assert {s.quality for s in back[len(cold) :]} == {Quality.GOOD}

    run(scenario)


def test_a_connection_closed_for_idleness_warms_up_nobody() -> None:
    """With `close_when_idle` it is closed between any two polls, and no device was without power for that."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        delivered = Deliveries()
        bus = PollBus(
            replace(over_tcp(server), close_when_idle_us=20_000), [replace(device(1), warm_up_us=1)],
            [channel("d1", 0, 200_000)], SystemClock(), delivered.deliver, profiles={"d1": profile(0)},
        )  # fmt: skip
        async with polling(bus) as until:
            await until(lambda: len(delivered.of("d1-0")) >= 4)
        await server.kill()
        assert server.accepted >= 4
        assert [s.quality is Quality.GOOD for s in delivered.of("d1-0")][:4] == [False, True, True, True]

    run(scenario)


def test_nothing_is_delivered_faster_while_the_port_is_down() -> None:
    """A port that is not there is found so at the slots, however fast a rule wants the channel polled."""

    async def scenario() -> None:
        delivered = Deliveries()
        spec = replace(channel("d1", 0, 400_000), fast_poll_us=1000)
        bus = PollBus(
            Bus("bench", "modbus-rtu", port="/dev/absent"),
            [device(1)],
            [spec, channel("d1", 1, 400_000)],
            SystemClock(),
            delivered.deliver,
            profiles={"d1": profile(0, 1)},
        )
        bus.hasten({"d1-0"})
        async with polling(bus) as until:
            await until(lambda: len(delivered.calls) >= 4)
        stamps = [sample.at.mono_us for sample in delivered.of("d1-1")]
        assert stamps[-1] - stamps[0] > 2.5 * 400_000

    run(scenario)


def test_a_poll_in_between_that_meets_a_dead_port_speaks_for_its_own_channels() -> None:
    """The server dies in a poll between two slots: only the hastened channel gets a sample, and it is marked."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        delivered = Deliveries()
        bus = PollBus(
            over_tcp(server),
            [device(1, 2_000_000)],
            [channel("d1", 0, 3_000_000), channel("d1", 50, 3_000_000)],
            SystemClock(),
            delivered.deliver,
            profiles={"d1": profile(0, 50)},
        )
        async with polling(bus) as until:
            bus.hasten({"d1-0"})
            await until(lambda: bool(delivered.calls))
            server.devices.silent.add(1)
            asked = len(server.devices.log)
            await until(lambda: len(server.devices.log) > asked)  # between two slots
            await server.kill()
            await until(lambda: len(delivered.calls) >= 2)
        down = delivered.calls[1]
        assert [(s.channel, s.fault, s.between) for s in down] == [("d1-0", Fault.BUS_DOWN, True)]

    run(scenario)


def test_a_poll_in_between_that_is_not_wanted_any_more_is_not_made() -> None:
    """What was under way ends while the poll waits for the line: the device is not asked, and is not said to answer."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        delivered = Deliveries()
        bus = PollBus(
            serial(peer),
            [device(1)],
            [channel("d1", 0, 600_000)],
            SystemClock(),
            delivered.deliver,
            profiles={"d1": profile(0)},
        )
        holds = asyncio.Event()

        async def hold(_line: ModbusLine) -> None:
            await holds.wait()

        async with polling(bus) as until:
            bus.hasten({"d1-0"})
            await until(lambda: len(delivered.calls) == 1)
            holding = asyncio.create_task(bus.order("d1", hold))
            await asyncio.sleep(0.3)  # the first poll in between is due by now, and waits
            bus.hasten(())
            holds.set()
            await holding
            await asyncio.sleep(0.1)
            health = bus.health().devices[0]
            assert (health.polls, health.answered, len(peer.devices.log), len(delivered.calls)) == (1, 1, 1, 1)
        peer.close()

    run(scenario)


def test_a_device_with_two_periods_is_stuck_by_the_shorter_one() -> None:
    """Polls of a device stop whose other channel is polled once an hour: nobody waits four hours to see that."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        bus = PollBus(
            serial(peer),
            [device(1)],
            [channel("d1", 0, 20_000), channel("d1", 1, 3_600_000_000)],
            SystemClock(),
            (delivered := Deliveries()).deliver,
            profiles={"d1": profile(0, 1)},
            stuck_s=0.4,
        )

        async def never(_line: ModbusLine) -> None:
            await asyncio.Event().wait()

        async with polling(bus) as until:
            await until(lambda: len(delivered.calls) >= 3)
            stuck = asyncio.create_task(bus.order("d1", never))
            with pytest.raises(BusDown, match="no poll of d1 came to an end"):
                await until(lambda: False)
        stuck.cancel()
        await asyncio.wait([stuck])
        peer.close()

    run(scenario)


def test_a_register_in_the_hole_of_another_request_is_not_read() -> None:
    """A block that must be asked for whole stays without a number when it is silent, though a request ran across it."""

    async def scenario() -> None:
        class Blockless(Devices):
            """Silent when it is asked for the block itself."""

            def answer(self, body: bytes) -> bytes | None:
                return None if body[2:6] == b"\0\x0a\0\x04" else super().answer(body)

        points = {
            "r5": Point("r5", Register(3, 5, "u16"), "pH"),
            "r11": Point("r11", Register(3, 11, "u16"), "pH", block=(10, 4)),
            "r20": Point("r20", Register(3, 20, "u16"), "pH"),
        }
        known = Profile("made-up", "made-up", (), points, Limits(max_gap=20))
        peer = SerialDevices(Blockless())
        line = ModbusLine(serial(peer))
        poll = DevicePoll(device(1), known, [channel("d1", a, 1_000_000) for a in (5, 11, 20)], line)
        await line.open()
        readings = await poll.run(SystemClock().now(), DeviceState(device(1)))
        line.close()
        peer.close()
        assert [Read(3, asked.start, asked.count, ()) for asked in peer.devices.log] == [
            Read(3, 5, 16, ()),
            Read(3, 10, 4, ()),
        ]
        assert [(r.sample.value, r.sample.fault) for r in readings] == [(105, None), (None, Fault.SILENT), (120, None)]

    run(scenario)


def test_a_port_that_only_outputs_use_says_how_it_is() -> None:
    """No poll finds out about such a line: its opening and its orders do, and status says the same."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        await server.kill()
        delivered = Deliveries()
        bus = PollBus(over_tcp(server), [device(1)], [], SystemClock(), delivered.deliver, tell=delivered.notes.append)
        async with polling(bus) as until:
            await until(lambda: "port_down" in delivered.told)
            assert bus.health().state == "down"
            await server.start()
            await until(lambda: bus.line.connected)
            assert bus.health().state == "up"
            assert delivered.told == ["port_down", "port_back"]
            assert bus.health().devices[0].state == "unheard"
            assert await bus.order("d1", lambda line: line.read(1, 3, 0, 1, 1.0)) == (100,)
            assert bus.health().devices[0].state == "up"
            server.devices.silent.add(1)
            for _ in range(2):
                with pytest.raises(DeviceSilent):
                    await bus.order("d1", lambda line: line.read(1, 3, 0, 1, 0.05))
            assert bus.health().devices[0].state == "down"
            server.devices.silent.clear()
            await bus.order("d1", lambda line: line.read(1, 3, 0, 1, 1.0))
            assert bus.health().devices[0].state == "up"
        await server.kill()

    run(scenario)
