"""When the next pulse of a composite is due: by the volume that went by, or by the clock. Pure, and exact.

Volume is counted in whole numbers, so that what a pulse leaves over is carried to the next without loss, over a
restart too. Water that nobody measured is not guessed: it makes no pulse, now or later.
"""

from fractions import Fraction
from typing import Any

__all__ = ["FlowPace", "TimePace", "parts_of"]

PARTS_PER_UNIT = 1_000_000  # of a gallon a minute, and so of a gallon
_US_PER_MIN = 60_000_000
_HALVES = 2  # the trapezoid's half, kept whole
_MOST_OWED = 1  # pulses that wait for the sampler to be ready again; what is beyond is lost, and counted
_FAR_US = 1 << 62


def parts_of(volume_gal: float) -> int:
    """A volume in the whole numbers volumes are counted in: half microgallons times microseconds in a minute."""
    return round(Fraction(repr(volume_gal)) * PARTS_PER_UNIT * _US_PER_MIN * _HALVES)


class FlowPace:
    """One pulse per `volume_gal`; two never closer than `spacing_us`.

    Between two known flows not more than `hold_us` apart the volume is the trapezoid under them; across a longer gap it
    is nothing, and the gap counts as unknown. At every moment: pulses + owed + lost = whole volumes that went by.
    """

    def __init__(self, volume_gal: float, spacing_us: int, hold_us: int, start_us: int) -> None:
        self.each = parts_of(volume_gal)
        if self.each <= 0:
            raise ValueError("a pulse stands for a volume above zero")
        self._spacing_us = spacing_us
        self._hold_us = hold_us
        self.carried = 0  # volume since the last whole one
        self.total = 0  # volume in all
        self.owed = 0
        self.lost = 0
        self.unknown_us = 0
        self._flow: int | None = None  # microgallons a minute
        self._known_us = start_us
        self._next_us = start_us

    def flow(self, at_us: int, gpm: float) -> None:
        """A flow somebody can vouch for. Moments that are not later than the last are no news."""
        if at_us <= self._known_us and self._flow is not None:
            return
        flow = max(0, round(gpm * PARTS_PER_UNIT))
        elapsed_us = at_us - self._known_us
        if elapsed_us > self._hold_us:
            self.unknown_us += elapsed_us
            self._give_up_owed()
        elif self._flow is not None:
            volume = (self._flow + flow) * elapsed_us
            self.total += volume
            whole, self.carried = divmod(self.carried + volume, self.each)
            self.owed += whole
        self._flow, self._known_us = flow, at_us

    def due(self, now_us: int) -> bool:
        """Whether a pulse is to be made now; it then counts as made."""
        if now_us - self._known_us > self._hold_us:
            self._give_up_owed()
        made = self.owed > 0 and now_us >= self._next_us
        if made:
            self.owed -= 1
            self._next_us = now_us + self._spacing_us
        self.limit_owed()
        return made

    def limit_owed(self) -> None:
        """What waits beyond the one pulse that may is lost."""
        if self.owed > _MOST_OWED:
            self.lost += self.owed - _MOST_OWED
            self.owed = _MOST_OWED

    @property
    def deadline_us(self) -> int:
        """When to ask again without a new flow."""
        return self._next_us if self.owed else _FAR_US

    def unknown_by(self, now_us: int) -> int:
        """How long, in all, nobody could tell the flow; the present gap included once it is one."""
        since_us = now_us - self._known_us
        return self.unknown_us + (since_us if since_us > self._hold_us else 0)

    def _give_up_owed(self) -> None:
        """No pulse while nobody knows the flow, and none afterwards for before."""
        self.lost += self.owed
        self.owed = 0

    def state(self) -> dict[str, Any]:
        """Everything, JSON-able; stamps are monotonic."""
        return {
            "carried": self.carried, "total": self.total, "owed": self.owed, "lost": self.lost, "flow": self._flow,
            "unknown_us": self.unknown_us, "known_us": self._known_us, "next_us": self._next_us,
        }  # fmt: skip

    def restore(self, state: dict[str, Any], offset_us: int | None, now_us: int) -> None:
        """Go on from a stored state; without an offset nobody knows how long the gateway was away."""
        self.carried, self.total, self.owed = state["carried"], state["total"], state["owed"]
        self.lost, self.unknown_us = state["lost"], state["unknown_us"]
        if offset_us is None:
            self._flow, self._known_us, self._next_us = None, now_us, now_us + self._spacing_us
            self._give_up_owed()
            return
        self._flow, self._known_us = state["flow"], state["known_us"] + offset_us
        self._next_us = state["next_us"] + offset_us


class TimePace:
    """One pulse every `every_us`. Slots that passed while nothing was to be sampled, or unseen, are never made up."""

    def __init__(self, every_us: int, start_us: int) -> None:
        if every_us <= 0:
            raise ValueError("pulses are some time apart")
        self._every_us = every_us
        self._next_us = start_us
        self.missed = 0  # slots nobody was there for
        self.idle = 0  # slots in which nothing was discharged, or the sampler was held

    def due(self, now_us: int, *, idle: bool) -> bool:
        """Whether a pulse is to be made now; it then counts as made."""
        if now_us < self._next_us:
            return False
        slots = (now_us - self._next_us) // self._every_us
        self.missed += slots
        self._next_us += (slots + 1) * self._every_us
        if idle:
            self.idle += 1
        return not idle

    def miss_until(self, end_us: int) -> None:
        """Every slot before this moment that nobody came to is missed: for the end."""
        if self._next_us < end_us:
            slots = -(-(end_us - self._next_us) // self._every_us)
            self.missed += slots
            self._next_us += slots * self._every_us

    @property
    def deadline_us(self) -> int:
        """The next slot."""
        return self._next_us

    def state(self) -> dict[str, Any]:
        """Everything, JSON-able."""
        return {"next_us": self._next_us, "missed": self.missed, "idle": self.idle}

    def restore(self, state: dict[str, Any], offset_us: int | None, now_us: int) -> None:
        """Go on from a stored state; without an offset the next slot is a whole period away."""
        self.missed, self.idle = state["missed"], state["idle"]
        self._next_us = now_us + self._every_us if offset_us is None else state["next_us"] + offset_us
