"""A journal that lost its alarms' state but not its texts: the next exceedance still reaches the person."""

import asyncio
import contextlib
import sqlite3
from pathlib import Path

from gateway.model import Instant, Message, MessageKind, Outcome, Severity
from gateway.store.journal import Journal

KEY = "lv-ph-low:1:raised:1:ann"


def at(second: int) -> Instant:
    """A moment."""
    return Instant(1_700_000_000_000_000 + second * 1_000_000, second * 1_000_000)


def text(second: int, words: str) -> Message:
    """The first text of the first occurrence of an alarm, as it is written at some moment."""
    return Message("ann", words, KEY, at(second), MessageKind.RAISED, Severity.HIGH, "lv-ph-low", 1)


async def told_twice(path: Path, *, lose_state: bool) -> list[str]:
    """Tell of an occurrence 1, lose the state or not, tell of another occurrence 1; what is owed then."""
    journal = Journal(path, "site", "boot")
    await journal.open(at(0))
    journal.add(Outcome(messages=(text(1, "January"),), state={"alarm:lv-ph-low": {"occurrence": 1}}))
    await journal.commit(at(1))
    await journal.set_message_status(KEY, "delivered", at(2))
    await journal.close(at(3))
    if lose_state:
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("UPDATE state SET body = '{'")
            database.commit()
    journal = Journal(path, "site", "boot")
    await journal.open(at(10))
    journal.add(Outcome(messages=(text(11, "July"),)))
    await journal.commit(at(11))
    owed = [due.message for due in await journal.outbox_due()]
    for message in owed:
        await journal.set_message_status(message.dedupe_key, "delivered", at(12))
    journal.add(Outcome(messages=(text(11, "July"),)))
    await journal.commit(at(13))
    assert not await journal.outbox_due()
    await journal.close(at(14))
    return [message.text for message in owed]


def test_a_text_is_owed_though_its_key_was_used_before_the_loss(tmp_path: Path) -> None:
    """State lost with a broken file, occurrence 1 for the second time: the new text is owed, once."""
    assert asyncio.run(told_twice(tmp_path / "j.db", lose_state=True)) == ["July"]


def test_another_text_under_a_used_key_is_another_obligation(tmp_path: Path) -> None:
    """The same key with other words is not a repeat; the same words again are."""
    assert asyncio.run(told_twice(tmp_path / "j.db", lose_state=False)) == ["July"]
