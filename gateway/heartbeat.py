"""The beat that an outside watcher misses: an address fetched every few minutes while the gateway polls and records."""

import asyncio
import logging
import urllib.error
import urllib.request
from collections.abc import Callable

from gateway.clock import Clock

__all__ = ["Heartbeat"]

_log = logging.getLogger(__name__)
_PATIENCE_S = 20.0


class Heartbeat:
    """Fetches `url` every `every_us` as long as `well` says so. A watcher that cannot be reached is told of once."""

    def __init__(self, url: str, every_us: int, clock: Clock, well: Callable[[], bool]) -> None:
        self._url = url
        self._every_us = every_us
        self._clock = clock
        self._well = well
        self._failing = False
        self.beats = 0

    async def run(self) -> None:
        """Beat until cancelled."""
        while True:
            if self._well():
                await self._beat()
            await self._clock.sleep(self._every_us)

    async def _beat(self) -> None:
        try:
            await asyncio.to_thread(_fetch, self._url)
        except (OSError, ValueError) as error:  # urllib's own errors are OSError
            _log.log(logging.DEBUG if self._failing else logging.WARNING, "heartbeat: %s", error)
            self._failing = True
            return
        if self._failing:
            _log.info("heartbeat: heard again")
        self._failing = False
        self.beats += 1


def _fetch(url: str) -> None:
    with urllib.request.urlopen(url, timeout=_PATIENCE_S) as answer:  # noqa: S310 - `check` demands http or https
        answer.read(1024)
