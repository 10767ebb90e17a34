"""The schedule of one port: who is asked when, and what is told when nobody answers."""

import asyncio
import logging
import random
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from gateway.clock import Clock
from gateway.drivers import profiles as profile_files
from gateway.drivers.health import BusHealth
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.poll import DevicePoll, DeviceState, PointReading
from gateway.drivers.profile import Profile
from gateway.drivers.quirks import refused_on
from gateway.drivers.schedule import Backoff, Slots
from gateway.errors import BusDown, ConfigError, DriverError, Problem
from gateway.model import Fault, Instant, Sample
from gateway.site import Bus, Channel, Device

__all__ = ["PollBus"]

log = logging.getLogger(__name__)

_RECONNECT = Backoff(base_us=1_000_000, cap_us=60_000_000)
_SILENT_CAP_US = 60_000_000
_SILENT_SHARE = 10  # a silent device may take about one part in so many of the line's time


@dataclass(slots=True)
class _Turn:
    """One device poll with its place in the schedule."""

    poll: DevicePoll
    state: DeviceState
    slots: Slots


@dataclass(slots=True)
class _Trouble:
    """Something that failed and whether it was told: the first time as a warning, the end with the count."""

    times: dict[str, int] = field(default_factory=dict)

    def begins(self, what: str, text: str, *args: object) -> None:
        seen = self.times.get(what, 0)
        self.times[what] = seen + 1
        log.log(logging.DEBUG if seen else logging.WARNING, text, *args)

    def ends(self, what: str, text: str, *args: object) -> None:
        seen = self.times.pop(what, 0)
        if seen:
            log.info(text, *args, seen)


class PollBus:
    """Polls the devices of one bus, each channel at its own period, and delivers samples.

    At every slot of a channel `deliver` gets one sample for it, in one call with all the samples of that device poll:
    a number, or the kind of failure. Failure to answer is data; only a slot that came too late passes without one, and
    is counted. `deliver` runs in the event loop and must not block; an exception in it ends `run`.

    Of `devices` and `channels` only those of this bus are used. `profiles` (by device name) are loaded at the first
    use unless given.
    """

    def __init__(
        self,
        bus: Bus,
        devices: Sequence[Device],
        channels: Sequence[Channel],
        clock: Clock,
        deliver: Callable[[tuple[Sample, ...], Instant], None],
        *,
        profiles: Mapping[str, Profile] | None = None,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        self.bus = bus
        self.line = ModbusLine(bus)
        self._devices = tuple(device for device in devices if device.bus == bus.name)
        names = {device.name for device in self._devices}
        self._channels = tuple(channel for channel in channels if channel.device in names)
        self._clock = clock
        self._deliver = deliver
        self._profiles = dict(profiles or {})
        self._jitter = jitter
        self._states = {device.name: DeviceState(device) for device in self._devices}
        self._trouble = _Trouble()
        self._tried = asyncio.Event()  # the first attempt to open has ended
        self._down = asyncio.Event()  # somebody found the line closed
        self._answered = False  # since the line was opened
        self._connections = 0
        self._polls_late = 0

    async def run(self) -> None:
        """Polls until cancelled; opens the line again whenever it is lost. ConfigError for a profile mistake."""
        turns = self._turns()
        self._tried.clear()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_open(), name=f"bus {self.bus.name}: connection")
                group.create_task(self._keep_polling(turns), name=f"bus {self.bus.name}: polls")
        finally:
            self.line.close()

    async def read_once(self, channel_names: Collection[str] | None = None) -> tuple[PointReading, ...]:
        """Every named channel of this bus (all when None) once, in the order of the site file.

        Opens the line for it and closes it again, unless it is open already. A device that does not answer is asked
        again as often as its `retries` say. ConfigError for a profile mistake.
        """
        chosen = [c for c in self._channels if channel_names is None or c.name in channel_names]
        polls = self._polls(chosen, together=True)
        opened_here = not self.line.connected
        readings: list[PointReading] = []
        try:
            if opened_here and polls:
                await self.line.open()
            for poll in polls:
                readings += await self._read_patiently(poll)
        except BusDown as error:
            done = {reading.sample.channel for reading in readings}
            now = self._clock.now()
            for poll in polls:
                readings += (r for r in poll.failed(now, Fault.BUS_DOWN, str(error)) if r.sample.channel not in done)
        finally:
            if opened_here:
                self.line.close()
        order = {channel.name: place for place, channel in enumerate(chosen)}
        return tuple(sorted(readings, key=lambda reading: order[reading.sample.channel]))

    def health(self) -> BusHealth:
        """The counters of the port and of every device."""
        now_us = self._clock.now().mono_us
        counts = self.line.counts
        return BusHealth(
            bus=self.bus.name,
            where=self.line.where,
            connected=self.line.connected,
            connections=self._connections,
            polls_late=self._polls_late,
            late_answers=counts.late_answers,
            foreign_frames=counts.foreign_frames,
            noisy_answers=counts.noisy_answers,
            echoes=counts.echoes,
            resets=counts.resets,
            devices=tuple(state.health(now_us) for state in self._states.values()),
        )

    async def _keep_open(self) -> None:
        failures = 0
        while True:
            try:
                await self.line.open()
            except BusDown as error:
                failures += 1
                self._trouble.begins("bus", "%s", error)
                self._tried.set()
                await self._clock.sleep(_RECONNECT.delay_us(failures, self._jitter()))
                continue
            self._connections += 1
            self._answered = False
            self._down.clear()
            self._tried.set()
            await self._down.wait()
            if self._answered or self.line.was_reset:
                failures = 0
                continue
            failures += 1  # a server that accepts and hangs up must not be called without a pause
            await self._clock.sleep(_RECONNECT.delay_us(failures, self._jitter()))

    async def _keep_polling(self, turns: Sequence[_Turn]) -> None:
        await self._tried.wait()
        start_us = self._clock.now().mono_us
        for turn in turns:
            turn.slots = Slots(turn.slots.period_us, start_us)
        if not turns:
            await asyncio.Event().wait()
        while True:
            turn = min(turns, key=lambda t: t.slots.due_us)
            at = self._clock.now()
            if turn.slots.due_us > at.mono_us:
                await self._clock.sleep(turn.slots.due_us - at.mono_us)
                continue
            turn.slots, missed = turn.slots.taken(at.mono_us)
            turn.state.late += missed
            self._polls_late += missed
            readings = await self._poll(turn, at)
            if not self.line.connected:
                self._down.set()
            self._tell_faults(readings)
            self._deliver(tuple(reading.sample for reading in readings), self._clock.now())

    async def _poll(self, turn: _Turn, at: Instant) -> tuple[PointReading, ...]:
        """One slot of one device: asked, left alone, or out of reach."""
        poll, state = turn.poll, turn.state
        if not self.line.connected:
            self._lost(f"{self.line.where} is not open")
            return poll.failed(at, Fault.BUS_DOWN, f"{self.line.where} is not open")
        owing = state.failures > 0 and self.line.busy_s(poll.device.unit) > self.line.gap_s
        if owing or at.mono_us < state.not_before_us:
            return poll.failed(at, Fault.SILENT, f"left alone after {state.failures} failed polls in a row")
        state.polls += 1
        try:
            readings = await poll.run(at, state)
        except BusDown as error:
            self._lost(str(error))
            return poll.failed(at, Fault.BUS_DOWN, str(error))
        if poll.silence is not None:
            self._fell_silent(turn, at, poll.silence)
        else:
            self._did_answer(state)
        return readings

    def _lost(self, why: str) -> None:
        self._trouble.begins("bus", "bus %s is down: %s", self.bus.name, why)
        self._down.set()

    def _fell_silent(self, turn: _Turn, at: Instant, error: DriverError) -> None:
        """After the first failure the next slot is tried; after that the device is left alone, longer every time.

        The wait starts at ten times what the failure cost the line, so that silent devices take about a tenth of it.
        """
        state = turn.state
        state.failures += 1
        if state.failures > 1:
            cost_us = self._clock.now().mono_us - at.mono_us
            base_us = max(turn.slots.period_us, _SILENT_SHARE * cost_us)
            backoff = Backoff(base_us, max(base_us, _SILENT_CAP_US))
            state.not_before_us = at.mono_us + backoff.delay_us(state.failures - 1, self._jitter())
        name = turn.poll.device.name
        self._trouble.begins(f"device {name}", "bus %s, device %s: %s", self.bus.name, name, error)

    def _did_answer(self, state: DeviceState) -> None:
        state.answered += 1
        state.failures = 0
        state.not_before_us = 0
        self._answered = True
        name = state.device.name
        self._trouble.ends("bus", "bus %s is back after %d failures", self.bus.name)
        self._trouble.ends(
            f"device {name}", "bus %s, device %s answers again after %d failed polls", self.bus.name, name
        )

    def _tell_faults(self, readings: Iterable[PointReading]) -> None:
        """What a device that answers says against its own values, once when it begins and once when it ends."""
        for reading in readings:
            sample = reading.sample
            if sample.fault in {Fault.SILENT, Fault.BUS_DOWN, Fault.BAD_REPLY}:
                continue
            key, where = f"channel {sample.channel}", (self.bus.name, sample.channel)
            if sample.fault is not None:
                self._trouble.begins(key, "bus %s, channel %s: %s: %s", *where, sample.fault, reading.note)
            else:
                self._trouble.ends(key, "bus %s, channel %s is sound again after %d polls", *where)

    async def _read_patiently(self, poll: DevicePoll) -> tuple[PointReading, ...]:
        state = self._states[poll.device.name]
        for _ in range(poll.device.retries + 1):
            readings = await poll.run(self._clock.now(), state)
            if poll.silence is None:
                break
        return readings

    def _turns(self) -> list[_Turn]:
        polls = self._polls(self._channels, together=False)
        return [_Turn(p, self._states[p.device.name], Slots(p.channels[0].poll_us, 0)) for p in polls]

    def _polls(self, channels: Sequence[Channel], together: bool) -> list[DevicePoll]:
        """One poll per device, and per period unless `together`."""
        groups: dict[tuple[str, int], list[Channel]] = {}
        for channel in channels:
            groups.setdefault((channel.device or "", 0 if together else channel.poll_us), []).append(channel)
        devices = {device.name: device for device in self._devices}
        problems = []
        polls = []
        for (name, _), members in groups.items():
            profile = self._profile(devices[name])
            lacking = [channel for channel in members if channel.point not in profile.points]
            for channel in lacking:
                text = f"{profile.id} has no point {channel.point!r}; it has {', '.join(profile.points)}"
                problems.append(Problem("site", f"channels.{channel.name}.point", None, text))
            if not lacking:
                polls.append(DevicePoll(devices[name], profile, members, self.line))
        if problems:
            raise ConfigError(problems)
        return polls

    def _profile(self, device: Device) -> Profile:
        if device.name not in self._profiles:
            profile = profile_files.load(device.profile, device.overrides)
            refusal = refused_on(self.bus.kind, profile.transport.framings)
            if refusal:
                raise ConfigError([Problem("site", f"devices.{device.name}.profile", None, refusal)])
            self._profiles[device.name] = profile
        return self._profiles[device.name]
