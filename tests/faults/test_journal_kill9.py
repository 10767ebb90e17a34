"""Killed at any moment, a journal has every commit it acknowledged, whole, and nothing of any other."""

import asyncio
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from gateway.model import Reading
from gateway.store.chain import verify
from gateway.store.journal import Journal, Recovered
from tests.conftest import ROOT
from tests.support.journal_child import outcome
from tests.support.journal_records import SITE, all_records, instant

ROUNDS = 40


def killed(path: Path, dice: random.Random) -> int:
    """Start a writer, kill it at a random moment; the last number it acknowledged, 0 when it did not come to that.

    One round in four is killed without waiting for a first commit, so that opening and recovering is hit too.
    """
    command = [sys.executable, "-m", "tests.support.journal_child", str(path)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        lines = []
        if dice.randrange(4):
            lines.append(child.stdout.readline())
            time.sleep(dice.uniform(0, 0.04))
        else:
            time.sleep(dice.uniform(0, 0.4))
        child.send_signal(signal.SIGKILL)
        lines += child.stdout.readlines()
        child.wait()
    assert child.returncode == -signal.SIGKILL, "the writer ended by itself"
    whole = [int(line) for line in lines if line.endswith("\n")]
    return whole[-1] if whole else 0


async def found_in(path: Path) -> tuple[Recovered, list[object], set[int], int]:
    """What the next process recovers: state, every record, the owed texts' numbers, the sink's position."""
    journal = Journal(path, SITE, "boot-1")
    recovered = await journal.open(instant(0))
    records = await all_records(journal)
    assert [record.seq for record in records] == list(range(1, len(records) + 1))
    owed = {int(text.message.dedupe_key.split(":")[1]) for text in await journal.outbox_due()}
    cursor = await journal.cursor("mqtt")
    assert cursor <= len(records)
    await journal.close(instant(0))
    bodies = [r.body if isinstance(r.body, Reading) else (r.kind, r.body["at"]["utc_us"]) for r in records]
    return recovered, bodies, owed, cursor


def expected(last: int) -> list[object]:
    """What the outcomes up to a number leave in the journal."""
    bodies: list[object] = []
    for number in range(1, last + 1):
        made = outcome(number)
        bodies.extend(made.readings)
        bodies.extend(("finding", event.at.utc_us) for event in made.findings)
        bodies.extend(("alarm", event.at.utc_us) for event in made.alarm_events)
        bodies.extend(("message", event.at.utc_us) for event in made.messages)
        bodies.extend(("note", event.at.utc_us) for event in made.notes)
    return bodies


def test_kill_9_at_random_moments(tmp_path: Path) -> None:
    """Forty kills of one growing journal: no acknowledged record lost, none invented, no gap, state of the last commit.

    Whatever was committed when the process died is there as a whole: readings, events, state, texts and cursor agree on
    the same number, which is the last acknowledged one or that of the one commit under way.
    """
    path = tmp_path / "j.db"
    dice = random.Random(9)
    last = cursor = 0
    for _ in range(ROUNDS):
        acknowledged = max(last, killed(path, dice))
        recovered, bodies, owed, moved_to = asyncio.run(found_in(path))
        last = int(recovered.state.get("second", 0))
        assert acknowledged <= last <= acknowledged + 3
        assert recovered.quarantined is None
        assert bodies == expected(last)
        assert owed == set(range(5, last + 1, 5))
        assert moved_to >= cursor
        cursor = moved_to
        verdict = verify(path)
        assert verdict.intact, verdict
        assert verdict.records == len(bodies) == recovered.records
    assert last > ROUNDS
