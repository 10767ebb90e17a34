"""A broken file is put aside with everything in it, and the gateway goes on in a new one."""

import asyncio
import random
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.errors import Corrupt, StoreError
from gateway.model import Instant, Outcome
from gateway.store import opening
from gateway.store.chain import ChainFinding, verify
from gateway.store.database import Database
from gateway.store.files import is_remnant, quarantine
from gateway.store.journal import Journal, Recovered
from tests.support.journal_records import SITE, all_records, full_outcome, instant, note, tamper, write_batches

NOW = Instant(1_919_505_599_000_000, 5_000_000)  # 2030-10-29T11:59:59Z
COMMITS = 40


def damaged(path: Path, how: Callable[[bytearray], object]) -> None:
    """Change the bytes of a file."""
    content = bytearray(path.read_bytes())
    how(content)
    path.write_bytes(content)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A sound journal of forty commits, to be copied and broken."""
    path = tmp_path_factory.mktemp("sound") / "j.db"
    asyncio.run(write_batches(path, COMMITS))
    return path


@pytest.fixture
def broken(sound: Path, tmp_path: Path) -> Path:
    """A copy of it, to break."""
    return Path(shutil.copy(sound, tmp_path / "j.db"))


def reopened(path: Path) -> tuple[Recovered, int]:
    """Open as a new process, commit one outcome, prove it reads back; what was recovered and the first number used."""

    async def run() -> tuple[Recovered, int]:
        journal = Journal(path, SITE, "boot-2")
        found = await journal.open(NOW)
        waiting = journal.pending
        journal.add(Outcome(notes=(note(777),)))
        commit = await journal.commit(NOW)
        records = await journal.records(commit.first_seq - 1, 10)
        assert len(records) == waiting + 1
        assert records[-1].body["body"] == {"second": 777}  # type: ignore[index]
        assert bool(waiting) == (found.quarantined is not None)
        if found.quarantined is not None:
            assert records[0].body["kind"] == "journal_replaced"  # type: ignore[index]
            assert records[0].body["body"]["file"] == found.quarantined.name  # type: ignore[index]
        await journal.close(NOW)
        return found, commit.first_seq

    return asyncio.run(run())


def cut(size: int) -> Callable[[bytearray], None]:
    """Keep only the first bytes."""

    def how(content: bytearray) -> None:
        del content[size:]

    return how


def zeros(content: bytearray) -> None:
    """A file of the right length, all zero: what a card leaves of one that was not synced."""
    content[:] = bytes(len(content))


def overwritten(first: int, last: int) -> Callable[[bytearray], None]:
    """Garbage over a stretch."""

    def how(content: bytearray) -> None:
        content[first:last] = random.Random(first).randbytes(last - first)

    return how


BREAKS = [
    ("emptied", cut(0)),
    ("cut within the header", cut(50)),
    ("cut after one page", cut(4096)),
    ("cut within a page", cut(30_000)),
    ("all zero", zeros),
    ("header overwritten", overwritten(0, 100)),
    ("schema page overwritten", overwritten(100, 4096)),
    ("the pages behind the schema overwritten", overwritten(4096, 40_000)),
]


@pytest.mark.parametrize(("story", "how"), BREAKS, ids=[row[0] for row in BREAKS])
def test_a_broken_file_is_put_aside_and_a_new_one_works(
    broken: Path, story: str, how: Callable[[bytearray], None]
) -> None:
    """Whatever the damage, opening ends with a working journal; the broken bytes are kept under a dated name."""
    damaged(broken, how)
    before = broken.read_bytes()
    found, first_seq = reopened(broken)
    assert found.quarantined == broken.with_name("j.db.corrupt-20301029T115959Z"), story
    assert found.quarantined is not None
    assert found.quarantined.read_bytes() == before
    assert found.records == 0
    assert first_seq > 1_000_000 > COMMITS * 6, "a number once used for a record must not be used for another"
    assert verify(broken).intact
    again, next_seq = reopened(broken)
    assert (again.quarantined, next_seq) == (None, first_seq + 2)


def test_state_and_owed_texts_outlive_the_file(broken: Path) -> None:
    """When only the record's pages are broken, open alarms and owed texts are carried over and numbers go on above."""
    connection = sqlite3.connect(broken)
    root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'event'").fetchone()[0]
    connection.close()
    damaged(broken, overwritten((root - 1) * 4096, root * 4096))

    async def run() -> None:
        journal = Journal(broken, SITE, "boot-2")
        found = await journal.open(NOW)
        assert found.quarantined is not None
        assert found.state == {"second": COMMITS}
        assert (found.last, found.last_boot_id, found.same_boot) == (instant(COMMITS), "boot-1", False)
        assert len(await journal.outbox_due()) == COMMITS
        assert await journal.last_seq() == COMMITS * 6 + 1_000_000
        assert (await journal.counts("mqtt")).unsent == 0
        # a text already owed is still the same obligation
        journal.add(Outcome(messages=(full_outcome(7).messages[0],)))
        assert (await journal.commit(NOW)).events == 1
        await journal.close(NOW)

    asyncio.run(run())


def test_an_unused_replacement_keeps_its_numbers(broken: Path) -> None:
    """Stopped before its first commit, the new file still begins above the old one's numbers, with its state."""
    connection = sqlite3.connect(broken)
    root = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'event'").fetchone()[0]
    connection.close()
    damaged(broken, overwritten((root - 1) * 4096, root * 4096))
    opening.replace(broken, SITE, NOW, "planted")
    found, first_seq = reopened(broken)
    assert (found.quarantined, found.state, found.last) == (None, {"second": COMMITS}, instant(COMMITS))
    assert first_seq == COMMITS * 6 + 1_000_001


@pytest.mark.parametrize("seed", range(4))
def test_flipped_bytes_never_pass_unnoticed(sound: Path, tmp_path: Path, seed: int) -> None:
    """A flipped bit: the file is put aside, or the chain names the batch, or what is read is what was written.

    Never another exception, and never a changed record in a journal that counts as intact.
    """
    content = sound.read_bytes()
    dice = random.Random(seed)
    told = {"put aside": 0, "altered": 0, "unharmed": 0}
    expected = asyncio.run(records_of(sound))
    for number in range(25):
        offset, bit = dice.randrange(len(content)), 1 << dice.randrange(8)
        path = tmp_path / f"{number}" / "j.db"
        path.parent.mkdir()
        flipped = bytearray(content)
        flipped[offset] ^= bit
        path.write_bytes(flipped)
        found = asyncio.run(opened(path))
        if found.quarantined is not None:
            told["put aside"] += 1
        elif not verify(path).intact:
            told["altered"] += 1
        else:
            told["unharmed"] += 1
            assert asyncio.run(records_of(path)) == expected, f"byte {offset} bit {bit}"
    assert told["altered"] > 0
    assert sum(told.values()) == 25


async def opened(path: Path) -> Recovered:
    """Open and close."""
    journal = Journal(path, SITE, "boot-2")
    found = await journal.open(NOW)
    journal._pending.take()  # nothing is to be committed here: the file is looked at as it is
    await journal.close(NOW)
    return found


async def records_of(path: Path) -> list[object]:
    """Everything in a journal."""
    journal = Journal(path, SITE, "boot-2")
    await journal.open(NOW)
    found = await all_records(journal)
    journal._pending.take()
    await journal.close(NOW)
    return list(found)


def test_a_last_batch_that_was_edited_is_not_built_on(broken: Path) -> None:
    """A chain must not go on from an end that does not hold: the file is kept as evidence and a new one started."""
    tamper(broken, "UPDATE event SET body = replace(body, '11.96', '9.4') WHERE seq > 234")
    found, _ = reopened(broken)
    assert found.quarantined is not None
    assert verify(found.quarantined).finding is ChainFinding.ALTERED


@pytest.mark.parametrize(
    "statement", ["UPDATE state SET body = '{\"'", "UPDATE outbox SET body = '{}' WHERE seq = 5"], ids=["state", "text"]
)
def test_unreadable_state_and_texts_are_not_overlooked(broken: Path, statement: str) -> None:
    """A state body or an owed text that cannot be read makes the file unsound; what can be read is carried over."""
    connection = sqlite3.connect(broken)
    connection.execute(statement)
    connection.commit()
    connection.close()
    found, _ = reopened(broken)
    assert found.quarantined is not None
    assert found.state == ({} if "state" in statement else {"second": COMMITS})


def test_a_file_that_breaks_while_in_use_is_replaced(broken: Path) -> None:
    """A reader that meets corruption says so; the next commit checks the file, puts it aside and loses no record."""

    async def run() -> None:
        journal = Journal(broken, SITE, "boot-1")
        await journal.open(NOW)
        journal.add(full_outcome(900))
        damaged(broken, overwritten(0, 40_000))
        with pytest.raises(Corrupt):
            await journal.records(0, 10)
        assert journal.quarantined is None
        await journal.commit(NOW)
        assert journal.quarantined == broken.with_name("j.db.corrupt-20301029T115959Z")
        assert journal.pending == 1
        await journal.commit(NOW)
        found = await all_records(journal)
        assert [record.kind for record in found] == [
            "reading", "reading", "finding", "alarm", "message", "note", "note",
        ]  # fmt: skip
        assert found[-1].body["kind"] == "journal_replaced"  # type: ignore[index]
        await journal.close(NOW)

    asyncio.run(run())
    assert verify(broken).intact


def test_a_file_that_passes_its_check_but_fails_twice_is_replaced(
    broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Corruption the check does not see must not stop recording for ever."""
    real = Database.execute

    def execute(self: Database, sql: str, parameters: tuple[int, ...] = ()) -> int:
        if sql.startswith("INSERT INTO batch") and parameters[0] == COMMITS + 1:
            raise Corrupt("planted")
        return real(self, sql, parameters)

    async def run() -> None:
        journal = Journal(broken, SITE, "boot-1")
        await journal.open(NOW)
        monkeypatch.setattr(Database, "execute", execute)
        journal.add(full_outcome(1))
        for _ in range(2):
            with pytest.raises(Corrupt):
                await journal.commit(NOW)
            assert journal.quarantined is None
        await journal.commit(NOW)
        assert journal.quarantined is not None
        await journal.close(NOW)

    asyncio.run(run())


def test_the_log_goes_with_its_file_and_nothing_is_overwritten(tmp_path: Path) -> None:
    """File, write-ahead log and index move together; a second one in the same second gets another name."""
    path = tmp_path / "j.db"
    names = []
    for content in (b"1", b"2"):
        for suffix in ("", "-wal", "-shm"):
            path.with_name(path.name + suffix).write_bytes(content)
        names.append(quarantine(path, NOW).name)
    assert names == ["j.db.corrupt-20301029T115959Z", "j.db.corrupt-20301029T115959Z-2"]
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(n + s for n in names for s in ("", "-wal", "-shm"))
    assert (tmp_path / (names[0] + "-wal")).read_bytes() == b"1"


def test_a_log_without_its_file_is_not_thrown_away(tmp_path: Path) -> None:
    """SQLite would delete a log that has no file; here it is put aside first."""
    path = tmp_path / "j.db"
    path.with_name("j.db-wal").write_bytes(b"frames")
    assert is_remnant(path)
    found, _ = reopened(path)
    assert found.quarantined is not None
    assert found.quarantined.with_name(found.quarantined.name + "-wal").read_bytes() == b"frames"


def test_a_replacement_cut_short_is_finished(broken: Path) -> None:
    """Power lost after the broken file was moved and before its successor was: the next start puts it in place."""
    damaged(broken, overwritten(4096, 40_000))
    opening.replace(broken, SITE, NOW, "planted")
    broken.rename(broken.with_name("j.db.new"))
    _, first_seq = reopened(broken)
    assert first_seq > 1_000_000
    assert not broken.with_name("j.db.new").exists()


def test_a_directory_that_takes_no_rename_is_a_store_error(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the broken file cannot be put aside it stays, and the error says what could not be done."""
    damaged(broken, cut(4096))

    def refuse(*_: object) -> Path:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(StoreError, match=r"cannot be put aside as j\.db\.corrupt-20301029T115959Z: Read-only"):
        asyncio.run(opened(broken))
    assert broken.stat().st_size == 4096
