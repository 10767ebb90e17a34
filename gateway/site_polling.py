"""The keys of the site file that say when a device is asked, checked for what they need of each other."""

from collections.abc import Mapping

from gateway.drivers.profile import Profile
from gateway.problems import Problems
from gateway.site import SERIAL_KINDS, Bus, Channel, Device
from gateway.units import format_duration

__all__ = ["check_polling"]

_LEAST_TIMEOUT_US = 50_000
"""On a serial line (ours): others have heard the request too, and are deaf until they take the answer for lost."""
_LEAST_POLL_US = 50_000
"""Ours: one request takes about 20 ms on a line of 9600 baud; a period below is a mistyped unit."""
_MOST_WARM_UP_US = 86_400_000_000


def check_polling(
    channels: Mapping[str, Channel],
    devices: Mapping[str, Device],
    buses: Mapping[str, Bus],
    profiles: Mapping[str, Profile],
    problems: Problems,
) -> None:
    """Time-outs, gaps, warm-up and fast polls that cannot be meant, each at its key. `profiles` by device."""
    for device in devices.values():
        bus = buses.get(device.bus)
        if bus is not None and bus.kind in SERIAL_KINDS and 0 < device.timeout_us < _LEAST_TIMEOUT_US:
            text = f"must be at least {format_duration(_LEAST_TIMEOUT_US)} on a serial line"
            problems.error(("devices", device.name, "timeout"), text)
        if device.warm_up_us > _MOST_WARM_UP_US:
            problems.error(
                ("devices", device.name, "warm_up"), "must be at most 24 h: its values do not count meanwhile"
            )
        polls = [channel for channel in channels.values() if channel.device == device.name]
        shortest = min(polls, key=lambda channel: channel.poll_us, default=None)
        if shortest is not None and device.gap_us >= shortest.poll_us > 0:
            text = f"is no shorter than the poll of {shortest.name}, which could never be kept"
            problems.error(("devices", device.name, "gap"), text)
    for channel in channels.values():
        if channel.device is not None and 0 < channel.poll_us < _LEAST_POLL_US:
            text = f"must be at least {format_duration(_LEAST_POLL_US)}: no line and no instrument is asked faster"
            problems.error(("channels", channel.name, "poll"), text)
        if channel.fast_poll_us is not None:
            _fast_poll(channel, profiles.get(channel.device or ""), problems)


def _fast_poll(channel: Channel, profile: Profile | None, problems: Problems) -> None:
    path = ("channels", channel.name, "fast_poll")
    fast_us = channel.fast_poll_us or 0
    refresh_us = None if profile is None else profile.quirks.refresh_us
    if channel.derived_from is not None:
        problems.error(path, f"belongs to {channel.derived_from}, which is what is read")
    elif fast_us <= 0:
        problems.error(path, "must be above zero")
    elif fast_us < _LEAST_POLL_US:
        problems.error(path, f"must be at least {format_duration(_LEAST_POLL_US)}")
    elif fast_us > channel.poll_us:
        problems.error(path, f"is longer than the poll of {format_duration(channel.poll_us)}")
    elif refresh_us is not None and fast_us < min(refresh_us, channel.poll_us):
        text = f"the instrument renews its values every {format_duration(refresh_us)} only: asking faster shows nothing"
        problems.error(path, text)
