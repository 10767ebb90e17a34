"""A line whose far end looks at the speed it is spoken to with: units that hear one setting, and only that one.

A pseudo-terminal has no speed, but it keeps the one its user set, and the number of stop bits; parity it cannot do.
"""

import asyncio
import os
import struct
import termios
import threading
import tty
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import wraps
from typing import Any

from gateway.drivers.frames import crc16

Answer = Callable[[int, int, int], bytes | None]  # function, address, count -> PDU or nothing

SPEEDS = {termios.B4800: 4800, termios.B9600: 9600, termios.B19200: 19200, termios.B38400: 38400}


def refusing(function: int, address: int, count: int) -> bytes:
    """A unit that has no such register, whatever is asked."""
    return bytes((function | 0x80, 2))


def holding(registers: Mapping[int, int]) -> Answer:
    """A unit with these holding registers, and exception 2 for any other."""

    def answer(function: int, address: int, count: int) -> bytes:
        if function != 3 or any(address + n not in registers for n in range(count)):
            return bytes((function | 0x80, 2))
        words = [registers[address + n] for n in range(count)]
        return bytes((function, 2 * count)) + struct.pack(f">{count}H", *words)

    return answer


class SetLine:
    """`path` is the gateway's end. `units` hear only `baud` with `stop_bits`; what they are sent otherwise is lost.

    `heard` is every request as (unit, function, address, count). `junk` is sent back to a request at another setting,
    `echo` gives back what was sent, `delay_s` holds every answer back, `speaks_as` is a wrong unit address in them.
    """

    def __init__(self, units: Mapping[int, Answer], *, baud: int = 9600, stop_bits: int | None = None) -> None:
        self.units = units
        self.baud, self.stop_bits = baud, stop_bits
        self.heard: list[tuple[int, int, int, int]] = []
        self.junk = b""
        self.echo = False
        self.delay_s = 0.0
        self.speaks_as: int | None = None
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        asyncio.get_running_loop().add_reader(self._master, self._readable)

    def send(self, data: bytes) -> None:
        """Bytes that nobody asked for."""
        os.write(self._master, data)

    def close(self) -> None:
        """Take the line away."""
        asyncio.get_running_loop().remove_reader(self._master)
        os.close(self._master)
        os.close(self._slave)

    def _readable(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._master, 4096)
            for at in range(0, len(data) - 7, 8):
                self._asked(data[at : at + 8])

    def _asked(self, frame: bytes) -> None:
        unit, function, address, count = struct.unpack(">BBHH", frame[:6])
        self.heard.append((unit, function, address, count))
        if self.echo:
            self.send(frame)
        attributes = termios.tcgetattr(self._slave)
        stop_bits = 2 if attributes[2] & termios.CSTOPB else 1
        if SPEEDS.get(attributes[5]) != self.baud or self.stop_bits not in (None, stop_bits):
            if self.junk:
                self.send(self.junk)
            return
        answer = self.units.get(unit)
        pdu = answer(function, address, count) if answer is not None else None
        if pdu is not None:
            body = bytes((unit if self.speaks_as is None else self.speaks_as,)) + pdu
            asyncio.get_running_loop().call_later(self.delay_s, self.send, body + crc16(body))


@contextmanager
def served(units: Mapping[int, Answer], **settings: Any) -> Iterator[str]:
    """The path of such a line, served by a thread while a command runs in this one."""
    paths: list[str] = []
    ready, over = threading.Event(), threading.Event()

    async def serve() -> None:
        line = SetLine(units, **settings)
        paths.append(line.path)
        ready.set()
        await asyncio.get_running_loop().run_in_executor(None, over.wait)
        line.close()

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert ready.wait(10)
        yield paths[0]
    finally:
        over.set()
        thread.join()


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that is a coroutine, run in a loop of its own."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run
