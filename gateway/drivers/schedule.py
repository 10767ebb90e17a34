"""When to poll, who is asked first, and how long to leave a silent device alone. Pure, on the monotonic axis.

Who is asked first: of those that may be asked now, the lowest `Rank`, and among equals whoever has been due for
longest. So that nobody is starved for ever, every fourth turn that would pass over somebody of a worse rank goes to the
one who has been due for longest, whatever the rank. Polls in between take only what nobody else wants.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

__all__ = ["Backoff", "Claim", "Rank", "Slots", "between", "choose"]

_PASSED_OVER_AT_MOST = 3


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


def between(slots: Slots, fast_us: int, after_us: int) -> int:
    """The next moment of a schedule of at least `fast_us` that keeps every regular slot; the slot itself when it is it.

    Each period is cut into as many equal parts as are no shorter than `fast_us`. `after_us` is when the last poll
    began: less than half a part after it nothing is due.
    """
    parts = slots.period_us // fast_us
    if parts < 2:
        return slots.due_us
    part_us = slots.period_us // parts
    left = (slots.due_us - after_us - part_us // 2) // part_us
    return slots.due_us - max(0, min(left, parts - 1)) * part_us


class Rank(IntEnum):
    """Why somebody wants the line, the most urgent first."""

    ORDER = 0  # a command to an output
    ALARM = 1  # a channel that a rule judges, or that says whether there is a discharge
    PLAIN = 2
    PROBE = 3  # a device that did not answer the last time
    BETWEEN = 4  # a poll between two slots, while a rule is under way


@dataclass(frozen=True, slots=True)
class Claim:
    """Somebody waits for the line. A poll in between becomes a regular one when `regular_us` has come."""

    rank: Rank
    due_us: int
    regular_us: int | None = None

    def rank_at(self, now_us: int) -> Rank:
        """Its rank at a moment."""
        return Rank.BETWEEN if self.regular_us is not None and now_us < self.regular_us else self.rank


def choose(claims: Sequence[Claim], now_us: int, passed_over: int) -> tuple[int, int]:
    """Which of these claims is next, by its place, and how many turns in a row have passed over a worse rank by then.

    ValueError when there is none.
    """
    ranks = [claim.rank_at(now_us) for claim in claims]
    regular = [place for place, rank in enumerate(ranks) if rank is not Rank.BETWEEN]
    if passed_over >= _PASSED_OVER_AT_MOST and regular:
        return min(regular, key=lambda place: (claims[place].due_us, ranks[place])), 0
    best = min(range(len(claims)), key=lambda place: (ranks[place], claims[place].due_us))
    passes = any(ranks[place] > ranks[best] for place in regular)
    return best, passed_over + 1 if passes else 0


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
