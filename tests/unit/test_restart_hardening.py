"""Restarts that ought not to happen: a clock behind the journal, a state of another release, a reused boot id."""

from pathlib import Path
from typing import Any

import pytest

from gateway.app import resume_from
from gateway.config import load
from gateway.model import FindingEvent, Instant, Outcome, Resume, Sample
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.site import Site
from gateway.store.opening import Recovered
from tests.support.lab_site import result

S = 1_000_000
UTC_US = 1_700_000_000_000_000
GPM = 0.003785411784 / 60
SLUG = "lv-slug-flow"


@pytest.fixture(scope="module")
def site() -> Site:
    """The little-valley example: flow above 50 gpm for longer than 15 min is a slug; hold 37.5 s, bridge 5 min."""
    return load(Path(str(shipped("examples", "little-valley"))), for_replay=True)


def feed(pipeline: Pipeline, channel: str, start: Instant, seconds: range, value: float) -> list[Outcome]:
    """One channel every 15 s from a moment on, with a little life in it."""
    outcomes = []
    for second in seconds:
        at = Instant(start.utc_us + second * S, start.mono_us + second * S)
        outcomes.append(pipeline.process([Sample(channel, at, (), value * (1 + second % 7 * 1e-4))], at))
    return outcomes


def found(outcomes: list[Outcome]) -> list[FindingEvent]:
    """The slug's findings, in order."""
    return [f.event for o in outcomes for f in o.findings if f.rule == SLUG]


def recovered(last: Instant, *, same_boot: bool) -> Recovered:
    """A journal whose last commit was at a moment."""
    return Recovered({}, last, same_boot, "boot", None, 1)


@pytest.mark.parametrize(
    ("now", "same_boot"),
    [
        pytest.param(Instant(UTC_US - 3600 * S, 10 * S), False, id="trusted UTC an hour behind the last commit"),
        pytest.param(Instant(UTC_US + 60 * S, 10 * S), True, id="the same boot id on a younger axis"),
    ],
)
def test_an_absence_of_less_than_no_time_is_unknown(now: Instant, same_boot: bool) -> None:
    """A restart that lies before the last commit does not carry stamps into the future."""
    resume = resume_from(recovered(Instant(UTC_US, 5000 * S), same_boot=same_boot), now)
    placed = resume.mono(5000 * S)
    assert placed is None or placed <= now.mono_us


def test_a_slug_after_a_restart_with_a_clock_behind_is_found(site: Site) -> None:
    """A run was under way; the gateway comes back with a UTC an hour earlier: the slug that goes on is raised."""
    start = Instant(UTC_US, 5000 * S)
    before = Pipeline(site, start)
    state: dict[str, Any] = {}
    for outcome in feed(before, "flow", start, range(0, 600, 15), 62 * GPM):
        state |= outcome.state
    stored = {key: value for key, value in state.items() if value is not None}
    last = Instant(UTC_US + 585 * S, 5585 * S)
    now = Instant(UTC_US - 3600 * S, 10 * S)
    after = Pipeline(site, now)
    after.restore(stored, resume_from(recovered(last, same_boot=False), now))
    assert FindingEvent.RAISED in found(feed(after, "flow", now, range(0, 1200, 15), 62 * GPM))


UNREADABLE: list[dict[str, Any]] = [
    {f"rule:{SLUG}": {}},
    {f"rule:{SLUG}": None},
    {f"rule:{SLUG}": {"last_valid": [1, 2, 1], "limit": 50.0, "run": {"since": [1, 2, 1]}, "suspected": None}},
    {f"alarm:{SLUG}": {}},
    {f"alarm:{SLUG}": []},
    {f"alarm:{SLUG}": {"severity": 99}},
]


@pytest.mark.parametrize("state", UNREADABLE, ids=str)
def test_a_state_that_cannot_be_read_stops_no_gateway(site: Site, state: dict[str, Any]) -> None:
    """What another release stored is dropped, with a note that names it; the next slug is raised as ever."""
    start = Instant(UTC_US, 0)
    pipeline = Pipeline(site, start)
    restored = pipeline.restore(state, Resume(start, 0))
    assert [note.body["state"] for note in restored.notes if note.kind == "state_unreadable"] == list(state)
    outcomes = feed(pipeline, "flow", start, range(0, 1200, 15), 62 * GPM)
    assert FindingEvent.RAISED in found(outcomes)
    assert [m.alarm for o in outcomes for m in o.messages if "HIGH" in m.text] == [SLUG]


def test_a_probe_that_died_in_an_exceedance_does_not_ask_for_commits_for_ever(site: Site) -> None:
    """One sample too high, then silence: past hold and bridge nothing is under way, and polls of others may wait."""
    start = Instant(UTC_US, 0)
    pipeline = Pipeline(site, start)
    feed(pipeline, "flow", start, range(0, 15, 15), 62 * GPM)
    outcomes = feed(pipeline, "level", start, range(15, 900, 15), 0.1)
    assert not pipeline.judgement.watching
    assert any(outcome.state.get(f"rule:{SLUG}", 0) is None for outcome in outcomes)


def test_accounts_that_cannot_be_read_leave_the_laboratory_as_it_was(site: Site) -> None:
    """Each is brought back by itself: a baseline of an older kind costs no laboratory result."""
    now = Instant(1_790_000_000_000_000, 0)
    before = Pipeline(site, now)
    before.laboratory.add_all([result(1.0)], now)
    state = {"account:baselines:flow": {"older": True}, **before.laboratory.changes()}
    after = Pipeline(site, now)
    notes = after.restore(state, Resume(now, 0)).notes
    assert [note.body["state"] for note in notes if note.kind == "state_unreadable"] == ["accounts"]
    assert after.laboratory.results == before.laboratory.results
    assert len(after.laboratory.results) == 1
