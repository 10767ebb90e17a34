"""A serial line without hardware: two pseudo-terminals and a wire between them, with a place for faults.

Either end is a device path that an ordinary serial program opens, closes and opens again; this process keeps both ends
open, so that one of them being killed never hangs the line up. Bytes that nobody reads are lost, as on a real line.
"""

import asyncio
import os
import termios
import tty
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from simulators.faults import FaultyLink, Script
from simulators.framing import FRAMINGS

__all__ = ["BITS_PER_CHARACTER", "Line"]

BITS_PER_CHARACTER = 11
"""Of Modbus RTU: start, eight data bits, parity or a second stop bit, stop (Modbus over serial line 2.5.1)."""


class Line:
    """A line between `gateway_path` and `bench_path`; open it and close it in the event loop that is to carry it.

    `baud` paces the bytes as that speed would; None passes them at once. `cut` loses everything while it is set;
    `delay_s` holds every byte back. Both may be changed at any time. With a `script` the frames pass through its
    faults before they are paced. With `strict_speed` the ends only hear each other while both are set to one speed.
    """

    def __init__(
        self,
        baud: int | None = None,
        *,
        bits_per_character: int = BITS_PER_CHARACTER,
        script: Script | None = None,
        framing: str = "rtu",
        strict_speed: bool = False,
    ) -> None:
        self._strict_speed = strict_speed
        self.cut = False
        self.delay_s = 0.0
        self.gateway_path = ""
        self.bench_path = ""
        self._character_s = bits_per_character / baud if baud else 0.0
        self._script = script
        self._framing = FRAMINGS[framing]
        self._faulty: FaultyLink | None = None
        self._masters: list[int] = []
        self._slaves: list[int] = []
        # By the master written to: when its last byte has passed, and the bytes on their way, first come first out.
        self._free_at: dict[int, float] = {}
        self._under_way: dict[int, deque[tuple[asyncio.TimerHandle, bytes]]] = {}

    def open(self) -> None:
        """Make the two ends and join them. OSError when the machine has no pseudo-terminal left."""
        loop = asyncio.get_running_loop()
        for _ in range(2):
            master, slave = os.openpty()
            self._masters.append(master)
            self._slaves.append(slave)
            tty.setraw(slave)
            os.set_blocking(master, False)
            self._free_at[master] = 0.0
            self._under_way[master] = deque()
        self.gateway_path, self.bench_path = (os.ttyname(slave) for slave in self._slaves)
        gateway, bench = self._masters
        to_gateway, to_bench = partial(self._send, gateway), partial(self._send, bench)
        if self._script is not None:
            self._faulty = FaultyLink(self._framing, self._script, to_gateway, to_bench)
            to_gateway, to_bench = self._faulty.from_device, self._faulty.from_gateway
        loop.add_reader(gateway, self._pump(gateway, to_bench))
        loop.add_reader(bench, self._pump(bench, to_gateway))

    def close(self) -> None:
        """Take both ends away; what is still on the wire is lost."""
        loop = asyncio.get_running_loop()
        if self._faulty is not None:
            self._faulty.close()
        for master in self._masters:
            loop.remove_reader(master)
            for handle, _ in self._under_way[master]:
                handle.cancel()
        for end in (*self._masters, *self._slaves):
            os.close(end)
        self._masters.clear()
        self._slaves.clear()

    def _pump(self, source: int, onward: Callable[[bytes], None]) -> Callable[[], None]:
        def carry() -> None:
            with suppress(BlockingIOError):
                data = os.read(source, 4096)
                if not self.cut and self._same_speed():
                    onward(data)

        return carry

    def _same_speed(self) -> bool:
        """What a receiver of another speed makes of a frame is no frame: it is lost."""
        if not self._strict_speed:
            return True
        gateway, bench = (termios.tcgetattr(slave)[4:6] for slave in self._slaves)
        return gateway == bench

    def _send(self, target: int, data: bytes) -> None:
        """At once where nothing slows the line, otherwise byte by byte at the moments each would have arrived."""
        under_way = self._under_way[target]
        if not self._character_s and not self.delay_s and not under_way:
            _write(target, data)
            return
        loop = asyncio.get_running_loop()
        due = max(loop.time() + self.delay_s, self._free_at[target])
        for i in range(len(data)):
            due += self._character_s
            under_way.append((loop.call_at(due, self._arrive, target), data[i : i + 1]))
        self._free_at[target] = due

    def _arrive(self, target: int) -> None:
        """The next byte in order: timers due at one moment fire in any order, so none carries its own byte."""
        _, byte = self._under_way[target].popleft()
        if not self.cut:
            _write(target, byte)


def _write(target: int, data: bytes) -> None:
    with suppress(BlockingIOError):  # nobody reads and the buffer is full: lost
        os.write(target, data)
