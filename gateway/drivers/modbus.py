"""The one adapter to pymodbus: a Modbus line that asks one thing at a time and believes only the right answer.

What the library leaves to its user is done here: unit, function, count and transaction of every answer are checked
(`frames`), every request has our own deadline, the 3.5-character silence is kept before every RTU request, and after a
failure nothing that was on its way can become the answer to a later request.
"""

import asyncio
import logging
import select
import termios
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from pymodbus import FramerType, ModbusException
from pymodbus.client import AsyncModbusSerialClient, AsyncModbusTcpClient
from pymodbus.framer import FramerBase, FramerRTU, FramerSocket
from pymodbus.pdu import DecodePDU, ModbusPDU

from gateway.drivers.cancellation import heeding_cancellation
from gateway.drivers.frames import Expected, Found, Scan, request_pdu, rtu_frame, scan_rtu, scan_tcp
from gateway.drivers.opening import tune, why_not_open
from gateway.drivers.quiet import BITS_PER_CHARACTER, Quiet, character_gap_s
from gateway.errors import BadReply, BusDown, DeviceFault, DeviceSilent, DriverError, NoSuchRegister
from gateway.site import Bus

__all__ = ["BadCheckSum", "LineCounts", "ModbusLine"]

log = logging.getLogger(__name__)

_CONNECT_S = 3.0
_LIBRARY_WAIT_S = 3600.0  # the library's own timeout never fires first: the deadline is ours
_MAX_BUFFER = 4096
_REQUEST_BYTES = 8
_TICK_S = 0.001  # the event loop's timers round up to whole milliseconds: a third of a gap at 115200 baud
_NOISE_S = 0.5  # how long to wait for a line that never falls silent
_GIVE_UP_AFTER = 5  # requests in a row without any answer from anybody: open the port afresh
_ABSENT_UNIT = frozenset({10, 11})  # a TCP gateway's "path unavailable" and "target did not respond"
_NO_SUCH = frozenset({1, 2, 3})


class BadCheckSum(DeviceSilent):
    """Something came back, but no sound frame: noise, a collision, a wrong baud rate."""


@dataclass(slots=True)
class LineCounts:
    """What a line has thrown away since it was made: signs of trouble that never became data."""

    late_answers: int = 0  # sound frames that came after their deadline
    foreign_frames: int = 0  # TCP frames of another transaction
    noisy_answers: int = 0  # good answers behind stray bytes
    echoes: int = 0  # requests the adapter gave back to us
    resets: int = 0  # connections closed because the other side had stopped making sense


@dataclass(slots=True)
class _Request:
    """The request that is out."""

    expected: Expected
    deadline: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))
    error: DriverError | None = None
    answered: bool = False


class ModbusLine:
    """One serial port or one TCP connection, kinds `modbus-rtu` and `modbus-tcp`.

    Not thread-safe; concurrent `read`s take turns. Nothing is opened before `open`. A lost connection shows as BusDown
    and in `connected`; opening again is the caller's decision.
    """

    def __init__(self, bus: Bus) -> None:
        if bus.kind not in {"modbus-rtu", "modbus-tcp"}:
            raise ValueError(f"bus {bus.name}: a Modbus line is modbus-rtu or modbus-tcp, not {bus.kind}")
        self.bus = bus
        self.counts = LineCounts()
        self.was_reset = False  # the last connection was closed from this side
        self.latency_s = 0.0  # of the last answer
        self.gap_s = character_gap_s(bus.baud) if bus.kind == "modbus-rtu" else 0.0
        self._rtu = bus.kind == "modbus-rtu"
        self._client: AsyncModbusSerialClient | AsyncModbusTcpClient | None = None
        self._turn = asyncio.Lock()
        self._quiet = Quiet(self.gap_s)
        self._request: _Request | None = None
        self._buffer = b""
        self._unanswered = 0

    @property
    def connected(self) -> bool:
        """Whether the port or the connection is open, as far as anyone can tell."""
        return self._client is not None and self._client.connected

    @property
    def where(self) -> str:
        """Port or address, for messages."""
        return self.bus.port if self._rtu else f"{self.bus.host}:{self.bus.tcp_port}"

    async def open(self) -> None:
        """Opens the port, exclusively, or connects. BusDown says why it could not be done."""
        self.close()
        logging.getLogger("pymodbus.logging").setLevel(logging.CRITICAL)  # everything it knows is told from here
        client = self._new_client()
        causes: list[Exception] = []
        create = client.ctx.call_create

        async def noting_why() -> object:
            try:
                return await create()
            except (OSError, ValueError, termios.error) as error:
                causes.append(error)
                raise OSError(str(error)) from error

        client.ctx.call_create = noting_why
        try:
            with heeding_cancellation():
                async with asyncio.timeout(_CONNECT_S):
                    opened = await client.connect()
        except TimeoutError:
            opened = False
            causes.append(TimeoutError(f"no connection within {_CONNECT_S:g} s"))
        if not opened:
            client.close()
            cause = causes[0] if causes else None
            raise BusDown(f"bus {self.bus.name}: {why_not_open(self.where, cause, serial=self._rtu)}") from cause
        self._client = client
        self.was_reset = False
        self._buffer = b""
        self._unanswered = 0
        self._quiet.heard(asyncio.get_running_loop().time())
        if isinstance(client, AsyncModbusTcpClient):
            tune(client.ctx.transport)

    def close(self) -> None:
        """Closes port or connection; a request that is out fails with BusDown. Harmless when not open."""
        client, self._client = self._client, None
        if client is not None:
            client.close()
            self._lost()

    def busy_s(self, unit: int) -> float:
        """How many seconds from now this unit must not be asked, because something may still be on its way."""
        return max(0.0, self._quiet.free_at(unit) - asyncio.get_running_loop().time()) if self._rtu else 0.0

    async def read(self, unit: int, function: int, address: int, count: int, timeout_s: float) -> tuple[int, ...]:
        """Reads registers: `function` 3 or 4, wire `address`, at most 125. Waits until the line may be used.

        `timeout_s` runs from the request (and never less than twice the time the bytes take on the wire). Raises
        BusDown, DeviceSilent (BadCheckSum when something came), BadReply, DeviceFault or NoSuchRegister.

        RTU has no transaction number, so an answer that comes after its deadline looks like the answer to the next
        request. Therefore a unit that let a deadline pass is not asked again for as long as it had, nor is any other
        unit when it is known to answer late; and the first answer it gives after that is thrown away and the request
        made a second time.
        """
        async with self._turn:
            expected = Expected(unit, function, address, count)
            if self._rtu and self._quiet.owes(unit):
                await self._silence(unit)
                await self._ask(expected, timeout_s)
                self._quiet.settled(unit, self._quiet.heard_at)
            await self._silence(unit)
            return await self._ask(expected, timeout_s)

    async def command(self, unit: int, pdu: bytes, timeout_s: float) -> None:
        """Sends a request as it stands: a write of one register (function 6 or 16), or a request of no registers.

        Waits and raises as `read` does, and never sends a command twice; returns when the device has confirmed it.
        """
        async with self._turn:
            await self._silence(unit)
            await self._ask(Expected.to_command(unit, pdu, echoing=self.counts.echoes > 0), timeout_s)

    async def _ask(self, expected: Expected, timeout_s: float) -> tuple[int, ...]:
        if self._client is None or not self._client.connected:
            raise BusDown(f"bus {self.bus.name}: {self.where} is not open")
        loop = asyncio.get_running_loop()
        client = self._client
        limit_s = max(timeout_s, 2 * self._wire_s(expected.count))
        request = self._request = _Request(expected)
        if self._rtu:
            self._buffer = b""  # whatever is left there is not the answer to this request
        started = loop.time()
        try:
            with heeding_cancellation():
                async with asyncio.timeout(limit_s) as request.deadline:
                    response = await client.execute(False, _Pdu(expected))
        except TimeoutError as error:
            raise self._failure(request, started, limit_s) from error
        except ModbusException as error:
            self.close()
            raise BusDown(f"bus {self.bus.name}: {error}") from error
        except asyncio.CancelledError:
            self._quiet.abandoned(expected.unit, loop.time(), limit_s)
            raise
        finally:
            self._request = None
        self._unanswered = 0
        self.latency_s = loop.time() - started
        self._quiet.answered(expected.unit, started, loop.time())
        return self._checked(response, expected)

    def _failure(self, request: _Request, started: float, limit_s: float) -> DriverError:
        """Why there is no answer, after noting for how long the line or the unit must be left alone."""
        unit = request.expected.unit
        if request.error is not None:
            if self._quiet.owing() - {unit}:  # it may be another's late answer, spoilt, and this one's is still to come
                self._quiet.timed_out(unit, started, limit_s)
            else:
                self._quiet.garbled(unit, started, limit_s)
            self._unanswered = 0
            return request.error
        if not self.connected:
            return BusDown(f"bus {self.bus.name}: {self.where} went away while unit {unit} was asked")
        self._quiet.timed_out(unit, started, limit_s)
        self._unanswered += 1
        if self._unanswered >= _GIVE_UP_AFTER:
            self._reset()
        if self._rtu and self._buffer:
            return BadCheckSum(f"unit {unit}: {len(self._buffer)} bytes came within {limit_s:g} s, but no sound answer")
        return DeviceSilent(f"unit {unit} did not answer within {limit_s:g} s")

    def _checked(self, response: ModbusPDU, expected: Expected) -> tuple[int, ...]:
        if response.isError():
            code = response.exception_code
            text = f"unit {expected.unit}, registers {expected.address} to {expected.address + expected.count - 1}"
            if code in _NO_SUCH:
                raise NoSuchRegister(f"{text}: exception {code}, the device has no such register", code)
            if code in _ABSENT_UNIT:
                raise DeviceSilent(f"{text}: exception {code}, the TCP gateway cannot reach it")
            raise DeviceFault(f"{text}: exception {code}, the device cannot answer now", code)
        words = tuple(response.registers) if not expected.command else ()
        same = response.function_code == expected.function and response.dev_id == expected.unit
        if not same or len(words) != expected.count:
            raise BadReply(f"unit {expected.unit}: the answer is not to this request: {response}")
        return words

    async def _silence(self, unit: int) -> None:
        """Waits until the line may be used for this unit; what comes in meanwhile is thrown away."""
        if not self._rtu:
            return
        loop = asyncio.get_running_loop()
        give_up = max(loop.time(), self._quiet.free_at(unit)) + _NOISE_S
        while (wait_s := self._quiet.free_at(unit) - loop.time()) > 0:
            if loop.time() > give_up:
                raise BadCheckSum(f"bus {self.bus.name}: the line is never silent: noise, or a second client on it")
            if wait_s < _TICK_S:
                select.select((), (), (), wait_s)  # exact, and shorter than what the event loop would make of it
                wait_s = 0.0
            await asyncio.sleep(max(0.0, wait_s - _TICK_S))

    def _wire_s(self, count: int) -> float:
        characters = _REQUEST_BYTES + 5 + 2 * count
        return characters * BITS_PER_CHARACTER / self.bus.baud if self._rtu else 0.0

    def _received(self, data: bytes, transaction: int) -> bytes | None:
        """Everything that arrives, as it arrives; the answer's PDU once it is there."""
        self._quiet.heard(asyncio.get_running_loop().time())
        self._buffer = (self._buffer + data)[-_MAX_BUFFER:]
        request = self._request
        if request is None or request.answered or request.error is not None:
            self._stray()
            return None
        if self._rtu:
            scan = scan_rtu(self._buffer, request.expected, self._quiet.owing())
        else:
            scan = scan_tcp(self._buffer, replace(request.expected, transaction=transaction))
        self._buffer = scan.rest
        self._note(scan)
        if scan.found is Found.REPLY:
            request.answered = True
            return scan.pdu
        if scan.found is Found.MORE:
            return None
        unit = request.expected.unit
        if scan.found is Found.GARBLED:
            request.error = BadCheckSum(f"unit {unit}: {scan.text}")
        else:
            request.error = BadReply(f"unit {unit}: {scan.text}")
        self._cut_short(request)
        if scan.found is Found.BROKEN:
            self._reset()
        return None

    def _stray(self) -> None:
        """What comes while nobody asks: an answer that missed its deadline, or noise."""
        if not self._rtu:
            scan = scan_tcp(self._buffer, None)
            self._buffer = scan.rest
            self._note(scan)
            if scan.found is Found.BROKEN:
                self._reset()
            return
        while self._buffer and (length := rtu_frame(self._buffer)) != 0:
            if length is not None:
                self._late(self._buffer[0])
            self._buffer = self._buffer[length:] if length else b""

    def _late(self, unit: int) -> None:
        self.counts.late_answers += 1
        self._quiet.paid(unit)
        log.debug("bus %s: unit %d answered after its deadline; thrown away", self.bus.name, unit)

    def _note(self, scan: Scan) -> None:
        if self._rtu:
            for unit in scan.skipped:
                self._late(unit)
            self.counts.noisy_answers += bool(scan.noise)
        else:
            self.counts.foreign_frames += len(scan.skipped)
        if scan.echoed:
            if not self.counts.echoes:
                log.warning("bus %s: the adapter gives back what is sent (local echo); it is skipped", self.bus.name)
            self.counts.echoes += 1

    def _reset(self) -> None:
        """The connection is of no more use: close it, so that the caller opens a new one."""
        self.counts.resets += 1
        self.was_reset = True
        log.debug("bus %s: closing %s to start afresh", self.bus.name, self.where)
        self.close()

    def _lost(self, connected: bool = False) -> None:
        """The transport is gone: a request that is out need not wait for its deadline."""
        if not connected and self._request is not None and not self._request.answered:
            self._cut_short(self._request)

    def _cut_short(self, request: _Request) -> None:
        if not request.deadline.expired():
            request.deadline.reschedule(asyncio.get_running_loop().time())

    def _new_client(self) -> AsyncModbusSerialClient | AsyncModbusTcpClient:
        client: AsyncModbusSerialClient | AsyncModbusTcpClient
        if self._rtu:
            client = AsyncModbusSerialClient(
                self.bus.port,
                framer=FramerType.RTU,
                baudrate=self.bus.baud,
                parity=self.bus.parity,
                stopbits=self.bus.stop_bits,
                reconnect_delay=0,
                timeout=_LIBRARY_WAIT_S,
                retries=0,
                trace_connect=self._lost,
            )
            client.ctx.framer = _StrictRtu(self._received)
        else:
            client = AsyncModbusTcpClient(
                self.bus.host,
                port=self.bus.tcp_port,
                framer=FramerType.SOCKET,
                reconnect_delay=0,
                timeout=_LIBRARY_WAIT_S,
                retries=0,
                trace_connect=self._lost,
            )
            client.ctx.framer = _StrictTcp(self._received)
        client.ctx.max_buffer_size = 1 << 20  # what has come is bounded here, not thrown away there
        return client


class _Pdu(ModbusPDU):
    """Our request as the library sends it: what is asked for is checked before, and not again by the library."""

    def __init__(self, expected: Expected) -> None:
        super().__init__(dev_id=expected.unit)
        pdu = request_pdu(expected)
        self.function_code, self._body = pdu[0], pdu[1:]

    def encode(self) -> bytes:
        """Everything behind the function code."""
        return self._body


class _Strict(FramerBase):
    """The library's framing with our own idea of an answer."""

    def __init__(self, received: Callable[[bytes, int], bytes | None]) -> None:
        super().__init__(DecodePDU(False))
        self._received = received

    def handleFrame(self, data: bytes, exp_devid: int, exp_tid: int) -> tuple[int, ModbusPDU | None]:  # noqa: N802 - the library's name
        """Takes everything; gives the answer once it is there."""
        pdu = self._received(data, exp_tid)
        response = self.decoder.decode(pdu) if pdu else None
        if response is not None:
            response.dev_id, response.transaction_id = exp_devid, exp_tid
        return len(data), response


class _StrictRtu(_Strict, FramerRTU):
    """RTU requests, strict answers."""


class _StrictTcp(_Strict, FramerSocket):
    """TCP requests, strict answers."""
