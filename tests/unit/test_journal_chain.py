"""The hash chain: its fixed encoding, and which tampering it finds by itself and which only with a head sent away."""

import asyncio
import hashlib
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.errors import StoreError
from gateway.model import Instant, Outcome
from gateway.store import chain
from gateway.store.chain import GENESIS, BatchHeader, ChainFinding, ChainVerdict, Head, batch_hash, verify
from gateway.store.journal import Journal
from tests.support.journal_records import SITE, full_outcome, instant, tamper, write_batches

BATCHES = 8
RECORDS = 6  # of a full outcome


def integer(value: int) -> bytes:
    """A number as the chain writes it, by the book."""
    return value.to_bytes(8, "big", signed=True)


def text(value: str) -> bytes:
    """A text as the chain writes it, by the book."""
    return len(value.encode()).to_bytes(4, "big") + value.encode()


def by_the_book(  # every field of the encoding, spelled out
    site: str, ids: tuple[int, int, int], prev: bytes, boot: str, at: Instant, readings: str, events: list[tuple]
) -> bytes:
    """The hash computed from the description alone."""
    rows = b"".join(integer(seq) + text(kind) + integer(utc) + text(body) for seq, kind, utc, body in events)
    plain = text("MHGW1") + text(site) + b"".join(integer(number) for number in ids) + prev + text(boot)
    plain += integer(at.mono_us) + integer(at.utc_us) + (b"\1" if at.synced else b"\0")
    plain += hashlib.sha256(readings.encode()).digest() + hashlib.sha256(rows).digest()
    return hashlib.sha256(plain).digest()


def test_the_encoding_is_fixed_by_a_vector() -> None:
    """The vector in the module's description holds: anyone can write a second verifier from that text alone."""
    readings = '[[7,5,true,["ph",[],7.0,1]]]'
    events = [(2, "note", 7, "{}")]
    header = BatchHeader(1, 1, 2, "b", Instant(7, 5, True))
    computed = batch_hash("lv-mh3", header, GENESIS, readings.encode(), events)
    assert computed == by_the_book("lv-mh3", (1, 1, 2), bytes(32), "b", Instant(7, 5, True), readings, events)
    assert computed.hex() in (chain.__doc__ or "")


def test_every_field_of_a_batch_is_under_the_hash() -> None:
    """Changing any one field, even moving a byte from one to the next, changes the hash."""
    header = BatchHeader(1, 1, 2, "boot", Instant(7, 5, True))
    events = [(2, "note", 7, "{}")]
    variants = [
        ("lv-mh3", header, GENESIS, b"[]", events),
        ("lv-mh", header, GENESIS, b"[]", events),
        ("lv-mh3", BatchHeader(2, 1, 2, "boot", Instant(7, 5, True)), GENESIS, b"[]", events),
        ("lv-mh3", BatchHeader(1, 2, 2, "boot", Instant(7, 5, True)), GENESIS, b"[]", events),
        ("lv-mh3", BatchHeader(1, 1, 3, "boot", Instant(7, 5, True)), GENESIS, b"[]", events),
        ("lv-mh3", BatchHeader(1, 1, 2, "boot2", Instant(7, 5, True)), GENESIS, b"[]", events),
        ("lv-mh3", BatchHeader(1, 1, 2, "boot", Instant(8, 5, True)), GENESIS, b"[]", events),
        ("lv-mh3", BatchHeader(1, 1, 2, "boot", Instant(7, 6, True)), GENESIS, b"[]", events),
        ("lv-mh3", BatchHeader(1, 1, 2, "boot", Instant(7, 5, False)), GENESIS, b"[]", events),
        ("lv-mh3", header, bytes(31) + b"\1", b"[]", events),
        ("lv-mh3", header, GENESIS, b"[ ]", events),
        ("lv-mh3", header, GENESIS, b"[]", [(3, "note", 7, "{}")]),
        ("lv-mh3", header, GENESIS, b"[]", [(2, "alarm", 7, "{}")]),
        ("lv-mh3", header, GENESIS, b"[]", [(2, "note", 8, "{}")]),
        ("lv-mh3", header, GENESIS, b"[]", [(2, "note", 7, "{ }")]),
        ("lv-mh3", header, GENESIS, b"[]", []),
    ]
    assert len({batch_hash(*variant) for variant in variants}) == len(variants)


@pytest.fixture
def written(tmp_path: Path) -> Path:
    """A journal of eight commits, closed."""
    path = tmp_path / "j.db"
    asyncio.run(write_batches(path, BATCHES))
    return path


def test_what_the_journal_writes_is_what_the_book_says(written: Path) -> None:
    """Every stored hash equals the one computed from the stored rows by the description alone."""
    connection = sqlite3.connect(written)
    prev = bytes(32)
    for batch_id, first, last, boot, utc, mono, synced, stored_prev, stored, readings in connection.execute(
        "SELECT id, first_seq, last_seq, boot_id, utc_us, mono_us, synced, prev_hash, hash, readings FROM batch"
    ):
        events = connection.execute(
            "SELECT seq, kind, utc_us, body FROM event WHERE batch_id = ? ORDER BY seq", (batch_id,)
        ).fetchall()
        assert stored_prev == prev
        at = Instant(utc, mono, bool(synced))
        prev = by_the_book(SITE, (batch_id, first, last), prev, boot, at, readings, events)
        assert stored == prev
    connection.close()
    assert verify(written).head == Head(BATCHES, BATCHES * RECORDS, prev)


def test_an_untouched_journal_is_intact(written: Path) -> None:
    """Nothing found: all batches and records counted, and heads sent away on the way agree."""
    heads = heads_of(written)
    assert verify(written, SITE, heads) == ChainVerdict(ChainFinding.INTACT, BATCHES, BATCHES * RECORDS, heads[-1])
    assert verify(written, "another-site").finding is ChainFinding.ALTERED


def heads_of(path: Path) -> list[Head]:
    """The heads a gateway would have sent away, one per commit."""
    connection = sqlite3.connect(path)
    heads = [Head(*row) for row in connection.execute("SELECT id, last_seq, hash FROM batch ORDER BY id")]
    connection.close()
    return heads


TAMPERINGS = [
    ("a reading's raw word edited", "UPDATE batch SET readings = replace(readings, '[5,0]', '[6,0]') WHERE id = 5", "",
     ChainFinding.ALTERED, 5),
    ("an event's body edited", "UPDATE event SET body = replace(body, '11.96', '9.4') WHERE batch_id = 5", "",
     ChainFinding.ALTERED, 5),
    ("a batch's time stamp edited", "UPDATE batch SET utc_us = utc_us + 1 WHERE id = 5", "", ChainFinding.ALTERED, 5),
    ("an event's time stamp edited", "UPDATE event SET utc_us = utc_us - 1 WHERE seq = 27", "",
     ChainFinding.ALTERED, 5),
    ("a batch's clock trust edited", "UPDATE batch SET synced = 0 WHERE id = 5", "", ChainFinding.ALTERED, 5),
    ("a batch's clock trust edited to the same truth", "UPDATE batch SET synced = 2 WHERE id = 5", "",
     ChainFinding.ALTERED, 5),
    ("an event deleted", "DELETE FROM event WHERE seq = 27", "", ChainFinding.ALTERED, 5),
    ("an event moved to another batch", "UPDATE event SET batch_id = 4 WHERE seq = 27", "", ChainFinding.ALTERED, 5),
    ("an event added behind the end", "INSERT INTO event VALUES (49, 8, 'note', 1, '{}')", "",
     ChainFinding.ALTERED, 9),
    ("a batch deleted", "DELETE FROM event WHERE batch_id = 5", "DELETE FROM batch WHERE id = 5",
     ChainFinding.GAP, 5),
    ("the first batch deleted", "DELETE FROM event WHERE batch_id = 1", "DELETE FROM batch WHERE id = 1",
     ChainFinding.GAP, 1),
    ("text that is no longer text", "UPDATE batch SET readings = CAST(x'ff5b5d' AS TEXT) WHERE id = 5", "",
     ChainFinding.ALTERED, 5),
]  # fmt: skip


@pytest.mark.parametrize(
    ("story", "first", "second", "finding", "batch"), TAMPERINGS, ids=[row[0] for row in TAMPERINGS]
)
def test_tampering_is_found_by_the_chain_alone(
    written: Path, story: str, first: str, second: str, finding: ChainFinding, batch: int
) -> None:
    """Each edit of payload or stamp and each deletion is found, with the first bad batch and its span of time."""
    tamper(written, *filter(None, (first, second)))
    verdict = verify(written)
    assert not verdict.intact
    assert (verdict.finding, verdict.batch_id) == (finding, batch), story
    assert verdict.batches == batch - 1
    assert verdict.records == RECORDS * (batch - 1)
    # The last good stamp before and the next stamp after bound the time in doubt; the batch's own is not believed.
    assert verdict.after_utc_us == (instant(batch - 1).utc_us if batch > 1 else None)
    assert verdict.before_utc_us == (instant(batch + 1).utc_us if batch <= BATCHES else None)
    assert str(batch) in verdict.reason or "49" in verdict.reason


def test_deletion_with_renumbering_is_found(written: Path) -> None:
    """Closing the hole after a deletion changes numbers that are under the hash: the first moved batch is named."""
    tamper(
        written,
        "DELETE FROM event WHERE batch_id = 5",
        "DELETE FROM batch WHERE id = 5",
        "UPDATE event SET seq = seq - 6, batch_id = batch_id - 1 WHERE batch_id > 5",
        "UPDATE batch SET id = id - 1, first_seq = first_seq - 6, last_seq = last_seq - 6 WHERE id > 5",
    )
    verdict = verify(written)
    assert (verdict.finding, verdict.batch_id, verdict.seq) == (ChainFinding.ALTERED, 5, 25)


def rehash(path: Path, *batch_ids: int) -> None:
    """Give batches a hash that fits what they hold now, chained to the one before, as a knowing forger would."""
    connection = sqlite3.connect(path)
    statements = []
    prev = connection.execute("SELECT hash FROM batch WHERE id = ?", (batch_ids[0] - 1,)).fetchone()[0]
    for batch_id in batch_ids:
        row = connection.execute(
            "SELECT first_seq, last_seq, boot_id, utc_us, mono_us, synced, readings FROM batch WHERE id = ?",
            (batch_id,),
        ).fetchone()
        events = connection.execute(
            "SELECT seq, kind, utc_us, body FROM event WHERE batch_id = ? ORDER BY seq", (batch_id,)
        ).fetchall()
        first, last, boot, utc, mono, synced, readings = row
        digest = by_the_book(
            SITE, (batch_id, first, last), prev, boot, Instant(utc, mono, bool(synced)), readings, events
        )
        hashes = f"prev_hash = x'{prev.hex()}', hash = x'{digest.hex()}'"
        statements.append(f"UPDATE batch SET {hashes} WHERE id = {batch_id}")  # noqa: S608 - a forger's own statement
        prev = digest
    connection.close()
    tamper(path, *statements)


EDIT = "UPDATE batch SET readings = replace(readings, '[5,0]', '[6,0]') WHERE id = 5"


def test_a_batch_forged_with_a_fitting_hash_is_found(written: Path) -> None:
    """A forger who rehashes the edited batch only is found by its successor, and the forged batch is the one named."""
    tamper(written, EDIT)
    rehash(written, 5)
    verdict = verify(written)
    assert (verdict.finding, verdict.batch_id, verdict.seq) == (ChainFinding.ALTERED, 5, 25)
    assert (verdict.after_utc_us, verdict.before_utc_us) == (instant(4).utc_us, instant(6).utc_us)


def cut_tail(path: Path) -> None:
    """The last three batches gone."""
    tamper(path, "DELETE FROM event WHERE batch_id > 5", "DELETE FROM batch WHERE id > 5")


def rewrite(path: Path) -> None:
    """One batch edited and everything from it to the end rehashed."""
    tamper(path, EDIT)
    rehash(path, 5, 6, 7, 8)


@pytest.mark.parametrize(
    ("attack", "finding", "batch"),
    [(cut_tail, ChainFinding.TRUNCATED, 6), (rewrite, ChainFinding.REWRITTEN, 6)],
    ids=["tail cut off", "rewritten to the end"],
)
def test_what_only_a_head_sent_away_can_find(
    written: Path, attack: Callable[[Path], None], finding: ChainFinding, batch: int
) -> None:
    """A cut tail and a full rewrite pass the chain alone, and are found with one head that had left the box."""
    sent = heads_of(written)[5]
    attack(written)
    assert verify(written).intact
    verdict = verify(written, heads=[sent])
    assert (verdict.finding, verdict.batch_id) == (finding, batch)


def test_an_emptied_journal_is_truncated_when_a_head_is_known(tmp_path: Path) -> None:
    """A journal without a single batch is intact by itself, and cut off when something had been sent away."""
    path = tmp_path / "j.db"
    asyncio.run(write_batches(path, 0))
    assert verify(path) == ChainVerdict(ChainFinding.INTACT, 0, 0)
    assert verify(path, heads=[Head(5, 30, bytes(32))]).finding is ChainFinding.TRUNCATED


def test_a_live_journal_can_be_proven(tmp_path: Path) -> None:
    """The proof runs beside the writer, on a view of its own, and its end is the journal's head."""
    path = tmp_path / "j.db"

    async def run() -> None:
        journal = Journal(path, SITE, "boot-1")
        await journal.open(instant(0))
        assert journal.head == Head(0, 0, GENESIS)
        for second in range(3):
            journal.add(full_outcome(second))
            await journal.commit(instant(second))
            verdict = verify(path)
            assert verdict.intact
            assert verdict.head == journal.head
        journal.add(Outcome(state={"x": 1}))
        await journal.close(instant(3))

    asyncio.run(run())


def test_the_proof_of_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    """A wrong path is an error, not an intact journal, and no file is made."""
    with pytest.raises(StoreError, match="absent"):
        verify(tmp_path / "absent.db")
    assert list(tmp_path.iterdir()) == []
