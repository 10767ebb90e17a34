"""One commit: all or nothing, in order, off the event loop, and never lost by a failure or a cancellation."""

import asyncio
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.errors import DiskFull, StoreError
from gateway.model import Instant, Note, Outcome
from gateway.store import pending
from gateway.store.chain import verify
from gateway.store.database import Database
from gateway.store.journal import Commit, Journal, Recovered
from tests.support.journal_records import SITE, all_records, full_outcome, instant, note, readings, write_batches


def opened_state(path: Path, boot_id: str = "boot-1") -> Recovered:
    """What a new process finds."""

    async def look() -> Recovered:
        journal = Journal(path, SITE, boot_id)
        found = await journal.open(instant(1000))
        await journal.close(instant(1000))
        return found

    return asyncio.run(look())


def test_a_new_journal_knows_nothing(tmp_path: Path) -> None:
    """A file that was not there gives an empty state, no last moment and no records."""
    assert opened_state(tmp_path / "j.db") == Recovered({}, None, False, None, None, 0)


def test_a_commit_numbers_every_record_in_the_order_it_came(tmp_path: Path) -> None:
    """Readings and events of two outcomes keep their order within one batch, each with a number of its own."""

    async def run() -> None:
        journal = Journal(tmp_path / "j.db", SITE, "boot-1")
        await journal.open(instant(0))
        journal.add(full_outcome(1))
        journal.add(Outcome(readings=readings(2, 1)))
        journal.add(Outcome(notes=(note(3),), readings=readings(3, 1)))
        assert journal.pending == 2 + 4 + 1 + 2
        commit = await journal.commit(instant(4))
        assert commit == Commit(batch_id=1, first_seq=1, last_seq=9, readings=4, events=5)
        assert journal.pending == 0
        found = await all_records(journal)
        assert [record.seq for record in found] == list(range(1, 10))
        assert [record.kind for record in found] == [
            "reading", "reading", "finding", "alarm", "message", "note", "reading", "reading", "note",
        ]  # fmt: skip
        assert [r.body for r in found if r.kind == "reading"] == [*readings(1), *readings(2, 1), *readings(3, 1)]
        assert found[-1].body == {
            "kind": "command",
            "at": {"utc_us": instant(3).utc_us, "mono_us": instant(3).mono_us, "synced": True},
            "body": {"second": 3},
        }
        assert found[-1].at == instant(3)
        await journal.close(instant(5))

    asyncio.run(run())


def test_an_event_carries_the_models_fields_by_value(tmp_path: Path) -> None:
    """An alarm event reads back as a mapping of plain values: edge and states by value, its finding nested."""

    async def run() -> None:
        journal = Journal(tmp_path / "j.db", SITE, "boot-1")
        await journal.open(instant(0))
        journal.add(full_outcome(1))
        await journal.commit(instant(2))
        [alarm] = [record.body for record in await all_records(journal) if record.kind == "alarm"]
        assert not isinstance(alarm, tuple)
        assert (alarm["edge"], alarm["from_state"], alarm["to_state"], alarm["severity"]) == ("raised", "A", "B", 3)
        assert alarm["finding"]["clause"] == "§ 194-6C(2)"
        assert alarm["finding"]["observed"] == 11.96
        await journal.close(instant(3))

    asyncio.run(run())


def test_what_was_committed_is_recovered(tmp_path: Path) -> None:
    """The next process finds the state, the moment of the last commit and its boot; the same boot says so."""
    path = tmp_path / "j.db"
    asyncio.run(write_batches(path, 3))
    assert opened_state(path) == Recovered({"second": 3}, instant(3), True, "boot-1", None, 18)
    assert opened_state(path, "boot-2") == Recovered({"second": 3}, instant(3), False, "boot-1", None, 18)


def test_an_unknown_boot_is_never_the_same_boot(tmp_path: Path) -> None:
    """Two boots whose id the kernel hides cannot be told to be one: stored monotonic stamps must not be trusted."""
    path = tmp_path / "j.db"

    async def run() -> None:
        journal = Journal(path, SITE, "unknown")
        await journal.open(instant(0))
        journal.add(full_outcome(1))
        await journal.close(instant(1))

    asyncio.run(run())
    assert not opened_state(path, "unknown").same_boot


def test_state_is_stored_as_given(tmp_path: Path) -> None:
    """State reads back equal: nesting, infinities, order of keys; a key set to None is gone; the last value wins."""
    path = tmp_path / "j.db"
    value = {"z": [1, 2.5, None, True], "a": {"extreme": float("-inf")}, "text": "§ 6"}

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))
        journal.add(Outcome(state={"rule": 1, "gone": 2, "kept": "x"}))
        await journal.commit(instant(1))
        journal.add(Outcome(state={"rule": 0, "gone": None}))
        journal.add(Outcome(state={"rule": value}))
        value["z"] = "changed after it was handed over"
        await journal.close(instant(2))

    asyncio.run(run())
    state = opened_state(path).state
    assert state == {"kept": "x", "rule": {**value, "z": [1, 2.5, None, True]}}
    assert list(state["rule"]) == ["z", "a", "text"]


def test_state_alone_is_chained_and_moves_the_last_moment(tmp_path: Path) -> None:
    """A commit without records writes an empty batch: the moment of the state is on record, no number is used."""
    path = tmp_path / "j.db"

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))
        journal.add(Outcome(readings=readings(1, 3)))
        await journal.commit(instant(1))
        journal.add(Outcome(state={"hold": 5}))
        assert await journal.commit(instant(2)) == Commit(2, 4, 3, 0, 0)
        journal.add(Outcome(readings=readings(3, 1)))
        assert await journal.commit(instant(3)) == Commit(3, 4, 4, 1, 0)
        assert [record.seq for record in await journal.records(3, 10)] == [4]
        await journal.close(instant(4))

    asyncio.run(run())
    assert verify(path).intact
    assert opened_state(path).last == instant(3)


def test_a_commit_of_nothing_writes_nothing(tmp_path: Path) -> None:
    """With nothing buffered no batch is made and the answer names the end of the chain."""

    async def run() -> None:
        journal = Journal(tmp_path / "j.db", SITE, "boot-1")
        await journal.open(instant(0))
        assert await journal.commit(instant(1)) == Commit(0, 1, 0, 0, 0)
        journal.add(full_outcome(2))
        await journal.commit(instant(2))
        assert await journal.commit(instant(3)) == Commit(1, 7, 6, 0, 0)
        assert await journal.last_seq() == 6
        await journal.close(instant(4))

    asyncio.run(run())


def test_commits_at_once_queue_and_lose_nothing(tmp_path: Path) -> None:
    """Twenty tasks that add and commit at the same moment give every record once, without a gap."""
    path = tmp_path / "j.db"

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))

        async def one(second: int) -> None:
            journal.add(full_outcome(second))
            await journal.commit(instant(second))
            seconds = [r.body["body"]["second"] for r in await all_records(journal) if r.kind == "note"]
            assert second in seconds  # its own commit has returned, so its records are there

        async with asyncio.TaskGroup() as group:
            for second in range(20):
                group.create_task(one(second))
        found = await all_records(journal)
        assert [record.seq for record in found] == list(range(1, 121))
        await journal.close(instant(30))

    asyncio.run(run())
    assert verify(path).records == 120


def test_a_waiting_disk_does_not_hold_up_the_event_loop(tmp_path: Path) -> None:
    """While another process holds the file, a commit waits in its thread and the loop goes on turning."""
    path = tmp_path / "j.db"

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        journal.add(full_outcome(1))
        task = asyncio.create_task(journal.commit(instant(1)))
        for _ in range(50):
            await asyncio.sleep(0)
        assert not task.done()
        assert journal.pending == 6
        other.execute("ROLLBACK")
        other.close()
        assert (await task).last_seq == 6
        await journal.close(instant(2))

    asyncio.run(run())


def test_a_cancelled_commit_has_an_outcome(tmp_path: Path) -> None:
    """Cancelling a commit that is under way neither loses its records nor writes them twice."""
    path = tmp_path / "j.db"

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        journal.add(full_outcome(1))
        task = asyncio.create_task(journal.commit(instant(1)))
        await asyncio.sleep(0)
        for _ in range(3):
            task.cancel()
            await asyncio.sleep(0)
        other.execute("ROLLBACK")
        other.close()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert journal.pending == 0
        journal.add(full_outcome(2))
        await journal.commit(instant(2))
        notes = [r.body["body"]["second"] for r in await all_records(journal) if r.kind == "note"]
        assert notes == [1, 2]
        await journal.close(instant(3))

    asyncio.run(run())


def failing_at(monkeypatch: pytest.MonkeyPatch, nth: int) -> None:
    """Make the nth statement that writes, or the end of the transaction, fail."""
    left = nth

    def planted(real: Callable[..., object]) -> Callable[..., object]:
        def run(self: Database, sql: str, *arguments: object) -> object:
            nonlocal left
            left -= not sql.startswith(("PRAGMA", "ROLLBACK"))
            if left == 0:
                raise StoreError("planted")
            return real(self, sql, *arguments)

        return run

    for name in ("execute", "execute_many"):
        monkeypatch.setattr(Database, name, planted(getattr(Database, name)))


def test_a_failed_commit_leaves_nothing_and_keeps_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever statement of a commit fails, neither readings, events, state, texts nor cursors of it are there."""
    path = tmp_path / "j.db"

    async def run() -> int:
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))
        journal.add(full_outcome(1))
        await journal.commit(instant(1))
        nth, failed = 0, True
        while failed:
            nth += 1
            before = contents(path)
            journal.add(full_outcome(1 + nth))
            journal.move_cursor("mqtt", nth)
            with monkeypatch.context() as planted:
                failing_at(planted, nth)
                try:
                    await journal.commit(instant(1 + nth))
                    failed = False
                except StoreError:
                    assert contents(path) == before
                    assert journal.pending == 6
            await journal.commit(instant(1 + nth))
            assert journal.pending == 0
        notes = [r.body["body"]["second"] for r in await all_records(journal) if r.kind == "note"]
        assert notes == list(range(1, nth + 2))
        await journal.close(instant(100))
        return nth

    # BEGIN, batch, events, text, state (gone, kept), cursor, COMMIT: eight statements can fail, the ninth is none.
    assert asyncio.run(run()) == 9
    assert verify(path).intact
    assert opened_state(path).state == {"second": 10}


def test_what_comes_during_a_failing_commit_stays_behind_it(tmp_path: Path) -> None:
    """Records added while a commit fails are written after those it held; their newer state wins."""
    path = tmp_path / "j.db"

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1", max_bytes=1)
        await journal.open(instant(0))
        journal.add(Outcome(readings=readings(1, 400), notes=(note(1),), state={"a": 1, "b": 1}))
        task = asyncio.create_task(journal.commit(instant(1)))
        await asyncio.sleep(0)
        journal.add(Outcome(readings=readings(2), notes=(note(2),), state={"b": 2}))
        assert journal.pending == 404
        with pytest.raises(DiskFull):
            await task
        assert journal.pending == 404
        journal._writer.max_bytes = 10_000_000
        await journal.commit(instant(2))
        found = await all_records(journal)
        assert [record.body for record in found if record.kind == "reading"] == [*readings(1, 400), *readings(2)]
        assert [record.seq for record in found if record.kind == "note"] == [401, 404]
        await journal.close(instant(3))

    asyncio.run(run())
    assert opened_state(path).state == {"a": 1, "b": 2}


def contents(path: Path) -> list[object]:
    """Every row of every table, as another process sees it."""
    connection = sqlite3.connect(path)
    tables = ("batch", "event", "state", "outbox", "cursor", "reject", "meta")
    found = [connection.execute(f"SELECT * FROM {table}").fetchall() for table in tables]  # noqa: S608 - constants
    connection.close()
    return found


@pytest.mark.parametrize("attempts", [1, 2])
def test_a_commit_that_only_seemed_to_fail_is_not_written_twice(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, attempts: int
) -> None:
    """A sync error after the transaction reached the file: the next commit finds it there and goes on behind it."""
    path = tmp_path / "j.db"
    real = Database.execute
    left = 0

    def execute(self: Database, sql: str, parameters: object = ()) -> int:
        nonlocal left
        done = real(self, sql, parameters)  # type: ignore[arg-type]
        if sql == "COMMIT" and left > 0:
            left -= 1
            raise StoreError("disk I/O error (SQLITE_IOERR_FSYNC)")
        return done

    async def run() -> None:
        nonlocal left
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))
        journal.add(full_outcome(1))
        monkeypatch.setattr(Database, "execute", execute)
        for attempt in range(attempts):
            left = 1
            with pytest.raises(StoreError):
                await journal.commit(instant(1 + attempt))
            journal.add(full_outcome(2 + attempt))
        await journal.commit(instant(9))
        notes = [r.body["body"]["second"] for r in await all_records(journal) if r.kind == "note"]
        assert notes == list(range(1, 2 + attempts))
        assert [r.seq for r in await all_records(journal)] == list(range(1, 6 * (1 + attempts) + 1))
        assert journal.pending == 0
        await journal.close(instant(10))

    asyncio.run(run())
    assert verify(path).intact


def test_what_cannot_be_written_leaves_nothing_behind(tmp_path: Path) -> None:
    """An outcome with a body JSON cannot hold is refused as a whole and does not spoil the commits after it."""

    async def run() -> None:
        journal = Journal(tmp_path / "j.db", SITE, "boot-1")
        await journal.open(instant(0))
        bad_note = Outcome(readings=readings(1), notes=(Note("command", instant(1), {"who": {1, 2}}),))
        with pytest.raises(TypeError):
            journal.add(bad_note)
        with pytest.raises(TypeError):
            journal.add(Outcome(readings=readings(1), state={"key": object()}))
        with pytest.raises(ValueError, match="not a moment"):
            journal.add(Outcome(notes=(Note("command", Instant(1 << 70, 0)),)))
        assert journal.pending == 0
        journal.add(full_outcome(2))
        assert (await journal.commit(instant(2))).last_seq == 6
        await journal.close(instant(3))

    asyncio.run(run())


def test_a_long_outage_becomes_several_batches(tmp_path: Path) -> None:
    """More readings than a batch may hold are split in one transaction, so that no reader has to parse a huge one."""
    path = tmp_path / "j.db"
    count = 2 * pending.BATCH_RECORDS_MAX + 500

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))
        journal.add(Outcome(readings=readings(1, count)))
        journal.add(full_outcome(2))
        commit = await journal.commit(instant(2))
        assert commit == Commit(3, 1, count + 6, count + 2, 4)
        found = await all_records(journal)
        assert [record.seq for record in found] == list(range(1, count + 7))
        assert tuple(record.body for record in found[:count]) == readings(1, count)
        await journal.close(instant(3))

    asyncio.run(run())
    assert verify(path).batches == 3
