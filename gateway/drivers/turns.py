"""The right to make one request on a line: who has it, and what must pass between two requests."""

import asyncio
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from gateway.clock import Clock
from gateway.drivers.arbiter import Arbiter
from gateway.drivers.device_state import DeviceState
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.schedule import Claim
from gateway.errors import DeviceSilent

__all__ = ["LineTurn", "LineTurns"]


class LineTurns:
    """The turns on one line. A device is not asked within its gap after its last request.

    After a deadline that passed nobody is asked within that gap: others have heard the request too, and may take the
    next one for its answer if it comes too soon. A turn begins when `opened` has returned: a line that was closed to
    start afresh is open again in a moment.
    """

    def __init__(self, line: ModbusLine, clock: Clock, opened: Callable[[], Awaitable[object]]) -> None:
        self._line = line
        self._opened = opened
        self._arbiter = Arbiter(lambda: clock.now().mono_us)
        self._hush_until_s = 0.0  # event loop time

    def of(self, state: DeviceState, claim: Claim) -> "LineTurn":
        """The turns of one poll, or one order, to a device."""
        return LineTurn(self, state, claim)

    async def acquire(self, state: DeviceState, claim: Claim) -> None:
        """Wait for a turn."""
        await self._arbiter.acquire(claim, lambda: self._ready_in_s(state))
        try:
            await self._opened()
        except BaseException:
            self._arbiter.release()
            raise

    def release(self, state: DeviceState, *, silent: bool) -> None:
        """The request is over; `silent` says that nobody answered it."""
        state.free_at_s = asyncio.get_running_loop().time() + state.device.gap_us / 1e6
        if silent:
            self._hush_until_s = state.free_at_s
        self._arbiter.release()

    def give_up(self, error: Exception) -> None:
        """Whoever waits for a turn gets this error instead."""
        self._arbiter.give_up(error)

    def _ready_in_s(self, state: DeviceState) -> float:
        """In how many seconds the device may be asked: not while an earlier answer may come, nor within a gap."""
        busy_s = self._line.busy_s(state.device.unit)
        gap_s = max(state.free_at_s, self._hush_until_s) - asyncio.get_running_loop().time()
        return max(gap_s, busy_s if busy_s > self._line.gap_s else 0.0)  # the silence between two frames the line keeps


class LineTurn:
    """Entered for each request of a poll. `begin` waits for the first one, so that its moment is known before."""

    def __init__(self, turns: LineTurns, state: DeviceState, claim: Claim) -> None:
        self.held_us = 0  # how long the line was held, in all
        self._turns = turns
        self._state = state
        self._claim = claim
        self._in_hand = False
        self._since_s = 0.0

    async def begin(self) -> None:
        """Wait for a turn and keep it for the first request. Call `give_back` in any case."""
        await self._turns.acquire(self._state, self._claim)
        self._in_hand = True

    def give_back(self) -> None:
        """Let go of a turn that was not used."""
        if self._in_hand:
            self._in_hand = False
            self._turns.release(self._state, silent=False)

    async def __aenter__(self) -> Self:
        if not self._in_hand:
            await self._turns.acquire(self._state, self._claim)
        self._in_hand = False
        self._since_s = asyncio.get_running_loop().time()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.held_us += round((asyncio.get_running_loop().time() - self._since_s) * 1e6)
        self._turns.release(self._state, silent=isinstance(error, DeviceSilent))
