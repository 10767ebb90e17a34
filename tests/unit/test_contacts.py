"""Contacts through the pipeline: what is recorded, what is told, and what nobody can tell."""

import pytest

from gateway.maintenance import STATION
from gateway.model import AlarmEdge, Mode, Outcome, Resume, Sample, Severity
from gateway.outputs.contacts import ContactWatch
from gateway.outputs.wired import ContactInput, ContactRole
from gateway.pipeline import Pipeline
from gateway.signals.qc import Evidence
from gateway.step import Step
from tests.support.wired_site import S, at, reading, wired_site


def sample(name: str, second: float, value: float, mode: Mode = Mode.RUN) -> Sample:
    """A contact as its device shows it."""
    return Sample(name, at(second), (round(value),), value, mode=mode)


def notes(outcome: Outcome) -> list[tuple[str, str, str]]:
    """The contact notes of an outcome: channel, was, state."""
    return [(n.body["channel"], n.body["was"], n.body["state"]) for n in outcome.notes if n.kind == "contact"]


def raised(outcome: Outcome) -> list[tuple[str, AlarmEdge, Severity]]:
    """The alarm events of an outcome."""
    return [(e.alarm, e.edge, e.severity) for e in outcome.alarm_events]


@pytest.mark.parametrize(
    ("role", "off_normal", "alarm", "severity", "what"),
    [
        (ContactRole.DOOR, 0, "intrusion-x", Severity.HIGH, "a door that opens with nobody signed in"),
        (ContactRole.LID, 0, "intrusion-x", Severity.HIGH, "a lid likewise"),
        (ContactRole.FLOAT, 1, "high-level-x", Severity.CRITICAL, "a float that rises: the manhole fills"),
        (ContactRole.BOTTLE_FULL, 1, "bottle-full-x", Severity.NOTICE, "a full bottle is for the technician"),
        (ContactRole.SAMPLER_FAULT, 1, "sampler-fault-x", Severity.WARNING, "a sampler in fault"),
    ],
)
def test_each_contact_has_its_alarm(
    role: ContactRole, off_normal: int, alarm: str, severity: Severity, what: str
) -> None:
    """A contact off normal is on record, raises the alarm of its role, and clears it when it is back."""
    pipeline = Pipeline(wired_site({"x": role}), at(0))
    pipeline.restore({}, Resume(at(0), 0))
    pipeline.process([sample("x", 1, 1 - off_normal)], at(1))
    off = pipeline.process([sample("x", 2, off_normal)], at(2))
    assert notes(off) == [("x", *(("closed", "open") if off_normal == 0 else ("open", "closed")))], what
    assert (alarm, AlarmEdge.RAISED, severity) in raised(off), what
    back = pipeline.process([sample("x", 3, 1 - off_normal)], at(3))
    assert (alarm, AlarmEdge.CLEARED, severity) in raised(back), what


def test_a_door_in_maintenance_is_no_intrusion_until_it_ends() -> None:
    """The technician opens the door: recorded, not told. A door still open when maintenance is over is told."""
    pipeline = Pipeline(wired_site({"door": ContactRole.DOOR}), at(0))
    pipeline.process([sample("door", 1, 1)], at(1))
    opened = pipeline.process([sample("door", 2, 0, Mode.MAINTENANCE)], at(2))
    assert notes(opened) == [("door", "closed", "open")]
    assert raised(opened) == []
    over = pipeline.process([sample("door", 3, 0)], at(3))
    assert raised(over) == [("intrusion-door", AlarmEdge.RAISED, Severity.HIGH)]


def test_a_silent_contact_is_not_closed() -> None:
    """An open door whose input falls silent clears nothing, and the silence is on record."""
    pipeline = Pipeline(wired_site({"door": ContactRole.DOOR}), at(0))
    pipeline.process([sample("door", 1, 1)], at(1))
    pipeline.process([sample("door", 2, 0)], at(2))
    silent = pipeline.tick(at(30))
    assert notes(silent) == [("door", "open", "unknown")]
    assert ("intrusion-door", AlarmEdge.CLEARED, Severity.HIGH) not in raised(silent)
    assert pipeline.watches.contacts["door"].closed is None


def test_a_contact_bounces() -> None:
    """A change counts once it has lasted the debounce from one sample to another; a bounce starts it anew."""
    watch = ContactWatch(ContactInput("f", ContactRole.FLOAT, False, 5 * S), 60 * S, Severity.CRITICAL, at(0))
    seen = []
    for second, value in [(0, 0), (1, 1), (4, 1), (5, 0), (6, 1), (10, 1), (11, 1)]:
        said = Step()
        watch.hear(reading("f", second, value), Evidence.VALID, said)
        seen.append((second, watch.closed, [c.active for c in said.conditions]))
    assert [(s, a) for s, _, a in seen if a] == [(0, [False]), (11, [True])]


def test_what_changed_while_the_gateway_was_away() -> None:
    """A door closed before the restart and open after it is a change that nobody saw, and is told."""
    pipeline = Pipeline(wired_site({"door": ContactRole.DOOR}), at(100))
    pipeline.restore({"contact:door": True}, Resume(at(100), 0))
    first = pipeline.process([sample("door", 101, 0)], at(101))
    assert [(n.body["was"], n.body["state"], n.body["seen"]) for n in first.notes if n.kind == "contact"] == [
        ("closed", "open", False)
    ]
    assert raised(first) == [("intrusion-door", AlarmEdge.RAISED, Severity.HIGH)]


def test_an_unreadable_contact_is_written_down() -> None:
    """A stored state that is no contact's is no reason not to start."""
    pipeline = Pipeline(wired_site({"door": ContactRole.DOOR}), at(0))
    outcome = pipeline.restore({"contact:door": "ajar"}, Resume(at(0), 0))
    assert [n.body["state"] for n in outcome.notes if n.kind == "state_unreadable"] == ["contact:door"]


def test_readings_heard_again_do_not_silence_the_first_word() -> None:
    """The journal's readings that are heard again after a restart are no word of now: the first new one is told."""
    pipeline = Pipeline(wired_site({"door": ContactRole.DOOR}), at(100))
    pipeline.restore({"contact:door": False}, Resume(at(100), 0))
    pipeline.refeed(reading("door", 99, 0.0))
    first = pipeline.process([sample("door", 101, 0)], at(101))
    assert raised(first) == [("intrusion-door", AlarmEdge.RAISED, Severity.HIGH)]


def test_a_door_left_open_when_the_technician_signs_off() -> None:
    """In maintenance mode it is silent; the first reading after it is told, not the first that has settled."""
    pipeline = Pipeline(wired_site({"door": ContactRole.DOOR}), at(0))
    pipeline.process([sample("door", 1, 1)], at(1))
    said = Step()
    signed = ("J. Tech", "cleaning", "test", "1")
    pipeline.maintenance.start([STATION], Mode.MAINTENANCE, signed, 60 * S, at(2), said)
    pipeline.said(said, at(2))
    assert raised(pipeline.process([sample("door", 3, 0)], at(3))) == []
    over = [
        event for second in (70, 71, 72) for event in raised(pipeline.process([sample("door", second, 0)], at(second)))
    ]
    assert ("intrusion-door", AlarmEdge.RAISED, Severity.HIGH) in over
