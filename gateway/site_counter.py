"""Counters of the site file, checked: what can run, where they begin again, what they are compared with."""

from typing import TYPE_CHECKING

from gateway.drivers.profile import Point
from gateway.primary import Counter
from gateway.problems import Problems
from gateway.site_numbers import number_in
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path
from gateway.units import canonical_unit, difference_conversion, quantity_units

if TYPE_CHECKING:
    from gateway.config_flow import TotalizerTable
    from gateway.config_shape import SiteFile

__all__ = ["build_counter", "volume_source"]

_WIDTHS = {"u16": 16, "u32": 32, "u64": 64}
_HOLDS_AND_GRACE_MIN = 1.0  # what a counter is granted beyond the time between two readings


def build_counter(
    table: "TotalizerTable",
    at: Path,
    unit: str,
    poll_us: int,
    point: Point | None,
    tree: "SiteFile",
    problems: Problems,
) -> Counter | None:
    """The counter of one `totalizer` table, volumes in the channel's `unit`; None after saying what is wrong.

    Without `rolls_over_at` a register of whole numbers rolls over at its own width, any other never.
    """
    most_gpm = number_in(table.most, "gpm", (*at, "most"), problems)
    modulus = number_in(table.rolls_over_at, unit, (*at, "rolls_over_at"), problems)
    jitter = number_in(table.jitter, unit, (*at, "jitter"), problems)
    within = number_in(table.within, "%", (*at, "within"), problems)
    for key, value in (("most", most_gpm), ("rolls_over_at", modulus)):
        if value == 0:
            problems.error((*at, key), "must be above zero")
    if table.flow is None and table.within is not None:
        problems.error((*at, "flow"), "is required: with what the counter is compared")
    if table.flow is not None:
        _check_flow(table.flow, (*at, "flow"), tree, problems)
    if most_gpm is None or problems.told(at):
        return None
    most_per_min = difference_conversion("gal", unit)(most_gpm)
    if modulus is None and point is not None:
        modulus = _width(point, unit)
    apart_min = 2.5 * poll_us / 60e6 + _HOLDS_AND_GRACE_MIN
    if modulus is not None and most_per_min * apart_min >= modulus:
        why = f"the counter goes round in {modulus / most_per_min:.3g} min at that flow: nobody could count its turns"
        problems.error((*at, "most"), why)
        return None
    return Counter(most_per_min, modulus, jitter or 0.0, table.flow, 0.10 if within is None else within / 100)


def volume_source(name: str, path: Path, tree: "SiteFile", problems: Problems) -> str:
    """The unit in which a volume since midnight arrives: that of its counter, gal from a flow."""
    source = tree.channels.get(name)
    if source is None:
        problems.error(path, f"there is no channel {name!r}{did_you_mean(name, tree.channels)}")
    elif source.quantity == "volume" and source.totalizer is not None:
        try:
            return canonical_unit(source.unit or quantity_units("volume")[0])
        except ValueError:  # told where that channel is read
            return "gal"
    elif source.quantity != "flow":
        problems.error(path, "takes a flow, or a volume with a `totalizer`: its water since midnight")
    return "gal"


def _check_flow(name: str, path: Path, tree: "SiteFile", problems: Problems) -> None:
    flow = tree.channels.get(name)
    if flow is None:
        problems.error(path, f"there is no channel {name!r}{did_you_mean(name, tree.channels)}")
    elif flow.quantity != "flow":
        problems.error(path, f"{name} measures {flow.quantity}, not flow")


def _width(point: Point, unit: str) -> float | None:
    """The volume at which the register of a whole number begins again; None for a number put together of several."""
    bits = _WIDTHS.get(point.register.type)
    if bits is None or point.terms or point.listing is not None or point.register.bits is not None:
        return None
    try:
        return difference_conversion(point.unit or unit, unit)(2.0**bits * abs(point.scale))
    except ValueError:
        return None
