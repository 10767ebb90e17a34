"""What a bus knows of its own health, as frozen counters for status pages and the health topic."""

from collections import deque
from dataclasses import dataclass, field

__all__ = ["BusHealth", "DeviceHealth", "Latencies"]

_REMEMBERED = 512


@dataclass(slots=True)
class Latencies:
    """The latest answers' times from request to answer, in microseconds: at most 512 of them."""

    _ring: deque[int] = field(default_factory=lambda: deque(maxlen=_REMEMBERED))
    latest_us: int = 0
    slowest_us: int = 0  # ever

    def add(self, latency_us: int) -> None:
        """One more answer."""
        self._ring.append(latency_us)
        self.latest_us = latency_us
        self.slowest_us = max(self.slowest_us, latency_us)

    def percentiles_us(self) -> tuple[int, int, int]:
        """p50, p95 and p99 by nearest rank: the smallest that so many of a hundred do not exceed. Noughts for none."""
        ordered = sorted(self._ring)
        if not ordered:
            return 0, 0, 0
        p50, p95, p99 = (ordered[-(-percent * len(ordered) // 100) - 1] for percent in (50, 95, 99))
        return p50, p95, p99


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """One device since the gateway started.

    `state` is `up`, `down` (two polls in a row failed), `unheard` (not answered yet), `warming up` (it answers, and
    its values do not count yet) or `port down` (nobody can ask it). `why` and `down_s` say why it is down and for how
    long; `heard_s` how long ago it last answered a poll, None for never.

    `polls` were begun and `answered` fully; `timeouts`, `bad_check_sums`, `bad_replies` and `exceptions` count
    requests; `late_answers` came after their deadline, and `desyncs` counts every time the device and we were out of
    step. `missed_slots` are polls that came too late to be made, `failures` the failed polls in a row up to now,
    `backing_off` whether it is being left alone. Latency is from request to answer, its percentiles over the latest
    512 answers.
    """

    device: str
    unit: int
    state: str = "unheard"
    why: str = ""
    down_s: float | None = None
    heard_s: float | None = None
    polls: int = 0
    answered: int = 0
    timeouts: int = 0
    bad_check_sums: int = 0
    bad_replies: int = 0
    exceptions: int = 0
    late_answers: int = 0
    desyncs: int = 0
    missed_slots: int = 0
    failures: int = 0
    backing_off: bool = False
    fast: bool = False
    latency_us: int = 0
    latency_p50_us: int = 0
    latency_p95_us: int = 0
    latency_p99_us: int = 0
    slowest_us: int = 0


@dataclass(frozen=True, slots=True)
class BusHealth:
    """One port since the gateway started, with its devices in the order of the site file.

    `state` is `up` or `down`, with `why` and `down_s` as of a device. `connected` is whether it is open at this moment:
    one that is open is up again only when somebody has answered.
    """

    bus: str
    where: str
    connected: bool
    connections: int
    missed_slots: int
    late_answers: int
    foreign_frames: int
    noisy_answers: int
    echoes: int
    resets: int
    state: str = "up"
    why: str = ""
    down_s: float | None = None
    devices: tuple[DeviceHealth, ...] = ()
