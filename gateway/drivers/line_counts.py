"""What a line has thrown away, for the whole line and for each unit: signs of trouble that never became data."""

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["LineCounts", "UnitCounts"]


@dataclass(slots=True)
class UnitCounts:
    """One unit since the line was made. Everything here is a place where the line and we were out of step for once."""

    late_answers: int = 0  # sound frames of the unit that came after their deadline
    wrong_answers: int = 0  # sound frames that were no answer to the request to the unit
    garbled: int = 0  # requests to the unit after which bytes came, but no sound answer
    resyncs: int = 0  # good answers of the unit behind stray bytes

    @property
    def desyncs(self) -> int:
        """All of them together."""
        return self.late_answers + self.wrong_answers + self.garbled + self.resyncs


@dataclass(slots=True)
class LineCounts:
    """The line since it was made."""

    late_answers: int = 0  # sound frames that came after their deadline
    foreign_frames: int = 0  # TCP frames of another transaction
    noisy_answers: int = 0  # good answers behind stray bytes
    echoes: int = 0  # requests the adapter gave back to us
    resets: int = 0  # connections closed because the other side had stopped making sense
    _units: dict[int, UnitCounts] = field(default_factory=dict)

    def of(self, unit: int) -> UnitCounts:
        """The counts of one unit; of a unit never seen, noughts."""
        return self._units.setdefault(unit, UnitCounts())

    @property
    def units(self) -> Mapping[int, UnitCounts]:
        """The counts of every unit of which there are any."""
        return self._units
