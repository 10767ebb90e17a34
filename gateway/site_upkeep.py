"""How the site is looked after, checked: maintenance, its door, and how often each channel is calibrated."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gateway.model import Severity
from gateway.outputs.wired import ContactInput, ContactRole
from gateway.problems import Problems
from gateway.site import AlarmPolicy, Channel
from gateway.spelling import did_you_mean
from gateway.units import format_duration
from gateway.upkeep import CALIBRATE_EVERY_US, MOST_US, Upkeep, calibration_alarm

if TYPE_CHECKING:
    from gateway.config_shape import SiteFile

__all__ = ["build_upkeep", "calibration_alarms"]


def calibration_alarms(upkeep: Upkeep, channels: Mapping[str, Channel]) -> dict[str, AlarmPolicy]:
    """One policy for each channel that has a date for its calibration: a notice to whoever wants to hear of those."""
    return {
        alarm: AlarmPolicy(
            alarm, Severity.NOTICE, title=f"calibration of {channels[name].label or name}", action="Calibrate, record."
        )
        for name in upkeep.calibrate_every_us
        for alarm in (calibration_alarm(name),)
    }


def build_upkeep(
    tree: "SiteFile",
    content: Mapping[str, Any],
    channels: Mapping[str, Channel],
    inputs: Mapping[str, ContactInput],
    problems: Problems,
) -> Upkeep:
    """The site's upkeep; mistakes go to `problems`. `content` is the file as written: its broken channels are known.

    The door is the one that [maintenance] names, else the site's only contact that says it is a door.
    """
    table, usual = tree.maintenance, Upkeep()
    most_us = usual.most_us if table.most is None else table.most
    default_us = min(usual.default_us, most_us) if table.default is None else table.default
    if not 0 < most_us <= MOST_US:
        problems.error(("maintenance", "most"), f"must be above zero and at most {format_duration(MOST_US)}")
    elif not 0 < default_us <= most_us:
        problems.error(("maintenance", "default"), f"must be above zero and at most {format_duration(most_us)}")
    if table.after_door == 0:
        problems.error(("maintenance", "after_door"), "must be above zero: a closed door alone proves nothing")
    doors = [spec for spec in inputs.values() if spec.role is ContactRole.DOOR]
    only = doors[0].channel if len(doors) == 1 else ""
    closed = table.door_closed
    if closed is None:
        told = inputs.get(table.door or only)
        closed = 1.0 if told is None or told.normal else 0.0
    declared = content.get("channels")
    names = tuple(declared) if isinstance(declared, Mapping) else ()
    if table.door is not None:
        door = channels.get(table.door)
        if table.door not in names:
            problems.error(
                ("maintenance", "door"), f"there is no channel {table.door!r}{did_you_mean(table.door, names)}"
            )
        elif door is not None and door.quantity != "contact":
            problems.error(("maintenance", "door"), f"{table.door} measures {door.quantity}, not contact")
    every_us = {
        name: CALIBRATE_EVERY_US[channel.quantity]
        for name, channel in channels.items()
        if channel.quantity in CALIBRATE_EVERY_US and channel.derived_from is None
    }
    for name, interval_us in tree.calibration.items():
        if name not in names:
            problems.error(("calibration", name), f"there is no channel {name!r}{did_you_mean(name, names)}")
        elif interval_us == 0:
            problems.error(("calibration", name), "must be above zero")
        elif name in channels:
            every_us[name] = interval_us
    return Upkeep(
        default_us=default_us,
        most_us=most_us,
        door=table.door or only,
        door_closed=closed,
        after_door_us=usual.after_door_us if table.after_door is None else table.after_door,
        calibrate_every_us=every_us,
    )
