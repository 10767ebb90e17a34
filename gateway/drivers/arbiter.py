"""Gives one line to one request at a time: `schedule.choose` says to whom. Nobody holds it while waiting."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

from gateway.drivers.schedule import Claim, choose

__all__ = ["Arbiter"]


@dataclass(slots=True, eq=False)
class _Waiting:
    claim: Claim
    ready_in_s: Callable[[], float]
    granted: asyncio.Future[None]


class Arbiter:
    """Whoever claims the line waits until it is free, the device may be asked, and nobody more urgent wants it.

    `now_us` is the monotonic axis of the claims. One event loop; a claim that is cancelled is forgotten.
    """

    def __init__(self, now_us: Callable[[], int]) -> None:
        self._now_us = now_us
        self._waiting: list[_Waiting] = []
        self._busy = False
        self._passed_over = 0
        self._look: asyncio.Handle | None = None

    async def acquire(self, claim: Claim, ready_in_s: Callable[[], float]) -> None:
        """Wait for a turn; `release` ends it. `ready_in_s` says in how many seconds the device may be asked."""
        loop = asyncio.get_running_loop()
        waiting = _Waiting(claim, ready_in_s, loop.create_future())
        self._waiting.append(waiting)
        if not self._busy:
            self._look_in(0.0)  # in a moment: others whose time has come with ours may be more urgent
        try:
            await waiting.granted
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
            else:  # granted in the same moment
                self.release()
            raise

    def release(self) -> None:
        """The request is over: the next one's turn."""
        self._busy = False
        self._grant()

    def give_up(self, error: Exception) -> None:
        """Nobody who waits will get a turn any more."""
        for waiting in self._waiting:
            if not waiting.granted.done():
                waiting.granted.set_exception(error)
        self._waiting.clear()

    def _look_in(self, wait_s: float) -> None:
        loop = asyncio.get_running_loop()
        if self._look is not None:
            self._look.cancel()
        self._look = loop.call_soon(self._grant) if wait_s <= 0 else loop.call_later(wait_s, self._grant)

    def _grant(self) -> None:
        if self._look is not None:
            self._look.cancel()
            self._look = None
        waiting = [waiting for waiting in self._waiting if not waiting.granted.done()]  # done: cancelled just now
        if self._busy or not waiting:
            return
        waits_s = [one.ready_in_s() for one in waiting]
        ready = [one for one, wait_s in zip(waiting, waits_s, strict=True) if wait_s <= 0]
        if not ready:
            self._look_in(min(waits_s))
            return
        place, self._passed_over = choose([w.claim for w in ready], self._now_us(), self._passed_over)
        chosen = ready[place]
        self._waiting.remove(chosen)
        self._busy = True
        chosen.granted.set_result(None)
