"""Somebody removes or replaces the journal's file under a running gateway: nothing that was committed is lost."""

import asyncio
from pathlib import Path

import pytest

from gateway.model import Instant, Note, Outcome
from gateway.store.chain import ChainFinding, verify
from gateway.store.journal import Journal

UTC_US = 1_700_000_000_000_000
NAMES = ("journal.db", "journal.db-wal", "journal.db-shm")


def at(second: int) -> Instant:
    """A moment of the story."""
    return Instant(UTC_US + second * 1_000_000, second * 1_000_000)


def said(second: int) -> Outcome:
    """One record."""
    return Outcome(notes=(Note("command", at(second), {"second": second}),))


async def begun(directory: Path) -> Journal:
    """A journal with three records in as many commits, open."""
    journal = Journal(directory / "journal.db", "site", "boot")
    await journal.open(at(0))
    for second in (1, 2, 3):
        journal.add(said(second))
        await journal.commit(at(second))
    return journal


async def heard(journal: Journal) -> list[tuple[str, object]]:
    """Kind and content of every note."""
    return [(str(r.body["kind"]), r.body["body"].get("second")) for r in await journal.records(0, 100)]  # type: ignore[index, union-attr]


@pytest.mark.parametrize("removed", [NAMES, NAMES[:1], NAMES[:2]], ids=["all three", "the file alone", "file and log"])
def test_a_deleted_journal_is_written_again_whole(tmp_path: Path, removed: tuple[str, ...]) -> None:
    """The next commit finds the file gone, writes everything that is still open anew, and goes on in it."""

    async def story() -> None:
        journal = await begun(tmp_path)
        for name in removed:
            (tmp_path / name).unlink(missing_ok=True)
        journal.add(said(4))
        await journal.commit(at(4))
        journal.add(said(5))
        await journal.commit(at(5))
        notes = await heard(journal)
        assert [second for kind, second in notes if kind == "command"] == [1, 2, 3, 4, 5]
        assert [kind for kind, _ in notes].count("journal_replaced") == 1
        await journal.close(at(6))

    asyncio.run(story())
    assert verify(tmp_path / "journal.db", "site").finding is ChainFinding.INTACT


def test_a_file_put_in_its_place_is_taken_and_the_old_content_kept_beside_it(tmp_path: Path) -> None:
    """A backup copied over a running journal becomes the journal; what was in use stands beside it, whole."""

    async def story() -> None:
        other = await begun(tmp_path)
        await other.close(at(3))
        backup = (tmp_path / "journal.db").rename(tmp_path / "backup")
        journal = await begun(tmp_path)
        journal.add(said(4))
        await journal.commit(at(4))
        for name in NAMES[1:]:
            (tmp_path / name).unlink(missing_ok=True)
        backup.rename(tmp_path / "journal.db")
        journal.add(said(5))
        await journal.commit(at(5))
        journal.add(said(6))
        await journal.commit(at(6))
        notes = await heard(journal)
        assert [second for kind, second in notes if kind == "command"] == [1, 2, 3, 5, 6]
        assert [kind for kind, _ in notes].count("journal_replaced") == 1
        await journal.close(at(7))

    async def beside(aside: Path) -> None:
        displaced = Journal(aside, "site", "boot")
        await displaced.open(at(8))
        assert [second for _, second in await heard(displaced)] == [1, 2, 3, 4]
        await displaced.close(at(8))

    asyncio.run(story())
    (aside,) = tmp_path.glob("journal.db.displaced-*")
    asyncio.run(beside(aside))
