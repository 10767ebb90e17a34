"""Baselines of every mode, computed from the ledger, and slugs judged by them (docs/judging.md 4.7, 4.8)."""

from collections.abc import Iterator
from datetime import UTC

import pytest

from gateway.model import Finding, FindingEvent, Mode, Quality, Reading, Resume, Verdict
from gateway.rules.baseline import Baselines, Standing, mark_event
from gateway.rules.ledger import FlowLedger, Ledger
from gateway.rules.run import Stance
from tests.support.baseline_site import HOUR, MIDNIGHT, MIN, FollowingRule, moment, signed
from tests.support.bench_site import channel, slug

FLOW = channel(poll_s=60, hold_s=150)
DAY = 24 * HOUR


def flow(mono_us: int, value: float | None, mode: Mode = Mode.RUN) -> Reading:
    """A good reading, or a missing one."""
    if value is None:
        return Reading("flow", moment(mono_us), (), None, Quality.MISSING, ("no sample",))
    return Reading("flow", moment(mono_us), (), value, Quality.GOOD, (), mode)


def minutes(begin_us: int, end_us: int, value: float | None) -> Iterator[Reading]:
    """One value a minute, from begin up to but not including end."""
    return (flow(at_us, value) for at_us in range(begin_us, end_us, MIN))


def batches(days: int) -> Iterator[Reading]:
    """Five pump-outs of 20 min at 20 gpm between 8:00 and 16:20 each day: 2,000 gal, and nothing in between."""
    for at_us in range(0, days * DAY, MIN):
        minute = at_us % DAY // MIN - 480
        yield flow(at_us, 20.0 if 0 <= minute < 500 and minute % 120 < 20 else 0.0)


def events(findings: list[Finding]) -> list[str]:
    """The kinds of events but pre-alarms."""
    return [f.event.value for f in findings if f.event is not FindingEvent.PREALARM]


def test_batches_are_slugs_against_the_literal_average() -> None:
    """2,000 gal over 1440 min is 1.39 gpm; 20 gpm is 14.4 times that, five times a day."""
    rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("literal-24h"), wet_at=2.0)
    findings = rule.take_all(batches(3))
    on_day_3 = [f for f in findings if f.since.mono_us >= 2 * DAY]
    assert [f.event.value for f in on_day_3] == ["raised", "cleared"] * 5
    for finding in on_day_3:
        assert finding.context["ratio"] == pytest.approx(14.4, abs=1e-9)
        assert finding.baseline == pytest.approx(2000 / 1440, abs=1e-9)
        assert finding.limit == pytest.approx(5 * 2000 / 1440, abs=1e-9)
        assert finding.context["baseline"]["method"] == "literal-24h"


def test_batches_are_normal_operation_against_the_operating_average() -> None:
    """Over the discharging time alone the average is 20 gpm, and 20 is not five times 20."""
    rule = FollowingRule(FLOW, slug(), signed("operating"), wet_at=2.0)
    findings = rule.take_all(batches(10))
    assert set(events(findings)) == {"not_evaluable"}
    standing = rule.baselines.standing(moment(10 * DAY))
    declared, operating, literal = standing.figures
    assert (declared.value, operating.value, operating.days) == (None, 20.0, 10)
    assert literal.value == pytest.approx(2000 / 1440, abs=1e-9)
    assert operating.window == "2023-11-14/2023-11-23"


def test_what_is_missing_is_said_once_for_each_day() -> None:
    """0 of 3 days, 1 of 3, 2 of 3: then it is judged, and nothing is said."""
    rule = FollowingRule(FLOW, slug(), signed("operating", min_days=3), wet_at=2.0)
    findings = rule.take_all(batches(5))
    assert [f.reason for f in findings] == [f"baseline: {n} of 3 days" for n in range(3)]
    assert [f.at for f in findings] == [moment(0), moment(DAY), moment(2 * DAY)]
    assert all(f.event is FindingEvent.NOT_EVALUABLE for f in findings)
    spent = rule.judge.seconds.report(5 * DAY)
    assert sum(spent.values()) == 5 * DAY
    assert spent[Verdict.NOT_EVALUABLE] == 3 * DAY


def test_without_a_choice_there_is_no_baseline() -> None:
    """Everything is computed and recorded, nothing is in force."""
    rule = FollowingRule(FLOW, slug(), None)
    (finding,) = rule.take_all(minutes(0, 13 * HOUR, 4.0))
    assert finding.reason == "no baseline"
    assert rule.judge.stance is Stance.NO_BASELINE
    assert rule.baselines.standing(moment(13 * HOUR)).figures[2].value == 4.0
    assert rule.baselines.in_force(moment(13 * HOUR)) is None


def test_half_of_the_last_day_must_be_valid() -> None:
    """The literal average begins twelve hours after the start, and says why not before."""
    rule = FollowingRule(FLOW, slug(), signed("literal-24h"))
    (finding,) = rule.take_all(minutes(0, 12 * HOUR, 4.0))
    assert finding.reason == "coverage: less than half of the last 24 h is valid"
    assert rule.judge.stance is Stance.COVERAGE
    assert rule.judge.limit is None
    assert rule.take(flow(12 * HOUR, 4.0)) == []
    assert (rule.judge.limit, rule.judge.stance) == (20.0, Stance.WITHIN)


def test_a_baseline_that_is_lost_interrupts_a_run_that_follows_it() -> None:
    """Not frozen, and the ledger's memory lost in a restart: the run is interrupted, once, and says why."""
    rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("literal-24h", frozen=False))
    rule.take_all([*minutes(0, DAY, 4.0), *minutes(DAY, DAY + 20 * MIN, 90.0)])
    other = FollowingRule(
        FLOW, slug(prealarms_us=()), signed("literal-24h", frozen=False), start=moment(DAY + 20 * MIN)
    )
    other.judge.restore(rule.judge.state() or {}, Resume(moment(DAY + 20 * MIN), 0))
    (lost,) = [f for n in range(20, 25) for f in other.take(flow(DAY + n * MIN, 90.0))]
    assert (lost.event, lost.verdict) == (FindingEvent.INTERRUPTED, Verdict.EXCEEDED)
    assert lost.reason == "interrupted: coverage: less than half of the last 24 h is valid"
    assert lost.limit == pytest.approx(5 * (4 * 1421 + 90 * 19) / 1440)  # the run's own, one minute before the end
    assert (other.judge.limit, other.judge.condition().active) == (None, None)


class TestAStepThatLasts:
    """A discharge of six times the average for eight hours raises the average itself (1 -> 6 gpm)."""

    READINGS = (
        *minutes(0, DAY, 1.0),
        *minutes(DAY, DAY + 8 * HOUR, 6.0),
        *minutes(DAY + 8 * HOUR, DAY + 9 * HOUR, 1.0),
    )

    def test_frozen_it_is_one_slug_of_eight_hours(self) -> None:
        """The baseline keeps the value it had when the event began: a long slug does not clear itself."""
        rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("literal-24h"))
        findings = [f for f in rule.take_all(self.READINGS) if f.since.mono_us >= DAY]
        assert events(findings) == ["raised", "cleared"]
        assert findings[1].duration_us == 8 * HOUR - MIN
        assert [f.baseline for f in findings] == [1.0, 1.0]
        assert findings[1].context["ratio"] == 6.0
        assert findings[1].context["baselines"] == {"declared": None, "operating": None, "literal-24h": 1.0}

    def test_followed_it_clears_itself_within_the_hour(self) -> None:
        """6 is more than 5 x (1 + 5 t / 24) up to t = 57.6 min, and no longer."""
        rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("literal-24h", frozen=False))
        findings = [f for f in rule.take_all(self.READINGS) if f.since.mono_us >= DAY]
        assert events(findings) == ["raised", "cleared"]
        assert findings[1].duration_us == 57 * MIN

    def test_a_restart_keeps_the_frozen_value(self) -> None:
        """Stopped and started at any hour of the event, it is still judged by the value of its beginning."""
        for hour in range(1, 8):
            rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("literal-24h"))
            cut = (24 + hour) * 60
            rule.take_all(self.READINGS[:cut])
            other = rule.restarted(self.READINGS[cut - 1].at)
            assert other.judge.limit == 5.0
            (cleared,) = [f for reading in self.READINGS[cut:] for f in other.take(reading)]
            assert (cleared.duration_us, cleared.baseline) == (8 * HOUR - MIN, 1.0)


@pytest.mark.parametrize(("floor", "raised"), [(None, True), (0.5, False)], ids=["no floor", "floor"])
def test_a_drip_after_nothing(floor: float | None, raised: bool) -> None:
    """A day of zeros, then 0.01 gpm: infinitely more than nothing, and nothing beside the meter's least flow."""
    rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("literal-24h", floor=floor))
    findings = rule.take_all([*minutes(0, DAY, 0.0), *minutes(DAY, DAY + HOUR, 0.01)])
    assert ("raised" in events(findings)) is raised
    assert rule.judge.limit == (0.0 if floor is None else 2.5)


def test_days_with_an_event_are_not_normal() -> None:
    """A slug on the third day takes that day out of the operating average, the days before and after stay."""
    rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("operating", min_days=2))
    series = [
        *minutes(0, 2 * DAY, 4.0),
        *minutes(2 * DAY, 2 * DAY + HOUR, 30.0),
        *minutes(2 * DAY + HOUR, 4 * DAY, 4.0),
    ]
    assert events(rule.take_all(series))[-2:] == ["raised", "cleared"]
    rule.advance(moment(4 * DAY))
    operating = rule.baselines.standing(moment(4 * DAY)).figures[1]
    assert (operating.days, operating.value) == (3, 4.0)
    assert [day.events for day in rule.ledger.days] == [False, False, True, False]


def test_an_event_over_midnight_takes_both_days() -> None:
    """From 23:30 to 0:30: neither day is normal."""
    rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("declared", 4.0))
    edge = DAY - HOUR // 2
    series = [*minutes(0, edge, 4.0), *minutes(edge, edge + HOUR, 30.0), *minutes(edge + HOUR, 3 * DAY, 4.0)]
    rule.take_all(series)
    rule.advance(moment(3 * DAY))
    assert [day.events for day in rule.ledger.days] == [True, True, False]


def test_a_suspected_slug_is_not_normal_either() -> None:
    """20 min beyond the trusted span are never proven, and the day is no measure of normal operation."""
    rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("declared", 4.0))
    doubtful = [
        Reading("flow", moment(HOUR + n * MIN), (), 90.0, Quality.SUSPECT, ("suspect_span",)) for n in range(20)
    ]
    found = rule.take_all([*minutes(0, HOUR, 4.0), *doubtful, *minutes(HOUR + 20 * MIN, 2 * DAY, 4.0)])
    assert "raised" not in events(found)
    assert "suspected" in events(found)
    rule.advance(moment(2 * DAY))
    assert [day.events for day in rule.ledger.days] == [True, False]


@pytest.mark.parametrize(
    ("facts", "marked"),
    [({"kind": "slug"}, True), ({"kind": "limit"}, True), ({"kind": "volume"}, False), ({"advisory": True}, False)],
    ids=["slug", "limit", "volume", "advisory"],
)
def test_what_counts_as_an_event(facts: dict, marked: bool) -> None:
    """A classification by volume, or an advisory, is no event: where every day has it, it is normal."""
    rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("declared", 4.0))
    found = rule.judge.begin(MIDNIGHT)
    for one in minutes(0, HOUR, 30.0):
        found += rule.judge.judge(one, 0, discharging=True)
    (raised,) = [f for f in found if f.event is FindingEvent.RAISED]
    mark_event(rule.ledger, raised, slug(**facts))
    assert rule.ledger.today.events is marked


def test_a_day_with_less_than_three_quarters_valid_does_not_count() -> None:
    """17 h of 24 are too few, 18 h are enough."""
    for hours, days in ((17, 0), (18, 1)):
        rule = FollowingRule(FLOW, slug(), signed("operating", min_days=1))
        rule.take_all([*minutes(0, hours * HOUR, 4.0), *minutes(hours * HOUR + 2 * MIN, DAY, None)])
        rule.advance(moment(DAY))
        # Up to 150 s of hold belong to the valid time, too.
        assert rule.baselines.standing(moment(DAY)).figures[1].days == days


def test_a_technician_at_work_is_no_normal_operation() -> None:
    """Water run through the flume in maintenance is in no baseline."""
    rule = FollowingRule(FLOW, slug(), signed("operating", min_days=1))
    work = (flow(at, 90.0, Mode.MAINTENANCE) for at in range(6 * HOUR, 8 * HOUR, MIN))
    rule.take_all([*minutes(0, 6 * HOUR, 4.0), *work, *minutes(8 * HOUR, DAY, 4.0)])
    rule.advance(moment(DAY))
    assert rule.baselines.in_force(moment(DAY)) == 4.0


def test_a_concentration_is_weighted_by_flow_over_its_days() -> None:
    """300 mg/L in 10 gpm for half a day and 100 mg/L in 30 gpm for the other half: 150 mg/L of the water."""
    tss = channel("tss", quantity="tss", unit="mg/L", poll_s=60, hold_s=150)
    flow_ledger = FlowLedger(FLOW, UTC, MIDNIGHT)
    ledger = Ledger(tss, UTC, MIDNIGHT, flow_ledger)
    baselines = Baselines(tss, None, signed("operating", unit="mg/L", channel="tss", min_days=1), ledger)
    for at in range(0, DAY, MIN):
        low = at >= DAY // 2
        flow_ledger.take(flow(at, 30.0 if low else 10.0), 0, discharging=True)
        value = 100.0 if low else 300.0
        ledger.take(Reading("tss", moment(at), (), value, Quality.GOOD), 0, discharging=True)
    flow_ledger.advance(moment(DAY))
    ledger.advance(moment(DAY))
    _, operating, literal = baselines.standing(moment(DAY)).figures
    assert operating.value == 150.0
    assert literal.value == 200.0  # the plain mean of the 24 h


def tss_baselines() -> tuple[Ledger, Baselines]:
    """The literal average of suspended solids on a site without flow."""
    tss = channel("tss", quantity="tss", unit="mg/L", poll_s=60, hold_s=150)
    ledger = Ledger(tss, UTC, MIDNIGHT, None)
    return ledger, Baselines(tss, None, signed("literal-24h", unit="mg/L", channel="tss"), ledger)


def test_the_literal_average_of_a_concentration_needs_half_a_day_too() -> None:
    """Eleven hours after the start nobody can tell, twelve hours after it is the mean of those."""
    ledger, baselines = tss_baselines()
    for at in range(0, 13 * HOUR, MIN):
        ledger.take(Reading("tss", moment(at), (), 100.0, Quality.GOOD), 0, discharging=True)
        assert baselines.in_force(moment(at)) == (100.0 if at >= 12 * HOUR else None), at // HOUR


def test_a_probe_that_is_dry_for_most_of_the_day_still_has_an_average() -> None:
    """Two hours of discharge a day, all of it valid: the hours without any need no measuring."""
    ledger, baselines = tss_baselines()
    for at in range(0, 2 * DAY, MIN):
        wet = at % DAY < 2 * HOUR
        reading = Reading("tss", moment(at), (), 100.0 if wet else 5.0, Quality.GOOD, dry=not wet)
        ledger.take(reading, 0 if wet else 2, discharging=wet)
    assert baselines.in_force(moment(2 * DAY)) == 100.0


def test_the_declared_value_in_the_channels_unit() -> None:
    """14,400 gpd are 10 gpm."""
    rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("declared", 14_400.0, unit="gpd"))
    (raised,) = [f for f in rule.take_all(minutes(0, 17 * MIN, 50.1)) if f.event is FindingEvent.RAISED]
    assert raised.baseline == pytest.approx(10.0)
    assert raised.context["ratio"] == pytest.approx(5.01)


def test_a_declared_baseline_still_records_the_other_two() -> None:
    """Chosen is the declared one; the finding has all three and each ratio."""
    rule = FollowingRule(FLOW, slug(prealarms_us=()), signed("declared", 10.0, id="LV-2015"), wet_at=2.0)
    rule.take_all(batches(8))
    findings = [f for n in range(18) for f in rule.take(flow(8 * DAY + n * MIN, 60.0))]
    (raised,) = findings
    assert raised.context["baselines"] == {
        "declared": 10.0,
        "operating": 20.0,
        "literal-24h": pytest.approx(2000 / 1440),
    }
    assert raised.context["ratios"] == {"declared": 6.0, "operating": 3.0, "literal-24h": pytest.approx(43.2)}
    assert raised.context["baseline"] == {
        "id": "LV-2015", "method": "declared", "window": "approved 2023-11-01", "days": 0, "value": 10.0,
    }  # fmt: skip


class TestDrift:
    """More than 20 % from the last approved value asks for a look, once, and changes nothing."""

    @staticmethod
    def lived(chosen_mode: str, levels: list[float], value: float | None = None) -> FollowingRule:
        """A day at each level, never a slug."""
        rule = FollowingRule(FLOW, slug(factor=100.0), signed(chosen_mode, value, min_days=1))
        for day, level in enumerate(levels):
            rule.take_all(minutes(day * DAY, (day + 1) * DAY, level))
        rule.advance(moment(len(levels) * DAY))
        return rule

    def test_a_declared_value_that_operation_has_left(self) -> None:
        """Declared 10; measured 10, then a mean of 11 and of 13: asked on the third day only."""
        rule = self.lived("declared", [10.0, 12.0, 17.0, 17.0], 10.0)
        assert [bool(day.review) for day in rule.closed] == [False, False, True, False]
        assert [day.record["review"] for day in rule.closed] == [False, False, True, True]
        assert rule.closed[2].record["drift"] == pytest.approx(0.3)
        assert rule.judge.limit == 1000.0

    def test_a_computed_one_is_compared_with_itself_as_first_computed(self) -> None:
        """Literal 10, then 11, then 14: the third is 40 % up."""
        rule = self.lived("literal-24h", [10.0, 11.0, 14.0])
        assert [day.record["value"] for day in rule.closed] == [10.0, 11.0, 14.0]
        assert [bool(day.review) for day in rule.closed] == [False, False, True]

    def test_approval_starts_afresh(self) -> None:
        """After somebody approved 14, 14 is not drift; the action has a record of before and after."""
        rule = self.lived("literal-24h", [10.0, 14.0])
        record = rule.baselines.approve(moment(2 * DAY))
        choice = {"mode": "literal-24h", "hash": "h"}
        assert record["before"] == {**choice, "approved": 10.0}
        assert record["after"] == {**choice, "approved": 14.0}
        rule.take_all(minutes(2 * DAY, 3 * DAY, 14.0))
        rule.advance(moment(3 * DAY))
        assert rule.closed[-1].record["review"] is False

    def test_the_approved_value_survives_a_restart_and_not_another_choice(self) -> None:
        """What was approved of one choice says nothing of another."""
        rule = self.lived("literal-24h", [10.0, 11.0])
        state = rule.baselines.state()
        same = Baselines(FLOW, None, signed("literal-24h"), rule.ledger)
        assert same.restore(state) is None
        assert same.state() == state
        other = Baselines(FLOW, None, signed("operating", hash="other"), rule.ledger)
        assert other.restore(state) == {
            "channel": "flow",
            "unit": "gpm",
            "before": {"mode": "literal-24h", "hash": "h", "approved": 10.0},
            "after": {"mode": "operating", "hash": "other", "approved": None},
        }
        assert other.state()["approved"] is None

    def test_nothing_measured_is_nothing_to_approve(self) -> None:
        """On the first day nobody knows what normal is, and no signature changes that."""
        rule = self.lived("literal-24h", [10.0])
        fresh = Baselines(FLOW, None, signed("operating"), rule.ledger)
        with pytest.raises(ValueError, match="flow: nothing is measured yet"):
            fresh.approve(moment(DAY))


def test_the_record_of_a_day_can_be_read_back() -> None:
    """All three with method, window, days and value, as JSON would carry them."""
    rule = FollowingRule(FLOW, slug(), signed("literal-24h"), wet_at=2.0)
    rule.take_all(batches(2))
    standing = rule.baselines.standing(moment(2 * DAY))
    assert Standing.from_record(standing.record()) == standing
    record = rule.closed[0].record
    assert record["date"] == "2023-11-14"
    assert [figure["method"] for figure in record["figures"]] == ["declared", "operating", "literal-24h"]


def test_a_flow_needs_its_flow_ledger() -> None:
    """The literal average of a flow is a volume: without the meter nobody has it."""
    with pytest.raises(ValueError, match="need its flow ledger"):
        Baselines(FLOW, None, signed("literal-24h"), Ledger(FLOW, UTC, MIDNIGHT, None))


def test_a_rule_follows_its_own_channel_only() -> None:
    """Baselines of another channel are a mistake of assembly."""
    other = channel("other", poll_s=60, hold_s=150)
    rule = FollowingRule(FLOW, slug(), signed("literal-24h"))
    ledger = Ledger(other, UTC, MIDNIGHT, FlowLedger(other, UTC, MIDNIGHT))
    with pytest.raises(ValueError, match="judges flow, not other"):
        rule.judge.follow(Baselines(other, None, None, ledger), MIDNIGHT)
