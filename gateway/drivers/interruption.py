"""Work that a person at the keyboard may end at any time, and that then tells what it has."""

import asyncio
import signal
from collections.abc import Coroutine
from typing import Any

__all__ = ["until_interrupted"]


async def until_interrupted(work: Coroutine[Any, Any, None]) -> bool:
    """Runs the work to its end, or until Ctrl-C or SIGTERM cancels it; says whether it was interrupted."""
    task = asyncio.create_task(work, name="interruptible")
    loop = asyncio.get_running_loop()
    told: list[bool] = []

    def interrupt() -> None:
        told.append(True)
        task.cancel()

    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, interrupt)
    try:
        await task
    except asyncio.CancelledError:
        if not told:
            raise  # somebody else's cancellation, not the keyboard's
    finally:
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.remove_signal_handler(number)
        task.cancel()
    return bool(told)
