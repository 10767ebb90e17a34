"""The one adapter to pymodbus: a serial port or a TCP connection on which one request at a time is sent.

The library opens the port, frames the request, sends it and hands over what comes in. It is asked for nothing else: its
framing takes late, short and foreign answers for the right one, its time-out repeats at once, and it does not say why a
port did not open.
"""

import asyncio
import logging
import select
import termios
import traceback
from collections.abc import Callable

from pymodbus import FramerType, ModbusException
from pymodbus.client import AsyncModbusSerialClient, AsyncModbusTcpClient
from pymodbus.framer import FramerAscii, FramerBase, FramerRTU, FramerSocket
from pymodbus.pdu import DecodePDU, ModbusPDU
from pymodbus.transaction import TransactionManager

from gateway.drivers.cancellation import heeding_cancellation
from gateway.drivers.opening import claim, release, tune, why_not_open
from gateway.errors import BusDown
from gateway.site import SERIAL_KINDS, Bus

__all__ = ["Connection"]

_CONNECT_S = 3.0
_LIBRARY_WAIT_S = 3600.0  # the library's own timeout never fires first: the deadline is the line's
_BUFFER_BYTES = 1 << 20  # what has come is bounded by the line, not thrown away by the library

Received = Callable[[bytes, int], bytes | None]
"""Gets everything that arrives, as it arrives, with the transaction that is out; gives the answer's PDU, or None."""


class Connection:
    """Port or connection of one bus. `received` is how an answer is known; `lost` is called when the far end is gone.

    Nothing is opened before `open`. All trouble is BusDown.
    """

    def __init__(self, bus: Bus, received: Received, lost: Callable[[], None]) -> None:
        self.bus = bus
        self.serial = bus.kind in SERIAL_KINDS
        self._received = received
        self._lost = lost
        self._client: AsyncModbusSerialClient | AsyncModbusTcpClient | None = None

    @property
    def connected(self) -> bool:
        """Whether the port or the connection is open, as far as anyone can tell."""
        return self._client is not None and self._client.connected

    @property
    def where(self) -> str:
        """Port or address, for messages."""
        return self.bus.port if self.serial else f"{self.bus.host}:{self.bus.tcp_port}"

    @property
    def unsent(self) -> int:
        """Bytes that were given to the port or the socket and that it has not taken."""
        return self._transport.get_write_buffer_size() if self._transport is not None else 0

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
                _let_go(error)
                raise OSError(str(error)) from error

        client.ctx.call_create = noting_why
        try:
            with heeding_cancellation():
                async with asyncio.timeout(_CONNECT_S):
                    opened = await client.connect()
        except TimeoutError:
            opened = False
            causes.append(TimeoutError(f"no connection within {_CONNECT_S:g} s"))
        except asyncio.CancelledError:
            client.close()  # else a port that was opened in this moment stays locked by nobody
            raise
        if not opened:
            client.close()
            cause = causes[0] if causes else None
            raise BusDown(f"bus {self.bus.name}: {why_not_open(self.where, cause, serial=self.serial)}") from cause
        self._client = client
        if self._transport is None:
            return  # gone again already
        if self.serial:
            client.ctx.low_level_send = _at_once(client.ctx)
            claim(self._transport, self.bus)
        else:
            tune(self._transport)

    def close(self) -> None:
        """Closes port or connection at once, with what has not been sent. Harmless when not open."""
        client, transport = self._client, self._transport
        self._client = None
        if client is None:
            return
        if transport is not None and self.serial:
            release(transport)
        elif transport is not None:
            transport.abort()
        client.close()

    async def ask(self, unit: int, pdu: bytes) -> bytes:
        """Sends a request and waits, without end, for what `received` says is its answer. BusDown when it cannot."""
        if self._client is None or not self._client.connected:
            raise BusDown(f"bus {self.bus.name}: {self.where} is not open")
        try:
            answer = await self._client.execute(False, _Pdu(unit, pdu))
        except ModbusException as error:
            raise BusDown(f"bus {self.bus.name}: {error}") from error
        return answer.pdu if isinstance(answer, _Pdu) else b""

    async def send(self, unit: int, pdu: bytes) -> None:
        """Sends a request that nobody answers. BusDown when it cannot."""
        if self._client is None or not self._client.connected:
            raise BusDown(f"bus {self.bus.name}: {self.where} is not open")
        await self._client.execute(True, _Pdu(unit, pdu))

    @property
    def _transport(self) -> asyncio.Transport | None:
        transport = self._client.ctx.transport if self._client is not None else None
        return transport if isinstance(transport, asyncio.Transport) else None

    def _changed(self, connected: bool) -> None:
        if not connected:
            self._lost()

    def _new_client(self) -> AsyncModbusSerialClient | AsyncModbusTcpClient:
        client: AsyncModbusSerialClient | AsyncModbusTcpClient
        library_type, framer = _FRAMERS[self.bus.kind]
        if self.serial:
            client = AsyncModbusSerialClient(
                self.bus.port,
                framer=library_type,
                baudrate=self.bus.baud,
                bytesize=self.bus.data_bits,
                parity=self.bus.parity,
                stopbits=self.bus.stop_bits,
                reconnect_delay=0,
                timeout=_LIBRARY_WAIT_S,
                retries=0,
                trace_connect=self._changed,
            )
        else:
            client = AsyncModbusTcpClient(
                self.bus.host,
                port=self.bus.tcp_port,
                framer=library_type,
                reconnect_delay=0,
                timeout=_LIBRARY_WAIT_S,
                retries=0,
                trace_connect=self._changed,
            )
        client.ctx.framer = framer(self._received)
        client.ctx.max_buffer_size = _BUFFER_BYTES
        return client


def _let_go(error: Exception) -> None:
    """Closes a serial port that the library opened, locked, and then could not set to the line's characters.

    It keeps no way to it but the frames of the error; left there, the next attempt finds the port in use by nobody.
    """
    for frame, _line in traceback.walk_tb(error.__traceback__):
        port = getattr(frame.f_locals.get("self"), "sync_serial", None)
        if port is not None:
            port.close()


def _at_once(sender: TransactionManager) -> Callable[..., None]:
    """The library's serial transport writes at the event loop's next turn; on a fast line that is a tenth of a gap."""

    def send(data: bytes, addr: tuple[str, int] | None = None) -> None:
        sender.send(data, addr)
        port = getattr(sender.transport, "sync_serial", None)
        write = getattr(sender.transport, "intern_write_ready", None)
        if port is not None and write is not None and select.select((), (port,), (), 0)[1]:
            write()

    return send


class _Pdu(ModbusPDU):
    """A request or an answer as the library carries it: what is asked for is checked before, what comes is after."""

    def __init__(self, unit: int, pdu: bytes, transaction: int = 0) -> None:
        super().__init__(dev_id=unit, transaction_id=transaction)
        self.function_code, self.pdu = pdu[0], pdu

    def encode(self) -> bytes:
        """Everything behind the function code."""
        return self.pdu[1:]


class _Strict(FramerBase):
    """The library's framing of requests, with our own idea of an answer."""

    def __init__(self, received: Received) -> None:
        super().__init__(DecodePDU(False))
        self._received = received

    def handleFrame(self, data: bytes, exp_devid: int, exp_tid: int) -> tuple[int, ModbusPDU | None]:  # noqa: N802 - the library's name
        """Takes everything; gives the answer once it is there."""
        pdu = self._received(data, exp_tid)
        return len(data), None if pdu is None else _Pdu(exp_devid, pdu, exp_tid)


class _StrictRtu(_Strict, FramerRTU):
    """RTU requests, strict answers."""


class _StrictAscii(_Strict, FramerAscii):
    """ASCII requests, strict answers."""


class _StrictTcp(_Strict, FramerSocket):
    """TCP requests, strict answers."""


_FRAMERS: dict[str, tuple[FramerType, Callable[[Received], FramerBase]]] = {
    "modbus-rtu": (FramerType.RTU, _StrictRtu),
    "modbus-rtu-over-tcp": (FramerType.RTU, _StrictRtu),
    "modbus-ascii": (FramerType.ASCII, _StrictAscii),
    "modbus-tcp": (FramerType.SOCKET, _StrictTcp),
}
