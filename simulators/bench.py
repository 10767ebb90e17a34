"""The bench: every bus of a site with its instruments on it, fed from the process model or from a recorded file."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

from gateway.clock import Clock
from gateway.errors import ConfigError, Problem
from gateway.site import SERIAL_KINDS, TCP_KINDS, Bus, Site
from simulators.line import Line
from simulators.manhole import Manhole, Truth
from simulators.modbus import SerialServer, TcpServer
from simulators.recorded import Recorded, Row
from simulators.relays import attach_sampler
from simulators.scenario import EventKind, Scenario
from simulators.wiring import rating, truth, wire

__all__ = ["Bench"]

_STEP_US = 1_000_000  # the process model's own step


class Bench:
    """Simulated lines and instruments for a site. `start`, then `run` as a task, then `stop`; once each.

    `instruments` (by device) and `lines` (by bus) may be tampered with while it runs. `truth` is what the model last
    said; it stays None while a recorded file is shown.
    """

    def __init__(
        self, scenario: Scenario, site: Site, clock: Clock, *, rows: Sequence[Row] = (), paced: bool = False
    ) -> None:
        """`rows` is the recorded file when the scenario asks for one; `paced` keeps the baud rate on serial lines.

        ConfigError for a site the bench cannot imitate, InputError for rows it cannot show.
        """
        wiring = wire(site)
        self.scenario = scenario
        self.instruments = wiring.instruments
        self.sampler = attach_sampler(site, wiring.instruments)
        self.lines: dict[str, Line] = {}
        self.truth: Truth | None = None
        self.recorded = Recorded(rows, wiring.feeds) if scenario.recorded else None
        self._site = site
        self._clock = clock
        self._paced = paced
        self._feeds = wiring.feeds
        self._servers: list[TcpServer | SerialServer] = []
        self._manhole = Manhole(scenario.seed, scenario, rating(site))
        self._zero_us = 0
        self._check_silences()

    @property
    def elapsed_s(self) -> float:
        """Virtual seconds since `start`: the time axis of the scenario."""
        return (self._clock.now().mono_us - self._zero_us) / 1e6

    async def start(self) -> Mapping[str, Bus]:
        """Open every line and port, with the first values already shown: the site's buses as they really are.

        OSError when one cannot be opened; what was opened is closed again.
        """
        self._zero_us = self._clock.now().mono_us
        if self.recorded is not None:
            for feed in self._feeds:
                feed.set(None)
            self.recorded.begin()
        else:
            self._show(0.0)
        buses: dict[str, Bus] = {}
        try:
            for bus in self._site.buses.values():
                buses[bus.name] = await self._open(bus)
        except BaseException:
            await self.stop()
            raise
        return buses

    async def run(self) -> None:
        """Feed the instruments in virtual time until cancelled; with a recorded file, until it was served."""
        if self.recorded is not None:
            await self.recorded.finished.wait()
            return
        while True:
            self._show(self.elapsed_s)
            await self._clock.sleep(_STEP_US)

    async def stop(self) -> None:
        """Close everything; again if you like."""
        while self._servers:
            await self._servers.pop().stop()
        while self.lines:
            self.lines.popitem()[1].close()
        await asyncio.sleep(0)  # let the transports' own close callbacks run

    async def _open(self, bus: Bus) -> Bus:
        on_bus = [
            self.instruments[d.name]
            for d in self._site.devices.values()
            if d.bus == bus.name and d.name in self.instruments
        ]
        if bus.kind in TCP_KINDS:
            tcp = TcpServer(on_bus, rtu_framing=bus.kind == "modbus-rtu-over-tcp")
            self._servers.append(tcp)
            await tcp.start()
            return replace(bus, host=tcp.host, tcp_port=tcp.port)
        if bus.kind in SERIAL_KINDS:
            bits = 1 + bus.data_bits + (bus.parity != "N") + bus.stop_bits
            bus = replace(bus, parity="N", data_bits=8)  # a pseudo-terminal has no others
            line = Line(bus.baud if self._paced else None, bits_per_character=bits, strict_speed=True)
            line.open()
            self.lines[bus.name] = line
            serial = SerialServer(
                on_bus,
                line.bench_path,
                baud=bus.baud,
                parity=bus.parity,
                stop_bits=bus.stop_bits,
                ascii_framing=bus.kind == "modbus-ascii",
            )
            self._servers.append(serial)
            await serial.start()
            return replace(bus, port=line.gateway_path)
        return bus

    def _show(self, t_s: float) -> None:
        self.truth = self._manhole.at(t_s)
        muted = set()
        for feed in self._feeds:
            feed.set(truth(self.truth.sensed, feed.channel, self._site))
            if feed.channel.quantity in self.truth.silent:
                muted.add(id(feed.instrument))
        for instrument in self.instruments.values():
            instrument.silent = id(instrument) in muted

    def _check_silences(self) -> None:
        measured = {feed.channel.quantity for feed in self._feeds}
        problems = [
            Problem(
                self.scenario.name,
                f"events[{i}].quantity",
                None,
                f"no instrument of {self._site.id} measures it: {e.quantity!r}",
            )
            for i, e in enumerate(self.scenario.events)
            if e.kind is EventKind.SILENT and e.quantity not in measured
        ]
        if problems:
            raise ConfigError(problems)
