"""What a technician would want to be told of the lines of a site: ports, characters, and how full they are."""

import re
from collections.abc import Mapping

from gateway.drivers.profile import Profile
from gateway.line_share import THINKS_S, LineShare, line_shares
from gateway.problems import Problems
from gateway.site import Bus, Device, Site

__all__ = ["advise_of_lines", "share_in_words"]

_BARE_PORT = re.compile(r"/dev/tty(USB|ACM)[0-9]+")
_BUSY = 0.6  # ours: above it one silent device and its repeats make the others late
_FULL = 1.0


def advise_of_lines(site: Site, profiles: Mapping[str, Profile], problems: Problems) -> None:
    """Warnings of the buses and of the devices' serial settings. `profiles` by device."""
    for bus in site.buses.values():
        if _BARE_PORT.fullmatch(bus.port):
            problems.warning(
                ("buses", bus.name, "port"),
                f"{bus.port} may be another adapter after a restart; take its name under /dev/serial/by-path",
            )
        if bus.kind == "modbus-rtu-over-tcp":
            problems.warning(
                ("buses", bus.name, "kind"),
                "has no number that tells a late answer from the right one, so the gateway waits after every silence; "
                "set the converter to Modbus TCP if it can",
            )
    for device in site.devices.values():
        bus, profile = site.buses[device.bus], profiles[device.name]
        if bus.port and not profile.confirmed:
            _as_delivered(bus, device, profile, problems)
    for line in line_shares(site, profiles):
        if line.share > _BUSY:
            problems.warning(("buses", line.bus), _too_full(line, site.buses[line.bus]))


def share_in_words(line: LineShare, bus: Bus) -> str:
    """`in use 12 % of the time at 9600 baud, 8 requests a minute`."""
    requests = f"{line.requests_per_min:.3g} requests a minute"
    return f"in use {line.share:.0%} of the time at {bus.baud} baud, {requests}".replace("%", " %")


def _as_delivered(bus: Bus, device: Device, profile: Profile, problems: Problems) -> None:
    """An instrument that leaves the works with another speed or parity is deaf on this line until it is set."""
    transport = profile.transport
    speed = transport.baud is not None and transport.baud != bus.baud
    parity = transport.parity is not None and transport.parity != bus.parity
    if not speed and not parity:
        return
    delivered = " ".join(
        (f"{transport.baud} baud" if transport.baud is not None else "", f"parity {transport.parity or 'unknown'}")
    ).strip()
    sure = "" if transport.verified else " (to be confirmed)"
    wanted = [f"baud = {bus.baud}"] * speed + [f'parity = "{bus.parity}"'] * parity
    problems.warning(
        ("devices", device.name),
        f"leaves the works with {delivered}{sure}, this line has {bus.baud} baud parity {bus.parity}: set the "
        f"instrument before it goes on the line, then say transport = {{ {', '.join(wanted)} }} here",
    )


def _too_full(line: LineShare, bus: Bus) -> str:
    told = share_in_words(line, bus)
    if line.share > _FULL:
        sure = "the characters alone are too many" if line.wire_share > _FULL else "some polls will be left out"
        return f"MORE IS ASKED THAN THE LINE CAN CARRY: {told}: {sure}; poll less often, or raise the speed"
    return (
        f"{told} (with {THINKS_S * 1e3:g} ms for each answer): little room is left for repeats when a device is "
        "silent; poll less often, or raise the speed"
    )
