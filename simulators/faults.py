"""A line on which things go wrong on purpose: what passes between gateway and devices is delayed, spoilt or lost.

This is the inside, without ports: bytes come in from either side and go out changed. `fault_proxy` gives it TCP ports
and serial lines; a test may join it to anything.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence

from simulators.fault_script import Action, Fault
from simulators.framing import Framing

__all__ = ["FaultyLink", "Script"]

_SILENCE_S = 0.02  # what has not become a frame by then passes as it is
_MOST_BYTES = 600  # more than two of the longest frames, and nothing sound among them: passed as it is


class Script:
    """Faults with their counts: how far the script has come, over all connections that it governs.

    `frames` counts what came by, in each direction; `applied` how often each kind of fault befell a frame. `watch` is
    shown every frame as it came (whether it is an answer, its bytes) with the faults that befall it.
    """

    def __init__(
        self, faults: Sequence[Fault], watch: Callable[[bool, bytes, Sequence[Fault]], None] | None = None
    ) -> None:
        self.faults = tuple(faults)
        self.watch = watch
        self.frames: Counter[str] = Counter()
        self.applied: Counter[Action] = Counter()
        self.dark_until = 0.0  # on the clock of the event loop
        self._of_unit: Counter[tuple[bool, int]] = Counter()

    def befalling(self, *, answer: bool, unit: int) -> list[Fault]:
        """Counts a frame; the faults that befall it, in the order of the script."""
        side = "answer" if answer else "request"
        self.frames[side] += 1
        self._of_unit[answer, unit] += 1
        found = []
        for fault in self.faults:
            if fault.answer is not answer or (fault.unit is not None and fault.unit != unit):
                continue
            if fault.hits(self.frames[side] if fault.unit is None else self._of_unit[answer, unit]):
                self.applied[fault.action] += 1
                found.append(fault)
        return found


class FaultyLink:
    """One connection, or one serial line, through the script. Lives in the running event loop.

    Whole sound frames are counted and befallen by faults; anything else passes unchanged once there was silence.
    `to_gateway` and `to_device` take what comes out; `hang_up` resets the connection, where there is one.
    """

    def __init__(
        self,
        framing: Framing,
        script: Script,
        to_gateway: Callable[[bytes], object],
        to_device: Callable[[bytes], object],
        hang_up: Callable[[], object] = lambda: None,
    ) -> None:
        self._framing = framing
        self._script = script
        self._out: dict[bool, Callable[[bytes], object]] = {True: to_gateway, False: to_device}
        self._hang_up = hang_up
        self._buffers = {True: b"", False: b""}
        self._silences: dict[bool, asyncio.TimerHandle] = {}
        self._held: dict[bool, list[bytes]] = {True: [], False: []}
        self._under_way: set[asyncio.TimerHandle] = set()
        self._dead = False  # nothing passes any more, and nobody is told
        self._loop = asyncio.get_running_loop()

    @property
    def dead(self) -> bool:
        """Whether nothing passes any more."""
        return self._dead

    def from_gateway(self, data: bytes) -> None:
        """Bytes that the gateway sent."""
        self._came(data, answer=False)

    def from_device(self, data: bytes) -> None:
        """Bytes that came back."""
        self._came(data, answer=True)

    def close(self) -> None:
        """What is still under way is lost."""
        self._dead = True
        for handle in (*self._under_way, *self._silences.values()):
            handle.cancel()
        self._under_way.clear()
        self._silences.clear()

    def _came(self, data: bytes, *, answer: bool) -> None:
        if self._dead:
            return
        silence = self._silences.pop(answer, None)
        if silence is not None:
            silence.cancel()
        self._buffers[answer] += data
        while (whole := self._buffers[answer]) and (length := self._framing.first(whole, answer=answer)):
            self._buffers[answer] = whole[length:]
            self._frame(whole[:length], answer=answer)
        if len(self._buffers[answer]) > _MOST_BYTES:
            self._no_frame(answer)
        elif self._buffers[answer]:
            self._silences[answer] = self._loop.call_later(_SILENCE_S, self._no_frame, answer)

    def _no_frame(self, answer: bool) -> None:
        data, self._buffers[answer] = self._buffers[answer], b""
        self._silences.pop(answer, None)
        self._pass(data, 0.0, answer=answer)

    def _frame(self, frame: bytes, *, answer: bool) -> None:
        faults = self._script.befalling(answer=answer, unit=self._framing.body(frame)[0])
        if self._script.watch is not None:
            self._script.watch(answer, frame, faults)
        pieces = [(0.0, frame)]
        for fault in faults:
            pieces = self._befall(fault, pieces, answer=answer)
        for after_s, data in pieces:
            self._pass(data, after_s, answer=answer)
        if any(fault.action is Action.KEEP for fault in faults) and self._framing.name == "tcp":
            self._dead = True  # behind a hole a stream cannot go on
        if pieces and self._held[answer]:
            late, self._held[answer] = self._held[answer], []
            last_s = max(after_s for after_s, _ in pieces)
            for data in late:
                self._pass(data, last_s, answer=answer)

    def _befall(self, fault: Fault, pieces: list[tuple[float, bytes]], *, answer: bool) -> list[tuple[float, bytes]]:
        after_s = fault.after_us / 1e6
        match fault.action:
            case Action.DELAY:
                return [(wait_s + after_s, data) for wait_s, data in pieces]
            case Action.DROP:
                return []
            case Action.TWICE:
                return pieces + [(wait_s + after_s, data) for wait_s, data in pieces]
            case Action.HOLD:
                self._held[answer] += [data for _, data in pieces]
                return []
            case Action.ECHO:
                for _, data in pieces:
                    self._pass(data, 0.0, answer=True)
                return pieces
            case Action.BLACK_HOLE:
                self._script.dark_until = max(self._script.dark_until, self._loop.time() + after_s)
                return []
            case Action.HALF_OPEN:
                self._dead = True
                return []
            case Action.HANG_UP:
                self._dead = True
                self._hang_up()
                return []
            case _:
                return [(wait_s, self._spoilt(fault, data)) for wait_s, data in pieces]

    def _spoilt(self, fault: Fault, data: bytes) -> bytes:
        match fault.action:
            case Action.KEEP:
                return data[: fault.number]
            case Action.NOISE:
                return fault.data + data
            case Action.FLIP:
                spoilt = bytearray(data)
                for bit in fault.bits:
                    if bit < 8 * len(data):
                        spoilt[bit // 8] ^= 1 << bit % 8
                return bytes(spoilt)
            case Action.TRANSACTION:
                return fault.number.to_bytes(2, "big") + data[2:]
            case _:
                whole = self._framing.first(data, answer=fault.answer) == len(data) > 0
                return self._framing.frame(_renamed(fault, self._framing.body(data)), data) if whole else data

    def _pass(self, data: bytes, after_s: float, *, answer: bool) -> None:
        if not data or self._dead:
            return
        if after_s <= 0:
            self._arrive(data, answer)
            return

        def due() -> None:
            self._under_way.discard(handle)
            self._arrive(data, answer)

        handle = self._loop.call_later(after_s, due)
        self._under_way.add(handle)

    def _arrive(self, data: bytes, answer: bool) -> None:
        if not self._dead and self._loop.time() >= self._script.dark_until:
            self._out[answer](data)


def _renamed(fault: Fault, body: bytes) -> bytes:
    """Another answer, or request, in the place of this one: unit, function and data."""
    match fault.action:
        case Action.UNIT:
            return bytes((fault.number,)) + body[1:]
        case Action.FUNCTION:
            return body[:1] + bytes((fault.number,)) + body[2:]
        case Action.EXCEPTION:
            return bytes((body[0], body[1] | 0x80, fault.number))
        case Action.REGISTERS if body[1] in {3, 4}:
            data = (body[3:] + bytes(2 * fault.number))[: 2 * fault.number]
            return body[:2] + bytes((2 * fault.number,)) + data
        case _:
            return body
