"""Slugs: beyond the threshold without a break for longer than the duration of the law (docs/judging.md 4)."""

from gateway.model import Verdict
from gateway.rules.run import ExceedanceRule

__all__ = ["SlugRule"]


class SlugRule(ExceedanceRule):
    """An exceedance is a run whose last minus first exceeding sample is longer than (or, where the law says so, at
    least) `rule.duration_us`. A shorter run is compliant: the law forbids the slug, not the peak."""

    unproven = Verdict.COMPLIANT

    def proves(self, duration_us: int, count: int) -> bool:
        """Duration from stamps, never from sample counts (docs/judging.md 4.2)."""
        least_us = self.rule.duration_us
        return duration_us > least_us or (duration_us == least_us and not self.rule.strict_duration)

    def proof(self) -> str:
        """For example: more than 5 x baseline for longer than 15 min."""
        rule = self.rule
        more = "more than" if rule.comparison == ">" else "at least"
        threshold = f"{rule.factor:g} x baseline" if rule.factor is not None else f"{rule.limit:g} {rule.unit}"
        minutes = f"{rule.duration_us / 60e6:g} min"
        duration = f"longer than {minutes}" if rule.strict_duration else f"{minutes} or longer"
        return f"{more} {threshold} for {duration}"
