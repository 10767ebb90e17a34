"""The proxy for faults: put between a gateway and its devices, on TCP or on a serial line."""

import asyncio
import os
import tty
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import serial

from simulators.faults import FaultyLink, Script
from simulators.framing import Framing

__all__ = ["SerialProxy", "TcpProxy"]

_CHUNK = 4096


class TcpProxy:
    """Listens for gateways and calls the devices at `to` for each; `port` 0 takes a free one.

    One script governs all connections, so that it goes on where it was when a gateway calls again.
    """

    def __init__(
        self, framing: Framing, script: Script, to: tuple[str, int], *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self.host = host
        self.port = port
        self._framing = framing
        self._script = script
        self._to = to
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        """Listen; `port` is the real one from here on. OSError when it is taken."""
        self._server = await asyncio.start_server(self._accept, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Close everything; again if you like."""
        if self._server is not None:
            server, self._server = self._server, None
            server.close()
            for task in self._open:
                task.cancel()
            if self._open:
                await asyncio.wait(self._open)
            await server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101 - a callback of the server is a task
        self._open.add(task)
        try:
            await self._carry(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # the devices cannot be reached, or the proxy stops: the gateway sees its connection end
        finally:
            writer.transport.abort()
            self._open.discard(task)

    async def _carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection(*self._to)
        link = FaultyLink(self._framing, self._script, writer.write, far_writer.write, writer.transport.abort)
        near = asyncio.create_task(_pump(reader, link.from_gateway), name="proxy: from the gateway")
        far = asyncio.create_task(_pump(far_reader, link.from_device), name="proxy: from the devices")
        try:
            await asyncio.wait((near, far), return_when=asyncio.FIRST_COMPLETED)
            if link.dead:
                await near  # half-open: that the devices hung up reaches nobody
        finally:
            link.close()
            far_writer.transport.abort()
            for task in (near, far):
                task.cancel()
            await asyncio.wait((near, far))


async def _pump(reader: asyncio.StreamReader, onward: Callable[[bytes], None]) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(_CHUNK):
            onward(data)


class SerialProxy:
    """A pseudo-terminal for the gateway, at `path`, before a real serial port with the devices.

    `gone` is set when that port vanishes. `link` is a name for the pseudo-terminal that stays the same; a symbolic link
    that is there already is replaced, anything else is left alone and refused.
    """

    def __init__(
        self,
        framing: Framing,
        script: Script,
        port: str,
        *,
        baud: int = 9600,
        parity: str = "N",
        stop_bits: int = 1,
        link: Path | None = None,
    ) -> None:
        self.path = ""
        self.gone = asyncio.Event()
        self._framing = framing
        self._script = script
        self._port, self._baud, self._parity, self._stop_bits = port, baud, parity, stop_bits
        self._link_path = link
        self._serial: serial.Serial | None = None
        self._ends: tuple[int, int] | None = None
        self._faulty: FaultyLink | None = None

    def start(self) -> None:
        """Open both sides. OSError when the port cannot be opened, or the name of the link is taken."""
        bits = serial.SEVENBITS if self._framing.name == "ascii" and self._parity != "N" else serial.EIGHTBITS
        self._serial = serial.Serial(
            self._port, self._baud, bits, self._parity, self._stop_bits, timeout=0, write_timeout=1, exclusive=True
        )
        try:
            master, slave = self._ends = os.openpty()
            tty.setraw(slave)
            os.set_blocking(master, False)
            self.path = os.ttyname(slave)
            if self._link_path is not None:
                self._name(self._link_path)
        except OSError:
            self.stop()
            raise
        self._faulty = FaultyLink(self._framing, self._script, self._to_gateway, self._to_device)
        loop = asyncio.get_running_loop()
        loop.add_reader(master, self._from_gateway)
        loop.add_reader(self._serial.fileno(), self._from_device)

    def stop(self) -> None:
        """Close both sides; again if you like."""
        loop = asyncio.get_running_loop()
        if self._faulty is not None:
            self._faulty.close()
        if self._serial is not None and self._serial.is_open:
            loop.remove_reader(self._serial.fileno())
            self._serial.close()
        if self._ends is not None:
            ends, self._ends = self._ends, None
            loop.remove_reader(ends[0])
            for end in ends:
                os.close(end)
            if self._link_path is not None and self._link_path.is_symlink():
                self._link_path.unlink()

    def _name(self, link: Path) -> None:
        if link.is_symlink():
            link.unlink()
        link.symlink_to(self.path)

    def _from_gateway(self) -> None:
        assert self._ends is not None and self._faulty is not None  # noqa: S101, PT018 - it is open
        with suppress(BlockingIOError):
            self._faulty.from_gateway(os.read(self._ends[0], _CHUNK))

    def _from_device(self) -> None:
        assert self._serial is not None and self._faulty is not None  # noqa: S101, PT018 - it is open
        try:
            data = os.read(self._serial.fileno(), _CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if not data:  # readable and empty: the adapter was pulled out
            asyncio.get_running_loop().remove_reader(self._serial.fileno())
            self.gone.set()
            return
        self._faulty.from_device(data)

    def _to_gateway(self, data: bytes) -> None:
        if self._ends is not None:
            with suppress(BlockingIOError):  # nobody reads and the buffer is full: lost, as on a line
                os.write(self._ends[0], data)

    def _to_device(self, data: bytes) -> None:
        assert self._serial is not None  # noqa: S101 - it is open
        try:
            self._serial.write(data)
        except OSError:
            self.gone.set()
