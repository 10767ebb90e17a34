"""A counter of volume: what ran between two of its readings, and what its steps mean.

A counter goes up, rolls over at its width, is reset by a technician, is replaced with its meter, wavers at a digit, and
is read wrong. Each looks like a jump; how far water can have run in the time tells them apart.
"""

from dataclasses import dataclass
from enum import StrEnum

from gateway.model import Resume

__all__ = ["SCALE", "Increment", "Meaning", "Totalizer"]

SCALE = 10**6
"""Volumes are whole numbers of a millionth of the channel's unit: their sum is the same however it is made."""

_GRACE_US = 60_000_000  # ours: a counter that moves in large steps may show a minute's water at once
_CONFIRM = 3  # ours, as for a limit: one reading proves nothing


class Meaning(StrEnum):
    """What a reading of the counter means."""

    FIRST = "first"  # nothing before it to count from
    COUNTED = "counted"
    JITTER = "jitter"  # a small step back; counted on from the highest reading
    ROLLED_OVER = "rolled over"
    REFUSED = "refused"  # more than can have run, or a step back: not counted until it is confirmed
    STRAYED = "strayed"  # the readings refused before were wrong: the counter goes on from where it was
    RESET = "reset"  # confirmed: it began again near zero
    REPLACED = "replaced"  # confirmed: it began again elsewhere, lower
    JUMPED = "jumped"  # confirmed: it went on elsewhere, higher, than water can have run
    AMBIGUOUS = "ambiguous"  # after so long a gap it may have rolled over any number of times


@dataclass(frozen=True, slots=True)
class Increment:
    """What one reading adds, in SCALE of the channel's unit. Not `whole`: at least so much, and some is unknown."""

    volume: int
    meaning: Meaning
    whole: bool = True


@dataclass(slots=True)
class _Suspect:
    """A run of readings that contradict the count and agree among themselves."""

    first: int
    first_us: int
    last: int
    last_us: int
    count: int = 1


class Totalizer:
    """One counter. `most_per_min` is the most that can run in a minute, `modulus` the volume at which it begins again
    (None: it never does), `jitter` how far it may step back without meaning; all in the channel's unit.

    Raises ValueError for a `most_per_min` or modulus that is not above zero.
    """

    def __init__(self, most_per_min: float, modulus: float | None = None, jitter: float = 0.0) -> None:
        if not most_per_min > 0 or (modulus is not None and not modulus > 0):
            raise ValueError("what can run, and where the counter begins again, must be above zero")
        self._most = round(most_per_min * SCALE)
        self._modulus = None if modulus is None else round(modulus * SCALE)
        self._jitter = round(jitter * SCALE)
        self._base: int | None = None
        self._base_us = 0
        self._suspect: _Suspect | None = None

    @property
    def since_us(self) -> int:
        """The monotonic moment of the reading that the next increment counts from."""
        return self._base_us

    def take(self, value: float, mono_us: int) -> Increment:
        """The next valid reading, in the channel's unit."""
        count = round(value * SCALE)
        if self._base is None:
            self._go_on(count, mono_us)
            return Increment(0, Meaning.FIRST, whole=False)
        most = self._can_run(mono_us - self._base_us)
        step = count - self._base
        if self._modulus is not None and most >= self._modulus:
            self._go_on(count, mono_us)
            return Increment(step % self._modulus, Meaning.AMBIGUOUS, whole=False)
        strayed = self._suspect is not None
        if 0 <= step <= most:
            self._go_on(count, mono_us)
            return Increment(step, Meaning.STRAYED if strayed else Meaning.COUNTED)
        if -self._jitter <= step < 0:
            self._go_on(self._base, mono_us)
            return Increment(0, Meaning.STRAYED if strayed else Meaning.JITTER)
        if self._modulus is not None and step < 0 and step + self._modulus <= most:
            self._go_on(count, mono_us)
            return Increment(step + self._modulus, Meaning.ROLLED_OVER)
        return self._doubt(count, mono_us)

    def _can_run(self, span_us: int) -> int:
        """More than this cannot have run in that time."""
        return self._most * (span_us + _GRACE_US) // _GRACE_US

    def _go_on(self, count: int, mono_us: int) -> None:
        self._base, self._base_us, self._suspect = count, mono_us, None

    def _doubt(self, count: int, mono_us: int) -> Increment:
        """A reading that contradicts the count: believed once others follow it as a counter would."""
        suspect = self._suspect
        if suspect is not None and self._follows(suspect, count, mono_us):
            suspect.last, suspect.last_us = max(count, suspect.last), mono_us
            suspect.count += 1
            if suspect.count >= _CONFIRM:
                return self._begin_again(suspect)
        else:
            self._suspect = _Suspect(count, mono_us, count, mono_us)
        return Increment(0, Meaning.REFUSED)

    def _follows(self, suspect: _Suspect, count: int, mono_us: int) -> bool:
        step = count - suspect.last
        return -self._jitter <= step <= self._can_run(mono_us - suspect.last_us)

    def _begin_again(self, suspect: _Suspect) -> Increment:
        """What ran since the break is counted; what ran before it, after the last good reading, nobody knows."""
        base = self._base or 0
        near_zero = 0 <= suspect.first <= self._can_run(suspect.first_us - self._base_us)
        if suspect.first > base:
            meaning, volume = Meaning.JUMPED, suspect.last - suspect.first
        elif near_zero:
            meaning, volume = Meaning.RESET, suspect.last
        else:
            meaning, volume = Meaning.REPLACED, suspect.last - suspect.first
        self._go_on(suspect.last, suspect.last_us)
        return Increment(volume, meaning, whole=False)

    def state(self) -> list[int] | None:
        """JSON-able; a break that is not confirmed yet is not kept, it will be seen again."""
        return None if self._base is None else [self._base, self._base_us]

    def restore(self, state: list[int] | None, resume: Resume) -> None:
        """Bring it back. Where nobody knows how long the gateway was away, the count begins anew."""
        self._suspect = None
        base_us = None if state is None else resume.mono(state[1])
        if state is None or base_us is None:
            self._base = None
            return
        self._base, self._base_us = state[0], base_us
