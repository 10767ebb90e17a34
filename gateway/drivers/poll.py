"""One poll of one device: its requests, and a sample for every channel whatever happened to them.

The line is held for each request alone. While the device wakes, settles or measures, others are asked.
"""

import asyncio
from collections.abc import Collection, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext, suppress
from dataclasses import dataclass, replace

from gateway.drivers.device_state import DeviceState
from gateway.drivers.modbus import BadCheckSum, ModbusLine
from gateway.drivers.plan import Read, ReadPlan, spans_of
from gateway.drivers.points import read_point, still_moving, still_the_same
from gateway.drivers.profile import Point, Profile, Register, Span
from gateway.errors import BadReply, DeviceFault, DeviceSilent, DriverError, NoSuchRegister
from gateway.model import Fault, Instant, Quality, Sample
from gateway.site import Channel, Device

__all__ = ["WARM_UP", "DevicePoll", "PointReading", "Turn"]

Turn = AbstractAsyncContextManager[object]
"""The right to make one request on the line; it is entered again for every request."""

WARM_UP = "warm_up"
"""The test of a reading that was taken too early after a device was silent: it may have lost its power."""

_ILLEGAL_FUNCTION = 1
_STANDS_POLLS = 3  # trade practice: a value is stale after three polls in which nothing moved
_LEAST_RETRY = 0.25  # of the timeout must be left for a second try to make sense
_AT_ONCE: Turn = nullcontext()
_UNHEARD = frozenset({Fault.SILENT, Fault.BUS_DOWN, Fault.BAD_REPLY})


@dataclass(frozen=True, slots=True)
class PointReading:
    """A sample with where it came from, for the technician. `unit` is that of the sample's number."""

    sample: Sample
    device: str
    point: str
    function: int
    address: int
    doc_register: str
    unit: str
    note: str = ""


class DevicePoll:
    """The channels of one device that are polled together.

    The requests are planned once; when the device refuses one of them as unknown, the plan learns (`plan.ReadPlan`).
    What the device wants before it is read (a start command, a trigger, a first question to wake it) is in its profile.
    """

    def __init__(self, device: Device, profile: Profile, channels: Sequence[Channel], line: ModbusLine) -> None:
        self.device = device
        self.profile = profile
        self.channels = tuple(channels)
        self.silence: DriverError | None = None  # why the last poll was broken off
        self._line = line
        self._points = {c.name: profile.points[c.point or ""].for_unit(c.source_unit) for c in self.channels}
        self._plan = ReadPlan.of(self._points.values(), profile.limits)
        self._turn = _AT_ONCE

    async def run(
        self, at: Instant, state: DeviceState, turn: Turn = _AT_ONCE, *, only: Collection[str] | None = None
    ) -> tuple[PointReading, ...]:
        """Asks for everything once and decodes what came; `at` is the stamp of every sample.

        Each request is made within `turn`, which is entered anew for it. `only` names the channels of a poll in between
        two slots: nothing else is asked for. A timeout or a wrong answer breaks the poll off (`silence` says so): the
        points that are whole by then count, the rest is silent. BusDown is raised.
        """
        self.silence = None
        self._turn = turn
        words: dict[tuple[int, int], int] = {}
        errors: dict[Span, DriverError] = {}
        channels = self.channels if only is None else tuple(c for c in self.channels if c.name in only)
        heard = False
        try:
            try:
                await self._prepare(at, state)
            except (NoSuchRegister, DeviceFault) as error:
                state.count(error)
                errors |= dict.fromkeys(self._plan.spans, error)
            except (DeviceSilent, BadReply) as error:
                state.count(error)
                self.silence = error
            else:
                await self._read_all(at, state, None if only is None else channels, words, errors)
            heard = self.silence is None
        finally:
            if not heard:  # it, or its line, may have lost its power meanwhile
                state.started_us = None
        warms_up = state.warms_up(at.mono_us)
        if heard:
            self._plan.settle(at.mono_us)
            state.heard(at.mono_us)
        else:
            state.failed(at.mono_us, str(self.silence))
        readings = (self._reading(channel, at, state, words, errors) for channel in channels)
        return tuple(_marked(reading, warms_up=warms_up, between=only is not None) for reading in readings)

    async def _prepare(self, at: Instant, state: DeviceState) -> None:
        """What the device wants before it is read. The line is free while it gets ready."""
        quirks, unit, timeout_s = self.profile.quirks, self.device.unit, self.device.timeout_us / 1e6
        wake, start, trigger = quirks.wake, quirks.start, quirks.trigger
        if wake is not None and (state.heard_us is None or at.mono_us - state.heard_us >= wake.asleep_after_us):
            first = self._plan.reads[0]
            with suppress(DeviceSilent, BadReply, DeviceFault, NoSuchRegister):
                async with self._turn:
                    await self._line.read(unit, first.function, first.start, first.count, timeout_s)
            await asyncio.sleep(wake.wait_us / 1e6)
        if start is not None and start.is_due(state.started_us, at.mono_us):
            state.started_us = None
            async with self._turn:
                await self._line.command(unit, start.request, timeout_s)
            state.started_us = at.mono_us
            await asyncio.sleep(start.wait_us / 1e6)
        if trigger is not None:
            async with self._turn:
                await self._line.command(unit, trigger.request, timeout_s)
            await asyncio.sleep(trigger.wait_us / 1e6)

    async def _read_all(
        self,
        at: Instant,
        state: DeviceState,
        channels: Sequence[Channel] | None,
        words: dict[tuple[int, int], int],
        errors: dict[Span, DriverError],
    ) -> None:
        """The requests of the plan, in turn; what is refused is asked for in smaller pieces."""
        queue, left_out = list(self._plan.reads), []
        if channels is not None:
            wanted = spans_of((self._points[channel.name] for channel in channels), self.profile.limits)
            left_out = [r for r in queue if not any(own.covers(span) for own in r.spans for span in wanted)]
            queue = [read for read in queue if read not in left_out]
        done: list[Read] = []
        while queue:
            read = queue.pop(0)
            try:
                registers = await self._ask(read, state)
            except NoSuchRegister as error:
                pieces = () if error.code == _ILLEGAL_FUNCTION else self._plan.refused(read, at.mono_us)
                if pieces:
                    queue[:0] = pieces
                    continue
                errors |= dict.fromkeys(read.spans, error)
            except DeviceFault as error:
                errors |= dict.fromkeys(read.spans, error)
            except (DeviceSilent, BadReply) as error:
                self.silence = error
                done += [read, *queue]
                break
            else:
                self._plan.answered(read)
                words |= _wanted(read, registers)
            done.append(read)
        self._plan.reads = tuple(sorted((*done, *left_out), key=lambda read: (read.function, read.start)))

    def failed(
        self, at: Instant, fault: Fault, note: str, *, only: Collection[str] | None = None
    ) -> tuple[PointReading, ...]:
        """A sample without a number for every channel, or for the `only` ones of a poll in between."""
        return tuple(
            _marked(self._without_number(channel, at, fault, note), warms_up=False, between=only is not None)
            for channel in self.channels
            if only is None or channel.name in only
        )

    async def _ask(self, read: Read, state: DeviceState) -> tuple[int, ...]:
        """One request. A garbled or wrong answer is asked for again within the time the first try left over."""
        loop = asyncio.get_running_loop()
        unit, timeout_s = self.device.unit, self.device.timeout_us / 1e6
        left_s = timeout_s
        tries_left = self.device.retries
        while True:
            try:
                async with self._turn:
                    began_s = loop.time() + self._line.busy_s(unit)
                    registers = await self._line.read(unit, read.function, read.start, read.count, left_s)
                    state.latencies.add(round(self._line.latency_s * 1e6))
                    return registers
            except (BadCheckSum, BadReply) as error:
                state.count(error)
                left_s -= loop.time() + self._line.busy_s(unit) - began_s  # the line has to be drained, too
                if tries_left <= 0 or left_s < _LEAST_RETRY * timeout_s:
                    raise
                tries_left -= 1
            except DriverError as error:
                state.count(error)
                raise

    def _reading(
        self,
        channel: Channel,
        at: Instant,
        state: DeviceState,
        words: dict[tuple[int, int], int],
        errors: dict[Span, DriverError],
    ) -> PointReading:
        point = self._points[channel.name]
        for register in point.needed(words):
            if not _read_in(register, words):
                span = register.span
                error = next((error for asked, error in errors.items() if asked.covers(span)), self.silence)
                fault = _fault_of(error)
                return self._without_number(channel, at, fault, str(error or ""), _words_of(point.register, words))
        expected = channel.source_unit or point.unit or channel.unit
        decoded = still_the_same(point, words, read_point(point, words, expected), state.codes)
        decoded = still_moving(point, words, decoded, state.counts, at.mono_us, _STANDS_POLLS * channel.poll_us)
        sample = Sample(channel.name, at, decoded.raw, decoded.value, decoded.fault, decoded.quality)
        return self._placed(sample, point, expected, decoded.note)

    def _without_number(
        self, channel: Channel, at: Instant, fault: Fault, note: str, raw: tuple[int, ...] = ()
    ) -> PointReading:
        quality = Quality.MISSING if fault in _UNHEARD else Quality.FAIL
        point = self._points[channel.name]
        sample = Sample(channel.name, at, raw, None, fault, quality)
        return self._placed(sample, point, channel.source_unit or point.unit or channel.unit, note)

    def _placed(self, sample: Sample, point: Point, unit: str, note: str) -> PointReading:
        return PointReading(
            sample, self.device.name, point.name, point.function, point.address, point.doc_register, unit, note
        )


def _wanted(read: Read, registers: tuple[int, ...]) -> dict[tuple[int, int], int]:
    """The registers the request was made for. What lies in its holes may be another's, which asks for it otherwise."""
    return {
        (read.function, address): registers[address - read.start]
        for span in read.spans
        for address in range(span.start, span.end)
    }


def _read_in(register: Register, words: dict[tuple[int, int], int]) -> bool:
    return all(key in words for key in register.keys)


def _words_of(register: Register, words: dict[tuple[int, int], int]) -> tuple[int, ...]:
    return tuple(words[key] for key in register.keys) if _read_in(register, words) else ()


def _fault_of(error: DriverError | None) -> Fault:
    match error:
        case NoSuchRegister():
            return Fault.NO_SUCH_REGISTER
        case DeviceFault():
            return Fault.DEVICE_FAULT
        case BadReply():
            return Fault.BAD_REPLY
        case _:
            return Fault.SILENT


def _marked(reading: PointReading, *, warms_up: bool, between: bool) -> PointReading:
    """What was read too early after power came back does not count; what was read between two slots says so."""
    sample = reading.sample
    if warms_up and sample.fault is None:
        sample = replace(sample, quality=Quality.FAIL, note=WARM_UP)
        reading = replace(reading, note=reading.note or "it was silent, and has to warm up first")
    return replace(reading, sample=replace(sample, between=True) if between else sample)
