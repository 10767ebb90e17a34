"""One alarm as people see it in a list."""

from dataclasses import dataclass

from gateway.alarms.duty import code_of
from gateway.alarms.memory import AlarmMemory
from gateway.alarms.record import display_state
from gateway.model import AlarmState, Instant, Severity
from gateway.site import AlarmPolicy

__all__ = ["AlarmView", "view_of"]


@dataclass(frozen=True, slots=True)
class AlarmView:
    """One line of a status list. `since` is when the cause began; `reason` that of the cover, else of the cause."""

    id: str
    state: AlarmState
    occurrence: int
    severity: Severity
    since: Instant | None
    acked_by: str
    reason: str
    shelved_until: Instant | None
    code: str = ""


def view_of(alarm: str, memory: AlarmMemory, policy: AlarmPolicy) -> AlarmView:
    """How an alarm looks to people."""
    record, state = memory.record, display_state(memory.record)
    reasons = {
        AlarmState.OUT_OF_SERVICE: f"{record.out_of_service_by}: {record.out_of_service_reason}",
        AlarmState.SUPPRESSED: f"{record.suppressed_by} is active",
        AlarmState.SHELVED: "" if record.shelf is None else f"{record.shelf.actor}: {record.shelf.reason}",
        AlarmState.NORMAL: "",
    }
    reason = reasons.get(state, memory.reason)
    if not policy.enabled:
        reason = "disabled by configuration"
    quiet = record.acked and not record.active and not record.latched
    since = record.began_at if memory.finding is None else memory.finding.since
    return AlarmView(
        alarm,
        state,
        record.occurrence,
        record.severity,
        None if quiet else since,
        record.acked_by,
        reason,
        None if record.shelf is None else record.shelf.until,
        code_of(memory) if memory.number else "",
    )
