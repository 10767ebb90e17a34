"""The record of one rule's events: every finding names its clause, its limit and whose limit that is."""

from collections.abc import Mapping
from typing import Any

from gateway.model import Finding, FindingEvent, Instant, Verdict
from gateway.rules.metering import Meter, Water
from gateway.rules.threshold import Threshold
from gateway.rules.track import Run
from gateway.site import Rule

__all__ = ["Record"]

_OF_THE_EVENT = frozenset({FindingEvent.RAISED, FindingEvent.CLEARED, FindingEvent.INTERRUPTED})


class Record:
    """Writes the findings of one rule on one channel, by the threshold as it stands."""

    __slots__ = ("_hashes", "_rule", "_threshold", "meter")

    def __init__(self, rule: Rule, threshold: Threshold, hashes: Mapping[str, str]) -> None:
        self._rule = rule
        self._threshold = threshold
        self._hashes = hashes
        self.meter: Meter | None = None  # what measures the water of an event

    def of_run(
        self, event: FindingEvent, verdict: Verdict, run: Run, at: Instant, reason: str,
        *, observed: float | None = None, water: Water | None = None,
    ) -> Finding:  # fmt: skip
        """A finding about a run, with its water; `observed` is the run's latest value unless given."""
        observed = run.observed if observed is None else observed
        return self(event, verdict, run.since, at, run.duration_us, reason, observed, run.extreme, water)

    def __call__(
        self,
        event: FindingEvent,
        verdict: Verdict,
        since: Instant,
        at: Instant,
        duration_us: int,
        reason: str,
        observed: float | None = None,
        extreme: float | None = None,
        water: Water | None = None,
    ) -> Finding:
        """A finding; values in the rule's unit."""
        rule, threshold = self._rule, self._threshold
        context: dict[str, Any] = threshold.context(observed if extreme is None else extreme)
        if water is not None and self.meter is not None and event in _OF_THE_EVENT:
            context |= water.record(self.meter, duration_us)
        if rule.terms and not at.synced:
            context["clock"] = "untrusted"  # and terms begin and end by it
        return Finding(
            event=event,
            rule=rule.id,
            clause=rule.clause,
            channel=rule.channel,
            verdict=verdict,
            since=since,
            at=at,
            duration_us=duration_us,
            reason=reason,
            unit=rule.unit,
            observed=observed,
            limit=threshold.limit,
            baseline=threshold.baseline,
            extreme=extreme,
            hashes=self._hashes,
            source=threshold.source,
            context=context,
        )

    def warning(self, step_us: int) -> str:
        """What a pre-alarm says after so long."""
        left_min = (self._rule.duration_us - step_us) / 60e6
        return f"exceeding for {step_us / 60e6:g} min; an exceedance in {left_min:g} min if it goes on"

    def caveats(self, value: float) -> str:
        """What weakens an exceedance at this value, to go behind its reason."""
        rule, limit = self._rule, self._threshold.limit
        caveats = ""
        if rule.uncertainty is not None and limit is not None and abs(value - limit) <= rule.uncertainty:
            caveats += f"; within the sensor's uncertainty of {rule.uncertainty:g} {rule.unit}"
        if rule.depth_only:
            caveats += "; computed from depth alone"
        return caveats + ("; measured by a surrogate" if rule.surrogate else "")
