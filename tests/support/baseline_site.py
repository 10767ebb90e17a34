"""A rule that follows the baselines of its channel, with the ledgers behind it, fed as the pipeline feeds them."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, tzinfo

from gateway.model import Finding, Instant, Reading, Resume
from gateway.rules.baseline import Baselines, ClosedDay, mark_event
from gateway.rules.ledger import FlowLedger, Ledger
from gateway.rules.limit import LimitRule
from gateway.rules.run import ExceedanceRule
from gateway.rules.slug import SlugRule
from gateway.signals.qc import evidence
from gateway.site import Baseline, Channel, Rule

MIDNIGHT = Instant(1_699_920_000_000_000, 0, True)  # 2023-11-14T00:00Z
MIN = 60_000_000
HOUR = 60 * MIN


def signed(mode: str, value: float | None = None, **changes: object) -> Baseline:
    """A baseline of the flow channel in gpm, approved."""
    facts: dict[str, object] = {"id": "b", "channel": "flow", "unit": "gpm", "approved_by": "S", "hash": "h"}
    facts |= {"mode": mode, "value": value, "approved_on": "2023-11-01"} | changes
    return Baseline(**facts)  # type: ignore[arg-type]  # facts are typed by their names above


def moment(mono_us: int) -> Instant:
    """So long after midnight."""
    return Instant(MIDNIGHT.utc_us + mono_us, mono_us, True)


@dataclass
class FollowingRule:
    """One channel, its ledgers, its baselines and one rule. `wet_at` is the discharge threshold of a flow."""

    spec: Channel
    rule: Rule
    chosen: Baseline | None
    zone: tzinfo = UTC
    start: Instant = MIDNIGHT
    wet_at: float | None = None

    def __post_init__(self) -> None:
        self.flow = FlowLedger(self.spec, self.zone, self.start) if self.spec.quantity == "flow" else None
        self.ledger = Ledger(self.spec, self.zone, self.start, self.flow)
        declared = self.chosen if self.chosen is not None and self.chosen.value is not None else None
        self.baselines = Baselines(self.spec, declared, self.chosen, self.ledger)
        in_force = (
            self.chosen if self.chosen is None or self.chosen.mode == "declared" else replace(self.chosen, value=None)
        )
        kind = SlugRule if self.rule.kind == "slug" else LimitRule
        self.judge: ExceedanceRule = kind(replace(self.rule, baseline=in_force), self.spec, {}, self.start)
        self.judge.follow(self.baselines, self.start)
        if self.flow is not None:
            self.judge.measure(self.flow.volume, self.flow.valid_us)
        self.closed: list[ClosedDay] = []

    def take(self, reading: Reading) -> list[Finding]:
        """One reading, the ledgers first."""
        weight = evidence(reading)
        wet = self.wet_at is None or reading.value is None or reading.value >= self.wet_at
        if self.flow is not None:
            self.flow.take(reading, weight, discharging=wet)
        self.ledger.take(reading, weight, discharging=wet)
        self.advance(reading.at)
        findings = self.judge.judge(reading, weight, discharging=wet)
        for finding in findings:
            mark_event(self.ledger, finding)
        return findings

    def advance(self, now: Instant) -> None:
        """Let the ledgers settle, and the baselines write down each day that closed."""
        if self.flow is not None:
            self.flow.advance(now)
        self.closed += [self.baselines.day_closed(day, now) for day in self.ledger.advance(now)]

    def take_all(self, readings: Iterable[Reading]) -> list[Finding]:
        """Every finding of a series, what there is to say at the start first."""
        findings = self.judge.begin(self.start)
        for reading in readings:
            findings += self.take(reading)
        return findings

    def restarted(self, now: Instant) -> "FollowingRule":
        """Another process that takes up the stored state on the same axis."""
        other = FollowingRule(self.spec, self.rule, self.chosen, self.zone, self.start, self.wet_at)
        resume = Resume(now, 0)
        if self.flow is not None and other.flow is not None:
            other.flow.restore(self.flow.state(), resume)
        other.ledger.restore(self.ledger.state(), resume)
        other.baselines.restore(self.baselines.state())
        other.judge.follow(other.baselines, now)
        state = self.judge.state()
        if state is not None:
            other.judge.restore(state, resume)
        return other
