"""Every test of a reading: its letter, what to do about it, and where a technician sees both."""

import re

import pytest

from gateway.model import Fault, Mode, Quality, Reading
from gateway.quality_letter import action_for, quality_letter
from gateway.signals.diagnosis.catalogue import CATALOGUE, COUNTING, DAMPING, DIAGNOSES, action_of
from gateway.signals.diagnosis.frame import Health
from gateway.sinks.payloads import Payloads
from tests.conftest import ROOT
from tests.support.bench_site import at
from tests.support.diagnosed_site import ph, station

PAGE = (ROOT / "docs" / "quality.md").read_text(encoding="utf-8").partition("\n## 5 ")[2].partition("\n## 6 ")[0]


def reading(quality: Quality, *tests: str, mode: Mode = Mode.RUN, dry: bool = False) -> Reading:
    """A pH of 7 with these flags."""
    return Reading("ph", at(0), (1,), 7.0, quality, tests, mode, dry)


@pytest.mark.parametrize("known", CATALOGUE, ids=lambda known: known.test)
def test_the_page_says_what_each_test_asks_of_the_technician(known: object) -> None:
    """The table of the page has one row for each test, with its letter, whether it counts, and the one thing to do."""
    row = re.search(rf"^\| `{re.escape(known.test)}` \|(.*)\|$", PAGE, flags=re.MULTILINE)
    assert row is not None
    letter, counts, action = (cell.strip() for cell in row.group(1).split("|"))
    assert letter == (known.letter or "\N{EN DASH}")
    damped = known.test in DAMPING
    assert counts == (
        "yes" if known.counts else "as it is" if known.advice else "beyond the limit only" if damped else "no"
    )
    assert action == (known.action or "\N{EN DASH}")


def test_each_fault_is_known() -> None:
    """A fault that nobody wrote an action for would leave the technician alone with a letter."""
    assert {fault.value for fault in Fault} <= DIAGNOSES.keys()


def test_actions_are_plain_and_short() -> None:
    """One thing to do, a clause without a full stop, short enough for a text."""
    for known in CATALOGUE:
        assert not known.action.endswith(".")
        assert ":" not in known.action.split(": ")[0] or known.action.count(":") == 1
        assert len(known.action) <= 90, known.test


def test_what_counts_and_what_does_not() -> None:
    """A doubt that counts is one under which an excess is as real; a fault of the sensor takes it out of judgement."""
    assert {"spike", "rate", "flat_line", "below_range", "level_jump"} <= COUNTING
    assert COUNTING - {"spike", "rate", "flat_line", "below_range", "level_jump"} == {
        # these stand beside a value and doubt nothing
        "depth_only", "incomplete", "between", "calibration_overdue", "electrode_worn",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sentence", "one", "letter"),
    [
        ("A good reading has no letter.", reading(Quality.GOOD), ""),
        ("A failed one is F.", reading(Quality.FAIL, "held"), "F"),
        ("Nothing at all is F.", reading(Quality.MISSING, "silent"), "F"),
        ("Somebody at work is C, whatever the value.", reading(Quality.FAIL, "held", mode=Mode.MAINTENANCE), "C"),
        ("A doubt is S.", reading(Quality.SUSPECT, "suspect_span"), "S"),
        ("A damped signal wants maintenance: M.", reading(Quality.SUSPECT, "attenuated"), "M"),
        ("A damped signal that jumps is S: the worse letter.", reading(Quality.SUSPECT, "attenuated", "rate"), "S"),
        ("A dry glass wants maintenance, the value is good.", reading(Quality.GOOD, "dry_glass"), "M"),
        ("A remark that asks for nothing changes no letter.", reading(Quality.GOOD, "depth_only"), ""),
        ("A word of the instrument's own is S.", reading(Quality.SUSPECT, "sensor warming up"), "S"),
    ],
)  # fmt: skip
def test_the_letter_of_a_reading(sentence: str, one: Reading, letter: str) -> None:
    """NE 107: F before C by mode, S before M."""
    assert quality_letter(one) == letter, sentence


def test_the_action_is_that_of_the_worst_test() -> None:
    """Tests stand worst first, and only one thing is asked for; at work nobody is told what to do."""
    assert action_of(("depth_only", "attenuated", "rate")) == "clean the probe"
    assert action_for(reading(Quality.SUSPECT, "attenuated")) == "clean the probe"
    assert action_for(reading(Quality.SUSPECT, "attenuated", mode=Mode.CALIBRATION)) == ""
    assert action_for(reading(Quality.GOOD)) == ""


def test_the_published_reading_carries_letter_and_action() -> None:
    """Who only sees MQTT is told as much as who stands at the gateway."""
    payloads = Payloads(station(ph()))
    damped = payloads.channel(reading(Quality.SUSPECT, "attenuated"))
    assert (damped["letter"], damped["action"]) == ("M", "clean the probe")
    good = payloads.channel(reading(Quality.GOOD))
    assert good["letter"] == ""
    assert "action" not in good


def test_a_flag_that_leaves_the_value_good_lifts_no_doubt() -> None:
    """A reading outside its span stays doubtful beside advice, and the worst test stands first."""
    health = Health("ph")
    health.flag("night_fall", on=True)
    flagged = health.hear(reading(Quality.SUSPECT, "suspect_span"), None)
    assert (flagged.quality, flagged.tests) == (Quality.SUSPECT, ("suspect_span", "night_fall"))
    health.flag("attenuated", on=True)
    flagged = health.hear(reading(Quality.GOOD), None)
    assert (flagged.quality, flagged.tests) == (Quality.SUSPECT, ("attenuated", "night_fall"))
