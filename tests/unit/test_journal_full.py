"""A full disk: nothing half-written, events never given up, readings given up last and counted."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.errors import DiskFull
from gateway.model import Outcome
from gateway.store.chain import verify
from gateway.store.journal import Journal
from gateway.store.pending import BATCH_RECORDS_MAX, Pending, ReadingsRun, Shed, packed
from tests.conftest import ROOT
from tests.support.journal_records import SITE, all_records, full_outcome, instant, readings


def test_a_full_disk_keeps_everything_and_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """Commits fail as DiskFull with the records kept and the file readable; with room again all of it is written."""
    path = tmp_path / "j.db"

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1", max_bytes=200_000)
        await journal.open(instant(0))
        second, committed = 0, 0
        while True:
            second += 1
            journal.add(full_outcome(second))
            try:
                await journal.commit(instant(second))
            except DiskFull:
                break
            committed = second
        assert committed > 10
        assert journal.pending == 6
        for more in range(second + 1, second + 5):
            journal.add(full_outcome(more))
            with pytest.raises(DiskFull):
                await journal.commit(instant(more))
        assert journal.pending == 30
        assert len(await all_records(journal)) == committed * 6
        assert verify(path).records == committed * 6
        journal._writer.max_bytes = 10_000_000
        commit = await journal.commit(instant(second + 5))
        assert (commit.first_seq, commit.readings, commit.events) == (committed * 6 + 1, 10, 20)
        assert len(await journal.outbox_due()) == second + 4
        found = await all_records(journal)
        notes = [record.body["body"]["second"] for record in found if record.kind == "note"]  # type: ignore[index]
        assert notes == list(range(1, second + 5))
        await journal.close(instant(second + 6))

    asyncio.run(run())
    assert verify(path).intact


FILE_SIZE_STORY = """
import asyncio, json, resource, sys
from pathlib import Path
from gateway.errors import StoreError
from gateway.store.journal import Journal
from tests.support.journal_records import SITE, all_records, full_outcome, instant

async def main():
    journal = Journal(Path(sys.argv[1]), SITE, "boot-1")
    await journal.open(instant(0))
    hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    resource.setrlimit(resource.RLIMIT_FSIZE, (150_000, hard))
    failures = committed = 0
    for second in range(1, 200):
        journal.add(full_outcome(second))
        try:
            await journal.commit(instant(second))
            committed = second
        except StoreError as error:
            failures += 1
            kind = type(error).__name__
            if failures == 3:
                break
    pending = journal.pending
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await journal.commit(instant(second + 1))
    notes = [r.body["body"]["second"] for r in await all_records(journal) if r.kind == "note"]
    quarantined = journal.quarantined
    await journal.close(instant(second + 2))
    print(json.dumps([committed, second, failures, kind, pending, notes, str(quarantined)]))

asyncio.run(main())
"""


def test_a_write_the_system_refuses_is_survived(tmp_path: Path) -> None:
    """With the size of files limited, commits fail as StoreError, keep everything, and resume when it is lifted."""
    path = tmp_path / "j.db"
    ended = subprocess.run(
        [sys.executable, "-W", "error", "-c", FILE_SIZE_STORY, str(path)],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    committed, second, failures, kind, pending, notes, quarantined = json.loads(ended.stdout)
    assert committed > 5
    assert (failures, kind) == (3, "StoreError")
    assert pending == 6 * (second - committed)
    assert notes == list(range(1, second + 1))
    assert quarantined == "None"
    verdict = verify(path)
    assert (verdict.intact, verdict.records) == (True, 6 * second)


def test_readings_are_shed_first_and_the_oldest_of_them() -> None:
    """Beyond the bound the oldest readings go, down to a little below it; every event and all state stay, in order."""
    pending = Pending(readings_max=100)
    for second in range(80):
        pending.add(full_outcome(second))  # two readings, four events
    # Over the bound at 102 readings, down to 94; four outcomes later again: eight times until the 79th outcome.
    assert pending.shed_total == 8 * 8
    assert (pending.readings, pending.events) == (80 * 2 - 64, 80 * 4)
    taken = pending.take()
    kept = [item for item in taken.items if isinstance(item, ReadingsRun)]
    assert [item.from_utc_us for item in kept] == [instant(second).utc_us for second in range(32, 80)]
    assert taken.shed == Shed(64, instant(0).utc_us, instant(31).utc_us)
    assert len(taken.items) - len(kept) == 80 * 4
    assert taken.state == {"second": "79"}


def test_what_was_shed_is_on_record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The commit that succeeds at last begins with a note of how many readings are missing and from which span."""
    path = tmp_path / "j.db"

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1")
        journal._pending = Pending(readings_max=3_000)
        await journal.open(instant(0))
        journal._writer.max_bytes = 1  # no page more than there is
        for second in range(1, 61):
            journal.add(Outcome(readings=readings(second, 150)))
            with pytest.raises(DiskFull):
                await journal.commit(instant(second))
        journal.add(full_outcome(61))
        shed = journal.shed_readings
        assert 60 * 150 - 3_000 <= shed <= 60 * 150 - 2_700
        journal._writer.max_bytes = 10_000_000
        commit = await journal.commit(instant(62))
        found = await all_records(journal)
        assert (found[0].kind, found[0].at) == ("note", instant(62))
        assert found[0].body["kind"] == "readings_shed"  # type: ignore[index]
        assert found[0].body["body"] == {  # type: ignore[index]
            "count": shed, "from_utc_us": instant(1).utc_us, "to_utc_us": instant(shed // 150).utc_us,
        }  # fmt: skip
        kept = [record.body for record in found if record.kind == "reading"]
        waited = [reading for second in range(shed // 150 + 1, 61) for reading in readings(second, 150)]
        assert kept == [*waited, *readings(61)]
        assert commit.events == 1 + 4
        journal.add(full_outcome(63))
        assert (await journal.commit(instant(63))).events == 4  # told once
        assert journal.shed_readings == shed
        await journal.close(instant(64))

    asyncio.run(run())
    assert verify(path).intact


def test_groups_stay_within_the_bound_and_in_order() -> None:
    """Items are grouped in order, no group above the bound, and nothing at all is one empty group."""
    pending = Pending()
    pending.add(Outcome(readings=readings(1, 2 * BATCH_RECORDS_MAX + 1)))
    pending.add(full_outcome(2))
    items = pending.take().items
    groups = list(packed(items))
    assert [item for group in groups for item in group] == list(items)
    sizes = [sum(getattr(item, "count", 1) for item in group) for group in groups]
    assert sizes == [BATCH_RECORDS_MAX, BATCH_RECORDS_MAX, 1 + 2 + 4]
    assert list(packed(())) == [[]]
