"""Reading by position and the sinks' cursors over it."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from gateway.errors import StoreError
from gateway.model import Outcome
from gateway.store.database import Database
from gateway.store.journal import Journal, SinkCounts
from tests.support.journal_records import SITE, full_outcome, instant, readings, tamper


def with_journal(path: Path, story: Callable[[Journal], Awaitable[None]]) -> None:
    """Run a story on an open journal and close it."""

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))
        await story(journal)
        await journal.close(instant(99))

    asyncio.run(run())


async def filled(journal: Journal, commits: int) -> None:
    """Commits of six records each."""
    for second in range(commits):
        journal.add(full_outcome(second))
        await journal.commit(instant(second))


RANGES = [
    (0, 5, None, range(1, 6), "the first page"),
    (4, 5, None, range(5, 10), "from inside a batch across its end"),
    (6, 6, None, range(7, 13), "from a batch's end"),
    (0, 100, None, range(1, 31), "more than there is"),
    (29, 100, None, range(30, 31), "the last record"),
    (30, 100, None, range(0), "behind the last"),
    (1000, 100, None, range(0), "far behind the last"),
    (0, 0, None, range(0), "a limit of nothing"),
    (0, -1, None, range(0), "a limit below nothing"),
    (3, 100, 20, range(4, 21), "up to a number, included"),
    (3, 4, 20, range(4, 8), "up to a number, but fewer"),
    (20, 100, 20, range(0), "up to where it starts"),
    (-5, 3, None, range(1, 4), "from before the first"),
]


@pytest.mark.parametrize(("after", "limit", "until", "expected", "why"), RANGES, ids=[row[4] for row in RANGES])
def test_records_by_position(
    tmp_path: Path, after: int, limit: int, until: int | None, expected: range, why: str
) -> None:
    """Exactly the records beyond a position, in order, no more than asked for."""

    async def story(journal: Journal) -> None:
        await filled(journal, 5)
        assert [record.seq for record in await journal.records(after, limit, until)] == list(expected), why
        # and again, now that the batch at hand is already parsed
        assert [record.seq for record in await journal.records(after, limit, until)] == list(expected), why

    with_journal(tmp_path / "j.db", story)


def test_only_what_is_committed_can_be_read(tmp_path: Path) -> None:
    """Buffered records are invisible until their commit, and then all there."""

    async def story(journal: Journal) -> None:
        assert await journal.records(0, 10) == ()
        journal.add(full_outcome(1))
        assert await journal.records(0, 10) == ()
        await journal.commit(instant(1))
        assert len(await journal.records(0, 10)) == 6

    with_journal(tmp_path / "j.db", story)


def test_finding_a_position_takes_few_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In 1,000 batches any position is found with at most 2 + log2(1000) small reads, not by walking."""
    asked: list[str] = []
    real = Database.rows

    def rows(self: Database, sql: str, parameters: object = ()) -> object:
        asked.append(sql)
        return real(self, sql, parameters)  # type: ignore[arg-type]

    async def story(journal: Journal) -> None:
        for second in range(1000):
            journal.add(Outcome(readings=readings(second, 3)))
        # A thousand commits would take a second here: one commit is split into a thousand batches instead.
        await journal.commit(instant(1000))
        monkeypatch.setattr(Database, "rows", rows)
        for after in (0, 1, 1499, 2998):
            asked.clear()
            assert (await journal.records(after, 1))[0].seq == after + 1
            assert len([sql for sql in asked if "last_seq" in sql]) <= 12
        monkeypatch.undo()

    monkeypatch.setattr("gateway.store.pending.packed.__defaults__", (3,))
    with_journal(tmp_path / "j.db", story)


def test_a_cursor_is_seen_at_once_and_written_with_the_next_commit(tmp_path: Path) -> None:
    """The moved position is answered before it is on disk, and is on disk after the commit that follows."""

    async def before(journal: Journal) -> None:
        assert await journal.cursor("mqtt") == 0
        await filled(journal, 1)
        journal.move_cursor("mqtt", 4)
        journal.move_cursor("influx", 2)
        assert await journal.cursor("mqtt") == 4
        await journal.commit(instant(2))
        assert await journal.cursor("mqtt") == 4

    async def after(journal: Journal) -> None:
        assert await journal.cursor("mqtt") == 4
        assert await journal.cursor("influx") == 2
        assert await journal.cursor("other") == 0
        assert journal.head.batch_id == 1  # a cursor alone is no batch

    with_journal(tmp_path / "j.db", before)
    with_journal(tmp_path / "j.db", after)


def test_a_flush_writes_the_cursors_alone(tmp_path: Path) -> None:
    """Flushing makes positions durable without committing what is buffered."""
    path = tmp_path / "j.db"

    async def story(journal: Journal) -> None:
        await filled(journal, 1)
        journal.add(full_outcome(2))
        journal.move_cursor("mqtt", 5)
        await journal.flush(instant(2))
        assert journal.pending == 6
        assert await journal.last_seq() == 6
        assert await journal._read(journal._reader.cursor, "mqtt") == 5
        await journal.flush(instant(3))

    with_journal(path, story)


def test_a_cursor_may_go_back_for_a_replay_but_not_below_zero(tmp_path: Path) -> None:
    """A lower position is taken as said; a negative one is a mistake."""

    async def story(journal: Journal) -> None:
        await filled(journal, 2)
        journal.move_cursor("mqtt", 12)
        await journal.flush(instant(2))
        journal.move_cursor("mqtt", 3)
        await journal.flush(instant(3))
        assert await journal.cursor("mqtt") == 3
        with pytest.raises(ValueError, match="-1"):
            journal.move_cursor("mqtt", -1)

    with_journal(tmp_path / "j.db", story)


def test_counts_say_how_far_behind_a_sink_is(tmp_path: Path) -> None:
    """Unsent records, the stamp of the oldest of them, and the refused ones, per sink, with unwritten moves."""

    async def story(journal: Journal) -> None:
        assert await journal.counts("mqtt") == SinkCounts(0, None, 0)
        await filled(journal, 3)
        assert await journal.counts("mqtt") == SinkCounts(18, instant(0).utc_us, 0)
        journal.move_cursor("mqtt", 8)
        await journal.park("mqtt", 7, "0x99 payload format invalid", instant(3))
        await journal.park("mqtt", 7, "again", instant(4))
        assert await journal.counts("mqtt") == SinkCounts(10, instant(1).utc_us, 1)
        assert await journal.counts("influx") == SinkCounts(18, instant(0).utc_us, 0)
        journal.move_cursor("mqtt", 18)
        assert await journal.counts("mqtt") == SinkCounts(0, None, 1)

    with_journal(tmp_path / "j.db", story)


def test_a_record_that_cannot_be_read_does_not_block_the_rest(tmp_path: Path) -> None:
    """Damaged content comes as notes `unreadable` at its own numbers; everything before and behind is whole."""
    path = tmp_path / "j.db"

    async def fill(journal: Journal) -> None:
        await filled(journal, 4)

    async def story(journal: Journal) -> None:
        found = await journal.records(0, 100)
        assert [record.seq for record in found] == list(range(1, 25))
        lost = [r for r in found if r.kind == "note" and r.body["kind"] == "unreadable"]  # type: ignore[index]
        assert [record.seq for record in lost] == [7, 8, 15]
        assert lost[0].at == instant(1)
        assert lost[0].body["body"] == {"batch_id": 2}  # type: ignore[index]

    with_journal(path, fill)
    tamper(
        path,
        "UPDATE batch SET readings = substr(readings, 2) WHERE id = 2",
        "UPDATE event SET body = CAST(x'ff7b7d' AS TEXT) WHERE seq = 15",
    )
    with_journal(path, story)


def test_reading_before_there_is_a_file_is_a_store_error(tmp_path: Path) -> None:
    """Nothing is made by looking."""

    async def run() -> None:
        journal = Journal(tmp_path / "j.db", SITE, "boot-1")
        with pytest.raises(StoreError):
            await journal.records(0, 1)
        await journal.close(instant(1))

    asyncio.run(run())
    assert list(tmp_path.iterdir()) == []
