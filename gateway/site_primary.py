"""Primary devices of the site file, checked: every number in the core's units, every mistake with its key."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gateway.config_words import Measured
from gateway.primary import CrossCheck, Primary
from gateway.problems import Problems
from gateway.signals.ratings import rating
from gateway.site_numbers import number_in
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path
from gateway.units import conversion

if TYPE_CHECKING:
    from gateway.config_flow import CrossCheckTable, PrimaryTable
    from gateway.config_shape import SiteFile

__all__ = ["build_cross_check", "build_primary", "check_level"]

# Kind: what it must have, and what it may have.
_KEYS: Mapping[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "parshall": (("throat",), ()),
    "v-notch": (("angle",), ("equation", "crest_height", "channel_width")),
    "rectangular": (("crest",), ("contractions",)),
    "cipolletti": (("crest",), ()),
    "palmer-bowlus": ((), ("points", "curve", "full_head", "full_flow", "shape")),
    "manning": (("diameter", "slope"), ("roughness",)),
    "power": (("coefficient", "head_unit", "exponent", "h_min", "h_max"), ()),
    "table": (("points",), ("curve",)),
    "ratiometric": (("full_head", "full_flow", "shape"), ("curve",)),
}
_OF_ALL = frozenset(
    {
        "kind", "h_min", "h_max", "q_max", "accuracy", "source", "head_offset", "downstream", "downstream_offset",
        "submergence_limit",
    }
)  # fmt: skip
_LENGTHS_FT = (
    "throat", "crest", "crest_height", "channel_width", "diameter", "full_head", "h_min", "h_max", "head_offset",
    "downstream_offset",
)  # fmt: skip
_FLOWS_GPM = ("full_flow", "q_max")
_SHARES = ("slope", "accuracy", "submergence_limit")
_SIGNED = frozenset({"head_offset", "downstream_offset"})
_NAMES = {
    "parshall": "a Parshall flume", "v-notch": "a V-notch weir", "rectangular": "a rectangular weir",
    "cipolletti": "a Cipolletti weir", "palmer-bowlus": "a Palmer-Bowlus flume", "manning": "a pipe rated by Manning",
    "power": "a maker's equation", "table": "a table", "ratiometric": "a ratiometric device",
}  # fmt: skip
# Which key a mistake of the rating as a whole is told at.
_MAIN_KEY = {
    "parshall": "throat", "v-notch": "angle", "rectangular": "crest", "cipolletti": "crest", "palmer-bowlus": "points",
    "manning": "diameter", "power": "exponent", "table": "points", "ratiometric": "shape",
}  # fmt: skip


def build_primary(table: "PrimaryTable", at: Path, tree: "SiteFile", problems: Problems) -> Primary | None:
    """The device of one `primary` table, rated once to see that it can be; None after saying what is wrong."""
    _check_keys(table, at, problems)
    numbers: dict[str, Any] = {}
    for keys, unit, suffix in ((_LENGTHS_FT, "ft", "_ft"), (_FLOWS_GPM, "gpm", "_gpm"), (_SHARES, "%", "")):
        for key in keys:
            value = number_in(getattr(table, key), unit, (*at, key), problems, signed=key in _SIGNED)
            if value is not None:
                numbers[f"{key}{suffix}"] = value / 100 if unit == "%" else value
    if table.angle is not None:
        numbers["angle_deg"] = number_in(table.angle, "deg", (*at, "angle"), problems)
    points = tuple(_point(pair, (*at, "points"), problems) for pair in table.points or ())
    if table.downstream is not None:
        check_level(table.downstream, (*at, "downstream"), tree, problems)
    if table.downstream is None and table.downstream_offset is not None:
        problems.error((*at, "downstream_offset"), "needs `downstream`, the level channel behind the device")
    coefficient_cfs = _coefficient(table, at, problems)
    if problems.told(at):
        return None
    primary = Primary(
        kind=table.kind,
        equation=table.equation or "",
        contractions=table.contractions,
        roughness=table.roughness,
        coefficient_cfs=coefficient_cfs,
        exponent=table.exponent,
        points=points,
        curve=table.curve or "",
        shape=_shape(table.shape),
        source=table.source.strip(),
        downstream=table.downstream,
        **numbers,
    )
    try:
        rated = rating(primary)
    except ValueError as error:
        problems.error((*at, _key_of(error, primary)), str(error))
        return None
    if primary.downstream is not None and rated.submergence_limit is None:
        why = "is required: nobody here knows up to which downstream level this device flows free"
        problems.error((*at, "submergence_limit"), why)
        return None
    return primary


def build_cross_check(table: "CrossCheckTable", at: Path, tree: "SiteFile", problems: Problems) -> CrossCheck | None:
    """What a transmitter's flow is compared with; None after saying what is wrong."""
    check_level(table.level, (*at, "level"), tree, problems)
    primary = build_primary(table.primary, (*at, "primary"), tree, problems)
    within = number_in(table.within, "%", (*at, "within"), problems)
    if table.primary.downstream == table.level:
        problems.error((*at, "primary", "downstream"), "is the level before the device: it takes one behind it")
    if primary is None:
        return None
    return CrossCheck(table.level, primary) if within is None else CrossCheck(table.level, primary, within / 100)


def check_level(name: str, path: Path, tree: "SiteFile", problems: Problems) -> None:
    """Say so unless that channel is there and measures a level."""
    level = tree.channels.get(name)
    if level is None:
        problems.error(path, f"there is no channel {name!r}{did_you_mean(name, tree.channels)}")
    elif level.quantity != "level":
        problems.error(path, f"{name} measures {level.quantity}; a primary device needs a level")


def _check_keys(table: "PrimaryTable", at: Path, problems: Problems) -> None:
    needed, allowed = _KEYS[table.kind]
    what = _NAMES[table.kind]
    for key in needed:
        told = problems.told((*at, key))  # a value that was refused for its shape is no missing one
        if getattr(table, key) is None and not told:
            problems.error((*at, key), f"is required: {what} needs its {key}")
    for key in sorted(table.model_fields_set - _OF_ALL - set(needed) - set(allowed)):
        problems.error((*at, key), f"{what} has no {key}")


def _point(pair: list[Measured], path: Path, problems: Problems) -> tuple[float, float]:
    head, flow = pair
    return number_in(head, "ft", path, problems) or 0.0, number_in(flow, "gpm", path, problems) or 0.0


def _coefficient(table: "PrimaryTable", at: Path, problems: Problems) -> float | None:
    """K of Q = K h^n for cfs and ft: a head in another unit is h / u feet, so K carries u^-n."""
    cfs = number_in(table.coefficient, "cfs", (*at, "coefficient"), problems)
    if cfs is None or table.head_unit is None or table.exponent is None:
        return None
    try:
        ft_per_unit = conversion(table.head_unit, "ft")(1.0)
    except ValueError as error:
        problems.error((*at, "head_unit"), str(error))
        return None
    return float(cfs / ft_per_unit**table.exponent)


def _shape(shape: float | list[list[float]] | None) -> float | tuple[tuple[float, float], ...] | None:
    return tuple((head, flow) for head, flow in shape) if isinstance(shape, list) else shape


def _key_of(error: ValueError, primary: Primary) -> str:
    named = str(error).partition(" ")[0]
    return named if named in ("h_min", "h_max", "q_max") else _MAIN_KEY[primary.kind]
