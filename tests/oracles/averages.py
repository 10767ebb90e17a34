"""Averages as docs/judging.md 5 tells them: elementary intervals, exact fractions, no memory, no hurry.

A series is a list of words per channel, in order of time: (second, kind, value). Kinds: `v` valid, `n` valid while not
discharging, `y` dry, `M` maintenance; `m` missing, `f` failed and `d` doubtful neither say nor end anything.
"""

from bisect import bisect_right
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import pairwise
from operator import itemgetter
from zoneinfo import ZoneInfo

Word = tuple[int, str, Fraction]


@dataclass
class Account:
    """What one window held, in seconds, the channel's unit and gal."""

    weighted: Fraction = Fraction(0)
    volume: Fraction = Fraction(0)
    plain: Fraction = Fraction(0)
    plain_without_flow: Fraction = Fraction(0)
    valid_s: int = 0
    flowed_s: int = 0
    discharging_s: int = 0
    all_water: Fraction = Fraction(0)
    flow_valid_s: int = 0
    length_s: int = 0
    least: Fraction | None = None
    most: Fraction | None = None

    @property
    def mean(self) -> Fraction | None:
        """Weighted by flow; what has no flow weighs like the mean flow of the rest; without water, by time."""
        if not self.valid_s:
            return None
        if not self.volume or not self.flowed_s:
            return self.plain / self.valid_s
        usual = self.volume / self.flowed_s
        top = self.weighted + usual * self.plain_without_flow
        return top / (self.volume + usual * (self.valid_s - self.flowed_s))


def speaking(words: list[Word]) -> list[Word]:
    """Those that say something."""
    return [word for word in words if word[1] in "vnyM"]


def in_force(words: list[Word], second: int, hold_s: int) -> Word | None:
    """The word that holds at a moment: the latest that says something, unless its hold is over."""
    index = bisect_right(words, second, key=itemgetter(0)) - 1
    if index < 0 or words[index][1] == "M" or second >= words[index][0] + hold_s:
        return None
    return words[index]


def account(channel: list[Word], flow: list[Word] | None, hold_s: int, since_s: int, until_s: int) -> Account:
    """Everything between two moments, interval by interval."""
    words, water = speaking(channel), speaking(flow or [])
    cuts = {since_s, until_s}
    for word in (*words, *water):
        cuts |= {word[0], word[0] + hold_s}
    inside = sorted(cut for cut in cuts if since_s <= cut <= until_s)
    total = Account()
    for start, end in pairwise(inside):
        span = end - start
        total.length_s += span
        here, running = in_force(words, start, hold_s), in_force(water, start, hold_s)
        rate = None if running is None else (running[2] if running[1] in "vn" else Fraction(0))
        if rate is not None:
            total.all_water += max(rate, Fraction(0)) * Fraction(span, 60)
            total.flow_valid_s += span
        idle_by_flow = running is not None and running[1] in "ny"
        idle_by_probe = here is not None and here[1] in "ny"
        if idle_by_flow or idle_by_probe:
            continue
        total.discharging_s += span
        if here is None:
            continue
        value = here[2]
        total.valid_s += span
        total.plain += value * span
        total.least = value if total.least is None else min(total.least, value)
        total.most = value if total.most is None else max(total.most, value)
        if rate is None:
            total.plain_without_flow += value * span
        else:
            total.flowed_s += span
            gal = max(rate, Fraction(0)) * Fraction(span, 60)
            total.volume += gal
            total.weighted += value * gal
    return total


def midnights(since_utc_s: int, until_utc_s: int, zone: ZoneInfo) -> list[int]:
    """Every second in (since, until] at which the wall shows a new date, found by looking at the wall."""

    def wall(second: int) -> tuple[int, int, int]:
        local = datetime.fromtimestamp(second, UTC).astimezone(zone)
        return local.year, local.month, local.day

    found, low = [], since_utc_s
    while low < until_utc_s:
        high = min(low + 3600, until_utc_s)
        if wall(high) != wall(low):
            before, after = low, high
            while after - before > 1:
                middle = (before + after) // 2
                before, after = (middle, after) if wall(middle) == wall(low) else (before, middle)
            found.append(after)
        low = high
    return found


def mean_of_days(days: list[tuple[Fraction, Fraction | None]]) -> Fraction | None:
    """Sum of C24 V24 over sum of V24; a day of unknown volume weighs like the mean of the known, alone like any other.

    A day of no water has no concentration and takes no part.
    """
    known = [(c, v) for c, v in days if v is not None and v > 0]
    unknown = [c for c, v in days if v is None]
    usual = sum((v for _, v in known), Fraction(0)) / len(known) if known else Fraction(1)
    pairs = known + [(c, usual) for c in unknown]
    if not pairs:
        return None
    return sum((c * v for c, v in pairs), Fraction(0)) / sum((v for _, v in pairs), Fraction(0))
