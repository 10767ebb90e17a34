"""How flow and volume come about, as the site file describes it: primary devices, comparisons, counters."""

from dataclasses import dataclass

__all__ = ["Counter", "CrossCheck", "Primary"]


@dataclass(frozen=True, slots=True)
class Primary:
    """One primary device. `kind` says which of the fields below it uses (`gateway.signals.flow`).

    The head is the level reading plus `head_offset_ft`. What is None or empty is the kind's own.
    """

    kind: str
    throat_ft: float | None = None  # parshall
    angle_deg: float | None = None  # v-notch
    equation: str = ""  # v-notch: `kindsvater-shen` or `plain`
    crest_ft: float | None = None  # rectangular, cipolletti: length of the crest
    contractions: int | None = None  # rectangular: ends that stand clear of the channel's sides
    crest_height_ft: float | None = None  # v-notch: vertex above the floor of the approach
    channel_width_ft: float | None = None  # v-notch: width of the approach
    diameter_ft: float | None = None  # manning: of the pipe
    slope: float | None = None  # manning: fall over length
    roughness: float | None = None  # manning: n
    coefficient_cfs: float | None = None  # power: the flow at a head of 1 ft
    exponent: float | None = None  # power
    points: tuple[tuple[float, float], ...] = ()  # table: (head in ft, flow in gpm)
    curve: str = ""  # table: `pchip` or `linear` between the points
    full_head_ft: float | None = None  # ratiometric: the head of full flow
    full_flow_gpm: float | None = None  # ratiometric
    shape: float | tuple[tuple[float, float], ...] | None = None  # ratiometric: exponent, or (head, flow) as shares
    h_min_ft: float | None = None
    h_max_ft: float | None = None
    q_max_gpm: float | None = None
    accuracy: float | None = None  # the device's own, as a share of the flow
    source: str = ""  # whose numbers these are
    head_offset_ft: float = 0.0
    downstream: str | None = None  # the channel of the level behind it
    downstream_offset_ft: float = 0.0  # added to that level to give the head above the same zero
    submergence_limit: float | None = None  # downstream head over head


@dataclass(frozen=True, slots=True)
class CrossCheck:
    """A flow that its transmitter computes, compared with the flow we compute from the same level."""

    level: str
    primary: Primary
    within: float = 0.05  # share of the computed flow


@dataclass(frozen=True, slots=True)
class Counter:
    """A channel of volume that counts up; volumes are in the channel's unit."""

    most_per_min: float  # more cannot run there
    modulus: float | None = None  # where it begins again at zero by itself; None: never
    jitter: float = 0.0  # how far it may step back without meaning anything
    flow: str | None = None  # the flow channel it is compared with
    within: float = 0.10  # share of the larger volume by which the two may part
