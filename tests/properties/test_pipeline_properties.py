"""The whole path over any short series: how the input is cut, and where the gateway restarts, changes nothing."""

from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.config import load
from gateway.model import Fault, Finding, Instant, Mode, Outcome, Resume, Sample
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.site import Site

S = 1_000_000
START = Instant(1_790_000_000_000_000, 0)


def both_towns() -> Site:
    """Little Valley's example, judged by both towns, with short durations so that short series prove something."""
    site = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
    other = load(Path(str(shipped("examples", "marlborough"))), for_replay=True)
    rules = tuple(
        replace(r, duration_us=90 * S, prealarms_us=(30 * S,)) if r.kind == "slug" else r
        for r in (*site.rules, *other.rules)
        if not r.laboratory
    )
    return replace(site, rules=rules, alarms={**other.alarms, **site.alarms})


SITE = both_towns()
FLOW_GAIN = SITE.channels["flow"].conversion.gain
# One row: seconds to it, flow in gpm, pH; None is silence, "m" a technician at work.
ROWS = st.lists(
    st.tuples(
        st.sampled_from([15, 15, 15, 15, 30, 60, 200]),
        st.sampled_from([10.0, 60.0, 60.0, 60.0, 0.0, 300.0, None, "m"]),
        st.sampled_from([7.0, 7.1, 5.0, 4.9, 9.9, None, 15.0, "m"]),
    ),
    max_size=40,
)


def sample(name: str, at: Instant, value: float | str | None) -> Sample:
    """What a probe sent, or did not."""
    if value is None:
        return Sample(name, at, fault=Fault.SILENT)
    if isinstance(value, str):
        return Sample(name, at, (), 7.0, mode=Mode.MAINTENANCE)
    return Sample(name, at, (), value / FLOW_GAIN if name == "flow" else value)


def rows_of(steps: list) -> list[tuple[Instant, list[Sample]]]:
    """Moments and samples."""
    rows, second = [], 0
    for step_s, flow, ph in steps:
        second += step_s
        at = Instant(START.utc_us + second * S, second * S)
        rows.append((at, [sample("flow", at, flow), sample("ph", at, ph)]))
    return rows


def said(outcome: Outcome) -> list[Finding]:
    """What was found."""
    return list(outcome.findings)


def books(pipeline: Pipeline, at: Instant) -> list:
    """Every channel's and rule's seconds."""
    return [pipeline.channel_seconds(at), [rule.seconds.report(at.mono_us) for rule in pipeline.rules]]


@settings(max_examples=60)
@given(ROWS, st.data())
def test_how_the_input_is_cut_changes_nothing(steps: list, data: st.DataObject) -> None:
    """Rows whole, or sample by sample with ticks in between at any moment: the same findings, the same books."""
    rows = rows_of(steps)
    whole, pieces = Pipeline(SITE, START), Pipeline(SITE, START)
    first: list[Finding] = []
    second: list[Finding] = []
    last = START
    for at, samples in rows:
        first += said(whole.process(samples, at))
        if data.draw(st.booleans()):
            between = (last.mono_us + at.mono_us) // 2
            second += said(pieces.tick(Instant(START.utc_us + between, between)))
        for one in samples:
            second += said(pieces.process([one], at))
        last = at
    assert sorted(map(repr, first)) == sorted(map(repr, second))
    assert books(whole, last) == books(pieces, last)


@settings(max_examples=60)
@given(ROWS)
def test_the_books_balance_and_twice_is_the_same(steps: list) -> None:
    """Every account sums to the period, and a second run says the same."""
    rows = rows_of(steps)
    runs = []
    for _ in range(2):
        pipeline = Pipeline(SITE, START)
        found = [finding for at, samples in rows for finding in said(pipeline.process(samples, at))]
        end = rows[-1][0] if rows else START
        channels, rules = books(pipeline, end)
        for account in [*channels.values(), *rules]:
            assert sum(account.values()) == end.mono_us
            assert min(account.values()) >= 0
        runs.append((found, channels, rules))
    assert runs[0] == runs[1]


@settings(max_examples=60)
@given(ROWS, st.integers(0, 40))
def test_a_restart_anywhere_changes_no_proof(steps: list, cut: int) -> None:
    """The durable state after any row, in a new pipeline at once: raised, cleared and interrupted follow alike."""
    rows = rows_of(steps)
    whole = Pipeline(SITE, START)
    expected = [f for at, samples in rows for f in said(whole.process(samples, at))]
    before, state = Pipeline(SITE, START), {}
    found: list[Finding] = []
    for at, samples in rows[:cut]:
        outcome = before.process(samples, at)
        state |= outcome.state
        found += said(outcome)
    resumed = rows[cut - 1][0] if 0 < cut <= len(rows) else (rows[-1][0] if rows else START)
    after = Pipeline(SITE, resumed)
    kept = {key: value for key, value in state.items() if value is not None}
    found += said(after.restore({**kept, **before.snapshot()}, Resume(resumed, 0)))
    after.interlock = before.interlock  # its delays are not durable: docs/limits.md
    for at, samples in rows[cut:]:
        found += said(after.process(samples, at))
    proofs = ("raised", "cleared", "suspected")
    assert [(f.event, f.rule, f.since, f.at) for f in found if f.event.value in proofs] == [
        (f.event, f.rule, f.since, f.at) for f in expected if f.event.value in proofs
    ]
