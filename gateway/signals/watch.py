"""What listens to readings and findings beside the rules: it raises conditions, writes notes, orders outputs. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from gateway.model import AlarmEvent, AlarmState, Condition, Finding, Instant, Note, Order, Reading, Resume, Severity
from gateway.outputs.wired import Carried

__all__ = ["FAR_US", "Said", "Watch"]

FAR_US = 1 << 62
"""A deadline that never comes, in microseconds of the monotonic axis."""


class Said:
    """What was said so far in one step, in the order it was said. `state` holds changed durable keys (None: gone)."""

    __slots__ = ("conditions", "notes", "orders", "state")

    def __init__(self) -> None:
        self.conditions: list[Condition] = []
        self.notes: list[Note] = []
        self.orders: list[Order] = []
        self.state: dict[str, Any] = {}


class Watch:
    """One listener; a watch overrides what it needs. Moments never go back on the monotonic axis.

    It hears every reading of its `channels` after quality control, those that are dry or in maintenance too.
    Its durable state lives under keys that begin with `key`; one that cannot be read raises LookupError, TypeError or
    ValueError in `restore`, and is written down.
    """

    key = ""
    channels: frozenset[str] = frozenset()
    deadline_us = FAR_US
    """When elapsed time alone may change something."""

    def hear(self, reading: Reading, weight: int, said: Said) -> None:
        """Take a reading; `weight` is its `qc.Evidence`."""

    def found(self, finding: Finding, said: Said) -> None:
        """Take what a rule found, on any channel."""

    def alarmed(self, events: Iterable[AlarmEvent], said: Said) -> None:
        """Take what the alarm engine did in this step."""

    def carried(self, carried: Carried, said: Said) -> None:
        """Take what became of an order, of any output."""

    def stands(self, alarm: str, state: AlarmState, severity: Severity) -> None:
        """Hear how one alarm stands after a restart; `stood` follows once all were told."""

    def stood(self, at: Instant, said: Said) -> None:
        """Every alarm that stands from before the restart has been told."""

    def tick(self, now: Instant, said: Said) -> None:
        """Discover what elapsed time has changed by `now`; called from `deadline_us` on."""

    def snapshot(self) -> dict[str, Any]:
        """What it remembers by durable key, as of the last reading.

        Kept once an hour; the readings since then are heard again after a restart. A watch that puts every change into
        `Said.state` has nothing to add.
        """
        return {}

    def restore(self, state: Mapping[str, Any], resume: Resume, said: Said) -> None:
        """Bring back what is stored under the keys that begin with `key`; called once, before the first reading."""
