"""The water and the load of one run, from its first to its last exceeding sample."""

from collections.abc import Callable
from dataclasses import dataclass

from gateway.rules.load import KG_PER_MG_L_GAL, LB_PER_MG_L_GAL
from gateway.rules.sums import VALUE_SCALE, VOLUME_SCALE
from gateway.site import Channel

__all__ = ["Meter", "Water", "weighs"]


@dataclass(frozen=True, slots=True)
class Meter:
    """What measures the water: cumulative volume in gal x VOLUME_SCALE, and cumulative time with a valid flow, both at
    a moment of the monotonic axis in microseconds. `weighs`: the channel's value times the volume is a load."""

    volume: Callable[[int], int]
    valid_us: Callable[[int], int]
    weighs: bool = False


def weighs(channel: Channel, unit: str) -> bool:
    """Whether a value in this unit times a volume is a load: mg/L, and ppm by weight but not by volume in air."""
    return unit == "mg/L" or (unit == "ppm" and channel.quantity != "h2s-gas")


@dataclass(slots=True)
class Water:
    """Sums of integers: the same however often they were stored and brought back.

    Cumulative readings of the meter at the first and the latest exceeding sample, the value held since then, and the
    load up to it. A meter that began anew counts on from there.
    """

    begun: int
    volume: int
    valid_begun_us: int
    valid_us: int
    value: int
    load: int = 0

    @classmethod
    def begin(cls, meter: Meter, mono_us: int, value: float) -> "Water":
        """At the first exceeding sample."""
        volume, valid_us = meter.volume(mono_us), meter.valid_us(mono_us)
        return cls(volume, volume, valid_us, valid_us, round(value * VALUE_SCALE))

    def add(self, meter: Meter, mono_us: int, value: float) -> None:
        """Take the next exceeding sample."""
        volume, valid_us = meter.volume(mono_us), meter.valid_us(mono_us)
        if volume < self.volume or valid_us < self.valid_us:
            self.begun += volume - self.volume
            self.valid_begun_us += valid_us - self.valid_us
        else:
            self.load += self.value * (volume - self.volume)
        self.volume, self.valid_us = volume, valid_us
        self.value = round(value * VALUE_SCALE)

    def record(self, meter: Meter, duration_us: int) -> dict[str, float]:
        """`volume_gal`, `load_lb`, `load_kg`, and `flow_known` (share of the duration) where it is not all; empty when
        none is."""
        valid_us = self.valid_us - self.valid_begun_us
        if valid_us <= 0:
            return {}
        record = {"volume_gal": (self.volume - self.begun) / VOLUME_SCALE}
        if meter.weighs:
            load = self.load / (VALUE_SCALE * VOLUME_SCALE)
            record |= {"load_lb": load * LB_PER_MG_L_GAL, "load_kg": load * KG_PER_MG_L_GAL}
        if valid_us < duration_us:
            record["flow_known"] = valid_us / duration_us
        return record

    def state(self) -> list[int]:
        """JSON-able; `Water(*state)` brings it back."""
        return [self.begun, self.volume, self.valid_begun_us, self.valid_us, self.value, self.load]
