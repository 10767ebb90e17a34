"""The limit of one rule from moment to moment: printed or a multiple of the baseline, as terms amend it.

Whatever changes a threshold passes through here: the baseline in force and its freezing (docs/judging.md 4.9), waivers,
agreements and permits (8), and a sensor at full scale (4.10).
"""

from collections.abc import Mapping
from math import inf
from typing import Any

from gateway.model import Instant
from gateway.rules.baseline import Baselines, Standing
from gateway.rules.stance import Stance
from gateway.rules.terms import ORDINANCE, Ruling, Terms
from gateway.site import Channel, Rule

__all__ = ["Threshold"]


class Threshold:
    """What one rule compares with, now. `limit` and `baseline` are in the rule's unit.

    `limit` None means that nobody can tell, and `reason` why. `baseline` is None where the limit rests on none.
    """

    __slots__ = (
        "_baselines", "_full_scale", "_minute_us", "_ordinance", "_terms", "_upward", "baseline", "full_scale", "limit",
        "rule", "ruling", "source", "standing",
    )  # fmt: skip

    def __init__(self, rule: Rule, channel: Channel, start: Instant) -> None:
        self.rule = rule
        self.full_scale = inf if channel.full_scale is None else channel.full_scale  # in the channel's unit
        self._full_scale = inf if channel.full_scale is None else rule.to_unit(channel.full_scale)
        self._upward = rule.comparison.startswith(">")
        self._terms = Terms(rule)
        self._baselines: Baselines | None = None
        self._minute_us = -1
        self.standing: Standing | None = None
        self.ruling: Ruling = self._terms.ruling(start.utc_us)
        self._apply()

    def follow(self, baselines: Baselines, now: Instant) -> None:
        """Take the baseline from here on from the computed ones. Raises ValueError for those of another channel."""
        if baselines.channel != self.rule.channel:
            raise ValueError(f"{self.rule.alarm} judges {self.rule.channel}, not {baselines.channel}")
        self._baselines = baselines
        self.look(now)

    @property
    def moves(self) -> bool:
        """Whether it can ever change."""
        followed = self._baselines
        return bool(self.rule.terms) or (followed is not None and followed.moving)

    @property
    def freezes(self) -> bool:
        """Whether it keeps its value during an event."""
        return self.rule.baseline is None or self.rule.baseline.frozen

    @property
    def reason(self) -> str:
        """Why there is no limit."""
        return Stance.NO_BASELINE.value if self.standing is None else self.standing.reason

    @property
    def stance(self) -> Stance:
        """The same as a stance."""
        return Stance.COVERAGE if self.reason.startswith(Stance.COVERAGE.value) else Stance.NO_BASELINE

    def saturates(self, limit: float) -> bool:
        """Whether a value at full scale says nothing about the limit: it does only where full scale lies above it."""
        return not (self._upward and self._full_scale > limit)

    def due(self, now: Instant) -> bool:
        """Whether the baseline may have moved since the last look."""
        baselines = self._baselines
        if baselines is None or not baselines.moving:
            return False
        return now.mono_us >= self._minute_us or self._minute_us != baselines.minute_us

    def look(self, now: Instant) -> None:
        """Take the baselines as they stand now: at the start of an event, and when the baseline may have moved."""
        baselines = self._baselines
        if baselines is not None:
            self.standing = baselines.standing(now)
            self._minute_us = baselines.minute_us
            self._apply()

    def forget(self, now: Instant) -> None:
        """Let go of what was frozen."""
        self.ruling = self._terms.ruling(now.utc_us)
        self.look(now)
        self._apply()

    def amended(self, utc_us: int) -> str:
        """Take the terms in force at a moment of UTC. Returns by what the limit changed, empty if it did not."""
        before = self.limit, self.source, self.ruling.suspended
        self.ruling = self._terms.ruling(utc_us)
        self._apply()
        if (self.limit, self.source, self.ruling.suspended) == before:
            return ""
        return self.source if self.source != ORDINANCE else f"the end of {before[1]}"

    def context(self, extreme: float | None) -> dict[str, Any]:
        """What a finding's record needs of this, JSON-able; `extreme` is the run's, in the rule's unit.

        `baselines` and `ratios` (extreme over baseline) by method, before the floor, `ratio` over the one in force;
        `ordinance_limit` where a term rules, and `suspended` where it calls nobody.
        """
        context: dict[str, Any] = {}
        standing = self.standing
        if standing is not None:
            values = {f.method: None if f.value is None else self.rule.to_unit(f.value) for f in standing.figures}
            context["baselines"] = values
            context["ratios"] = {method: _ratio(extreme, value) for method, value in values.items()}
            context["ratio"] = _ratio(extreme, self._value())
            context["as_of_utc_us"] = standing.utc_us
            chosen = standing.chosen
            if chosen is not None:
                facts = {"id": chosen.id, "method": chosen.method, "window": chosen.window, "days": chosen.days}
                context["baseline"] = {**facts, "value": self._value()}
        if self.source != ORDINANCE:
            context["ordinance_limit"] = self._ordinance
        if self.ruling.suspended:
            context["suspended"] = True
        if extreme is not None and self._upward and extreme >= self._full_scale:
            context["saturated"] = True  # the extreme is a lower bound
        return context

    def state(self, utc_us: int) -> dict[str, Any]:
        """JSON-able: what ruled when it was last asked, for a run that a restart must find under the same limit."""
        ruling = self.ruling
        return {
            "limit": self.limit,
            "source": self.source,
            "definition": self._definition(),
            "ruled_utc_us": min(max(utc_us, ruling.from_utc_us), ruling.until_utc_us - 1),
            "standing": None if self.standing is None else self.standing.record(),
        }

    def restore(self, state: Mapping[str, Any], now: Instant) -> bool:
        """Bring back what ruled, frozen or not; False, and nothing changed, when it would not be the same today.

        An older release stored no more than the limit. Raises LookupError or TypeError for what cannot be read.
        """
        if "definition" not in state:
            return bool(state["limit"] == self.limit)
        record = state["standing"]
        if state["definition"] != self._definition() or (record is None) != (self.standing is None):
            return False
        self.standing = None if record is None else Standing.from_record(record)
        self.ruling = self._terms.ruling(state["ruled_utc_us"])
        self._minute_us = -1
        self._apply()
        if (self.limit, self.source) == (state["limit"], state["source"]):
            return True
        self.forget(now)
        return False

    def _definition(self) -> list[Any]:
        """What must be unchanged for a run to go on over a restart, JSON-able."""
        rule, signed = self.rule, self.rule.baseline
        if signed is None:
            return [rule.limit, rule.factor]
        return [rule.limit, rule.factor, signed.mode, signed.value, signed.floor, signed.frozen, signed.hash]

    def _apply(self) -> None:
        rule, baseline = self.rule, None
        ordinance = rule.limit
        if rule.factor is not None:
            baseline = self._value()
            ordinance = None if baseline is None else rule.factor * baseline
        self._ordinance = ordinance
        self.limit, self.source = self.ruling.limit(ordinance)
        self.baseline = baseline if self.limit == ordinance else None

    def _value(self) -> float | None:
        if self.standing is not None:
            value = self.standing.value
            return None if value is None else self.rule.to_unit(value)
        declared = self.rule.baseline
        if declared is None or declared.value is None:
            return None
        return declared.value if declared.floor is None else max(declared.value, declared.floor)


def _ratio(value: float | None, baseline: float | None) -> float | None:
    return None if value is None or not baseline else value / baseline
