"""What the rows of the alarm table do, when their guards hold, and why a person's action is refused."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from gateway.alarms.moves import Do, Event, Stimulus, When
from gateway.alarms.record import AlarmRecord, Cause, Input, Service, Shelf, Shelving, State, moment
from gateway.model import AlarmState, Instant, Severity
from gateway.site import AlarmPolicy

__all__ = ["REFUSALS", "BY_A_PERSON", "DOES", "HOLDS", "refusal"]

# What a person is told who asks for a move the table does not have.
REFUSALS: Mapping[tuple[State, Event], str] = {
    (AlarmState.NORMAL, Event.RESET): "nothing is latched",
    (AlarmState.UNACKNOWLEDGED, Event.RESET): "the cause is still there",
    (AlarmState.ACKNOWLEDGED, Event.RESET): "the cause is still there",
    (AlarmState.RETURNED_UNACKNOWLEDGED, Event.RESET): "nothing is latched; acknowledge it instead",
    (AlarmState.LATCHED_UNACKNOWLEDGED, Event.RESET): "acknowledge it first",
    (Shelving.SHELVED, Event.SHELVE): "already shelved; unshelve it first",
    (Shelving.UNSHELVED, Event.UNSHELVE): "not shelved",
    (Service.OUT_OF_SERVICE, Event.OUT_OF_SERVICE): "already out of service",
    (Service.IN_SERVICE, Event.RETURN_TO_SERVICE): "not out of service",
}


BY_A_PERSON = frozenset({
    Event.ACKNOWLEDGE, Event.RESET, Event.SHELVE, Event.UNSHELVE, Event.OUT_OF_SERVICE, Event.RETURN_TO_SERVICE,
})  # fmt: skip


def refusal(
    record: AlarmRecord, states: tuple[State, ...], stimulus: Stimulus, now: Instant, policy: AlarmPolicy
) -> str:
    """Why a person may not do this now, or an empty string. `states` is the state of every region."""
    event = stimulus.event
    if not stimulus.actor.strip():
        return f"who? {event} needs a name"
    if event in (Event.SHELVE, Event.OUT_OF_SERVICE) and not stimulus.reason.strip():
        return f"why? {event} needs a reason"
    if event is Event.ACKNOWLEDGE:
        return _refused_occurrence(record, stimulus.occurrence)
    if refused := next((REFUSALS[s, event] for s in states if (s, event) in REFUSALS), ""):
        return refused
    if event is Event.SHELVE:
        return _refused_shelf(stimulus, now, policy)
    if event is Event.RESET and record.cause is Cause.PENDING_ON:
        return "the cause is there again"
    if event is Event.RESET and record.input is not Input.GOOD:
        return "nobody can tell whether the cause has gone"
    return ""


def _refused_occurrence(record: AlarmRecord, occurrence: int | None) -> str:
    """An acknowledgement is bound to its occurrence: a stale one cannot take the next."""
    if not record.occurrence:
        return "nothing to acknowledge: it was never raised"
    if occurrence is None or occurrence == record.occurrence:
        return ""
    if occurrence > record.occurrence:
        return f"there is no occurrence {occurrence} yet; the last is {record.occurrence}"
    return f"occurrence {occurrence} is over; the present one is {record.occurrence}"


def _refused_shelf(stimulus: Stimulus, now: Instant, policy: AlarmPolicy) -> str:
    if not policy.shelvable:
        return "this alarm may not be shelved"
    if stimulus.until_us is None:
        return ""
    if stimulus.until_us <= now.mono_us:
        return "the shelf would end before it begins"
    if stimulus.until_us > now.mono_us + policy.max_shelve_us:
        return f"at most {policy.max_shelve_us // 60_000_000} min"
    return ""


def _needs_acknowledgement(severity: Severity, policy: AlarmPolicy) -> bool:
    """A pre-alarm that goes away needs nobody; anything louder does, unless configured otherwise."""
    return policy.ack_required and severity > Severity.NOTICE


def _latches(record: AlarmRecord, policy: AlarmPolicy) -> bool:
    return record.latched or (policy.latching and record.severity > Severity.NOTICE)


def _resume_delay(record: AlarmRecord, now: Instant) -> AlarmRecord:
    if record.delay_left_us is None:
        return record
    return replace(record, delay_due_us=now.mono_us + record.delay_left_us, delay_left_us=None)


def _freeze_delay(record: AlarmRecord, now: Instant) -> AlarmRecord:
    if record.delay_due_us is None:
        return record
    return replace(record, delay_due_us=None, delay_left_us=max(0, record.delay_due_us - now.mono_us))


def _open(record: AlarmRecord, now: Instant, policy: AlarmPolicy) -> AlarmRecord:
    """A new occurrence. One nobody acknowledged leaves its debt to the next."""
    severity = record.cause_severity
    return replace(
        record, occurrence=record.occurrence + 1, severity=severity, realarms=0, raised_at=now, cleared_at=None,
        acked_at=None, acked_by="", realarm_due_us=None,
        owed=not record.acked or _needs_acknowledgement(severity, policy),
    )  # fmt: skip


def _raise_severity(record: AlarmRecord, severity: Severity, policy: AlarmPolicy) -> AlarmRecord:
    return replace(
        record, severity=max(record.severity, severity), cause_severity=severity, realarm_due_us=None,
        owed=record.owed or _needs_acknowledgement(severity, policy),
    )  # fmt: skip


def _acknowledged(record: AlarmRecord, stimulus: Stimulus, now: Instant, policy: AlarmPolicy) -> AlarmRecord:
    due = None if policy.realarm_us is None or not record.active else now.mono_us + policy.realarm_us
    return replace(record, owed=False, acked_at=now, acked_by=stimulus.actor, realarm_due_us=due)


def _put_shelf(record: AlarmRecord, stimulus: Stimulus, now: Instant, policy: AlarmPolicy) -> AlarmRecord:
    until_us = now.mono_us + policy.max_shelve_us if stimulus.until_us is None else stimulus.until_us
    shelf = Shelf(moment(now, until_us), stimulus.until_us is None, stimulus.actor, stimulus.reason)
    return replace(record, shelf=shelf)


DOES: Mapping[Do, Callable[[AlarmRecord, Stimulus, Instant, AlarmPolicy], AlarmRecord]] = {
    Do.START_ON_DELAY: lambda r, _s, n, p: replace(r, began_at=n, delay_due_us=n.mono_us + p.on_delay_us),
    Do.START_OFF_DELAY: lambda r, _s, n, p: replace(r, delay_due_us=n.mono_us + p.off_delay_us),
    Do.FREEZE_DELAY: lambda r, _s, n, _p: _freeze_delay(r, n),
    Do.RESUME_DELAY: lambda r, _s, n, _p: _resume_delay(r, n),
    Do.STOP_DELAY: lambda r, _s, _n, _p: replace(r, delay_due_us=None, delay_left_us=None),
    Do.NOTE_SEVERITY: lambda r, s, _n, _p: replace(r, cause_severity=s.severity),
    Do.OPEN_OCCURRENCE: lambda r, _s, n, p: _open(r, n, p),
    Do.RAISE_SEVERITY: lambda r, s, _n, p: _raise_severity(r, s.severity, p),
    Do.COUNT_REALARM: lambda r, _s, _n, p: replace(
        r, realarms=r.realarms + 1, realarm_due_us=None, owed=_needs_acknowledgement(r.severity, p)
    ),
    Do.NOTE_ACKNOWLEDGED: _acknowledged,
    Do.NOTE_CLEARED: lambda r, _s, n, _p: replace(r, cleared_at=n, realarm_due_us=None, owed=False),
    Do.PUT_SHELF: _put_shelf,
    Do.TAKE_SHELF: lambda r, _s, _n, _p: replace(r, shelf=None),
    Do.NOTE_SUPPRESSOR: lambda r, s, _n, _p: replace(r, suppressed_by=s.actor),
    Do.FORGET_SUPPRESSOR: lambda r, _s, _n, _p: replace(r, suppressed_by=""),
    Do.NOTE_SERVICE: lambda r, s, _n, _p: replace(r, out_of_service_by=s.actor, out_of_service_reason=s.reason),
    Do.FORGET_SERVICE: lambda r, _s, _n, _p: replace(r, out_of_service_by="", out_of_service_reason=""),
}

HOLDS: Mapping[When, Callable[[AlarmRecord, Stimulus, AlarmPolicy], bool]] = {
    When.ALWAYS: lambda _r, _s, _p: True,
    When.RISES: lambda r, s, _p: s.severity > r.severity or s.proven,
    When.OWED_LATCHES: lambda r, _s, p: r.owed and _latches(r, p),
    When.OWED: lambda r, _s, _p: r.owed,
    When.LATCHES: lambda r, _s, p: _latches(r, p),
    When.ONE_SHOT: lambda r, _s, _p: r.shelf is not None and r.shelf.one_shot,
}
