"""Loads: a mean concentration times the water it was in (docs/judging.md 5.9)."""

from dataclasses import dataclass

from gateway.site import Channel, Conversion
from gateway.units import conversion

__all__ = ["KG_PER_MG_L_GAL", "LB_PER_MG_L_GAL", "Load", "load_of"]

LB_PER_MG_L_GAL = 8.34e-6
"""Pounds for 1 mg/L in a gallon: 8.34 per million gallons, the factor of the trade, which permits and reports are
written with (8.3454 from the definitions)."""

KG_PER_MG_L_GAL = 3.785411784e-6
"""Kilograms for 1 mg/L in a gallon, exactly: 231 in3 are 3.785411784 L."""


@dataclass(frozen=True, slots=True)
class Load:
    """Turns a value in the channel's unit and a volume in gal into a load."""

    to_mg_per_l: Conversion

    def lb(self, value: float, volume_gal: float) -> float:
        """Pounds, with the factor of the trade (reports are written with it)."""
        return self.to_mg_per_l(value) * volume_gal * LB_PER_MG_L_GAL

    def kg(self, value: float, volume_gal: float) -> float:
        """Kilograms, exactly: mg/L x m3 / 1,000."""
        return self.to_mg_per_l(value) * volume_gal * KG_PER_MG_L_GAL


def load_of(channel: Channel) -> Load | None:
    """The load of a channel of concentration; None for any other. ppm in a gas is no concentration in water."""
    if channel.quantity == "h2s-gas":
        return None
    try:
        return Load(conversion(channel.unit, "mg/L"))
    except ValueError:
        return None
