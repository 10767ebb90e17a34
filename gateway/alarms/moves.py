"""The words in which the alarm table is written: events, guards, effects, rows, and the stimulus of an event."""

from dataclasses import dataclass
from enum import Enum, StrEnum

from gateway.alarms.record import State
from gateway.model import AlarmEdge, Severity

__all__ = ["Event", "When", "Do", "Tell", "Row", "Stimulus"]


class Event(StrEnum):
    """What can happen to an alarm. RAISE, CLEAR and SEVERITY_UP come from the table itself, the rest from outside."""

    TRUE = "cause true"
    FALSE = "cause false, clear of the deadband"
    WITHIN_DEADBAND = "cause false, within the deadband"
    CANNOT_TELL = "nobody can tell"
    TICK = "tick"
    DELAY_OVER = "delay over"
    RAISE = "raise"
    CLEAR = "clear"
    SEVERITY_UP = "severity rises"
    REALARM_DUE = "re-alarm time over"
    ACKNOWLEDGE = "acknowledge"
    RESET = "reset"
    SHELVE = "shelve"
    UNSHELVE = "unshelve"
    SHELF_OVER = "shelf over"
    SUPPRESS = "suppress"
    UNSUPPRESS = "unsuppress"
    OUT_OF_SERVICE = "out of service"
    RETURN_TO_SERVICE = "return to service"


class When(Enum):
    """A row's guard. The first row of a pair whose guard holds is taken."""

    ALWAYS = ""
    RISES = "severity above the occurrence's, or a proof nobody was told of"
    OWED_LATCHES = "acknowledgement owed, latching"
    OWED = "acknowledgement owed"
    LATCHES = "latching"
    ONE_SHOT = "one-shot"


class Do(StrEnum):
    """What a row does besides moving its region."""

    START_ON_DELAY = "start the on-delay"
    START_OFF_DELAY = "start the off-delay"
    FREEZE_DELAY = "freeze the delay"
    RESUME_DELAY = "let the delay run on"
    STOP_DELAY = "stop the delay"
    NOTE_SEVERITY = "note the severity"
    OPEN_OCCURRENCE = "occurrence + 1"
    RAISE_SEVERITY = "take the higher severity"
    COUNT_REALARM = "re-alarms + 1"
    NOTE_ACKNOWLEDGED = "note who acknowledged, start the re-alarm timer"
    NOTE_CLEARED = "note the time"
    PUT_SHELF = "note who, why and until when"
    TAKE_SHELF = "forget the shelf"
    NOTE_SUPPRESSOR = "note which alarm suppresses"
    FORGET_SUPPRESSOR = "forget it"
    NOTE_SERVICE = "note who and why"
    FORGET_SERVICE = "forget who"


class Tell(StrEnum):
    """Whether a move obliges someone to be told. A covered alarm (G, H, I) tells nobody."""

    NO = "no"
    YES = "yes"
    IF_OPEN = "if B, D or E"


@dataclass(frozen=True, slots=True)
class Row:
    """One permitted move: where to, under which guard, what it does, what it journals, whom it tells, what follows.

    `why` is the reason the journal gets when the event brought none.
    """

    to: State
    when: When = When.ALWAYS
    do: tuple[Do, ...] = ()
    edges: tuple[AlarmEdge, ...] = ()
    tell: Tell = Tell.NO
    then: Event | None = None
    why: str = ""


@dataclass(frozen=True, slots=True)
class Stimulus:
    """One event with what came along: the severity of a cause; who, why and until when of a person's action.

    `proven` says that the cause is an exceedance nobody has been told of, even where the severity is no higher.
    `actor` of SUPPRESS is the suppressing alarm. `until_us` is monotonic; None makes a one-shot shelf.
    """

    event: Event
    severity: Severity = Severity.NOTICE
    actor: str = ""
    reason: str = ""
    occurrence: int | None = None
    until_us: int | None = None
    proven: bool = False
