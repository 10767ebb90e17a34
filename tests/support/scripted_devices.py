"""Scripted instruments on a real pty or socket: registers, silence and exceptions, with a log of every request."""

import asyncio
import os
import tty
from contextlib import suppress
from dataclasses import dataclass, field

from gateway.drivers.frames import crc16
from gateway.drivers.profile import Limits, Point, Profile, Register
from gateway.site import Channel, Device


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as the far end saw it: when its first byte came, and how long after the last answer."""

    at: float
    since_answer: float
    unit: int
    function: int
    start: int
    count: int


@dataclass(slots=True)
class Devices:
    """Units that answer any read with `address + 100 x unit` and confirm any write, unless told otherwise."""

    silent: set[int] = field(default_factory=set)
    missing: set[int] = field(default_factory=set)  # addresses that do not exist
    busy: set[int] = field(default_factory=set)  # units that answer exception 6
    silent_from: int = 1 << 16  # no answer to requests from this address on
    log: list[Asked] = field(default_factory=list)

    def of(self, unit: int) -> list[Asked]:
        """The requests to one unit."""
        return [asked for asked in self.log if asked.unit == unit]

    def answer(self, body: bytes) -> bytes | None:
        """The answer to unit and PDU, without check sum or header; None for silence."""
        unit, function = body[0], body[1]
        start, count = int.from_bytes(body[2:4], "big"), int.from_bytes(body[4:6], "big")
        if unit in self.silent or start >= self.silent_from:
            return None
        if unit in self.busy:
            return bytes((unit, function | 0x80, 6))
        if function == 6:
            return body  # a write is confirmed by its own echo
        if self.missing & set(range(start, start + count)):
            return bytes((unit, function | 0x80, 2))
        words = [(address + 100 * unit) & 0xFFFF for address in range(start, start + count)]
        return bytes((unit, function, 2 * count)) + b"".join(word.to_bytes(2, "big") for word in words)


class SerialDevices:
    """The far end of a serial line with these devices on it; `path` is what the gateway opens."""

    def __init__(self, devices: Devices) -> None:
        self.devices = devices
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self.master, False)
        self.path = os.ttyname(self._slave)
        self._loop = asyncio.get_running_loop()
        self._answered_at = float("-inf")
        self._buffer = b""
        self._began = 0.0
        self._loop.add_reader(self.master, self._readable)

    def _readable(self) -> None:
        now = self._loop.time()
        if not self._buffer:
            self._began = now
        with suppress(BlockingIOError):
            self._buffer += os.read(self.master, 4096)
        while len(self._buffer) >= 8:
            frame, self._buffer = self._buffer[:8], self._buffer[8:]
            assert crc16(frame[:-2]) == frame[-2:]
            words = [int.from_bytes(frame[n : n + 2], "big") for n in (2, 4)]
            self.devices.log.append(Asked(self._began, self._began - self._answered_at, frame[0], frame[1], *words))
            body = self.devices.answer(frame[:-2])
            if body is not None:
                self._answered_at = self._loop.time()
                os.write(self.master, body + crc16(body))

    def close(self) -> None:
        """Pull the plug."""
        self._loop.remove_reader(self.master)
        os.close(self.master)
        os.close(self._slave)


class TcpDevices:
    """A Modbus TCP server with these devices behind it; it can be killed and started again on the same `port`."""

    def __init__(self, devices: Devices) -> None:
        self.devices = devices
        self.port = 0
        self.accepted = 0
        self._server: asyncio.Server | None = None
        self._writers: list[asyncio.StreamWriter] = []
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen, on the port of the last time if there was one."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def kill(self) -> None:
        """Reset every connection and stop listening."""
        assert self._server is not None
        self._server.close()
        for writer in self._writers:
            writer.transport.abort()
        self._writers.clear()
        await self._server.wait_closed()
        if self._open:
            await asyncio.wait(self._open)

    @property
    def open(self) -> int:
        """How many connections there are now."""
        return len(self._open)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._open.add(task)
        self.accepted += 1
        self._writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                frame = await reader.readexactly(12)
                body = frame[6:]
                words = [int.from_bytes(body[n : n + 2], "big") for n in (2, 4)]
                now = asyncio.get_running_loop().time()
                self.devices.log.append(Asked(now, 0.0, body[0], body[1], *words))
                answer = self.devices.answer(body)
                if answer is not None:
                    writer.write(frame[:4] + len(answer).to_bytes(2, "big") + answer)
        self._open.discard(task)


def profile(*addresses: int, **limits: int) -> Profile:
    """A made-up instrument with a u16 holding register per address, points `r0`, `r1`, ..."""
    points = {f"r{a}": Point(f"r{a}", Register(3, a, "u16"), "pH") for a in addresses}
    return Profile("made-up", "made-up", (), points, Limits(**limits))


def channel(device: str, address: int, poll_us: int, name: str = "") -> Channel:
    """The channel of one such register."""
    return Channel(
        name=name or f"{device}-{address}",
        quantity="pH",
        unit="pH",
        poll_us=poll_us,
        hold_us=5 * poll_us // 2,
        stale_after_us=5 * poll_us,
        source_unit="pH",
        device=device,
        point=f"r{address}",
    )


def device(unit: int, timeout_us: int = 250_000, retries: int = 1) -> Device:
    """Device `d<unit>` on bus `bench`."""
    return Device(f"d{unit}", "bench", unit, "made-up", timeout_us, retries)
