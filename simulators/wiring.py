"""Which instrument of the bench shows which channel of a site, and in what unit."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gateway.errors import ConfigError, Problem
from gateway.site import Channel, Conversion, Device, Site
from gateway.units import conversion
from simulators.instruments import PROFILES, Instrument, Liquiline, Point
from simulators.manhole import Water
from simulators.relays import RelayModule
from simulators.water import WEIR, Rating

__all__ = ["Feed", "Wiring", "rating", "truth", "wire"]

# What the process model knows: quantity, the field of Water and its unit.
_MODELLED = {
    "pH": ("ph", "pH"),
    "temperature": ("temperature_c", "degC"),
    "flow": ("flow_gpm", "gpm"),
    "level": ("level_ft", "ft"),
    "conductivity": ("conductivity_us_cm", "uS/cm"),
    "tss": ("tss_mg_l", "mg/L"),
    "volume": ("total_gal", "gal"),
}
# What it does not: a plausible standing value each.
_STANDING = {"turbidity": (180.0, "FNU"), "orp": (150.0, "mV"), "oxygen": (2.0, "mg/L"), "h2s-gas": (0.0, "ppm")}

_INPUT = re.compile(r"AI(\d+)")


@dataclass(frozen=True, slots=True)
class Feed:
    """One channel and the point that shows it; `shown` takes the channel's unit to the point's."""

    channel: Channel
    instrument: Instrument
    point: Point
    shown: Conversion

    def set(self, value: float | None) -> None:
        """Show a value given in the channel's unit, or the instrument's "no value"."""
        self.instrument.set(self.point.name, None if value is None else self.shown(value))


@dataclass(frozen=True, slots=True)
class Wiring:
    """The instruments of a site by device, and the feeds of its measured channels."""

    instruments: Mapping[str, Instrument]
    feeds: Sequence[Feed]


def wire(site: Site) -> Wiring:
    """Instruments for every device of the site. ConfigError lists every device and channel the bench cannot imitate."""
    problems: list[Problem] = []
    instruments: dict[str, Instrument] = {}
    feeds: list[Feed] = []
    for device in site.devices.values():
        if site.buses[device.bus].kind == "replay":
            continue
        channels = [channel for channel in site.channels.values() if channel.device == device.name]
        try:
            instruments[device.name] = instrument = _instrument(device, channels)
        except ValueError as error:
            problems.append(Problem(site.id, f"devices.{device.name}", None, str(error)))
            continue
        for channel in channels:
            try:
                point = _point(instrument, channel)
                feeds.append(Feed(channel, instrument, point, _shown(channel, point)))
            except ValueError as error:
                problems.append(Problem(site.id, f"channels.{channel.name}", None, str(error)))
    if problems:
        raise ConfigError(problems)
    return Wiring(instruments, feeds)


def rating(site: Site) -> Rating:
    """The control section the site says it has, so that level and flow agree; a small V-notch weir when it says none.

    ValueError for a primary device without constants here.
    """
    for channel in site.channels.values():
        primary = channel.primary
        if primary is not None and primary.kind == "parshall" and primary.throat_ft is not None:
            return Rating.parshall(primary.throat_ft)
        if primary is not None and primary.kind == "v-notch" and primary.angle_deg is not None:
            return Rating.v_notch(primary.angle_deg)
    return WEIR


def truth(water: Water, channel: Channel, site: Site) -> float | None:
    """What the channel should read of this water, in its own unit; None for a quantity the bench has no idea of."""
    if channel.quantity in _MODELLED:
        field, unit = _MODELLED[channel.quantity]
        value = float(getattr(water, field))
        if channel.quantity == "level":
            value -= _head_offset_ft(site, channel)
    elif channel.quantity in _STANDING:
        value, unit = _STANDING[channel.quantity]
    else:
        return None
    return conversion(unit, channel.unit)(value)


def _instrument(device: Device, channels: Sequence[Channel]) -> Instrument:
    if device.profile == RelayModule.profile:
        return RelayModule(device.unit)
    if device.profile not in PROFILES:
        known = ", ".join(sorted({*PROFILES, RelayModule.profile}))
        raise ValueError(f"the bench has no instrument like {device.profile!r}; it has {known}")
    if device.profile == Liquiline.profile:
        return Liquiline(device.unit, {_input(channel): channel.quantity for channel in channels})
    return PROFILES[device.profile](device.unit)


def _input(channel: Channel) -> int:
    match = _INPUT.search(channel.point or "")
    if match is None:
        raise ValueError(f"{channel.point!r} names no input of the analyser")
    return int(match[1])


def _point(instrument: Instrument, channel: Channel) -> Point:
    """By name, with or without the suffix that picks another form of the same value, else the only one that fits."""
    name = (channel.point or "").removesuffix("_i16").removesuffix("_i32")
    if name in instrument.points:
        return instrument.points[name]
    fitting = [point for point in instrument.points.values() if point.quantity == channel.quantity]
    if len(fitting) != 1:
        known = ", ".join(instrument.points)
        raise ValueError(f"a simulated {instrument.profile} has no point {channel.point!r}; it has {known}")
    return fitting[0]


def _shown(channel: Channel, point: Point) -> Conversion:
    """By the units where they measure the same thing, else back through the channel's own calibration (mA, bar)."""
    try:
        return conversion(channel.unit, point.unit)
    except ValueError:
        gain, offset = channel.conversion.gain, channel.conversion.offset
        if gain == 0.0 or channel.conversion.is_identity:
            raise ValueError(f"nothing says how {channel.unit} becomes {point.unit} on the wire") from None
        return Conversion(1.0 / gain, -offset / gain)


def _head_offset_ft(site: Site, level: Channel) -> float:
    for channel in site.channels.values():
        if channel.derived_from == level.name and channel.primary is not None:
            return channel.primary.head_offset_ft
    return 0.0
