"""What is normal for one channel: three baselines side by side, one of them in force by a signed choice.

`declared` is a number from the permit application. `operating` is the flow-weighted mean over the discharging time of
the last 30 valid normal days; for flow itself, volume over discharging time. `literal-24h` is the mean of the trailing
24 h up to the last full minute, idle time included (docs/judging.md 4.7). Values are in the channel's unit.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from gateway.model import Finding, FindingEvent, Instant, Verdict
from gateway.rules.ledger import VOLUME_SCALE, DayRecord, DaySums, Ledger
from gateway.rules.stance import Stance
from gateway.site import Baseline, Channel, Rule
from gateway.units import conversion

__all__ = ["DECLARED", "LITERAL", "OPERATING", "Baselines", "ClosedDay", "Figure", "Standing", "mark_event"]

DECLARED, OPERATING, LITERAL = "declared", "operating", "literal-24h"

_DAYS = 30  # valid normal days an operating baseline looks back (docs/judging.md 4.7)
_MIN_DAYS = 7  # that it needs, unless the site file says otherwise
_COVERAGE = 0.75  # of a day's discharging time, for the day to count (docs/judging.md 4.7)
_DRIFT = 0.20  # of the last approved value: past it somebody must look (docs/judging.md 4.9)
_MINUTE_US = 60_000_000
_DAY_US = 86_400_000_000
_EVENTFUL = ("slug", "limit")
_THIN = f"{Stance.COVERAGE.value}: less than half of the last 24 h is valid"


@dataclass(frozen=True, slots=True)
class Figure:
    """One of the three: `value` None with the reason. `days` is how many days it rests upon, `window` which."""

    method: str
    id: str
    window: str
    days: int
    value: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Standing:
    """All three at one moment and the one in force, in the channel's unit. `method` is empty when none is chosen."""

    utc_us: int
    figures: tuple[Figure, ...]
    method: str
    floor: float | None

    @property
    def chosen(self) -> Figure | None:
        """The one in force, before the floor."""
        return next((figure for figure in self.figures if figure.method == self.method), None)

    @property
    def value(self) -> float | None:
        """What rules multiply: the chosen one, never below the floor (docs/judging.md 4.8); None: nobody can tell."""
        chosen = self.chosen
        if chosen is None or chosen.value is None:
            return None
        return chosen.value if self.floor is None else max(chosen.value, self.floor)

    @property
    def reason(self) -> str:
        """Why there is no value."""
        chosen = self.chosen
        return Stance.NO_BASELINE.value if chosen is None else chosen.reason

    def record(self) -> dict[str, Any]:
        """JSON-able, complete, for the journal and for a restart."""
        figures = [asdict(figure) for figure in self.figures]
        return {"utc_us": self.utc_us, "method": self.method, "floor": self.floor, "figures": figures}

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> "Standing":
        """The inverse of `record`. Raises LookupError or TypeError for anything else."""
        figures = tuple(Figure(**figure) for figure in record["figures"])
        return cls(record["utc_us"], figures, record["method"], record["floor"])


@dataclass(frozen=True, slots=True)
class ClosedDay:
    """What the journal keeps of a local day's end. `review` is not empty when somebody must look at the baseline."""

    record: Mapping[str, Any]
    review: str = ""


class Baselines:
    """The baselines of one channel, read from its ledger. Single-threaded; every reading before a moment has been fed,
    to the flow ledger too, when anything is asked of that moment.

    `declared` carries a declared value, whatever its mode; `chosen` is the signed choice, None when there is none.
    Raises ValueError for a baseline in a unit the channel's quantity does not have, and for a flow channel whose ledger
    has no flow ledger behind it: its literal average is a volume.
    """

    def __init__(self, channel: Channel, declared: Baseline | None, chosen: Baseline | None, ledger: Ledger) -> None:
        self.channel = channel.name
        self.unit = channel.unit
        self.chosen = chosen
        self._ledger = ledger
        self._flow = ledger.flow if channel.quantity == "flow" else None
        if channel.quantity == "flow" and self._flow is None:
            raise ValueError(f"{channel.name}: the baselines of a flow need its flow ledger")
        self._to_unit = conversion("gpm", channel.unit) if self._flow is not None else None
        self._min_days = _MIN_DAYS if chosen is None else chosen.min_days
        self._floor = None if chosen is None else _in_unit(chosen.floor, chosen, channel)
        self._declared = self._declared_figure(declared, channel)
        self._normal_days: list[DayRecord] = []
        self._figure: Figure | None = None  # the operating one, of these days
        self._standing: Standing | None = None
        self._minute_us = -1
        self._approved = self._declared.value if chosen is not None and not self.moving else None
        self._asked = False  # whether the drift that is there now was told

    @property
    def moving(self) -> bool:
        """Whether the one in force is computed, so that a threshold moves with it."""
        return self.chosen is not None and self.chosen.mode != DECLARED

    @property
    def minute_us(self) -> int:
        """The monotonic moment of the next full minute: until then nothing here changes."""
        return self._ledger.next_minute_us

    def in_force(self, now: Instant) -> float | None:
        """The value rules multiply, in the channel's unit, or None: `standing` says why."""
        return self.standing(now).value

    def standing(self, now: Instant) -> Standing:
        """All three as of the last full minute. Cheap to ask again within the minute."""
        standing = self._standing
        if standing is None or now.mono_us >= self._minute_us or self._minute_us != self._ledger.next_minute_us:
            figures = (self._declared, *self._computed(now))
            method = "" if self.chosen is None else self.chosen.mode
            standing = self._standing = Standing(now.utc_us, figures, method, self._floor)
            self._minute_us = self._ledger.next_minute_us
        return standing

    def day_closed(self, day: DayRecord, now: Instant) -> ClosedDay:
        """The record of all three at the end of a local day, and whether somebody must look.

        The operating baseline is compared with the declared one, a computed one in force with itself as first computed
        or last approved; more than 20 % away asks once, until it comes back or is approved. It changes nothing.
        """
        standing = self.standing(now)
        measured = self._measured(standing)
        if self._approved is None:
            self._approved = measured
        drift = self.drift(standing)
        drifted = drift is not None and abs(drift) > _DRIFT
        record = {"channel": self.channel, "unit": self.unit, "date": day.date, **standing.record()}
        record |= {"value": standing.value, "approved": self._approved, "drift": drift, "review": drifted}
        review = ""
        if drifted and not self._asked and drift is not None:
            review = (
                f"{self.channel}: normal operation is {drift:+.0%} from the approved {self._approved:g} {self.unit}"
            )
        self._asked = drifted
        return ClosedDay(record, review)

    def drift(self, standing: Standing) -> float | None:
        """How far normal operation is from what was approved: 0.2 is 20 % above; None when either is unknown."""
        measured = self._measured(standing)
        return None if not self._approved or measured is None else measured / self._approved - 1.0

    def approve(self, now: Instant) -> dict[str, Any]:
        """Somebody with the right to has looked: what is measured now is what later drift is compared with.

        Returns what stood before and after; a declared value itself changes only in the site file. Raises ValueError
        when nothing has been measured yet that could be approved.
        """
        measured = self._measured(self.standing(now))
        if measured is None:
            raise ValueError(f"{self.channel}: nothing is measured yet that could be approved")
        before = self._choice()
        self._approved, self._asked = measured, False
        return self._change(before)

    def state(self) -> dict[str, Any]:
        """JSON-able; everything else is the ledger's."""
        return {**self._choice(), "asked": self._asked}

    def restore(self, state: Mapping[str, Any]) -> dict[str, Any] | None:
        """Bring the state back. Under another signed choice it is of no use: that change is returned, to be recorded.

        Raises LookupError for what cannot be read.
        """
        choice, before = self._choice(), {key: state[key] for key in ("mode", "hash", "approved")}
        if (before["mode"], before["hash"]) != (choice["mode"], choice["hash"]):
            return self._change(before)
        self._approved, self._asked = before["approved"], bool(state["asked"])
        return None

    def _change(self, before: dict[str, Any]) -> dict[str, Any]:
        return {"channel": self.channel, "unit": self.unit, "before": before, "after": self._choice()}

    def _choice(self) -> dict[str, Any]:
        """The signed choice, and the value that drift is measured from."""
        mode, content = ("", "") if self.chosen is None else (self.chosen.mode, self.chosen.hash)
        return {"mode": mode, "hash": content, "approved": self._approved}

    def _measured(self, standing: Standing) -> float | None:
        """What normal operation is by measurement: the computed one in force, else the operating one."""
        chosen = standing.chosen if self.moving else standing.figures[1]
        return None if chosen is None else chosen.value

    def _id(self, method: str) -> str:
        chosen = self.chosen
        return chosen.id if chosen is not None and chosen.mode == method else f"{self.channel}-{method}"

    def _declared_figure(self, declared: Baseline | None, channel: Channel) -> Figure:
        value = None if declared is None else _in_unit(declared.value, declared, channel)
        if declared is None or value is None:
            return Figure(DECLARED, self._id(DECLARED), "", 0, None, Stance.NO_BASELINE.value)
        return Figure(DECLARED, self._id(DECLARED), f"approved {declared.approved_on}", 0, value)

    def _computed(self, now: Instant) -> tuple[Figure, Figure]:
        sums = self._ledger.trailing(now)  # first: it settles the ledger, and may close a day
        return self._operating(), self._literal(sums)

    def _operating(self) -> Figure:
        days: list[DayRecord] = []
        for day in reversed(self._ledger.days):
            if not day.events and day.sums.valid_us >= _COVERAGE * day.sums.discharging_us > 0:
                days.append(day)
                if len(days) == _DAYS:
                    break
        if days != self._normal_days or self._figure is None:  # most minutes: the same records, compared by identity
            self._normal_days, self._figure = days, self._operating_of(days)
        return self._figure

    def _operating_of(self, days: list[DayRecord]) -> Figure:
        name = self._id(OPERATING)
        if len(days) < self._min_days:
            return Figure(OPERATING, name, "", len(days), None, f"baseline: {len(days)} of {self._min_days} days")
        total = _total([day.sums for day in days])
        value = total.mean if self._flow is None else total.mean_time_weighted
        return Figure(OPERATING, name, f"{days[-1].date}/{days[0].date}", len(days), value)

    def _literal(self, sums: DaySums) -> Figure:
        value, enough = self._literal_flow() if self._flow is not None else self._literal_value(sums)
        reason = "" if enough else _THIN
        return Figure(LITERAL, self._id(LITERAL), "24 h", 1 if enough else 0, value if enough else None, reason)

    def _literal_value(self, sums: DaySums) -> tuple[float | None, bool]:
        """The mean in time. Half of the 24 h must be valid, of what is not known to have been without discharge."""
        seen_us = self._ledger.today.length_us + sum(day.length_us for day in self._ledger.days[-2:])
        idle_us = min(seen_us, _DAY_US) - sums.discharging_us
        return sums.mean_time_weighted, sums.valid_us * 2 >= _DAY_US - idle_us and sums.valid_us > 0

    def _literal_flow(self) -> tuple[float | None, bool]:
        end_us = self._ledger.settled_us
        volume, valid_us = self._flow_up_to(end_us)
        volume_before, valid_before_us = self._flow_up_to(end_us - _DAY_US)
        spent_us = valid_us - valid_before_us
        if spent_us * 2 < _DAY_US or self._to_unit is None:
            return None, False
        return self._to_unit((volume - volume_before) * _MINUTE_US / (spent_us * VOLUME_SCALE)), True

    def _flow_up_to(self, mono_us: int) -> tuple[int, int]:
        flow = self._flow
        try:
            return (0, 0) if flow is None else (flow.volume(mono_us), flow.valid_us(mono_us))
        except LookupError:  # before the flow was first heard
            return 0, 0


def mark_event(ledger: Ledger, finding: Finding, rule: Rule | None = None) -> None:
    """Let a rule's finding take the days it touches out of normal operation: exceeded or suspected, begun or over.

    Given its rule, only a slug or an instant limit does, and no advisory: a day's volume above a threshold of
    classification is normal where every day's is.
    """
    if rule is not None and (rule.kind not in _EVENTFUL or rule.advisory):
        return
    name = f"{finding.rule}.{finding.channel}"
    if finding.event is FindingEvent.RAISED:
        ledger.event_began(name, finding.since)
    elif finding.event is FindingEvent.CLEARED or finding.verdict is Verdict.EXCEEDED:
        ledger.event_ended(name, finding.since)
    elif finding.event is FindingEvent.SUSPECTED:
        ledger.event_ended(f"{name}.suspected", finding.since)


def _total(days: list[DaySums]) -> DaySums:
    return DaySums(
        weighted=sum(day.weighted for day in days),
        volume=sum(day.volume for day in days),
        plain=sum(day.plain for day in days),
        valid_us=sum(day.valid_us for day in days),
        discharging_us=sum(day.discharging_us for day in days),
        flowed_us=sum(day.flowed_us for day in days),
        unflowed=sum(day.unflowed for day in days),
    )


def _in_unit(value: float | None, baseline: Baseline, channel: Channel) -> float | None:
    return None if value is None else conversion(baseline.unit, channel.unit)(value)
