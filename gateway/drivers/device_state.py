"""What all polls of one device share: its counters, whether it answers, and how long it is left alone."""

from dataclasses import dataclass, field

from gateway.drivers.health import DeviceHealth, Latencies
from gateway.drivers.line_counts import UnitCounts
from gateway.drivers.modbus import BadCheckSum
from gateway.drivers.profile import Register
from gateway.errors import BadReply, DeviceFault, DeviceSilent, DriverError, NoSuchRegister
from gateway.site import Device

__all__ = ["DOWN_AFTER", "DeviceState"]

DOWN_AFTER = 2
"""Failed polls in a row that make a device down. One alone may be noise, and the next slot asks again."""


@dataclass(slots=True)
class DeviceState:
    """One device. Times are of the monotonic axis in microseconds, and None where it has not happened."""

    device: Device
    polls: int = 0
    answered: int = 0
    timeouts: int = 0
    bad_check_sums: int = 0
    bad_replies: int = 0
    exceptions: int = 0
    missed_slots: int = 0
    failures: int = 0  # failed polls in a row
    failing_since_us: int | None = None  # when the first of them began
    why: str = ""  # the latest of them
    not_before_us: int = 0  # left alone until then
    asked_us: int = 0  # the last poll that was begun
    latencies: Latencies = field(default_factory=Latencies)
    codes: dict[Register, float] = field(default_factory=dict)  # of registers that must not change
    counts: dict[Register, tuple[float, int]] = field(default_factory=dict)  # of those that must, and since when
    started_us: int | None = None  # its start command, if it has answered ever since
    heard_us: int | None = None  # the last poll it answered
    warm_at_us: int | None = None  # from then on its answers count
    lost_us: int | None = None  # its port was found down, and it was not heard since
    warm_up_us: int = field(init=False)
    free_at_s: float = 0.0  # event loop time: the gap after its last request is over

    def __post_init__(self) -> None:
        self.warm_up_us = self.device.warm_up_us

    @property
    def down(self) -> bool:
        """Whether it has been silent for more than a moment."""
        return self.failures >= DOWN_AFTER

    def failed(self, at_us: int, why: str) -> None:
        """A poll that began then was not answered."""
        if not self.failures:
            self.failing_since_us = at_us
        self.failures += 1
        self.why = why

    def heard(self, at_us: int) -> None:
        """A poll that began then was answered: after a silence of it or its port, or at first, it has to warm up."""
        if self.heard_us is None or self.down or self.lost_us is not None:
            self.warm_at_us = max(at_us, self.lost_us or 0) + self.warm_up_us
        self.lost_us = None
        self.answered += 1
        self.heard_us = at_us
        self.failures = 0
        self.failing_since_us = None
        self.not_before_us = 0
        self.why = ""

    def out_of_reach(self, at_us: int) -> None:
        """Its port was found down then: a power cut that takes a converter and a probe together looks like that."""
        self.lost_us = at_us

    def answered_order(self, at_us: int) -> None:
        """A device that is never polled answered an order."""
        self.heard_us = at_us
        self.failures = 0
        self.failing_since_us = None
        self.why = ""

    def warms_up(self, at_us: int) -> bool:
        """Whether a poll that began then, and was answered, is too early after power came back."""
        if not self.warm_up_us:
            return False
        if self.heard_us is None or self.down or self.lost_us is not None or self.warm_at_us is None:
            return True
        return at_us < self.warm_at_us

    def count(self, error: DriverError) -> None:
        """A request that brought no registers."""
        match error:
            case BadCheckSum():
                self.bad_check_sums += 1
            case DeviceSilent():
                self.timeouts += 1
            case BadReply():
                self.bad_replies += 1
            case NoSuchRegister() | DeviceFault():
                self.exceptions += 1
            case _:
                pass

    def health(self, now_us: int, line: UnitCounts, *, port_down: bool, fast: bool) -> DeviceHealth:
        """The counters as they stand, beside those the line keeps of its unit."""
        p50, p95, p99 = self.latencies.percentiles_us()
        return DeviceHealth(
            device=self.device.name,
            unit=self.device.unit,
            state="port down" if port_down else self._word(now_us),
            why=self.why,
            down_s=_since_s(self.failing_since_us, now_us) if self.down else None,
            heard_s=_since_s(self.heard_us, now_us),
            polls=self.polls,
            answered=self.answered,
            timeouts=self.timeouts,
            bad_check_sums=self.bad_check_sums,
            bad_replies=self.bad_replies,
            exceptions=self.exceptions,
            late_answers=line.late_answers,
            desyncs=line.desyncs,
            missed_slots=self.missed_slots,
            failures=self.failures,
            backing_off=self.failures > 0 and now_us < self.not_before_us,
            fast=fast,
            latency_us=self.latencies.latest_us,
            latency_p50_us=p50,
            latency_p95_us=p95,
            latency_p99_us=p99,
            slowest_us=self.latencies.slowest_us,
        )

    def _word(self, now_us: int) -> str:
        if self.down:
            return "down"
        if self.heard_us is None:
            return "unheard"
        return "warming up" if self.warms_up(now_us) else "up"


def _since_s(then_us: int | None, now_us: int) -> float | None:
    return None if then_us is None else round((now_us - then_us) / 1e6, 1)
