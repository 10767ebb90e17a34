"""What one call of the pipeline gathers before it becomes an Outcome."""

from typing import Any

from gateway.alarms.engine import EngineStep
from gateway.model import AlarmEvent, Condition, Finding, Message, Note, Outcome, Reading

__all__ = ["Step"]


class Step:
    """Lists in the making; `outcome` freezes them."""

    __slots__ = ("alarm_events", "conditions", "findings", "messages", "notes", "readings", "state")

    def __init__(self) -> None:
        self.readings: list[Reading] = []
        self.findings: list[Finding] = []
        self.conditions: list[Condition] = []
        self.alarm_events: list[AlarmEvent] = []
        self.messages: list[Message] = []
        self.notes: list[Note] = []
        self.state: dict[str, Any] = {}

    def alarms(self, engine_step: EngineStep) -> None:
        """Take what the alarm engine said."""
        self.alarm_events.extend(engine_step.events)
        self.messages.extend(engine_step.messages)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit and nobody to ask."""
        return not (self.readings or self.findings or self.conditions or self.alarm_events or self.notes or self.state)

    def outcome(self, *, watching: bool) -> Outcome:
        """The Outcome, in order of time; `watching` asks for a commit now although nothing happened."""
        self.findings.sort(key=lambda finding: finding.at.mono_us)  # devices of one poll have moments of their own
        urgent = bool(watching or self.findings or self.alarm_events or self.messages or self.notes)
        return Outcome(
            tuple(self.readings),
            tuple(self.findings),
            tuple(self.alarm_events),
            tuple(self.messages),
            tuple(self.notes),
            self.state,
            urgent,
        )
