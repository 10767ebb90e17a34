"""Texts owed: made with their cause in one transaction, once per key, and followed to the end."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gateway.model import Outcome
from gateway.store.journal import Journal, MessageStatus
from tests.support.journal_records import SITE, all_records, instant, message


def with_journal(path: Path, story: Callable[[Journal], Awaitable[None]]) -> None:
    """Run a story on an open journal."""

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))
        await story(journal)
        await journal.close(instant(99))

    asyncio.run(run())


def owing(*keys: str) -> Outcome:
    """An outcome that owes these texts."""
    return Outcome(messages=tuple(message(key) for key in keys))


def test_an_owed_text_is_queued_with_its_record(tmp_path: Path) -> None:
    """After the commit the text is due, whole, oldest first, with the number of its record."""

    async def story(journal: Journal) -> None:
        journal.add(owing("b", "a"))
        await journal.commit(instant(1))
        due = await journal.outbox_due()
        assert [(owed.message, owed.seq, owed.status, owed.attempts) for owed in due] == [
            (message("b"), 1, MessageStatus.QUEUED, 0),
            (message("a"), 2, MessageStatus.QUEUED, 0),
        ]

    with_journal(tmp_path / "j.db", story)


def test_a_repeated_key_is_one_obligation(tmp_path: Path) -> None:
    """The same dedupe key again, in one commit or a later one, adds neither a text nor a record, and is no error."""

    async def story(journal: Journal) -> None:
        journal.add(owing("a", "a"))
        journal.add(owing("a", "b"))
        assert (await journal.commit(instant(1))).events == 2
        await journal.set_message_status("a", "delivered", instant(2))
        journal.add(owing("a", "c"))
        assert (await journal.commit(instant(3))).events == 1
        assert [owed.message.dedupe_key for owed in await journal.outbox_due()] == ["b", "c"]
        assert [record.seq for record in await all_records(journal)] == [1, 2, 3]

    with_journal(tmp_path / "j.db", story)


STEPS = [
    ("queued", "", "busy", True, "busy"),
    ("sending", "", "", False, ""),
    ("accepted", "ref-7", "", False, ""),
    ("delivered", "", "", False, ""),
    ("failed", "", "no such number", False, "no such number"),
    ("unknown", "", "", True, ""),
]


@pytest.mark.parametrize(("status", "ref", "error", "is_due", "last_error"), STEPS, ids=[row[0] for row in STEPS])
def test_only_queued_and_unknown_texts_are_due(
    tmp_path: Path, status: str, ref: str, error: str, is_due: bool, last_error: str
) -> None:
    """Each status is stored at once; only `queued` and `unknown` ask for something to be done."""

    async def story(journal: Journal) -> None:
        journal.add(owing("a"))
        await journal.commit(instant(1))
        await journal.set_message_status("a", status, instant(2), ref, error)
        due = await journal.outbox_due()
        assert bool(due) == is_due
        for owed in due:
            assert (owed.status, owed.last_error, owed.changed_utc_us) == (status, last_error, instant(2).utc_us)

    with_journal(tmp_path / "j.db", story)


def test_attempts_and_the_providers_reference_are_kept(tmp_path: Path) -> None:
    """Each `sending` counts one attempt; a reference stays until another is given."""

    async def story(journal: Journal) -> None:
        journal.add(owing("a"))
        await journal.commit(instant(1))
        for _ in range(3):
            await journal.set_message_status("a", MessageStatus.SENDING, instant(2))
            await journal.set_message_status("a", "queued", instant(3), error="no signal")
        await journal.set_message_status("a", "queued", instant(3), "ref-7")
        await journal.set_message_status("a", "queued", instant(4))
        [owed] = await journal.outbox_due()
        assert (owed.attempts, owed.provider_ref, owed.last_error) == (3, "ref-7", "")

    with_journal(tmp_path / "j.db", story)


def test_a_text_nobody_owes_is_an_error(tmp_path: Path) -> None:
    """An unknown key or an unknown status is a mistake of the caller, and the journal goes on."""

    async def story(journal: Journal) -> None:
        with pytest.raises(KeyError):
            await journal.set_message_status("nobody", "sending", instant(1))
        with pytest.raises(ValueError, match="posted"):
            await journal.set_message_status("nobody", "posted", instant(1))
        journal.add(owing("a"))
        await journal.commit(instant(1))
        assert len(await journal.outbox_due()) == 1

    with_journal(tmp_path / "j.db", story)


def test_what_was_being_sent_is_unknown_after_a_restart(tmp_path: Path) -> None:
    """A text that was `sending` when the process ended comes back as unknown; accepted and delivered ones stay so."""

    async def before(journal: Journal) -> None:
        journal.add(owing("sending", "accepted", "queued"))
        await journal.commit(instant(1))
        for key in ("sending", "accepted"):
            await journal.set_message_status(key, key, instant(2))
        assert [owed.message.dedupe_key for owed in await journal.outbox_due()] == ["queued"]

    async def after(journal: Journal) -> None:
        due = await journal.outbox_due()
        assert {owed.message.dedupe_key: owed.status for owed in due} == {"sending": "unknown", "queued": "queued"}
        assert [owed.attempts for owed in due] == [1, 0]

    with_journal(tmp_path / "j.db", before)
    with_journal(tmp_path / "j.db", after)
