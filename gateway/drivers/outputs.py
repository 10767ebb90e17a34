"""Carries out orders on the wire: written, read back, told. Only the outputs of the site file are ever written.

An order that is too old is not sent, one that may have been sent is never sent again under the same key, and a pulse
always ends: at the latest when the gateway puts everything to its safe state.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable
from typing import TypeVar

from gateway.clock import Clock
from gateway.drivers.bus import PollBus
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.output_requests import arming, read_back, value_of, write
from gateway.errors import BusDown, DriverError
from gateway.model import Note, Order
from gateway.outputs.wired import Carried, Output, OutputRole, Result
from gateway.site import Device, Site

__all__ = ["OutputLines"]

log = logging.getLogger(__name__)

_TRIES = 3
_TRIES_TO_END = 6  # a pulse that does not end is worse than one that does not begin
_PAUSE_S = 0.2
_LOOK_US = 1_000_000
_CHECK_EVERY_US = 60_000_000
_END_EVERY_US = 5_000_000  # a pulse that could not be ended is ended as soon as the line lets it
_FEEDS = 3  # the device's watchdog is fed so often in its own time
_END_S = 5.0  # what putting one line to rest may take when the gateway ends
_UNRECORDED = frozenset({OutputRole.HORN, OutputRole.BEACON, OutputRole.VALVE, OutputRole.RELAY})
_T = TypeVar("_T")


class _Mismatch(DriverError):
    """The output does not read back as it was written."""


class _Overdue(BusDown):
    """The line was not to be had before the time of an order was over: nothing was sent."""


class OutputLines:
    """The outputs of one site on its buses. `run` until cancelled; then `make_safe`, once the buses have let go.

    `told` hears what became of every order, in the event loop; `note` what was put to its safe state; `latched` names
    the outputs whose safe state must not be written.
    """

    def __init__(
        self,
        site: Site,
        buses: Iterable[PollBus],
        clock: Clock,
        told: Callable[[Carried], None],
        note: Callable[[Note], None],
        latched: Callable[[], frozenset[str]],
    ) -> None:
        self._site = site
        self._clock = clock
        self._told, self._note, self._latched = told, note, latched
        devices = {output.device for output in site.outputs.values()}
        used = {site.devices[name].bus for name in devices}
        self._buses = {bus.bus.name: bus for bus in buses if bus.bus.name in used}
        self._queues: dict[str, asyncio.Queue[tuple[Order, bool]]] = {name: asyncio.Queue() for name in site.outputs}
        self._ready = {name: asyncio.Event() for name in self._buses}
        self._meant: dict[str, bool] = {}  # what each was last put to, as far as it is known
        self._pulsed_us: dict[str, int] = {}
        self._off_course: set[str] = set()  # told of already
        self._turns = {name: asyncio.Lock() for name in site.outputs}  # a pulse and a look never mix
        self._unended: set[str] = set()  # pulses that began and are not known to be over
        self._unrested: set[str] = set()  # whose safe state of the start could not be written yet
        self._open: dict[str, Order] = {}  # by key: handed over, and not at an end

    def take(self, orders: Iterable[Order]) -> None:
        """Carry out these orders, which are on record; each in its turn."""
        for order in orders:
            self._queue(order, recorded=True)

    def take_unrecorded(self, orders: Iterable[Order]) -> list[Order]:
        """Carry out what must not wait for a broken disk; the others are given back.

        Horn and valve act all the same; a sample that is on no record is none.
        """
        waiting = []
        for order in orders:
            output = self._site.outputs.get(order.output)
            if output is not None and output.role in _UNRECORDED:
                self._queue(order, recorded=False)
            else:
                waiting.append(order)
        return waiting

    async def run(self) -> None:
        """Put everything to its safe state, then serve orders until cancelled.

        Run again after a fault it goes on: what was put to its safe state once may stand on by now, for a reason.
        """
        async with asyncio.TaskGroup() as group:
            for bus in self._buses.values():
                group.create_task(self._keep(bus), name=f"outputs of {bus.bus.name}")
            for output in self._site.outputs.values():
                group.create_task(self._serve(output), name=f"output {output.name}")

    async def make_safe(self) -> None:
        """Put everything to its safe state over a line of its own; for a clean end, with the buses closed."""
        for bus in self._buses.values():
            try:
                async with asyncio.timeout(_END_S):
                    await bus.line.open()
                    await self._rest(bus, "end", own_line=True)
            except (TimeoutError, DriverError) as error:
                log.warning("outputs of bus %s were not put to their safe state: %s", bus.bus.name, error)
                self._note(
                    Note("safe_state", self._clock.now(), {"when": "end", "bus": bus.bus.name, "why": str(error)})
                )
            finally:
                bus.line.close()

    def abandon(self, orders: Iterable[Order]) -> None:
        """The gateway ends: what is not done by now, these orders included, is not done, and told as such."""
        for order in (*self._open.values(), *orders):
            self._tell(order, Result.INTERRUPTED, "the gateway was stopped", recorded=True)

    def _queue(self, order: Order, *, recorded: bool) -> None:
        queue = self._queues.get(order.output)
        if queue is None:
            self._tell(order, Result.REFUSED, f"there is no output {order.output!r} in the site file", recorded)
        else:
            self._open[order.key] = order
            queue.put_nowait((order, recorded))

    async def _serve(self, output: Output) -> None:
        queue = self._queues[output.name]
        ready = self._ready[self._device(output).bus]
        while True:
            order, recorded = await queue.get()
            while not ready.is_set() and not self._too_late(order):
                await self._clock.sleep(_LOOK_US)
            async with self._turns[output.name]:
                result, why = await self._carry_out(output, order)
            self._tell(order, result, why, recorded)

    async def _carry_out(self, output: Output, order: Order) -> tuple[Result, str]:
        if self._too_late(order):
            return Result.EXPIRED, "its time was over when its turn came"
        try:
            if order.action in ("on", "off"):
                return await self._switch(output, order, on=order.action == "on")
            if order.action == "pulse":
                return await self._pulse(output, order)
        except _Overdue as error:
            return Result.EXPIRED, str(error)
        return Result.REFUSED, f"an output knows on, off and pulse, not {order.action!r}"

    async def _switch(self, output: Output, order: Order, *, on: bool) -> tuple[Result, str]:
        why = await self._insist(output, on, _TRIES, order)
        if why is None:
            self._unended.discard(output.name)
        return (Result.DONE, "") if why is None else (Result.FAILED, why)

    async def _pulse(self, output: Output, order: Order) -> tuple[Result, str]:
        if self._meant.get(output.name):
            return Result.REFUSED, "it is on: a pulse would end by switching it off"
        last_us = self._pulsed_us.get(output.name)
        if last_us is not None:
            ready_us = last_us + output.min_interval_us
            if ready_us > order.expires.mono_us:
                return Result.EXPIRED, "the last pulse was too short a time ago"
            await self._clock.sleep(ready_us - self._clock.now().mono_us)
        if self._too_late(order):
            return Result.EXPIRED, "its time was over when its turn came"
        began_us, unended = self._clock.now().mono_us, output.name in self._unended
        self._unended.add(output.name)  # before anything is sent: the gateway may end meanwhile
        try:
            why = await self._insist(output, True, _TRIES, order)
        except _Overdue:
            if not unended:
                self._unended.discard(output.name)
            raise
        self._pulsed_us[output.name] = began_us
        if why is None:
            await self._clock.sleep(output.pulse_us)
        ended = await self._insist(output, False, _TRIES_TO_END, None)
        if ended is None:
            self._unended.discard(output.name)
        if why is not None:
            return Result.FAILED, why
        return (Result.DONE, "") if ended is None else (Result.FAILED, f"it may still be on: {ended}")

    async def _insist(self, output: Output, on: bool, tries: int, order: Order | None) -> str | None:
        """Write and read back, a few times; None when it is so, else why not. With an order, not past its expiry.

        _Overdue when the time of the order was over before anything was sent. Writing the same state again makes no
        second pulse: the contact is closed already, or never was.
        """
        why = ""
        meant = self._meant.pop(output.name, None)
        for n in range(tries):
            if n:
                await asyncio.sleep(_PAUSE_S * n)
            try:
                await self._write(output, on, order=order)
            except _Overdue:
                if n:
                    return f"{why}; then its time was over"
                if meant is not None:
                    self._meant[output.name] = meant
                raise
            except DriverError as error:
                why = str(error)
                if on != (output.safe == "on"):
                    self._unrested.discard(output.name)  # an order took its place, and is given again
            else:
                self._meant[output.name] = on
                self._unrested.discard(output.name)
                return None
        return why

    async def _write(self, output: Output, on: bool, *, order: Order | None = None, own_line: bool = False) -> None:
        """One write and its read-back. DriverError; _Overdue when the order's time went by while the line was busy."""
        device = self._device(output)

        async def in_time(line: ModbusLine) -> None:
            if order is not None and self._too_late(order):
                raise _Overdue("its time was over when the line was free")
            await write(line, device, output, on)

        await self._ask(device, in_time, own_line=own_line)
        value, found = value_of(output, on), await self._read_back(output, own_line=own_line)
        if found != value:
            raise _Mismatch(f"{output.name}: wrote {value} to {output.kind} {output.address}, reads back {found}")

    async def _read_back(self, output: Output, *, own_line: bool = False) -> int:
        device = self._device(output)
        return await self._ask(device, lambda line: read_back(line, device, output), own_line=own_line)

    async def _ask(self, device: Device, work: Callable[[ModbusLine], Awaitable[_T]], *, own_line: bool = False) -> _T:
        bus = self._buses[device.bus]
        if own_line:
            return await work(bus.line)
        if not bus.line.connected:
            raise BusDown(f"bus {bus.bus.name}: {bus.line.where} is not open")
        return await bus.order(device.name, work)

    async def _keep(self, bus: PollBus) -> None:
        """Begin once the line is open; arm the watchdogs at every opening; look now and then whether all is so."""
        armed = False
        watchdogs = [d.watchdog_us for d in self._devices_on(bus) if d.watchdog_us is not None]
        every_us = min([_CHECK_EVERY_US, *(us // _FEEDS for us in watchdogs)])
        check_us = end_us = rest_us = 0
        while True:
            if not bus.line.connected:
                armed = False
            elif not self._ready[bus.bus.name].is_set():
                await self._rest(bus, "start")
                self._ready[bus.bus.name].set()
                rest_us = self._clock.now().mono_us + _CHECK_EVERY_US
            if bus.line.connected and not armed:
                armed = await self._arm(bus)
            now_us = self._clock.now().mono_us
            if armed and now_us >= check_us:
                check_us = now_us + every_us
                await self._check(bus)
            if bus.line.connected and now_us >= rest_us:
                rest_us = now_us + _CHECK_EVERY_US
                await self._rest_again(bus)
            if bus.line.connected and now_us >= end_us:
                end_us = now_us + _END_EVERY_US
                await self._end_pulses(bus)
            await self._clock.sleep(min(_LOOK_US, every_us))

    async def _rest(self, bus: PollBus, when: str, *, own_line: bool = False) -> None:
        """Put the outputs of a line to their safe state; one that is latched, or holds, stays as it is."""
        latched = self._latched()
        became: dict[str, str] = {}
        for output in self._on(bus):
            pulsing = output.name in self._unended
            if (output.safe == "hold" and not pulsing) or output.name in latched:
                became[output.name] = "left as it is"
                continue
            on = output.safe == "on"  # a pulse in the middle of which the gateway ends is over, even where it holds
            try:
                await self._write(output, on, own_line=own_line)
            except DriverError as error:
                became[output.name] = f"failed: {error}"
                if output.pulsed:
                    self._unended.add(output.name)  # as far as anybody knows
                elif when == "start":
                    self._unrested.add(output.name)
                if when == "start":
                    self._off_course_now(output, output.safe, str(error))
            else:
                became[output.name] = "on" if on else "off"
                self._meant[output.name] = on
                self._unended.discard(output.name)
                if when == "start" and not output.pulsed:
                    self._tell(self._own_order(output, output.safe), Result.DONE, "at rest", False, noted=True)
        self._note(Note("safe_state", self._clock.now(), {"when": when, "bus": bus.bus.name, "outputs": became}))

    async def _rest_again(self, bus: PollBus) -> None:
        """Put to their safe state the outputs that could not be at the start, unless an order took its place since.

        A relay module may boot later than the gateway. (A pulse that is not known to be over is ended elsewhere.)
        """
        for output in self._on(bus):
            turn = self._turns[output.name]
            if output.name not in self._unrested or turn.locked() or output.name in self._latched():
                continue
            async with turn:
                on = output.safe == "on"
                try:
                    await self._write(output, on)
                except DriverError as error:
                    log.debug("output %s cannot be put to its safe state now: %s", output.name, error)
                    continue
                self._unrested.discard(output.name)
                self._off_course.discard(output.name)
                self._meant[output.name] = on
                self._tell(self._own_order(output, output.safe), Result.DONE, "the safe state, at last", recorded=False)

    async def _arm(self, bus: PollBus) -> bool:
        for device in self._devices_on(bus):
            command = arming(device)
            if command is None:
                continue
            try:
                await self._ask(device, command)
            except DriverError as error:
                log.warning("the watchdog of %s could not be armed: %s", device.name, error)
                return False
            self._note(
                Note("watchdog_armed", self._clock.now(), {"device": device.name, "after_us": device.watchdog_us})
            )
        return True

    async def _check(self, bus: PollBus) -> None:
        """Whether each output still is what it was put to: a module that lost its power forgets, and says nothing."""
        for output in self._on(bus):
            meant = self._meant.get(output.name)
            turn = self._turns[output.name]
            if meant is None or turn.locked():
                continue
            try:
                found = await self._read_back(output)
            except DriverError as error:
                log.debug("output %s cannot be read back now: %s", output.name, error)
                continue
            if turn.locked() or self._meant.get(output.name) is not meant:
                continue
            wanted = value_of(output, meant)
            if found != wanted:
                self._off_course_now(output, "check", f"was put to {wanted} and is now {found}")
                if output.pulsed:
                    self._unended.add(output.name)
                    await self._end_pulses(bus)
            elif output.name in self._off_course:
                self._off_course.discard(output.name)
                self._tell(self._own_order(output, "check"), Result.DONE, "as it was put", recorded=False)

    async def _end_pulses(self, bus: PollBus) -> None:
        """Try again to end each pulse that is not known to be over; one that is under way ends by itself."""
        for output in self._on(bus):
            turn = self._turns[output.name]
            if output.name not in self._unended or turn.locked() or output.name in self._latched():
                continue
            async with turn:
                if await self._insist(output, False, 1, None) is None:
                    self._unended.discard(output.name)

    def _off_course_now(self, output: Output, action: str, why: str) -> None:
        if output.name not in self._off_course:
            self._off_course.add(output.name)
            self._tell(self._own_order(output, action), Result.FAILED, why, recorded=False)

    def _own_order(self, output: Output, action: str) -> Order:
        """What nobody ordered: the safe state, or a look at what became of an order."""
        now = self._clock.now()
        return Order(output.name, action, now, now, "the gateway's own", f"{action}-{output.name}-{now.utc_us}")

    def _tell(self, order: Order, result: Result, why: str, recorded: bool, *, noted: bool = False) -> None:
        if result is not Result.DONE:
            log.warning("output %s, %s: %s: %s", order.output, order.action, result, why)
        self._open.pop(order.key, None)
        self._told(Carried(order, result, self._clock.now(), why, recorded, noted))

    def _too_late(self, order: Order) -> bool:
        return self._clock.now().mono_us > order.expires.mono_us

    def _device(self, output: Output) -> Device:
        return self._site.devices[output.device]

    def _on(self, bus: PollBus) -> list[Output]:
        return [output for output in self._site.outputs.values() if self._device(output).bus == bus.bus.name]

    def _devices_on(self, bus: PollBus) -> list[Device]:
        names = dict.fromkeys(output.device for output in self._on(bus))
        return [self._site.devices[name] for name in names]
