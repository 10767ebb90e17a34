"""The request that is out on a line, and until when it is waited for."""

import asyncio
from dataclasses import dataclass, field

from gateway.drivers.frames import Expected
from gateway.errors import DriverError

__all__ = ["Outstanding"]


@dataclass(slots=True)
class Outstanding:
    """Times are the event loop's. `error` is why no answer will be taken any more; `stray` counts bytes of no use."""

    expected: Expected
    started: float
    limit_s: float
    deadline: asyncio.Timeout = field(default_factory=lambda: asyncio.timeout(None))
    error: DriverError | None = None
    answered: bool = False
    echoed: bool = False
    stray: int = 0
    seen: bytes = b""  # the beginning of what came

    @property
    def waits(self) -> bool:
        """Whether an answer would still be taken."""
        return not self.answered and self.error is None

    def cut_short(self) -> None:
        """Nothing more can come of it."""
        if not self.deadline.expired():
            self.deadline.reschedule(asyncio.get_running_loop().time())

    def extend(self, until: float) -> None:
        """More is on its way; the deadline never moves back."""
        at = self.deadline.when()
        if at is not None and at < until and not self.deadline.expired():
            self.deadline.reschedule(until)
