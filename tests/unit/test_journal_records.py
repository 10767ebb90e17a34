"""How records are written down: what is kept exactly, what NaN becomes, same event same bytes."""

import json
import math
from dataclasses import replace

import pytest

from gateway.model import Fault, Instant, Mode, Note, Outcome, Quality, Reading
from gateway.store.records import body_instant, encode_readings, event_drafts, message_of, reading_of, readings_of
from tests.support.journal_records import full_outcome, instant, message, readings


def decoded(text: str) -> list[Reading]:
    """The readings of an encoded run."""
    return [reading_of(at, row) for at, row in readings_of(json.loads(f"[{text}]"))]


def test_readings_of_one_instant_are_a_group_of_rows() -> None:
    """The instant stands once, in front; the rows follow without spaces, numbers and words as the field writes them."""
    at = Instant(7, 5, False)
    run = [
        Reading("ph", at, (16702, 30147), 7.25, Quality.SUSPECT, ("spike",), Mode.MAINTENANCE, dry=True),
        Reading("flow", Instant(7, 5, False), (), None, Quality.MISSING),
        Reading("flow", Instant(8, 6, True), (3,), 10.0, Quality.GOOD),
        Reading("ph", at, (1,), 7.0, Quality.GOOD),
    ]
    text = encode_readings(run)
    assert text == (
        '[7,5,false,["ph",[16702,30147],7.25,3,["spike"],"maintenance",true],["flow",[],null,9]],'
        '[8,6,true,["flow",[3],10.0,1]],'
        '[7,5,false,["ph",[1],7.0,1]]'
    )
    assert decoded(text) == run


def test_a_plain_reading_leaves_its_defaults_out() -> None:
    """In run, no test to its name, not dry: a row ends with the quality; any one of the three brings all back."""
    plain = Reading("ph", Instant(7, 5), (1,), 7.25, Quality.GOOD)
    assert encode_readings([plain]) == '[7,5,true,["ph",[1],7.25,1]]'
    others = [replace(plain, tests=("gap",)), replace(plain, mode=Mode.CALIBRATION), replace(plain, dry=True)]
    ends = ('["gap"],"run",false]]', '[],"calibration",false]]', '[],"run",true]]')
    for reading, end in zip(others, ends, strict=True):
        assert encode_readings([reading]) == f'[7,5,true,["ph",[1],7.25,1,{end}'
        assert decoded(encode_readings([reading])) == [reading]


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_no_number_becomes_null_with_a_flag(value: float) -> None:
    """Raw registers and quality stay, the value is null, and `not_a_number` stands among the tests, once."""
    reading = Reading("ph", instant(1), (0x7FC0, 0), value, Quality.FAIL, ("fail_span",))
    text = encode_readings([reading, *readings(1, 1)])
    assert "NaN" not in text
    assert "Infinity" not in text
    assert decoded(text) == [
        Reading("ph", instant(1), (0x7FC0, 0), None, Quality.FAIL, ("fail_span", "not_a_number")),
        *readings(1, 1),
    ]
    flagged = Reading("ph", instant(1), (0x7FC0, 0), value, Quality.FAIL, ("not_a_number",))
    assert decoded(encode_readings([flagged])) == [replace(flagged, value=None)]


def test_a_number_that_is_none_in_an_event_is_named_there() -> None:
    """An event with NaN or an infinity keeps its other fields; null and a path for each say what was there."""
    note = Note("command", instant(1), {"values": [1.5, math.nan], "extreme": -math.inf})
    [draft] = event_drafts(Outcome(notes=(note,)))
    assert json.loads(draft.body) == {
        "kind": "command",
        "at": {"utc_us": instant(1).utc_us, "mono_us": instant(1).mono_us, "synced": True},
        "body": {"values": [1.5, None], "extreme": None},
        "non_finite": {"body.values.1": "nan", "body.extreme": "-inf"},
    }


def test_the_same_event_gives_the_same_bytes() -> None:
    """The order in which a note's keys were given does not show; the text is ASCII whatever the note says."""
    bodies = [{"who": "J. Nuñez", "a": Fault.SILENT}, {"a": "silent", "who": "J. Nuñez"}]
    drafts = [next(event_drafts(Outcome(notes=(Note("command", instant(1), body),)))) for body in bodies]
    assert drafts[0] == drafts[1]
    assert drafts[0].body.isascii()
    assert ' "' not in drafts[0].body


def test_a_message_reads_back_whole() -> None:
    """The body of a message event holds every field of the message, which can be made again from it."""
    drafts = list(event_drafts(Outcome(messages=(message("k"),))))
    body = json.loads(drafts[0].body)
    assert message_of(body) == message("k")
    assert body_instant(body) == instant(0)


def test_events_come_in_the_order_of_cause() -> None:
    """Finding, alarm event, message, note, whatever the fields' order of filling."""
    assert [draft.kind for draft in event_drafts(full_outcome(1))] == ["finding", "alarm", "message", "note"]
