"""Quality control: each test, its flag, and that the worst wins; the number always stays."""

import math
from dataclasses import replace

import pytest

from gateway.model import Fault, Instant, Mode, Quality, Reading, Sample
from gateway.signals.qc import Evidence, QualityControl, evidence
from gateway.site import Conversion, Span
from tests.support.bench_site import S, at, channel


def qc_of(**changes: object) -> QualityControl:
    """A pH channel with every test on."""
    facts: dict[str, object] = {
        "quantity": "pH", "unit": "pH", "fail_span": Span(0, 14), "suspect_span": Span(2, 12), "sentinels": (-9999.0,),
        "spike": 2.0, "rate_per_min": 8.0, "flat_after_us": 120 * S, "flat_fail_after_us": 300 * S,
    }  # fmt: skip
    return QualityControl(channel("ph", **(facts | changes)))


def assess(values: list[float | None], qc: QualityControl, *, step_s: float = 15, dry: bool = False) -> list[Reading]:
    """Readings of a series of numbers, one every 15 s."""
    return [qc.assess(Sample("ph", at(n * step_s), value=value), dry=dry) for n, value in enumerate(values)]


@pytest.mark.parametrize(
    ("sentence", "values", "quality", "tests"),
    [
        ("A number inside every span is good.", [7.0], Quality.GOOD, ()),
        ("The bounds of a span belong to it.", [2.0], Quality.GOOD, ()),
        ("Outside the suspect span is suspect.", [1.9], Quality.SUSPECT, ("suspect_span",)),
        ("Outside the instrument's span fails.", [15.2], Quality.FAIL, ("fail_span",)),
        ("NaN fails; it is neither above nor below anything.", [math.nan], Quality.FAIL, ("not a number",)),
        ("Infinity fails.", [math.inf], Quality.FAIL, ("not a number",)),
        ("The recorder's own word for nothing fails as that, not as a span.", [-9999.0], Quality.FAIL, ("sentinel",)),
        ("No number is missing.", [None], Quality.MISSING, ("no sample",)),
        ("A jump against the mean of two neighbours is a spike.", [7.0, 7.0, 9.1], Quality.SUSPECT, ("spike", "rate")),
        ("A slope of 2 pH in 15 s is 8 per minute: allowed.", [7.0, 9.0], Quality.GOOD, ()),
        ("A steeper one is not.", [7.0, 9.01], Quality.SUSPECT, ("rate",)),
        ("Without a neighbour spike and rate say nothing.", [7.0, None, None, None, 11.0], Quality.GOOD, ()),
        ("Still for 2 min is suspect.", [7.0] * 9, Quality.SUSPECT, ("flat_line",)),
        ("Still for 1 min 45 is not yet.", [7.0] * 8, Quality.GOOD, ()),
        ("Still for 5 min fails.", [7.0] * 21, Quality.FAIL, ("flat_line",)),
        ("Worst wins, and every reason is kept.", [1.0] * 21, Quality.FAIL, ("flat_line", "suspect_span")),
    ],
)
def test_each_test_and_its_flag(sentence: str, values: list, quality: Quality, tests: tuple) -> None:
    """The last reading of each row carries this flag for this reason."""
    reading = assess(values, qc_of())[-1]
    assert (reading.quality, reading.tests) == (quality, tests), sentence


def test_a_bad_number_stays_in_the_record() -> None:
    """Flagged, never replaced."""
    assert assess([15.2], qc_of())[0].value == 15.2


def test_sentinels_are_compared_before_conversion() -> None:
    """-9999 in degF is a sentinel, not a cold day; the number in the record is invertible."""
    qc = qc_of(conversion=Conversion(gain=2.0, offset=1.0))
    reading = assess([-9999.0], qc)[0]
    assert (reading.quality, reading.tests, reading.value) == (Quality.FAIL, ("sentinel",), -19997.0)
    zero = qc_of(conversion=Conversion(gain=2.0, offset=1.0), sentinels=(0.0,))
    assert [r.tests for r in assess([0.0, -0.5], zero)] == [("sentinel",), ("suspect_span",)]  # -0.5 becomes 0 pH


@pytest.mark.parametrize(
    ("sentence", "said", "values", "worst"),
    [
        ("The source's doubt does not lift a failure.", Quality.SUSPECT, [7.0] * 21, Quality.FAIL),
        ("The source's failure outweighs a good number.", Quality.FAIL, [7.0], Quality.FAIL),
        ("The source's doubt outweighs a good number.", Quality.SUSPECT, [7.0], Quality.SUSPECT),
    ],
)
def test_what_the_source_says_can_only_worsen(sentence: str, said: Quality, values: list, worst: Quality) -> None:
    """The flag of a status register or a quality column is one more test; the worst flag wins."""
    qc = qc_of()
    readings = [qc.assess(Sample("ph", at(15 * n), value=value, quality=said)) for n, value in enumerate(values)]
    assert readings[-1].quality is worst, sentence
    assert "source" in readings[-1].tests


def test_a_still_value_is_expected_of_a_dry_probe() -> None:
    """Nobody calls a probe in standing water frozen."""
    assert {r.quality for r in assess([7.0] * 30, qc_of(), dry=True)} == {Quality.GOOD}


@pytest.mark.parametrize(
    ("fault", "quality"),
    [
        (Fault.SILENT, Quality.MISSING),
        (Fault.BUS_DOWN, Quality.MISSING),
        (Fault.BAD_REPLY, Quality.MISSING),
        (Fault.NO_SAMPLE, Quality.MISSING),
        (Fault.DEVICE_FAULT, Quality.FAIL),
        (Fault.NO_SUCH_REGISTER, Quality.FAIL),
        (Fault.WRONG_UNIT, Quality.FAIL),
        (Fault.SENTINEL, Quality.FAIL),
        (Fault.NOT_A_NUMBER, Quality.FAIL),
    ],
)
def test_a_failure_is_data_with_its_kind(fault: Fault, quality: Quality) -> None:
    """Silence is missing, an ill answer fails; the kind is the test that set it."""
    reading = qc_of().assess(Sample("ph", at(0), fault=fault))
    assert (reading.quality, reading.tests) == (quality, (fault.value,))


def test_a_sample_not_later_than_the_newest_takes_part_in_nothing() -> None:
    """A duplicate stamp or a step back is kept and flagged, and is no neighbour for the next."""
    qc = qc_of()
    qc.assess(Sample("ph", at(30), value=7.0))
    late = qc.assess(Sample("ph", at(30), value=12.0))
    assert (late.quality, late.tests, late.value) == (Quality.FAIL, ("order",), 12.0)
    assert qc.assess(Sample("ph", at(45), value=7.5)).quality is Quality.GOOD


@pytest.mark.parametrize(
    ("quality", "tests", "mode", "dry", "weight"),
    [
        (Quality.GOOD, (), Mode.RUN, False, Evidence.VALID),
        (Quality.SUSPECT, ("spike",), Mode.RUN, False, Evidence.VALID),
        (Quality.SUSPECT, ("flat_line", "rate"), Mode.RUN, False, Evidence.VALID),
        (Quality.SUSPECT, ("spike", "suspect_span"), Mode.RUN, False, Evidence.DOUBTFUL),
        (Quality.SUSPECT, ("source",), Mode.RUN, False, Evidence.DOUBTFUL),
        (Quality.FAIL, ("flat_line",), Mode.RUN, False, Evidence.VOID),
        (Quality.MISSING, ("silent",), Mode.RUN, False, Evidence.VOID),
        (Quality.GOOD, (), Mode.MAINTENANCE, False, Evidence.VOID),
        (Quality.GOOD, (), Mode.RUN, True, Evidence.VOID),
    ],
)
def test_what_a_reading_may_say_to_a_rule(quality: Quality, tests: tuple, mode: Mode, dry: bool, weight: int) -> None:
    """SUSPECT from spike, rate or flat line counts; dry, failed and maintenance readings say nothing."""
    assert evidence(Reading("ph", at(0), (), 7.0, quality, tests, mode, dry)) == weight


@pytest.mark.parametrize("number", [1e31, -1e31, 1e200, 1.7e308, -1.7e308])
@pytest.mark.parametrize("gain", [1.0, 1e3])
def test_a_number_beyond_all_instruments_fails_without_any_span(number: float, gain: float) -> None:
    """A swapped 64-bit float is a finite number too: it fails, stops nothing, and is never stored as infinite."""
    spec = replace(channel(), conversion=Conversion(gain))
    reading = QualityControl(spec).assess(Sample("flow", Instant(0, 0), (), number))
    assert (reading.quality, reading.tests) == (Quality.FAIL, ("fail_span",))
    assert reading.value is None or math.isfinite(reading.value)
    faulty = QualityControl(spec).assess(Sample("flow", Instant(0, 0), (), number, Fault.DEVICE_FAULT))
    assert faulty.value is None or math.isfinite(faulty.value)
