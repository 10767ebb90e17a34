"""The current of a 4 to 20 mA loop, by NAMUR NE 43: before it means anything."""

from pathlib import Path

import pytest

from gateway.diagnosed import Diagnosed
from gateway.model import Quality, Sample
from gateway.quality_letter import quality_letter
from gateway.signals.qc import QualityControl
from gateway.site import Channel
from gateway.units import two_point_conversion
from tests.support.bench_site import at, channel


def loop(**changes: object) -> Channel:
    """A level of 0 to 10 ft on 4 to 20 mA."""
    facts = {"quantity": "level", "unit": "ft", "source_unit": "mA", "diagnosed": Diagnosed(loop=True)}
    return channel("level", conversion=two_point_conversion((4, 0), (20, 10)), **(facts | changes))


@pytest.mark.parametrize(
    ("sentence", "current_ma", "first", "second"),
    [
        ("4 mA is the bottom of the scale.", 4.0, "", ""),
        ("3.8 mA belongs to the measurement.", 3.8, "", ""),
        ("20.5 mA too.", 20.5, "", ""),
        ("Below 3.8 the transmitter is at the end of its scale.", 3.79, "current_range", "current_range"),
        ("Above 20.5 too.", 20.51, "current_range", "current_range"),
        ("3.61 mA is not yet a failure.", 3.61, "current_range", "current_range"),
        ("20.99 mA is not yet a failure.", 20.99, "current_range", "current_range"),
        ("3.6 mA is one, once it has lasted.", 3.6, "current_range", "current_failure"),
        ("21 mA is one.", 21.0, "current_range", "current_failure"),
        ("A broken cable.", 0.0, "current_range", "current_failure"),
        ("A short.", 22.5, "current_range", "current_failure"),
    ],
)
def test_currents(sentence: str, current_ma: float, first: str, second: str) -> None:
    """The same current at two polls 15 s apart."""
    qc = QualityControl(loop())
    words = {"": (Quality.GOOD, ""), "current_range": (Quality.SUSPECT, "S"), "current_failure": (Quality.FAIL, "F")}
    for second_of, word in ((0, first), (15, second)):
        reading = qc.assess(Sample("level", at(second_of), (1,), current_ma))
        assert (reading.quality, quality_letter(reading)) == words[word], sentence
        assert reading.tests == ((word,) if word else ()), sentence
        assert reading.value == pytest.approx((current_ma - 4) / 16 * 10), "the number is kept"


@pytest.mark.parametrize(("seconds", "failed"), [(3.9, False), (4.0, True)])
def test_a_failure_lasts_four_seconds(seconds: float, failed: bool) -> None:
    """At a poll of a second or less the first readings of it are doubtful, and nothing has failed yet."""
    qc = QualityControl(loop())
    qc.assess(Sample("level", at(0), (1,), 3.5))
    last = qc.assess(Sample("level", at(seconds), (1,), 3.5))
    assert (last.quality is Quality.FAIL) is failed


def test_a_good_current_in_between_begins_anew() -> None:
    """A loose contact that comes and goes has not lasted."""
    qc = QualityControl(loop())
    for second, current in ((0, 3.0), (3, 8.0), (6, 3.0)):
        last = qc.assess(Sample("level", at(second), (1,), current))
    assert last.quality is Quality.SUSPECT


def test_a_sentinel_is_no_current() -> None:
    """A module's own word for nothing fails at once, as what it is."""
    qc = QualityControl(loop(sentinels=(-1.0,)))
    assert qc.assess(Sample("level", at(0), (1,), -1.0)).tests == ("sentinel",)


def test_a_channel_without_a_loop_knows_no_current() -> None:
    """3 ft is 3 ft."""
    assert (
        QualityControl(channel("level", quantity="level", unit="ft")).assess(Sample("level", at(0), (), 3.0)).tests
        == ()
    )


def test_a_recorded_series_holds_no_currents(tmp_path: Path) -> None:
    """`replay` feeds values that were converted long ago: 3 ft on a loop channel is no 3 mA."""
    from gateway.drivers.replay import as_recorded
    from gateway.site import Conversion
    from tests.support.diagnosed_site import station

    site = as_recorded(station(loop()), {"level": Conversion()})
    assert not site.channels["level"].diagnosed.loop
