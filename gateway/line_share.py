"""How much of a serial line's time its polls take: bytes, silences and thinking time against the period. Arithmetic.

The wire is exact, but for holes a device refuses; how long an instrument thinks before it answers is an assumption.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.drivers.frames import BIT_READS
from gateway.drivers.plan import Read, plan
from gateway.drivers.profile import Point, Profile
from gateway.drivers.quiet import character_gap_s
from gateway.site import Bus, Channel, Device, Site

__all__ = ["THINKS_S", "LineShare", "bits_per_character", "line_shares"]

THINKS_S = 0.02
"""Assumed between request and answer (ours): makers' manuals give from 3 ms to 100 ms."""
_REQUEST, _ANSWER_FRAME = 8, 5  # characters of an RTU request, and around the registers of its answer
_WRITE = 8 + 8


@dataclass(frozen=True, slots=True)
class LineShare:
    """One serial line: its use as a share of the time (1 is all of it), and what that is made of."""

    bus: str
    share: float
    requests_per_min: float
    wire_share: float  # of it, characters and silences alone: what no instrument however quick can better


def line_shares(site: Site, profiles: Mapping[str, Profile]) -> tuple[LineShare, ...]:
    """Every serial line of a site, in its order. `profiles` by device; a device without one is left out."""
    return tuple(_line(site, bus, profiles) for bus in site.buses.values() if bus.port)


def bits_per_character(bus: Bus) -> int:
    """One start bit, the data bits, parity where there is one, and the stop bits."""
    return 1 + bus.data_bits + (bus.parity != "N") + bus.stop_bits


def _line(site: Site, bus: Bus, profiles: Mapping[str, Profile]) -> LineShare:
    character_s = bits_per_character(bus) / bus.baud * (2 if bus.kind == "modbus-ascii" else 1)
    gap_s = character_gap_s(bus.baud)
    share = wire_share = per_min = 0.0
    for device, period_us, points in _polls(site, bus, profiles):
        profile = profiles[device.name]
        try:
            reads = plan(points, profile.limits)
        except ValueError:
            continue  # one value is more than the device gives at once: told elsewhere
        requests = len(reads)
        wire_s = sum((_REQUEST + _ANSWER_FRAME + _data_bytes(read)) * character_s + 2 * gap_s for read in reads)
        if profile.quirks.trigger is not None:
            requests += 1
            wire_s += _WRITE * character_s + 2 * gap_s
        period_s = period_us / 1e6
        wire_share += wire_s / period_s
        share += (wire_s + requests * THINKS_S) / period_s
        per_min += 60 * requests / period_s
    return LineShare(bus.name, share, per_min, wire_share)


def _data_bytes(read: Read) -> int:
    return -(-read.count // 8) if read.function in BIT_READS else 2 * read.count


def _polls(site: Site, bus: Bus, profiles: Mapping[str, Profile]) -> Sequence[tuple[Device, int, Sequence[Point]]]:
    """The points of each device that are read together, by their period."""
    groups: dict[tuple[str, int], list[Channel]] = {}
    for channel in site.channels.values():
        device = site.devices.get(channel.device or "")
        if device is not None and device.bus == bus.name and device.name in profiles and channel.point is not None:
            groups.setdefault((device.name, channel.poll_us), []).append(channel)
    return [
        (
            site.devices[name],
            period_us,
            [profiles[name].points[c.point or ""].for_unit(c.source_unit) for c in channels],
        )
        for (name, period_us), channels in groups.items()
    ]
