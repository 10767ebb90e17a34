"""Contacts: a door, a lid, a float, the sampler's own switches. Every change is on record; some raise an alarm. Pure.

A contact that says nothing is neither open nor closed: nobody can tell, and that clears no alarm.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gateway.model import Condition, Instant, Mode, Note, Quality, Reading, Resume, Severity
from gateway.outputs.wired import ContactInput, ContactRole
from gateway.signals.qc import AFTER_MAINTENANCE
from gateway.signals.watch import FAR_US, Said, Watch

__all__ = ["ContactWatch", "word"]

_WORDS = {
    ContactRole.DOOR: "the cabinet door is open",
    ContactRole.LID: "the manhole lid is open",
    ContactRole.FLOAT: "the high-level float is up",
    ContactRole.BOTTLE_FULL: "the sampler says that the bottle is full",
    ContactRole.SAMPLER_FAULT: "the sampler says that it is in fault",
}
_UNTOLD = object()


def word(closed: bool | None) -> str:
    """Open, closed or unknown."""
    return "unknown" if closed is None else "closed" if closed else "open"


class ContactWatch(Watch):
    """One contact. `turned` hears how it settled: the moment, whether it is off normal, and whether that is news.

    It is none for the first word after a restart that finds it as it was.
    """

    def __init__(
        self,
        spec: ContactInput,
        hold_us: int,
        severity: Severity,
        start: Instant,
        turned: Callable[[Instant, bool, bool, Said], None] | None = None,
    ) -> None:
        self.spec = spec
        self.key = f"contact:{spec.channel}"
        self.channels = frozenset({spec.channel})
        self.closed: bool | None = None
        self._severity = severity
        self._hold_us = hold_us
        self._turned = turned
        self._before: bool | None = None  # the last state anybody could tell
        self._heard_us = start.mono_us
        self._turning_us: int | None = None
        self._mode = Mode.RUN
        self._told: object = _UNTOLD
        self._from_us = start.mono_us  # what was heard before the restart is on record, and no word of now
        self.deadline_us = start.mono_us + hold_us

    def hear(self, reading: Reading, weight: int, said: Said) -> None:
        """Take a reading of the contact, in maintenance too."""
        now_us = reading.at.mono_us
        sound = reading.quality is Quality.GOOD or reading.tests == (AFTER_MAINTENANCE,)  # a switch needs no settling
        if reading.value is None or not sound or now_us < self._from_us:
            return
        self._heard_us = now_us
        self.deadline_us = now_us + self._hold_us
        self._mode = reading.mode
        closed = reading.value >= 0.5
        if closed == self.closed:
            self._turning_us = None
        elif self.closed is None:
            self._settle(closed, reading.at, said)
        else:
            if self._turning_us is None:
                self._turning_us = now_us
            if now_us - self._turning_us >= self.spec.debounce_us:
                self._settle(closed, reading.at, said)
        self._ask(said)

    def tick(self, now: Instant, said: Said) -> None:
        """After the hold without a word nobody can tell."""
        if now.mono_us < self.deadline_us:
            return
        self.deadline_us = FAR_US
        self._turning_us = None
        if self.closed is not None:
            self._note(now, None, said)
            self.closed = None
        self._ask(said)

    def restore(self, state: Mapping[str, Any], resume: Resume, said: Said) -> None:
        """The state before the restart, for what changed meanwhile to be noticed."""
        self._from_us = resume.now.mono_us
        stored = state.get(self.key)
        if stored is not None:
            if not isinstance(stored, bool):
                raise TypeError(f"a contact is open or closed, not {stored!r}")
            self._before = stored

    def _settle(self, closed: bool, at: Instant, said: Said) -> None:
        changed = closed != self._before
        if changed or self.closed is not None:
            self._note(at, closed, said)
        first = self._before is None
        self.closed = self._before = closed
        self._turning_us = None
        said.state[self.key] = closed
        if self._turned is not None:
            self._turned(at, closed != self.spec.normal, changed and not (first and closed == self.spec.normal), said)

    def _note(self, at: Instant, closed: bool | None, said: Said) -> None:
        body = {
            "channel": self.spec.channel,
            "role": str(self.spec.role),
            "state": word(closed),
            "was": word(self.closed if self.closed is not None else self._before),
            "seen": self.closed is not None,  # false: it changed while nobody could tell
            "mode": str(self._mode),
        }
        said.notes.append(Note("contact", at, body))

    def _ask(self, said: Said) -> None:
        """Tell the alarm engine what is new. At work in maintenance nobody breaks in."""
        if not self.spec.alarm:
            return
        active = None if self.closed is None else self.closed != self.spec.normal
        if active and self._mode is not Mode.RUN:
            active = None
        if active is self._told:
            return
        self._told = active
        text = _WORDS[self.spec.role]
        reason = text if active else "nobody can tell" if active is None else "as it should be again"
        said.conditions.append(Condition(self.spec.alarm, active, self._severity, reason))
