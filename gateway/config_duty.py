"""[duty]: the shape of the duty roster."""

from typing import Annotated, Literal

from gateway.config_table import Duration, Field, Table, Word

__all__ = ["DutyTable"]


class DutyStepTable(Table):
    """[[duty.steps]]: who is called so long after an alarm that nobody has acknowledged."""

    after: Duration
    """The first step is "0 min": who is told at once."""
    tell: Annotated[list[Word], Field(min_length=1)]
    """Contacts by name, or by role."""


class DutyTable(Table):
    """[duty]: who is called, and called again, until somebody acknowledges."""

    from_severity: Literal["notice", "warning", "high", "critical"] = "high"
    """Alarms less severe than this are told once."""
    repeat: Duration | None = None
    """After the last step everybody in the roster is called again this often; 30 min unless stated."""
    reminder: Duration | None = None
    """How often who is called first is reminded of an acknowledged alarm that still stands; 60 min unless stated, "0 s"
    never."""
    steps: Annotated[list[DutyStepTable], Field(min_length=1)]
