"""Tables of the site file about flow: the primary device, the comparison with a transmitter's flow, the totalizer."""

from typing import Annotated, Literal

from gateway.config_table import Angle, Field, Length, Number, Quantity, Share, Table, Word

__all__ = ["CrossCheckTable", "PrimaryTable", "TotalizerTable"]

Pair = Annotated[list[Quantity], Field(min_length=2, max_length=2)]
Point = Annotated[list[Number], Field(min_length=2, max_length=2)]


class PrimaryTable(Table):
    """The flume, weir or pipe that turns the level into flow."""

    kind: Literal[
        "parshall", "v-notch", "rectangular", "cipolletti", "palmer-bowlus", "manning", "power", "table", "ratiometric"
    ]
    throat: Length | None = None
    """Parshall: throat width."""
    angle: Angle | None = None
    """V-notch: full angle."""
    equation: Literal["kindsvater-shen", "plain"] | None = None
    """V-notch: plain is C h^2.5 without the head correction, for those who must agree with such a table."""
    crest: Length | None = None
    """Rectangular and Cipolletti weir: length of the crest."""
    contractions: Annotated[int, Field(ge=0, le=2)] | None = None
    """Rectangular weir: how many ends of the crest stand clear of the channel's sides; 2 unless stated."""
    crest_height: Length | None = None
    """V-notch: the vertex above the floor of the approach channel."""
    channel_width: Length | None = None
    """V-notch: width of the approach channel."""
    diameter: Length | None = None
    """Manning: inside diameter of the pipe."""
    slope: Share | None = None
    """Manning: fall over length, as "1.04 %"."""
    roughness: Annotated[float, Field(gt=0, lt=0.1)] | None = None
    """Manning's n; 0.013 unless stated."""
    coefficient: Quantity | None = None
    """Power: the flow at a head of one head_unit."""
    head_unit: str | None = None
    """Power: the unit of the head in the maker's equation."""
    exponent: Number | None = None
    """Power: the exponent of the head."""
    points: list[Pair] | None = None
    """Table: [head, flow] each, from the device's own sheet, heads rising."""
    curve: Literal["pchip", "linear"] | None = None
    """Between the points: a monotone cubic unless stated, or straight lines."""
    full_head: Length | None = None
    """Ratiometric: the head at full flow."""
    full_flow: Quantity | None = None
    """Ratiometric: the flow at full head."""
    shape: Number | list[Point] | None = None
    """Ratiometric: an exponent, or [head, flow] as shares of full, up to [1, 1]."""
    h_min: Length | None = None
    """The least head the rating holds for, where the device's sheet says another than usual."""
    h_max: Length | None = None
    """The greatest."""
    q_max: Quantity | None = None
    """The most it can pass: above it the device is saturated."""
    accuracy: Share | None = None
    """The device's own, as "3 %" of the flow; a usual figure for its kind unless stated."""
    source: str = ""
    """Whose numbers these are, as "maker's sheet 4-PB, 2019"."""
    head_offset: Length | None = None
    """Added to the level to give the head above the throat floor, the crest or the vertex."""
    downstream: str | None = None
    """The level channel behind the device: submergence is then seen."""
    downstream_offset: Length | None = None
    """Added to that level to give the head above the same zero."""
    submergence_limit: Share | None = None
    """Downstream head over head up to which the flow is free, as "70 %"; the kind's own unless stated."""


class CrossCheckTable(Table):
    """Compares a flow that its transmitter computes with what the same level should give."""

    level: Word
    """The level channel of the same transmitter."""
    primary: PrimaryTable
    within: Quantity | None = None
    """How far they may part, as a share of the flow; 5 % unless stated."""


class TotalizerTable(Table):
    """A channel of volume that counts up: what its register does, and what it is compared with."""

    most: Quantity
    """The most that can flow there: a counter that runs faster is not believed."""
    rolls_over_at: Quantity | None = None
    """The volume at which the counter begins again at zero; the register's own width where that is a whole number."""
    jitter: Quantity | None = None
    """How far it may step back without meaning anything; nothing unless stated."""
    flow: str | None = None
    """The flow channel to compare it with."""
    within: Quantity | None = None
    """How far their volumes may part, as a share; 10 % unless stated."""
