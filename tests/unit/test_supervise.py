"""The task boundary: a task that falls over is reported and started again, after a pause that fits its record."""

import asyncio

import pytest

from gateway import supervise as boundary
from gateway.errors import BusDown
from gateway.supervise import supervise


def pauses(monkeypatch: pytest.MonkeyPatch, *, sound_s: float, faults: int = 12) -> tuple[list[float], list[str]]:
    """The pauses and the reports of a task that falls over so many times."""
    paused: list[float] = []
    reported: list[str] = []

    async def no_wait(seconds: float) -> None:
        paused.append(seconds)
        if len(paused) == faults:
            raise asyncio.CancelledError

    async def task() -> None:
        raise BusDown("port gone") if len(paused) % 2 else RuntimeError("a bug")

    async def all_faults() -> None:
        monkeypatch.setattr(boundary.asyncio, "sleep", no_wait)
        with pytest.raises(asyncio.CancelledError):
            await supervise("bus", task, reported.append, sound_s=sound_s)

    asyncio.run(all_faults())
    return paused, reported


def test_faults_in_a_row_are_given_more_and_more_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twelve faults at once: every one reported, the pauses grow, none beyond a minute."""
    paused, reported = pauses(monkeypatch, sound_s=300.0)
    assert reported[:2] == ["bus: RuntimeError: a bug", "bus: port gone"]
    assert len(reported) == 12
    assert max(paused) > 1
    assert max(paused) <= 60


def test_a_fault_after_a_sound_run_costs_no_more_than_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run was long enough to count as sound: the twelfth fault pauses measuring no longer than the first may."""
    paused, _ = pauses(monkeypatch, sound_s=0.0)
    assert max(paused) <= 1.0


def test_a_start_that_lasts_is_reported_once_and_one_that_does_not_is_not() -> None:
    """Falls over twice at once, then stays up: sound is said once, after the last start."""

    async def story() -> list[str]:
        said: list[str] = []
        starts = 0

        async def task() -> None:
            nonlocal starts
            starts += 1
            if starts < 3:
                raise BusDown("port gone")
            await asyncio.sleep(60)

        running = asyncio.create_task(supervise("bus", task, said.append, lambda: said.append("sound"), sound_s=0.2))
        async with asyncio.timeout(30):
            while "sound" not in said:  # noqa: ASYNC110 - the task's own word is what is waited for
                await asyncio.sleep(0.01)
        await asyncio.sleep(0.3)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        return said

    assert asyncio.run(story()) == ["bus: port gone", "bus: port gone", "sound"]
