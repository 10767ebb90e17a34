"""What no split, restart, failure or clock step may do to the sums. Time is small integers of seconds."""

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.model import Resume
from gateway.rules.ledger import DaySums
from gateway.signals.qc import evidence
from tests.oracles import averages as oracle
from tests.support.ledger_feed import Clock, Feed, Word, reading

HOLD_S = 25
MIDNIGHT_AT_S = 420  # the story crosses a local midnight in its seventh minute
STORY = Clock(Clock().utc_s - MIDNIGHT_AT_S)
TENTHS = st.integers(0, 400).map(lambda tenths: Fraction(tenths, 10))


def series(kinds: str) -> st.SearchStrategy[list[Word]]:
    """Words of these kinds, 1 to 40 s apart, over some minutes."""
    step = st.tuples(st.sampled_from([1, 2, 5, 9, 10, 10, 11, 24, 25, 26, 40]), st.sampled_from(kinds), TENTHS)

    def words(steps: list[tuple[int, str, Fraction]]) -> list[Word]:
        second, found = 0, []
        for gap, kind, value in steps:
            second += gap
            found.append((second, kind, value))
        return found

    return st.lists(step, max_size=70).map(words)


CHANNEL = series("vvvvvvvvmfdyM")
FLOW = series("vvvvvvvvnmfdM")


def fed(channel: Sequence[Word], flow: Sequence[Word], extra: Sequence[int] = ()) -> Feed:
    """Ledgers that have heard both series, with further calls of `advance` at some moments, up to the 24th minute."""
    feed = Feed(clock=STORY, hold_s=HOLD_S)
    merged = [(w[0], 1, "flow", w) for w in flow] + [(w[0], 2, "tss", w) for w in channel]
    merged += [(second, 0, "", (second, "", Fraction(0))) for second in extra]
    for second, _, name, (_, kind, value) in sorted(merged, key=lambda one: one[:2]):
        if name:
            feed.take(name, second, kind, value)
        else:
            feed.advance(feed.clock.at(second))
    feed.advance(feed.clock.at(1440))
    return feed


def all_of(feed: Feed) -> tuple[object, ...]:
    """Everything a ledger can be asked."""
    now = feed.clock.at(1440)
    assert feed.flow is not None
    assert feed.flow_days is not None
    return (
        [*feed.ledger.days, *feed.flow_days.days, feed.flow_days.today], feed.ledger.today, feed.ledger.trailing(now),
        feed.flow.volume(now.mono_us), feed.flow.valid_us(now.mono_us), feed.flow.discharging_us(now.mono_us),
    )  # fmt: skip


@settings(max_examples=150)
@given(CHANNEL, FLOW)
def test_the_ledger_agrees_with_elementary_intervals(channel: list[Word], flow: list[Word]) -> None:
    """Every sum of both days equals the slow reading of the law, to the last digit."""
    feed = fed(channel, flow)
    (day,) = feed.ledger.days
    for record, since, until in ((day, 0, MIDNIGHT_AT_S), (feed.ledger.today, MIDNIGHT_AT_S, 1440)):
        want = oracle.account(channel, flow, HOLD_S, since, until)
        unseen_us = 0 if since else record.sums.discharging_us - int(want.discharging_s * 10**6)
        assert_same(record.sums, want, unseen_us)
        assert Fraction(record.volume, 10**6 * 60_000_000) == want.all_water
        assert record.flow_valid_us == want.flow_valid_s * 10**6
        assert record.length_us == (until - since) * 10**6
        assert not unseen_us or unseen_us == feed.start.mono_us - record.start.mono_us


def assert_same(sums: DaySums, want: oracle.Account, unseen_us: int) -> None:
    """The sums of a record in fixed point against exact fractions."""
    us = 10**6
    assert Fraction(sums.plain, 10**9 * us) == want.plain
    assert Fraction(sums.weighted, 10**9 * 10**6 * 60_000_000) == want.weighted
    assert Fraction(sums.volume, 10**6 * 60_000_000) == want.volume
    assert Fraction(sums.unflowed, 10**9 * us) == want.plain_without_flow
    assert (sums.valid_us, sums.flowed_us) == (want.valid_s * us, want.flowed_s * us)
    assert sums.discharging_us - unseen_us == want.discharging_s * us
    assert (sums.minimum, sums.maximum) == (
        None if want.least is None else float(want.least),
        None if want.most is None else float(want.most),
    )
    mean = None if sums.exact is None else sums.exact / 10**9
    assert mean == want.mean


@given(CHANNEL, FLOW, st.lists(st.integers(0, 1440), max_size=20))
def test_splitting_the_input_anywhere_changes_nothing(channel: list[Word], flow: list[Word], at: list[int]) -> None:
    """Bit for bit, however often somebody looks."""
    assert all_of(fed(channel, flow, at)) == all_of(fed(channel, flow))


@given(CHANNEL, FLOW, st.integers(0, 1439), st.integers(0, 1439), st.sampled_from([0, 7_000_000, -3_600_000_000]))
def test_a_restart_anywhere_changes_nothing(
    channel: list[Word], flow: list[Word], stored_at: int, stopped_at: int, offset_us: int
) -> None:
    """A state from before, and the readings since fed again, on whatever monotonic axis: bit-equal."""
    stored_at, stopped_at = sorted((stored_at, stopped_at))
    whole = fed(channel, flow)
    before = Feed(clock=STORY, hold_s=HOLD_S)
    before.play([w for w in channel if w[0] < stored_at], [w for w in flow if w[0] < stored_at], until_s=stored_at)
    clock = Clock(STORY.utc_s, STORY.mono_s + offset_us // 10**6)
    after = before.restored(before.states(), clock, stopped_at, offset_us)
    after.play([w for w in channel if w[0] >= stored_at], [w for w in flow if w[0] >= stored_at], until_s=1440)
    assert shifted(all_of(after), offset_us) == shifted(all_of(whole), 0)


def shifted(asked: tuple[object, ...], offset_us: int) -> str:
    """The answers with their monotonic stamps moved back, as text: equal only when every bit is."""
    days, today, *rest = asked
    back = Resume(STORY.at(0), -offset_us)
    records = [type(day).from_state(day.state(), back) for day in (*days, today)]  # type: ignore[misc, attr-defined]
    return repr((records, rest))


@given(CHANNEL, FLOW)
def test_failed_missing_and_doubtful_samples_never_count(channel: list[Word], flow: list[Word]) -> None:
    """The sums are the same without them: they neither end nor extend what was valid."""
    assert all_of(fed([w for w in channel if w[1] not in "mfd"], [w for w in flow if w[1] not in "mfd"])) == all_of(
        fed(channel, flow)
    )


@given(CHANNEL, FLOW, st.integers(1, 1400), st.sampled_from([-900, -30, 17, 60, 2400, 90_000]))
def test_a_clock_step_changes_no_duration(channel: list[Word], flow: list[Word], at: int, step_s: int) -> None:
    """Wherever the wall clock jumps, all sums of all days together are what they were."""
    calm, stepped = fed(channel, flow), Feed(clock=STORY, hold_s=HOLD_S)
    stepped.play([w for w in channel if w[0] < at], [w for w in flow if w[0] < at])
    stepped.clock = Clock(STORY.utc_s + step_s, STORY.mono_s)
    stepped.play([w for w in channel if w[0] >= at], [w for w in flow if w[0] >= at])
    end = calm.clock.at(7200)
    calm.advance(end)
    stepped.advance(stepped.clock.at(7200))
    assert in_all(stepped) == in_all(calm)


def in_all(feed: Feed) -> list[int]:
    """Valid and discharging time, water and load since the start, over all days, cut at any minute."""
    records = (*feed.ledger.days, feed.ledger.today)
    tail_us = feed.clock.at(7200).mono_us - records[-1].end.mono_us  # the minute under way, long silent by then
    return [
        sum(record.sums.valid_us for record in records),
        sum(record.sums.discharging_us for record in records) + tail_us,
        sum(record.sums.weighted for record in records),
        sum(record.sums.plain for record in records),
        sum(record.volume for record in records),
        sum(record.length_us for record in records) + tail_us,
    ]


@given(FLOW, st.lists(st.integers(0, 1500), min_size=2, max_size=10))
def test_volume_is_monotone_and_never_taken_back(flow: list[Word], at: list[int]) -> None:
    """Whatever is asked in whatever order, and whatever comes later."""
    feed = Feed(clock=STORY, hold_s=HOLD_S)
    assert feed.flow is not None
    asked = sorted(at)
    for second, kind, value in flow:
        now = feed.clock.at(second)
        one = reading("flow", now, kind, value)
        before = feed.flow.volume(now.mono_us)
        feed.flow.take(one, evidence(one), discharging=kind != "n")
        assert feed.flow.volume(now.mono_us) == before
    seen = [feed.flow.volume(feed.clock.at(second).mono_us) for second in asked]
    assert seen == sorted(seen)
