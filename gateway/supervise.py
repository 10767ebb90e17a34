"""The task boundary: the only place that catches everything. It logs the traceback and starts the task again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable

from gateway.backoff import Backoff
from gateway.errors import GatewayError

__all__ = ["supervise"]

_log = logging.getLogger(__name__)
_SOUND_S = 300.0


def _nothing() -> None:
    """Nobody asks."""


async def supervise(
    name: str,
    task: Callable[[], Awaitable[None]],
    on_fault: Callable[[str], None],
    on_sound: Callable[[], None] = _nothing,
    *,
    sound_s: float = _SOUND_S,
) -> None:
    """Run a task for ever. A fault is logged, reported through `on_fault` and followed by a fresh start after a pause.

    A start that has lasted `sound_s` is reported through `on_sound`: what happened before it is over. Cancellation ends
    it; so does ExceptionGroup of cancellations. A task that returns is started again too: none of ours has a reason to.
    """
    backoff = Backoff(base_s=0.5, cap_s=60.0)
    loop = asyncio.get_running_loop()
    while True:
        started_s = loop.time()
        sound = loop.call_later(sound_s, on_sound)
        try:
            await task()
            on_fault(f"{name} ended")
        except GatewayError as error:
            _log.warning("%s: %s", name, error)
            on_fault(f"{name}: {error}")
        except Exception as error:  # noqa: BLE001  # the task boundary
            _log.exception("%s failed", name)
            on_fault(f"{name}: {type(error).__name__}: {error}")
        finally:
            sound.cancel()
        if loop.time() - started_s >= sound_s:
            backoff.reset()  # a fault a month must not end in a minute without measuring
        await asyncio.sleep(backoff.next_s())
