"""What is told of a port and its devices, each trouble once when it begins and once when it ends.

To the log at the first failure; as a note of the journal when it is more than a moment, which is what the world hears.
"""

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gateway.drivers.device_state import DeviceState
from gateway.drivers.poll import PointReading
from gateway.model import Fault, Instant, Note

__all__ = ["Troubles"]

log = logging.getLogger(__name__)

_UNHEARD = frozenset({Fault.SILENT, Fault.BUS_DOWN, Fault.BAD_REPLY})


@dataclass(frozen=True, slots=True)
class _Port:
    """Since when the port is down, and why."""

    since_us: int
    why: str


class Troubles:
    """The troubles of one bus. `tell` takes notes: `port_down`, `port_back`, `device_down`, `device_back`."""

    def __init__(self, bus: str, where: Callable[[], str], tell: Callable[[Note], None]) -> None:
        self._bus = bus
        self._where = where
        self._tell = tell
        self._times: dict[str, int] = {}
        self.port: _Port | None = None

    def unopened(self, why: str) -> None:
        """The port could not be opened."""
        self._begins("bus", "%s", why)

    def port_lost(self, at: Instant, why: str) -> None:
        """A slot found the port down."""
        self._begins("bus", "bus %s is down: %s", self._bus, why)
        if self.port is None:
            self.port = _Port(at.mono_us, why)
            self._tell(Note("port_down", at, {"bus": self._bus, "where": self._where(), "why": why}))

    def port_answered(self, at: Instant) -> None:
        """Some device answered over this port."""
        self._ends("bus", "bus %s is back after %d failures", self._bus)
        if self.port is not None:
            down_s = _seconds(self.port.since_us, at)
            self.port = None
            self._tell(Note("port_back", at, {"bus": self._bus, "where": self._where(), "down_s": down_s}))

    def device_failed(self, at: Instant, state: DeviceState, *, was_down: bool) -> None:
        """A poll of the device, begun at that moment, was not answered."""
        name = state.device.name
        self._begins(f"device {name}", "bus %s, device %s: %s", self._bus, name, state.why)
        if state.down and not was_down:
            since_us = at.mono_us if state.failing_since_us is None else state.failing_since_us
            self._tell(
                Note("device_down", at, self._of(state) | {"why": state.why, "silent_s": _seconds(since_us, at)})
            )

    def device_answered(self, at: Instant, state: DeviceState, *, down_since_us: int | None) -> None:
        """A poll of the device was answered; it had been down since then, unless None."""
        name = state.device.name
        self._ends(f"device {name}", "bus %s, device %s answers again after %d failed polls", self._bus, name)
        if down_since_us is not None:
            self._tell(Note("device_back", at, self._of(state) | {"down_s": _seconds(down_since_us, at)}))

    def heard(self, readings: Iterable[PointReading]) -> None:
        """What a device that answers says against its own values: to the log alone, since the readings say it too."""
        for reading in readings:
            sample = reading.sample
            if sample.fault in _UNHEARD:
                continue
            key, where = f"channel {sample.channel}", (self._bus, sample.channel)
            if sample.fault is not None:
                self._begins(key, "bus %s, channel %s: %s: %s", *where, sample.fault, reading.note)
            else:
                self._ends(key, "bus %s, channel %s is sound again after %d polls", *where)

    def _of(self, state: DeviceState) -> dict[str, str | int]:
        return {"bus": self._bus, "device": state.device.name, "unit": state.device.unit}

    def _begins(self, what: str, text: str, *args: object) -> None:
        seen = self._times.get(what, 0)
        self._times[what] = seen + 1
        log.log(logging.DEBUG if seen else logging.WARNING, text, *args)

    def _ends(self, what: str, text: str, *args: object) -> None:
        seen = self._times.pop(what, 0)
        if seen:
            log.info(text, *args, seen)


def _seconds(since_us: int, at: Instant) -> float:
    return round((at.mono_us - since_us) / 1e6, 1)
