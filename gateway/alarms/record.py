"""What is known of one alarm: independent regions, from which the display letter A to I is derived.

Regions and letters follow ISA-18.2 / IEC 62682 as OPC UA Part 9 retells them; the moves between them live in
`gateway.alarms.machine` alone.
"""

from dataclasses import dataclass
from enum import StrEnum

from gateway.model import AlarmState, Instant, Severity

__all__ = [
    "Cause", "Input", "Shelving", "Suppression", "Service", "Shelf", "AlarmRecord", "State",
    "UNCOVERED_OPEN", "COVERED", "inner_state", "display_state", "moment",
]  # fmt: skip


class Cause(StrEnum):
    """Whether the alarm's cause is there, with its two delays."""

    NORMAL = "normal"
    PENDING_ON = "pending_on"  # true, but not yet for the on-delay
    ACTIVE = "active"
    PENDING_OFF = "pending_off"  # false, but not yet for the off-delay: still active


class Input(StrEnum):
    """Whether anybody can tell: BAD freezes the cause, UNSEEN is BAD since the start of this process."""

    UNSEEN = "unseen"
    GOOD = "good"
    BAD = "bad"


class Shelving(StrEnum):
    """Put aside by an operator, for a while or for one active period."""

    UNSHELVED = "unshelved"
    SHELVED = "shelved"


class Suppression(StrEnum):
    """Silenced by configured logic, because another alarm already says it."""

    UNSUPPRESSED = "unsuppressed"
    SUPPRESSED = "suppressed"


class Service(StrEnum):
    """Taken out of service by a named person, until that is undone."""

    IN_SERVICE = "in_service"
    OUT_OF_SERVICE = "out_of_service"


State = Cause | Input | AlarmState | Shelving | Suppression | Service  # a state of any one region

UNCOVERED_OPEN = frozenset(
    {AlarmState.UNACKNOWLEDGED, AlarmState.RETURNED_UNACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED}
)
COVERED = frozenset({AlarmState.SHELVED, AlarmState.SUPPRESSED, AlarmState.OUT_OF_SERVICE})


@dataclass(frozen=True, slots=True)
class Shelf:
    """Who put the alarm aside, why, and until when. A one-shot shelf has an end too: the longest that is allowed."""

    until: Instant
    one_shot: bool
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class AlarmRecord:
    """One alarm as independent regions; everything a restart has to bring back.

    `delay_due_us` is the monotonic end of a running on- or off-delay; `delay_left_us` what was left of it when nobody
    could tell any more. `severity` is the highest of the present occurrence, `cause_severity` what the cause said last.
    `owed` is True while this occurrence needs an acknowledgement even if its cause goes away. `began_at` is when the
    cause became true (before the on-delay), `raised_at` when the on-delay was over. `resumed` is True from a restart
    until the first real word about the cause has been settled.
    """

    severity: Severity
    cause: Cause = Cause.NORMAL
    input: Input = Input.UNSEEN
    acked: bool = True
    latched: bool = False
    owed: bool = False
    occurrence: int = 0
    realarms: int = 0
    cause_severity: Severity = Severity.NOTICE
    delay_due_us: int | None = None
    delay_left_us: int | None = None
    realarm_due_us: int | None = None
    began_at: Instant | None = None
    raised_at: Instant | None = None
    cleared_at: Instant | None = None
    acked_at: Instant | None = None
    acked_by: str = ""
    shelf: Shelf | None = None
    suppressed_by: str = ""
    out_of_service_by: str = ""
    out_of_service_reason: str = ""
    resumed: bool = False

    @property
    def active(self) -> bool:
        """Whether the cause counts as present: an off-delay keeps it so."""
        return self.cause in (Cause.ACTIVE, Cause.PENDING_OFF)


def inner_state(record: AlarmRecord) -> AlarmState:
    """The letter A to F beneath any shelf, suppression or out of service."""
    if record.active:
        return AlarmState.ACKNOWLEDGED if record.acked else AlarmState.UNACKNOWLEDGED
    if record.latched:
        return AlarmState.LATCHED_ACKNOWLEDGED if record.acked else AlarmState.LATCHED_UNACKNOWLEDGED
    return AlarmState.NORMAL if record.acked else AlarmState.RETURNED_UNACKNOWLEDGED


def display_state(record: AlarmRecord) -> AlarmState:
    """The letter A to I. Of several covers the one that lasts longest by nature shows: I, then H, then G."""
    if record.out_of_service_by:
        return AlarmState.OUT_OF_SERVICE
    if record.suppressed_by:
        return AlarmState.SUPPRESSED
    if record.shelf is not None:
        return AlarmState.SHELVED
    return inner_state(record)


def moment(now: Instant, mono_us: int) -> Instant:
    """The Instant of a monotonic stamp near `now`: an edge is stamped at its deadline, not when it was noticed."""
    return Instant(now.utc_us + mono_us - now.mono_us, mono_us, now.synced)
