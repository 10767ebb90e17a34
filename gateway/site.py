"""One site as frozen records: what `config.py` makes of the site file, and all that the core ever sees of it.

Durations are integers of microseconds; spans and limits are floats in the unit named beside them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.diagnosed import NOTHING, Diagnosed, Tamper
from gateway.model import Severity
from gateway.outputs.wired import ContactInput, Output, Sampler
from gateway.people import NO_DUTY, NO_SIGNS, Contact, Duty, DutyStep, SignsOfLife
from gateway.primary import Counter, CrossCheck, Primary
from gateway.upkeep import Upkeep

__all__ = [
    "Span", "Conversion", "Primary", "CrossCheck", "Counter", "Channel", "Witness", "Discharging", "Baseline", "Term",
    "TownFlow", "Rule", "AlarmPolicy", "Contact", "Duty", "DutyStep", "SignsOfLife", "Bus", "Device", "Part",
    "LawNote", "Site", "NO_DUTY", "NO_SIGNS",
    "SERIAL_KINDS", "TCP_KINDS", "MODBUS_KINDS",
]  # fmt: skip


SERIAL_KINDS = ("modbus-rtu", "modbus-ascii")
"""Kinds of bus behind a serial port of this machine."""
TCP_KINDS = ("modbus-tcp", "modbus-rtu-over-tcp")
"""Kinds of bus behind a TCP connection: with the header of Modbus TCP, or serial frames as they are."""
MODBUS_KINDS = SERIAL_KINDS + TCP_KINDS


@dataclass(frozen=True, slots=True)
class Span:
    """A closed interval; a bound that is None is open."""

    low: float | None = None
    high: float | None = None

    def holds(self, value: float) -> bool:
        """Whether the value lies inside, bounds included."""
        return (self.low is None or value >= self.low) and (self.high is None or value <= self.high)


@dataclass(frozen=True, slots=True)
class Conversion:
    """value x gain + offset."""

    gain: float = 1.0
    offset: float = 0.0

    def __call__(self, value: float) -> float:
        """The converted value."""
        return value * self.gain + self.offset

    @property
    def is_identity(self) -> bool:
        """True when it changes nothing."""
        return self.gain == 1.0 and self.offset == 0.0


@dataclass(frozen=True, slots=True)
class Channel:
    """One measured quantity at one place.

    A sample's number in `source_unit` becomes `unit` by `conversion` (unit and technician's calibration in one).
    Spans, spike, rate and flat tolerance are in `unit`. `hold_us` is the maximum hold (2.5 polls unless configured):
    past it without a valid sample nobody can tell. `sentinels` are compared with the sample's number before conversion.
    While a rule has a run under way it is polled every `fast_poll_us`: a third of the poll when None.
    """

    name: str
    quantity: str
    unit: str
    poll_us: int
    hold_us: int
    stale_after_us: int
    source_unit: str = ""
    device: str | None = None
    point: str | None = None
    derived_from: str | None = None
    primary: Primary | None = None
    totalizer: Counter | None = None  # of a volume that counts up
    cross_check: CrossCheck | None = None  # a flow its transmitter computed, and what to compare it with
    crown: float | None = None  # of a level: where the pipe is full; a flow from this level means nothing from there on
    conversion: Conversion = Conversion()
    full_scale: float | None = None  # at or above it the sensor is saturated
    fail_span: Span = Span()
    suspect_span: Span = Span()
    sentinels: tuple[float, ...] = ()
    spike: float | None = None
    rate_per_min: float | None = None
    flat_after_us: int | None = None
    flat_fail_after_us: int | None = None
    flat_tolerance: float = 0.0
    uncertainty: float | None = None
    label: str = ""
    fast_poll_us: int | None = None
    diagnosed: Diagnosed = NOTHING


@dataclass(frozen=True, slots=True)
class Witness:
    """A channel that can say whether the probe is in the discharge: wet at or above `wet_at`, in the channel's unit."""

    channel: str
    wet_at: float


@dataclass(frozen=True, slots=True)
class Discharging:
    """When the user is discharging: flow and level witnesses with on- and off-delay.

    `applies_to` names the channels that do not count while any witness says dry.
    """

    witnesses: tuple[Witness, ...] = ()
    on_delay_us: int = 60_000_000
    off_delay_us: int = 60_000_000
    applies_to: frozenset[str] = frozenset()
    hold_off_us: int = 0  # a probe that just came back into the water is doubtful for so long


@dataclass(frozen=True, slots=True)
class Baseline:
    """A signed, per-site choice of what is normal for one channel. Mode `declared` carries its value in `unit`.

    In a computed mode `value` is the number declared beside it, for comparison; a Rule's own copy has it only where it
    is in force, that is, None in a computed mode.
    """

    id: str
    channel: str
    mode: str  # `declared`, `operating` or `literal-24h`
    value: float | None
    unit: str
    approved_by: str
    approved_on: str  # ISO date
    hash: str
    floor: float | None = None  # in `unit`: never less than this
    frozen: bool = True  # a computed baseline keeps the value it had when an event began
    min_days: int = 7  # valid normal days an operating baseline needs


@dataclass(frozen=True, slots=True)
class Term:
    """What rules instead of, or beside, the printed limit between two moments, by whose word.

    `kind` is `waiver`, `agreement` or `permit`. A waiver or agreement replaces the limit it names (`limit` None: the
    rule is suspended, recorded and not alarmed); a permit counts only where it is more stringent than the ordinance.
    The site file gives local days: `until_utc_us` is the first moment after the last of them.
    """

    kind: str
    from_utc_us: int
    until_utc_us: int | None
    limit: float | None  # in the rule's unit
    reference: str
    approved_by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class TownFlow:
    """The town's average daily sewage flow, for a user's share of it: a number someone else measured."""

    value_gpd: float
    source: str
    date: str


@dataclass(frozen=True, slots=True)
class Rule:
    """One provision of one ordinance pack, bound to one channel of this site, with everything in `unit`.

    `kind` is `limit` (instant, confirmed by `confirm` consecutive valid samples), `slug` (run-length: longer than
    `duration_us`, or at least that long when not `strict_duration`), `average` (over `window`), `volume` (gal per
    local day), `share` (of the town's flow) or `excursion` (minutes outside `inside`: in a calendar month when `window`
    is `month`, at once when it is `excursion`). Volumes are counted in gal whatever the flow's unit, so `to_unit` of
    `volume` and `share` rules takes the flow to gpm.
    `comparison` is `>`, `>=`, `<` or `<=` and says when the value exceeds. The threshold is `limit`, or `factor` x the
    baseline when `factor` is set; no baseline in force means not evaluable. `to_unit` takes the channel's unit to
    `unit`. `id` is the pack's; `alarm` is `id`, or `id.channel` where the rule judges several channels of the site.
    """

    id: str
    alarm: str
    clause: str
    title: str
    text: str  # our paraphrase
    kind: str
    channel: str
    comparison: str
    unit: str
    severity: Severity
    pack: str
    pack_version: str
    pack_hash: str
    limit: float | None = None
    factor: float | None = None
    baseline: Baseline | None = None
    duration_us: int = 0
    strict_duration: bool = True
    confirm: int = 3
    to_unit: Conversion = Conversion()
    prealarms_us: tuple[int, ...] = ()
    bridge_gap_us: int = 0  # the suspected track bridges gaps up to this
    bridge_dip_us: int = 0  # and dips up to this (docs/judging.md 4.5)
    uncertainty: float | None = None  # in `unit`
    action: str = ""  # the one thing to do, for the text
    reading_approved_by: str = ""
    surrogate: bool = False
    depth_only: bool = False  # a flow that rests on depth and an assumed roughness alone
    window: str = ""  # averages: `day` (fixed local day), `30-day` (trailing local days), `month` (calendar month)
    coverage: float = 0.75  # share of the discharging time that must be valid, else provisional
    min_days: int = 22  # discharge days a 30-day average needs, else provisional (docs/judging.md 5.6)
    advisory: bool = False  # a review trigger or a classification, not a violation
    laboratory: bool = False  # judged from laboratory results; `channel` is then `lab:<quantity>`
    quantity: str = ""
    terms: tuple["Term", ...] = ()
    trc: float | None = None  # technical review criterion: 1.4 BOD, TSS, FOG; 1.2 others; None for pH
    jurisdiction: str = "local"  # `federal` limits are never relaxed
    inside: Span | None = None  # excursions: where the value belongs, in the channel's unit; `unit` is then minutes
    notes: tuple[str, ...] = ()  # what the site file changed of the pack's numbers, for findings and reports
    reading: str = ""  # how an unclear place of the law was read
    reading_approved_on: str = ""  # ISO date
    exceptions: str = ""  # who may allow what, in our words
    effective: str = ""  # ISO date, where the pack gives one
    tell: tuple[str, ...] = ()  # contacts by role


@dataclass(frozen=True, slots=True)
class AlarmPolicy:
    """How one alarm behaves for people; never touches what the rule records.

    `deadband` is in the rule's unit. Delays are monotonic. `realarm_us` None means never.
    """

    alarm: str
    severity: Severity
    on_delay_us: int = 0
    off_delay_us: int = 0
    deadband: float = 0.0
    latching: bool = False
    ack_required: bool = True
    realarm_us: int | None = None
    max_shelve_us: int = 8 * 3600 * 1_000_000
    suppressed_by: tuple[str, ...] = ()  # alarms whose activity suppresses this one by design
    enabled: bool = True
    shelvable: bool = True
    title: str = ""  # what it is, for the text, where no rule stands behind it
    action: str = ""  # the one thing to do, likewise


@dataclass(frozen=True, slots=True)
class Bus:
    """One port: of the `SERIAL_KINDS` (port, baud, character), of the `TCP_KINDS` (host, tcp_port), or `replay` (file).

    With `close_when_idle_us` a TCP connection is closed after so long without a request.
    """

    name: str
    kind: str
    port: str = ""
    baud: int = 9600
    parity: str = "N"
    stop_bits: int = 1
    host: str = ""
    tcp_port: int = 502
    file: str = ""
    data_bits: int = 8
    close_when_idle_us: int | None = None


@dataclass(frozen=True, slots=True)
class Device:
    """One instrument on one bus: unit address, profile and the overrides of its profile.

    `gap_us` is how long it is left alone after a request, `warm_up_us` how long its answers do not count after it was
    silent.
    """

    name: str
    bus: str
    unit: int
    profile: str
    timeout_us: int = 500_000
    retries: int = 1
    overrides: Mapping[str, Any] = field(default_factory=dict)
    watchdog_us: int | None = None  # after how long without a request the device puts its own outputs to rest
    gap_us: int = 0
    warm_up_us: int = 0


@dataclass(frozen=True, slots=True)
class Part:
    """A sink or a notifier by name of its kind, with its options as the site file gives them."""

    name: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class LawNote:
    """A place where an ordinance contradicts itself or leaves something open, told and never silently mended.

    `rules` are the ids of the rules it bears on; none when it bears on the ordinance as a whole.
    """

    pack: str
    clause: str
    text: str
    rules: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Site:
    """Everything one gateway needs to know, checked."""

    id: str
    name: str
    discharger: str
    time_zone: str
    channels: Mapping[str, Channel]
    rules: tuple[Rule, ...]
    discharging: Discharging
    alarms: Mapping[str, AlarmPolicy]
    contacts: tuple[Contact, ...]
    buses: Mapping[str, Bus]
    devices: Mapping[str, Device]
    sinks: tuple[Part, ...]
    notifiers: tuple[Part, ...]
    baselines: Mapping[str, Baseline]
    config_hash: str
    commit_every_us: int = 10_000_000
    town_flow: TownFlow | None = None
    nondetect: str = "half"  # what a less-than result counts for in an average: `zero`, `half` or `limit`
    upkeep: Upkeep = field(default_factory=Upkeep)
    unbound_rules: tuple[str, ...] = ()  # rules of the packs that judge nothing at this site
    law_notes: tuple[LawNote, ...] = ()  # what the ordinances leave open, for reports
    duty: Duty = NO_DUTY
    signs: SignsOfLife = NO_SIGNS
    inputs: Mapping[str, ContactInput] = field(default_factory=dict)  # by channel
    outputs: Mapping[str, Output] = field(default_factory=dict)
    sampler: Sampler = field(default_factory=Sampler)
    tamper: Tamper | None = None

    @property
    def alarm_channels(self) -> frozenset[str]:
        """The channels that a rule judges, that say whether there is a discharge, and the contacts: asked first."""
        names = {rule.channel for rule in self.rules} | {witness.channel for witness in self.discharging.witnesses}
        names |= self.inputs.keys()
        channels = (self.channels[name] for name in names if name in self.channels)
        return frozenset(channel.derived_from or channel.name for channel in channels)
