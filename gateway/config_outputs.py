"""The shape of what is driven and sampled: [outputs], [sampler]."""

from typing import Annotated, Literal

from gateway.config_table import Day, Duration, Field, Quantity, Table, Word

__all__ = ["CompositeTable", "GrabTable", "OutputTable", "SamplerTable"]

SeverityWord = Literal["notice", "warning", "high", "critical"]
_Wire = Annotated[int, Field(ge=0, le=65_535)]


class OutputTable(Table):
    """[outputs.NAME]: one coil or register that the gateway may write."""

    device: Word
    role: Literal["horn", "beacon", "valve", "sampler-pace", "sampler-grab", "relay"]
    coil: _Wire | None = None
    """Its wire address, from 0."""
    register_: Annotated[_Wire | None, Field(alias="register")] = None
    """Instead of a coil: a holding register."""
    on: _Wire | None = None
    """What is written to the register for on; 1 unless stated. For a coil, 0 turns it round."""
    off: _Wire | None = None
    allowed_by: str = ""
    """The document that says that this address may be written, where the device profile does not list it."""
    pulse: Duration | None = None
    """How long a pulse is; 1 s unless stated."""
    min_interval: Duration | None = None
    """Two pulses are never closer than this, from start to start."""
    expires: Duration | None = None
    """An order this old is not carried out any more; 60 s unless stated, 30 s for a sampler."""
    safe: Literal["off", "on", "hold"] | None = None
    """What it is put to at the start and at a clean end; off unless stated, hold for a valve."""
    from_severity: SeverityWord | None = None
    """Horn and beacon: from which severity on; high unless stated."""
    shuts_on: list[Word] = []
    """Valve: the rules whose proven exceedance shuts it."""
    approved_by: str = ""
    """Valve: who has signed for that."""
    approved_on: Day | None = None


class CompositeTable(Table):
    """[sampler.composite]: the composite and its pace."""

    output: Word
    flow: str | None = None
    """The flow channel that paces it; with `every` it only says when nothing is discharged."""
    volume: Quantity | None = None
    """Flow-paced: one pulse for each such volume."""
    every: Duration | None = None
    """Time-paced: one pulse so often."""
    pulses_per_aliquot: Annotated[int, Field(ge=1, le=100_000)] = 1
    """The sampler's own counter: it takes an aliquot at every so many pulses."""
    cycle: Duration
    """How long the sampler takes for one aliquot, purging included."""
    aliquot: Quantity
    bottle: Quantity
    """What the bottle holds."""
    needed: Quantity | None = None
    """What the laboratory needs, spare included."""
    duration: Duration
    expected: Annotated[list[Quantity], Field(min_length=2, max_length=2)] | None = None
    """The smallest and the largest volume expected in that duration."""


class GrabTable(Table):
    """[sampler.grab]: bottles for events."""

    output: Word
    bottles: Annotated[int, Field(ge=1, le=96)]
    rules: list[Word] | None = None
    """Whose exceedance takes a bottle; every limit of pH, temperature and conductivity and every slug unless stated."""
    follow_ups: list[Duration] = []
    """Further bottles of the same event, so long after it."""
    lockout: Duration | None = None
    """So long no other event takes a bottle; 60 min unless stated."""
    hold_times: dict[str, Duration] = {}
    """By analyte: within what time a bottle must be analysed. The laboratory says it."""
    flow: str | None = None
    """The flow channel: no follow-up while nothing is discharged or it is in maintenance."""


class SamplerTable(Table):
    """[sampler]: the autosampler."""

    composite: CompositeTable | None = None
    grab: GrabTable | None = None
