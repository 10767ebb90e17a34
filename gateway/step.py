"""What one call of the pipeline gathers before it becomes an Outcome."""

from gateway.alarms.engine import EngineStep
from gateway.model import AlarmEvent, Finding, Message, Outcome, Reading
from gateway.signals.watch import Said

__all__ = ["Step"]


class Step(Said):
    """Lists in the making; `outcome` freezes them."""

    __slots__ = ("alarm_events", "findings", "messages", "readings")

    def __init__(self) -> None:
        super().__init__()
        self.readings: list[Reading] = []
        self.findings: list[Finding] = []
        self.alarm_events: list[AlarmEvent] = []
        self.messages: list[Message] = []

    def alarms(self, engine_step: EngineStep) -> None:
        """Take what the alarm engine said."""
        self.alarm_events.extend(engine_step.events)
        self.messages.extend(engine_step.messages)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to commit and nobody to ask."""
        said = self.conditions or self.notes or self.state or self.orders
        return not (said or self.readings or self.findings or self.alarm_events or self.messages)

    def outcome(self, *, watching: bool) -> Outcome:
        """The Outcome, in order of time; `watching` asks for a commit now although nothing happened."""
        self.findings.sort(key=lambda finding: finding.at.mono_us)  # devices of one poll have moments of their own
        urgent = bool(watching or self.findings or self.alarm_events or self.messages or self.notes or self.orders)
        return Outcome(
            tuple(self.readings),
            tuple(self.findings),
            tuple(self.alarm_events),
            tuple(self.messages),
            tuple(self.notes),
            self.state,
            urgent,
            tuple(self.orders),
        )
