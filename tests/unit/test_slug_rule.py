"""The slug rule, sample by sample: what proves, what ends, what is only suspected."""

from math import inf, nextafter

import pytest

from gateway.model import FindingEvent, Mode, Quality, Resume, Verdict
from gateway.units import conversion
from tests.support.bench_site import S, at, channel, judge_all, judge_of, limit, reading, slug, told

FLOW = channel()


def every(step_s: float, until_s: float, value: float, *, start_s: float = 0.0) -> list:
    """Readings of one value from start to until, both included."""
    count = round((until_s - start_s) / step_s)
    return [reading("flow", start_s + n * step_s, value) for n in range(count + 1)]


@pytest.mark.parametrize(
    ("sentence", "readings", "expected"),
    [
        ("Exactly five times the baseline is not more than five times.", every(15, 3600, 50.0), []),
        ("Exactly 15 minutes is not longer than 15 minutes.", every(15, 900, 50.1), []),
        ("The first sample past 15 minutes proves it.", every(15, 915, 50.1), [("raised", 0, 915, 915)]),
        ("At 60-s polling 16 samples span 900 s and prove nothing.", every(60, 900, 50.1), []),
        ("At 60-s polling the 17th sample proves it.", every(60, 960, 50.1), [("raised", 0, 960, 960)]),
        (
            "The run is cleared at the first sample within the limit and credits nothing after its last exceeding one.",
            [*every(15, 930, 60.0), reading("flow", 945, 50.0)],
            [("raised", 0, 915, 915), ("cleared", 0, 945, 930)],
        ),
        (
            "A missing and a failed sample inside the hold neither end nor extend the run.",
            [
                *every(15, 450, 60.0),
                reading("flow", 465, None),
                reading("flow", 480, 60.0, quality=Quality.FAIL, tests=("fail_span",)),
                *every(15, 915, 60.0, start_s=487.5),
            ],
            [("raised", 0, 907.5, 907.5)],
        ),
        (
            "A gap of exactly the hold is no gap.",
            [*every(15, 450, 60.0), *every(15, 1400, 60.0, start_s=487.5)],
            [("raised", 0, 907.5, 907.5)],
        ),
        (
            "SUSPECT by spike, rate or flat line counts.",
            [reading("flow", 15 * n, 60.0, quality=Quality.SUSPECT, tests=("spike", "rate")) for n in range(62)],
            [("raised", 0, 915, 915)],
        ),
        (
            "Outside the suspect span a value proves nothing, but is suspected.",
            [reading("flow", 15 * n, 300.0, quality=Quality.SUSPECT, tests=("suspect_span",)) for n in range(62)],
            [("not_evaluable", 0, 37.5, 0), ("suspected", 0, 915, 915)],
        ),
        (
            "A technician at work is no evidence: 20 minutes of maintenance interrupt the run and prove nothing.",
            [
                *every(15, 300, 60.0),
                *[reading("flow", 315 + 15 * n, 60.0, mode=Mode.MAINTENANCE) for n in range(80)],
                reading("flow", 1530, 60.0),
            ],
            [("interrupted", 0, 337.5, 300)],
        ),
    ],
)
def test_what_proves_a_slug(sentence: str, readings: list, expected: list) -> None:
    """Each row is one sentence of the law's text or of its reading."""
    spec = channel(poll_s=60, hold_s=150) if "60-s" in sentence else FLOW
    findings = judge_all(judge_of(slug(prealarms_us=()), spec), readings)
    assert told(findings) == expected, sentence


def test_a_dip_of_one_sample_breaks_the_proof_and_leaves_a_suspicion() -> None:
    """800 s above, one sample at the limit, 800 s above: no proven slug, but the suspected track says yes."""
    rule = judge_of(slug(prealarms_us=()), channel(poll_s=20, hold_s=50))
    readings = [*every(20, 800, 60.0), reading("flow", 820, 50.0), *every(20, 1640, 60.0, start_s=840)]
    assert told(judge_all(rule, readings)) == [("suspected", 0, 920, 920)]


def test_a_dip_longer_than_a_minute_is_no_longer_bridged() -> None:
    """A pump that stops for 75 s starts a new discharge."""
    rule = judge_of(slug(prealarms_us=()), FLOW)
    dips = [reading("flow", 600 + 15 * n, 10.0) for n in range(1, 6)]
    readings = [*every(15, 600, 60.0), *dips, *every(15, 1350, 60.0, start_s=690)]
    assert told(judge_all(rule, readings)) == []


def test_a_gap_is_never_proven_time() -> None:
    """600 s above, 180 s without samples, 600 s above: suspected once, proven durations 600 and 600."""
    rule = judge_of(slug(prealarms_us=()), FLOW)
    readings = [*every(15, 600, 60.0), *every(15, 1380, 60.0, start_s=780), reading("flow", 1395, 9.0)]
    findings = judge_all(rule, readings)
    assert told(findings) == [("interrupted", 0, 637.5, 600), ("suspected", 0, 915, 915)]
    assert "180 s" in findings[1].reason
    # 2 x 600 s are suspected, and the 15 s up to the sample that showed the end; the gap beyond the hold is nobody's.
    spent = rule.seconds.report(at(1395).mono_us)
    assert spent[Verdict.SUSPECTED] == (600 + 37.5 + 600 + 15) * S
    assert spent[Verdict.NOT_EVALUABLE] == (180 - 37.5) * S
    assert sum(spent.values()) == 1395 * S


def test_a_gap_longer_than_the_bridge_starts_afresh() -> None:
    """After 301 s of silence nothing is carried over."""
    rule = judge_of(slug(prealarms_us=()), FLOW)
    readings = [*every(15, 600, 60.0), *every(15, 1800, 60.0, start_s=901)]
    assert [event for event, *_ in told(judge_all(rule, readings))] == ["interrupted"]


def test_pre_alarms_come_once_each_with_the_minutes_left() -> None:
    """At 5 and at 10 minutes, when there is still time to act."""
    findings = judge_all(judge_of(slug(), FLOW), every(15, 930, 60.0))
    assert told(findings)[:2] == [("prealarm", 0, 300, 300), ("prealarm", 0, 600, 600)]
    assert "10 min" in findings[0].reason
    assert "5 min" in findings[1].reason
    assert findings[2].event is FindingEvent.RAISED


def test_at_least_fifteen_minutes_where_the_law_says_so() -> None:
    """Marlborough's 15 minutes are reached, not passed."""
    rule = slug(factor=None, baseline=None, limit=1325.0, strict_duration=False, prealarms_us=())
    assert told(judge_all(judge_of(rule, FLOW), every(15, 900, 1326.0))) == [("raised", 0, 900, 900)]
    assert told(judge_all(judge_of(rule, FLOW), every(15, 3600, 1325.0))) == []


def test_without_a_baseline_nobody_can_tell() -> None:
    """No baseline in force is said once, and every second is not evaluable."""
    rule = judge_of(slug(baseline=None), FLOW)
    assert [f.reason for f in rule.begin(at(0))] == ["no baseline"]
    assert judge_all(rule, every(15, 1800, 500.0)) == []
    assert rule.seconds.report(at(1800).mono_us)[Verdict.NOT_EVALUABLE] == 1800 * S
    assert rule.condition().active is None


def test_the_extreme_and_the_seconds_of_a_slug() -> None:
    """Every second of a proven run is exceeded, the peak is kept."""
    rule = judge_of(slug(prealarms_us=()), FLOW)
    readings = [reading("flow", 0, 10.0), *every(15, 600, 60.0, start_s=15), reading("flow", 615, 75.0)]
    readings += [*every(15, 990, 55.0, start_s=630), reading("flow", 1005, 12.0), reading("flow", 1020, 12.0)]
    raised, cleared = judge_all(rule, readings)
    assert (raised.extreme, cleared.extreme) == (75.0, 75.0)
    assert cleared.duration_us == 975 * S
    spent = rule.seconds.report(at(1020).mono_us)
    assert (spent[Verdict.COMPLIANT], spent[Verdict.EXCEEDED]) == (30 * S, 990 * S)


def test_a_proven_run_interrupted_is_suspected_when_it_goes_on_and_proven_only_anew() -> None:
    """What was told as exceeded is not repeated as exceeded over a gap."""
    rule = judge_of(slug(prealarms_us=()), FLOW)
    readings = [*every(15, 1000, 60.0), *every(15, 1980, 60.0, start_s=1050)]
    assert told(judge_all(rule, readings)) == [
        ("raised", 0, 915, 915),
        ("interrupted", 0, 990 + 37.5 + 15, 1005),
        ("suspected", 0, 1050, 1050),
        ("raised", 1050, 1965, 915),
    ]


class TestRestart:
    """What a run is after the gateway was away: the absence is a gap like any other."""

    @staticmethod
    def interrupted_at(second: float, offset_us: int | None, back_s: float, until_s: float, **changes: object) -> list:
        """Findings of a slug that runs throughout, seen by a gateway that is away from `second` to `back_s`."""
        before = judge_of(slug(prealarms_us=()), FLOW)
        judge_all(before, every(15, second, 60.0))
        state = before.state()
        assert state is not None
        after = judge_of(slug(prealarms_us=(), **changes), FLOW)
        findings = after.restore(state, Resume(at(back_s), offset_us))
        findings += judge_all(after, every(15, until_s, 60.0, start_s=back_s))
        return told(findings)

    def test_within_the_hold_it_is_exceeded_at_its_due_time(self) -> None:
        """A kill -9 and a start 30 s later cost nothing."""
        assert self.interrupted_at(480, 0, 510, 920) == [("raised", 0, 915, 915)]

    def test_beyond_the_hold_it_is_suspected_at_its_due_time(self) -> None:
        """Three minutes away: suspected, never exceeded, before a new 15 minutes."""
        assert self.interrupted_at(480, 0, 660, 1500) == [("interrupted", 0, 517.5, 480), ("suspected", 0, 915, 915)]

    def test_beyond_the_bridge_it_is_a_new_run_and_the_interruption_is_recorded(self) -> None:
        """Ten minutes away: a new run from the first sample."""
        assert self.interrupted_at(480, 0, 1080, 2000) == [
            ("interrupted", 0, 517.5, 480),
            ("raised", 1080, 1995, 915),
        ]

    def test_when_nobody_can_tell_how_long_it_was(self) -> None:
        """Another boot with an untrusted clock: interrupted, and proven anew only."""
        assert self.interrupted_at(480, None, 510, 1425) == [("interrupted", 0, 510, 480), ("raised", 510, 1425, 915)]

    def test_when_the_threshold_changed(self) -> None:
        """A run is not carried over to another limit."""
        found = self.interrupted_at(480, 0, 510, 1425, factor=4.0)
        assert found == [("interrupted", 0, 510, 480), ("raised", 510, 1425, 915)]

    def test_a_proven_run_is_not_told_again(self) -> None:
        """It was raised before; after the restart it only clears."""
        before = judge_of(slug(prealarms_us=()), FLOW)
        judge_all(before, every(15, 930, 60.0))
        after = judge_of(slug(prealarms_us=()), FLOW)
        after.restore(before.state() or {}, Resume(at(945), 0))
        findings = judge_all(after, [*every(15, 960, 60.0, start_s=945), reading("flow", 975, 10.0)])
        assert told(findings) == [("cleared", 0, 975, 960)]

    def test_the_axis_of_another_boot(self) -> None:
        """Stamps move by the offset that trusted UTC gives."""
        before = judge_of(slug(prealarms_us=()), FLOW)
        judge_all(before, every(15, 480, 60.0))
        after = judge_of(slug(prealarms_us=()), FLOW)
        shift_s = -400.0  # the new boot's clock starts anew
        after.restore(before.state() or {}, Resume(at(510 + shift_s), int(shift_s * S)))
        findings = judge_all(after, every(15, 920 + shift_s, 60.0, start_s=510 + shift_s))
        assert [(f.event.value, f.duration_us / S) for f in findings] == [("raised", 915)]


@pytest.mark.parametrize(
    ("value", "raised"), [(5.50, False), (5.49, True)], ids=["the limit itself complies", "below it exceeds"]
)
def test_a_limit_is_confirmed_by_three_samples(value: float, raised: bool) -> None:
    """The third consecutive sample proves it; the limit itself complies."""
    ph = channel("ph", quantity="pH", unit="pH")
    rule = judge_of(limit(), ph)
    findings = judge_all(rule, [reading("ph", 15 * n, value) for n in range(4)])
    assert told(findings) == ([("raised", 0, 30, 30)] if raised else [])


def test_two_samples_beyond_a_limit_are_suspected_time_and_no_finding() -> None:
    """Unconfirmed is not compliant."""
    rule = judge_of(limit(), channel("ph", quantity="pH", unit="pH"))
    values = [7.0, 5.0, 5.0, 7.0, 7.0]
    assert judge_all(rule, [reading("ph", 15 * n, v) for n, v in enumerate(values)]) == []
    spent = rule.seconds.report(at(60).mono_us)
    assert (spent[Verdict.SUSPECTED], spent[Verdict.COMPLIANT]) == (30 * S, 30 * S)


def test_an_exceedance_within_the_uncertainty_says_so() -> None:
    """5.4 against 5.5 with an uncertainty of 0.2 is exceeded, and the record says how close it was."""
    rule = judge_of(limit(uncertainty=0.2), channel("ph", quantity="pH", unit="pH"))
    (finding,) = judge_all(rule, [reading("ph", 15 * n, 5.4) for n in range(3)])
    assert finding.verdict is Verdict.EXCEEDED
    assert "uncertainty of 0.2" in finding.reason


def test_a_dry_probe_is_no_discharge_and_interrupts() -> None:
    """Dry samples are no word about the limit: the run is interrupted, and the time is no discharge."""
    rule = judge_of(limit(), channel("ph", quantity="pH", unit="pH"))
    readings = [reading("ph", 15 * n, 3.1) for n in range(4)]
    readings += [reading("ph", 60 + 15 * n, 3.1, dry=True) for n in range(4)]
    findings = judge_all(rule, readings)
    assert told(findings) == [("raised", 0, 30, 30), ("interrupted", 0, 82.5, 45)]
    assert "no discharge" in findings[1].reason
    spent = rule.seconds.report(at(105).mono_us)
    assert (spent[Verdict.EXCEEDED], spent[Verdict.NO_DISCHARGE]) == (60 * S, 45 * S)
    assert rule.condition().active is None


def test_a_limit_in_another_unit_is_met_exactly() -> None:
    """150 degF on a channel in degC complies; the next number above it exceeds (the law says higher than)."""
    to_degf = conversion("degC", "degF")
    hot = limit(id="t", alarm="t", channel="t", comparison=">", unit="degF", limit=150.0, to_unit=to_degf)
    spec = channel("t", quantity="temperature", unit="degC")
    exactly = conversion("degF", "degC")(150.0)
    for value, raised in ((exactly, []), (nextafter(exactly, inf), ["raised"])):
        findings = judge_all(judge_of(hot, spec), [reading("t", 15 * n, value) for n in range(4)])
        assert [f.event.value for f in findings] == raised


def test_doubtful_time_is_suspected_once_the_track_has_spoken() -> None:
    """Half an hour outside the trusted span: suspected in the books as well, not merely in an event."""
    rule = judge_of(slug(prealarms_us=()), FLOW)
    doubt = {"quality": Quality.SUSPECT, "tests": ("suspect_span",)}
    judge_all(rule, [reading("flow", 15 * n, 300.0, **doubt) for n in range(121)])
    spent = rule.seconds.report(at(1800).mono_us)
    assert (spent[Verdict.SUSPECTED], spent[Verdict.EXCEEDED]) == (1800 * S, 0)


def test_doubtful_time_without_a_word_is_not_evaluable() -> None:
    """Ten doubtful minutes are neither compliant nor suspected."""
    rule = judge_of(slug(prealarms_us=()), FLOW)
    doubt = {"quality": Quality.SUSPECT, "tests": ("suspect_span",)}
    series = [reading("flow", 15 * n, 300.0, **doubt) for n in range(41)] + every(15, 900, 10.0, start_s=615)
    judge_all(rule, series)
    spent = rule.seconds.report(at(900).mono_us)
    assert (spent[Verdict.NOT_EVALUABLE], spent[Verdict.COMPLIANT]) == (615 * S, 285 * S)
