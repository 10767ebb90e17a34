"""A probe in the manhole: it lags behind the water, trembles a little, shows whole digits, and reads air when dry."""

from dataclasses import dataclass
from math import exp
from random import Random

__all__ = ["Probe", "Noise", "PROBES"]


@dataclass(frozen=True, slots=True)
class Probe:
    """How one quantity is sensed. Lag is first order; noise adds its absolute and relative parts.

    `air` is what the probe settles to out of the water, with its own slow lag; None where it never leaves it.
    Numbers are those of ordinary process instruments: a good pH electrode takes some 15 s, a sheathed RTD 25 s.
    """

    lag_s: float
    noise: float
    noise_share: float
    resolution: float
    air: float | None = None
    air_lag_s: float = 60.0

    def share(self, wet: bool) -> float:
        """How much of the way to its target the probe goes in one second."""
        return 1.0 - exp(-1.0 / (self.lag_s if wet else self.air_lag_s))

    def shown(self, value: float, tremble: float) -> float:
        """What the probe reports: the lagged value with this much noise (standard normal), in whole digits."""
        noisy = value + tremble * (self.noise + self.noise_share * abs(value))
        return round(round(noisy / self.resolution) * self.resolution, 6)


# Keyed by the field of Water each senses. Dry, a glass electrode drifts near 7; conductivity and solids read zero.
PROBES = {
    "flow_gpm": Probe(lag_s=3.0, noise=0.03, noise_share=0.004, resolution=0.01),
    "level_ft": Probe(lag_s=2.0, noise=0.0005, noise_share=0.002, resolution=0.001),
    "ph": Probe(lag_s=15.0, noise=0.008, noise_share=0.0, resolution=0.01, air=7.0, air_lag_s=3600.0),
    "temperature_c": Probe(lag_s=25.0, noise=0.04, noise_share=0.0, resolution=0.1, air=14.0, air_lag_s=900.0),
    "conductivity_us_cm": Probe(lag_s=5.0, noise=1.0, noise_share=0.003, resolution=1.0, air=0.0, air_lag_s=20.0),
    "tss_mg_l": Probe(lag_s=10.0, noise=1.0, noise_share=0.01, resolution=1.0, air=0.0, air_lag_s=20.0),
}


class Noise:
    """Standard normal numbers as a pure function of the second: the same for whoever asks, however often.

    One table of prime length, read from a different place for each probe; it repeats after two hours and a quarter and
    is cut at 4 standard deviations, as an instrument's own filter would.
    """

    _LENGTH = 8191

    def __init__(self, seed: int) -> None:
        draw = Random(f"{seed} noise")
        self._table = [max(-4.0, min(4.0, draw.gauss(0.0, 1.0))) for _ in range(self._LENGTH)]

    def at(self, t_s: int, probe: int) -> float:
        """The number of this second for the probe with this index."""
        return self._table[(t_s + probe * 1361) % self._LENGTH]
