"""The shape of the site file: what may stand in it.

Shapes are checked here (unknown keys, missing keys, units that cannot be read); what the values mean to each other is
checked by `site_build`.
"""

from typing import Annotated, Any, Literal

from gateway.config_diagnosis import AgreementTable, DiagnosisTable, TamperTable
from gateway.config_duty import DutyTable
from gateway.config_files import Source
from gateway.config_flow import CrossCheckTable, PrimaryTable, TotalizerTable
from gateway.config_mistakes import ANY_SITE
from gateway.config_outputs import OutputTable, SamplerTable
from gateway.config_signs import SignsTable
from gateway.config_table import (
    Day,
    Duration,
    Field,
    Number,
    OpenTable,
    Quantity,
    Rate,
    Share,
    SpanText,
    Table,
    Word,
    checked,
    schema_of,
)
from gateway.config_upkeep import MaintenanceTable
from gateway.problems import Problems

__all__ = ["SiteFile", "json_schema", "validated"]

SeverityWord = Literal["notice", "warning", "high", "critical"]
BusKind = Literal["modbus-rtu", "modbus-ascii", "modbus-tcp", "modbus-rtu-over-tcp", "replay"]


class SiteTable(Table):
    """[site]: who is watched, where, under which law."""

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]
    """Short name, used in MQTT topics: lower-case letters, digits and hyphens."""
    name: Word
    """Where it is, as people call it."""
    discharger: Word
    """Whose discharge it is."""
    time_zone: Word
    """IANA name, as America/New_York: for calendar days in reports and texts."""
    ordinances: list[Word]
    """Shipped packs by name, or files of your own: "./my-town.toml", relative to this file."""


class BusTable(Table):
    """[buses.NAME]: one port."""

    kind: BusKind
    """A serial port (modbus-rtu, modbus-ascii) or a TCP connection (modbus-tcp, modbus-rtu-over-tcp)."""
    port: str = ""
    """Serial port; a /dev/serial/by-path name stays the same after a restart, ttyUSB0 does not."""
    baud: Annotated[int, Field(ge=300, le=921_600)] = 9600
    parity: Literal["N", "E", "O"] | None = None
    """N unless stated; E for modbus-ascii."""
    stop_bits: Literal[1, 2] = 1
    data_bits: Literal[7, 8] | None = None
    """8 unless stated; 7 for modbus-ascii, 8 where its devices are set so."""
    host: str = ""
    tcp_port: Annotated[int, Field(ge=1, le=65_535)] = 502
    close_when_idle: Duration | None = None
    """Over TCP: hang up after so long without a request, for servers that take one client or drop idle ones."""
    file: str = ""
    """For kind "replay": the recorded series."""


class DeviceTable(OpenTable):
    """[devices.NAME]: one instrument. Any field of its profile can be overridden here."""

    bus: Word
    unit: Annotated[int, Field(ge=0, le=255)]
    """Modbus unit address."""
    profile: Word
    """A shipped device profile, or a file of your own: "./my-probe.toml"."""
    timeout: Duration | None = None
    retries: Annotated[int | None, Field(ge=0, le=5)] = None
    """How often a garbled answer is asked for again within the time-out; once unless stated."""
    gap: Duration | None = None
    """How long it is left alone after each request, for one that misses the next. Others are asked meanwhile."""
    warm_up: Duration | None = None
    """For so long after it was silent its values are recorded and do not count."""
    watchdog: Duration | None = None
    """After so long without a request the device puts its outputs to rest by itself; where its profile says how."""


class CalibrationTable(Table):
    """The technician's correction: value x gain + offset, in the channel's unit."""

    gain: Number = 1.0
    offset: Quantity | None = None


class ScaleTable(Table):
    """A transmitter's range: the input at both ends and what it means."""

    input: Annotated[list[Quantity], Field(min_length=2, max_length=2)]
    output: Annotated[list[Quantity], Field(min_length=2, max_length=2)]


class ChannelTable(Table):
    """[channels.NAME]: one measured quantity at one place."""

    quantity: Word
    unit: str | None = None
    """The unit people see and spans are in; may be left out where the quantity has only one."""
    label: str = ""
    place: Literal["manhole", "influent", "elsewhere"] = "manhole"
    """Where it is measured: influent is the treatment works'; elsewhere is judged by no rule."""
    device: str | None = None
    point: str | None = None
    """Which of the device profile's points."""
    source_unit: str | None = None
    """The unit the device is set to send, where its profile does not say."""
    conversion: Literal["water-column"] | None = None
    """Turns gauge pressure into the height of water that makes it."""
    scale: ScaleTable | None = None
    """Turns 4 to 20 mA (or volts) into the quantity."""
    calibration: CalibrationTable | None = None
    derived_from: Annotated[str | None, Field(alias="from")] = None
    """The level this flow is computed from; for a volume, the counter or flow whose water since midnight it is."""
    primary: PrimaryTable | None = None
    totalizer: TotalizerTable | None = None
    """For a volume that counts up."""
    cross_check: CrossCheckTable | None = None
    """For a flow that its transmitter computes: what to compare it with."""
    crown: Quantity | None = None
    """For a level: where the pipe is full. From there on a flow computed from it is not believed."""
    poll: Duration | None = None
    """How often it is read; 15 s unless stated."""
    fast_poll: Duration | None = None
    """How often while one of its rules has something under way; a third of the poll unless stated."""
    hold: Duration | None = None
    """How long the last valid sample speaks; 2.5 polls unless stated."""
    stale_after: Duration | None = None
    """After how long without a valid sample the sensor is in fault; the hold unless stated."""
    fail_span: SpanText | None = None
    """Outside it the instrument is wrong."""
    suspect_span: SpanText | None = None
    """Outside it the reading is doubtful."""
    full_scale: Quantity | None = None
    """The most the instrument can show: at or above it, it is saturated."""
    sentinels: list[Number] = []
    """Numbers by which the device says "no value", as it sends them."""
    spike: Quantity | None = None
    rate: Rate | None = None
    flat_after: Duration | None = None
    flat_fail_after: Duration | None = None
    flat_tolerance: Quantity | None = None
    uncertainty: Quantity | None = None
    contact: Literal["door", "lid", "float", "bottle-full", "sample-taken", "sampler-fault", "other"] | None = None
    """For quantity contact: what it says."""
    normal: Literal["open", "closed"] | None = None
    """For a contact: the state in which nothing is the matter; closed for door and lid, open for others."""
    debounce: Duration | None = None
    """For a contact: how long a change must last to count."""
    resolution: Quantity | None = None
    """The least step the instrument shows; the profile's own unless stated. The tolerance of a flat line."""
    agrees_with: AgreementTable | None = None
    compensated_by: str | None = None
    """For pH: the temperature channel that corrects it."""
    overflow_at: Quantity | None = None
    """For a level: where the water leaves the manhole."""
    diagnosis: DiagnosisTable = DiagnosisTable()


class DischargingTable(Table):
    """[discharging]: how the gateway knows that the user is discharging and the probes are wet."""

    flow: str | None = None
    above: Quantity | None = None
    level: str | None = None
    probe_at: Quantity | None = None
    """The level at which the lowest probe is in the discharge."""
    on_delay: Duration | None = None
    off_delay: Duration | None = None
    applies_to: list[str] | None = None
    """Channels that do not count while dry; every one in the liquid unless stated."""
    hold_off: Duration | None = None
    """How long a probe that came back into the water is doubtful; not at all unless stated."""


class BaselineTable(Table):
    """[baselines.CHANNEL]: what is normal there, a signed choice."""

    mode: Literal["declared", "operating", "literal-24h"]
    """declared: the number below; operating: what is normal while discharging, from the last normal days; literal-24h:
    the day's whole volume over its whole length, idle hours included."""
    value: Quantity | None = None
    """The declared number; in force in the mode declared, recorded for comparison in the others."""
    floor: Quantity | None = None
    """The baseline in force is never less than this."""
    frozen: bool = True
    """Whether a computed baseline keeps the value it had when an event began."""
    min_days: Annotated[int, Field(ge=1, le=30)] | None = None
    """Normal days an operating baseline needs; 7 unless stated."""
    approved_by: str = ""
    approved_on: Day | None = None


class TermTable(Table):
    """[[waivers]], [[agreements]], [[permits]]: dated and signed, instead of the printed limit or beside it."""

    rule: Word
    """The rule's id, as `check` shows it."""
    channel: str | None = None
    """For a rule that judges several channels: only this one; "lab" for laboratory results."""
    limit: Quantity | None = None
    """The limit meanwhile; without it a waiver or an agreement suspends the rule."""
    approved_by: Word
    reference: str = ""
    """The paper: its number or date."""
    reason: str = ""
    valid_from: Day
    """The first day, in the site's time zone."""
    valid_until: Day
    """The last day."""


class RuleTable(Table):
    """[rules."RULE"]: what this site chooses of a rule. Limits may only be stricter than the ordinance's."""

    enabled: bool | None = None
    """Only for rules that their ordinance leaves off."""
    limit: Quantity | None = None
    factor: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    """Times the baseline."""
    duration: Duration | None = None
    inside: Annotated[list[Quantity], Field(min_length=2, max_length=2)] | None = None
    """For excursions: the range outside which minutes count."""
    reading_approved_by: str | None = None
    """Who approved, for this site, how an unclear place of the law is read."""
    reading_approved_on: Day | None = None


class PipeTable(Table):
    """[pipe]: the sewer at the flow meter; `check` compares its capacity with what is believed of the flow."""

    diameter: Quantity
    slope: Share
    """Fall over length, as "1.04 %", which is 1/8 inch per foot."""
    roughness: Annotated[float, Field(gt=0, lt=0.1)] | None = None
    """Manning's n; 0.013 unless stated."""


class TownFlowTable(Table):
    """[town_flow]: the town's average daily sewage flow, for a user's share of it."""

    value: Quantity
    source: Word
    """Whose number this is."""
    date: Day
    """Of when it is."""


class LaboratoryTable(Table):
    """[laboratory]: how laboratory results are taken."""

    nondetect: Literal["zero", "half", "limit"] = "half"
    """What a less-than result counts for in an average: nothing, half its detection limit, or all of it."""


class ContactTable(Table):
    """[contacts.NAME]: one person who is told."""

    name: Word
    phone: str = ""
    email: str = ""
    pin_file: str = ""
    """Where the PIN is that this person adds to what they text, since a number can be forged: a file,
    `credential:NAME` or `env:NAME`."""
    notify: Annotated[list[str], Field(min_length=1)]
    from_severity: SeverityWord = "warning"
    language: Literal["en"] = "en"
    role: Literal["superintendent", "operator", "technician", "discharger", "engineer"] | None = None
    """What the duty roster may call this person."""


class PartTable(OpenTable):
    """[notify.NAME] or [sinks.NAME]: its kind (the table's own name unless stated) and that kind's options."""

    kind: str | None = None


class AlarmTable(Table):
    """[alarms."RULE"]: how an alarm behaves for people; never what the rule records."""

    severity: SeverityWord | None = None
    enabled: bool | None = None
    on_delay: Duration | None = None
    off_delay: Duration | None = None
    deadband: Quantity | None = None
    latching: bool | None = None
    ack_required: bool | None = None
    realarm: Duration | None = None
    shelvable: bool | None = None
    max_shelve: Duration | None = None
    suppressed_by: list[str] | None = None


class JournalTable(Table):
    """[journal]: how the record is kept."""

    commit_every: Duration | None = None
    """Readings are committed at least this often; "0 s" commits every poll. 10 s unless stated."""


class SiteFile(Table):
    """A Manhole Gateway site."""

    site: SiteTable
    buses: dict[str, BusTable] = {}
    devices: dict[str, DeviceTable] = {}
    channels: dict[str, ChannelTable] = {}
    discharging: DischargingTable | None = None
    baselines: dict[str, BaselineTable] = {}
    waivers: list[TermTable] = []
    agreements: list[TermTable] = []
    """Special agreements and special permits."""
    permits: list[TermTable] = []
    rules: dict[str, RuleTable] = {}
    ordinances: dict[str, dict[str, bool | str]] = {}
    """[ordinances.PACK]: facts about the town that the pack asks for, as fluoridated = false."""
    pipe: PipeTable | None = None
    tamper: TamperTable | None = None
    town_flow: TownFlowTable | None = None
    laboratory: LaboratoryTable = LaboratoryTable()
    maintenance: MaintenanceTable = MaintenanceTable()
    calibration: dict[str, Duration] = {}
    """[calibration]: how often each channel is calibrated, as ph = "28 d"."""
    contacts: dict[str, ContactTable] = {}
    duty: DutyTable | None = None
    signs: SignsTable | None = None
    notify: dict[str, PartTable] = {}
    sinks: dict[str, PartTable] = {}
    alarms: dict[str, AlarmTable] = {}
    journal: JournalTable = JournalTable()
    outputs: dict[str, OutputTable] = {}
    sampler: SamplerTable | None = None


def json_schema() -> dict[str, Any]:
    """The JSON Schema of a site file, for editors."""
    return schema_of(SiteFile)


def validated(source: Source, problems: Problems) -> SiteFile:
    """The tree of the file without what is wrong in it, which goes to `problems`."""
    return checked(SiteFile, source.content, problems, {"site": ANY_SITE})
