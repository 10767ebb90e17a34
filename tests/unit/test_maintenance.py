"""A channel that somebody works on: recorded, flagged C, judged by nobody, and never for longer than was said."""

import json
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import pytest

from gateway.diagnosed import Diagnosed
from gateway.model import Mode, Quality, Reading, Sample, Severity
from gateway.quality_letter import quality_letter
from gateway.sinks.payloads import Payloads
from gateway.site import AlarmPolicy, Channel
from gateway.step import Step
from gateway.upkeep import Upkeep
from tests.support.maintenance_site import START, S, Visit, moment, visited_site

ACID, FINE, COLD, HOT = 3.1, 7.0, 20.0, 70.0
HOUR = 3600
DOOR = Channel("door", "contact", "state", 15 * S, round(37.5 * S), 60 * S)
SITE = visited_site()
DOOR_ALARM = AlarmPolicy("sensor-door", Severity.WARNING)
WITH_DOOR = replace(
    SITE,
    channels={**SITE.channels, "door": DOOR},
    alarms={**SITE.alarms, DOOR_ALARM.alarm: DOOR_ALARM},
    upkeep=Upkeep(door="door"),
)


def of(readings: Iterable[Reading], channel: str) -> list[Reading]:
    """Those of one channel."""
    return [reading for reading in readings if reading.channel == channel]


def test_only_the_channel_at_work_is_spared() -> None:
    """pH 3.1 in maintenance is recorded, flagged C and judged by no rule; 70 degC beside it is an exceedance."""
    visit = Visit(SITE)
    assert visit.do(0, "start", "ph")["ok"]
    readings = visit.feed(range(15, 300, 15), {"ph": ACID, "temperature": HOT})
    for reading in of(readings, "ph"):
        assert (reading.value, reading.mode, quality_letter(reading)) == (ACID, Mode.MAINTENANCE, "C")
    assert {reading.mode for reading in of(readings, "temperature")} == {Mode.RUN}
    assert {event for event, _ in visit.findings("lv-ph-low")} <= {"not_evaluable"}
    assert ("raised", "exceeded") in visit.findings("lv-temperature")
    assert visit.edges("sensor-ph") == []


def test_a_station_in_maintenance_spares_every_channel() -> None:
    """Everything is recorded, nothing is judged."""
    visit = Visit(SITE)
    visit.do(0, "start", station=True)
    readings = visit.feed(range(15, 300, 15), {"ph": ACID, "temperature": HOT, "flow": 90.0})
    assert {reading.mode for reading in readings} == {Mode.MAINTENANCE}
    assert not [f for o in visit.said for f in o.findings if f.event.value != "not_evaluable"]


def test_a_channel_derived_from_one_at_work_is_spared_too() -> None:
    """A flow computed from a level that a technician lifts out of the flume is no flow."""
    visit = Visit(visited_site("derived-flow"))
    answer = visit.do(0, "start", "level")
    assert answer["maintenance"][0]["channels"] == ["level", "flow", "today"]
    readings = visit.feed(range(15, 60, 15), {"level": 8.0})
    assert {reading.mode for reading in of(readings, "flow")} == {Mode.MAINTENANCE}
    visit.do(60, "stop", "level")
    readings = visit.feed(range(75, 120, 15), {"level": 8.0})
    assert {reading.quality for reading in of(readings, "flow")} == {Quality.SUSPECT}
    assert visit.pipeline.maintenance.held("flow") is False


def test_a_full_pipe_is_told_although_the_station_is_in_maintenance() -> None:
    """0.75 ft in a pipe with its crown at 0.5 ft: water backs up whoever is at work, and people are told at once."""
    site = visited_site("derived-flow")
    level = replace(site.channels["level"], diagnosed=Diagnosed(crown=0.5))
    surcharge = AlarmPolicy("surcharge", Severity.HIGH)
    visit = Visit(
        replace(site, channels={**site.channels, "level": level}, alarms={**site.alarms, "surcharge": surcharge})
    )
    visit.do(0, "start", station=True)
    visit.feed(range(5, 120, 5), {"level": 12.0})
    assert [edge for edge, _ in visit.edges("surcharge")] == ["raised"]
    assert len(visit.texts("surcharge")) == 1


def test_the_first_ten_minutes_after_are_suspect() -> None:
    """From the stop on, up to and not including 600 s later; a failed reading stays failed."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph")
    visit.feed(range(15, 120, 15), {"ph": FINE})
    visit.do(120, "stop", "ph")
    readings = visit.feed(range(120, 735, 15), {"ph": FINE})
    flags = {(r.at.mono_us - START.mono_us) // S: (r.quality, r.tests) for r in readings}
    doubtful = (Quality.SUSPECT, ("after_maintenance",))
    assert flags == {**dict.fromkeys(range(120, 720, 15), doubtful), 720: (Quality.GOOD, ())}
    assert visit.edges("sensor-ph") == []  # ten minutes without a valid reading are no fault here


def test_a_reading_that_failed_while_settling_is_no_better_for_it() -> None:
    """pH 15 is outside the glass electrode's scale, whoever was there."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph")
    visit.do(10, "stop", "ph")
    (reading,) = visit.feed(range(15, 16), {"ph": 15.0})
    assert (reading.quality, reading.tests) == (Quality.FAIL, ("fail_span",))


def test_an_exceedance_while_settling_is_suspected_and_told_and_never_proven() -> None:
    """Acid ten seconds after the technician left: somebody must hear of it, and no court will."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph")
    visit.feed(range(15, 60, 15), {"ph": FINE})
    visit.do(60, "stop", "ph")
    visit.feed(range(75, 600, 15), {"ph": ACID})
    assert [found for found in visit.findings("lv-ph-low") if found[0] != "not_evaluable"] == [("suspected",) * 2]
    assert [edge for edge, _ in visit.edges("lv-ph-low")] == ["raised"]
    (text,) = visit.texts("lv-ph-low")
    assert "WARNING" in text
    assert "SUSPECTED" in text
    visit.feed(range(660, 720, 15), {"ph": ACID})
    assert ("raised", "exceeded") in visit.findings("lv-ph-low")  # settled: three valid samples prove it


def test_a_witness_that_was_just_worked_on_hides_no_discharge() -> None:
    """The flow reads 0 while its sensor hangs out of the water, at work and for ten minutes after: the pH is judged."""
    visit = Visit(SITE)
    visit.feed(range(0, 120, 5), {"ph": 7.0, "flow": 40.0})
    visit.do(120, "start", "flow")
    visit.feed(range(120, 200, 5), {"ph": 3.0, "flow": 0.0})
    visit.do(200, "stop", "flow")
    readings = visit.feed(range(200, 800, 5), {"ph": 3.0, "flow": 0.0})
    assert not any(reading.dry for reading in readings)
    assert [found for found in visit.findings("lv-ph-low") if found[0] != "not_evaluable"] == [("raised", "exceeded")]
    later = visit.feed(range(800, 900, 5), {"ph": 3.0, "flow": 0.0})
    assert later[-1].dry  # settled, and still none: then it is believed


def test_a_reading_taken_before_the_start_and_heard_after_it_is_judged() -> None:
    """An answer that was on the wire when the command came belongs to its own moment; one from before the stop too."""
    visit = Visit(SITE)
    visit.do(20, "start", "ph")
    early = visit.pipeline.process([Sample("ph", moment(19), (), FINE)], moment(21)).readings
    visit.do(50, "stop", "ph")
    late = visit.pipeline.process([Sample("ph", moment(49), (), FINE)], moment(51)).readings
    after = visit.pipeline.process([Sample("ph", moment(50), (), FINE)], moment(51)).readings
    assert [r.mode for r in (*early, *late, *after)] == [Mode.RUN, Mode.MAINTENANCE, Mode.RUN]


class TestMaintenanceInAnExceedance:
    """It interrupts the event and ends nothing: the alarm stands, over a restart too, until a valid value clears it."""

    def visit(self) -> Visit:
        """Acid is proven and told; then somebody starts to clean the probe."""
        visit = Visit(SITE)
        visit.feed(range(0, 60, 15), {"ph": ACID})
        assert [edge for edge, _ in visit.edges("lv-ph-low")] == ["raised"]
        visit.do(60, "start", "ph")
        return visit

    def test_it_is_interrupted_and_never_cleared(self) -> None:
        """Twelve minutes at pH 7 in a bucket: one finding `interrupted`, nothing cleared, nobody told that it ended."""
        visit = self.visit()
        visit.feed(range(75, 780, 15), {"ph": FINE})
        assert visit.findings("lv-ph-low") == [("raised", "exceeded"), ("interrupted", "exceeded")]
        (interrupted,) = [f for o in visit.said for f in o.findings if f.event.value == "interrupted"]
        assert "maintenance" in interrupted.reason
        assert [edge for edge, _ in visit.edges("lv-ph-low")] == ["raised"]
        assert len(visit.texts("lv-ph-low")) == 1

    def test_the_alarm_clears_only_by_a_valid_value_after_the_settling(self) -> None:
        """Stopped at 780 s at pH 7: doubtful to 1380 s, then valid; the alarm clears after its off-delay then."""
        visit = self.visit()
        visit.feed(range(75, 780, 15), {"ph": FINE})
        visit.do(780, "stop", "ph")
        visit.feed(range(780, 1380, 15), {"ph": FINE})
        assert [edge for edge, _ in visit.edges("lv-ph-low")] == ["raised"]
        visit.feed(range(1380, 1500, 15), {"ph": FINE})
        (_, (edge, at)) = visit.edges("lv-ph-low")
        assert edge == "cleared"
        assert at >= 1380
        assert ("cleared", "compliant") not in visit.findings("lv-ph-low")  # the event was cut, its end was not seen
        raised, ended = visit.texts("lv-ph-low")
        assert raised.startswith("LV-MH3")
        assert "3.1 <5.5" in raised
        assert ended == "LV-MH3 ENDED pH too low back to normal at 17:24 EDT. End not seen, min 3.1. ACK 1-1"

    def test_an_exceedance_that_goes_on_afterwards_is_a_new_run_under_the_same_alarm(self) -> None:
        """Still acid when the probe has settled: proven again, and the alarm never went away between."""
        visit = self.visit()
        visit.feed(range(75, 300, 15), {"ph": FINE})
        visit.do(300, "stop", "ph")
        visit.feed(range(300, 1000, 15), {"ph": ACID})
        assert visit.findings("lv-ph-low").count(("raised", "exceeded")) == 2
        assert "cleared" not in [edge for edge, _ in visit.edges("lv-ph-low")]

    @pytest.mark.parametrize("offset_s", [0, -1000, None])
    def test_a_restart_in_the_middle_changes_nothing_of_that(self, offset_s: float | None) -> None:
        """Killed while the probe is out, back within the boot, after one, or without knowing when: never cleared."""
        visit = self.visit()
        visit.feed(range(75, 150, 15), {"ph": FINE})
        visit.restart(200, offset_s)
        visit.feed(range(210, 600, 15), {"ph": FINE})
        assert visit.findings("lv-ph-low")[0] == ("raised", "exceeded")
        assert "interrupted" in [event for event, _ in visit.findings("lv-ph-low")]
        assert "cleared" not in [event for event, _ in visit.findings("lv-ph-low")]
        assert "cleared" not in [edge for edge, _ in visit.edges("lv-ph-low")]


class TestTheEnd:
    """A stay ends by itself at the latest moment it was given, and that nobody ended it is told."""

    def test_an_expiry_is_told_until_somebody_signs_off(self) -> None:
        """An hour by default; then an alarm of its own, acknowledged or not, that only a signature clears."""
        visit = Visit(SITE)
        visit.do(0, "start", "ph")
        readings = visit.feed(range(15, HOUR + 60, 15), {"ph": FINE})
        modes = {(r.at.mono_us // S): r.mode for r in of(readings, "ph")}
        assert modes[HOUR - 15] is Mode.MAINTENANCE
        assert modes[HOUR] is Mode.RUN
        assert visit.events() == ["started", "expired"]
        assert visit.edges("maintenance-ph") == [("raised", HOUR + 15)]  # discovered by the next look
        (text,) = visit.texts("maintenance-ph")
        assert "WARNING maintenance of ph expired, nobody signed off since 18:00 EDT" in text
        assert "Judged again. Sign off: maintenance stop." in text
        assert visit.do(HOUR + 100, "stop", "ph", by="A. Other")["ok"]
        assert [edge for edge, _ in visit.edges("maintenance-ph")] == ["raised", "cleared"]
        signed = visit.notes()[-1]
        assert (signed["event"], signed["actor"], signed["signed_by"]) == ("signed off", "J. Tech", "A. Other")

    def test_a_proper_stop_is_no_alarm(self) -> None:
        """Stopped in time: the record says by whom, and nobody is told."""
        visit = Visit(SITE)
        visit.do(0, "start", "ph", id="one")
        visit.do(600, "stop", "ph", id="two")
        visit.feed(range(615, 2 * HOUR, 15), {"ph": FINE})
        assert visit.edges("maintenance-ph") == []
        started, stopped = visit.notes()
        assert {key: started[key] for key in ("event", "actor", "via", "id", "reason")} == {
            "event": "started", "actor": "J. Tech", "via": "test", "id": "one", "reason": "clean the probe",
        }  # fmt: skip
        assert (stopped["ended_by"], stopped["ended_id"], stopped["lasted_us"]) == ("J. Tech", "two", 600 * S)
        assert not [key for key in visit.state if key.startswith("maintenance:maintenance:")]  # settled and forgotten

    def test_to_take_it_up_again_is_a_signature_too(self) -> None:
        """Expired while the technician was still at it: starting again clears the alarm."""
        visit = Visit(SITE)
        visit.do(0, "start", "ph", **{"for": "1 min"})
        visit.feed(range(15, 120, 15), {"ph": FINE})
        visit.do(130, "start", "ph")
        visit.feed(range(135, 150, 15), {"ph": FINE})
        assert [edge for edge, _ in visit.edges("maintenance-ph")] == ["raised", "cleared"]
        assert len(visit.do(150, "list")["maintenance"]) == 1

    def test_what_expired_just_before_a_refused_command_is_not_lost(self) -> None:
        """The refusal discovers the expiry: it is on record and told all the same."""
        visit = Visit(SITE)
        visit.do(0, "start", "ph", **{"for": "1 min"})
        assert not visit.do(90, "start", "temperature", by=" ")["ok"]
        assert visit.edges("maintenance-ph") == [("raised", 90)]
        assert visit.events() == ["started", "expired"]
        assert visit.notes()[-1]["lasted_us"] == 60 * S


class TestTheDoor:
    """Opened and closed again, the probes steady, for ten minutes: the work is over, though nobody said so."""

    def visit(self, ph: Iterable[float], door: Iterable[float | None]) -> Visit:
        """An hour of maintenance; one pH and one word of the door for each minute of it."""
        visit = Visit(WITH_DOOR)
        visit.do(0, "start", "ph")
        for minute, (value, word) in enumerate(zip(ph, door, strict=True), 1):
            given = {"ph": value} if word is None else {"ph": value, "door": word}
            visit.feed(range(minute * 60 - 45, minute * 60 + 15, 15), given)
        return visit

    @pytest.mark.parametrize(
        ("sentence", "ph", "door", "ended"),
        [
            ("open for five minutes, closed for more than ten", [FINE] * 30, [0] * 5 + [1] * 25, True),
            ("closed for nine minutes", [FINE] * 14, [0] * 5 + [1] * 9, False),
            ("never opened: the technician has not come yet", [FINE] * 30, [1] * 30, False),
            ("open for ever", [FINE] * 30, [0] * 30, False),
            ("opened again after eight minutes", [FINE] * 22, [0] * 5 + [1] * 8 + [0] + [1] * 8, False),
            ("closed, and the probe still drifts", [5.0 + n / 10 for n in range(30)], [0] * 5 + [1] * 25, False),
            ("nobody hears of the door any more", [FINE] * 30, [0] * 5 + [1] * 8 + [None] * 17, False),
        ],
    )
    def test_when_it_ends(self, sentence: str, ph: list[float], door: list[float | None], ended: bool) -> None:
        """The row's sentence."""
        visit = self.visit(ph, door)
        assert (visit.events() == ["started", "ended by itself"]) is ended, sentence
        states = [line["state"] for line in visit.do(len(ph) * 60 + 20, "list")["maintenance"]]
        assert ("in progress" in states) is not ended, sentence
        assert visit.edges("maintenance-ph") == []  # left in order: nobody is told

    def test_it_ends_no_calibration(self) -> None:
        """A probe in a buffer is as steady as one in the pipe: the record ends it."""
        visit = Visit(WITH_DOOR)
        who = ("J. Tech", "routine", "test", "")
        visit.pipeline.maintenance.start(["ph"], Mode.CALIBRATION, who, None, moment(0), Step())
        visit.feed(range(15, 60, 15), {"ph": 4.0, "door": 0})
        visit.feed(range(60, 1500, 15), {"ph": 4.0, "door": 1})
        assert visit.pipeline.maintenance.held("ph") is True

    def test_without_a_door_only_the_time_ends_it(self) -> None:
        """The same half hour at a site without a contact."""
        visit = Visit(SITE)
        visit.do(0, "start", "ph")
        visit.feed(range(15, 1800, 15), {"ph": FINE})
        assert visit.events() == ["started"]


@pytest.mark.parametrize(
    ("sentence", "action", "channels", "args", "said"),
    [
        ("Unsigned.", "start", ["temperature"], {"by": " "}, "say who you are"),
        ("Without a reason.", "start", ["temperature"], {"reason": " "}, "needs a reason"),
        ("Of nothing.", "start", [], {}, "which channels, or the whole station"),
        ("Of a channel that is not there.", "start", ["hp"], {}, "no channel 'hp'"),
        ("One of two is not there.", "start", ["temperature", "hp"], {}, "no channel 'hp'"),
        ("Twice the same.", "start", ["temperature", "temperature"], {}, "named twice"),
        (
            "What somebody is at already.",
            "start",
            ["ph"],
            {},
            "by J. Tech (clean the probe), for 60 min more: stop it first",
        ),
        ("For too long.", "start", ["temperature"], {"for": "9 h"}, "at most 8 h"),
        ("For no time.", "start", ["temperature"], {"for": "0 s"}, "lasts no time"),
        ("For a number without a unit.", "start", ["temperature"], {"for": "60"}, "has no unit"),
        ("Channels and station.", "start", ["temperature"], {"station": True}, "or the whole station"),
        ("The station by its private name.", "start", ["*"], {}, "say station"),
        ("Channels that are no list.", "start", ["temperature"], {"channels": "ph"}, "a list of names"),
        ("The end of what never began.", "stop", ["temperature"], {}, "temperature is not in maintenance"),
        ("The end without a name.", "stop", ["ph"], {"by": ""}, "say who you are"),
        ("Something else.", "pause", ["ph"], {}, "knows start, stop and list"),
        ("A reason of a thousand letters.", "start", ["temperature"], {"reason": "x" * 1000}, "within 500"),
    ],
)
def test_what_is_refused_says_why_and_changes_nothing(
    sentence: str, action: str, channels: list[str], args: dict[str, Any], said: str
) -> None:
    """While pH is in maintenance already."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph")
    before = dict(visit.state)
    answer = visit.do(10, action, *channels, **args)
    assert not answer["ok"], sentence
    assert said in answer["error"], sentence
    assert visit.state == before, sentence
    assert len(visit.notes()) == 1, sentence


def test_a_channel_of_a_station_in_maintenance_is_stopped_with_it() -> None:
    """pH alone was never started: the answer says what to stop."""
    visit = Visit(SITE)
    visit.do(0, "start", station=True)
    assert visit.do(10, "stop", "ph")["error"] == "ph is not in maintenance; the station is: stop that"


def test_a_repeat_of_a_command_is_one_action_also_after_a_restart() -> None:
    """The same id again, by a caller who never heard the answer: the same stay, and one line in the record."""
    visit = Visit(SITE)
    first = visit.do(0, "start", "ph", id="a")
    visit.restart(10)
    assert (
        visit.do(0, "start", "ph", id="a")["maintenance"][0]["until_utc_us"] == first["maintenance"][0]["until_utc_us"]
    )
    visit.do(20, "stop", "ph", id="b")
    visit.restart(30)
    assert visit.do(30, "stop", "ph", id="b")["ok"]
    assert visit.events() == ["started", "stopped"]


@pytest.mark.parametrize(
    ("sentence", "second", "offset_s", "open_", "why"),
    [
        ("within the boot, before the end", 1800, 0, True, None),
        ("within the boot, past the end", HOUR + 60, 0, False, "the gateway was away"),
        ("another boot with trusted clocks, before the end", 100, -1700, True, None),
        ("another boot with trusted clocks, past the end", 100, -HOUR, False, "the gateway was away"),
        ("nobody can tell", 100, None, False, "nobody can tell how long the gateway was away"),
    ],
)
def test_a_restart_never_lets_it_run_on(
    sentence: str, second: int, offset_s: float | None, open_: bool, why: str | None
) -> None:
    """An hour that began at 0 s of the old axis."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph")
    visit.feed(range(15, 60, 15), {"ph": FINE})
    visit.restart(second, offset_s)
    (reading,) = visit.feed(range(second + 5, second + 6), {"ph": FINE})
    assert (reading.mode is Mode.MAINTENANCE) is open_, sentence
    assert visit.events() == ["started"] if open_ else ["started", "expired"], sentence
    assert visit.notes()[-1].get("why") == why, sentence
    assert [edge for edge, _ in visit.edges("maintenance-ph")] == ([] if open_ else ["raised"]), sentence
    if not open_:
        assert reading.tests == ("after_maintenance",), sentence


def test_what_is_unsigned_or_settling_stays_so_over_a_restart() -> None:
    """Expired before the kill: still the same alarm afterwards, and it can be signed off."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph", **{"for": "1 min"})
    visit.feed(range(15, 120, 15), {"ph": FINE})
    visit.restart(130)
    (reading,) = visit.feed(range(135, 136), {"ph": FINE})
    assert reading.tests == ("after_maintenance",)
    assert visit.do(140, "stop", "ph")["ok"]
    assert [edge for edge, _ in visit.edges("maintenance-ph")] == ["raised", "cleared"]
    assert visit.events() == ["started", "expired", "signed off"]


def test_an_alarm_whose_stay_is_lost_is_not_left_standing_for_ever() -> None:
    """Expired, and its state torn on disk: nobody could sign it off any more, so the restart clears it and says why."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph", **{"for": "1 min"})
    visit.feed(range(15, 120, 15), {"ph": FINE})
    visit.state["maintenance:maintenance:ph"] = {}
    outcome = visit.restart(130)
    assert "state_unreadable" in [note.kind for note in outcome.notes]
    assert [edge for edge, _ in visit.edges("maintenance-ph")] == ["raised", "cleared"]


def test_names_stay_at_the_site() -> None:
    """Whoever works, ends, signs off or calibrates is in the journal, and in nothing that goes to a broker."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph", by="Jane Roe", **{"for": "1 min"})
    visit.feed(range(15, 120, 15), {"ph": FINE})
    visit.do(130, "stop", "ph", by="Jane Roe")
    payloads = Payloads(SITE)
    for outcome in visit.said:
        for note in outcome.notes:
            assert "Jane Roe" not in json.dumps(payloads._public("note", {"body": note.body}))
        assert not [event for event in outcome.alarm_events if "Jane" in event.reason]
    assert "Jane Roe" not in json.dumps(payloads.health(moment(130), {"maintenance": visit.do(131, "list")}))


def test_a_stay_that_cannot_be_read_is_written_down_and_the_others_come_back() -> None:
    """One torn value among the durable state costs that one, and is no longer kept."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph", "temperature")
    visit.state["maintenance:maintenance:ph"] = {"scope": "ph"}
    outcome = visit.restart(10)
    assert [note.body["state"] for note in outcome.notes if note.kind == "state_unreadable"] == [
        "maintenance:maintenance:ph"
    ]
    assert [line["scope"] for line in visit.do(10, "list")["maintenance"]] == ["temperature"]
    assert "maintenance:maintenance:ph" not in visit.state


class TestMinutes:
    """How long each channel was worked on today; stays that overlap count once, and the day is the site's own."""

    def today(self, visit: Visit, second: float) -> dict[str, int]:
        """Seconds by channel."""
        return visit.do(second, "list")["today_s"]

    def test_overlapping_stays_count_once(self) -> None:
        """pH 100 to 200 s, the station 150 to 400 s, pH 500 to 600 s and on: 300 + 100 s of pH, 250 s of the rest."""
        visit = Visit(SITE)
        visit.do(100, "start", "ph")
        visit.do(150, "start", station=True)
        visit.do(200, "stop", "ph")
        visit.do(400, "stop", station=True)
        visit.do(500, "start", "ph")
        today = self.today(visit, 600)
        assert (today["ph"], today["temperature"]) == (400, 250)
        visit.restart(650)
        assert self.today(visit, 700)["ph"] == 500

    def test_the_channel_first_and_the_station_around_it(self) -> None:
        """The station 0 to 400 s, pH 100 to 200 s within it: 400 s."""
        visit = Visit(SITE)
        visit.do(0, "start", station=True)
        visit.do(100, "start", "ph")
        visit.do(200, "stop", "ph")
        visit.do(400, "stop", station=True)
        assert self.today(visit, 500)["ph"] == 400

    def test_a_local_day_ends_at_local_midnight_and_is_written_down(self) -> None:
        """17:00 in New York and seven hours: midnight. Five minutes before it, ten after it."""
        visit = Visit(SITE)
        midnight = 7 * HOUR
        visit.do(midnight - 300, "start", "ph")
        visit.feed(range(midnight - 285, midnight + 600, 15), {"ph": FINE})
        visit.do(midnight + 600, "stop", "ph")
        assert visit.notes("maintenance_day") == [{"day": "2026-06-30", "spent_us": {"ph": 300 * S}}]
        assert self.today(visit, midnight + 700) == {"ph": 600}

    def test_a_restart_after_midnight_counts_from_midnight(self) -> None:
        """Ten minutes before it, killed, back ten minutes after it, still at work: ten minutes of the new day."""
        visit = Visit(SITE)
        midnight = 7 * HOUR
        visit.do(midnight - 600, "start", "ph")
        visit.restart(midnight + 590)
        assert self.today(visit, midnight + 600) == {"ph": 600}

    def test_a_day_that_ends_while_the_gateway_is_away_is_written_down_at_the_start(self) -> None:
        """Stopped, then killed before midnight and back after it: yesterday's minutes are not lost."""
        visit = Visit(SITE)
        visit.do(0, "start", "ph")
        visit.do(240, "stop", "ph")
        visit.restart(8 * HOUR)
        assert visit.notes("maintenance_day") == [{"day": "2026-06-30", "spent_us": {"ph": 240 * S}}]
        assert self.today(visit, 8 * HOUR) == {}

    def test_the_seconds_of_a_channel_sum_to_the_period(self) -> None:
        """Polled every 15 s for half an hour, ten minutes of it at work: 600 s of maintenance, and no second lost."""
        visit = Visit(SITE)
        visit.feed(range(0, 300, 15), {"ph": FINE})
        visit.do(300, "start", "ph")
        visit.feed(range(300, 900, 15), {"ph": FINE})
        visit.do(900, "stop", "ph")
        visit.feed(range(900, 1800, 15), {"ph": FINE})
        spent = visit.pipeline.channel_seconds(moment(1800))["ph"]
        assert sum(spent.values()) == 1800 * S
        assert (spent["maintenance"], spent["suspect"]) == (600 * S, 600 * S)
        assert spent["valid"] == 600 * S
        for rule in visit.pipeline.rules:
            if rule.channel == "ph":
                assert sum(rule.seconds.report(1800 * S).values()) == 1800 * S


@pytest.mark.parametrize(
    ("sentence", "channels", "station", "asked", "held"),
    [
        ("the pacing channel is at work", ["flow"], False, "flow", True),
        ("another channel is", ["ph"], False, "flow", False),
        ("the station is", [], True, "flow", True),
        ("the station is, and nothing paces", [], True, None, True),
        ("a channel is, and nothing paces", ["ph"], False, None, False),
    ],
)
def test_what_the_sampler_waits_for(
    sentence: str, channels: list[str], station: bool, asked: str | None, held: bool
) -> None:
    """The row's sentence; and when it is stopped, nothing is held."""
    visit = Visit(SITE)
    visit.do(0, "start", *channels, station=station)
    assert visit.pipeline.maintenance.held(asked) is held, sentence
    visit.do(1, "stop", *channels, station=station)
    assert visit.pipeline.maintenance.held(asked) is False, sentence


def test_every_answer_and_everything_kept_is_json() -> None:
    """What goes over the socket and onto the disk survives the way there and back."""
    visit = Visit(SITE)
    visit.do(0, "start", "ph", id="a")
    visit.do(5, "stop", "ph", id="b")
    kept = {key: value for key, value in visit.state.items() if key.startswith("maintenance:")}
    assert json.loads(json.dumps(kept)) == kept
    answer = visit.do(6, "list")
    assert json.loads(json.dumps(answer)) == answer
