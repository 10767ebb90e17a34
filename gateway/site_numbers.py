"""A quantity of the site file as a number in the unit that is wanted."""

from gateway.config_words import Measured
from gateway.problems import Problems
from gateway.toml_lines import Path
from gateway.units import conversion

__all__ = ["number_in"]


def number_in(
    measured: Measured | None, unit: str, path: Path, problems: Problems, *, signed: bool = False
) -> float | None:
    """The quantity in `unit`, None where it is absent or, after saying why, no such quantity or below zero unsigned."""
    if measured is None:
        return None
    value, given = measured
    try:
        converted = conversion(given, unit)(value)
    except ValueError as error:
        problems.error(path, str(error))
        return None
    if converted < 0 and not signed:
        problems.error(path, "must not be negative")
        return None
    return converted
