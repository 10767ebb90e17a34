"""Who is asked when on one line: waits that hold up nobody, gaps, ranks, orders. Real ptys, judged by the far end."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from gateway.clock import SystemClock
from gateway.drivers.bus import PollBus
from gateway.drivers.frames import crc16
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.quirks import Quirks, Trigger
from gateway.errors import BusDown, DeviceSilent
from gateway.model import Fault
from tests.support.polling import Deliveries, polling, run, serial
from tests.support.scripted_devices import Asked, Devices, SerialDevices, channel, device, profile

WAIT_US = 400_000
TRIGGER = Quirks(trigger=Trigger(6, 1, 31, WAIT_US), writable=frozenset({1}))


def test_a_device_that_measures_on_command_does_not_hold_the_line() -> None:
    """Between each trigger and its read the other device is polled; the slow one never has two polls under way."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        delivered = Deliveries()
        known = {"d1": replace(profile(5), quirks=TRIGGER), "d2": profile(0)}
        channels = [channel("d1", 5, WAIT_US // 4), channel("d2", 0, WAIT_US // 8)]
        bus = PollBus(
            serial(peer),
            [device(1), device(2)],
            channels,
            SystemClock(),
            delivered.deliver,
            profiles=known,
            alarm_channels={"d2-0"},  # its answer comes first, and shows that the adapter has no echo
        )
        async with polling(bus) as until:
            await until(lambda: len(delivered.of("d1-5")) >= 3)
            health = bus.health().devices[0]
        peer.close()
        slow = peer.devices.of(1)
        assert [asked.function for asked in slow[:6]] == [6, 3, 6, 3, 6, 3]
        for trigger, read in zip(slow[0:6:2], slow[1:6:2], strict=True):
            assert (read.at - trigger.at) * 1e6 >= WAIT_US
            assert sum(trigger.at < asked.at < read.at for asked in peer.devices.of(2)) >= 3
        assert {sample.value for sample in delivered.of("d1-5")} == {105}
        assert health.missed_slots >= 3 * 2  # four periods to a measurement: at most one of them is used
        assert not health.timeouts

    run(scenario)


def waits(asked: list[Asked]) -> list[float]:
    """Seconds from each request to the next; these instruments answer at once."""
    return [later.at - earlier.at for earlier, later in pairwise(asked)]


def test_a_slow_device_gets_its_gap_and_the_others_go_on_meanwhile() -> None:
    """Two requests to a device lie at least its gap apart, and in the gap another device is asked."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        delivered = Deliveries()
        known = {"d1": profile(0, 1, 2, max_registers=1), "d2": profile(0)}
        channels = [*(channel("d1", address, 700_000) for address in range(3)), channel("d2", 0, 20_000)]
        devices = [replace(device(1), gap_us=100_000), device(2)]
        bus = PollBus(serial(peer), devices, channels, SystemClock(), delivered.deliver, profiles=known)
        async with polling(bus) as until:
            await until(lambda: len(peer.devices.of(1)) >= 6)
        peer.close()
        slow = peer.devices.of(1)[:6]
        assert min(waits(slow)) >= 0.1
        for earlier, later in pairwise(slow[:3]):
            assert any(earlier.at < asked.at < later.at for asked in peer.devices.of(2))

    run(scenario)


def test_after_a_silence_nobody_is_asked_within_the_gap_of_the_silent_device() -> None:
    """Others on the line have heard the request that nobody answered, and may take the next one for the answer."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1}))
        delivered = Deliveries()
        devices = [replace(device(1, 200_000), gap_us=150_000), device(2)]
        channels = [channel("d1", 0, 60_000_000), channel("d2", 0, 20_000)]
        known = {"d1": profile(0), "d2": profile(0)}
        bus = PollBus(
            serial(peer), devices, channels, SystemClock(), delivered.deliver, profiles=known, alarm_channels={"d1-0"}
        )
        async with polling(bus) as until:
            await until(lambda: len(peer.devices.of(2)) >= 3)
        peer.close()
        dead, after, *_ = peer.devices.log
        assert (dead.unit, after.unit) == (1, 2)
        assert after.at - dead.at >= 0.2 + 0.15

    run(scenario)


def test_channels_that_bear_an_alarm_are_asked_first() -> None:
    """All are due at the start; the one that a rule judges is asked first, whatever the order in the site file."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        devices = [device(unit) for unit in range(1, 6)]
        channels = [channel(f"d{unit}", 0, 500_000) for unit in range(1, 6)]
        known = {f"d{unit}": profile(0) for unit in range(1, 6)}
        bus = PollBus(
            serial(peer),
            devices,
            channels,
            SystemClock(),
            Deliveries().deliver,
            profiles=known,
            alarm_channels={"d4-0", "d3-0"},
        )
        async with polling(bus) as until:
            await until(lambda: len(peer.devices.log) >= 5)
        peer.close()
        units = [asked.unit for asked in peer.devices.log[:5]]
        assert set(units[:2]) == {3, 4}
        assert set(units[2:]) == {1, 2, 5}

    run(scenario)


def test_an_order_goes_before_every_poll_that_waits() -> None:
    """While a silent device has the line three polls come due; the order that comes last is carried out first."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1}))
        devices = [device(unit, 300_000) for unit in range(1, 5)]
        channels = [channel("d1", 0, 60_000_000), *(channel(f"d{unit}", 0, 60_000_000) for unit in (2, 3, 4))]
        known = {f"d{unit}": profile(0) for unit in range(1, 5)}
        bus = PollBus(
            serial(peer),
            devices,
            channels,
            SystemClock(),
            Deliveries().deliver,
            profiles=known,
            alarm_channels={"d1-0"},
        )

        async def horn(line: ModbusLine) -> str:
            await line.command(4, bytes((6, 0, 9, 0, 1)), 1.0)
            return "on"

        async with polling(bus) as until:
            await until(lambda: len(peer.devices.log) >= 1)
            assert await bus.order("d4", horn) == "on"
            await until(lambda: len(peer.devices.log) >= 5)
        peer.close()
        assert [(asked.unit, asked.function) for asked in peer.devices.log[:2]] == [(1, 3), (4, 6)]
        assert {(asked.unit, asked.function) for asked in peer.devices.log[2:5]} == {(2, 3), (3, 3), (4, 3)}

    run(scenario)


def test_an_order_tells_its_maker_what_became_of_it() -> None:
    """A device that does not confirm is silent to whoever gave the order; on a closed port nothing is sent."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1}))
        channels, known = [channel("d2", 0, 60_000_000)], {"d2": profile(0)}
        bus = PollBus(
            serial(peer), [device(1), device(2)], channels, SystemClock(), Deliveries().deliver, profiles=known
        )

        async def horn(line: ModbusLine) -> None:
            await line.command(1, bytes((6, 0, 9, 0, 1)), 0.05)

        with pytest.raises(BusDown, match="is not open"):
            await bus.order("d1", horn)
        async with polling(bus) as until:
            await until(lambda: bus.health().devices[1].answered == 1)
            with pytest.raises(DeviceSilent):
                await bus.order("d1", horn)
        peer.close()
        assert [asked.unit for asked in peer.devices.log] == [2, 1]

    run(scenario)


class SlowDevices(SerialDevices):
    """Devices that think for 20 ms before they answer; `overlaps` counts requests that came while one did."""

    overlaps = 0
    _thinking = False

    def _readable(self) -> None:
        self._buffer += os.read(self.master, 4096)
        while len(self._buffer) >= 8:
            frame, self._buffer = self._buffer[:8], self._buffer[8:]
            self.overlaps += self._thinking
            self._thinking = True
            self.devices.log.append(Asked(self._loop.time(), 0.0, frame[0], frame[1], 0, 0))
            self._loop.call_later(0.02, self._answer, frame)

    def _answer(self, frame: bytes) -> None:
        self._thinking = False
        body = self.devices.answer(frame[:-2])
        assert body is not None
        os.write(self.master, body + crc16(body))


def test_there_is_one_request_on_the_line_whoever_wants_it() -> None:
    """Polls of three devices and orders to them all at once: none is sent before the one before it was answered."""

    async def scenario() -> None:
        peer = SlowDevices(Devices())
        devices = [device(unit, 500_000) for unit in (1, 2, 3)]
        channels = [channel(f"d{unit}", 0, 10_000) for unit in (1, 2, 3)]
        known = {f"d{unit}": profile(0) for unit in (1, 2, 3)}
        bus = PollBus(serial(peer), devices, channels, SystemClock(), Deliveries().deliver, profiles=known)

        def horn(unit: int) -> Callable[[ModbusLine], Awaitable[None]]:
            return lambda line: line.command(unit, bytes((6, 0, 9, 0, 1)), 1.0)

        async with polling(bus) as until:
            await until(lambda: len(peer.devices.log) >= 3)
            await asyncio.gather(*(bus.order(f"d{unit}", horn(unit)) for unit in (1, 2, 3) for _ in range(3)))
            await until(lambda: len(peer.devices.log) >= 30)
            health = bus.health()
        peer.close()
        orders = [place for place, asked in enumerate(peer.devices.log) if asked.function == 6]
        assert len(orders) == 9
        polls_between = sum(a.function == 3 for a in peer.devices.log[orders[0] : orders[-1]])
        assert 2 <= polls_between <= 4  # every fourth turn is somebody's who waits: orders starve nobody
        assert peer.overlaps == 0
        assert not any(d.timeouts or d.desyncs for d in health.devices)

    run(scenario)


def test_orders_that_nobody_carries_out_are_refused_in_the_end() -> None:
    """Sixteen wait at most; the next one is told so at once and may be made again."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        bus = PollBus(serial(peer), [device(1)], [], SystemClock(), Deliveries().deliver, profiles={"d1": profile(0)})

        async def never(_line: ModbusLine) -> None:
            await asyncio.Event().wait()

        waiting = [asyncio.create_task(bus.order("d1", never)) for _ in range(16)]
        await asyncio.sleep(0)
        with pytest.raises(BusDown, match="16 orders wait already"):
            await bus.order("d1", never)
        for task in waiting:
            task.cancel()
        await asyncio.wait(waiting)
        peer.close()

    run(scenario)


def test_a_port_whose_polls_stop_is_opened_afresh_although_every_task_lives() -> None:
    """Something keeps the line for itself and no task falls over: the bus gives itself up, and its next run polls."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        delivered = Deliveries()
        bus = PollBus(
            serial(peer),
            [device(1)],
            [channel("d1", 0, 20_000)],
            SystemClock(),
            delivered.deliver,
            profiles={"d1": profile(0)},
            tell=delivered.notes.append,
            stuck_s=0.4,
        )

        async def never(_line: ModbusLine) -> None:
            await asyncio.Event().wait()

        async with polling(bus) as until:
            await until(lambda: len(delivered.calls) >= 2)
            stuck = asyncio.create_task(bus.order("d1", never))
            behind = asyncio.create_task(bus.order("d1", never))
            with pytest.raises(BusDown, match=r"no poll of d1 came to an end for .*: opening .* afresh"):
                await until(lambda: False)
        assert not bus.line.connected
        with pytest.raises(BusDown, match="bus bench was closed"):
            await behind
        before = len(delivered.calls)
        async with polling(bus) as until:
            await until(lambda: any(sample.value == 100 for call in delivered.calls[before:] for sample in call))
        stuck.cancel()
        await asyncio.wait([stuck])
        peer.close()
        assert delivered.told == ["port_down", "port_back"]
        assert {sample.fault for sample in delivered.of("d1-0")} <= {None, Fault.BUS_DOWN}

    run(scenario)


def test_a_port_whose_opening_was_given_up_can_be_opened() -> None:
    """However far the opening had come when it was cancelled, nothing keeps the port."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        for steps in range(12):
            line = ModbusLine(serial(peer))
            opening = asyncio.create_task(line.open())
            for _ in range(steps):
                await asyncio.sleep(0)
            opening.cancel()
            await asyncio.wait([opening])
            line.close()
            await line.open()
            assert await line.read(1, 3, 0, 1, 1.0) == (100,)
            line.close()
        peer.close()

    run(scenario)
