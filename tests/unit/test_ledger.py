"""The ledger's sums against arithmetic done by hand."""

import json
from fractions import Fraction

import pytest

from gateway.model import Resume
from gateway.rules.ledger import VOLUME_SCALE, DaySums
from gateway.rules.minutes import step_of
from tests.support.ledger_feed import MIDNIGHT_S, Clock, Feed, channel, reading, steady

DAY_S = 86_400


def test_a_held_reading_is_weighted_by_the_water_that_passed() -> None:
    """100 mg/L at 10 gpm for 1 min and 200 mg/L at 30 gpm for 1 min average to 175, not 150."""
    feed = Feed()
    feed.play([(0, "v", 100), (60, "v", 200)], [(0, "v", 10), (60, "v", 30)], until_s=120)
    sums = feed.ledger.trailing(feed.clock.at(120))
    assert sums.mean_flow_weighted == sums.mean == 175.0
    assert sums.mean_time_weighted == 150.0
    assert (sums.volume_gal, sums.coverage, sums.time_weighted) == (40.0, 1.0, False)


def test_flow_changes_within_a_held_reading_count_exactly() -> None:
    """A reading is weighted by all water that passed while it held, whatever the flow did meanwhile."""
    feed = Feed()
    feed.play([(0, "v", 100), (90, "v", 10)], [(0, "v", 10), (45, "v", 50)], until_s=120)
    # 45 s at 10 gpm and 45 s at 50 gpm carry 100: 45 gal; then 30 s at 50 gpm carry 10: 25 gal.
    assert feed.ledger.trailing(feed.clock.at(120)).mean == pytest.approx((100 * 45 + 10 * 25) / 70, rel=1e-12)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([4.0, 7.0, 7.0, 7.0], 4.601, id="one acid quarter outweighs three neutral ones"),
        pytest.param([6.0, 9.0], 6.301, id="the mean of the bounds is nowhere near 7.5"),
    ],
)
def test_ph_is_averaged_as_hydrogen_ions(values: list[float], expected: float) -> None:
    """The examples of docs/judging.md 5.8, each value held for the same time at the same flow."""
    feed = Feed(channel("ph", "pH", "pH"))
    words = [(60 * index, "v", value) for index, value in enumerate(values)]
    end_s = 60 * len(values)
    feed.play(words, steady(5, 0, end_s), until_s=end_s)
    sums = feed.ledger.trailing(feed.clock.at(end_s))
    assert sums.mean == pytest.approx(expected, abs=5e-4)
    assert sums.mean_time_weighted == pytest.approx(expected, abs=5e-4)
    assert (sums.minimum, sums.maximum) == (min(values), max(values))


def test_ph_is_weighted_by_flow() -> None:
    """One part of pH 5 and nine parts of pH 9 make 6.000 (docs/judging.md 5.8)."""
    feed = Feed(channel("ph", "pH", "pH"))
    feed.play([(0, "v", 5), (60, "v", 9)], [(0, "v", 1), (60, "v", 9)], until_s=120)
    assert feed.ledger.trailing(feed.clock.at(120)).mean == pytest.approx(6.0, abs=5e-4)


def test_readings_at_the_limit_average_to_the_limit() -> None:
    """A decimal that has no binary fraction comes out as it went in, whatever the flows: 1.6 is not above 1.6."""
    for value in (1.6, 0.4, 0.1, 2.4, 12.0, 0.7):
        feed = Feed()
        feed.play(steady(value, 0, 600, 30), [(t, "v", 10 / 3 + t / 7) for t in range(0, 600, 20)], until_s=600)
        assert feed.ledger.trailing(feed.clock.at(600)).mean == value


def test_time_without_a_valid_flow_counts_at_the_mean_flow_and_is_flagged() -> None:
    """10 gpm for 2 min at 100 mg/L, then no flow for 2 min at 200: both halves weigh the same; flagged by time."""
    feed = Feed(hold_s=60)
    words = [(0, "v", 100), (60, "v", 100), (120, "v", 200), (180, "v", 200)]
    feed.play(words, [(0, "v", 10), (60, "v", 10), (120, "f", 0)], until_s=240)
    sums = feed.ledger.trailing(feed.clock.at(240))
    assert sums.mean == 150.0
    assert sums.mean_flow_weighted == 100.0
    assert sums.time_weighted


def test_without_a_flow_channel_all_time_counts_alike() -> None:
    """And the average says so."""
    feed = Feed(with_flow=False)
    feed.play([(0, "v", 10), (90, "v", 40)], until_s=120)
    sums = feed.ledger.trailing(feed.clock.at(120))
    assert (sums.mean, sums.mean_flow_weighted, sums.time_weighted) == (17.5, None, True)
    assert feed.ledger.today.volume_gal is None


@pytest.mark.parametrize(
    ("kind", "valid_s", "discharging_s"),
    [
        pytest.param("m", 150, 300, id="a missing sample neither ends nor extends the hold"),
        pytest.param("f", 150, 300, id="nor does a failed one"),
        pytest.param("d", 150, 300, id="nor a doubtful one"),
        pytest.param("y", 60, 150, id="a dry probe ends it: no discharge for its own hold, then nobody can tell"),
        pytest.param("M", 60, 300, id="a technician ends it, and nobody can tell"),
    ],
)
def test_what_comes_after_a_valid_reading(kind: str, valid_s: int, discharging_s: int) -> None:
    """One valid reading, one of another kind a minute later, then silence to the fifth minute; the hold is 150 s."""
    feed = Feed()
    feed.play([(0, "v", 100), (60, kind, 999)], steady(10, 0, 300), until_s=300)
    sums = feed.ledger.trailing(feed.clock.at(300))
    assert (sums.valid_us, sums.discharging_us) == (valid_s * 1_000_000, discharging_s * 1_000_000)
    assert sums.mean == 100.0
    assert sums.maximum == 100.0


def test_time_known_to_be_idle_by_the_flow_counts_for_nothing() -> None:
    """A probe in standing water reads on; only the minute of discharge is averaged."""
    feed = Feed()
    flow = [(0, "v", 10), (60, "n", 0.5), (120, "n", 0.5), (180, "n", 0.5)]
    feed.play([(0, "v", 10), (60, "v", 500), (120, "v", 500), (180, "v", 500)], flow, until_s=240)
    sums = feed.ledger.trailing(feed.clock.at(240))
    assert (sums.mean, sums.valid_us, sums.discharging_us) == (10.0, 60_000_000, 60_000_000)
    assert feed.flow is not None
    assert feed.flow.volume(feed.clock.at(240).mono_us) == pytest.approx(11.5 * VOLUME_SCALE)


def test_the_window_of_24_h_lets_go_of_whole_minutes() -> None:
    """A minute of 1000 mg/L and one of 0 leave the rolling window exactly a day after they ended, and the extremes."""
    feed = Feed(hold_s=7200)
    words = [(0, "v", 1000), (60, "v", 0), (120, "v", 1), *[(second, "v", 1) for second in range(3600, DAY_S, 3600)]]
    feed.play(words, with_hours(DAY_S))
    seen = []
    for second in (DAY_S + 59, DAY_S + 60, DAY_S + 120):
        feed.advance(feed.clock.at(second))
        sums = feed.ledger.trailing(feed.clock.at(second))
        seen.append((sums.minimum, sums.maximum, sums.mean))
        assert sums.valid_us == DAY_S * 1_000_000
    assert seen == [(0.0, 1000.0, pytest.approx(2438 / 1440)), (0.0, 1.0, pytest.approx(1439 / 1440)), (1.0, 1.0, 1.0)]


def with_hours(until_s: int) -> list[tuple[int, str, Fraction]]:
    """10 gpm, said once an hour."""
    return steady(10, 0, until_s, 3600)


def test_days_close_at_their_midnight_with_exact_moments() -> None:
    """The reading held over midnight counts on both sides of it, each by its own time."""
    feed = Feed(start_s=DAY_S - 120)
    feed.play([(DAY_S - 60, "v", 50), (DAY_S + 30, "v", 80)], steady(10, DAY_S - 120, DAY_S + 120), until_s=DAY_S + 120)
    (day,) = feed.closed
    assert (day.date, day.end) == ("2026-11-28", feed.clock.at(DAY_S))
    assert (day.sums.valid_us, day.sums.mean, day.volume_gal) == (60_000_000, 50.0, 20.0)
    today = feed.ledger.today
    assert today.date == "2026-11-29"
    assert today.sums.mean == pytest.approx((50 * 30 + 80 * 90) / 120)
    assert list(feed.ledger.days) == [day]


def test_what_nobody_saw_of_the_first_day_lowers_its_coverage() -> None:
    """A gateway installed two minutes before midnight has no valid day, however good those two minutes were."""
    feed = Feed(start_s=DAY_S - 120)
    feed.play(steady(50, DAY_S - 120, DAY_S), steady(10, DAY_S - 120, DAY_S), until_s=DAY_S)
    (day,) = feed.closed
    assert day.sums.coverage == pytest.approx(120 / DAY_S)
    assert day.length_us == 120_000_000
    assert day.start == feed.clock.at(0)


@pytest.mark.parametrize(
    ("date_utc_s", "hours"),
    [
        pytest.param(1_793_505_600, 25, id="the clocks go back on 1 November 2026"),
        pytest.param(1_772_946_000, 23, id="the clocks go forward on 8 March 2026"),
    ],
)
def test_days_of_23_and_25_hours(date_utc_s: int, hours: int) -> None:
    """The day's sums hold its true length."""
    feed = Feed(clock=Clock(date_utc_s), hold_s=7200)
    feed.play(steady(50, 0, hours * 3600, 3600), steady(10, 0, hours * 3600, 3600), until_s=hours * 3600)
    (day,) = feed.closed
    assert day.length_us == day.sums.valid_us == hours * 3_600_000_000
    assert day.volume_gal == hours * 600.0


def test_a_clock_step_changes_no_duration() -> None:
    """Forty minutes forward in the middle of a held reading: the sums are those of the true time."""
    calm, stepped = Feed(), Feed()
    words, flow = steady(50, 0, 3600), steady(10, 0, 3600)
    calm.play(words, flow, until_s=3600)
    stepped.play(words[:30], flow[:30])
    stepped.clock = Clock(stepped.clock.utc_s + 2400, stepped.clock.mono_s)
    stepped.play(words[30:], flow[30:], until_s=3600)
    assert stepped.ledger.today.sums == calm.ledger.today.sums
    assert stepped.ledger.trailing(stepped.clock.at(3600)) == calm.ledger.trailing(calm.clock.at(3600))


def test_a_step_over_midnight_ends_the_day_then_and_there() -> None:
    """Nothing is invented for the hours that never were."""
    feed = Feed()
    feed.play(steady(50, 0, 600), steady(10, 0, 600))
    feed.clock = Clock(feed.clock.utc_s + DAY_S, feed.clock.mono_s)
    feed.play(steady(50, 600, 1200), steady(10, 600, 1200), until_s=1200)
    (day,) = feed.closed
    assert (day.date, day.length_us, day.sums.valid_us) == ("2026-11-28", 600_000_000, 600_000_000)
    assert feed.ledger.today.date == "2026-11-29"
    assert feed.ledger.today.sums.valid_us == 600_000_000


def test_an_event_marks_every_day_it_touches() -> None:
    """Also a day that closed before the event was proven, and each day until it is over."""
    feed = Feed(hold_s=7200)
    feed.advance(feed.clock.at(DAY_S + 600))
    feed.ledger.event_began("slug", feed.clock.at(DAY_S - 300))
    feed.advance(feed.clock.at(2 * DAY_S + 600))
    assert [day.events for day in (*feed.ledger.days, feed.ledger.today)] == [True, True, True]
    feed.ledger.event_ended("slug", feed.clock.at(2 * DAY_S + 300))
    feed.advance(feed.clock.at(4 * DAY_S + 600))
    assert [day.events for day in feed.ledger.days] == [True, True, True, False]
    assert not feed.ledger.today.events


def test_an_event_of_last_night_leaves_the_day_before_alone() -> None:
    """Only days that end after its first sample are touched."""
    feed = Feed()
    feed.advance(feed.clock.at(2 * DAY_S + 600))
    feed.ledger.event_ended("slug", feed.clock.at(DAY_S))
    assert [day.events for day in feed.ledger.days] == [False, True]


def test_volume_is_cumulative_exact_and_known_for_a_day() -> None:
    """Between samples too, at old full minutes, and no longer before them."""
    feed = Feed(hold_s=7200)
    feed.play((), with_hours(3 * DAY_S), until_s=3 * DAY_S)
    flow = feed.flow
    assert flow is not None
    assert flow.volume(feed.clock.at(3 * DAY_S).mono_us) == 3 * 14_400 * VOLUME_SCALE
    assert flow.volume(feed.clock.at(2 * DAY_S + 60).mono_us) == (2 * 14_400 + 10) * VOLUME_SCALE
    assert flow.volume(feed.clock.at(2 * DAY_S + 90).mono_us) == (2 * 14_400 + 15) * VOLUME_SCALE
    with pytest.raises(LookupError, match="no longer known"):
        flow.volume(feed.clock.at(60).mono_us)


def test_a_late_reading_of_the_flow_changes_nothing_that_was_settled() -> None:
    """It counts from the minute that was settled; volume stays monotone and water is not counted twice."""
    feed = Feed()
    feed.play(steady(50, 0, 120), steady(10, 0, 120), until_s=120)
    assert feed.flow is not None
    settled = feed.flow.volume(feed.clock.at(120).mono_us)
    feed.flow.take(reading("flow", feed.clock.at(90), "v", 1000), 0, discharging=True)
    assert feed.flow.volume(feed.clock.at(120).mono_us) == settled
    assert feed.flow.volume(feed.clock.at(121).mono_us) == settled + 1000 * VOLUME_SCALE // 60


def test_a_negative_flow_moves_no_water() -> None:
    """The zero drift of an instrument is valid time without volume."""
    feed = Feed()
    feed.play((), [(0, "v", -3), (60, "v", 10)], until_s=120)
    assert feed.flow is not None
    assert feed.flow.volume(feed.clock.at(120).mono_us) == 10 * VOLUME_SCALE
    assert feed.flow.valid_us(feed.clock.at(120).mono_us) == 120_000_000


def test_a_state_is_json_and_small_enough_to_store_hourly() -> None:
    """A full day of minutes stays below a quarter of a megabyte."""
    feed = Feed(hold_s=7200)
    feed.play(steady(50, 0, DAY_S + 600, 600), steady(10, 0, DAY_S + 600, 600), until_s=DAY_S + 600)
    assert feed.flow is not None
    assert len(json.dumps(feed.ledger.state())) < 250_000
    assert len(json.dumps(feed.flow.state())) < 125_000


def test_after_a_restart_of_unknown_length_nothing_is_held_over_the_absence() -> None:
    """The absence counts as UTC says, as time for which nobody can tell; the day goes on."""
    feed = Feed()
    feed.play(steady(50, 0, 600), steady(10, 0, 600), until_s=600)
    new = feed.restored(feed.states(), Clock(MIDNIGHT_S, -3600), 3600, None)
    new.advance(new.clock.at(4200))
    today = new.ledger.today
    sums = today.sums
    assert sums.valid_us == 600_000_000  # as far as it was settled: nobody knows how long the last reading held
    assert sums.discharging_us == 4_200_000_000
    assert today.start == new.clock.at(0)
    assert today.volume_gal == 100.0


def test_empty_sums_tell_nothing() -> None:
    """No mean, no coverage; not zero."""
    sums = DaySums()
    assert (sums.mean, sums.mean_flow_weighted, sums.mean_time_weighted, sums.coverage) == (None, None, None, None)


def test_a_flow_that_began_later_says_nothing_about_the_time_before() -> None:
    """A ledger older than its flow (a meter fitted since) settles that time as if without a flow."""
    feed = Feed()
    feed.play(steady(50, 0, 120), steady(10, 0, 120), until_s=120)
    states = feed.states()
    young = Feed(start_s=300)
    young.ledger.restore(states[2], Resume(young.start, 0))
    young.play(steady(50, 300, 600), steady(10, 300, 600), until_s=600)
    sums = young.ledger.today.sums
    assert sums.mean == 50.0
    assert sums.time_weighted
    assert sums.discharging_us == 600_000_000


def test_a_slow_channel_is_cut_no_finer_than_it_is_polled() -> None:
    """Hourly values are settled every quarter of an hour, and a value every 2 min every 2 min."""
    minute_us = 60_000_000
    polls = {1: 1, 59: 1, 60: 1, 119: 1, 120: 2, 300: 5, 600: 10, 900: 15, 3600: 15}
    assert {poll_s: step_of(poll_s * 1_000_000) // minute_us for poll_s in polls} == polls
