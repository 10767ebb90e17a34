"""The words of the product as frozen records: what flows from an instrument to a person.

Sample -> Reading -> Finding -> AlarmEvent -> Message, gathered in an Outcome.
Every record is immutable; time is always an `Instant` handed in, never read here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum, StrEnum
from typing import Any

__all__ = [
    "Instant", "Quality", "Mode", "Fault", "Sample", "Reading", "Verdict", "FindingEvent", "Finding",
    "SampleType", "LabResult",
    "Severity", "Condition", "AlarmEdge", "AlarmState", "AlarmEvent", "MessageKind", "Message", "Note", "Order",
    "Outcome", "Resume",
]  # fmt: skip


@dataclass(frozen=True, slots=True, order=False)
class Instant:
    """One moment on both clocks: UTC for stamps, monotonic for every duration.

    `utc_us` microseconds since 1970-01-01T00:00Z; `mono_us` microseconds of a clock that is never stepped, in the
    axis of the running process; `synced` whether the UTC was trusted when the moment was taken.
    """

    utc_us: int
    mono_us: int
    synced: bool = True


class Quality(IntEnum):
    """QARTOD flags, numbered as in the QARTOD manual; worst wins in the order FAIL, MISSING, SUSPECT, rest."""

    GOOD = 1
    NOT_EVALUATED = 2
    SUSPECT = 3
    FAIL = 4
    MISSING = 9


class Mode(StrEnum):
    """What a channel is doing. Anything but RUN is recorded, flagged C (NAMUR NE 107) and never judged."""

    RUN = "run"
    MAINTENANCE = "maintenance"
    CALIBRATION = "calibration"


class Fault(StrEnum):
    """Why a sample carries no usable number: failure is data, with its kind."""

    SILENT = "silent"  # the device did not answer, or the answer failed its check sum
    BUS_DOWN = "bus down"  # port or socket gone
    BAD_REPLY = "bad reply"  # wrong unit, function, count or shape
    DEVICE_FAULT = "device fault"  # a valid answer that says "I am ill"
    NO_SUCH_REGISTER = "no such register"  # exceptions 1 to 3: configuration
    NOT_A_NUMBER = "not a number"  # NaN or infinity
    SENTINEL = "sentinel"  # the device's own word for "no value"
    WRONG_UNIT = "wrong unit"  # the device was switched to a unit this channel cannot take
    NO_SAMPLE = "no sample"  # an empty cell of a recorded series, or a poll that did not happen


@dataclass(frozen=True, slots=True)
class Sample:
    """A driver's whole output for one channel at one moment: a number, or the kind of failure.

    `at` is the moment of the request. `raw` is the registers as they came, in wire order, empty when the source has
    none. `value` is the decoded number in the channel's source unit, None when there is none; NaN and infinities are
    passed on as they are for quality control to flag. `quality` and `mode` are what the source itself says (status
    register, quality column), `note` the word for it among the reading's tests: they can only worsen what quality
    control finds. `remark` is a word among the tests that changes no quality. `between` says that it was taken between
    two scheduled polls, because a rule is under way.
    """

    channel: str
    at: Instant
    raw: tuple[int, ...] = ()
    value: float | None = None
    fault: Fault | None = None
    quality: Quality = Quality.GOOD
    mode: Mode = Mode.RUN
    note: str = ""
    remark: str = ""
    between: bool = False


@dataclass(frozen=True, slots=True)
class Reading:
    """A sample after calibration and quality control, in the channel's own unit. Raw is kept beside it, always.

    `tests` names the checks that set the quality, worst first (`fail_span`, `suspect_span`, `spike`, `rate`,
    `flat_line`, `not_a_number`, `sentinel`, `order`, `source`, or the fault's own word).
    `dry` is True while the interlock says the probe is not in the discharge.
    """

    channel: str
    at: Instant
    raw: tuple[int, ...]
    value: float | None
    quality: Quality
    tests: tuple[str, ...] = ()
    mode: Mode = Mode.RUN
    dry: bool = False


class Verdict(StrEnum):
    """What a rule says of a moment. Only COMPLIANT is green."""

    COMPLIANT = "compliant"
    EXCEEDED = "exceeded"
    SUSPECTED = "suspected"
    NO_DISCHARGE = "no_discharge"
    NOT_EVALUABLE = "not_evaluable"


class FindingEvent(StrEnum):
    """The events of a rule. These are the rule's own, before any deadband, delay or latch."""

    RAISED = "raised"
    CLEARED = "cleared"
    PREALARM = "prealarm"
    SUSPECTED = "suspected"
    INTERRUPTED = "interrupted"
    NOT_EVALUABLE = "not_evaluable"


@dataclass(frozen=True, slots=True)
class Finding:
    """One event of one rule on one channel, always with its clause.

    `since` is the first exceeding sample, `at` the sample (or deadline) that settled the event; `duration_us` is
    last exceeding minus first exceeding sample, proven time only. `observed`, `limit`, `baseline`, `extreme` are in
    `unit`, the unit in which the clause is judged. `hashes` names configuration, pack and baseline in force.
    """

    event: FindingEvent
    rule: str
    clause: str
    channel: str
    verdict: Verdict
    since: Instant
    at: Instant
    duration_us: int
    reason: str
    unit: str
    observed: float | None = None
    limit: float | None = None
    baseline: float | None = None
    extreme: float | None = None
    hashes: Mapping[str, str] = field(default_factory=dict)
    source: str = "ordinance"
    """Whose limit ruled: ordinance, permit, agreement or waiver (with its reference after a colon)."""
    context: Mapping[str, Any] = field(default_factory=dict)
    """What else the record needs, JSON-able: all baselines side by side, volume and load, coverage, flags, method."""


class SampleType(StrEnum):
    """How a laboratory sample was taken (40 CFR 403.12(g)(3))."""

    GRAB = "grab"
    COMPOSITE = "composite"  # flow-proportional over its period, 24 h unless start and stop say otherwise


@dataclass(frozen=True, slots=True)
class LabResult:
    """One laboratory result, as reported; a correction is a new version of the same `id`, never a change.

    `analyte` is the quantity of a rule (`copper`, `fog`, `bod`). `value` is in `unit`; a less-than result has `value`
    None and its `detection_limit`. `start_utc_us` and `stop_utc_us` bracket the sampling (equal for a grab).
    """

    id: str
    version: int
    analyte: str
    value: float | None
    unit: str
    sample_type: SampleType
    start_utc_us: int
    stop_utc_us: int
    method: str
    laboratory: str
    entered_by: str
    detection_limit: float | None = None
    remark: str = ""


class Severity(IntEnum):
    """How loud an alarm is. A rise within one occurrence always notifies."""

    NOTICE = 1  # something to know: a pre-alarm, an advisory
    WARNING = 2  # suspected, or a sensor that cannot be trusted
    HIGH = 3  # an ordinance exceeded
    CRITICAL = 4  # people or the works in danger


@dataclass(frozen=True, slots=True)
class Condition:
    """What the core says of one alarm's cause, now: the input of the alarm engine.

    `active` is None when nobody can tell (silence, dry, maintenance): that never clears an alarm and never raises one.
    `severity` is that of the cause now (a pre-alarm is NOTICE, a suspected run WARNING, a proven one the rule's own).
    `margin` is how far inside the limit the value lies, in the rule's unit, for the deadband; None when not a limit.
    """

    alarm: str
    active: bool | None
    severity: Severity
    reason: str = ""
    margin: float | None = None
    finding: Finding | None = None


class AlarmState(Enum):
    """The display states of ISA-18.2 / IEC 62682, with its letters."""

    NORMAL = "A"
    UNACKNOWLEDGED = "B"
    ACKNOWLEDGED = "C"
    RETURNED_UNACKNOWLEDGED = "D"
    LATCHED_UNACKNOWLEDGED = "E"
    LATCHED_ACKNOWLEDGED = "F"
    SHELVED = "G"
    SUPPRESSED = "H"
    OUT_OF_SERVICE = "I"


class AlarmEdge(StrEnum):
    """What happened to an alarm: the `event` column of the alarm journal."""

    RAISED = "raised"
    CLEARED = "cleared"
    ACKNOWLEDGED = "acknowledged"
    SEVERITY_UP = "severity_up"
    REALARMED = "realarmed"
    SUPERSEDED = "superseded"
    RESET = "reset"
    SHELVED = "shelved"
    UNSHELVED = "unshelved"
    SUPPRESSED = "suppressed"
    UNSUPPRESSED = "unsuppressed"
    OUT_OF_SERVICE = "out_of_service"
    RETURNED_TO_SERVICE = "returned_to_service"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class AlarmEvent:
    """One line of the alarm journal. Append-only; `occurrence` counts the alarm's raises from 1."""

    alarm: str
    occurrence: int
    edge: AlarmEdge
    at: Instant
    severity: Severity
    from_state: AlarmState
    to_state: AlarmState
    reason: str = ""
    actor: str = ""
    finding: Finding | None = None
    inferred: bool = False  # true when the edge was found after a restart rather than seen
    annunciate: bool = False  # true when this edge obliges someone to be told


class MessageKind(StrEnum):
    """Why a text was written."""

    RAISED = "raised"
    SEVERITY_UP = "severity_up"
    REALARM = "realarm"
    RETURNED = "returned"
    NOTICE = "notice"
    ESCALATED = "escalated"  # nobody has acknowledged: the next step of the duty roster
    REMINDER = "reminder"  # acknowledged, and the cause still stands


@dataclass(frozen=True, slots=True)
class Message:
    """An obligation to tell one person something, with its own delivery record.

    `recipient` is a contact's id; `text` is final and GSM-7; `dedupe_key` is `alarm:occurrence:kind:step:recipient`.
    """

    recipient: str
    text: str
    dedupe_key: str
    at: Instant
    kind: MessageKind
    severity: Severity
    alarm: str
    occurrence: int


@dataclass(frozen=True, slots=True)
class Note:
    """Something the record must hold that is neither a reading nor an alarm: a start, a clock step, a command.

    `kind` is a short word (`started`, `clock_step`, `command`, `restart_gap`); `body` is JSON-able.
    """

    kind: str
    at: Instant
    body: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Order:
    """Something an output of the site is to do, with its cause. The shell carries it out once it is on record.

    `output` is a name of the site file; `action` what it is to do there (`on`, `off`, `pulse`); `expires` the moment
    after which it must not be done any more; `key` makes a repeat recognisable.
    """

    output: str
    action: str
    at: Instant
    expires: Instant
    why: str
    key: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything one step of the pipeline produced: committed in one transaction, then told.

    `state` holds the new value of each durable state key that changed (JSON-able); None removes the key.
    `urgent` asks for a commit now: there is an event, or a rule is exceeding or in pre-alarm.
    """

    readings: tuple[Reading, ...] = ()
    findings: tuple[Finding, ...] = ()
    alarm_events: tuple[AlarmEvent, ...] = ()
    messages: tuple[Message, ...] = ()
    notes: tuple[Note, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    urgent: bool = False
    orders: tuple[Order, ...] = ()


@dataclass(frozen=True, slots=True)
class Resume:
    """How a restarted process carries stored monotonic stamps into its own axis.

    `offset_us` is added to a stored stamp: zero within one boot; across boots the trusted UTC says it; None when nobody
    can tell how long the gateway was away (the clock was not trusted on either side). `now` is the restart.
    """

    now: Instant
    offset_us: int | None

    def mono(self, stored_us: int) -> int | None:
        """A stored stamp on this process's axis, or None when it cannot be placed."""
        return None if self.offset_us is None else stored_us + self.offset_us
