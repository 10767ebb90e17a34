"""Quality as people see it: the letters of NAMUR NE 107."""

from gateway.model import Mode, Quality, Reading

__all__ = ["quality_letter"]


def quality_letter(reading: Reading) -> str:
    """F failure, C function check (maintenance), S out of specification; empty when all is well."""
    if reading.mode is not Mode.RUN:
        return "C"
    if reading.quality in (Quality.FAIL, Quality.MISSING):
        return "F"
    return "S" if reading.quality is Quality.SUSPECT else ""
