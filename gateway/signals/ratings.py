"""Every kind of primary device by name, with what the site file says of it on top."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from gateway.primary import Primary
from gateway.signals.flow import Rating
from gateway.signals.flumes import parshall, power
from gateway.signals.part_full import manning
from gateway.signals.rating_table import palmer_bowlus, ratiometric, table
from gateway.signals.weirs import cipolletti, rectangular, v_notch

__all__ = ["KINDS", "rating"]

KINDS: Mapping[str, Callable[[Primary], Rating]] = {
    "parshall": parshall,
    "v-notch": v_notch,
    "rectangular": rectangular,
    "cipolletti": cipolletti,
    "palmer-bowlus": palmer_bowlus,
    "manning": manning,
    "power": power,
    "table": table,
    "ratiometric": ratiometric,
}


def rating(primary: Primary) -> Rating:
    """The rating of one primary device. ValueError names an unknown kind, size or number and what is known."""
    rate = KINDS.get(primary.kind)
    if rate is None:
        raise ValueError(f"unknown primary device {primary.kind!r}; known are {', '.join(KINDS)}")
    known = rate(primary).within(primary.h_min_ft, primary.h_max_ft, primary.q_max_gpm)
    return replace(
        known,
        head_offset_ft=primary.head_offset_ft,
        accuracy=known.accuracy if primary.accuracy is None else primary.accuracy,
        source=primary.source or known.source,
        submergence_limit=(known.submergence_limit if primary.submergence_limit is None else primary.submergence_limit),
    )
