"""The sums behind every average: exact integers, so that a window is the same however its readings arrived.

Fixed point: a value counts in units of 1 / VALUE_SCALE, [H+] in mol/L of 1 / HYDROGEN_SCALE, a volume in gal of
1 / VOLUME_SCALE; time in microseconds. Sums of integers are exact under addition and subtraction, in any order. The
scales are decimal because instruments and laws are: the mean of readings of 1.6 is 1.6, and does not exceed it.
"""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

from gateway.model import Instant, Resume
from gateway.rules.track import instant_from, instant_state

__all__ = ["HYDROGEN_SCALE", "VALUE_SCALE", "VOLUME_SCALE", "DayRecord", "DaySums"]

VALUE_SCALE = 10**9  # of the channel's unit
HYDROGEN_SCALE = 10**24  # of mol/L: pH 14 still has ten digits
VOLUME_SCALE = 60_000_000 * 10**6  # one millionth of a gpm for one microsecond


@dataclass(frozen=True, slots=True)
class DaySums:
    """One channel over one window, its discharging time alone (docs/judging.md 5.1).

    `weighted` sum of c q dt and `volume` sum of q dt, over the time when both count; `plain` sum of c dt over
    `valid_us`, the time when c counts. `discharging_us` also holds the time when nobody could tell that there was no
    discharge. `flowed_us` is the part of `valid_us` with a valid flow, `unflowed` the part of `plain` without one.
    `minimum` and `maximum` are the least and greatest value that counted, None when none did. With `hydrogen` the sums
    are of [H+] and the means are turned back into pH; [OH-] is not averaged, so alkaline spikes hide in such a mean.
    """

    weighted: int = 0
    volume: int = 0
    plain: int = 0
    valid_us: int = 0
    discharging_us: int = 0
    minimum: float | None = None
    maximum: float | None = None
    flowed_us: int = 0
    unflowed: int = 0
    hydrogen: bool = False

    @property
    def mean_flow_weighted(self) -> float | None:
        """Sum of c q dt over sum of q dt, in the channel's unit; None when no water counted."""
        return self.told(Fraction(self.weighted, self.volume) if self.volume else None)

    @property
    def mean_time_weighted(self) -> float | None:
        """Sum of c dt over its time, in the channel's unit; None when no time counted."""
        return self.told(Fraction(self.plain, self.valid_us) if self.valid_us else None)

    @property
    def mean(self) -> float | None:
        """The average the law is judged by, weighted by flow; None when no time counted.

        Time without a valid flow counts at the mean flow of the rest; without any water at all, all time counts alike.
        """
        return self.told(self.exact)

    @property
    def exact(self) -> Fraction | None:
        """The same average in fixed point, unrounded; of [H+] where the channel is pH."""
        if self.valid_us == 0:
            return None
        if self.volume == 0 or self.flowed_us == 0:
            return Fraction(self.plain, self.valid_us)
        top = self.weighted * self.flowed_us + self.volume * self.unflowed
        return Fraction(top, self.volume * self.valid_us)

    def told(self, exact: Fraction | None) -> float | None:
        """An average in fixed point as a number in the channel's unit, rounded once."""
        if exact is None:
            return None
        if not self.hydrogen:
            return float(exact / VALUE_SCALE)
        return -math.log10(exact / HYDROGEN_SCALE) if exact > 0 else None

    @property
    def time_weighted(self) -> bool:
        """Whether some of the average is weighted by time for want of a valid flow (docs/judging.md 5.1)."""
        return self.flowed_us < self.valid_us or (self.volume == 0 and self.valid_us > 0)

    @property
    def coverage(self) -> float | None:
        """The share of the discharging time that is valid; None when there was no discharge."""
        return None if self.discharging_us == 0 else self.valid_us / self.discharging_us

    @property
    def volume_gal(self) -> float:
        """The water that counted."""
        return self.volume / VOLUME_SCALE

    def state(self) -> list[Any]:
        """JSON-able, integers and floats as they are."""
        return [
            self.weighted, self.volume, self.plain, self.valid_us, self.discharging_us,
            self.minimum, self.maximum, self.flowed_us, self.unflowed, self.hydrogen,
        ]  # fmt: skip


@dataclass(frozen=True, slots=True)
class DayRecord:
    """One local day of one channel.

    `date` is the ISO local date; `start` and `end` its midnights (the first day starts before the gateway did: the
    time nobody saw counts as discharging and not valid). `length_us` is the time that was seen, `volume_gal` all water
    of the flow channel that day and `flow_valid_us` the time its flow was valid, `volume` the same water in fixed
    point; None and 0 on a site without flow. `events` says that an exceedance or interruption touched the day.
    """

    date: str
    start: Instant
    end: Instant
    sums: DaySums
    volume_gal: float | None
    events: bool
    length_us: int = 0
    flow_valid_us: int = 0
    volume: int = 0

    def marked(self) -> "DayRecord":
        """The same day, touched by an event."""
        return replace(self, events=True)

    def state(self) -> list[Any]:
        """JSON-able."""
        return [
            self.date, instant_state(self.start), instant_state(self.end), self.sums.state(), self.volume_gal,
            self.events, self.length_us, self.flow_valid_us, self.volume,
        ]  # fmt: skip

    @classmethod
    def from_state(cls, state: list[Any], resume: Resume) -> "DayRecord":
        """The record on this process's axis; `resume` must be able to place it."""
        start, end = instant_from(state[1], resume), instant_from(state[2], resume)
        if start is None or end is None:
            raise ValueError(f"the day {state[0]} cannot be placed in time")
        return cls(state[0], start, end, DaySums(*state[3]), *state[4:])
