"""Quality as people see it: the letters of NAMUR NE 107."""

from gateway.model import Mode, Quality, Reading
from gateway.signals.qc import CALIBRATION_OVERDUE

__all__ = ["quality_letter"]


def quality_letter(reading: Reading) -> str:
    """F failure, C function check (maintenance), S out of specification, M maintenance required; empty for none."""
    if reading.mode is not Mode.RUN:
        return "C"
    if reading.quality in (Quality.FAIL, Quality.MISSING):
        return "F"
    if reading.quality is Quality.SUSPECT:
        return "S"
    return "M" if CALIBRATION_OVERDUE in reading.tests else ""
