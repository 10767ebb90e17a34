"""The alarm state machine: every permitted move as one literal table; a pair not in the table changes nothing.

States and moves are those of ISA-18.2 / IEC 62682 as retold by OPC UA Part 9 (3.1, 4.8, 5.8.2, 5.8.17). The regions
are independent: an event is offered to each of them in the order of `_REGIONS`. `docs/alarm-states.md` is drawn from
this table.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from gateway.alarms.effects import BY_A_PERSON, DOES, HOLDS, refusal
from gateway.alarms.moves import Do, Event, Row, Stimulus, Tell, When
from gateway.alarms.record import (
    COVERED,
    UNCOVERED_OPEN,
    AlarmRecord,
    Cause,
    Input,
    Service,
    Shelving,
    State,
    Suppression,
    display_state,
    inner_state,
    moment,
)
from gateway.model import AlarmEdge, AlarmEvent, AlarmState, Condition, Instant
from gateway.site import AlarmPolicy

__all__ = ["TABLE", "observe", "step", "deadlines"]

A, B, C = AlarmState.NORMAL, AlarmState.UNACKNOWLEDGED, AlarmState.ACKNOWLEDGED
D, E, F = AlarmState.RETURNED_UNACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED, AlarmState.LATCHED_ACKNOWLEDGED

_RAISED = (AlarmEdge.RAISED,)
_AGAIN = (AlarmEdge.SUPERSEDED, AlarmEdge.RAISED)  # the old occurrence is closed as never acknowledged
_OPEN = (Do.OPEN_OCCURRENCE,)
_ACK = (Do.NOTE_ACKNOWLEDGED,)
_ACKED = (AlarmEdge.ACKNOWLEDGED,)
_CLEAR = (Do.NOTE_CLEARED,)
_CLEARED = (AlarmEdge.CLEARED,)
_UP = (AlarmEdge.SEVERITY_UP,)
_REALARMED = (AlarmEdge.REALARMED,)
_DELAY_ON = (Do.NOTE_SEVERITY, Do.START_ON_DELAY)
_UNSHELVED = (AlarmEdge.UNSHELVED,)

TABLE: Mapping[tuple[State, Event], tuple[Row, ...]] = {
    # Can anybody tell?
    (Input.UNSEEN, Event.TRUE): (Row(Input.GOOD),),
    (Input.UNSEEN, Event.FALSE): (Row(Input.GOOD),),
    (Input.UNSEEN, Event.WITHIN_DEADBAND): (Row(Input.GOOD),),
    (Input.UNSEEN, Event.CANNOT_TELL): (Row(Input.BAD),),
    (Input.GOOD, Event.CANNOT_TELL): (Row(Input.BAD),),
    (Input.BAD, Event.TRUE): (Row(Input.GOOD),),
    (Input.BAD, Event.FALSE): (Row(Input.GOOD),),
    (Input.BAD, Event.WITHIN_DEADBAND): (Row(Input.GOOD),),
    # Is the cause there? True for the whole on-delay raises; false for the whole off-delay clears.
    (Cause.NORMAL, Event.TRUE): (Row(Cause.PENDING_ON, do=_DELAY_ON),),
    (Cause.PENDING_ON, Event.TRUE): (Row(Cause.PENDING_ON, do=(Do.NOTE_SEVERITY, Do.RESUME_DELAY)),),
    (Cause.PENDING_ON, Event.FALSE): (Row(Cause.NORMAL, do=(Do.STOP_DELAY,)),),
    (Cause.PENDING_ON, Event.WITHIN_DEADBAND): (Row(Cause.NORMAL, do=(Do.STOP_DELAY,)),),
    (Cause.PENDING_ON, Event.CANNOT_TELL): (Row(Cause.PENDING_ON, do=(Do.FREEZE_DELAY,)),),
    (Cause.PENDING_ON, Event.DELAY_OVER): (Row(Cause.ACTIVE, do=(Do.STOP_DELAY,), then=Event.RAISE),),
    (Cause.ACTIVE, Event.TRUE): (Row(Cause.ACTIVE, When.RISES, then=Event.SEVERITY_UP),),
    (Cause.ACTIVE, Event.FALSE): (Row(Cause.PENDING_OFF, do=(Do.START_OFF_DELAY,)),),
    (Cause.PENDING_OFF, Event.TRUE): (
        Row(Cause.ACTIVE, When.RISES, do=(Do.STOP_DELAY,), then=Event.SEVERITY_UP),
        Row(Cause.ACTIVE, do=(Do.STOP_DELAY,)),
    ),
    (Cause.PENDING_OFF, Event.WITHIN_DEADBAND): (Row(Cause.ACTIVE, do=(Do.STOP_DELAY,)),),
    (Cause.PENDING_OFF, Event.FALSE): (Row(Cause.PENDING_OFF, do=(Do.RESUME_DELAY,)),),
    (Cause.PENDING_OFF, Event.CANNOT_TELL): (Row(Cause.PENDING_OFF, do=(Do.FREEZE_DELAY,)),),
    (Cause.PENDING_OFF, Event.DELAY_OVER): (Row(Cause.NORMAL, do=(Do.STOP_DELAY,), then=Event.CLEAR),),
    # Does somebody know, and does it hold?
    (A, Event.RAISE): (Row(B, do=_OPEN, edges=_RAISED, tell=Tell.YES),),
    (B, Event.ACKNOWLEDGE): (Row(C, do=_ACK, edges=_ACKED),),
    (B, Event.CLEAR): (
        Row(E, When.OWED_LATCHES, do=_CLEAR, edges=_CLEARED),
        Row(D, When.OWED, do=_CLEAR, edges=_CLEARED),
        Row(F, When.LATCHES, do=_CLEAR, edges=_CLEARED),
        Row(A, do=_CLEAR, edges=_CLEARED),
    ),
    (B, Event.SEVERITY_UP): (Row(B, do=(Do.RAISE_SEVERITY,), edges=_UP, tell=Tell.YES),),
    (C, Event.CLEAR): (
        Row(F, When.LATCHES, do=_CLEAR, edges=_CLEARED),
        Row(A, do=_CLEAR, edges=_CLEARED),
    ),
    (C, Event.REALARM_DUE): (
        Row(B, do=(Do.COUNT_REALARM,), edges=_REALARMED, tell=Tell.YES, why="acknowledged, still there"),
    ),
    (C, Event.SEVERITY_UP): (Row(B, do=(Do.RAISE_SEVERITY, Do.COUNT_REALARM), edges=_UP, tell=Tell.YES),),
    (D, Event.ACKNOWLEDGE): (Row(A, do=_ACK, edges=_ACKED),),
    (D, Event.RAISE): (Row(B, do=_OPEN, edges=_AGAIN, tell=Tell.YES),),
    (E, Event.ACKNOWLEDGE): (Row(F, do=_ACK, edges=_ACKED),),
    (E, Event.RAISE): (Row(B, do=_OPEN, edges=_AGAIN, tell=Tell.YES),),
    (F, Event.RESET): (Row(A, edges=(AlarmEdge.RESET,)),),
    (F, Event.RAISE): (Row(B, do=_OPEN, edges=_RAISED, tell=Tell.YES),),
    # G: put aside. The inner state keeps running and being journaled.
    (Shelving.UNSHELVED, Event.SHELVE): (Row(Shelving.SHELVED, do=(Do.PUT_SHELF,), edges=(AlarmEdge.SHELVED,)),),
    (Shelving.SHELVED, Event.UNSHELVE): (
        Row(Shelving.UNSHELVED, do=(Do.TAKE_SHELF,), edges=_UNSHELVED, tell=Tell.IF_OPEN),
    ),
    (Shelving.SHELVED, Event.SHELF_OVER): (
        Row(Shelving.UNSHELVED, do=(Do.TAKE_SHELF,), edges=_UNSHELVED, tell=Tell.IF_OPEN, why="its time is over"),
    ),
    (Shelving.SHELVED, Event.CLEAR): (
        Row(Shelving.UNSHELVED, When.ONE_SHOT, (Do.TAKE_SHELF,), _UNSHELVED, Tell.IF_OPEN, why="its period is over"),
    ),
    # H: by configured logic only.
    (Suppression.UNSUPPRESSED, Event.SUPPRESS): (
        Row(Suppression.SUPPRESSED, do=(Do.NOTE_SUPPRESSOR,), edges=(AlarmEdge.SUPPRESSED,)),
    ),
    (Suppression.SUPPRESSED, Event.UNSUPPRESS): (
        Row(Suppression.UNSUPPRESSED, do=(Do.FORGET_SUPPRESSOR,), edges=(AlarmEdge.UNSUPPRESSED,), tell=Tell.IF_OPEN),
    ),
    # I: by a named person.
    (Service.IN_SERVICE, Event.OUT_OF_SERVICE): (
        Row(Service.OUT_OF_SERVICE, do=(Do.NOTE_SERVICE,), edges=(AlarmEdge.OUT_OF_SERVICE,)),
    ),
    (Service.OUT_OF_SERVICE, Event.RETURN_TO_SERVICE): (
        Row(Service.IN_SERVICE, do=(Do.FORGET_SERVICE,), edges=(AlarmEdge.RETURNED_TO_SERVICE,), tell=Tell.IF_OPEN),
    ),
}

# What each letter says of the two flags beneath it; None leaves the flag alone (a latch is kept through B and C).
_FLAGS: Mapping[AlarmState, tuple[bool, bool | None]] = {
    A: (True, False), B: (False, None), C: (True, None), D: (False, False), E: (False, True), F: (True, True),
}  # fmt: skip

_REGIONS: Mapping[type[State], Callable[[AlarmRecord], State]] = {
    Input: lambda r: r.input,
    Cause: lambda r: r.cause,
    AlarmState: inner_state,
    Shelving: lambda r: Shelving.UNSHELVED if r.shelf is None else Shelving.SHELVED,
    Suppression: lambda r: Suppression.SUPPRESSED if r.suppressed_by else Suppression.UNSUPPRESSED,
    Service: lambda r: Service.OUT_OF_SERVICE if r.out_of_service_by else Service.IN_SERVICE,
}
_REGIONS_OF = {  # the regions that know an event at all
    event: tuple(read for kind, read in _REGIONS.items() if any(type(s) is kind for s, e in TABLE if e is event))
    for event in Event
}
_WORDS = frozenset({Event.TRUE, Event.FALSE, Event.WITHIN_DEADBAND})  # somebody can tell


def observe(condition: Condition, policy: AlarmPolicy) -> Event:
    """Which event a Condition is: false only when it is so by at least the deadband."""
    if condition.active is None:
        return Event.CANNOT_TELL
    if condition.active:
        return Event.TRUE
    if condition.margin is None or condition.margin >= policy.deadband:
        return Event.FALSE
    return Event.WITHIN_DEADBAND


def deadlines(record: AlarmRecord) -> tuple[tuple[int, Event], ...]:
    """Monotonic stamps at which something is due, in the order in which equal ones are taken.

    A delay counts only while somebody can tell; a re-alarm waits for the first word after a restart.
    """
    found: list[tuple[int, Event]] = []
    if record.delay_due_us is not None:
        found.append((record.delay_due_us, Event.DELAY_OVER))
    if record.shelf is not None:
        found.append((record.shelf.until.mono_us, Event.SHELF_OVER))
    if record.realarm_due_us is not None and record.input is not Input.UNSEEN and inner_state(record) is C:
        found.append((record.realarm_due_us, Event.REALARM_DUE))
    return tuple(found)


def step(
    record: AlarmRecord, stimulus: Stimulus, now: Instant, policy: AlarmPolicy
) -> tuple[AlarmRecord, tuple[AlarmEvent, ...]]:
    """The record after one event, and every edge on the way, in order.

    What fell due up to `now` comes first, stamped at its deadline, so that a late tick tells the same story as a
    punctual one. A person's action that is not permitted changes nothing and yields one REFUSED edge with the reason.
    """
    record, edges = _settle(record, now, policy)
    if stimulus.event in BY_A_PERSON:
        states = tuple(read(record) for read in _REGIONS.values())
        if refused := refusal(record, states, stimulus, now, policy):
            return record, (*edges, _refused(record, refused, stimulus, now, policy))
    record, more = _apply(record, stimulus, now, policy)
    record, rest = _settle(record, now, policy)
    return record, (*edges, *more, *rest)


def _refused(record: AlarmRecord, reason: str, stimulus: Stimulus, now: Instant, policy: AlarmPolicy) -> AlarmEvent:
    state = display_state(record)
    return AlarmEvent(
        policy.alarm, record.occurrence, AlarmEdge.REFUSED, now, record.severity, state, state, reason, stimulus.actor
    )


def _settle(record: AlarmRecord, now: Instant, policy: AlarmPolicy) -> tuple[AlarmRecord, tuple[AlarmEvent, ...]]:
    """Take everything that is due, earliest first. Each move takes its own deadline away, so this ends."""
    edges: tuple[AlarmEvent, ...] = ()
    while due := [d for d in deadlines(record) if d[0] <= now.mono_us]:
        at_us, event = min(due, key=lambda d: d[0])
        record, more = _apply(record, Stimulus(event, record.cause_severity), moment(now, at_us), policy)
        edges += more
    return record, edges


def _apply(
    record: AlarmRecord, stimulus: Stimulus, now: Instant, policy: AlarmPolicy, origin: AlarmRecord | None = None
) -> tuple[AlarmRecord, tuple[AlarmEvent, ...]]:
    """Offer one event to every region, and what follows from it to every region again.

    RAISE and CLEAR follow from a move of the cause; they find the letter as it was before that, in `origin`.
    """
    edges: tuple[AlarmEvent, ...] = ()
    for read in _REGIONS_OF[stimulus.event]:
        before = origin if origin is not None and read is inner_state else record
        rows = TABLE.get((read(before), stimulus.event), ())
        row = next((r for r in rows if HOLDS[r.when](record, stimulus, policy)), None)
        if row is None:
            continue
        for what in row.do:
            record = DOES[what](record, stimulus, now, policy)
        record = _moved(record, row.to)
        edges += _edges(row, before, record, stimulus, now, policy)
        if row.then is not None:
            record, more = _apply(record, replace(stimulus, event=row.then), now, policy, before)
            edges += more
    settled = stimulus.event in _WORDS and record.cause is not Cause.PENDING_OFF
    if record.resumed and (settled or stimulus.event is Event.CLEAR):
        record = replace(record, resumed=False)
    return record, edges


def _edges(
    row: Row, before: AlarmRecord, after: AlarmRecord, stimulus: Stimulus, now: Instant, policy: AlarmPolicy
) -> tuple[AlarmEvent, ...]:
    """The journal lines of one move. A superseded occurrence is closed under its own number and severity."""
    was, became = display_state(before), display_state(after)
    told = became not in COVERED and (row.tell is Tell.YES or (row.tell is Tell.IF_OPEN and became in UNCOVERED_OPEN))
    found = []
    for edge in row.edges:
        old = edge is AlarmEdge.SUPERSEDED
        about = before if old else after
        found.append(
            AlarmEvent(
                policy.alarm,
                about.occurrence,
                edge,
                now,
                about.severity,
                was,
                became,
                "never acknowledged" if old else stimulus.reason or row.why,
                stimulus.actor,
                inferred=edge is AlarmEdge.CLEARED and before.resumed,
                annunciate=told and not old,
            )
        )
    return tuple(found)


def _moved(record: AlarmRecord, to: State) -> AlarmRecord:
    """The record with one region moved. Shelf, suppressor and service are what their regions are derived from."""
    if isinstance(to, AlarmState):
        acked, latched = _FLAGS[to]
        return replace(record, acked=acked, latched=record.latched if latched is None else latched)
    if isinstance(to, Cause):
        return replace(record, cause=to)
    if isinstance(to, Input):
        return replace(record, input=to)
    return record
