"""What a bus knows of its own health, as frozen counters for status pages and the health topic."""

from dataclasses import dataclass

__all__ = ["BusHealth", "DeviceHealth"]


@dataclass(frozen=True, slots=True)
class DeviceHealth:
    """One device since the gateway started.

    `polls` were begun and `answered` fully; `timeouts`, `bad_check_sums`, `bad_replies` and `exceptions` count
    requests. `late` counts poll slots that went by unused, `failures` the failed polls in a row up to now,
    `backing_off` whether it is being left alone. Latency is from request to answer.
    """

    device: str
    unit: int
    polls: int = 0
    answered: int = 0
    timeouts: int = 0
    bad_check_sums: int = 0
    bad_replies: int = 0
    exceptions: int = 0
    late: int = 0
    failures: int = 0
    backing_off: bool = False
    latency_us: int = 0
    slowest_us: int = 0


@dataclass(frozen=True, slots=True)
class BusHealth:
    """One port since the gateway started, with its devices in the order of the site file."""

    bus: str
    where: str
    connected: bool
    connections: int
    polls_late: int
    late_answers: int
    foreign_frames: int
    noisy_answers: int
    echoes: int
    resets: int
    devices: tuple[DeviceHealth, ...] = ()
