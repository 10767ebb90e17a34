"""One poll of one device: its requests, and a sample for every channel whatever happened to them."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gateway.drivers.health import DeviceHealth
from gateway.drivers.modbus import BadCheckSum, ModbusLine
from gateway.drivers.plan import Read, plan, split
from gateway.drivers.points import read_point
from gateway.drivers.profile import Point, Profile, Register, Span
from gateway.errors import BadReply, DeviceFault, DeviceSilent, DriverError, NoSuchRegister
from gateway.model import Fault, Instant, Quality, Sample
from gateway.site import Channel, Device

__all__ = ["DevicePoll", "DeviceState", "PointReading"]

_ILLEGAL_FUNCTION = 1
_LEAST_RETRY = 0.25  # of the timeout must be left for a second try to make sense
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


@dataclass(slots=True)
class DeviceState:
    """What all polls of one device share: its counters, and how long it is left alone."""

    device: Device
    polls: int = 0
    answered: int = 0
    timeouts: int = 0
    bad_check_sums: int = 0
    bad_replies: int = 0
    exceptions: int = 0
    late: int = 0
    failures: int = 0
    not_before_us: int = 0
    latency_us: int = 0
    slowest_us: int = 0

    def health(self, now_us: int) -> DeviceHealth:
        """The counters as they stand."""
        return DeviceHealth(
            device=self.device.name,
            unit=self.device.unit,
            polls=self.polls,
            answered=self.answered,
            timeouts=self.timeouts,
            bad_check_sums=self.bad_check_sums,
            bad_replies=self.bad_replies,
            exceptions=self.exceptions,
            late=self.late,
            failures=self.failures,
            backing_off=self.failures > 0 and now_us < self.not_before_us,
            latency_us=self.latency_us,
            slowest_us=self.slowest_us,
        )


class DevicePoll:
    """The channels of one device that are polled together.

    The requests are planned once. When the device refuses one of them as unknown, it is split until the bad register
    stands alone, and stays split.
    """

    def __init__(self, device: Device, profile: Profile, channels: Sequence[Channel], line: ModbusLine) -> None:
        self.device = device
        self.channels = tuple(channels)
        self.silence: DriverError | None = None  # why the last poll was broken off
        self._profile = profile
        self._line = line
        self._points = {channel.name: profile.points[channel.point or ""] for channel in self.channels}
        self._reads = plan(self._points.values(), profile.limits)

    async def run(self, at: Instant, state: DeviceState) -> tuple[PointReading, ...]:
        """Asks for everything once and decodes what came; `at` is the stamp of every sample.

        A timeout or a wrong answer breaks the poll off (`silence` says so): the points that are whole by then count,
        the rest is silent. BusDown is raised.
        """
        self.silence = None
        words: dict[tuple[int, int], int] = {}
        errors: dict[Span, DriverError] = {}
        queue = list(self._reads)
        done: list[Read] = []
        while queue:
            read = queue.pop(0)
            try:
                registers = await self._ask(read, state)
            except NoSuchRegister as error:
                halves = () if error.code == _ILLEGAL_FUNCTION else split(read, self._profile.limits)
                if halves:
                    queue[:0] = halves
                    continue
                errors |= dict.fromkeys(read.spans, error)
            except DeviceFault as error:
                errors |= dict.fromkeys(read.spans, error)
            except (DeviceSilent, BadReply) as error:
                self.silence = error
                done += [read, *queue]
                break
            else:
                words |= {(read.function, read.start + n): word for n, word in enumerate(registers)}
            done.append(read)
        self._reads = tuple(done)
        return tuple(self._reading(channel, at, words, errors) for channel in self.channels)

    def failed(self, at: Instant, fault: Fault, note: str) -> tuple[PointReading, ...]:
        """A sample without a number for every channel."""
        return tuple(self._without_number(channel, at, fault, note) for channel in self.channels)

    async def _ask(self, read: Read, state: DeviceState) -> tuple[int, ...]:
        """One request. A garbled or wrong answer is asked for again within the time the first try left over."""
        loop = asyncio.get_running_loop()
        unit, timeout_s = self.device.unit, self.device.timeout_us / 1e6
        left_s = timeout_s
        until = loop.time() + self._line.busy_s(unit) + timeout_s
        tries_left = self.device.retries
        while True:
            try:
                registers = await self._line.read(unit, read.function, read.start, read.count, left_s)
            except (BadCheckSum, BadReply) as error:
                _count(error, state)
                left_s = until - loop.time() - self._line.busy_s(unit)
                if tries_left <= 0 or left_s < _LEAST_RETRY * timeout_s:
                    raise
                tries_left -= 1
            except DriverError as error:
                _count(error, state)
                raise
            else:
                state.latency_us = round(self._line.latency_s * 1e6)
                state.slowest_us = max(state.slowest_us, state.latency_us)
                return registers

    def _reading(
        self, channel: Channel, at: Instant, words: dict[tuple[int, int], int], errors: dict[Span, DriverError]
    ) -> PointReading:
        point = self._points[channel.name]
        for register in point.registers():
            if not _read_in(register, words):
                error = errors.get(point.span_of(register), self.silence)
                fault = _fault_of(error)
                return self._without_number(channel, at, fault, str(error or ""), _words_of(point.register, words))
        expected = channel.source_unit or point.unit or channel.unit
        decoded = read_point(point, words, expected)
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


def _read_in(register: Register, words: dict[tuple[int, int], int]) -> bool:
    return all(key in words for key in _keys(register))


def _words_of(register: Register, words: dict[tuple[int, int], int]) -> tuple[int, ...]:
    return tuple(words[key] for key in _keys(register)) if _read_in(register, words) else ()


def _keys(register: Register) -> Iterator[tuple[int, int]]:
    span = register.span
    return ((span.function, address) for address in range(span.start, span.end))


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


def _count(error: DriverError, state: DeviceState) -> None:
    match error:
        case BadCheckSum():
            state.bad_check_sums += 1
        case DeviceSilent():
            state.timeouts += 1
        case BadReply():
            state.bad_replies += 1
        case NoSuchRegister() | DeviceFault():
            state.exceptions += 1
        case _:
            pass
