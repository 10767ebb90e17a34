"""A strict serial line with devices on it, as a process of its own: the far end by which a bus is judged.

A request that begins less than 3.5 characters after the last byte on the line is lost, as Modbus over serial line 2.5.1
lets a device lose it. Every byte takes its eleven bits at the baud rate: the answer's last byte arrives when request,
gap and answer have passed, never earlier.

Run as `python -m bench.strict_device --baud 19200`. It prints the path of its port, serves until its standard input
ends, and then prints one JSON object: what it saw.
"""

import argparse
import json
import os
import select
import sys
import time
import tty
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from simulators.framing import crc

BITS = 11
PIECE = 8  # bytes of an answer that come together, as from the queue of a serial chip
REQUEST_BYTES = 8


def character_s(baud: int) -> float:
    """How long one character takes."""
    return BITS / baud


def gap_s(baud: int) -> float:
    """3.5 characters, and 1.75 ms above 19200 baud (same, 2.5.1.1)."""
    return 0.00175 if baud > 19200 else 3.5 * character_s(baud)


def cycle_s(baud: int, registers: int) -> float:
    """The least a read can take: request, gap, answer, gap."""
    return (REQUEST_BYTES + 5 + 2 * registers) * character_s(baud) + 2 * gap_s(baud)


@dataclass(slots=True)
class Seen:
    """What the line saw: each request's arrival and unit, and its distance from the end of the last answer."""

    arrivals: list[float] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    turnarounds: list[float] = field(default_factory=list)
    violations: int = 0
    unsound: int = 0


class StrictLine:
    """The line: serves until the descriptor `until` can be read."""

    def __init__(self, baud: int, dead: frozenset[int]) -> None:
        self.seen = Seen()
        self._character_s, self._gap_s = character_s(baud), gap_s(baud)
        self._dead = dead
        self._master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self._master, False)
        self.path = os.ttyname(self._slave)
        self._free_at = float("-inf")  # when the last byte was on the line

    def serve(self, until: int) -> None:
        """One request after the other."""
        while True:
            ready, _, _ = select.select((self._master, until), (), ())
            if until in ready:
                return
            arrived = time.monotonic()
            request = self._read()
            if not request:
                continue
            turnaround, self._free_at = arrived - self._free_at, arrived + len(request) * self._character_s
            if turnaround < self._gap_s:
                self.seen.violations += 1
                continue
            if len(request) != REQUEST_BYTES or crc(request[:-2]) != request[-2:]:
                self.seen.unsound += 1
                continue
            self.seen.arrivals.append(arrived)
            self.seen.units.append(request[0])
            self.seen.turnarounds.append(turnaround)
            if request[0] not in self._dead:
                self._answer(request)

    def _answer(self, request: bytes) -> None:
        count = int.from_bytes(request[4:6], "big")
        body = bytes((request[0], request[1], 2 * count)) + request[2:4] * count
        answer = body + crc(body)
        due = self._free_at + self._gap_s
        for at in range(0, len(answer), PIECE):
            piece = answer[at : at + PIECE]
            due += len(piece) * self._character_s
            if self._wait(due):
                self.seen.violations += 1  # somebody spoke into the answer
            self._free_at = time.monotonic()
            os.write(self._master, piece)

    def _wait(self, due: float) -> bool:
        """Until the moment, to the tenth of a millisecond; whether anything came before it."""
        spoken = False
        while (left := due - time.monotonic()) > 0:
            if left > 0.0003:
                ready, _, _ = select.select((self._master,), (), (), left - 0.0002)
                spoken = spoken or bool(ready and self._read())
        return spoken

    def _read(self) -> bytes:
        with suppress(BlockingIOError):
            return os.read(self._master, 4096)
        return b""


def main(argv: Sequence[str] | None = None) -> int:
    """Serve and tell."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--baud", type=int, required=True)
    parser.add_argument("--dead", type=int, nargs="*", default=[], help="units that never answer")
    arguments = parser.parse_args(argv)
    line = StrictLine(arguments.baud, frozenset(arguments.dead))
    print(line.path, flush=True)
    line.serve(sys.stdin.fileno())
    seen = line.seen
    print(json.dumps({name: getattr(seen, name) for name in Seen.__slots__}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
