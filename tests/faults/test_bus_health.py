"""What a bus tells of its port and devices, and what it makes of a device that was away. Real ptys and sockets."""

import json
import logging
from dataclasses import asdict, replace
from itertools import pairwise

import pytest

from gateway.clock import ScaledClock, SystemClock
from gateway.drivers.bus import PollBus
from gateway.drivers.device_state import DeviceState
from gateway.drivers.health import Latencies
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.poll import DevicePoll
from gateway.drivers.quirks import Quirks
from gateway.drivers.timetable import Entry
from gateway.model import Fault, Quality
from gateway.signals.qc import Evidence, QualityControl, evidence
from gateway.site import Bus
from tests.support.polling import Deliveries, over_tcp, polling, run, serial
from tests.support.scripted_devices import Devices, SerialDevices, TcpDevices, channel, device, profile

PERIOD_US = 100_000


def test_a_device_is_down_once_and_back_once_however_many_polls_fail(caplog: pytest.LogCaptureFixture) -> None:
    """The second failed poll makes it down, with why; its first answer brings it back, with how long; nothing else."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1}))
        delivered = Deliveries()
        known = {"d1": profile(0), "d2": profile(0)}
        channels = [channel("d1", 0, PERIOD_US), channel("d2", 0, PERIOD_US)]
        bus = PollBus(
            serial(peer),
            [device(1, 60_000), device(2)],
            channels,
            SystemClock(),
            delivered.deliver,
            profiles=known,
            tell=delivered.notes.append,
            jitter=lambda: 1.0,
        )
        async with polling(bus) as until:
            await until(lambda: bus.health().devices[0].failures >= 3)
            sick, sound = bus.health().devices
            assert (sick.state, sick.why) == ("down", "unit 1 did not answer within 0.06 s")
            assert sick.backing_off
            assert (sick.heard_s, sound.state, sound.why, sound.down_s) == (None, "up", "", None)
            peer.devices.silent.clear()
            await until(lambda: delivered.told[-1:] == ["device_back"])
            sick, sound = bus.health().devices
            assert (sick.state, sick.why, sick.down_s, sick.failures) == ("up", "", None, 0)
        peer.close()
        down, back = delivered.notes
        assert (down.kind, back.kind) == ("device_down", "device_back")
        assert down.body["why"] == "unit 1 did not answer within 0.06 s"
        assert {key: down.body[key] for key in ("bus", "device", "unit")} == {"bus": "bench", "device": "d1", "unit": 1}
        gone_s = (back.at.mono_us - down.at.mono_us) / 1e6
        assert back.body["down_s"] == pytest.approx(gone_s + down.body["silent_s"], abs=0.11)  # rounded to tenths
        first = next(s.at for s in delivered.of("d1-0") if s.value is not None)
        assert down.at.mono_us < first.mono_us <= back.at.mono_us

    with caplog.at_level(logging.WARNING, "gateway"):
        run(scenario)
    assert sum("device d1" in record.getMessage() for record in caplog.records) == 1


def test_the_silent_devices_of_a_line_share_a_twentieth_of_its_time() -> None:
    """Three are dead: asked twice each, one in a period; then no two questions to any are closer than 20 time-outs."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1, 2, 3}))
        delivered = Deliveries()
        units = (1, 2, 3, 4)
        known = {f"d{unit}": profile(0) for unit in units}
        channels = [channel(f"d{unit}", 0, PERIOD_US) for unit in units]
        devices = [device(unit, 40_000) for unit in units]
        bus = PollBus(
            serial(peer), devices, channels, SystemClock(), delivered.deliver, profiles=known, jitter=lambda: 1.0
        )
        async with polling(bus) as until:
            await until(lambda: sum(asked.unit != 4 for asked in peer.devices.log) >= 9)
        peer.close()
        dead = [asked for asked in peer.devices.log if asked.unit != 4]
        assert {asked.unit for asked in dead[:3]} == {1, 2, 3}
        assert {asked.unit for asked in dead[3:6]} == {1, 2, 3}
        assert min(later.at - earlier.at for earlier, later in pairwise(dead[3:6])) >= 0.5 * PERIOD_US / 1e6
        assert min(later.at - earlier.at for earlier, later in pairwise(dead[5:])) >= 20 * 0.04
        assert {asked.unit for asked in dead[6:9]} == {1, 2, 3}  # each in its turn

    run(scenario)


def test_a_device_that_missed_one_answer_does_not_stand_in_line_with_the_dead() -> None:
    """Its next slot is its own, however many silent ones wait for their turn to be asked again."""

    async def scenario() -> None:
        peer = SerialDevices(Devices(silent={1, 2, 3}))
        delivered = Deliveries()
        units = (1, 2, 3, 4)
        known = {f"d{unit}": profile(0) for unit in units}
        channels = [channel(f"d{unit}", 0, 2 * PERIOD_US) for unit in units]
        devices = [device(unit, 40_000) for unit in units]
        bus = PollBus(serial(peer), devices, channels, SystemClock(), delivered.deliver, profiles=known)
        async with polling(bus) as until:
            await until(lambda: len(delivered.of("d4-0")) >= 5)
            peer.devices.silent.add(4)
            await until(lambda: delivered.of("d4-0")[-1].fault is Fault.SILENT)
            peer.devices.silent.discard(4)
            missed = len(delivered.of("d4-0"))
            await until(lambda: len(delivered.of("d4-0")) > missed)
        peer.close()
        assert delivered.of("d4-0")[missed].value == 400

    run(scenario)


def test_one_lost_answer_is_no_news() -> None:
    """A single failed poll leaves a missing sample and its count, and nobody is told that the device is down."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        delivered = Deliveries()
        bus = PollBus(
            serial(peer),
            [device(1, 60_000)],
            [channel("d1", 0, 2 * PERIOD_US)],
            SystemClock(),
            delivered.deliver,
            profiles={"d1": profile(0)},
            tell=delivered.notes.append,
        )
        async with polling(bus) as until:
            await until(lambda: len(delivered.calls) >= 1)
            peer.devices.silent.add(1)
            await until(lambda: delivered.calls[-1][0].fault is Fault.SILENT)
            peer.devices.silent.clear()
            await until(lambda: delivered.calls[-1][0].value == 100)
            health = bus.health().devices[0]
        peer.close()
        assert (health.timeouts, health.state, delivered.notes) == (1, "up", [])

    run(scenario)


def test_a_port_is_down_apart_from_its_devices() -> None:
    """A server that is gone is one note, not one for each device; so is its return, when data comes and not before."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        delivered = Deliveries()
        channels = [channel(f"d{unit}", 0, 1_000_000) for unit in (1, 2, 3)]
        known = {f"d{unit}": profile(0) for unit in (1, 2, 3)}
        bus = PollBus(
            over_tcp(server),
            [device(1), device(2), device(3)],
            channels,
            ScaledClock(20),
            delivered.deliver,
            profiles=known,
            tell=delivered.notes.append,
        )
        async with polling(bus) as until:
            await until(lambda: len(delivered.calls) >= 3)
            await server.kill()
            await until(lambda: [s.fault for c in delivered.calls[-6:] for s in c] == [Fault.BUS_DOWN] * 6)
            health = bus.health()
            assert (health.state, health.connected) == ("down", False)
            assert health.why
            assert health.down_s is not None
            assert {d.state for d in health.devices} == {"port down"}
            await server.start()
            await until(lambda: delivered.calls[-1][0].value is not None)
            health = bus.health()
            assert (health.state, health.why, health.down_s) == ("up", "", None)
        await server.kill()
        assert delivered.told == ["port_down", "port_back"]
        assert delivered.notes[0].body["where"] == f"127.0.0.1:{server.port}"
        assert delivered.notes[1].body["down_s"] > 0
        json.dumps(asdict(health), allow_nan=False)

    run(scenario)


def test_after_a_silence_a_device_warms_up() -> None:
    """At first contact, and again after it was down, its values are kept, flagged, and do not count; then they do."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        delivered = Deliveries()
        warm = replace(device(1, 60_000), warm_up_us=4 * PERIOD_US)
        spec = channel("d1", 7, PERIOD_US)
        bus = PollBus(serial(peer), [warm], [spec], SystemClock(), delivered.deliver, profiles={"d1": profile(7)})
        control = QualityControl(spec)

        def counts() -> list[bool | None]:
            return [None if s.value is None else s.quality is Quality.GOOD for s in delivered.of("d1-7")]

        async with polling(bus) as until:
            await until(lambda: len(counts()) >= 1)
            assert bus.health().devices[0].state == "warming up"
            await until(lambda: counts()[-1] is True)
            assert bus.health().devices[0].state == "up"
            peer.devices.silent.add(1)
            await until(lambda: counts()[-3:] == [None] * 3)
            peer.devices.silent.clear()
            before = len(counts())
            await until(lambda: counts()[-1] is True and len(counts()) > before)
        peer.close()
        said = counts()
        away = said.index(None)
        back = next(n for n in range(away, len(said)) if said[n] is not None)
        stamps = [sample.at.mono_us for sample in delivered.of("d1-7")]
        for start, end in ((0, away), (back, len(said))):
            assert said[start] is False
            for stamp, counted in zip(stamps[start:end], said[start:end], strict=True):
                assert counted is (stamp - stamps[start] >= 4 * PERIOD_US)
        readings = [control.assess(sample) for sample in delivered.of("d1-7")]
        assert {(r.value, r.tests, evidence(r)) for r, ok in zip(readings, said, strict=True) if ok is False} == {
            (107.0, ("warm_up",), Evidence.VOID)
        }
        assert {s.note for s, ok in zip(delivered.of("d1-7"), said, strict=True) if ok is False} == {"warm_up"}

    run(scenario)


def test_reading_by_hand_is_not_kept_waiting_by_a_warm_up() -> None:
    """The technician sees the value as it is: whoever looks at the display can tell."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        warm = replace(device(1), warm_up_us=60_000_000)
        bus = PollBus(
            serial(peer), [warm], [channel("d1", 7, PERIOD_US)], SystemClock(), Deliveries().deliver,
            profiles={"d1": profile(7)},
        )  # fmt: skip
        (reading,) = await bus.read_once()
        peer.close()
        assert (reading.sample.value, reading.sample.quality, reading.note) == (107.0, Quality.GOOD, "")

    run(scenario)


def test_only_what_a_rule_has_under_way_is_polled_faster() -> None:
    """The hastened channel alone is asked between its slots, and marked; everyone keeps their slots; then as ever."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        delivered = Deliveries()
        known = {"d1": profile(0, 50), "d2": profile(0)}
        channels = [channel("d1", 0, 3 * PERIOD_US), channel("d1", 50, 3 * PERIOD_US), channel("d2", 0, PERIOD_US)]
        bus = PollBus(serial(peer), [device(1), device(2)], channels, SystemClock(), delivered.deliver, profiles=known)

        def count(name: str, *, between: bool) -> int:
            return sum(sample.between is between for sample in delivered.of(name))

        async with polling(bus) as until:
            await until(lambda: count("d1-0", between=False) >= 3)
            assert not any(sample.between for call in delivered.calls for sample in call)
            bus.hasten({"d1-0"})
            asked = len(peer.devices.of(1))
            start = count("d1-0", between=False)
            await until(lambda: count("d1-0", between=False) >= start + 6)
            assert bus.health().devices[0].fast
            fast = peer.devices.of(1)[asked:]
            extra = count("d1-0", between=True)
            bus.hasten(())
            await until(lambda: count("d1-0", between=False) >= start + 8)
            ended = count("d1-0", between=True)
            await until(lambda: count("d1-0", between=False) >= start + 10)
            health = bus.health()
        peer.close()
        assert extra >= 5 * 2 * 0.8  # two in each of the five whole periods, but for those a busy machine missed
        assert count("d1-50", between=True) == 0
        assert sum(a.start == 0 for a in fast) > sum(a.start == 50 for a in fast)
        assert count("d1-0", between=True) == ended  # the first new period may still have had its own
        assert not health.devices[0].fast
        stamps = [sample.at.mono_us for sample in delivered.of("d1-0")]
        assert stamps == sorted(set(stamps))
        slots = (delivered.of("d2-0")[-1].at.mono_us - delivered.of("d2-0")[0].at.mono_us) / PERIOD_US
        assert len(delivered.of("d2-0")) >= 0.9 * slots

    run(scenario)


@pytest.mark.parametrize(("refresh_us", "next_us"), [(16, 30), (15, 15), (11, 15), (10, 10), (None, 10)])
def test_nothing_is_asked_faster_than_it_renews_its_values(refresh_us: int | None, next_us: int) -> None:
    """Of a poll of 30: a refresh over half of it leaves no room, one of 11 room for one poll, of 10 for two."""
    known = replace(profile(0), quirks=Quirks(refresh_us=refresh_us))
    spec = replace(channel("d1", 0, 30), fast_poll_us=1 if refresh_us else None)
    poll = DevicePoll(device(1), known, [spec], ModbusLine(Bus("bench", "modbus-rtu")))
    entry = Entry.of(poll, DeviceState(device(1)), ())
    entry.start(0)
    entry.slots, _ = entry.slots.taken(0)
    entry.hasten({"d1-0"})
    assert entry.due_us == next_us


def test_a_full_line_has_no_time_for_more() -> None:
    """While everyone's slots fill the line, nothing is polled in between, and nobody misses more for it."""

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        delivered = Deliveries()
        units = range(1, 9)
        known = {f"d{unit}": profile(0, max_registers=1) for unit in units}
        devices = [device(unit) for unit in units]
        channels = [channel(f"d{unit}", 0, 6_000) for unit in units]
        bus = PollBus(serial(peer, 9600), devices, channels, SystemClock(), delivered.deliver, profiles=known)
        async with polling(bus) as until:
            bus.hasten({channel.name for channel in channels})
            await until(lambda: len(delivered.calls) >= 200)
            health = bus.health()
        peer.close()
        assert health.missed_slots > 100  # eight requests of 4 ms at least, every 6 ms, are more than it carries
        assert sum(sample.between for call in delivered.calls for sample in call) <= 2
        counts = [len(delivered.of(channel.name)) for channel in channels]
        assert max(counts) <= 1.3 * min(counts)  # and it is shared evenly

    run(scenario)


def test_percentiles_are_by_nearest_rank_and_memory_is_bounded() -> None:
    """Of 1 to 100 ms the 50th, 95th and 99th; of more than 512 answers only the latest are remembered."""
    latencies = Latencies()
    assert latencies.percentiles_us() == (0, 0, 0)
    for millisecond in range(100, 0, -1):
        latencies.add(millisecond * 1000)
    assert latencies.percentiles_us() == (50_000, 95_000, 99_000)
    assert (latencies.latest_us, latencies.slowest_us) == (1_000, 100_000)
    for _ in range(512):
        latencies.add(7)
    assert latencies.percentiles_us() == (7, 7, 7)
    assert latencies.slowest_us == 100_000


def test_a_server_killed_a_hundred_times_is_found_again_every_time() -> None:
    """Each time the polls go on, and no time is it called more often than the pauses allow."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        delivered = Deliveries()
        clock = ScaledClock(200)
        bus = PollBus(
            over_tcp(server),
            [device(1)],
            [channel("d1", 0, 1_000_000)],
            clock,
            delivered.deliver,
            profiles={"d1": profile(0)},
            tell=delivered.notes.append,
        )
        async with polling(bus) as until:
            for _ in range(100):
                await until(lambda: bool(delivered.calls) and delivered.calls[-1][0].value == 100)
                await server.kill()
                await until(lambda: delivered.calls[-1][0].fault is Fault.BUS_DOWN)
                await server.start()
            await until(lambda: delivered.calls[-1][0].value == 100)
            health = bus.health()
        await server.kill()
        assert health.connections == server.accepted == 101
        assert delivered.told == ["port_down", "port_back"] * 100

    run(scenario)


def test_a_server_that_is_not_there_is_not_called_without_a_pause(caplog: pytest.LogCaptureFixture) -> None:
    """Half a second at least lies between two attempts, growing to a minute: in ten virtual minutes a few dozen."""

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        await server.kill()
        delivered = Deliveries()
        clock = ScaledClock(1000)
        bus = PollBus(
            over_tcp(server), [device(1)], [channel("d1", 0, 10_000_000)], clock, delivered.deliver,
            profiles={"d1": profile(0)}, jitter=lambda: 1.0, tell=delivered.notes.append,
        )  # fmt: skip
        start = clock.now().mono_us
        async with polling(bus) as until:
            await until(lambda: clock.now().mono_us - start >= 600_000_000)
        assert delivered.told == ["port_down"]

    with caplog.at_level(logging.DEBUG, "gateway"):
        run(scenario)
    attempts = sum("refuses the connection" in record.getMessage() for record in caplog.records)
    # Halved waits of 1, 2, 4 .. 32, then 30 s each: six attempts in the first half minute, then two a minute.
    assert 5 <= attempts <= 6 + 2 * 11
