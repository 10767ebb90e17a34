"""Outputs that are on or off: horn and beacon by the alarms that stand, the valve by proof, a relay by people. Pure."""

from collections.abc import Iterable, Mapping
from typing import Any

from gateway.model import (
    AlarmEvent,
    AlarmState,
    Condition,
    Finding,
    FindingEvent,
    Instant,
    Order,
    Resume,
    Severity,
    Verdict,
)
from gateway.outputs.wired import Carried, Output, OutputRole, Result
from gateway.signals.watch import FAR_US, Said, Watch
from gateway.site import Rule

__all__ = ["Annunciator", "Switched", "Valve", "order_for"]

_AGAIN_US = 60_000_000  # an output that did not do as told is told again after this: ours
_LOUD = frozenset({AlarmState.UNACKNOWLEDGED, AlarmState.RETURNED_UNACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED})


def order_for(output: Output, action: str, now: Instant, why: str, key: str) -> Order:
    """An order with its expiry."""
    expires = Instant(now.utc_us + output.expires_us, now.mono_us + output.expires_us, now.synced)
    return Order(output.name, action, now, expires, why, key)


class Switched(Watch):
    """One on/off output: what it should be by itself, what a person made of it, and what it was last told.

    `wanted` by itself is None for a relay, and for what is only pulsed: it stays as it is until somebody says so. A
    person's `on` or `off` goes before, until it is released.
    """

    def __init__(self, output: Output, severity: Severity, start: Instant) -> None:
        self.output = output
        self.key = f"output:{output.name}"
        by_itself = output.role in (OutputRole.HORN, OutputRole.BEACON)
        self.wanted: bool | None = False if by_itself else None
        self.manual: bool | None = None
        self.is_on: bool | None = None  # as last carried out
        self.why = ""
        self.by = ""  # whose word it is, while it is a person's
        self._severity = severity
        self._ordered: bool | None = {"off": False, "on": True}.get(output.safe)  # what the start puts it to
        self._failed = False
        self._refused: bool | None = None  # what it did not do last
        self._again_us = 0  # and when it is told that again
        self.deadline_us = start.mono_us

    @property
    def latched(self) -> bool:
        """Whether its safe state must not be written: it stands for something that only a person may end."""
        return False

    def tick(self, now: Instant, said: Said) -> None:
        """Tell it again what it did not do."""
        if now.mono_us >= self.deadline_us:
            self.deadline_us = FAR_US
            self.settle(now, said)

    def settle(self, now: Instant, said: Said) -> None:
        """Give an order if it is not as it should be."""
        wanted = self.wanted if self.manual is None else self.manual
        if wanted is None or wanted == self._ordered:
            return
        if wanted is self._refused and now.mono_us < self._again_us:
            self.deadline_us = self._again_us
            return
        self._ordered, self._refused = wanted, None
        action = "on" if wanted else "off"
        key = f"{self.output.name}:{now.utc_us}:{action}"
        said.orders.append(order_for(self.output, action, now, self.why, key))

    def set_manual(self, manual: bool | None, by: str, why: str, now: Instant, said: Said) -> None:
        """A person's word, or with None the end of it. The name is kept apart: it leaves the site in no record."""
        self.manual = manual
        self.by = by if manual is not None else ""
        self.why = f"by hand: {why}" if manual is not None else f"released: {why}"
        self._ordered = self._refused = None
        said.state[self.key] = self.state()
        self.settle(now, said)

    def carried(self, carried: Carried, said: Said) -> None:
        """What became of an order of this output."""
        if carried.order.output != self.output.name:
            return
        action = carried.order.action
        if carried.result is Result.DONE:
            if action in ("on", "off"):
                self.is_on = action == "on"
                if self._ordered is None:  # the safe state, which nobody orders: tried again, and written
                    self._ordered = self.is_on
            if self._failed:
                self._failed = False
                said.conditions.append(Condition(self.output.alarm, False, self._severity, "does as told again"))
            return
        self.is_on = None
        if action in ("on", "off"):
            self._ordered = None
        if carried.result is Result.INTERRUPTED:  # by the end of the gateway, not by the output
            return
        self._failed = True
        reason = f"{action}: {carried.result}: {carried.why}"
        said.conditions.append(Condition(self.output.alarm, True, self._severity, reason))
        if action in ("on", "off"):
            self._refused = action == "on"
            self._again_us = self.deadline_us = carried.at.mono_us + _AGAIN_US
        elif action == "check":  # it forgot what it was told: it is told again now
            self._ordered = None
            self.deadline_us = carried.at.mono_us

    def pulse_was_cut(self, now: Instant, said: Said) -> None:
        """The gateway ended in mid-pulse: what holds its state at the start would be left on for good."""
        if self.output.safe == "hold" and not self.latched and self.manual is not True:
            key = f"{self.output.name}:{now.utc_us}:end"
            said.orders.append(order_for(self.output, "off", now, "ends a pulse that the last run began", key))

    def state(self) -> dict[str, Any]:
        """What a restart has to bring back."""
        return {"manual": self.manual, "by": self.by, "why": self.why}

    def restore(self, state: Mapping[str, Any], resume: Resume, said: Said) -> None:
        """A person's word outlives a restart."""
        stored = state.get(self.key)
        if stored is not None:
            self.manual, self.by, self.why = stored["manual"], str(stored.get("by", "")), str(stored["why"])


class Annunciator(Switched):
    """Horn or beacon: on while an alarm of its severity waits for an acknowledgement, whether or not its cause stands.

    The sequence is that of ISA-18.1 with lock-in: acknowledging is what silences it; so is putting the alarm aside.
    """

    def __init__(self, output: Output, severity: Severity, start: Instant) -> None:
        super().__init__(output, severity, start)
        self._loud: set[str] = set()

    def alarmed(self, events: Iterable[AlarmEvent], said: Said) -> None:
        """Take what the alarm engine did."""
        at = None
        for event in events:
            at = event.at
            self.stands(event.alarm, event.to_state, event.severity)
        if at is not None:
            self._weigh(at, said)

    def stands(self, alarm: str, state: AlarmState, severity: Severity) -> None:
        """Note how one alarm stands."""
        if state in _LOUD and severity >= self.output.from_severity and alarm != self.output.alarm:
            self._loud.add(alarm)
        else:
            self._loud.discard(alarm)

    def stood(self, at: Instant, said: Said) -> None:
        """All alarms that stand from before the restart were noted."""
        self._weigh(at, said)

    def _weigh(self, at: Instant, said: Said) -> None:
        self.wanted = bool(self._loud)
        if self.manual is None:
            self.why = ", ".join(sorted(self._loud)) or "nothing waits for an acknowledgement"
        self.settle(at, said)


class Valve(Switched):
    """The shut-off valve: shut (on) by the proven exceedance of a rule that somebody signed for, opened by a person.

    No suspicion, no end of an exceedance, no maintenance, no restart opens it.
    """

    def __init__(self, output: Output, severity: Severity, start: Instant) -> None:
        super().__init__(output, severity, start)
        self.wanted = None
        self.shut_by: str | None = None
        self._standing: set[str] = set()

    @property
    def latched(self) -> bool:
        """A valve that is shut stays shut over a restart."""
        return self.shut_by is not None

    def found(self, finding: Finding, said: Said) -> None:
        """Shut on proof."""
        if finding.rule not in self.output.shuts_on:
            return
        run = f"{finding.rule}/{finding.channel}"
        if finding.event in (FindingEvent.CLEARED, FindingEvent.INTERRUPTED):
            self._standing.discard(run)
            said.state[self.key] = self.state()
        if finding.event is not FindingEvent.RAISED or finding.verdict is not Verdict.EXCEEDED:
            return
        self._standing.add(run)
        if self.shut_by is None:
            self.shut_by = f"{finding.rule} {finding.clause} exceeded on {finding.channel}"
            self.why = self.shut_by
            self.manual = None
        self.wanted = True
        said.state[self.key] = self.state()
        self.settle(finding.at, said)

    def set_manual(self, manual: bool | None, by: str, why: str, now: Instant, said: Said) -> None:
        """Shut by hand, or released. ValueError while a rule that shut it is still proven to be exceeded."""
        if manual is not True and self._standing:
            raise ValueError(f"{', '.join(sorted(self._standing))} is still exceeded: the valve stays shut")
        if manual is True:
            self.shut_by = self.shut_by or f"by hand: {why}"
        else:
            self.shut_by = None
        self.wanted = manual is True
        self.by = by if manual is True else ""
        self.why = self.shut_by or f"released: {why}"
        self.manual = None
        self._ordered = self._refused = None
        said.state[self.key] = self.state()
        self.settle(now, said)
        if not self.wanted:
            self.wanted = None

    def forget_gone(self, rules: Iterable[Rule]) -> None:
        """After `restore`: an exceedance of a rule that is gone, or shuts it no more, keeps no valve shut for good.

        Nobody would ever say that it is over. The valve itself stays shut until a person opens it.
        """
        known = {rule.id if rule.laboratory else f"{rule.id}/{rule.channel}" for rule in rules}
        for run in list(self._standing):
            rule = run.partition("/")[0]
            if rule not in self.output.shuts_on or known.isdisjoint((run, rule)):
                self._standing.discard(run)

    def state(self) -> dict[str, Any]:
        """What a restart has to bring back."""
        return {"shut_by": self.shut_by, "by": self.by, "standing": sorted(self._standing)}

    def restore(self, state: Mapping[str, Any], resume: Resume, said: Said) -> None:
        """A valve that was shut is told to be shut."""
        stored = state.get(self.key)
        if stored is None:
            return
        self.shut_by, self._standing = stored["shut_by"], set(stored["standing"])
        self.by = str(stored.get("by", ""))
        if self.shut_by is not None:
            self.wanted, self.why, self._ordered = True, self.shut_by, None
