"""A Modbus line that asks one thing at a time and believes only the right answer, over any of the four framings.

Unit, function, count and transaction of every answer are checked (`frames`, `ascii_frames`), every request has an outer
deadline, the 3.5-character silence is kept before every request on a serial line, and after a failure nothing that was
on its way can become the answer to a later request (`quiet`).
"""

import asyncio
import logging
import select
from collections.abc import Callable
from dataclasses import replace

from gateway.drivers.answers import MOST_BITS, MOST_REGISTERS, read_answer
from gateway.drivers.ascii_frames import ASCII_PAUSE_S
from gateway.drivers.cancellation import heeding_cancellation
from gateway.drivers.connection import Connection
from gateway.drivers.frames import BIT_READS, Expected, Found, Scan, request_pdu
from gateway.drivers.framing import FRAMINGS
from gateway.drivers.line_counts import LineCounts
from gateway.drivers.misread import looks_like
from gateway.drivers.outstanding import Outstanding
from gateway.drivers.quiet import BITS_PER_CHARACTER, Quiet, character_gap_s
from gateway.drivers.writes import WRITES
from gateway.errors import BadReply, BusDown, DeviceSilent, DriverError
from gateway.site import MODBUS_KINDS, Bus

__all__ = ["ECHO", "BadCheckSum", "LineCounts", "ModbusLine"]

log = logging.getLogger(__name__)

_MAX_BUFFER = 4096
_SEEN_BYTES = 64  # of what came, for a hint at what is wrong
_TICK_S = 0.001  # the event loop's timers round up to whole milliseconds: a third of a gap at 115200 baud
_NOISE_S = 0.5  # how long to wait for a line that never falls silent
_GIVE_UP_AFTER = 5  # requests in a row without any answer from anybody: open the port afresh
_MUTE_S = 20.0  # a TCP peer that says nothing for so long after a request: call it anew
_MOST_FOREIGN = 5  # TCP frames in a row that belong to no request of ours: the two sides are out of step
_ASCII_PAUSES_S = 2.0  # what pauses between characters may add to a time-out, in all
_TURNAROUND_S = 0.2  # after a broadcast: 100 to 200 ms (Modbus over serial line V1.02, 2.4.1)
_BROADCAST = 0
_SAME_AS_REQUEST = frozenset({5, 6})  # their confirmation is the request itself

ECHO = "the adapter gives back what is sent (local echo); the gateway skips it, so nothing need be done"
"""What is said, once, of an adapter with an echo."""


class BadCheckSum(DeviceSilent):
    """Something came back, but no sound frame: noise, a collision, a wrong baud rate."""


class ModbusLine:
    """One serial port or one TCP connection; its bus's kind is one of `site.MODBUS_KINDS`.

    Not thread-safe; concurrent requests take turns. Nothing is opened before `open`. A lost connection shows as BusDown
    and in `connected`, and `on_lost` is called; opening again is the caller's decision.

    A TCP connection on which nobody says anything for 20 s after a request is closed. With the bus's
    `close_when_idle_us` it is closed after so long without a request, and opened by the next one: then `connected`
    means that it could be used the last time.
    """

    def __init__(self, bus: Bus, on_lost: Callable[[], None] | None = None) -> None:
        if bus.kind not in MODBUS_KINDS:
            raise ValueError(f"bus {bus.name}: a Modbus line is one of {', '.join(MODBUS_KINDS)}, not {bus.kind}")
        self.bus = bus
        self.counts = LineCounts()
        self.was_reset = False  # the last connection was closed from this side, after something was asked on it
        self.latency_s = 0.0  # of the last answer
        self._on_lost = on_lost
        self._connection = Connection(bus, self._received, self._lost)
        self._serial = self._connection.serial
        self._framing = FRAMINGS[bus.kind]
        self._tagged = self._framing.tagged
        self.gap_s = character_gap_s(bus.baud) if self._serial else 0.0
        self._turn = asyncio.Lock()
        self._quiet = Quiet(self.gap_s)
        self._request: Outstanding | None = None
        self._buffer = b""
        self._unanswered = 0
        self._foreign = 0
        self._asked = False  # since the connection was made
        self._echo_known = self._tagged  # by a read, since the port was opened
        self._echoing = False
        self._parked = False  # closed for idleness
        self._idle: asyncio.TimerHandle | None = None
        self._mute: asyncio.TimerHandle | None = None

    @property
    def connected(self) -> bool:
        """Whether the port or the connection is open, as far as anyone can tell."""
        return self._connection.connected or self._parked

    @property
    def where(self) -> str:
        """Port or address, for messages."""
        return self._connection.where

    async def open(self) -> None:
        """Opens the port, exclusively, or connects. BusDown says why it could not be done."""
        self.close()
        await self._connect()
        self._echo_known, self._echoing = self._tagged, False  # it may be another adapter
        self.was_reset = False

    def close(self) -> None:
        """Closes port or connection; a request that is out fails with BusDown. Harmless when not open."""
        was_open, self._parked = self.connected, False
        self._hang_up()
        if was_open:
            self._lost()

    def busy_s(self, unit: int) -> float:
        """How many seconds from now this unit must not be asked, because something may still be on its way."""
        return 0.0 if self._tagged else max(0.0, self._quiet.free_at(unit) - asyncio.get_running_loop().time())

    async def read(self, unit: int, function: int, address: int, count: int, timeout_s: float) -> tuple[int, ...]:
        """Reads coils (`function` 1), inputs (2), holding (3) or input registers (4) from wire `address` on.

        Gives a register each, at most 125, or a 0 or 1 for each coil or input, at most 2000. Waits until the line may
        be used. `timeout_s` runs from the request (and never less than twice the time the bytes take on the wire).
        Raises BusDown, DeviceSilent (BadCheckSum when something came), BadReply, DeviceFault or NoSuchRegister;
        ValueError for what can never be answered.

        Only TCP has transaction numbers: elsewhere an answer that comes after its deadline looks like the answer to the
        next request. Therefore a unit that let a deadline pass is not asked again for as long as it had, nor is any
        other unit when it is known to answer late; and the first answer it gives after that, an exception too, is
        thrown away and the request made a second time.
        """
        expected = self._readable(Expected(unit, function, address, count))
        async with self._turn:
            if not self._tagged and self._quiet.owes(unit):
                await self._silence(unit)
                await self._ask(expected, timeout_s)
                self._quiet.settled(unit, self._quiet.heard_at)
            await self._silence(unit)
            return read_answer(await self._ask(expected, timeout_s), expected)

    async def command(self, unit: int, pdu: bytes, timeout_s: float) -> None:
        """Sends a request as it stands: one of `writes`, or a request of no registers. Returns when it is confirmed.

        Waits and raises as `read` does, and never sends a command twice: after DeviceSilent or BadReply nobody knows
        whether it was carried out. The confirmation must repeat address and value, or address and count, exactly.

        Unit 0 of a line without transaction numbers is every device on it: nobody answers, and the line is left alone
        for 200 ms while they carry it out. The confirmation of functions 5 and 6 is the image of the request, as is an
        adapter's echo: on a line of serial frames of which that is not known yet, the place is read first.
        """
        if unit == _BROADCAST and not self._tagged:
            await self._broadcast(pdu)
            return
        if pdu[0] in _SAME_AS_REQUEST and not self._echo_known:
            await self._learn_echo(unit, pdu, timeout_s)
        async with self._turn:
            await self._silence(unit)
            expected = Expected.to_command(unit, pdu, echoing=self._echoing)
            read_answer(await self._ask(expected, timeout_s), expected)

    async def _broadcast(self, pdu: bytes) -> None:
        if pdu[0] not in WRITES:
            raise ValueError(f"only writes may be broadcast, not function {pdu[0]}: nobody answers unit 0")
        async with self._turn:
            await self._silence(_BROADCAST)
            self._buffer = b""
            await self._connection.send(_BROADCAST, pdu)
            now = asyncio.get_running_loop().time()
            self._quiet.busy_until(now + self._frame_s(len(pdu)) + _TURNAROUND_S)

    async def _learn_echo(self, unit: int, pdu: bytes, timeout_s: float) -> None:
        """Whatever comes of this read, afterwards it is known whether the adapter gives back what is sent."""
        try:
            await self.read(unit, 1 if pdu[0] == 5 else 3, int.from_bytes(pdu[1:3], "big"), 1, timeout_s)
        except BusDown:
            raise
        except DriverError as error:
            log.debug("bus %s: before the first write: %s", self.bus.name, error)

    def _readable(self, expected: Expected) -> Expected:
        most = MOST_BITS if expected.function in BIT_READS else MOST_REGISTERS
        if expected.unit == _BROADCAST and not self._tagged:
            raise ValueError(f"bus {self.bus.name}: nobody answers a read of unit 0: it is the address of all devices")
        if not 1 <= expected.count <= most:
            raise ValueError(f"function {expected.function} reads 1 to {most} at a time, not {expected.count}")
        return expected

    async def _ask(self, expected: Expected, timeout_s: float) -> bytes:
        if not self.connected:
            raise BusDown(f"bus {self.bus.name}: {self.where} is not open")
        if self._parked:
            self._parked = False
            await self._connect()
        loop = asyncio.get_running_loop()
        limit_s = max(timeout_s, 2 * self._wire_s(expected))
        self._asked = True
        request = self._request = Outstanding(expected, loop.time(), limit_s)
        if not self._tagged:
            self._buffer = b""  # whatever is left there is not the answer to this request
        try:
            with heeding_cancellation():
                async with asyncio.timeout(limit_s) as request.deadline:
                    pdu = await self._connection.ask(expected.unit, request_pdu(expected))
        except TimeoutError as error:
            raise self._failure(request) from error
        except BusDown:
            self.close()
            raise
        except asyncio.CancelledError:
            self._quiet.abandoned(expected.unit, loop.time(), limit_s)
            raise
        finally:
            self._request = None
            self._rest()
        self._unanswered = self._foreign = 0
        self._echo_known = True
        if not expected.command and not request.stray:  # what is stray may be an echo, spoilt
            self._echoing = request.echoed
        self.latency_s = loop.time() - request.started
        self._quiet.answered(expected.unit, request.started, loop.time())
        return pdu

    def _failure(self, request: Outstanding) -> DriverError:
        """Why there is no answer, after noting for how long the line or the unit must be left alone."""
        unit, limit_s = request.expected.unit, request.limit_s
        if request.error is not None:
            if self._quiet.owing() - {unit}:  # it may be another's late answer, spoilt, and this one's is still to come
                self._quiet.timed_out(unit, request.started, limit_s)
            else:
                self._quiet.garbled(unit, request.started, limit_s)
            self._unanswered = 0
            return request.error
        if not self.connected:
            return BusDown(f"bus {self.bus.name}: {self.where} went away while unit {unit} was asked")
        self._echo_known = True
        self._echoing |= request.echoed
        waited_s = asyncio.get_running_loop().time() - request.started if self._framing.paused else 0.0
        self._quiet.timed_out(unit, request.started, max(limit_s, waited_s))
        self._unanswered += 1
        if self._connection.unsent:
            self._reset()
            return BusDown(f"bus {self.bus.name}: {self.where} took no bytes for {limit_s:g} s: hung, or held up")
        came = len(self._buffer) + request.stray
        if self._unanswered >= _GIVE_UP_AFTER or (came and not self._serial):
            self._reset()  # a stream that stops in the middle of a frame has lost its place
        elif not self._serial and self._mute is None:
            self._mute = asyncio.get_running_loop().call_at(request.started + _MUTE_S, self._reset)
        if came:
            self.counts.of(unit).garbled += 1
            hint = looks_like(request.seen, self.bus.kind)
            return BadCheckSum(f"unit {unit}: {came} bytes came within {limit_s:g} s, but no sound answer{hint}")
        echo = ": only the echo of the request came, from the adapter" if request.echoed else ""
        return DeviceSilent(f"unit {unit} did not answer within {limit_s:g} s{echo}")

    async def _connect(self) -> None:
        await self._connection.open()
        self._buffer = b""
        self._unanswered = self._foreign = 0
        self._asked = False
        self._quiet.heard(asyncio.get_running_loop().time())
        self._rest()

    def _hang_up(self) -> None:
        for timer in (self._idle, self._mute):
            if timer is not None:
                timer.cancel()
        self._idle = self._mute = None
        self._connection.close()

    def _rest(self) -> None:
        """With `close_when_idle`: from now on the connection has so long to be of use."""
        if self._idle is not None:
            self._idle.cancel()
        if self.bus.close_when_idle_us is not None:
            self._idle = asyncio.get_running_loop().call_later(self.bus.close_when_idle_us / 1e6, self._park)

    def _park(self) -> None:
        if self._request is None and self._connection.connected:
            self._parked = True
            self._hang_up()

    async def _silence(self, unit: int) -> None:
        """Waits until the line may be used for this unit; what comes in meanwhile is thrown away."""
        if self._tagged:
            return
        loop = asyncio.get_running_loop()
        give_up = max(loop.time(), self._quiet.free_at(unit)) + _NOISE_S
        while (wait_s := self._quiet.free_at(unit) - loop.time()) > 0:
            if loop.time() > give_up:
                self.counts.of(unit).garbled += 1
                raise BadCheckSum(f"bus {self.bus.name}: the line is never silent: noise, or a second client on it")
            if wait_s < 2 * _TICK_S:
                select.select((), (), (), wait_s)  # exact, and shorter than what the event loop would make of it
                wait_s = 0.0
            await asyncio.sleep(max(0, int(wait_s / _TICK_S) - 1) * _TICK_S)

    def _wire_s(self, expected: Expected) -> float:
        """How long request and answer take on the wire."""
        return self._frame_s(len(request_pdu(expected))) + self._frame_s(expected.answer_length)

    def _frame_s(self, pdu_bytes: int) -> float:
        return self._framing.characters(pdu_bytes) * BITS_PER_CHARACTER / self.bus.baud if self._serial else 0.0

    def _received(self, data: bytes, transaction: int) -> bytes | None:
        """Everything that arrives, as it arrives; the answer's PDU once it is there."""
        now = asyncio.get_running_loop().time()
        self._quiet.heard(now)
        if self._mute is not None:
            self._mute.cancel()
            self._mute = None
        self._buffer = (self._buffer + data)[-_MAX_BUFFER:]
        request = self._request
        if request is None or not request.waits:
            self._stray()
            return None
        request.seen = (request.seen + data)[:_SEEN_BYTES]
        echoing = request.expected.echoing and not request.echoed
        expected = replace(request.expected, transaction=transaction, echoing=echoing)
        scan = self._framing.scan(self._buffer, expected, self._quiet.owing())
        self._buffer = scan.rest
        self._note(scan)
        request.stray += scan.noise
        request.echoed |= scan.echoed
        if scan.found is Found.REPLY:
            request.answered = True
            if request.stray:
                self.counts.noisy_answers += 1
                self.counts.of(request.expected.unit).resyncs += 1
            return scan.pdu
        if scan.found is not Found.MORE:
            self._not_an_answer(request, scan)
        elif self._foreign >= _MOST_FOREIGN:
            self._not_an_answer(request, Scan(Found.BROKEN, text=f"{self._foreign} answers in a row to other requests"))
        elif self._framing.paused and scan.rest:
            latest = request.started + request.limit_s + _ASCII_PAUSES_S
            request.extend(min(now + ASCII_PAUSE_S, latest))
        return None

    def _not_an_answer(self, request: Outstanding, scan: Scan) -> None:
        """The request has failed, and its maker need not wait for the deadline."""
        unit = request.expected.unit
        hint = "" if scan.found is Found.WRONG else looks_like(request.seen, self.bus.kind)
        if scan.found is Found.GARBLED:
            self.counts.of(unit).garbled += 1
            request.error = BadCheckSum(f"unit {unit}: {scan.text}{hint}")
        else:
            self.counts.of(unit).wrong_answers += 1
            request.error = BadReply(f"unit {unit}: {scan.text}{hint}")
        request.cut_short()
        if scan.found is Found.BROKEN or (scan.found is Found.GARBLED and not self._serial):
            self._reset()

    def _stray(self) -> None:
        """What comes while nobody asks: an answer that missed its deadline, or noise."""
        scan = self._framing.stray(self._buffer)
        self._buffer = scan.rest
        self._note(scan)
        if scan.found is Found.BROKEN or self._foreign >= _MOST_FOREIGN:
            self._reset()

    def _late(self, unit: int) -> None:
        if unit == _BROADCAST:  # nobody else sends as unit 0
            self._echo()
            return
        self.counts.late_answers += 1
        self.counts.of(unit).late_answers += 1
        self._quiet.paid(unit)
        log.debug("bus %s: unit %d answered after its deadline; thrown away", self.bus.name, unit)

    def _note(self, scan: Scan) -> None:
        if self._tagged:
            self.counts.foreign_frames += len(scan.skipped)
            self._foreign += len(scan.skipped)
        else:
            for unit in scan.skipped:
                self._late(unit)
        if scan.echoed:
            self._echo()

    def _echo(self) -> None:
        if not self.counts.echoes:
            log.warning("bus %s: %s", self.bus.name, ECHO)
        self.counts.echoes += 1

    def _reset(self) -> None:
        """The connection is of no more use: close it, so that the caller opens a new one."""
        self.counts.resets += 1
        self.was_reset = self._asked
        log.debug("bus %s: closing %s to start afresh", self.bus.name, self.where)
        self.close()

    def _lost(self) -> None:
        """The transport is gone: a request that is out need not wait for its deadline."""
        if self._request is not None and not self._request.answered:
            self._request.cut_short()
        if self._on_lost is not None:
            self._on_lost()
