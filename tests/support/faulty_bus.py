"""One random fault script against a whole bus: a value of the wrong unit, register or time is recognised by itself.

Every register of the far end holds its unit, its address and the number of the request it answers, so that a stored
value tells where and when it came from::

    u u u a a a a a g g g g g g g g      unit, address, generation: the how-manieth request this unit has seen, mod 256

Run one seed again with `python -m tests.support.faulty_bus SEED [KIND]`; it prints the script and what came of it.
"""

import asyncio
import logging
import os
import sys
import tty
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from gateway.clock import ScaledClock
from gateway.drivers.bus import PollBus
from gateway.drivers.profile import Limits, Point, Profile, Register
from gateway.model import Instant, Sample
from gateway.site import Bus, Channel, Device
from simulators.fault_script import Fault, random_faults
from simulators.faults import FaultyLink, Script
from simulators.framing import FRAMINGS

UNITS = (1, 2)
ADDRESSES = {"a": (0, 1), "b": (1, 1), "c": (10, 2)}  # point: first register, how many
TIMEOUT_S = 0.06
LONGEST_S = 0.08  # late, and less than twice the timeout: what the gateway promises to see through on a serial line
STALL_S = 0.02  # a machine that stands still for longer makes answers later than that
FRAMES = 8
SPEED = 150.0  # so that pauses of seconds between tries pass in a test; device timeouts run in real time
PERIOD_US = 20_000_000
BEAT_S = 0.025
PATIENCE_S = 60.0  # a script takes about a second; one that takes so long hangs


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of bus with the framing the far end speaks."""

    bus: str
    framing: str

    @property
    def serial(self) -> bool:
        """Whether the gateway opens a port and not a connection."""
        return self.bus in {"modbus-rtu", "modbus-ascii"}


RTU, ASCII = Kind("modbus-rtu", "rtu"), Kind("modbus-ascii", "ascii")
TCP, RTU_OVER_TCP = Kind("modbus-tcp", "tcp"), Kind("modbus-rtu-over-tcp", "rtu")
KINDS = (RTU, ASCII, TCP, RTU_OVER_TCP)

# Ten thousand seeds, shared out among the test files that run side by side.
SEEDS = {RTU: range(4_000), ASCII: range(4_000, 5_000), TCP: range(5_000, 8_300), RTU_OVER_TCP: range(8_300, 9_800)}
JOURNAL_SEEDS = range(9_800, 10_000)


@dataclass(slots=True)
class Told:
    """What came of one script."""

    seed: int
    kind: Kind
    faults: tuple[Fault, ...]
    far: "FarEnd"
    wrong: list[str] = field(default_factory=list)
    right: int = 0
    without_number: int = 0
    applied: int = 0
    stalled_s: float = 0.0  # the longest this machine stood still meanwhile

    @property
    def report(self) -> str:
        """For the one who has to find out."""
        counts = f"{self.right} values right, {self.without_number} faults told"
        lines = [f"seed {self.seed} on {self.kind.bus}: {counts}, stood still for {self.stalled_s:.3f} s"]
        lines += [f"  {fault}" for fault in self.faults]
        lines += [f"  WRONG {text}" for text in self.wrong]
        again = f"python -m tests.support.faulty_bus {self.seed} {self.kind.bus}"
        return "\n".join([*lines, f"  run it again with: {again}"])


class FarEnd:
    """The devices of one line; it remembers when each unit answered its nth request."""

    def __init__(self, kind: Kind, now_us: Callable[[], int], units: Sequence[int] = UNITS) -> None:
        self._framing = FRAMINGS[kind.framing]
        self._now_us = now_us
        self.asked_us: dict[int, dict[int, int]] = {unit: {} for unit in units}
        self._count: Counter[int] = Counter()

    def answer(self, data: bytes) -> bytes:
        """The answer to what came in one piece; nothing when that was no sound request to a unit here."""
        if self._framing.first(data, answer=False) != len(data) or not data:
            return b""
        body = self._framing.body(data)
        unit, function = body[0], body[1]
        if unit not in self.asked_us or len(body) != 6 or function not in {3, 4}:
            return b""
        generation = self._count[unit] = (self._count[unit] + 1) % 256
        self.asked_us[unit][generation] = self._now_us()
        start, count = int.from_bytes(body[2:4], "big"), int.from_bytes(body[4:6], "big")
        words = [word_of(unit, address, generation) for address in range(start, start + count)]
        content = bytes((unit, function, 2 * count)) + b"".join(word.to_bytes(2, "big") for word in words)
        return self._framing.frame(content, data)

    def judge(self, sample: Sample) -> str:
        """What is wrong with a value; empty when it is of this unit, this register and this poll."""
        unit, point = int(sample.channel[1]), sample.channel[3]
        start, count = ADDRESSES[point]
        assert sample.value is not None
        number = int(sample.value)
        words = [number >> 16 * (count - 1 - place) & 0xFFFF for place in range(count)]
        generations = {word & 0xFF for word in words}
        for place, word in enumerate(words):
            if word_of(unit, start + place, word & 0xFF) != word:
                return f"{sample.channel}: {word:04x} is unit {word >> 13}, register {word >> 8 & 31}"
        if len(generations) != 1:
            return f"{sample.channel}: made of the requests {sorted(generations)}"
        asked_us = self.asked_us[unit].get(generations.pop(), -1)
        if asked_us < sample.at.mono_us:
            return f"{sample.channel}: {(sample.at.mono_us - asked_us) / 1e6 / SPEED:.3f} s older than its own poll"
        return ""


def word_of(unit: int, address: int, generation: int) -> int:
    """What that register holds at that request."""
    return unit << 13 | (address & 31) << 8 | generation


class FaultyPort:
    """A real pty whose far end is a faulty link with devices behind it."""

    def __init__(self, name: str, kind: Kind, script: Script, far: FarEnd) -> None:
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self._loop = asyncio.get_running_loop()
        self.bus = Bus(name, kind.bus, port=os.ttyname(self._slave), baud=115200)
        self._link = FaultyLink(FRAMINGS[kind.framing], script, self._write, self._ask)
        self._far = far
        self._loop.add_reader(self._master, self._readable)

    async def close(self) -> None:
        """Pull the plug."""
        self._link.close()
        self._loop.remove_reader(self._master)
        os.close(self._master)
        os.close(self._slave)

    def _readable(self) -> None:
        with suppress(BlockingIOError):
            self._link.from_gateway(os.read(self._master, 4096))

    def _write(self, data: bytes) -> None:
        with suppress(BlockingIOError):
            os.write(self._master, data)

    def _ask(self, data: bytes) -> None:
        if answer := self._far.answer(data):
            self._link.from_device(answer)


class FaultyServer(asyncio.Protocol):
    """One real connection with a faulty link and devices behind it."""

    def __init__(self, kind: Kind, script: Script, far: FarEnd) -> None:
        self._kind, self._script, self._far = kind, script, far
        self._link: FaultyLink | None = None
        self.transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:  # noqa: D102
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        framing = FRAMINGS[self._kind.framing]
        self._link = FaultyLink(framing, self._script, transport.write, self._ask, transport.abort)

    def data_received(self, data: bytes) -> None:  # noqa: D102
        assert self._link is not None
        self._link.from_gateway(data)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: D102
        assert self._link is not None
        self._link.close()

    def _ask(self, data: bytes) -> None:
        assert self._link is not None
        if answer := self._far.answer(data):
            self._link.from_device(answer)


class FaultyHost:
    """A listening socket for such connections."""

    def __init__(self, kind: Kind, script: Script, far: FarEnd) -> None:
        self._make = lambda: self._remember(FaultyServer(kind, script, far))
        self._kind = kind
        self._served: list[FaultyServer] = []
        self._server: asyncio.Server | None = None

    async def listen(self, name: str) -> Bus:
        """Start; the bus of this name that leads here."""
        self._server = await asyncio.get_running_loop().create_server(self._make, "127.0.0.1", 0)
        port = self._server.sockets[0].getsockname()[1]
        return Bus(name, self._kind.bus, host="127.0.0.1", tcp_port=port, baud=115200)

    async def close(self) -> None:
        """Reset everything and stop."""
        assert self._server is not None
        self._server.close()
        for served in self._served:
            if served.transport is not None:
                served.transport.abort()
        await self._server.wait_closed()
        await asyncio.sleep(0)

    def _remember(self, served: FaultyServer) -> FaultyServer:
        self._served.append(served)
        return served


def faulty_profile() -> Profile:
    """Two registers read together and a pair of the same length elsewhere: two requests of one shape."""
    points = {
        name: Point(name, Register(3, start, "u16" if count == 1 else "u32"), "pH")
        for name, (start, count) in ADDRESSES.items()
    }
    return Profile("made-up", "made-up", (), points, Limits())


def faulty_devices(bus: str, units: Sequence[int] = UNITS, timeout_s: float = TIMEOUT_S) -> list[Device]:
    """The units of the line."""
    return [Device(f"d{unit}", bus, unit, "made-up", round(timeout_s * 1e6), 1) for unit in units]


def faulty_channels(units: Sequence[int] = UNITS, period_us: int = PERIOD_US) -> list[Channel]:
    """Every point of every unit."""
    return [
        Channel(
            name=f"d{unit}-{point}",
            quantity="pH",
            unit="pH",
            poll_us=period_us,
            hold_us=5 * period_us // 2,
            stale_after_us=5 * period_us,
            source_unit="pH",
            device=f"d{unit}",
            point=point,
        )
        for unit in units
        for point in ADDRESSES
    ]


def script_of(seed: int, kind: Kind) -> tuple[Fault, ...]:
    """The faults of a seed on this kind of line."""
    return random_faults(seed, kind.framing, frames=FRAMES, longest_us=round(LONGEST_S * 1e6), units=UNITS)


async def run_script(
    seed: int,
    kind: Kind,
    faults: Sequence[Fault] | None = None,
    deliver: Callable[[tuple[Sample, ...], Instant], None] | None = None,
    clock: ScaledClock | None = None,
) -> Told:
    """The script of the seed (or these faults), until it is over and every channel has had a right value after it.

    AssertionError, with the script, when that never comes, when the bus ends, or when one of its tasks has gone.
    """
    clock = clock or ScaledClock(SPEED)
    far = FarEnd(kind, lambda: clock.now().mono_us)
    told = Told(seed, kind, tuple(faults) if faults is not None else script_of(seed, kind), far)
    script = Script(told.faults)
    name = f"s{seed}"
    end: FaultyPort | FaultyHost
    if kind.serial:
        end = FaultyPort(name, kind, script, far)
        bus = end.bus
    else:
        end = FaultyHost(kind, script, far)
        bus = await end.listen(name)
    last = {side: max((f.last for f in told.faults if f.answer is side), default=0) for side in (True, False)}
    lacking = {channel.name for channel in faulty_channels()}
    over = asyncio.Event()
    tasks: set[str] = set()

    def take(samples: tuple[Sample, ...], now: Instant) -> None:
        passed = script.frames["answer"] > last[True] and script.frames["request"] > last[False]
        for sample in samples:
            if sample.value is None:
                told.without_number += 1
                continue
            wrong = far.judge(sample)
            told.wrong += [wrong] if wrong else []
            told.right += not wrong
            if passed:
                lacking.discard(sample.channel)
        if deliver is not None:
            deliver(samples, now)
        tasks.update(() if tasks else tasks_of(name))
        if not lacking:
            over.set()

    devices = faulty_devices(name)
    known: Mapping[str, Profile] = {device.name: faulty_profile() for device in devices}
    poll_bus = PollBus(bus, devices, faulty_channels(), clock, take, profiles=known, jitter=lambda: 0.5)
    running = asyncio.create_task(poll_bus.run(), name=f"bus {name}")
    waiting = asyncio.create_task(over.wait(), name=f"script {seed}")
    loop = asyncio.get_running_loop()

    def beat(due: float) -> None:
        told.stalled_s = max(told.stalled_s, loop.time() - due)
        if not over.is_set():
            loop.call_later(BEAT_S, beat, loop.time() + BEAT_S)

    beat(loop.time())
    try:
        await asyncio.wait((running, waiting), timeout=PATIENCE_S, return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            running.result()
        assert over.is_set(), f"never right again: {sorted(lacking)}\n{told.report}"
        gone = tasks - tasks_of(name)
        assert not gone, f"{gone} ended\n{told.report}"
    finally:
        over.set()
        for task in (running, waiting):
            task.cancel()
        await asyncio.wait((running, waiting))
        await end.close()
    told.applied = script.applied.total()
    return told


def tasks_of(bus: str) -> set[str]:
    """The names of the tasks that keep this bus alive."""
    return {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith(f"bus {bus}: ")}


async def run_many(jobs: Sequence[tuple[int, Kind]], at_once: int) -> list[Told]:
    """So many scripts at a time, all of them. What the buses say of a failing line, they say 10,000 times: unheard.

    Where this machine stood still, answers were later than the script said: what was wrong then is tried again alone.
    """
    logging.disable(logging.WARNING)
    queue = iter(jobs)
    done: list[Told] = []

    async def work() -> None:
        for seed, kind in queue:
            done.append(await run_script(seed, kind))

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(work())
        for place, told in enumerate(done):
            for _ in range(5):
                if not done[place].wrong or done[place].stalled_s < STALL_S:
                    break
                done[place] = await run_script(told.seed, told.kind)
    finally:
        logging.disable(logging.NOTSET)
    return done


def proven(told: Sequence[Told]) -> None:
    """Nothing was wrong, and the proof was one: faults struck every script's line, and numbers came all the same."""
    wrong = [one.report for one in told if one.wrong]
    assert not wrong, f"{len(wrong)} scripts stored wrong values\n" + "\n".join(wrong[:5])
    assert min(one.applied for one in told) > 0
    assert min(one.right for one in told) >= len(faulty_channels())
    assert sum(one.without_number for one in told) > 0


def main(argv: Sequence[str]) -> int:
    """One seed, on every kind of line or the one that is named; 1 when a value was wrong."""
    kinds = [kind for kind in KINDS if kind.bus in argv[1:]] or KINDS
    status = 0
    for kind in kinds:
        told = asyncio.run(run_script(int(argv[0]), kind))
        print(told.report)
        status |= bool(told.wrong)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
