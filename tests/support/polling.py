"""Runs a bus against scripted instruments and keeps what it delivers and tells."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

from gateway.drivers.bus import PollBus
from gateway.model import Instant, Note, Sample
from gateway.site import Bus
from tests.support.scripted_devices import SerialDevices, TcpDevices

PATIENCE_S = 30.0  # nothing here takes as long; who waits longer has found a fault


class Deliveries:
    """Everything a bus delivered, call by call, and every note it told."""

    def __init__(self) -> None:
        self.calls: list[tuple[Sample, ...]] = []
        self.notes: list[Note] = []

    def deliver(self, samples: tuple[Sample, ...], now: Instant) -> None:
        """One call of the bus."""
        self.calls.append(samples)
        assert all(sample.at.mono_us <= now.mono_us for sample in samples)

    def of(self, name: str) -> list[Sample]:
        """The samples of one channel."""
        return [sample for samples in self.calls for sample in samples if sample.channel == name]

    @property
    def told(self) -> list[str]:
        """The kinds of the notes, in order."""
        return [note.kind for note in self.notes]


Until = Callable[[Callable[[], bool]], Awaitable[None]]


@asynccontextmanager
async def polling(bus: PollBus) -> AsyncIterator[Until]:
    """Runs the bus; gives a way to wait until something has come true. What ended the bus by itself is raised."""
    task = asyncio.create_task(bus.run())
    raised = False

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE_S):
            while not condition() and not task.done():  # noqa: ASYNC110 - the conditions are other parties' logs
                await asyncio.sleep(0.005)
        if task.done():
            nonlocal raised
            raised = True
            task.result()

    try:
        yield until
    finally:
        task.cancel()
        await asyncio.wait([task])
        if not raised:
            with suppress(asyncio.CancelledError):
                task.result()


def serial(peer: SerialDevices, baud: int = 115200) -> Bus:
    """The bus on that line."""
    return Bus("bench", "modbus-rtu", port=peer.path, baud=baud)


def over_tcp(server: TcpDevices) -> Bus:
    """The bus to that server."""
    return Bus("bench", "modbus-tcp", host="127.0.0.1", tcp_port=server.port)


def run(scenario: Callable[[], object]) -> None:
    """Run one scenario; a task that outlives it fails the test."""
    asyncio.run(scenario())  # type: ignore[arg-type]
