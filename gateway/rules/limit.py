"""Instant limits: pH and temperature, judged on a value confirmed by consecutive valid samples (docs/judging.md 3)."""

from gateway.model import Verdict
from gateway.rules.run import ExceedanceRule

__all__ = ["LimitRule"]

_BEYOND = {">": "above", ">=": "at or above", "<": "below", "<=": "at or below"}


class LimitRule(ExceedanceRule):
    """An exceedance is `rule.confirm` consecutive valid samples beyond the limit; one sample alone is suspected."""

    unproven = Verdict.SUSPECTED

    def proves(self, duration_us: int, count: int) -> bool:
        """Enough consecutive samples; how long they took does not matter."""
        return count >= self.rule.confirm

    def proof(self) -> str:
        """For example: below 5.5 pH on 3 consecutive samples."""
        rule = self.rule
        return f"{_BEYOND[rule.comparison]} {rule.limit:g} {rule.unit} on {rule.confirm} consecutive samples"
