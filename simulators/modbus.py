"""The only simulator module that touches pymodbus: instruments served on TCP and on a serial line.

The library's traps (3.16) are kept away from here: a unit that is not on the line would be answered with exception 4,
so requests to absent or silent units are dropped before they are executed; and values are never pushed into its store,
which another request could be reading, but fetched from the instrument inside each request.
"""

import logging
from collections import Counter
from collections.abc import Iterable

from pymodbus import FramerType
from pymodbus.constants import ExcCodes
from pymodbus.pdu import ModbusPDU
from pymodbus.server import ModbusSerialServer, ModbusTcpServer
from pymodbus.simulator import DataType, SimData, SimDevice

from simulators.instruments import Instrument, Refusal
from simulators.relays import RelayModule

__all__ = ["SerialServer", "TcpServer"]


class _Server:
    """Instruments that share one line or socket, by unit. `heard` counts the requests to each unit, answered or not.

    ValueError for two instruments with one unit.
    """

    def __init__(self, instruments: Iterable[Instrument]) -> None:
        self.heard: Counter[int] = Counter()
        self._instruments: dict[int, Instrument] = {}
        for instrument in instruments:
            if instrument.unit in self._instruments:
                raise ValueError(f"two instruments answer as unit {instrument.unit}")
            self._instruments[instrument.unit] = instrument
        self._server: ModbusTcpServer | ModbusSerialServer | None = None

    async def stop(self) -> None:
        """Close the port and every connection; nothing when it was never started."""
        if self._server is not None:
            server, self._server = self._server, None
            await server.shutdown()  # type: ignore[no-untyped-call]  # the library leaves it so

    @staticmethod
    def _hush() -> None:
        """The library greets every port at INFO; a person who watches the demo has no use for it."""
        logger = logging.getLogger("pymodbus.logging")
        logger.setLevel(max(logger.level, logging.WARNING))

    def _devices(self) -> list[SimDevice]:
        return [_device(instrument) for instrument in self._instruments.values()]

    def _hear(self, sending: bool, pdu: ModbusPDU) -> ModbusPDU:
        """The library's hook on every request and answer: None, which its type does not know, drops it."""
        if sending:
            return pdu
        self.heard[pdu.dev_id] += 1
        instrument = self._instruments.get(pdu.dev_id)
        if instrument is None or instrument.silent:
            return None  # type: ignore[return-value]  # checked by the library: no request, no answer
        return pdu


class TcpServer(_Server):
    """Instruments behind one address of this machine, Modbus/TCP or RTU frames over TCP; `port` 0 takes a free one."""

    def __init__(self, instruments: Iterable[Instrument], *, rtu_framing: bool = False, port: int = 0) -> None:
        super().__init__(instruments)
        self.host = "127.0.0.1"
        self.port = port
        self._framer = FramerType.RTU if rtu_framing else FramerType.SOCKET

    async def start(self) -> None:
        """Listen; `port` is the real one from here on. OSError when the port is taken."""
        self._hush()
        server = ModbusTcpServer(
            self._devices(), framer=self._framer, address=(self.host, self.port), trace_pdu=self._hear
        )
        try:
            await server.serve_forever(background=True)
        except RuntimeError as error:
            raise OSError(f"cannot listen on {self.host}:{self.port}") from error
        self._server = server
        self.port = server.transport.sockets[0].getsockname()[1]  # type: ignore[attr-defined]  # an asyncio.Server


class SerialServer(_Server):
    """Instruments on one serial line, RTU frames or ASCII. `path` is this end of the line."""

    def __init__(
        self,
        instruments: Iterable[Instrument],
        path: str,
        *,
        baud: int = 9600,
        parity: str = "N",
        stop_bits: int = 1,
        ascii_framing: bool = False,
    ) -> None:
        super().__init__(instruments)
        self._framer = FramerType.ASCII if ascii_framing else FramerType.RTU
        self._path, self._baud, self._parity, self._stop_bits = path, baud, parity, stop_bits

    async def start(self) -> None:
        """Open the port. OSError when it cannot be opened."""
        self._hush()
        server = ModbusSerialServer(
            self._devices(),
            framer=self._framer,
            port=self._path,
            baudrate=self._baud,
            parity=self._parity,
            stopbits=self._stop_bits,
            trace_pdu=self._hear,
        )
        try:
            await server.serve_forever(background=True)
        except RuntimeError as error:
            raise OSError(f"cannot open {self._path}") from error
        self._server = server


def _device(instrument: Instrument) -> SimDevice:
    """The library's view of an instrument: the same register ranges, each read fetched when it is asked for."""
    if isinstance(instrument, RelayModule):
        return _relay_device(instrument)

    async def serve(
        function: int, start: int, address: int, count: int, registers: list[int], values: list[int] | list[bool] | None
    ) -> ExcCodes | None:
        if values is not None:
            return ExcCodes.ILLEGAL_FUNCTION  # nothing here may be written
        answer = instrument.read(function, address, count)
        if isinstance(answer, Refusal):
            return ExcCodes(int(answer))
        registers[address - start : address - start + count] = answer
        return None

    blocks = [SimData(address, count=count, datatype=DataType.REGISTERS) for address, count in instrument.blocks()]
    return SimDevice(instrument.unit, simdata=blocks, action=serve)


def _relay_device(relays: RelayModule) -> SimDevice:
    """Coils and inputs: the library keeps sixteen in a word, each fetched when it is asked for."""

    async def serve(
        function: int, start: int, address: int, count: int, registers: list[int], values: list[int] | list[bool] | None
    ) -> ExcCodes | None:
        if function == 6 and address == relays.watchdog_at:
            relays.armed += [] if values is None else [int(values[0])]
            return None
        if function == 3 and address == relays.watchdog_at:
            return None
        if function not in relays.functions:
            return ExcCodes.ILLEGAL_FUNCTION
        if values is not None:
            refusal = relays.write_coils(address, [bool(value) for value in values])
            return None if refusal is None else ExcCodes(int(refusal))
        word = sum(bit << place for place, bit in enumerate(relays.bits(function)))
        registers[address // 16 - start] = word
        if relays.on_read is not None:
            relays.on_read(address, count)
        return None

    bits = [SimData(0, values=[False] * 16, datatype=DataType.BITS)]
    registers = [SimData(relays.watchdog_at or 0, count=1, datatype=DataType.REGISTERS)]
    return SimDevice(relays.unit, simdata=(bits, list(bits), registers, list(registers)), action=serve)
