"""kill -9 and SIGTERM of the real gateway with relays at the far end of the line: no order is ever done twice."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.clock import ScaledClock
from gateway.control import NotRunningError, ask, socket_path
from simulators.instruments import Mag6000
from simulators.modbus import TcpServer
from simulators.relays import RelayModule
from tests.support.gateway_process import GatewayProcess
from tests.support.journal_rows import events
from tests.support.wired_gateway import HORN, PACE, TCP, VALVE, instruments, site_file

PATIENCE_S = 60.0
SPEED = 60


class Scene:
    """One gateway process and its relays."""

    def __init__(self, gateway: GatewayProcess, meter: Mag6000, relays: RelayModule) -> None:
        self.gateway, self.meter, self.relays = gateway, meter, relays

    async def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until something holds."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not holds():  # noqa: ASYNC110  # another process does what is waited for
                    await asyncio.sleep(0.002)
        except TimeoutError:
            raise AssertionError(f"waited for {what}\n{self.gateway.log[-3000:]}") from None

    async def call(self, command: str, **args: Any) -> dict[str, Any]:
        """One request over the control socket, as soon as somebody listens."""
        path = socket_path(self.gateway.folder / "state")
        async with asyncio.timeout(PATIENCE_S):
            while True:
                try:
                    return await ask(path, {"command": command, "actor": "Ann", "args": args})
                except NotRunningError:
                    await asyncio.sleep(0.05)

    def notes(self, kind: str) -> list[dict[str, Any]]:
        """The notes of a kind in the journal."""
        return [note["body"] for note in events(self.gateway.journal, "note") if note["kind"] == kind]

    def pulses(self) -> list[str]:
        """The keys of the pulses ordered."""
        return [note["key"] for note in self.notes("order") if note["output"] == "pace"]

    def ends(self) -> dict[str, str]:
        """What became of each."""
        return {note["key"]: note["result"] for note in self.notes("order_done") if note["output"] == "pace"}


async def _scene(folder: Path, body: Callable[[Scene], Awaitable[None]]) -> Scene:
    meter, relays = instruments()
    server = TcpServer([meter, relays])
    await server.start()
    site = site_file(folder, TCP.format(port=server.port), "tcp", "tcp", expires="20 min", pulse="10 s")
    gateway = GatewayProcess(site, folder, ScaledClock(SPEED))
    scene = Scene(gateway, meter, relays)
    try:
        await gateway.start()
        await body(scene)
        assert await gateway.stop() == 0, gateway.log
    finally:
        await gateway.kill()
        await server.stop()
    return scene


@pytest.mark.timeout(180)
def test_no_order_is_done_twice(tmp_path: Path) -> None:
    """Killed between order and write, and in the middle of a pulse: each order makes one pulse at most, ever."""

    async def body(scene: Scene) -> None:
        relays = scene.relays
        assert (await scene.call("sampler", action="start"))["ok"]
        for trial in range(2):
            made, ordered = relays.rising[PACE], len(scene.pulses())
            await scene.until(lambda made=made: relays.rising[PACE] > made + 1, "pulses that are made")
            relays.silent = True  # what is asked from here on is heard and not done
            ordered = len(scene.pulses())
            await scene.until(lambda ordered=ordered: len(scene.pulses()) > ordered, "an order on record")
            await scene.gateway.kill()
            cut_short = [key for key in scene.pulses() if key not in scene.ends()]
            assert cut_short, "the kill came between order and end"
            before = relays.rising[PACE]
            relays.silent = False
            await scene.gateway.start()
            await scene.until(lambda keys=cut_short: all(key in scene.ends() for key in keys), "their end on record")
            assert {scene.ends()[key] for key in cut_short} == {"interrupted"}, trial
            if not before:
                continue
            await scene.until(lambda: relays.coils[PACE], "a pulse")
            await scene.gateway.kill()  # the relay is closed now, and nobody is there to open it
            assert relays.coils[PACE]
            made = relays.rising[PACE]
            relays.written.clear()
            await scene.gateway.start()
            await scene.until(lambda: not relays.coils[PACE], "the safe state of the start")
            assert next(on for coil, on in relays.written if coil == PACE) is False, "off before anything else"
            assert relays.rising[PACE] == made

    scene = asyncio.run(_scene(tmp_path, body))
    keys, ends = scene.pulses(), scene.ends()
    assert len(set(keys)) == len(keys)
    assert set(ends) == set(keys)
    done = sum(result == "done" for result in ends.values())
    assert done <= scene.relays.rising[PACE] <= len(keys)
    assert sum(result == "interrupted" for result in ends.values()) >= 4
    numbers = [int(key.rpartition(":")[2]) for key in keys]
    assert numbers == sorted(numbers), "pulse numbers go on over restarts"
    assert not scene.relays.coils[PACE]


@pytest.mark.timeout(120)
def test_a_clean_end_leaves_everything_safe_but_a_shut_valve(tmp_path: Path) -> None:
    """SIGTERM: the horn falls silent, and the valve that was shut stays shut, over the next start too."""

    async def body(scene: Scene) -> None:
        relays = scene.relays
        for name in ("horn", "valve"):
            assert (await scene.call("outputs", action="on", output=name, reason="drill"))["ok"]
        await scene.until(lambda: relays.coils[HORN] and relays.coils[VALVE], "horn and valve")
        assert await scene.gateway.stop() == 0, scene.gateway.log
        assert not relays.coils[HORN]
        assert relays.coils[VALVE]
        ends = [note for note in scene.notes("safe_state") if note["when"] == "end"]
        assert ends[-1]["outputs"]["horn"] == "off"
        relays.written.clear()
        await scene.gateway.start()
        await scene.until(lambda: relays.coils[HORN], "the horn, which a person switched on")
        await scene.until(lambda: (VALVE, True) in relays.written, "the valve told again")
        assert (VALVE, False) not in relays.written
        assert (await scene.call("outputs", action="release", output="horn", reason="over"))["ok"]
        await scene.until(lambda: not relays.coils[HORN], "silence")
        assert (await scene.call("outputs", action="release", output="valve", reason="over"))["ok"]
        await scene.until(lambda: not relays.coils[VALVE], "an open valve")

    asyncio.run(_scene(tmp_path, body))
