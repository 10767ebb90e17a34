"""Quality as people see it: the letters of NAMUR NE 107, and what the technician does about it."""

from gateway.model import Mode, Quality, Reading
from gateway.signals.diagnosis.catalogue import DIAGNOSES, action_of

__all__ = ["action_for", "quality_letter"]


def quality_letter(reading: Reading) -> str:
    """F failure, C function check (maintenance), S out of specification, M maintenance required; empty for none."""
    if reading.mode is not Mode.RUN:
        return "C"
    quality, tests = reading.quality, reading.tests
    if quality is Quality.FAIL or quality is Quality.MISSING:
        return "F"
    if not tests:
        return "S" if quality is Quality.SUSPECT else ""
    letters = {DIAGNOSES[test].letter if test in DIAGNOSES else "S" for test in tests}
    if quality is Quality.SUSPECT and letters == {"M"}:
        return "M"
    return "S" if quality is Quality.SUSPECT else "M" if "M" in letters else ""


def action_for(reading: Reading) -> str:
    """The one thing to do about this reading, in plain words; empty when there is nothing, or somebody is at it."""
    return "" if reading.mode is not Mode.RUN else action_of(reading.tests)
