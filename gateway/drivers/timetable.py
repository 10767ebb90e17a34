"""What one bus has to poll: a poll for each device and period, with its place in the schedule."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from gateway.drivers import profiles as profile_files
from gateway.drivers.device_state import DeviceState
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.poll import DevicePoll
from gateway.drivers.profile import Profile
from gateway.drivers.quirks import refused_on
from gateway.drivers.schedule import Claim, Rank, Slots, between
from gateway.errors import ConfigError, Problem
from gateway.site import Bus, Channel, Device

__all__ = ["Entry", "Profiles", "polls_of"]

_FAST_PARTS = 3  # of the poll, where the site file gives no `fast_poll`


class Profiles:
    """The profiles of a bus's devices by name, each loaded at its first use. ConfigError for a profile mistake."""

    def __init__(self, bus: Bus, known: Mapping[str, Profile]) -> None:
        self._bus = bus
        self._known = dict(known)

    def of(self, device: Device) -> Profile:
        """The profile of one device."""
        if device.name not in self._known:
            profile = profile_files.load(device.profile, device.overrides)
            refusal = refused_on(self._bus.kind, profile.transport.framings)
            if refusal:
                raise ConfigError([Problem("site", f"devices.{device.name}.profile", None, refusal)])
            self._known[device.name] = profile
        return self._known[device.name]


def polls_of(
    devices: Sequence[Device], channels: Sequence[Channel], profiles: Profiles, line: ModbusLine, *, together: bool
) -> list[DevicePoll]:
    """One poll per device, and per period unless `together`. ConfigError with every channel whose point is unknown."""
    groups: dict[tuple[str, int], list[Channel]] = {}
    for channel in channels:
        groups.setdefault((channel.device or "", 0 if together else channel.poll_us), []).append(channel)
    by_name = {device.name: device for device in devices}
    problems = []
    polls = []
    for (name, _), members in groups.items():
        profile = profiles.of(by_name[name])
        lacking = [channel for channel in members if channel.point not in profile.points]
        for channel in lacking:
            text = f"{profile.id} has no point {channel.point!r}; it has {', '.join(profile.points)}"
            problems.append(Problem("site", f"channels.{channel.name}.point", None, text))
        if not lacking:
            polls.append(DevicePoll(by_name[name], profile, members, line))
    if problems:
        raise ConfigError(problems)
    return polls


@dataclass(slots=True)
class Entry:
    """One device poll with its place in the schedule. `hot` are its channels with a rule under way."""

    poll: DevicePoll
    state: DeviceState
    slots: Slots
    rank: Rank
    hot: frozenset[str] = frozenset()
    fast_us: int = 0
    began_us: int = 0  # when the last poll began

    @classmethod
    def of(cls, poll: DevicePoll, state: DeviceState, alarm_channels: Collection[str]) -> "Entry":
        """Its place before the start."""
        alarm = any(channel.name in alarm_channels for channel in poll.channels)
        slots = Slots(poll.channels[0].poll_us, 0)
        return cls(poll, state, slots, Rank.ALARM if alarm else Rank.PLAIN)

    def start(self, now_us: int) -> None:
        """The first slot is now."""
        self.slots = Slots(self.slots.period_us, now_us)
        self.began_us = now_us

    def hasten(self, channels: Collection[str]) -> None:
        """Poll those of its channels that are among these faster, the others as ever."""
        chosen = [channel for channel in self.poll.channels if channel.name in channels]
        self.hot = frozenset(channel.name for channel in chosen)
        refresh_us = self.poll.profile.quirks.refresh_us or 0
        wishes_us = [c.poll_us // _FAST_PARTS if c.fast_poll_us is None else c.fast_poll_us for c in chosen]
        self.fast_us = max(min(wishes_us), refresh_us, 1) if chosen else 0

    @property
    def due_us(self) -> int:
        """When it is to be polled next. A device that does not answer is not asked between its slots."""
        if not self.fast_us or self.state.failures:
            return self.slots.due_us
        return between(self.slots, self.fast_us, self.began_us)

    def waits_longer(self, than: DeviceState, now_us: int, soon_us: int) -> bool:
        """Whether this is another device that is down, was asked before that one, and has a slot soon."""
        state = self.state
        silent = state.down and state.not_before_us <= now_us
        return silent and state.asked_us < than.asked_us and self.slots.due_us <= soon_us

    @property
    def claim(self) -> Claim:
        """What it asks the line for."""
        rank = Rank.PROBE if self.state.failures else self.rank
        due_us = self.due_us
        return Claim(rank, due_us, self.slots.due_us if due_us < self.slots.due_us else None)
