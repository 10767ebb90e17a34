"""The shape of what a site file says of sensor diagnosis: per channel, and of tampering."""

from typing import Annotated

from gateway.config_table import Duration, Field, Quantity, Table, Word

__all__ = ["AgreementTable", "DiagnosisTable", "TamperTable"]

Share = Annotated[float, Field(gt=0, lt=1, allow_inf_nan=False)]


class AgreementTable(Table):
    """Another sensor of the same thing: apart for too long, neither is believed."""

    channel: Word
    within: Quantity
    lasting: Annotated[Duration, Field(alias="for")] = 600_000_000
    """How long they may be apart; 10 min unless stated."""


class HeatTable(Table):
    """[channels.NAME.diagnosis.heat]: hours in hot water after which a glass electrode wants a check in buffer."""

    channel: Word
    """The temperature beside it."""
    above: Quantity = (50.0, "degC")
    hours: Annotated[int, Field(ge=1, le=20_000)]


class DiagnosisTable(Table):
    """[channels.NAME.diagnosis]: what is looked for, and how far it may go."""

    attenuation: bool | None = None
    """A damped signal; looked for in pH unless false."""
    attenuation_share: Share = 0.25
    """Variance below this share of what it was."""
    attenuation_hours: Annotated[int, Field(ge=1, le=72)] = 12
    """For so many hours of discharge."""
    held: bool | None = None
    """A transmitter that repeats its last value; looked for in levels that a device measures unless false."""
    held_after: Duration = 600_000_000
    glass: bool | None = None
    """Broken glass, about 7 whatever flows by; looked for in pH unless false."""
    jump: Quantity | None = None
    """More than a level moves in one poll; 10 cm for levels that a device measures."""
    dry_after: Duration | None = None
    """A glass electrode out of the water for so long wants a visit; 24 h for pH that the interlock applies to."""
    heat: HeatTable | None = None
    """Hot water ages glass; not counted unless stated."""
    night: Annotated[float, Field(gt=-1, lt=10, allow_inf_nan=False)] | None = None
    """The value of 2 to 5 in the night beside that of 7 nights before, as a share: -0.3 is fallen by 30 %."""


class TamperTable(Table):
    """[tamper]: what a hand in the manhole looks like: probes that step together toward clean water."""

    ph_step: Quantity | None = None
    """Toward 7, from one minute to the next but one; 0.5 pH unless stated."""
    conductivity_step: Share = 0.3
    """Toward the tap's, as a share of the value before."""
    tap_conductivity: Quantity | None = None
    """300 uS/cm unless stated."""
    temperature_step: Quantity | None = None
    """Toward the air's; 2 degC unless stated."""
    ambient: Quantity | None = None
    """15 degC unless stated."""
    flow_within: Share = 0.1
    """How far the flow may change and still be called unchanged."""
    channels: Annotated[int, Field(ge=2, le=10)] = 3
    """How many of them must step together."""
