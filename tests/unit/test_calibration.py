"""What a calibration comes to: fouling and drift kept apart, slope and offset, and what cannot be called fit."""

import json
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from gateway.calibration import evaluate
from gateway.calibration_form import calibration_body, calibration_from
from tests.support.calibration_visit import visit_record


def found(**changes: Any) -> Any:
    """What the visit comes to, with these changes."""
    return evaluate(calibration_from(visit_record(**changes)), "pH")


def readings(*rows: tuple[str, str, float, dict[str, float]]) -> list[dict[str, Any]]:
    """Readings as phase, place, value and more."""
    return [{"phase": phase, "place": place, "value": value, **more} for phase, place, value, more in rows]


def test_fouling_and_drift_are_two_things() -> None:
    """7.40 to 7.25 by cleaning while the process went from 7.10 to 7.15: 0.15 - (-0.05) = 0.20 of fouling.

    Clean, it shows 4.10 and 7.10 in 4.00 and 7.00: 0.10 of drift. Left at 4.01, 7.00, and 0.01 beside the reference.
    """
    one = found()
    assert one.fouling_error == pytest.approx(0.20)
    assert one.errors_found == pytest.approx({"4": 0.10, "7": 0.10})
    assert one.errors_left == pytest.approx({"4": 0.01, "7": 0.0, "process": 0.01})
    assert one.refused == ()
    assert one.warnings == ()


def test_fouling_without_a_reference_says_so() -> None:
    """What the process changed meanwhile is then in it: 7.40 - 7.25 = 0.15, and a warning."""
    bare = [{key: value for key, value in row.items() if key != "reference"} for row in visit_record()["readings"]]
    one = found(readings=bare)
    assert one.fouling_error == pytest.approx(0.15)
    assert any("without a reference" in words for words in one.warnings)


def test_slope_from_mv_goes_before_the_values_shown() -> None:
    """0.92 x 3 x 59.16 = 163.28 mV between 4 and 7 at 25 degC, from 3 mV: 92 %, to be maintained."""
    one = found(
        readings=readings(
            ("check", "4", 4.0, {"mv": 166.2816}), ("check", "7", 7.0, {"mv": 3.0}), ("final", "4", 4.0, {}),
            ("final", "7", 7.0, {}),
        )
    )  # fmt: skip
    assert (one.slope_percent, one.offset_mv) == pytest.approx((92.0, 3.0), abs=1e-6)
    assert (one.band, one.slope_from) == ("maintain", "mV, check")
    assert any("clean and regenerate" in words for words in one.warnings)


def test_slope_from_the_values_shown_as_found() -> None:
    """4.30 and 7.00 shown in 4.00 and 7.00: 2.70 of 3.00 is 90 % of the calibration before, and no offset."""
    one = found(
        readings=readings(
            ("check", "4", 4.3, {}), ("check", "7", 7.0, {}), ("final", "4", 4.0, {}), ("final", "7", 7.0, {})
        )
    )
    assert (one.slope_percent, one.offset_mv) == pytest.approx((90.0, 0.0), abs=1e-9)
    assert "as found" in one.slope_from


def test_both_buffers_shown_too_high_are_an_offset() -> None:
    """0.10 high in both: 100 %, and at pH 7 the transmitter saw what an ideal electrode gives at 7.10: -5.916 mV."""
    one = found()
    assert (one.slope_percent, one.offset_mv) == pytest.approx((100.0, -5.916), abs=1e-9)


def test_what_the_instrument_shows_goes_before_all() -> None:
    """Its own slope and offset are the ones on record."""
    one = found(slope_percent=97.0, offset_mv=-31.0)
    assert (one.slope_percent, one.offset_mv, one.slope_from) == (97.0, -31.0, "the instrument")
    assert any("beyond 30 mV" in words for words in one.warnings)


def test_drift_is_counted_from_how_it_was_left() -> None:
    """Left 0.01 high in pH 4 and right in 7; found 0.10 high in both four weeks later: the larger change is 0.10."""
    before = calibration_from(visit_record())
    last = (before, evaluate(before, "pH"))
    later = calibration_from(visit_record(slope_percent=96.0))
    one = evaluate(later, "pH", last)
    assert one.drift_since_last == pytest.approx(0.10)
    assert one.slope_since_last == pytest.approx(-4.0)


FINAL = [("final", "4", 4.0, {}), ("final", "7", 7.0, {})]


@pytest.mark.parametrize(
    ("sentence", "changes", "said"),
    [
        ("84.9 %: the glass is worn out", {"slope_percent": 84.9}, "outside 85 to 105"),
        ("105.1 %: something is wrong with the buffers", {"slope_percent": 105.1}, "outside 85 to 105"),
        ("85 % is the least that may be called fit", {"slope_percent": 85.0}, None),
        ("105 % is the most", {"slope_percent": 105.0}, None),
        ("a buffer that expired the day before", {"standards": [
            {"name": "4", "temperature_c": 25.0, "expires": "2026-06-29"}, {"name": "7", "temperature_c": 25.0}]},
         "standard 4 expired on 2026-06-29"),
        ("a buffer that expires today", {"standards": [
            {"name": "4", "temperature_c": 25.0, "expires": "2026-06-30"}, {"name": "7", "temperature_c": 25.0}]},
         None),
        ("one buffer", {"readings": readings(FINAL[0]), "slope_percent": 99.0}, "two buffers at least 2 pH apart"),
        ("two buffers 1.99 apart", {"standards": [{"name": "a", "nominal": 5.01}, {"name": "b", "nominal": 7.0}],
          "readings": readings(("final", "a", 5.0, {}), ("final", "b", 7.0, {})), "slope_percent": 99.0},
         "two buffers at least 2 pH apart"),
        ("two buffers 2 apart", {"standards": [{"name": "a", "nominal": 5.0}, {"name": "b", "nominal": 7.0}],
          "readings": readings(("final", "a", 5.0, {}), ("final", "b", 7.0, {})), "slope_percent": 99.0}, None),
        ("no slope from anywhere", {"readings": readings(*FINAL)}, "no slope"),
        ("nobody looked afterwards", {"readings": readings(("check", "4", 4.0, {}), ("check", "7", 7.0, {}))},
         "nobody saw how it was left"),
    ],
)  # fmt: skip
def test_what_cannot_be_accepted(sentence: str, changes: dict[str, Any], said: str | None) -> None:
    """The row's sentence."""
    refused = found(**changes).refused
    assert bool(refused) is (said is not None), (sentence, refused)
    assert said is None or said in "; ".join(refused), sentence


IN_USE = [("check", "4", 4.0, {}), ("check", "7", 7.0, {}), ("final", "4", 4.0, {}), ("final", "7", 7.0, {})]
ALKALINE = {
    "standards": [{"name": "7", "temperature_c": 25.0}, {"name": "10", "temperature_c": 25.0}],
    "readings": readings(("check", "7", 7.0, {}), ("check", "10", 10.0, {}), ("final", "10", 10.01, {})),
}


def cleaned(by: float) -> dict[str, Any]:
    """A visit in which cleaning brought the reading down by so much, nothing else being wrong."""
    rows = readings(("before cleaning", "process", 7.0 + by, {}), ("after cleaning", "process", 7.0, {}), *IN_USE)
    return {"readings": rows}


def in_the_water(off: float, in_buffer: float = 0.0) -> dict[str, Any]:
    """A visit that left the sensor off by so much beside the reference, and so much in pH 7."""
    final = [("final", "4", 4.0, {}), ("final", "7", 7.0 + in_buffer, {})]
    return {"readings": readings(*IN_USE[:2], *final, ("final", "process", 7.1 + off, {"reference": 7.1}))}


@pytest.mark.parametrize(
    ("sentence", "changes", "said"),
    [
        ("20 s from pH 7 into 4 is good", {"response_s": 20.0}, None),
        ("more is slow", {"response_s": 20.5}, "took 20.5 s, more than 20"),
        ("30 s from pH 7 into 10 is good", {**ALKALINE, "response_s": 30.0}, None),
        ("more is slow there too", {**ALKALINE, "response_s": 31.0}, "took 31 s, more than 30"),
        ("60 mV may be cleaned yet", {"offset_mv": 60.0}, "clean the reference"),
        ("beyond it the maker says replace", {"offset_mv": -60.5}, "replace the reference"),
        ("a step of 0.3 by cleaning is usual", cleaned(0.29), None),
        ("a larger one is a coat", cleaned(-0.35), "it was coated"),
        ("0.29 off in the discharge is a reference's own error", in_the_water(0.29), None),
        ("more in the discharge and not in buffer is a current", in_the_water(-0.4), "-0.40 pH off in the discharge"),
        ("off in both is the sensor", in_the_water(0.4, 0.4), None),
    ],
)  # fmt: skip
def test_what_the_readings_show_of_sensor_and_wiring(sentence: str, changes: dict[str, Any], said: str | None) -> None:
    """The row's sentence."""
    told = [
        word for word in found(**changes).warnings if not word.startswith(("no reading", "fouling is taken", "left "))
    ]
    assert bool(told) is (said is not None), (sentence, told)
    assert said is None or said in told[0], sentence


def test_an_offset_that_no_electrode_has() -> None:
    """120 mV at pH 7 is two pH: the most a maker allows; more cannot be accepted."""
    assert found(offset_mv=-120.0).refused == ()
    assert "beyond 120 mV" in found(offset_mv=-120.5).refused[0]


@pytest.mark.parametrize(
    ("quantity", "unit", "rows", "said"),
    [
        ("level", "ft", [("check", "process", 1.0098, {"reference": 1.0})], None),  # 2.99 mm
        ("level", "ft", [("check", "process", 0.99, {"reference": 1.0})], "-3 mm off the reference"),  # 3.05 mm
        ("level", "mm", [("check", "process", 104.0, {"reference": 100.0})], "+4 mm off the reference"),
        (
            "turbidity", "FNU", [("before cleaning", "process", 114.0, {}), ("after cleaning", "process", 100.0, {})],
            None,
        ),
        (
            "tss", "mg/L", [("before cleaning", "process", 116.0, {}), ("after cleaning", "process", 100.0, {})],
            "cleaning changed it by 16 of 100",
        ),
    ],
)  # fmt: skip
def test_a_zero_that_drifted_and_a_window_that_fouled(
    quantity: str, unit: str, rows: list[tuple[str, str, float, dict[str, float]]], said: str | None
) -> None:
    """3 mm beside the tape, whatever the channel's unit, and 15 % of what the clean sensor shows."""
    record = calibration_from(visit_record(standards=[], response_s=None, readings=readings(*rows)))
    told = [
        word for word in evaluate(record, quantity, unit=unit).warnings if "off the" in word or "changed it" in word
    ]
    assert bool(told) is (said is not None)
    assert said is None or said in told[0]


def test_another_quantity_needs_no_buffers() -> None:
    """A level beside a tape: one reading with its reference, one afterwards."""
    record = visit_record(
        channel="level", standards=[],
        readings=readings(("check", "process", 1.25, {"reference": 1.2}), ("final", "process", 1.2, {"reference": 1.2}))
    )  # fmt: skip
    one = evaluate(calibration_from(record), "level")
    assert (one.refused, one.slope_percent) == ((), None)
    assert one.errors_found == pytest.approx({"process": 0.05})
    bare = calibration_from({**record, "standards": [{"name": "0.5 ft"}]})
    with pytest.raises(ValueError, match="needs its nominal value"):
        evaluate(bare, "level")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"technician": " "}, "technician is required"),
        ({"sensor_serial": ""}, "sensor_serial is required"),
        ({"cleaning": ""}, "cleaning is required"),
        ({"reason": "because"}, "reason is one of routine, failed check, replacement"),
        ({"accepted": None}, "accepted is required: true or false"),
        ({"accepted": "yes"}, "accepted is required: true or false"),
        ({"readings": []}, "readings is required"),
        ({"readings": [{"phase": "later", "value": 1.0}]}, "readings.1.phase is one of before cleaning"),
        ({"readings": [{"phase": "check"}]}, "readings.1.value is required"),
        ({"readings": [{"phase": "check", "value": float("nan")}]}, "readings.1.value is a finite number"),
        ({"readings": [{"phase": "check", "value": True}]}, "readings.1.value is a finite number"),
        ({"readings": "7.0"}, "readings is a list"),
        ({"standards": [{"name": "process"}]}, "standards.1.name is required, and cannot be 'process'"),
        ({"standards": [{"name": "4"}, {"name": "4"}]}, "standards name one twice"),
        ({"standards": [{"name": "4", "lott": "x"}]}, "standards.1.lott is no field of it; did you mean 'lot'?"),
        ({"next_due": "soon"}, "next_due is a date"),
        ({"next_due": "9999-12-31"}, "next_due lies before 1990 or after 2099"),
        ({"next_due": "0001-01-01"}, "next_due lies before 1990 or after 2099"),
        ({"next_due": "2031-07-06"}, "next_due is more than five years away"),
        ({"next_due": "2026-06-28"}, "next_due is before it stopped"),
        ({"offset_mv": 1e10}, "offset_mv is a finite number, no greater than 1e+09"),
        ({"readings": [{"phase": "check", "value": 10**400}]}, "readings.1.value is a finite number"),
        ({"started_utc_us": None}, "started is required"),
        ({"started_utc_us": 5}, "started lies before 1990"),
        ({"stopped_utc_us": 1_782_835_199_000_000}, "stopped is before it started"),
        ({"response_s": "fast"}, "response_s is a finite number"),
        ({"remark": "a\nb"}, "remark holds a character that cannot be printed"),
        ({"remark": 7}, "remark is text"),
        ({"attachment": "/a.jpg"}, "attachment_sha256 is required"),
        ({"reference_instrument": ""}, "reference_instrument is required: a reading stands beside it"),
        ({"colour": "blue"}, "colour is no field of it"),
    ],
)
def test_every_mistake_is_named(changes: dict[str, Any], said: str) -> None:
    """The field and what is wrong with it."""
    with pytest.raises(ValueError) as refused:
        calibration_from(visit_record(**changes))
    assert said in str(refused.value)


def test_all_mistakes_are_told_at_once() -> None:
    """Three of them in one refusal."""
    with pytest.raises(ValueError) as refused:
        calibration_from(visit_record(technician="", reason="", accepted=None))
    assert str(refused.value).count(";") == 2


def test_a_reading_in_no_standard_of_the_record_is_refused() -> None:
    """A buffer that nobody wrote down."""
    with pytest.raises(LookupError, match="'10', which is no standard"):
        found(readings=readings(("check", "10", 10.0, {})))


def test_a_record_survives_json() -> None:
    """There and back, every field the same."""
    one = calibration_from(visit_record(attachment="/a.jpg", attachment_sha256="0" * 64, corrects="ph-1"))
    assert calibration_from(json.loads(json.dumps(calibration_body(one)))) == one
    body = evaluate(one, "pH").body()
    assert json.loads(json.dumps(body)) == body


def left_at(four: float, seven: float) -> list[dict[str, Any]]:
    """The usual readings as found, and these as left."""
    return readings(
        ("check", "4", 4.10, {}), ("check", "7", 7.10, {}), ("final", "4", four, {}), ("final", "7", seven, {})
    )


@pytest.mark.parametrize(
    ("four", "seven", "refused"),
    [
        (4.2, 6.8, ()),
        (4.21, 7.0, ("left +0.21 pH off in standard 4: more than 0.2",)),
        (
            7.0,
            4.0,
            ("left +3.00 pH off in standard 4: more than 0.2", "left -3.00 pH off in standard 7: more than 0.2"),
        ),
    ],
    ids=["just within", "just beyond", "buffers swapped"],
)
def test_a_probe_that_was_left_wrong_is_not_accepted(four: float, seven: float, refused: tuple[str, ...]) -> None:
    """The slope as found may be perfect: what counts afterwards is how the probe was left, within 0.2 pH."""
    assert found(readings=left_at(four, seven)).refused == refused


def test_a_slope_that_its_own_mv_contradict_is_a_warning() -> None:
    """98 % typed; 100 mV between pH 4 and 7 at 25 degC are 100 / (3 x 59.16) = 56.3 %."""
    rows = readings(("final", "4", 4.0, {"mv": 100.0}), ("final", "7", 7.0, {"mv": 0.0}))
    assert (
        "the instrument shows a slope of 98.0 %, its mV come to 56.3 %"
        in found(readings=rows, slope_percent=98.0).warnings
    )
    rows[0]["mv"] = 175.0  # 98.6 %
    assert not [w for w in found(readings=rows, slope_percent=98.0).warnings if "mV come to" in w]


def test_a_discharge_left_apart_from_the_reference_is_a_warning() -> None:
    """7.16 beside a reference of 6.90: which of the two is wrong nobody knows."""
    row = {"phase": "final", "place": "process", "value": 7.16, "reference": 6.90}
    one = found(readings=[*left_at(4.0, 7.0), row])
    assert "left +0.26 pH off the reference instrument in the discharge" in one.warnings
    assert one.refused == ()


def test_a_buffer_is_good_until_its_day_ends_where_the_station_is() -> None:
    """20:30 in New York on the last day is past midnight in UTC, and not past the date on the bottle."""
    start_us = 1_782_779_400 * 10**6  # 2026-06-30T00:30:00Z, 20:30 EDT the day before
    standards = [
        {"name": "4", "temperature_c": 25.0, "expires": "2026-06-29"}, {"name": "7", "temperature_c": 25.0}
    ]  # fmt: skip
    one = calibration_from(visit_record(started_utc_us=start_us, standards=standards))
    assert evaluate(one, "pH", zone=ZoneInfo("America/New_York")).refused == ()
    assert evaluate(one, "pH").refused == ("standard 4 expired on 2026-06-29",)
