"""Contacts, outputs and the sampler of one site as frozen records, and what became of an order."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.model import Instant, Order, Severity

__all__ = [
    "Carried", "CompositePlan", "ContactInput", "ContactRole", "GrabPlan", "Output", "OutputRole", "Result", "Sampler",
]  # fmt: skip


class ContactRole(StrEnum):
    """What a contact says when it is not as it should be."""

    DOOR = "door"
    LID = "lid"
    FLOAT = "float"  # a high-level float: the manhole fills
    BOTTLE_FULL = "bottle-full"
    SAMPLE_TAKEN = "sample-taken"
    SAMPLER_FAULT = "sampler-fault"
    OTHER = "other"  # recorded, and no alarm


_ALARM = {
    ContactRole.DOOR: "intrusion",
    ContactRole.LID: "intrusion",
    ContactRole.FLOAT: "high-level",
    ContactRole.BOTTLE_FULL: "bottle-full",
    ContactRole.SAMPLER_FAULT: "sampler-fault",
}


@dataclass(frozen=True, slots=True)
class ContactInput:
    """What a channel of quantity `contact` means: 1 is a closed contact, 0 an open one.

    `normal` is the state in which nothing is the matter (True: closed). A change counts once it has lasted
    `debounce_us`, from one sample to a later one.
    """

    channel: str
    role: ContactRole
    normal: bool
    debounce_us: int = 0

    @property
    def alarm(self) -> str:
        """The alarm it raises; empty for a contact that only counts."""
        kind = _ALARM.get(self.role, "")
        return f"{kind}-{self.channel}" if kind else ""


class OutputRole(StrEnum):
    """What an output drives, and so who gives it orders."""

    HORN = "horn"
    BEACON = "beacon"
    VALVE = "valve"  # on is shut
    SAMPLER_PACE = "sampler-pace"
    SAMPLER_GRAB = "sampler-grab"
    RELAY = "relay"  # people only


@dataclass(frozen=True, slots=True)
class Output:
    """One coil or holding register that may be written, and nothing else of its device may.

    `on` and `off` are what is written for each (1 and 0 for a coil). `safe` is what it is put to at the start and at a
    clean end: `off`, `on`, or `hold`, as it is. An order not begun `expires_us` after it was given is not carried out
    any more. `from_severity`: horn and beacon sound for alarms as severe as that; `shuts_on`: a valve shuts when one of
    these rules is proven to be exceeded, by the word of `approved_by`.
    """

    name: str
    device: str
    role: OutputRole
    kind: str  # `coil` or `register`
    address: int
    on: int = 1
    off: int = 0
    pulse_us: int = 1_000_000
    min_interval_us: int = 0
    expires_us: int = 60_000_000
    safe: str = "off"
    from_severity: Severity = Severity.HIGH
    shuts_on: tuple[str, ...] = ()
    approved_by: str = ""
    approved_on: str = ""

    @property
    def alarm(self) -> str:
        """The alarm that says it did not do as it was told."""
        return f"output-{self.name}"

    @property
    def pulsed(self) -> bool:
        """Whether it is only ever pulsed."""
        return self.role in (OutputRole.SAMPLER_PACE, OutputRole.SAMPLER_GRAB)


@dataclass(frozen=True, slots=True)
class CompositePlan:
    """How a composite is paced. Never changed while one runs.

    Flow-paced: one pulse for every `volume_gal` that the flow channel shows (`gpm_per_unit` takes it to gpm); below
    `idle_below`, in the channel's unit, nothing is discharged. Time-paced: one pulse every `every_us`. Every
    `pulses_per_aliquot`-th pulse is an aliquot of `aliquot_ml`; two pulses are never closer than `spacing_us`. One
    composite takes `duration_us`.
    """

    output: str
    flow: str | None
    volume_gal: float | None
    every_us: int | None
    spacing_us: int
    aliquot_ml: float
    bottle_ml: float
    duration_us: int
    pulses_per_aliquot: int = 1
    gpm_per_unit: float = 1.0
    idle_below: float = 0.0
    hold_us: int = 37_500_000

    @property
    def pace(self) -> str:
        """The pace in one line; a composite keeps the one it began with."""
        per = f"{self.volume_gal!r} gal of {self.flow}" if self.volume_gal is not None else f"{self.every_us} us"
        return f"a pulse on {self.output} per {per}, an aliquot of {self.aliquot_ml!r} mL per {self.pulses_per_aliquot}"

    @property
    def most_aliquots(self) -> int:
        """How many aliquots the bottle holds."""
        return int(self.bottle_ml // self.aliquot_ml)


@dataclass(frozen=True, slots=True)
class GrabPlan:
    """When a sample is taken of an event, and into how many bottles, from 1.

    `rules` are the rules whose proven exceedance, or pre-alarm of a slug, is worth a bottle. For `lockout_us` after the
    first bottle of an event no other event takes one; its own `follow_ups_us` do. `hold_times_us` by analyte: how long
    a bottle may stand before it is analysed.
    """

    output: str
    rules: frozenset[str]
    bottles: int
    follow_ups_us: tuple[int, ...] = ()
    lockout_us: int = 3_600_000_000
    hold_times_us: Mapping[str, int] = field(default_factory=dict)
    flow: str | None = None
    idle_below: float = 0.0
    hold_us: int = 37_500_000  # how long the flow's word holds


@dataclass(frozen=True, slots=True)
class Sampler:
    """The autosampler of a site."""

    composite: CompositePlan | None = None
    grab: GrabPlan | None = None


class Result(StrEnum):
    """What became of an order."""

    DONE = "done"
    FAILED = "failed"  # tried, and nobody can vouch that it was done
    EXPIRED = "expired"  # too late when its turn came; not sent
    REFUSED = "refused"  # not sent
    INTERRUPTED = "interrupted"  # the gateway ended before it knew; never repeated


@dataclass(frozen=True, slots=True)
class Carried:
    """An order with what became of it, when and why. `recorded` is False when the disk did not have it first.

    `noted`: another note says it, and it gets none of its own.
    """

    order: Order
    result: Result
    at: Instant
    why: str = ""
    recorded: bool = True
    noted: bool = False
