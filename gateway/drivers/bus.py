"""The schedule of one port: who is asked when, and what is told when nobody answers.

Each device has a task of its own, with one poll under way at most. The line itself goes from request to request
(`arbiter`), so a device that wakes, settles or measures holds up nobody.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import TypeVar

from gateway.clock import Clock
from gateway.drivers.device_state import DeviceState
from gateway.drivers.health import BusHealth
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.poll import DevicePoll, PointReading
from gateway.drivers.profile import Profile
from gateway.drivers.schedule import Backoff, Claim, Rank
from gateway.drivers.timetable import Entry, Profiles, polls_of
from gateway.drivers.troubles import Troubles
from gateway.drivers.turns import LineTurn, LineTurns
from gateway.errors import BadReply, BusDown, DeviceSilent, DriverError
from gateway.model import Fault, Instant, Note, Sample
from gateway.site import Bus, Channel, Device

__all__ = ["PollBus"]

_RECONNECT = Backoff(base_us=1_000_000, cap_us=60_000_000)
_SILENT_CAP_US = 60_000_000
_SILENT_SHARE = 20  # the silent devices of a line together may take about one part in so many of its time
_STUCK_S = 60.0  # no slot of a device came to an end for so long, and for four of its periods: nobody polls any more
_STUCK_PERIODS = 4
_MOST_ORDERS = 16

_T = TypeVar("_T")


def _nobody(_note: Note) -> None:
    """Nobody is told."""


class PollBus:
    """Polls the devices of one bus, each channel at its own period, and delivers samples.

    At every slot of a channel `deliver` gets one sample for it, in one call with all the samples of that device poll:
    a number, or the kind of failure. Failure to answer is data; only a slot that came too late passes without one, and
    is counted. `deliver` and `tell` (notes when a port or a device goes down and when it is back) run in the event loop
    and must not block; an exception in them ends `run`.

    Of `devices` and `channels` only those of this bus are used. `alarm_channels` are asked first when several are due.
    `profiles` (by device name) are loaded at the first use unless given.
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
        alarm_channels: Collection[str] = (),
        tell: Callable[[Note], None] = _nobody,
        stuck_s: float = _STUCK_S,
    ) -> None:
        self.bus = bus
        self._down = asyncio.Event()  # the line is closed, or somebody found it so
        self.line = ModbusLine(bus, self._gone)
        self._devices = tuple(device for device in devices if device.bus == bus.name)
        names = {device.name for device in self._devices}
        self._channels = tuple(channel for channel in channels if channel.device in names)
        self._clock = clock
        self._deliver = deliver
        self._profiles = Profiles(bus, profiles or {})
        self._jitter = jitter
        self._alarm_channels = frozenset(alarm_channels)
        self._hot: frozenset[str] = frozenset()
        self._stuck_s = stuck_s
        self._states = {device.name: DeviceState(device) for device in self._devices}
        self._timetable: tuple[Entry, ...] = ()
        self._troubles = Troubles(bus.name, lambda: self.line.where, tell)
        self._runs = False
        self._tried = asyncio.Event()  # no attempt to open the line is due at this moment
        self._tried.set()
        self._line_turns = LineTurns(self.line, clock, self._tried.wait)
        self._orders = 0
        self._answered = False  # since the line was opened
        self._connections = 0
        self._missed_slots = 0
        self._probe_from_us = 0  # no device that is down is asked before
        self._retry_from_us = 0  # no device that was never heard is asked a second time before
        self._passed: dict[str, tuple[float, int]] = {}  # when a slot of the device last ended, on both clocks

    async def run(self) -> None:
        """Polls until cancelled; opens the line again whenever it is lost.

        ConfigError for a profile mistake. BusDown when the polls have stopped although everything seems to go on: the
        port is closed then, and a new `run` starts afresh.
        """
        polls = polls_of(self._devices, self._channels, self._profiles, self.line, together=False)
        self._timetable = tuple(Entry.of(p, self._states[p.device.name], self._alarm_channels) for p in polls)
        self.hasten(self._hot)
        self._tried.clear()
        self._runs = True
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._keep_open(), name=f"bus {self.bus.name}: connection")
                for name in self._states:
                    entries = [entry for entry in self._timetable if entry.poll.device.name == name]
                    if entries:
                        self._pass(name)
                        group.create_task(self._keep_polling(entries), name=f"bus {self.bus.name}: {name}")
                group.create_task(self._keep_watch(), name=f"bus {self.bus.name}: watch")
        except BaseExceptionGroup as several:
            if len(several.exceptions) == 1:  # as it was, for whoever starts this again
                raise several.exceptions[0] from several
            raise
        finally:
            self._runs = False
            self._tried.set()
            self.line.close()
            self._line_turns.give_up(BusDown(f"bus {self.bus.name} was closed"))
            self._line_turns = LineTurns(self.line, self._clock, self._tried.wait)

    def hasten(self, channels: Collection[str]) -> None:
        """From now on poll these channels at their fast period, between the slots they have anyway, and no others.

        Takes hold of a device with the end of its current poll.
        """
        self._hot = frozenset(channels)
        for entry in self._timetable:
            entry.hasten(self._hot)

    async def order(self, device: str, work: Callable[[ModbusLine], Awaitable[_T]]) -> _T:
        """Have one request made to a device before any poll that waits: a command to an output, with its answer.

        `work` is handed the line while it is nobody else's, and must make one request with a deadline, as the line's
        own are. Raises what it raises; BusDown when too many orders wait already.
        """
        if self._orders >= _MOST_ORDERS:
            raise BusDown(f"bus {self.bus.name}: {self._orders} orders wait already")
        self._orders += 1
        try:
            claim = Claim(Rank.ORDER, self._clock.now().mono_us)
            async with self._line_turns.of(self._states[device], claim):
                answer = await work(self.line)
        except DriverError as error:
            self._ordered(device, error)
            raise
        finally:
            self._orders -= 1
        self._ordered(device, None)
        return answer

    async def read_once(self, channel_names: Collection[str] | None = None) -> tuple[PointReading, ...]:
        """Every named channel of this bus (all when None) once, in the order of the site file.

        Opens the line for it and closes it again, unless it is open already. A device that does not answer is asked
        again as often as its `retries` say. ConfigError for a profile mistake.
        """
        chosen = [c for c in self._channels if channel_names is None or c.name in channel_names]
        polls = polls_of(self._devices, chosen, self._profiles, self.line, together=True)
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
        port = self._troubles.port
        fast = {entry.poll.device.name for entry in self._timetable if entry.fast_us}
        return BusHealth(
            bus=self.bus.name,
            where=self.line.where,
            connected=self.line.connected,
            connections=self._connections,
            missed_slots=self._missed_slots,
            late_answers=counts.late_answers,
            foreign_frames=counts.foreign_frames,
            noisy_answers=counts.noisy_answers,
            echoes=counts.echoes,
            resets=counts.resets,
            state="up" if port is None else "down",
            why="" if port is None else port.why,
            down_s=None if port is None else round((now_us - port.since_us) / 1e6, 1),
            devices=tuple(
                state.health(now_us, counts.of(state.device.unit), port_down=port is not None, fast=name in fast)
                for name, state in self._states.items()
            ),
        )

    def _ordered(self, device: str, error: DriverError | None) -> None:
        """What an order shows of a device that nobody polls: else it would stay unheard for ever."""
        if any(entry.poll.device.name == device for entry in self._timetable) or isinstance(error, BusDown):
            return
        state, now_us = self._states[device], self._clock.now().mono_us
        if isinstance(error, DeviceSilent | BadReply):
            state.failed(now_us, str(error))
        else:
            state.answered_order(now_us)

    async def _keep_open(self) -> None:
        failures = 0
        while True:
            try:
                await self.line.open()
            except BusDown as error:
                failures += 1
                self._troubles.unopened(str(error))
                if not self._timetable:  # there is no slot that would find it down
                    self._troubles.port_lost(self._clock.now(), str(error))
                self._tried.set()
                await self._clock.sleep(_RECONNECT.delay_us(failures, self._jitter()))
                continue
            self._connections += 1
            self._answered = False
            if not self._timetable:
                self._troubles.port_answered(self._clock.now())
            self._down.clear()
            self._tried.set()
            await self._down.wait()
            if self._answered or self.line.was_reset:
                failures = 0
                continue
            failures += 1  # a server that accepts and hangs up must not be called without a pause
            self._tried.set()
            await self._clock.sleep(_RECONNECT.delay_us(failures, self._jitter()))

    async def _keep_polling(self, entries: Sequence[Entry]) -> None:
        """One device: whatever of it is due next, one poll at a time."""
        await self._tried.wait()
        for entry in entries:
            entry.start(self._clock.now().mono_us)
        while True:
            entry = min(entries, key=self._due_us)
            wait_us = self._due_us(entry) - self._clock.now().mono_us
            if wait_us > 0:
                await self._clock.sleep(wait_us)
                continue
            readings = await self._slot(entry)
            if not self.line.connected:
                self._down.set()
            self._pass(entry.poll.device.name)
            self._troubles.heard(readings)
            await asyncio.sleep(0)  # the next request goes out before these samples are judged
            if readings:
                self._deliver(tuple(reading.sample for reading in readings), self._clock.now())

    def _due_us(self, entry: Entry) -> int:
        """When it is due: with the line down at its slots alone, for nothing is learnt in between."""
        return entry.due_us if self.line.connected else entry.slots.due_us

    async def _slot(self, entry: Entry) -> tuple[PointReading, ...]:
        """One slot of one device: asked, left alone, or out of reach."""
        poll, state = entry.poll, entry.state
        await self._tried.wait()  # a line that is being opened afresh is not down
        now = self._clock.now()
        if not self.line.connected:
            why = f"{self.line.where} is not open"
            self._take(entry, now)
            self._lost(now, why)
            return poll.failed(now, Fault.BUS_DOWN, why)
        if self._is_left_alone(entry, now.mono_us):
            return self._left_alone(entry, now)
        right = self._line_turns.of(state, entry.claim)
        try:
            await right.begin()
            at = self._clock.now()
            if self._is_left_alone(entry, at.mono_us):  # another silent one was asked meanwhile
                return self._left_alone(entry, at)
            only = entry.hot if at.mono_us < entry.slots.due_us else None
            if only is not None and not only:  # what was under way has ended while it waited
                return ()
            self._take(entry, at)
            return await self._asked(entry, at, right, only)
        finally:
            right.give_back()

    def _left_alone(self, entry: Entry, now: Instant) -> tuple[PointReading, ...]:
        self._take(entry, now)
        why = f"left alone after {entry.state.failures} failed polls in a row"
        return entry.poll.failed(now, Fault.SILENT, why)

    async def _asked(
        self, entry: Entry, at: Instant, right: LineTurn, only: frozenset[str] | None
    ) -> tuple[PointReading, ...]:
        poll, state = entry.poll, entry.state
        was_failing, was_down, failing_since_us = state.failures > 0, state.down, state.failing_since_us
        state.polls += 1
        state.asked_us = at.mono_us
        try:
            readings = await poll.run(at, state, right, only=only)
        except BusDown as error:
            now = self._clock.now()
            self._lost(now, str(error))
            return poll.failed(at, Fault.BUS_DOWN, str(error), only=only)
        now = self._clock.now()
        if poll.silence is None:
            self._answered = True
            self._troubles.port_answered(now)
            self._troubles.device_answered(now, state, down_since_us=failing_since_us if was_down else None)
        else:
            self._leave_alone(entry, at.mono_us, right.held_us, was_failing=was_failing)
            self._troubles.device_failed(now, state, was_down=was_down)
        return readings

    def _take(self, entry: Entry, at: Instant) -> None:
        """The slot is used; those that went by before it are counted and never made up for."""
        entry.began_us = at.mono_us
        entry.slots, missed = entry.slots.taken(at.mono_us)
        entry.state.missed_slots += missed
        self._missed_slots += missed

    def _is_left_alone(self, entry: Entry, now_us: int) -> bool:
        """Whether a device that failed is not asked at this slot: not yet again, or it is another silent one's turn."""
        state = entry.state
        if not state.failures:
            return False
        owing = self.line.busy_s(state.device.unit) > self.line.gap_s
        if owing or entry.slots.due_us < state.not_before_us:
            return True
        if not state.down:  # it answered until now: its next slot is its own; never heard, it is one of many perhaps
            return state.heard_us is None and now_us < self._retry_from_us
        if now_us < self._probe_from_us:
            return True
        soon_us = now_us + entry.slots.period_us
        return any(other.waits_longer(state, now_us, soon_us) for other in self._timetable)

    def _leave_alone(self, entry: Entry, at_us: int, cost_us: int, *, was_failing: bool) -> None:
        """After the first failure the next slot is tried; after that it is left alone, longer every time.

        The wait starts at twenty times what the failure cost the line. Questions to all the silent devices of a line
        keep the same distance from each other, so that together they take about a twentieth of it.
        """
        state = entry.state
        now_us = self._clock.now().mono_us
        base_us = max(entry.slots.period_us, _SILENT_SHARE * cost_us)
        if was_failing:
            backoff = Backoff(base_us, max(base_us, _SILENT_CAP_US))
            state.not_before_us = at_us + backoff.delay_us(state.failures - 1, self._jitter())
            self._probe_from_us = now_us + _SILENT_SHARE * cost_us
            self._retry_from_us = now_us + entry.slots.period_us // 2
        else:
            state.not_before_us = entry.slots.due_us

    def _gone(self) -> None:
        """The line is closed. Whoever wants it waits for the attempt to open it that comes now."""
        if self._runs:
            self._tried.clear()
        self._down.set()

    def _lost(self, at: Instant, why: str) -> None:
        self._troubles.port_lost(at, why)
        for state in self._states.values():
            state.out_of_reach(at.mono_us)
        self._down.set()

    def _pass(self, device: str) -> None:
        self._passed[device] = asyncio.get_running_loop().time(), self._clock.now().mono_us

    async def _keep_watch(self) -> None:
        """Judges by slots that came to an end, not by what the tasks or the socket look like."""
        periods = sorted(((e.poll.device.name, e.slots.period_us) for e in self._timetable), reverse=True)
        shortest_us = dict(periods)  # the last of each name
        while True:
            await asyncio.sleep(self._stuck_s / 4)
            now_s, now = asyncio.get_running_loop().time(), self._clock.now()
            for name, (passed_s, passed_us) in self._passed.items():
                silent_us = now.mono_us - passed_us
                if now_s - passed_s > self._stuck_s and silent_us > _STUCK_PERIODS * shortest_us[name]:
                    why = f"no poll of {name} came to an end for {silent_us / 1e6:.0f} s"
                    self._lost(now, why)
                    raise BusDown(f"bus {self.bus.name}: {why}: opening {self.line.where} afresh")

    async def _read_patiently(self, poll: DevicePoll) -> tuple[PointReading, ...]:
        state = self._states[poll.device.name]
        state.warm_up_us = 0  # a person looks at it, and can tell
        right = self._line_turns.of(state, Claim(Rank.PLAIN, 0))
        for _ in range(poll.device.retries + 1):
            readings = await poll.run(self._clock.now(), state, right)
            if poll.silence is None:
                break
        return readings
