"""Series of words fed to real ledgers, a channel and its flow, in the order and with the calls of the pipeline."""

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from zoneinfo import ZoneInfo

from gateway.model import Finding, Instant, Mode, Quality, Reading, Resume, Severity
from gateway.rules.judge import Judge
from gateway.rules.ledger import DayRecord, FlowLedger, Ledger
from gateway.signals.qc import evidence
from gateway.site import Channel, Rule

ZONE = ZoneInfo("America/New_York")
S = 1_000_000
MIDNIGHT_S = 1_795_842_000  # 2026-11-28T00:00 in New York
Word = tuple[int, str, Fraction]


@dataclass(frozen=True)
class Clock:
    """Seconds of a story as Instants: second zero lies at `utc_s`, and at `mono_s` of the process."""

    utc_s: int = MIDNIGHT_S
    mono_s: int = 1_000

    def at(self, second: float | Fraction) -> Instant:
        """A moment of the story."""
        us = int(second * S)
        return Instant(self.utc_s * S + us, self.mono_s * S + us)


def channel(name: str = "tss", quantity: str = "tss", unit: str = "mg/L", *, hold_s: float = 150) -> Channel:
    """A channel polled once a minute; a long hold lets a story leave samples out."""
    return Channel(name, quantity, unit, 60 * S, int(hold_s * S), int(300 * S))


def rule(kind: str = "average", **changes: object) -> Rule:
    """A rule over a window: more than 100 mg/L on a day."""
    facts: dict[str, object] = {
        "id": "lv-tox-copper-24h", "alarm": "lv-tox-copper-24h", "clause": "c", "title": "t", "text": "", "kind": kind,
        "channel": "tss", "comparison": ">", "unit": "mg/L", "severity": Severity.HIGH, "pack": "p",
        "pack_version": "1", "pack_hash": "ph", "limit": 100.0, "window": "day",
    }  # fmt: skip
    return Rule(**(facts | changes))  # type: ignore[arg-type]  # facts are typed by their names above


def reading(name: str, at: Instant, kind: str, value: Fraction | float) -> Reading:
    """The reading of a word: valid, valid while idle, dry, maintenance, missing, failed or doubtful."""
    number = float(value)
    match kind:
        case "v" | "n":
            return Reading(name, at, (), number, Quality.GOOD)
        case "y":
            return Reading(name, at, (), number, Quality.GOOD, dry=True)
        case "M":
            return Reading(name, at, (), number, Quality.GOOD, mode=Mode.MAINTENANCE)
        case "m":
            return Reading(name, at, (), None, Quality.MISSING, ("no sample",))
        case "f":
            return Reading(name, at, (), number, Quality.FAIL, ("fail_span",))
    return Reading(name, at, (), number, Quality.SUSPECT, ("suspect_span",))


class Feed:
    """A flow ledger, a channel's ledger that reads it, one on the flow itself, and the rules that watch them."""

    def __init__(
        self,
        spec: Channel | None = None,
        *,
        clock: Clock | None = None,
        with_flow: bool = True,
        hold_s: float = 150,
        start_s: float = 0,
    ) -> None:
        self.clock = clock or Clock()
        self.start = self.clock.at(start_s)
        self.spec = spec or channel(hold_s=hold_s)
        self.flow_spec = channel("flow", "flow", "gpm", hold_s=hold_s)
        self.flow = FlowLedger(self.flow_spec, ZONE, self.start) if with_flow else None
        self.ledger = Ledger(self.spec, ZONE, self.start, self.flow)
        self.flow_days = Ledger(self.flow_spec, ZONE, self.start, self.flow) if self.flow else None
        self.judges: list[Judge] = []
        self.closed: list[DayRecord] = []

    def states(self) -> list[dict[str, Any]]:
        """What the caller stores, through JSON."""
        assert self.flow is not None
        assert self.flow_days is not None
        return json.loads(json.dumps([self.flow.state(), self.flow_days.state(), self.ledger.state()]))

    def restored(self, states: Sequence[dict[str, Any]], clock: Clock, second: float, offset_us: int | None) -> "Feed":
        """A new process that takes over at a moment of the story."""
        new = Feed(self.spec, clock=clock, hold_s=self.flow_spec.hold_us / S, start_s=second)
        resume = Resume(new.start, offset_us)
        assert new.flow is not None
        assert new.flow_days is not None
        new.flow.restore(states[0], resume)
        new.flow_days.restore(states[1], resume)
        new.ledger.restore(states[2], resume)
        return new

    def advance(self, now: Instant) -> list[Finding]:
        """Settle everything up to a moment."""
        if self.flow is not None and self.flow_days is not None:
            self.flow.advance(now)
            self.flow_days.advance(now)
        self.closed += self.ledger.advance(now)
        return [finding for judge in self.judges for finding in judge.tick(now)]

    def take(self, name: str, second: float, kind: str, value: Fraction | float = 0) -> list[Finding]:
        """One word of one channel, after everything before it is settled."""
        at = self.clock.at(second)
        findings = self.advance(at)
        one = reading(name, at, kind, value)
        weight, discharging = evidence(one), kind != "n"
        if name == "flow":
            assert self.flow is not None
            assert self.flow_days is not None
            self.flow.take(one, weight, discharging=discharging)
            self.flow_days.take(one, weight, discharging=discharging)
        else:
            self.ledger.take(one, weight, discharging=discharging)
        for judge in self.judges:
            if judge.channel == name:
                findings += judge.judge(one, weight, discharging=discharging)
        return findings

    def play(self, words: Sequence[Word], flow: Sequence[Word] = (), *, until_s: float | None = None) -> list[Finding]:
        """Both series merged by time, the flow first at equal moments, then the time to `until_s`."""
        merged = [(w[0], 0, "flow", w) for w in flow] + [(w[0], 1, self.spec.name, w) for w in words]
        findings: list[Finding] = []
        for second, _, name, (_, kind, value) in sorted(merged, key=lambda one: one[:2]):
            findings += self.take(name, second, kind, value)
        if until_s is not None:
            findings += self.advance(self.clock.at(until_s))
        return findings


def steady(value: float, since_s: int, until_s: int, every_s: int = 60, kind: str = "v") -> list[Word]:
    """The same word again and again, the last one before `until_s`."""
    return [(second, kind, Fraction(value)) for second in range(since_s, until_s, every_s)]


def told(findings: Iterable[Finding], moment: Callable[[Instant], float]) -> list[tuple[str, float, float]]:
    """What was found: event, since and at in seconds of the story."""
    return [(finding.event.value, moment(finding.since), moment(finding.at)) for finding in findings]
