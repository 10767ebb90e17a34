"""How long to wait before trying again: exponential, capped, with full jitter."""

import random
from dataclasses import dataclass, field

__all__ = ["Backoff"]


@dataclass(slots=True)
class Backoff:
    """Delays that grow with each failure in a row and never in step with anybody else's.

    The n-th delay is drawn evenly from `floor_s` to min(`cap_s`, `base_s` x 2^n). The floor keeps a fault that answers
    at once from becoming a busy loop; full jitter keeps a county of gateways from returning in the same second.
    """

    base_s: float = 1.0
    cap_s: float = 60.0
    floor_s: float = 0.05
    draw: random.Random = field(default_factory=random.Random)
    failures: int = 0

    def next_s(self, not_before_s: float | None = None) -> float:
        """Count one failure more; the wait in seconds, at least `not_before_s` when the other side named one."""
        # The exponent is capped too: 2.0 ** 1100 is an OverflowError after a week of failures.
        ceiling = min(self.cap_s, self.base_s * 2.0 ** min(self.failures, 30))
        self.failures += 1
        return max(self.floor_s, self.draw.uniform(self.floor_s, max(self.floor_s, ceiling)), not_before_s or 0.0)

    def reset(self) -> int:
        """Forget the failures in a row; how many there were."""
        failures, self.failures = self.failures, 0
        return failures
