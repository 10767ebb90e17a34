"""The interlock's memory over a restart: a probe that just became wet is as dry after it as before."""

from pathlib import Path
from typing import Any

import pytest

from gateway.config import load
from gateway.model import Instant, Outcome, Resume, Sample
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.signals.interlock import Discharge, Interlock
from gateway.site import Discharging, Witness
from tests.support.bench_site import channel, reading

S = 1_000_000
UTC_US = 1_700_000_000_000_000


def test_a_probe_that_just_became_wet_is_as_dry_after_a_restart_as_before() -> None:
    """Flow began 15 s ago, the on-delay is 60 s, the gateway restarts: the pH of the next poll is still out of it."""
    site = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
    flow_m3s = 20 * 0.003785411784 / 60

    def poll(pipeline: Pipeline, second: int, flow: float) -> Outcome:
        at = Instant(UTC_US + second * S, second * S)
        return pipeline.process([Sample("flow", at, (), flow), Sample("ph", at, (), 3.0 + second * 1e-4)], at)

    def after(*, restart: bool) -> bool:
        pipeline = Pipeline(site, Instant(UTC_US, 0))
        state: dict[str, Any] = {}
        for second in range(0, 300, 15):
            state |= poll(pipeline, second, 0.0).state
        state |= poll(pipeline, 300, flow_m3s).state
        if restart:
            now = Instant(UTC_US + 301 * S, 301 * S)
            pipeline = Pipeline(site, now)
            pipeline.restore({key: value for key, value in state.items() if value is not None}, Resume(now, 0))
        outcome = poll(pipeline, 315, flow_m3s * 1.01)
        return next(reading.dry for reading in outcome.readings if reading.channel == "ph")

    assert after(restart=False)
    assert after(restart=True)


def interlock() -> Interlock:
    """Discharging at 2 gpm and more, 60 s either way, held for 37.5 s."""
    channels = {"flow": channel("flow"), "ph": channel("ph")}
    return Interlock(Discharging((Witness("flow", 2.0),), 60 * S, 60 * S, frozenset({"ph"})), channels)


def turning() -> Interlock:
    """Dry for a minute, and wet for 15 s."""
    lock = interlock()
    for second, flow in ((0, 0.0), (15, 0.0), (30, 0.0), (45, 0.0), (60, 20.0), (75, 20.0)):
        lock.hear(reading("flow", second, flow))
    return lock


@pytest.mark.parametrize(
    ("sentence", "resume", "settled"),
    [
        ("Within one boot the minute goes on.", Resume(Instant(UTC_US, 80 * S), 0), Discharge.NONE),
        ("On another axis too.", Resume(Instant(UTC_US, 80 * S), 0), Discharge.NONE),
        (
            "Where nobody can tell the time the first word settles it.",
            Resume(Instant(UTC_US, 80 * S), None),
            Discharge.WET,
        ),
    ],
)
def test_the_delay_goes_on_where_time_can_be_told(sentence: str, resume: Resume, settled: Discharge) -> None:
    """Restored 5 s later; the next word comes at 90 s, and 60 s of flow are over at 120."""
    lock = interlock()
    lock.restore(turning().memory(), resume)
    lock.hear(reading("flow", 90, 20.0))
    assert lock.state(90 * S) is settled, sentence
    lock.hear(reading("flow", 120, 20.0))
    assert lock.state(120 * S) is Discharge.WET


def test_stamps_move_with_the_axis() -> None:
    """Another boot began its axis 1,000 s later: what was 60 s is -940 s there."""
    lock = interlock()
    lock.restore(turning().memory(), Resume(Instant(UTC_US, 0), -1000 * S))
    stored = lock.memory()["witnesses"]["flow"]
    assert (stored["turning_since_us"], stored["last_us"]) == (-940 * S, -925 * S)


def test_a_witness_that_was_silent_over_the_restart_starts_afresh() -> None:
    """Away for longer than the hold: what it settled on then says nothing of now."""
    lock = interlock()
    lock.restore(turning().memory(), Resume(Instant(UTC_US, 600 * S), 0))
    lock.hear(reading("flow", 600, 20.0))
    assert lock.state(600 * S) is Discharge.WET


@pytest.mark.parametrize("memory", [{}, {"witnesses": 3}, {"witnesses": {"flow": {}}}, [], "x"])
def test_a_memory_that_cannot_be_read_is_written_down(memory: Any) -> None:
    """The gateway starts all the same, each witness afresh, and the record says so."""
    site = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
    now = Instant(UTC_US, 0)
    outcome = Pipeline(site, now).restore({"interlock": memory}, Resume(now, 0))
    assert [note.body["state"] for note in outcome.notes if note.kind == "state_unreadable"] == ["interlock"]
