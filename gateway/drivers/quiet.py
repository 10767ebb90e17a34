"""How long a serial line must be left alone: the memory behind "keep silent and drain". Pure, times as arguments.

RTU has no transaction number. An answer that comes after its deadline looks exactly like the answer to the next request
of the same shape, so the next request must wait until no such answer can come any more. All times are seconds on one
monotonic axis.
"""

from dataclasses import dataclass, field

__all__ = ["BITS_PER_CHARACTER", "Quiet", "character_gap_s"]

BITS_PER_CHARACTER = 11  # start, eight data, parity or second stop, stop (Modbus over serial line 2.5.1)
_FAST_GAP_S = 0.00175  # above 19200 baud the gap is fixed (same, 2.5.1.1)
_FAST_BAUD = 19200


def character_gap_s(baud: int) -> float:
    """The silence that separates two RTU frames: 3.5 characters, 1.75 ms above 19200 baud."""
    return _FAST_GAP_S if baud > _FAST_BAUD else 3.5 * BITS_PER_CHARACTER / baud


@dataclass(slots=True)
class _Unit:
    slowest_s: float = 0.0  # the longest it ever took to answer
    longest_limit_s: float = 0.0  # the longest it was ever given: a second try in the time left over has less
    quiet_until: float = 0.0  # not to be asked before
    owes: bool = False  # it let a deadline pass, and may still answer
    paid_late: bool = False  # it did answer after its last deadline: alive and slow
    holds_line: bool = False  # nobody else is asked before `quiet_until` either


@dataclass(slots=True)
class Quiet:
    """What one line remembers of its units. `gap_s` is the silence between any two frames."""

    gap_s: float
    heard_at: float = 0.0
    _until: float = 0.0
    _units: dict[int, _Unit] = field(default_factory=dict)

    def heard(self, now: float) -> None:
        """Something came in."""
        self.heard_at = now

    def answered(self, unit: int, started: float, now: float) -> None:
        """The right answer came."""
        state = self._unit(unit)
        state.slowest_s = max(state.slowest_s, now - started)

    def settled(self, unit: int, now: float) -> None:
        """The first answer after a missed deadline came and was thrown away.

        If it belonged to the earlier request, its successor comes within the unit's slowest answer from now.
        """
        state = self._unit(unit)
        state.owes = False
        self._until = max(self._until, now + state.slowest_s)

    def timed_out(self, unit: int, started: float, limit_s: float) -> None:
        """No answer by the deadline: the unit is left alone for as long as it ever had, or as it is known to take.

        The others go on, for a silent unit is mostly a dead one; unless it answered after its deadline the last time.
        """
        state = self._unit(unit)
        state.owes = True
        state.holds_line, state.paid_late = state.paid_late, False
        limit_s = state.longest_limit_s = max(limit_s, state.longest_limit_s)
        state.quiet_until = started + limit_s + max(limit_s, state.slowest_s)

    def abandoned(self, unit: int, now: float, limit_s: float) -> None:
        """The request was given up by its maker; its answer is still to come."""
        state = self._unit(unit)
        state.owes = True
        state.quiet_until = now + max(limit_s, state.longest_limit_s)

    def garbled(self, unit: int, started: float, limit_s: float) -> None:
        """Noise or a wrong answer came: the right one may still follow, within twice the unit's slowest answer."""
        state = self._unit(unit)
        state.longest_limit_s = max(limit_s, state.longest_limit_s)
        slowest_s = state.slowest_s
        self._until = max(self._until, started + (min(limit_s, 2 * slowest_s) if slowest_s else limit_s))

    def busy_until(self, until: float) -> None:
        """The devices have something to do: nobody is asked before."""
        self._until = max(self._until, until)

    def paid(self, unit: int) -> None:
        """A sound frame of the unit came while nobody waited for it."""
        state = self._unit(unit)
        state.paid_late = state.paid_late or state.owes

    def owes(self, unit: int) -> bool:
        """Whether an answer to an earlier request may still come from this unit."""
        return self._unit(unit).owes

    def owing(self) -> frozenset[int]:
        """The units that may still answer an earlier request."""
        return frozenset(unit for unit, state in self._units.items() if state.owes)

    def free_at(self, unit: int) -> float:
        """When this unit may be asked."""
        own = self._unit(unit).quiet_until
        holders = (state.quiet_until for state in self._units.values() if state.holds_line)
        return max(self.heard_at + self.gap_s, self._until, own, *holders)

    def _unit(self, unit: int) -> _Unit:
        return self._units.setdefault(unit, _Unit())
