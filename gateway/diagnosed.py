"""What is diagnosed of a channel and of a station, as the site file asks for it; None means: not looked for."""

from dataclasses import dataclass

__all__ = ["NOTHING", "Agreement", "Diagnosed", "Heat", "Tamper"]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Two sensors of one thing: further apart than `within` (in this channel's unit) for `for_us`, neither is believed.

    The other's value x `gain` + `offset` is in this channel's unit.
    """

    channel: str
    within: float
    for_us: int
    gain: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True, slots=True)
class Heat:
    """The heat a glass bears before it wants a check: `hours` above `above`, in the unit of temperature `channel`."""

    channel: str
    above: float
    hours: int


@dataclass(frozen=True, slots=True)
class Diagnosed:
    """What is looked for in the readings of one channel; values are in its unit (docs/quality.md 4)."""

    loop: bool = False  # its number is a 4 to 20 mA current
    resolution: float | None = None  # the least step its instrument shows
    attenuation: float | None = None  # variance below this share of what it was
    attenuation_hours: int = 12  # for so many hours of discharge
    held_us: int | None = None  # the same registers for so long while the flow changes
    glass: bool = False  # a pH near 7 that does not move while the discharge does
    jump: float | None = None  # further in one poll than a level moves
    dry_us: int | None = None  # a glass electrode out of the water for so long
    heat: Heat | None = None  # a glass electrode in hot water
    night: float | None = None  # the value of the small hours, changed by this share in 7 days: below zero, fallen
    agreement: Agreement | None = None
    compensated_by: str | None = None  # the temperature that corrects this pH
    capacity: float | None = None  # of a flow: more than the full pipe can carry
    crown: float | None = None  # of a level: where the pipe is full
    overflow_at: float | None = None  # of a level: where it leaves the manhole


NOTHING = Diagnosed()


@dataclass(frozen=True, slots=True)
class Tamper:
    """What a hand in the manhole looks like: probes that step together toward clean water.

    `contacts` are doors and lids with what they read when closed up (True: a closed contact).
    """

    contacts: tuple[tuple[str, bool], ...] = ()
    ph_step: float = 0.5
    conductivity_share: float = 0.3
    tap_us_cm: float = 300.0
    temperature_step_c: float = 2.0
    ambient_c: float = 15.0
    flow_share: float = 0.1
    channels: int = 3
