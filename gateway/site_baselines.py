"""Baselines of a site file: what is normal for a channel, each a signed choice."""

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING

from gateway.content_hash import content_hash
from gateway.problems import Problems
from gateway.site import Baseline, Channel
from gateway.site_channels import convert
from gateway.toml_lines import Path
from gateway.units import conversion

if TYPE_CHECKING:
    from gateway.config_shape import BaselineTable

__all__ = ["build_baselines"]

_MIN_DAYS = 7


def build_baselines(
    tables: Mapping[str, "BaselineTable"],
    channels: Mapping[str, Channel],
    problems: Problems,
    today: date | None,
    *,
    for_replay: bool,
) -> dict[str, Baseline]:
    """Baselines in force, by channel; a table without its channel is someone else's mistake to tell.

    One whose approval lies ahead is not in force; one without approval is an error for the gateway and a warning for a
    replay.
    """
    baselines: dict[str, Baseline] = {}
    for name, table in tables.items():
        path: Path = ("baselines", name)
        channel = channels.get(name)
        if not table.approved_by or table.approved_on is None:
            say = problems.warning if for_replay else problems.error
            missing = "approved_by" if not table.approved_by else "approved_on"
            say((*path, missing), "is required: a baseline is a signed choice")
        if today is not None and table.approved_on is not None and table.approved_on > today:
            problems.warning((*path, "approved_on"), "lies ahead: the baseline is not in force yet")
            continue
        baseline = _baseline(name, table, channel, problems) if channel is not None else None
        if baseline is not None:
            baselines[name] = baseline
    return baselines


def _baseline(name: str, table: "BaselineTable", channel: Channel, problems: Problems) -> Baseline | None:
    path: Path = ("baselines", name)
    if table.mode == "declared" and table.value is None:
        problems.error((*path, "value"), "is required: a declared baseline is a number")
    if table.mode == "declared" and table.min_days is not None:
        problems.error((*path, "min_days"), "a declared baseline waits for no days")
    value, unit = table.value if table.value is not None else (None, channel.unit)
    if value is not None:
        if value <= 0:
            problems.error((*path, "value"), "must be above zero")
        try:
            conversion(unit, channel.unit)
        except ValueError as error:
            problems.error((*path, "value"), str(error))
            return None
    floor = None if table.floor is None else convert(table.floor, unit, problems, (*path, "floor"))
    if floor is not None and floor <= 0:
        problems.error((*path, "floor"), "must be above zero")
    if table.mode != "declared" and table.floor is None:
        problems.warning((*path, "floor"), "is missing: near zero, five times a computed baseline is next to nothing")
    min_days = _MIN_DAYS if table.min_days is None else table.min_days
    approved_on = "" if table.approved_on is None else table.approved_on.isoformat()
    facts = {
        "channel": name,
        "mode": table.mode,
        "value": value,
        "unit": unit,
        "floor": floor,
        "frozen": table.frozen,
        "min_days": min_days,
        "approved_by": table.approved_by,
        "approved_on": approved_on,
    }
    return Baseline(
        id=name,
        channel=name,
        mode=table.mode,
        value=value,
        unit=unit,
        approved_by=table.approved_by,
        approved_on=approved_on,
        hash=content_hash(facts),
        floor=floor,
        frozen=table.frozen,
        min_days=min_days,
    )
