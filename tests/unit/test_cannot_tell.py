"""Why nobody can tell, each reason in its own word; a saturated sensor; the water and the load of an event."""

import pytest

from gateway.model import FindingEvent, Mode, Quality, Reading, Resume, Verdict
from gateway.rules.ledger import FlowLedger
from gateway.rules.run import ExceedanceRule, Stance
from tests.support.baseline_site import MIDNIGHT, MIN, UTC, FollowingRule, moment, signed
from tests.support.bench_site import S, at, channel, judge_all, judge_of, limit, reading, slug, told

PH = channel("ph", quantity="pH", unit="pH")
TSS = channel("tss", quantity="tss", unit="mg/L", full_scale=2000.0)


def tss_rule(**changes: object) -> ExceedanceRule:
    """Suspended solids above 1325 mg/L for 15 min, on a sensor that ends at 2000."""
    facts = {"channel": "tss", "unit": "mg/L", "factor": None, "baseline": None, "limit": 1325.0, "prealarms_us": ()}
    return judge_of(slug(**(facts | changes)), TSS)


@pytest.mark.parametrize(
    ("sentence", "readings", "stance", "word"),
    [
        ("Nothing was heard yet.", [], Stance.WARM_UP, "warm-up"),
        ("A technician calibrates.", [reading("ph", 0, 7.0, mode=Mode.CALIBRATION)], Stance.CALIBRATING, "calibrating"),
        ("A technician is at work.", [reading("ph", 0, 7.0, mode=Mode.MAINTENANCE)], Stance.MAINTENANCE, "maintenance"),
        ("The probe is dry.", [reading("ph", 0, 7.0, dry=True)], Stance.DRY, "dry, no discharge"),
        ("The sensor failed before it said anything.", [reading("ph", 0, None)], Stance.CANNOT_TELL, "no sample"),
        (
            "The value is beyond belief.",
            [reading("ph", 0, 15.0, quality=Quality.SUSPECT, tests=("suspect_span",))],
            Stance.CANNOT_TELL,
            "suspect_span",
        ),
    ],
)
def test_each_reason_has_its_word(sentence: str, readings: list[Reading], stance: Stance, word: str) -> None:
    """The stance, the condition and the finding of the silence name it alike; nothing is raised or cleared."""
    rule = judge_of(limit(), PH)
    assert judge_all(rule, readings) == [], sentence
    assert rule.stance is stance, sentence
    assert (rule.condition().active, rule.condition().reason) == (None, f"cannot tell ({word})")
    told_later = rule.tick(at(60))
    assert [f.reason for f in told_later] == [f"no valid sample for 37.5 s ({word})"]


def test_an_old_reason_is_not_brought_up_again() -> None:
    """Dry, then valid, then silent: the silence is not blamed on the dry spell."""
    rule = judge_of(limit(), PH)
    judge_all(rule, [reading("ph", 0, 7.0, dry=True), reading("ph", 15, 7.0)])
    (finding,) = rule.tick(at(90))
    assert "no sample" in finding.reason
    assert rule.stance is Stance.CANNOT_TELL


def test_full_scale_above_the_threshold_exceeds_and_is_a_lower_bound() -> None:
    """2000 of 2000 is more than 1325, however much more."""
    findings = judge_all(tss_rule(), [reading("tss", 15 * n, 2000.0) for n in range(62)])
    assert told(findings) == [("raised", 0, 915, 915)]
    assert findings[0].context == {"saturated": True}


@pytest.mark.parametrize("threshold", [2000.0, 2500.0])
def test_full_scale_that_does_not_reach_the_threshold_says_nothing(threshold: float) -> None:
    """2000 of 2000 against 2500: neither exceeding nor compliant, not for a second, and the word is saturated."""
    rule = tss_rule(limit=threshold)
    readings = [reading("tss", 0, 300.0), *[reading("tss", 15 * n, 2000.0 + n) for n in range(1, 80)]]
    (finding,) = judge_all(rule, readings)
    assert finding.event is FindingEvent.NOT_EVALUABLE
    assert finding.reason == "no valid sample for 37.5 s (saturated)"
    assert rule.stance is Stance.SATURATED
    spent = rule.seconds.report(at(79 * 15).mono_us)
    assert spent[Verdict.COMPLIANT] == 15 * S  # up to the first saturated sample
    assert spent[Verdict.NOT_EVALUABLE] == 78 * 15 * S


def test_a_saturated_probe_is_never_above_a_lower_limit() -> None:
    """A pH probe at 14 of 14 does not vouch for pH being above 5.5."""
    rule = judge_of(limit(), channel("ph", quantity="pH", unit="pH", full_scale=14.0))
    judge_all(rule, [reading("ph", 15 * n, 14.0) for n in range(20)])
    assert rule.seconds.report(at(19 * 15).mono_us)[Verdict.COMPLIANT] == 0
    assert rule.condition().active is None


def test_saturation_neither_ends_nor_extends_a_run_below_a_limit() -> None:
    """pH 4, one sample at full scale, pH 4: still one run."""
    rule = judge_of(limit(), channel("ph", quantity="pH", unit="pH", full_scale=14.0))
    values = [4.0, 4.0, 14.0, 4.0, 7.0]
    assert told(judge_all(rule, [reading("ph", 15 * n, v) for n, v in enumerate(values)])) == [
        ("raised", 0, 45, 45), ("cleared", 0, 60, 45),
    ]  # fmt: skip


def test_the_water_of_an_event() -> None:
    """60 gpm from its first to its last exceeding sample, 15.5 min: 930 gal."""
    rule = FollowingRule(channel(), slug(prealarms_us=()), signed("declared", 10.0))
    readings = [*(_flow(n, 60.0) for n in range(63)), _flow(63, 10.0)]
    raised, cleared = rule.take_all(readings)
    assert raised.context["volume_gal"] == 60.0 * 915 / 60
    assert cleared.context["volume_gal"] == 60.0 * 930 / 60
    assert "load_lb" not in cleared.context


def _flow(n: int, value: float) -> Reading:
    return Reading("flow", moment(15 * n * S), (), value, Quality.GOOD)


def test_the_load_of_an_event() -> None:
    """2000 mg/L then 1600 mg/L in 100 gpm, half an hour each: 10.8 million mg-gal/L, at 8.34 lb per million."""
    meter = FlowLedger(channel(poll_s=60, hold_s=150), UTC, MIDNIGHT)
    rule = judge_of(
        slug(channel="tss", unit="mg/L", factor=None, baseline=None, limit=1325.0, prealarms_us=()),
        channel("tss", quantity="tss", unit="mg/L", poll_s=60, hold_s=150),
    )
    rule.measure(meter.volume, meter.valid_us)
    findings = []
    for n in range(62):
        meter.take(Reading("flow", moment(n * MIN), (), 100.0, Quality.GOOD), 0, discharging=True)
        value = 2000.0 if n < 30 else 1600.0 if n < 61 else 100.0
        findings += rule.judge(Reading("tss", moment(n * MIN), (), value, Quality.GOOD), 0, discharging=True)
    cleared = findings[-1]
    assert cleared.event is FindingEvent.CLEARED
    assert cleared.context["volume_gal"] == 6000.0
    pounds = (2000 * 3000 + 1600 * 3000) * 8.34 / 1_000_000
    assert cleared.context["load_lb"] == pytest.approx(pounds)


def test_where_the_flow_is_not_known() -> None:
    """A flow that was silent for a part says how much of the time it knows; one that was never heard says nothing."""
    spec = channel("tss", quantity="tss", unit="mg/L", poll_s=60, hold_s=150)
    facts = {"channel": "tss", "unit": "mg/L", "factor": None, "baseline": None, "limit": 1325.0, "prealarms_us": ()}
    for heard, expected in ((8, True), (0, False)):
        meter = FlowLedger(channel(poll_s=60, hold_s=60), UTC, MIDNIGHT)
        rule = judge_of(slug(**facts), spec)
        rule.measure(meter.volume, meter.valid_us)
        findings = []
        for n in range(17):
            if n < heard:
                meter.take(Reading("flow", moment(n * MIN), (), 100.0, Quality.GOOD), 0, discharging=True)
            findings += rule.judge(Reading("tss", moment(n * MIN), (), 2000.0, Quality.GOOD), 0, discharging=True)
        (raised,) = findings
        if expected:
            assert (raised.context["volume_gal"], raised.context["flow_known"]) == (800.0, 0.5)
        else:
            assert raised.context == {}


def test_the_water_goes_on_over_a_restart() -> None:
    """Stored in the middle and brought back with its meter: the same volume as without the restart."""
    spec, rule = channel(), slug(prealarms_us=())
    readings = [*(_flow(n, 60.0) for n in range(70)), _flow(70, 10.0)]
    first = FollowingRule(spec, rule, signed("declared", 10.0))
    first.take_all(readings[:30])
    second = first.restarted(readings[29].at)
    findings = [f for one in readings[30:] for f in second.take(one)]
    assert findings[-1].context["volume_gal"] == 60.0 * 69 * 15 / 60


def test_a_meter_that_began_anew_counts_on() -> None:
    """The run's state survives, the meter's does not: water before and after, none invented."""
    spec, rule = channel(), slug(prealarms_us=())
    first = FollowingRule(spec, rule, signed("declared", 10.0))
    first.take_all(_flow(n, 60.0) for n in range(31))
    second = FollowingRule(spec, rule, signed("declared", 10.0), start=moment(30 * 15 * S))
    second.judge.restore(first.judge.state() or {}, Resume(moment(30 * 15 * S), 0))
    findings = [f for n in range(31, 70) for f in second.take(_flow(n, 60.0))]
    findings += second.take(_flow(70, 10.0))
    # 30 intervals before, 38 after; the one in between was seen by no meter.
    assert findings[-1].context["volume_gal"] == 60.0 * (30 + 38) * 15 / 60
