"""What a bus does when instruments, lines and servers misbehave: real ptys and sockets, judged by the far end's log."""

import asyncio
import logging
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.clock import ScaledClock, SystemClock
from gateway.drivers.bus import PollBus
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.quiet import character_gap_s
from gateway.errors import BusDown, ConfigError
from gateway.model import Fault, Quality
from gateway.site import Bus
from tests.support.polling import Deliveries, over_tcp, polling, run, serial
from tests.support.scripted_devices import Devices, SerialDevices, TcpDevices, channel, device, profile

PERIOD_US = 100_000


@pytest.mark.parametrize("baud", [9600, 19200, 115200])
def test_the_gap_before_every_request_is_kept(baud: int) -> None:
    """No request starts before 3.5 characters after the last answer, as the far end measures it."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        line = ModbusLine(serial(peer, baud))
        await line.open()
        for n in range(40):
            assert await line.read(1 + n % 2, 3, n, 10, 1.0) == tuple(
                range(n + 100 * (1 + n % 2), n + 10 + 100 * (1 + n % 2))
            )
        line.close()
        peer.close()
        waits = [asked.since_answer for asked in peer.devices.log[1:]]
        assert len(waits) == 39
        assert min(waits) / character_gap_s(baud) >= 1

    run(scenario)


async def stood_still(limit_s: float, tick_s: float = 0.01) -> None:
    """Ends when this machine did nothing at all for so long: then no schedule can be judged."""
    loop = asyncio.get_running_loop()
    before = loop.time()
    while True:
        await asyncio.sleep(tick_s)
        before, waited = loop.time(), loop.time() - before
        if waited > tick_s + limit_s:
            return


@pytest.mark.parametrize("jitter", [0.0, 0.9])
def test_one_dead_unit_among_five_costs_the_others_nearly_nothing(
    jitter: float, caplog: pytest.LogCaptureFixture
) -> None:
    """The healthy four keep nine polls of ten; the dead one is asked less and less, and its silence is still data."""

    async def scenario() -> bool:
        peer = SerialDevices(Devices(silent={3}))
        delivered = Deliveries()
        devices = [device(unit, 20_000 if unit == 3 else 500_000) for unit in range(1, 6)]
        channels = [channel(f"d{unit}", 0, PERIOD_US) for unit in range(1, 6)]
        known = {f"d{unit}": profile(0) for unit in range(1, 6)}
        bus = PollBus(
            serial(peer), devices, channels, SystemClock(), delivered.deliver, profiles=known, jitter=lambda: jitter
        )
        stall = asyncio.create_task(stood_still(0.03))
        async with polling(bus) as until:
            await until(lambda: len(delivered.of("d3-0")) >= 25 or stall.done())
            health = bus.health()
        peer.close()
        if stall.done():
            return False
        stall.cancel()
        await asyncio.wait([stall])

        slots = (peer.devices.log[-1].at - peer.devices.log[0].at) * 1e6 / PERIOD_US
        for unit in (1, 2, 4, 5):
            assert len(peer.devices.of(unit)) >= 0.9 * slots
            assert {sample.value for sample in delivered.of(f"d{unit}-0")} == {100 * unit}
        dead = [asked.at for asked in peer.devices.of(3)]
        waits = [later - earlier for earlier, later in pairwise(dead)]
        assert 3 <= len(dead) <= 7
        assert waits[-1] > 1.5 * waits[0]
        if not jitter:  # it takes up to half of a wait away, and slots are whole
            assert all(later > 1.5 * earlier for earlier, later in pairwise(waits))
        silent = delivered.of("d3-0")
        assert {(s.value, s.fault, s.quality) for s in silent} == {(None, Fault.SILENT, Quality.MISSING)}
        assert len(silent) >= 0.9 * slots
        counters = health.devices[2]
        assert counters.answered == 0
        assert len(dead) - 1 <= counters.timeouts <= counters.polls <= len(dead)  # one may just be under way
        assert health.connections == 1  # the silence of one closes the port for nobody
        return True

    with caplog.at_level(logging.DEBUG, "gateway"):
        if not any(asyncio.run(scenario()) for _ in range(8)):
            pytest.skip("this machine stands still too often to judge a schedule of tenths of seconds")
    told = [record for record in caplog.records if "device d3" in record.getMessage()]
    assert [record.levelname for record in told[:2]] == ["WARNING", "DEBUG"]


def test_a_unit_that_comes_back_is_polled_again(caplog: pytest.LogCaptureFixture) -> None:
    """After a silence the first answer counts again, and the log says how many polls had failed."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1}))
        delivered = Deliveries()
        bus = PollBus(
            serial(peer),
            [device(1, 60_000)],
            [channel("d1", 7, PERIOD_US)],
            SystemClock(),
            delivered.deliver,
            profiles={"d1": profile(7)},
        )
        async with polling(bus) as until:
            await until(lambda: len(peer.devices.log) >= 2)
            peer.devices.silent.clear()
            await until(lambda: any(sample.value is not None for sample in delivered.of("d1-7")))
        peer.close()
        assert {s.value for s in delivered.of("d1-7")} == {None, 107.0}

    with caplog.at_level(logging.INFO, "gateway"):
        run(scenario)
    assert "device d1 answers again after 2 failed polls" in caplog.text


def test_one_bad_register_fails_alone() -> None:
    """A request with an unknown register in it is split until that register stands alone, and stays split."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(missing={2}))
        delivered = Deliveries()
        channels = [channel("d1", address, PERIOD_US) for address in range(5)]
        bus = PollBus(
            serial(peer), [device(1)], channels, SystemClock(), delivered.deliver, profiles={"d1": profile(*range(5))}
        )
        async with polling(bus) as until:
            await until(lambda: len(delivered.calls) >= 2)
        peer.close()
        for samples in delivered.calls[:2]:
            assert [sample.value for sample in samples] == [100, 101, None, 103, 104]
            assert (samples[2].fault, samples[2].quality) == (Fault.NO_SUCH_REGISTER, Quality.FAIL)
            assert len({sample.at for sample in samples}) == 1
        asked = [(a.start, a.count) for a in peer.devices.log]
        assert asked[:5] == [(0, 5), (0, 2), (2, 3), (2, 1), (3, 2)]
        assert asked[5:8] == [(0, 2), (2, 1), (3, 2)]

    run(scenario)


def test_what_was_read_before_the_silence_counts() -> None:
    """A device that falls silent in the middle of a poll delivers what is whole by then, and silence for the rest."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent_from=10))
        channels = [channel("d1", 0, PERIOD_US), channel("d1", 20, PERIOD_US), channel("d1", 40, PERIOD_US)]
        known = {"d1": profile(0, 20, 40)}
        bus = PollBus(
            serial(peer), [device(1, retries=0)], channels, SystemClock(), Deliveries().deliver, profiles=known
        )
        readings = await bus.read_once()
        peer.close()
        assert [(r.sample.value, r.sample.fault) for r in readings] == [
            (100, None),
            (None, Fault.SILENT),
            (None, Fault.SILENT),
        ]
        assert [a.start for a in peer.devices.log] == [0, 20]

    run(scenario)


def test_a_busy_device_is_no_number_and_no_silence() -> None:
    """Exception 6 fails the channel of that device alone; it is not left alone for it."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(busy={1}))
        delivered = Deliveries()
        bus = PollBus(
            serial(peer),
            [device(1)],
            [channel("d1", 0, PERIOD_US)],
            SystemClock(),
            delivered.deliver,
            profiles={"d1": profile(0)},
        )
        async with polling(bus) as until:
            await until(lambda: len(delivered.calls) >= 5)
        peer.close()
        assert {(s.value, s.fault, s.quality) for s in delivered.of("d1-0")} == {
            (None, Fault.DEVICE_FAULT, Quality.FAIL)
        }
        assert len(peer.devices.log) >= 5

    run(scenario)


def test_a_server_killed_and_restarted_is_found_again() -> None:
    """While it is gone every slot says so; after every restart the polls go on, each time."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        delivered = Deliveries()
        clock = ScaledClock(20)
        bus = PollBus(
            over_tcp(server),
            [device(1)],
            [channel("d1", 0, 1_000_000)],
            clock,
            delivered.deliver,
            profiles={"d1": profile(0)},
        )
        async with polling(bus) as until:
            for _ in range(5):
                await until(lambda: bool(delivered.calls) and delivered.calls[-1][0].value == 100)
                await server.kill()
                await until(lambda: delivered.calls[-1][0].fault is Fault.BUS_DOWN)
                await server.start()
            await until(lambda: delivered.calls[-1][0].value == 100)
            assert bus.health().connections == 6
        await server.kill()
        assert {s.fault for s in delivered.of("d1-0")} <= {None, Fault.BUS_DOWN, Fault.SILENT}
        stamps = [sample.at.mono_us for sample in delivered.of("d1-0")]
        assert stamps == sorted(set(stamps))

    run(scenario)


def test_a_server_that_is_not_there_at_the_start() -> None:
    """The first connection that fails is tried again like any other, and until then silence is data."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        await server.kill()
        delivered = Deliveries()
        bus = PollBus(
            over_tcp(server),
            [device(1)],
            [channel("d1", 0, 1_000_000)],
            ScaledClock(20),
            delivered.deliver,
            profiles={"d1": profile(0)},
        )
        async with polling(bus) as until:
            await until(lambda: len(delivered.calls) >= 2)
            assert {sample.fault for sample in delivered.of("d1-0")} == {Fault.BUS_DOWN}
            await server.start()
            await until(lambda: delivered.calls[-1][0].value == 100)
        await server.kill()

    run(scenario)


def test_a_silent_server_is_called_anew() -> None:
    """A connection that stays open while nobody answers is closed and made again after a few requests."""

    async def scenario() -> None:
        server = TcpDevices(Devices(silent={1}))
        await server.start()
        line = ModbusLine(over_tcp(server))
        await line.open()
        for _ in range(5):
            with pytest.raises(Exception, match="did not answer"):
                await line.read(1, 3, 0, 1, 0.02)
        assert not line.connected
        with pytest.raises(BusDown):
            await line.read(1, 3, 0, 1, 0.02)
        await line.open()
        server.devices.silent.clear()
        assert await line.read(1, 3, 0, 1, 1.0) == (100,)
        line.close()
        await server.kill()
        assert server.accepted == 2

    run(scenario)


def test_an_adapter_pulled_out() -> None:
    """When the port vanishes under a running bus every channel says so, at every slot."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        delivered = Deliveries()
        channels = [channel("d1", 0, PERIOD_US), channel("d2", 0, PERIOD_US)]
        known = {"d1": profile(0), "d2": profile(0)}
        bus = PollBus(serial(peer), [device(1), device(2)], channels, SystemClock(), delivered.deliver, profiles=known)
        async with polling(bus) as until:
            await until(lambda: len(delivered.calls) >= 2)
            peer.close()
            await until(lambda: [s.fault for c in delivered.calls[-4:] for s in c] == [Fault.BUS_DOWN] * 4)
        assert {s.quality for s in delivered.calls[-1]} == {Quality.MISSING}

    run(scenario)


def test_missed_slots_are_counted_and_never_made_up_for() -> None:
    """A line slower than the schedule drops slots, evenly, and says how many."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1}))
        delivered = Deliveries()
        channels = [channel("d1", 0, 20_000), channel("d2", 0, 20_000)]
        known = {"d1": profile(0), "d2": profile(0)}
        bus = PollBus(
            serial(peer), [device(1, 100_000), device(2)], channels, SystemClock(), delivered.deliver, profiles=known
        )
        async with polling(bus) as until:
            await until(lambda: len(delivered.of("d2-0")) >= 20)
            health = bus.health()
        peer.close()
        stamps = [sample.at.mono_us for sample in delivered.of("d2-0")]
        passed = (stamps[-1] - delivered.calls[0][0].at.mono_us) // 20_000 + 1
        late = health.devices[1].missed_slots
        assert late >= 4  # the first timeout of the other device alone is five slots long
        assert len(stamps) + late == pytest.approx(passed, abs=2)
        assert health.missed_slots == sum(d.missed_slots for d in health.devices)

    run(scenario)


def test_reading_once_says_where_everything_came_from() -> None:
    """The technician's read gives number, raw register and wire address, and leaves the port closed."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        channels = [channel("d2", 5, PERIOD_US), channel("d1", 0, 5 * PERIOD_US), channel("d1", 1, PERIOD_US)]
        known = {"d1": profile(0, 1), "d2": profile(5)}
        bus = PollBus(
            serial(peer), [device(1), device(2)], channels, SystemClock(), Deliveries().deliver, profiles=known
        )
        readings = await bus.read_once()
        assert [r.sample.channel for r in readings] == ["d2-5", "d1-0", "d1-1"]
        assert [(r.sample.value, r.sample.raw, r.address) for r in readings] == [
            (205, (205,), 5),
            (100, (100,), 0),
            (101, (101,), 1),
        ]
        assert not bus.line.connected
        assert [r.sample.channel for r in await bus.read_once(["d1-1"])] == ["d1-1"]
        peer.close()

    run(scenario)


def test_a_port_that_is_absent_or_taken(tmp_path: Path) -> None:
    """The technician is told whether to plug the adapter in or to stop the other program."""

    async def scenario() -> None:
        absent = Bus("bench", "modbus-rtu", port=str(tmp_path / "ttyUSB0"))
        known = {"d1": profile(0)}
        bus = PollBus(
            absent, [device(1)], [channel("d1", 0, PERIOD_US)], SystemClock(), Deliveries().deliver, profiles=known
        )
        (reading,) = await bus.read_once()
        assert reading.sample.fault is Fault.BUS_DOWN
        assert "there is no port" in reading.note

        peer = SerialDevices(Devices())
        first, second = ModbusLine(serial(peer)), ModbusLine(serial(peer))
        await first.open()
        with pytest.raises(BusDown, match="is in use by another program"):
            await second.open()
        assert await first.read(1, 3, 0, 1, 1.0) == (100,)
        first.close()
        await second.open()
        second.close()
        peer.close()

    run(scenario)


def test_a_channel_whose_point_the_profile_does_not_have() -> None:
    """The mistake is named with the points there are, before anything is opened."""

    async def scenario() -> None:
        bus = PollBus(
            Bus("bench", "modbus-rtu", port="/dev/null"),
            [device(1)],
            [channel("d1", 9, PERIOD_US)],
            SystemClock(),
            Deliveries().deliver,
            profiles={"d1": profile(0)},
        )
        with pytest.raises(ConfigError, match=r"channels\.d1-9\.point: made-up has no point 'r9'; it has r0"):
            await bus.run()

    run(scenario)
