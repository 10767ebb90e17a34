"""When to poll, and how long to leave a silent device alone. Pure arithmetic on the monotonic axis."""

from dataclasses import dataclass, replace

__all__ = ["Backoff", "Slots"]


@dataclass(frozen=True, slots=True)
class Slots:
    """The poll slots of one period: `due_us` is the next one, always a whole number of periods after the first."""

    period_us: int
    due_us: int

    def taken(self, now_us: int) -> tuple["Slots", int]:
        """The slots after a poll that starts now, and how many of them went by unused.

        Before the slot is due nothing changes. A slot that was missed is never made up for.
        """
        if now_us < self.due_us:
            return self, 0
        missed = (now_us - self.due_us) // self.period_us
        return replace(self, due_us=self.due_us + (missed + 1) * self.period_us), missed


@dataclass(frozen=True, slots=True)
class Backoff:
    """Growing waits between tries: `base_us`, doubled with every failure in a row, up to `cap_us`."""

    base_us: int
    cap_us: int

    def delay_us(self, failures: int, jitter: float) -> int:
        """How long to wait after so many failures in a row (from 1); 0 when there was none.

        `jitter` from 0 to 1 is random and takes up to half of the wait away, so that many gateways that lost the same
        server do not come back in step. The exponent is capped: the wait never overflows and never shrinks.
        """
        if failures <= 0:
            return 0
        full = min(self.cap_us, self.base_us << min(failures - 1, 40)) if self.base_us <= self.cap_us else self.cap_us
        return full - int(full * jitter / 2)
