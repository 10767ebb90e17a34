"""The long memory of one site: the water, a ledger and the baselines of every judged channel, and days of violation.

Fed with every reading, in order; settled at full minutes. Rules over windows read the ledgers, slug rules follow the
baselines, findings weigh their water by the flow. Everything here survives a restart: the state as it was stored, and
the readings recorded since fed again, give the same integers.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import date, timedelta, tzinfo
from typing import Any

from gateway.model import Finding, Instant, Note, Reading, Resume, Verdict
from gateway.rules.baseline import Baselines, mark_event
from gateway.rules.flow_ledger import FlowLedger
from gateway.rules.judge import Judge
from gateway.rules.ledger import DayRecord, Ledger
from gateway.rules.notice import is_review
from gateway.rules.snc import Measurement, Origin, SensorDays, quarter_ends, worksheet
from gateway.rules.terms import Terms
from gateway.rules.window_rule import WindowRule
from gateway.site import Rule, Site

__all__ = ["Accounts", "baseline_key"]

_NEVER_US = 1 << 62
_EXCEEDS = {Verdict.EXCEEDED: True, Verdict.COMPLIANT: False}  # else nobody could judge the day
_SINGLE_VALUES = ("limit", "slug")
_DAY = timedelta(days=1)


class Accounts:
    """What a site remembers beyond a run. Single-threaded; moments never go back on the monotonic axis."""

    def __init__(self, site: Site, zone: tzinfo, start: Instant) -> None:
        self.zone = zone
        self.flows = {
            name: FlowLedger(channel, zone, start)
            for name, channel in site.channels.items()
            if channel.quantity == "flow"
        }
        self.flow_channel = _flow_channel(site)
        judged = {rule.channel for rule in site.rules if not rule.laboratory} | set(self.flows)
        self.ledgers = {
            name: Ledger(channel, zone, start, self.flow_of(name))
            for name, channel in site.channels.items()
            if name in judged
        }
        follow = {rule.channel for rule in site.rules if rule.factor is not None}
        self.baselines = {
            name: Baselines(site.channels[name], site.baselines.get(name), site.baselines.get(name), self.ledgers[name])
            for name in site.channels
            if name in follow
        }
        self.sensor_days = SensorDays(zone)
        self._rules = {(rule.id, rule.channel): rule for rule in site.rules}
        self._parts = [*self.flows.values(), *self.ledgers.values()]
        self.next_minute_us = self._next_minute_us()

    def flow_of(self, channel: str) -> FlowLedger | None:
        """The water a channel's averages are weighted by: a flow's own, else that of the site's discharge."""
        return self.flows.get(channel) or self.flows.get(self.flow_channel)

    def take(self, reading: Reading, weight: int, *, discharging: bool) -> None:
        """The next reading of any channel."""
        flow = self.flows.get(reading.channel)
        if flow is not None:
            flow.take(reading, weight, discharging=discharging)
        ledger = self.ledgers.get(reading.channel)
        if ledger is not None:
            ledger.take(reading, weight, discharging=discharging)

    def advance(self, now: Instant) -> list[tuple[str, DayRecord]]:
        """Everything before `now` has been fed: the local days that closed, with their channels. Cheap in between."""
        if now.mono_us < self.next_minute_us:
            return []
        for flow in self.flows.values():
            flow.advance(now)
        closed = [(name, day) for name, ledger in self.ledgers.items() for day in ledger.advance(now)]
        self.next_minute_us = self._next_minute_us()
        return closed

    def hear(self, finding: Finding) -> None:
        """An exceedance takes its days out of normal operation; one of single values makes them exceeding sensor-days.

        A rule over a window says by itself what a day comes to, when it closes.
        """
        rule = self._rules.get((finding.rule, finding.channel))
        ledger = self.ledgers.get(finding.channel)
        if ledger is not None:
            mark_event(ledger, finding, rule)
        if rule is None or rule.laboratory:
            return
        if rule.kind in _SINGLE_VALUES or rule.window == "excursion":
            self.sensor_days.hear(finding)

    def day_closed(self, channel: str, day: DayRecord, judges: Iterable[Judge], now: Instant) -> Iterator[Note]:
        """What the record keeps of a local day's end: its sums, and the three baselines side by side."""
        sums = day.sums
        if sums.discharging_us:
            for judge in judges:
                _count_day(self.sensor_days, judge, day)
        body = {
            "channel": channel,
            "date": day.date,
            "mean": sums.mean,
            "minimum": sums.minimum,
            "maximum": sums.maximum,
            "coverage": sums.coverage,
            "time_weighted": sums.time_weighted,
            "valid_s": sums.valid_us / 1e6,
            "discharging_s": sums.discharging_us / 1e6,
            "volume_gal": day.volume_gal,
        }
        yield Note("day", now, body)
        baselines = self.baselines.get(channel)
        if baselines is not None:
            closed = baselines.day_closed(day, now)
            yield Note("baselines", now, closed.record)
            if closed.review:
                yield Note("baseline_review", now, {"channel": channel, "why": closed.review})

    def worksheets(
        self, day: DayRecord, rules: Iterable[Rule], laboratory: Callable[[str], tuple[Measurement, ...]]
    ) -> Iterator[dict[str, Any]]:
        """Significant noncompliance of the six months up to a quarter that ended with this day, by origin."""
        last = date.fromisoformat(day.date)
        for quarter_end in quarter_ends(last - _DAY, last + _DAY):
            for rule in rules:
                if is_review(rule):
                    continue
                if rule.laboratory:
                    sheet = worksheet(rule, Origin.LABORATORY, laboratory(rule.alarm), quarter_end)
                else:
                    sheet = worksheet(rule, Origin.SENSOR_DAYS, self.sensor_days.measurements(rule), quarter_end)
                if sheet.n:
                    yield sheet.body()

    def volume_of_day(self, day: date) -> float | None:
        """The discharge of a local day in gal; None when nobody knows it."""
        ledger = self.ledgers.get(self.flow_channel)
        if ledger is None:
            return None
        wanted = day.isoformat()
        return next((record.volume_gal for record in reversed(ledger.days) if record.date == wanted), None)

    def state(self) -> dict[str, Any]:
        """Everything by durable key, JSON-able."""
        state: dict[str, Any] = {f"account:flow:{name}": flow.state() for name, flow in self.flows.items()}
        for name, ledger in self.ledgers.items():
            state |= {f"account:{part}:{name}": value for part, value in ledger.state().items()}
        state |= {baseline_key(name): one.state() for name, one in self.baselines.items()}
        return state | {"account:days": self.sensor_days.state()}

    def restore(self, state: Mapping[str, Any], resume: Resume) -> list[dict[str, Any]]:
        """Bring the state back, before the first reading: the baselines whose signed choice is another than then.

        Raises LookupError, TypeError or ValueError for what cannot be read; start with fresh accounts then.
        """
        for name, flow in self.flows.items():
            if f"account:flow:{name}" in state:
                flow.restore(state[f"account:flow:{name}"], resume)
        for name, ledger in self.ledgers.items():
            parts = {part: state.get(f"account:{part}:{name}") for part in ("now", "ring", "days")}
            if all(value is not None for value in parts.values()):
                ledger.restore(parts, resume)
        changed = []
        for name, baselines in self.baselines.items():
            if baseline_key(name) in state and (change := baselines.restore(state[baseline_key(name)])) is not None:
                chosen = baselines.chosen
                signed = {} if chosen is None else {"by": chosen.approved_by, "on": chosen.approved_on}
                changed.append({**change, **signed, "via": "site file"})
        if "account:days" in state:
            self.sensor_days.restore(state["account:days"])
        self.next_minute_us = self._next_minute_us()
        return changed

    def _next_minute_us(self) -> int:
        return min((ledger.next_minute_us for ledger in self.ledgers.values()), default=_NEVER_US)


def baseline_key(channel: str) -> str:
    """The durable key of a channel's baselines."""
    return f"account:baselines:{channel}"


def _flow_channel(site: Site) -> str:
    """The channel that measures the discharge: the flow witness, else the first flow of the site file."""
    flows = [name for name, channel in site.channels.items() if channel.quantity == "flow"]
    witnesses = [witness.channel for witness in site.discharging.witnesses if witness.channel in flows]
    return next(iter([*witnesses, *flows]), "")


def _count_day(days: SensorDays, judge: Judge, day: DayRecord) -> None:
    """One sensor-day of one rule: its worst valid value, in the rule's unit; over a window, what the window came to.

    Windows of more than a day have none, as the laboratory's have none. A day without a limit, or of which less than
    `rule.coverage` of the discharging time was valid, complies with nothing (docs/judging.md 5.3, 9.2). A day on which
    a term suspended the rule is none: there was nothing to exceed (8.1).
    """
    rule, date_of_day = judge.rule, date.fromisoformat(day.date)
    if Terms(rule).ruling(day.end.utc_us - 1).suspended:
        return
    if isinstance(judge, WindowRule):
        said = judge.of_day(day)
        if said is not None:
            verdict, value, limit = said
            days.close(rule, date_of_day, value=value, limit=limit, exceeds=_EXCEEDS.get(verdict))
        return
    extreme = day.sums.maximum if rule.comparison.startswith(">") else day.sums.minimum
    limit = getattr(judge, "limit", rule.limit)
    value = None if extreme is None else rule.to_unit(extreme)
    heard = value is not None and day.sums.valid_us >= rule.coverage * day.sums.discharging_us
    days.close(rule, date_of_day, value=value, limit=limit, exceeds=False if heard and limit is not None else None)
