"""A cancellation that meets an answer is not lost."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["heeding_cancellation"]


@contextmanager
def heeding_cancellation() -> Iterator[None]:
    """The library waits with `wait_for`, which before Python 3.12 loses a cancellation that meets the answer."""
    task = asyncio.current_task()
    before = task.cancelling() if task is not None else 0
    yield
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError
