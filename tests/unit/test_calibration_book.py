"""Calibrations on record: signed, kept over restarts, with a date for the next, and a word when it has passed."""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from gateway.baseline_command import Signed
from gateway.calibration_command import carry_out
from gateway.model import Mode, Quality, Reading, Sample
from gateway.quality_letter import quality_letter
from gateway.signals.qc import Evidence, evidence
from gateway.signals.steady import Steady
from gateway.upkeep import Upkeep
from tests.support.calibration_visit import visit_record
from tests.support.maintenance_site import START, S, Visit, moment, visited_site

DAY = 86_400
FINE = 7.0
SITE = visited_site()
SHORT = replace(SITE, upkeep=Upkeep(calibrate_every_us={"ph": 2 * DAY * S}))  # two days, for less to be ticked through
NOTICED = replace(SHORT, contacts=(replace(SITE.contacts[0], from_severity=SITE.alarms["calibration-ph"].severity),))


def calibrate(visit: Visit, second: float, action: str, *, by: str = "J. Tech", id: str = "", **args: Any) -> dict:  # noqa: A002  # a command's id
    """The answer to one command on pH, recorded as the gateway records it."""
    now, pipeline = moment(second), visit.pipeline
    parts = visit.site, pipeline.maintenance, pipeline.calibrations
    step = carry_out(*parts, {"action": action, "channel": "ph", **args}, Signed(by, "test", id, now))
    if step.said.notes or step.said.state:
        visit.keep(pipeline.said(step.said, now))
    return step.answer


def record(visit: Visit, second: float, *, by: str = "J. Tech", id: str = "", **changes: Any) -> dict:  # noqa: A002  # a command's id
    """Hand in the usual visit, half an hour that ended at this second."""
    stopped_us = START.utc_us + round(second) * S
    times = {"started_utc_us": stopped_us - 1800 * S, "stopped_utc_us": stopped_us}
    return calibrate(visit, second, "record", by=by, id=id, record=visit_record(**{**times, **changes}))


def days(visit: Visit, first: int, last: int) -> None:
    """A tick and a reading a day; ten hours after the start of each."""
    for day in range(first, last):
        at = moment(day * DAY + 36_000)
        visit.keep(visit.pipeline.tick(at))
        visit.keep(visit.pipeline.process([Sample("ph", at, (), FINE + day % 2)], at))


def latest(visit: Visit) -> Any:
    """The latest reading of pH."""
    return [r for o in visit.said for r in o.readings if r.channel == "ph"][-1]


def test_a_record_is_signed_kept_and_on_record() -> None:
    """Who, what it came to, and the next date: 28 days after it ended, in the note, the answer and the state."""
    visit = Visit(SITE)
    answer = record(visit, 0, id="one")
    assert answer["ok"]
    assert answer["calibration"]["id"] == "ph-1"
    assert answer["due"] == "2026-07-28"
    (note,) = visit.notes("calibration")
    assert note["record"]["technician"] == "J. Tech"
    assert note["found"]["fouling_error"] == pytest.approx(0.2)
    assert json.loads(json.dumps(visit.state["calibration:ph-1"])) == note


def test_a_channel_being_calibrated_is_recorded_and_judged_by_nobody() -> None:
    """From `begin` to the record the letter is C; the record takes its times from there, and ends it."""
    visit = Visit(SITE)
    assert calibrate(visit, 0, "begin", reason="routine")["ok"]
    readings = visit.feed(range(15, 600, 15), {"ph": 4.0})
    assert {(r.mode, quality_letter(r)) for r in readings} == {(Mode.CALIBRATION, "C")}
    assert not [f for f in visit.findings("lv-ph-low") if f[0] != "not_evaluable"]
    body = {key: value for key, value in visit_record().items() if not key.endswith("_utc_us")}
    answer = calibrate(visit, 600, "record", record=body)
    assert answer["calibration"]["record"]["started_utc_us"] == START.utc_us
    assert answer["calibration"]["record"]["stopped_utc_us"] == START.utc_us + 600 * S
    (reading,) = visit.feed(range(615, 616), {"ph": FINE})
    assert (reading.mode, reading.tests) == (Mode.RUN, ("after_maintenance",))
    assert visit.events() == ["started", "stopped"]


def test_within_maintenance_it_is_calibration_first_and_maintenance_again_afterwards() -> None:
    """A visit: maintenance on, calibrate within it, off."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph")
    calibrate(visit, 10, "begin", reason="routine")
    (during,) = visit.feed(range(15, 16), {"ph": 4.0})
    calibrate(visit, 20, "abandon")
    (after,) = visit.feed(range(30, 31), {"ph": 4.0})
    assert (during.mode, after.mode) == (Mode.CALIBRATION, Mode.MAINTENANCE)


def test_a_calibration_that_nobody_ends_expires_like_maintenance() -> None:
    """An hour at most unless said; then judged again, and told."""
    visit = Visit(SITE)
    calibrate(visit, 0, "begin", reason="routine")
    visit.feed(range(15, 3700, 15), {"ph": FINE})
    assert visit.events() == ["started", "expired"]
    assert [edge for edge, _ in visit.edges("maintenance-ph")] == ["raised"]
    assert record(visit, 3700)["ok"]  # the record signs it off
    assert [edge for edge, _ in visit.edges("maintenance-ph")] == ["raised", "cleared"]


class TestTheDate:
    """Due is a day in the site's own zone; past its end the channel is M, and somebody hears of it."""

    def test_overdue_is_said_once_on_every_reading_and_cleared_by_the_next_record(self) -> None:
        """Calibrated on June 30, due on July 2: good through that day, M and a notice after it, good again."""
        visit = Visit(NOTICED)
        record(visit, 0)
        days(visit, 0, 2)
        assert (latest(visit).tests, quality_letter(latest(visit))) == ((), "")
        assert visit.edges("calibration-ph") == []
        days(visit, 2, 6)
        assert (latest(visit).quality, latest(visit).tests) == (Quality.GOOD, ("calibration_overdue",))
        assert quality_letter(latest(visit)) == "M"
        assert [edge for edge, _ in visit.edges("calibration-ph")] == ["raised"]
        (text,) = visit.texts("calibration-ph")
        assert "NOTICE calibration of ph was due on 2026-07-02" in text
        assert calibrate(visit, 6 * DAY, "list")["standing"]["ph"]["overdue"] is True
        assert record(visit, 6 * DAY)["ok"]
        days(visit, 6, 8)
        assert (latest(visit).tests, quality_letter(latest(visit))) == ((), "")
        assert [edge for edge, _ in visit.edges("calibration-ph")] == ["raised", "cleared"]

    def test_an_overdue_channel_is_judged_as_ever(self) -> None:
        """A date on a calendar makes no acid compliant, nor a compliant discharge doubtful."""
        visit = Visit(SHORT)
        record(visit, 0)
        start = 4 * DAY
        visit.feed(range(start, start + 60, 15), {"ph": 3.1})
        assert ("raised", "exceeded") in visit.findings("lv-ph-low")

    def test_a_worn_electrode_is_said_beside_every_reading_until_the_next_record(self) -> None:
        """Accepted with 92 %, or with 25 s into pH 4: M, judged as ever, over a restart; a new one ends it."""
        visit = Visit(SITE)
        record(visit, 0, slope_percent=92.0)
        days(visit, 0, 1)
        assert (latest(visit).quality, latest(visit).tests) == (Quality.GOOD, ("electrode_worn",))
        assert quality_letter(latest(visit)) == "M"
        assert evidence(latest(visit)) == Evidence.VALID
        visit.restart(DAY)
        days(visit, 1, 2)
        assert latest(visit).tests == ("electrode_worn",)
        record(visit, 2 * DAY, reason="replacement", sensor_serial="B1", slope_percent=99.0, offset_mv=1.0)
        days(visit, 2, 3)
        assert latest(visit).tests == ()
        record(visit, 3 * DAY, response_s=25.0)
        days(visit, 3, 4)
        assert latest(visit).tests == ("electrode_worn",)

    def test_a_rejected_one_moves_no_date(self) -> None:
        """The electrode was not fit: what was due stays due."""
        visit = Visit(SITE)
        record(visit, 0)
        answer = record(visit, 20 * DAY, accepted=False, slope_percent=80.0)
        assert answer["ok"]
        assert answer["due"] == "2026-07-28"

    def test_a_corrected_one_counts_no_more(self) -> None:
        """A slip of the pen in the date: the correction rules, and the history shows both."""
        visit = Visit(SITE)
        record(visit, 0, next_due="2028-07-28")
        earlier_us = START.utc_us - 60 * S  # its time was wrong too
        answer = record(visit, 60, corrects="ph-1", next_due="2026-07-20", stopped_utc_us=earlier_us)
        assert answer["due"] == "2026-07-20"
        history = calibrate(visit, 70, "list")["calibrations"]["ph"]
        assert [(kept["id"], kept["corrected"]) for kept in history] == [("ph-1", True), ("ph-2", False)]
        assert "there is no record 'ph-9'" in record(visit, 80, corrects="ph-9")["error"]

    def test_nothing_is_claimed_without_a_record(self) -> None:
        """A site that never calibrated: no date, no letter, no alarm; the list says that there is none."""
        visit = Visit(SHORT)
        days(visit, 0, 4)
        assert latest(visit).tests == ()
        assert calibrate(visit, 4 * DAY, "list")["standing"]["ph"] == {"due": None, "overdue": False, "records": 0}

    def test_a_clock_nobody_vouches_for_makes_nothing_overdue(self) -> None:
        """A Pi that wakes up days later without the time from anywhere."""
        visit = Visit(SHORT)
        record(visit, 0)
        at = replace(moment(6 * DAY), synced=False)
        visit.keep(visit.pipeline.tick(at))
        assert calibrate(visit, 6 * DAY, "list")["standing"]["ph"]["overdue"] is False


@pytest.mark.parametrize(
    ("sentence", "by", "changes", "said"),
    [
        ("Unsigned.", " ", {}, "say who you are"),
        ("Signed by another.", "A. Other", {}, "the record names J. Tech and A. Other signs it"),
        ("Called fit, with a worn electrode.", "J. Tech", {"slope_percent": 84.0}, "cannot be accepted: slope 84.0 %"),
        ("Of another channel.", "J. Tech", {"channel": "temperature"}, "is of temperature, not of ph"),
        ("Ended tomorrow.", "J. Tech", {"stopped_utc_us": START.utc_us + DAY * S}, "in the future"),
        ("Without its times, and never begun.", "J. Tech", {"started_utc_us": None}, "started is required"),
    ],
)  # fmt: skip
def test_what_is_refused_is_not_on_record(sentence: str, by: str, changes: Mapping[str, Any], said: str) -> None:
    """The row's sentence."""
    visit = Visit(SITE)
    answer = record(visit, 0, by=by, **changes)
    assert not answer["ok"], sentence
    assert said in answer["error"], sentence
    assert not visit.notes("calibration"), sentence
    assert not [key for key in visit.state if key.startswith("calibration:")], sentence


def test_a_worn_electrode_can_be_recorded_as_rejected() -> None:
    """What was found is worth keeping."""
    visit = Visit(SITE)
    answer = record(visit, 0, accepted=False, slope_percent=80.0)
    assert (answer["ok"], answer["found"]["band"]) == (True, "reject")


def test_a_check_records_nothing() -> None:
    """What it would come to, and why it could not be accepted."""
    visit = Visit(SITE)
    answer = calibrate(visit, 0, "record", record=visit_record(slope_percent=84.0), check=True)
    assert answer["found"]["refused"] == ["slope 84.0 % is outside 85 to 105 %: the electrode is not fit"]
    assert visit.said == []


def test_records_come_back_after_a_restart_and_a_repeat_is_one_record() -> None:
    """Killed after the answer: history, date, drift and the command's id are still known."""
    visit = Visit(SITE)
    record(visit, 0, id="one")
    before = calibrate(visit, 10, "list")
    visit.restart(20)
    assert calibrate(visit, 30, "list") == before
    assert record(visit, 30, id="one")["calibration"]["id"] == "ph-1"
    later = record(visit, 10 * DAY)
    assert later["calibration"]["id"] == "ph-2"
    assert later["found"]["drift_since_last"] == pytest.approx(0.1)
    assert len(visit.notes("calibration")) == 2


def test_overdue_stays_so_over_a_restart_and_is_told_once() -> None:
    """The alarm stood before the kill: the new process says so again, and nobody gets a second text."""
    visit = Visit(NOTICED)
    record(visit, 0)
    days(visit, 2, 5)
    visit.restart(5 * DAY)
    days(visit, 5, 7)
    assert quality_letter(latest(visit)) == "M"
    assert len(visit.texts("calibration-ph")) == 1


def test_a_record_that_cannot_be_read_costs_that_one() -> None:
    """It is written down, kept on disk, and the others come back."""
    visit = Visit(SITE)
    record(visit, 0)
    record(visit, 60)
    visit.state["calibration:ph-1"] = {"id": "ph-1", "record": {}}
    outcome = visit.restart(100)
    assert [n.body["state"] for n in outcome.notes if n.kind == "state_unreadable"] == ["calibration:ph-1"]
    assert [kept["id"] for kept in calibrate(visit, 110, "list")["calibrations"]["ph"]] == ["ph-2"]
    assert "calibration:ph-1" in visit.state


def test_a_live_value_stands_still_before_it_is_taken() -> None:
    """pH 7.00 until 60 s, then 4.00: steady after a minute in each, and not while it moves."""
    visit = Visit(SITE)
    calibrate(visit, 0, "begin", reason="routine")
    visit.feed(range(0, 75, 15), {"ph": 7.0})
    live = calibrate(visit, 61, "live")["live"]
    assert (live["value"], live["steady_s"], live["steady"]) == (7.0, 60.0, True)
    assert calibrate(visit, 62, "live", fresh=True)["live"]["steady"] is False  # lifted out of the beaker
    visit.feed(range(75, 120, 15), {"ph": 4.0})
    assert calibrate(visit, 120, "live")["live"]["steady"] is False
    visit.feed(range(120, 150, 15), {"ph": 4.04})
    live = calibrate(visit, 150, "live")["live"]
    assert (live["value"], live["steady_s"], live["steady"]) == (4.04, 60.0, True)
    visit.feed(range(150, 165, 15), {"ph": 4.2})
    assert calibrate(visit, 165, "live")["live"]["steady"] is False


def test_a_silence_starts_it_afresh() -> None:
    """pH 7.0 to 15 s, nothing for 100 s, 7.0 again from 115 s: steady since 115 s, though the value is the same."""
    steady = Steady(SITE.channels["ph"])
    for second in (0, 15, 115, 130):
        steady.see(Reading("ph", moment(second), (), 7.0, Quality.GOOD))
    assert steady.since_us(moment(131).mono_us) == 115 * S


def test_a_spike_of_an_overdue_channel_still_counts() -> None:
    """The date changes nothing of what a suspect reading may say: a spike counts with it as without."""
    spiked = Reading("ph", moment(0), (), 3.1, Quality.SUSPECT, ("spike",))
    assert evidence(spiked) == evidence(replace(spiked, tests=("spike", "calibration_overdue"))) == Evidence.VALID


def test_a_silent_probe_is_not_steady() -> None:
    """The last value a minute ago is no value now."""
    visit = Visit(SITE)
    calibrate(visit, 0, "begin", reason="routine")
    visit.feed(range(0, 75, 15), {"ph": 7.0})
    assert calibrate(visit, 120, "live")["live"]["steady"] is False


@pytest.mark.parametrize("next_due", ["9999-12-31", "0001-01-01"])
def test_a_date_that_no_calendar_can_add_a_day_to_leaves_the_book_as_it_was(next_due: str) -> None:
    """Refused, nothing kept, and the next record and every tick go on."""
    visit = Visit(SITE)
    assert not record(visit, 0, next_due=next_due)["ok"]
    assert record(visit, 3600)["ok"]
    days(visit, 1, 3)
    assert [one["id"] for one in calibrate(visit, 3 * DAY, "list")["calibrations"]["ph"]] == ["ph-1"]
