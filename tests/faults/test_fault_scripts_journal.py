"""Ten thousand random fault scripts, last part: down to the journal, so that what is judged is what was stored."""

import asyncio
from dataclasses import replace
from pathlib import Path

from gateway.clock import ScaledClock
from gateway.model import Instant, Sample, Severity
from gateway.pipeline import Pipeline
from gateway.site import AlarmPolicy
from gateway.store.journal import Journal
from tests.support.faulty_bus import JOURNAL_SEEDS, KINDS, SPEED, Kind, Told, faulty_channels, proven, run_script
from tests.support.journal_rows import readings
from tests.support.small_site import small_site

AT_ONCE = 10


async def stored(seed: int, kind: Kind, folder: Path) -> Told:
    """One script through pipeline and journal; what is wrong in the file counts."""
    clock = ScaledClock(SPEED)
    channels = {channel.name: channel for channel in faulty_channels()}
    alarms = {f"sensor-{name}": AlarmPolicy(f"sensor-{name}", Severity.WARNING) for name in channels}
    site = replace(small_site(), channels=channels, rules=(), baselines={}, alarms=alarms)
    pipeline = Pipeline(site, clock.now())
    journal = Journal(folder / f"{seed}.db", site.id, clock.axis)
    await journal.open(clock.now())

    def deliver(samples: tuple[Sample, ...], now: Instant) -> None:
        journal.add(pipeline.process(samples, now))

    try:
        told = await run_script(seed, kind, deliver=deliver, clock=clock)
        await journal.commit(clock.now())
    finally:
        await journal.close(clock.now())
    delivered, told.right, told.wrong = told.right, 0, []
    for name in channels:
        for mono_us, value, _ in readings(journal.path, name):
            if value is not None:
                wrong = told.far.judge(Sample(name, Instant(mono_us, mono_us), (), value))
                told.wrong += [wrong] if wrong else []
                told.right += not wrong
    assert told.right + len(told.wrong) == delivered, f"{delivered} delivered, {told.right} stored\n{told.report}"
    return told


def test_no_script_puts_a_wrong_value_into_the_journal(tmp_path: Path) -> None:
    """Every number in every journal file is of its own unit, register and poll; none that was delivered is lacking."""

    async def run() -> list[Told]:
        done: list[Told] = []
        queue = iter(JOURNAL_SEEDS)

        async def work() -> None:
            for seed in queue:
                told = await stored(seed, KINDS[seed % len(KINDS)], tmp_path)
                done.append(told)

        async with asyncio.TaskGroup() as group:
            for _ in range(AT_ONCE):
                group.create_task(work())
        return done

    told = asyncio.run(run())
    assert sorted(one.seed for one in told) == list(JOURNAL_SEEDS)
    proven(told)
