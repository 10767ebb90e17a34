"""Grab samples of events: a bottle when something is proven or a slug announces itself, and a few more after. Pure.

A sampler purges, samples and purges, which takes minutes: it is told at the pre-alarm, not when the law's time is over.
"""

from collections.abc import Callable, Mapping
from typing import Any

from gateway.model import Condition, Finding, FindingEvent, Instant, Mode, Note, Reading, Resume, Severity, Verdict
from gateway.outputs.switched import order_for
from gateway.outputs.wired import Carried, GrabPlan, Output, Result
from gateway.signals.qc import Evidence
from gateway.signals.watch import FAR_US, Said, Watch
from gateway.units import format_duration

__all__ = ["BOTTLES_ALARM", "GRAB_ALARM", "GrabWatch"]

GRAB_ALARM = "sampler-grab"
BOTTLES_ALARM = "sampler-bottles"
_KEY = "grab"
_HELD = "maintenance"


class GrabWatch(Watch):
    """The event-triggered bottles of one site. `held` says, with None, whether the station is being worked on."""

    key = _KEY

    def __init__(
        self,
        plan: GrabPlan,
        output: Output,
        channels: frozenset[str],
        start: Instant,
        held: Callable[[str | None], bool] = lambda _: False,
    ) -> None:
        self.plan = plan
        self.output = output
        self.channels = channels
        self._used = 0
        self._lock_us: int | None = None  # until when no other event takes a bottle
        self._locked_by = ("", "", "")  # rule, channel and order of the event that locks the others out
        self._follow: list[dict[str, Any]] = []
        self._open: dict[str, dict[str, Any]] = {}  # grabs ordered and not yet known, by order key
        self._standing: list[str] = []  # what waits to be collected
        self._latest: dict[str, Reading] = {}
        self._idle_until_us = start.mono_us  # the flow says that nothing is discharged, and its word holds so long
        self._at_work = False  # on the flow
        self._station_held = held

    def found(self, finding: Finding, said: Said) -> None:
        """Take a bottle of a proven exceedance or the pre-alarm of a slug, unless the last event is too fresh."""
        proven = finding.event is FindingEvent.RAISED and finding.verdict is Verdict.EXCEEDED
        if finding.rule not in self.plan.rules or not (proven or finding.event is FindingEvent.PREALARM):
            return
        now_us = finding.at.mono_us
        event = {
            "rule": finding.rule, "clause": finding.clause, "channel": finding.channel, "event": str(finding.event),
            "since_utc_us": finding.since.utc_us, "observed": finding.observed, "limit": finding.limit,
            "unit": finding.unit,
        }  # fmt: skip
        if self._lock_us is not None and now_us < self._lock_us:
            if (finding.rule, finding.channel) != self._locked_by[:2]:
                why = "another event took a bottle just now"
                said.notes.append(Note("grab_left_out", finding.at, {"event": event, "why": why}))
            return
        if self._held:
            said.notes.append(Note("grab_left_out", finding.at, {"event": event, "why": _HELD}))
            return
        key = self._take(finding.at, event, "the event itself", said)
        if key is None:
            return
        self._locked_by = (finding.rule, finding.channel, key)
        self._lock_us = now_us + self.plan.lockout_us
        self._follow = [{"due_us": now_us + after_us, "event": event} for after_us in sorted(self.plan.follow_ups_us)]
        self._changed(said)

    @property
    def _held(self) -> bool:
        """Whether a technician's hand may be in the sampler."""
        return self._at_work or self._station_held(None)

    def hear(self, reading: Reading, weight: int, said: Said) -> None:
        """Keep the latest of every channel, for the bottle's record."""
        self._latest[reading.channel] = reading
        if reading.channel == self.plan.flow:
            self._at_work = reading.mode is not Mode.RUN
            if weight == Evidence.VALID and reading.value is not None:
                idle = reading.value < self.plan.idle_below
                self._idle_until_us = reading.at.mono_us + (self.plan.hold_us if idle else 0)

    def tick(self, now: Instant, said: Said) -> None:
        """The follow-ups that are due."""
        due = [one for one in self._follow if one["due_us"] <= now.mono_us]
        if not due:
            return
        self._follow = [one for one in self._follow if one["due_us"] > now.mono_us]
        for one in due:
            at = _moment(now, one["due_us"])
            late = now.mono_us - one["due_us"] > self.output.expires_us
            if late or self._held or at.mono_us < self._idle_until_us:
                why = "too late" if late else _HELD if self._held else "no discharge"
                said.notes.append(Note("grab_left_out", now, {"event": one["event"], "why": why}))
            else:
                self._take(at, one["event"], "a follow-up", said)
        self._changed(said)

    def carried(self, carried: Carried, said: Said) -> None:
        """What became of a bottle."""
        grab = self._open.pop(carried.order.key, None)
        if grab is None:
            return
        bottle, rule = grab["bottle"], grab["event"]["rule"]
        body = {**grab, "result": str(carried.result), "why": carried.why}
        said.notes.append(Note("grab", carried.at, body))
        if carried.result in (Result.EXPIRED, Result.REFUSED):  # never sent: the sampler has not moved on
            if bottle == self._used:
                self._used -= 1
            if carried.order.key == self._locked_by[2]:  # an event without a bottle locks nobody out
                self._lock_us = None
            self._changed(said)
            return
        doubt = "" if carried.result is Result.DONE else f" ({carried.result}: look whether it was taken)"
        self._standing.append(f"bottle {bottle} for {rule}{doubt}")
        within = ", ".join(f"{a} within {format_duration(us)}" for a, us in self.plan.hold_times_us.items())
        reason = f"{'; '.join(self._standing[-2:])}. Collect{': ' + within if within else ' it'}"
        said.conditions.append(Condition(GRAB_ALARM, True, Severity.WARNING, reason))
        if self._used >= self.plan.bottles:
            self._exhausted(said)
        self._changed(said)

    def fresh_bottles(self, by: str, now: Instant, said: Said) -> None:
        """Somebody took the bottles away and set new ones. ValueError when nobody says who."""
        if not by.strip():
            raise ValueError("say who you are: whoever collects is part of the custody")
        body = {"by": by, "collected": list(self._standing), "used": self._used, "bottles": self.plan.bottles}
        said.notes.append(Note("bottles_changed", now, body))
        self._used = 0
        self._standing = []
        self._follow = []
        for alarm in (GRAB_ALARM, BOTTLES_ALARM):
            said.conditions.append(Condition(alarm, False, Severity.WARNING, "collected"))
        self._changed(said)

    def status(self, now: Instant) -> dict[str, Any]:
        """Bottles, and what waits; JSON-able."""
        locked_us = 0 if self._lock_us is None else max(0, self._lock_us - now.mono_us)
        return {
            "bottles": self.plan.bottles, "used": self._used, "to_collect": list(self._standing),
            "follow_ups": len(self._follow), "locked_out_s": locked_us / 1e6,
        }  # fmt: skip

    def restore(self, state: Mapping[str, Any], resume: Resume, said: Said) -> None:
        """Bottles, follow-ups and the lock-out go on; without a place in time the two last are over."""
        stored = state.get(_KEY)
        if stored is None:
            return
        self._used, self._standing = stored["used"], list(stored["standing"])
        self._open = dict(stored["open"])
        lock_us = stored["lock_us"]
        self._lock_us = None if lock_us is None else resume.mono(lock_us)
        rule, channel, key = stored.get("locked_by", self._locked_by)
        self._locked_by = (rule, channel, key)
        for one in stored["follow"]:
            due_us = resume.mono(one["due_us"])
            if due_us is None:
                why = "the gateway was away for nobody knows how long"
                said.notes.append(Note("grab_left_out", resume.now, {"event": one["event"], "why": why}))
            else:
                self._follow.append({**one, "due_us": due_us})
        self._changed(said)

    def _take(self, at: Instant, event: Mapping[str, Any], what: str, said: Said) -> str | None:
        """Order one bottle: the order's key; None when there is none left."""
        if self._used >= self.plan.bottles:
            said.notes.append(Note("grab_left_out", at, {"event": dict(event), "why": "no bottle is left"}))
            self._exhausted(said)
            return None
        self._used += 1
        why = f"bottle {self._used} for {event['rule']}: {what}"
        key = f"grab-{at.utc_us}:{self._used}"
        values = {
            name: {"value": one.value, "quality": one.quality.name.lower(), "at_utc_us": one.at.utc_us}
            for name, one in sorted(self._latest.items())
        }
        self._open[key] = {"bottle": self._used, "event": dict(event), "what": what, "values": values}
        said.orders.append(order_for(self.output, "pulse", at, why, key))
        return key

    def _exhausted(self, said: Said) -> None:
        text = f"all {self.plan.bottles} bottles of the sampler are used: the next event gets none"
        said.conditions.append(Condition(BOTTLES_ALARM, True, Severity.WARNING, text))

    def _changed(self, said: Said) -> None:
        self.deadline_us = min((one["due_us"] for one in self._follow), default=FAR_US)
        said.state[_KEY] = {
            "used": self._used, "lock_us": self._lock_us, "follow": [dict(one) for one in self._follow],
            "open": dict(self._open), "standing": list(self._standing),
            "locked_by": list(self._locked_by),
        }  # fmt: skip


def _moment(now: Instant, mono_us: int) -> Instant:
    return Instant(now.utc_us + mono_us - now.mono_us, mono_us, now.synced)
