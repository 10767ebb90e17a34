"""Every row of the alarm table as a story, the table as the standard prints it, and that nothing else moves."""

from dataclasses import replace

import pytest

from gateway.alarms import machine
from gateway.alarms.machine import TABLE, step
from gateway.alarms.moves import Event, Row, Stimulus, When
from gateway.alarms.record import AlarmRecord, Cause, Input, Service, Shelf, Shelving, Suppression, display_state
from gateway.model import AlarmEdge, AlarmEvent, AlarmState, Severity
from tests.support.alarm_stories import PLAIN, STORIES, UTC_US, Story, instant, stimulus, told


def run(story: Story) -> None:
    """Play a story and hold every step to it."""
    record = AlarmRecord(story.policy.severity)
    for at, words, expected in story.lines:
        record, edges = step(record, stimulus(words, story.policy), instant(at), story.policy)
        assert told(edges) == expected, f"at {at}, {words}"
        assert all(e.at.utc_us == e.at.mono_us + UTC_US for e in edges)


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.says)
def test_story(story: Story) -> None:
    """Each step of a story gives exactly the outputs written beside it."""
    run(story)


def test_the_stories_use_every_row_of_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    """No row of the table is without a story: what is permitted is shown."""
    used: set[int] = set()
    edges = machine._edges

    def watched(row: Row, *args: object) -> tuple[AlarmEvent, ...]:
        used.add(id(row))
        return edges(row, *args)  # type: ignore[arg-type]  # passed through as it came

    monkeypatch.setattr(machine, "_edges", watched)
    for story in STORIES:
        run(story)
    unused = [(state, event, row.to) for (state, event), rows in TABLE.items() for row in rows if id(row) not in used]
    assert unused == []


A, B, C, D, E, F = (AlarmState(letter) for letter in "ABCDEF")
# Alarms-and-texts 1.1, as printed there: from, event, where to. What is not here must change nothing.
PRINTED = {
    (A, Event.RAISE): {B},
    (B, Event.ACKNOWLEDGE): {C},
    (B, Event.CLEAR): {A, D, E, F},  # F: latching and no acknowledgement required
    (B, Event.SEVERITY_UP): {B},
    (C, Event.CLEAR): {A, F},
    (C, Event.REALARM_DUE): {B},
    (C, Event.SEVERITY_UP): {B},
    (D, Event.ACKNOWLEDGE): {A},
    (D, Event.RAISE): {B},
    (E, Event.ACKNOWLEDGE): {F},
    (E, Event.RAISE): {B},
    (F, Event.RESET): {A},
    (F, Event.RAISE): {B},
}


def test_the_letters_move_as_the_standard_prints_them() -> None:
    """The rows of the letters A to F are those of ISA-18.2, and no others."""
    found = {pair: {row.to for row in rows} for pair, rows in TABLE.items() if isinstance(pair[0], AlarmState)}
    assert found == PRINTED


def test_the_last_row_of_a_pair_is_unguarded_or_the_pair_is_optional() -> None:
    """A guarded row never hides behind an unguarded one."""
    for pair, rows in TABLE.items():
        assert all(row.when is not When.ALWAYS for row in rows[:-1]), pair


RECORDS = {
    "A": AlarmRecord(Severity.HIGH, input=Input.GOOD),
    "A pending": AlarmRecord(Severity.HIGH, Cause.PENDING_ON, Input.GOOD, delay_due_us=1000),
    "B": AlarmRecord(Severity.HIGH, Cause.ACTIVE, Input.GOOD, acked=False, owed=True, occurrence=1),
    "B pending": AlarmRecord(
        Severity.HIGH, Cause.PENDING_OFF, Input.GOOD, acked=False, owed=True, occurrence=1, delay_due_us=1000
    ),
    "C": AlarmRecord(Severity.HIGH, Cause.ACTIVE, Input.GOOD, occurrence=1, acked_by="Ann", acked_at=instant(0)),
    "D": AlarmRecord(Severity.HIGH, Cause.NORMAL, Input.GOOD, acked=False, occurrence=1),
    "E": AlarmRecord(Severity.HIGH, Cause.NORMAL, Input.GOOD, acked=False, latched=True, occurrence=1),
    "F": AlarmRecord(Severity.HIGH, Cause.NORMAL, Input.GOOD, latched=True, occurrence=1),
    "bad": AlarmRecord(Severity.HIGH, input=Input.BAD),
    "unseen": AlarmRecord(Severity.HIGH),
    "G": AlarmRecord(Severity.HIGH, input=Input.GOOD, shelf=Shelf(instant(1000), False, "Ann", "x")),
    "H": AlarmRecord(Severity.HIGH, input=Input.GOOD, suppressed_by="x"),
    "I": AlarmRecord(Severity.HIGH, input=Input.GOOD, out_of_service_by="Ann", out_of_service_reason="x"),
}


@pytest.mark.parametrize("name", RECORDS)
@pytest.mark.parametrize("event", Event)
def test_a_pair_not_in_the_table_changes_nothing(name: str, event: Event) -> None:
    """What no region knows leaves the record as it was and journals nothing but a refusal to a person."""
    record = RECORDS[name]
    states = (
        record.input,
        record.cause,
        AlarmState(name[0]) if name[0] in "ABCDEF" else AlarmState.NORMAL,
        Shelving.SHELVED if record.shelf else Shelving.UNSHELVED,
        Suppression.SUPPRESSED if record.suppressed_by else Suppression.UNSUPPRESSED,
        Service.OUT_OF_SERVICE if record.out_of_service_by else Service.IN_SERVICE,
    )
    known = any((state, event) in TABLE for state in states)
    after, edges = step(
        record, Stimulus(event, Severity.HIGH, "Ann", "why", until_us=50), instant(10), replace(PLAIN, on_delay_us=1)
    )
    if not known:
        assert after == record
        assert {e.edge for e in edges} <= {AlarmEdge.REFUSED}
    assert display_state(record).value == name[0] or name in ("bad", "unseen")


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (Stimulus(Event.ACKNOWLEDGE), "who? acknowledge needs a name"),
        (Stimulus(Event.RESET, actor=" "), "who? reset needs a name"),
        (Stimulus(Event.SHELVE, actor="Ann", until_us=20), "why? shelve needs a reason"),
        (Stimulus(Event.OUT_OF_SERVICE, actor="Ann"), "why? out of service needs a reason"),
        (Stimulus(Event.OUT_OF_SERVICE, reason="x"), "who? out of service needs a name"),
    ],
)
def test_a_person_says_who_and_why(asked: Stimulus, why: str) -> None:
    """An action without a name, or a cover without a reason, is refused and journaled as such."""
    after, edges = step(RECORDS["B"], asked, instant(10), PLAIN)
    assert after == RECORDS["B"]
    assert [(e.edge, e.reason) for e in edges] == [(AlarmEdge.REFUSED, why)]
