"""A gateway's pipeline with somebody who works on it: Little Valley, fed by the second, its state kept as on disk."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gateway.baseline_command import Signed
from gateway.config import load
from gateway.maintenance_command import carry_out
from gateway.model import Instant, Outcome, Reading, Resume, Sample
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.site import Contact, Site

__all__ = ["S", "START", "Visit", "moment", "visited_site"]

S = 1_000_000
START = Instant(1_782_853_200 * S, 0)  # 2026-06-30T21:00:00Z, 17:00 in New York
TELL = (Contact("super", "Super", ("bench",)),)


def moment(second: float, *, synced: bool = True) -> Instant:
    """So many seconds after the start."""
    return Instant(START.utc_us + round(second * S), round(second * S), synced)


def visited_site(name: str = "little-valley", **changes: Any) -> Site:
    """A shipped example with one contact."""
    return replace(load(Path(str(shipped("examples", name))), for_replay=True), contacts=TELL, **changes)


class Visit:
    """A pipeline that is fed, worked on and restarted. Everything that it said is kept in order."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.pipeline = Pipeline(site, START)
        self.state: dict[str, Any] = {}
        self.said: list[Outcome] = []

    def keep(self, outcome: Outcome) -> Outcome:
        """As the journal does it: the state's changes, then everything else."""
        for key, value in outcome.state.items():
            if value is None:
                self.state.pop(key, None)
            else:
                self.state[key] = value
        self.said.append(outcome)
        return outcome

    def feed(self, seconds: range, values: Mapping[str, float]) -> list[Reading]:
        """These values at each of these seconds, ticked before; the readings they became."""
        readings: list[Reading] = []
        for second in seconds:
            at = moment(second)
            self.keep(self.pipeline.tick(at))
            samples = [Sample(name, at, (), value) for name, value in values.items()]
            readings += self.keep(self.pipeline.process(samples, at)).readings
        return readings

    def do(self, second: float, action: str, *channels: str, by: str = "J. Tech", id: str = "", **args: Any) -> dict:  # noqa: A002  # a command's id
        """The answer to one command, recorded as the gateway records it."""
        now = moment(second)
        args = {"action": action, "channels": list(channels), "reason": "clean the probe", **args}
        step = carry_out(self.pipeline.maintenance, args, Signed(by, "test", id, now))
        if step.said.notes or step.said.state:
            self.keep(self.pipeline.said(step.said, now))
        return step.answer

    def restart(self, second: float, offset_s: float | None = 0) -> Outcome:
        """kill -9, and a new process `second` after the start; `offset_s` places the old axis on the new one."""
        self.pipeline = Pipeline(self.site, moment(second))
        offset_us = None if offset_s is None else round(offset_s * S)
        return self.keep(self.pipeline.restore(dict(self.state), Resume(moment(second), offset_us)))

    def notes(self, kind: str = "maintenance") -> list[Mapping[str, Any]]:
        """The bodies of all notes of a kind."""
        return [note.body for outcome in self.said for note in outcome.notes if note.kind == kind]

    def events(self) -> list[str]:
        """What was noted of maintenance, in order."""
        return [body["event"] for body in self.notes()]

    def edges(self, alarm: str) -> list[tuple[str, float]]:
        """The edges of one alarm, with their seconds."""
        edges = [event for outcome in self.said for event in outcome.alarm_events if event.alarm == alarm]
        return [(event.edge.value, event.at.mono_us / S) for event in edges]

    def findings(self, rule: str) -> list[tuple[str, str]]:
        """Event and verdict of what one rule found."""
        return [(f.event.value, f.verdict.value) for o in self.said for f in o.findings if f.rule == rule]

    def texts(self, alarm: str) -> list[str]:
        """The texts of one alarm."""
        return [m.text for outcome in self.said for m in outcome.messages if m.alarm == alarm]
