"""A process that writes a journal as fast as it can and says on stdout what is durable, until it is killed.

``python -m tests.support.journal_child PATH``: goes on from the number in the recovered state; prints a number when the
commit that holds it, and everything before it, has returned.
"""

import asyncio
import sys
from pathlib import Path

from gateway.model import Outcome
from gateway.store.journal import Journal
from tests.support.journal_records import SITE, full_outcome, instant, readings

__all__ = ["outcome"]


def outcome(number: int) -> Outcome:
    """The outcome with that number: every fifth has every kind of event, the others readings and state alone."""
    if number % 5 == 0:
        return full_outcome(number)
    return Outcome(readings=readings(number, number % 4), state={"second": number})


async def write(path: Path) -> None:
    """Write until killed."""
    journal = Journal(path, SITE, "boot-1")
    recovered = await journal.open(instant(0))
    number = int(recovered.state.get("second", 0))
    while True:
        for _ in range(1 + number % 3):
            number += 1
            journal.add(outcome(number))
        journal.move_cursor("mqtt", await journal.last_seq())
        await journal.commit(instant(number))
        print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(write(Path(sys.argv[1])))
