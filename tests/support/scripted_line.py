"""Golden wire transcripts: a file of bytes asked and answered, played by a scripted peer on a real pty or socket.

A transcript begins with a sentence and then has one step per line::

    ? 1 3 0 2            the gateway reads: unit, function, address, count
    * 1 05 00 07 FF 00   the gateway commands: unit, and the PDU in hexadecimal
    >> 01 03 ...         the gateway sends exactly these bytes
    << 01 03 ...         the peer sends these bytes
    << @0.5 01 03 ...    the same, after half of the device's timeout
    << ":0103..\\r\\n"     characters instead of bytes, on either side
    = 1234 5678          the read ends with these registers
    done                 the command ends as confirmed, or as sent where nobody confirms
    ! BadReply           the read ends with this error, and with nothing else
    ! NoSuchRegister 2   the same, with the exception code of the answer
    counts 1 2 0 0 1     the unit's late, wrong and garbled answers and its resyncs, as counted
    wait 0.1             nothing happens for so much of the device's timeout
    closed               the connection is closed from the gateway's side
    opened               the gateway connects again
"""

import asyncio
import os
import tty
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from gateway.drivers.modbus import ModbusLine
from gateway.errors import DriverError
from gateway.site import Bus

TIMEOUT_S = 0.25
PATIENCE_S = 10.0  # nothing here takes as long; a peer that waits longer has found a fault


class Pty:
    """The far end of a serial line: `path` is what the gateway opens."""

    def __init__(self) -> None:
        self.master, self._slave = os.openpty()
        tty.setraw(self._slave)
        os.set_blocking(self.master, False)
        self.path = os.ttyname(self._slave)
        self._arrived = asyncio.Event()
        self._received = b""
        asyncio.get_running_loop().add_reader(self.master, self._readable)

    def _readable(self) -> None:
        with suppress(BlockingIOError):
            self._received += os.read(self.master, 4096)
        self._arrived.set()

    @property
    def pending(self) -> bytes:
        """What the gateway sent and nobody has looked at."""
        return self._received

    async def receive(self, length: int) -> bytes:
        """The next bytes that the gateway sent."""
        async with asyncio.timeout(PATIENCE_S):
            while len(self._received) < length:
                self._arrived.clear()
                await self._arrived.wait()
        data, self._received = self._received[:length], self._received[length:]
        return data

    async def send(self, data: bytes) -> None:
        """Bytes to the gateway."""
        os.write(self.master, data)

    async def closed(self) -> None:
        """Nobody can see a port being closed from the far end of a line."""

    def close(self) -> None:
        """Pull the plug."""
        asyncio.get_running_loop().remove_reader(self.master)
        os.close(self.master)
        os.close(self._slave)


class Socket:
    """A server that takes one connection at a time; `port` is where."""

    def __init__(self) -> None:
        self.port = 0
        self._server: asyncio.Server | None = None
        self._connections: asyncio.Queue[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = asyncio.Queue()
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def listen(self, port: int = 0) -> None:
        """Start to accept connections."""
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.put_nowait((reader, writer))

    async def accept(self) -> None:
        """Wait for the next connection and serve that one from now on."""
        async with asyncio.timeout(PATIENCE_S):
            self._reader, self._writer = await self._connections.get()

    async def receive(self, length: int) -> bytes:
        """The next bytes that the gateway sent."""
        assert self._reader is not None
        async with asyncio.timeout(PATIENCE_S):
            return await self._reader.readexactly(length)

    async def send(self, data: bytes) -> None:
        """Bytes to the gateway."""
        assert self._writer is not None
        self._writer.write(data)
        await self._writer.drain()

    async def closed(self) -> None:
        """The gateway has closed its side."""
        assert self._reader is not None
        assert self._writer is not None
        async with asyncio.timeout(PATIENCE_S):
            with suppress(ConnectionResetError):
                assert await self._reader.read() == b""
        self._writer.close()

    async def close(self) -> None:
        """Hang up and stop listening."""
        if self._writer is not None:
            self._writer.close()
        while not self._connections.empty():
            self._connections.get_nowait()[1].close()
        if self._server is not None:
            self._server.close()
            await self._server.wait_closed()
        await asyncio.sleep(0)


@asynccontextmanager
async def serial_line(baud: int = 115200, kind: str = "modbus-rtu") -> AsyncIterator[tuple[Pty, ModbusLine]]:
    """A pty and an opened line on it."""
    peer = Pty()
    line = ModbusLine(Bus("bench", kind, port=peer.path, baud=baud))
    try:
        await line.open()
        yield peer, line
    finally:
        line.close()
        peer.close()


@asynccontextmanager
async def tcp_line(kind: str = "modbus-tcp") -> AsyncIterator[tuple[Socket, ModbusLine]]:
    """A listening socket and a line connected to it."""
    peer = Socket()
    await peer.listen()
    line = ModbusLine(Bus("bench", kind, host="127.0.0.1", tcp_port=peer.port))
    try:
        await line.open()
        await peer.accept()
        yield peer, line
    finally:
        line.close()
        await peer.close()


async def play(name: str, steps: Sequence[str], peer: Pty | Socket, line: ModbusLine) -> None:
    """Play one transcript; AssertionError names the line of it that did not hold."""
    reading: asyncio.Task[tuple[int, ...] | None] | None = None
    for number, text in enumerate(steps, start=1):
        kind, _, rest = text.partition(" ")
        where = f"{name}:{number}: {text}"
        try:
            match kind:
                case "?":
                    unit, function, address, count = map(int, rest.split())
                    reading = asyncio.create_task(line.read(unit, function, address, count, TIMEOUT_S))
                case "*":
                    unit_text, _, pdu = rest.partition(" ")
                    reading = asyncio.create_task(line.command(int(unit_text), bytes.fromhex(pdu), TIMEOUT_S))
                case ">>":
                    wanted = bytes_of(rest)
                    assert (await peer.receive(len(wanted))).hex(" ") == wanted.hex(" "), where
                case "<<":
                    if rest.startswith("@"):
                        share, _, rest = rest[1:].partition(" ")
                        await asyncio.sleep(float(share) * TIMEOUT_S)
                    await peer.send(bytes_of(rest))
                case "=":
                    assert reading is not None, where
                    assert await reading == tuple(int(word, 16) for word in rest.split()), where
                case "done":
                    assert reading is not None, where
                    assert await reading is None, where
                case "counts":
                    unit, *wanted_counts = map(int, rest.split())
                    counts = line.counts.of(unit)
                    told = [counts.late_answers, counts.wrong_answers, counts.garbled, counts.resyncs]
                    assert told == wanted_counts, f"{where}: {told}"
                case "!":
                    assert reading is not None, where
                    await _fails(reading, rest.split(), where)
                case "wait":
                    await asyncio.sleep(float(rest) * TIMEOUT_S)
                case "closed":
                    await peer.closed()
                case "opened":
                    await line.open()
                    assert isinstance(peer, Socket), where
                    await peer.accept()
                case _:
                    pass  # the sentence
        except TimeoutError as error:
            raise AssertionError(f"{where}: nothing came") from error


def bytes_of(text: str) -> bytes:
    """The bytes of a step: hexadecimal, or characters in quotes."""
    if text.startswith('"'):
        return text.strip('"').encode("ascii").decode("unicode_escape").encode("latin-1")
    return bytes.fromhex(text)


async def _fails(reading: asyncio.Task[tuple[int, ...] | None], wanted: list[str], where: str) -> None:
    outcome: object
    try:
        outcome = await reading
    except DriverError as error:
        outcome = error
    assert type(outcome).__name__ == wanted[0], f"{where}: {outcome!r}"
    if len(wanted) > 1:
        assert getattr(outcome, "code", None) == int(wanted[1]), f"{where}: {outcome!r}"
