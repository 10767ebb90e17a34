"""The first site file as text: what was answered, with a word on why each part is there. Pure."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["BaselineDraft", "BusDraft", "ChannelDraft", "ContactDraft", "DeviceDraft", "SiteDraft", "site_text"]


@dataclass(frozen=True, slots=True)
class BusDraft:
    """One port: serial with its characters, or a host."""

    name: str
    kind: str
    port: str = ""
    baud: int = 9600
    parity: str = "N"
    stop_bits: int = 1
    host: str = ""
    tcp_port: int = 502


@dataclass(frozen=True, slots=True)
class DeviceDraft:
    """One instrument; `transport` is what it was set to where it leaves the works with something else."""

    name: str
    bus: str
    unit: int
    profile: str
    model: str
    variant: str = ""
    confirmed: bool = False
    transport: tuple[tuple[str, int | str], ...] = ()


@dataclass(frozen=True, slots=True)
class ChannelDraft:
    """One measured value; texts as they stand in the file, empty where they are left out."""

    name: str
    device: str
    point: str
    quantity: str
    unit: str
    poll: str
    source_unit: str = ""
    water_column: bool = False
    at_4_ma: str = ""
    at_20_ma: str = ""
    suspect_low: str = ""
    suspect_high: str = ""
    shown: str = ""


@dataclass(frozen=True, slots=True)
class BaselineDraft:
    """What is normal on one channel, and who says so since when."""

    channel: str
    value: str
    approved_by: str
    approved_on: str


@dataclass(frozen=True, slots=True)
class ContactDraft:
    """Who is told."""

    role: str
    name: str
    phone: str = ""


@dataclass(frozen=True, slots=True)
class SiteDraft:
    """Everything a first site file says."""

    id: str
    name: str
    discharger: str
    time_zone: str
    ordinances: tuple[str, ...]
    buses: tuple[BusDraft, ...] = ()
    devices: tuple[DeviceDraft, ...] = ()
    channels: tuple[ChannelDraft, ...] = ()
    flow: str = ""
    above: str = ""
    level: str = ""
    probe_at: str = ""
    baselines: tuple[BaselineDraft, ...] = ()
    contact: ContactDraft | None = None


def site_text(site: SiteDraft, *, file: str, made: str) -> str:
    """The site file, TOML with comments; `file` is its name in the commands it shows, `made` when and by what."""
    return "\n".join(_lines(site, file, made)) + "\n"


def _lines(site: SiteDraft, file: str, made: str) -> Iterator[str]:
    yield f"# {site.name}: {made}."
    yield "#"
    yield f"#   manhole-gateway check {file}     every mistake and warning, and the wire address of every read"
    yield f"#   manhole-gateway read {file}      one reading of each channel, with its raw registers"
    yield f"#   manhole-gateway run {file}       the gateway itself"
    yield "#"
    yield "# Quantities and durations carry their units. Secrets never stand here: a file is named instead."
    yield ""
    yield "[site]"
    yield f"id = {_q(site.id)}".ljust(40) + "# in MQTT topics and file names"
    yield f"name = {_q(site.name)}"
    yield f"discharger = {_q(site.discharger)}".ljust(40) + "# whose discharge it is"
    yield f"time_zone = {_q(site.time_zone)}".ljust(40) + "# for the days of averages and reports"
    packs = ", ".join(_q(name) for name in site.ordinances)
    yield f"ordinances = [{packs}]".ljust(40) + "# whose limits are judged"
    for bus in site.buses:
        yield from _bus(bus)
    for device in site.devices:
        yield from _device(device)
    for channel in site.channels:
        yield from _channel(channel)
    yield from _discharging(site)
    yield from _baselines(site)
    yield from _contact(site)


def _bus(bus: BusDraft) -> Iterator[str]:
    yield ""
    yield f"[buses.{_key(bus.name)}]"
    yield f"kind = {_q(bus.kind)}"
    if not bus.port:
        yield f"host = {_q(bus.host)}"
        yield f"tcp_port = {bus.tcp_port}"
        return
    stays = "by-path" in bus.port or "by-id" in bus.port
    why = "stays the same after a restart" if stays else "may change at a restart: better its by-path name"
    yield f"port = {_q(bus.port)}".ljust(40) + f"# {why}"
    yield f"baud = {bus.baud}".ljust(40) + "# every instrument on the line is set to the same"
    yield f"parity = {_q(bus.parity)}"
    yield f"stop_bits = {bus.stop_bits}"


def _device(device: DeviceDraft) -> Iterator[str]:
    yield ""
    yield f"[devices.{_key(device.name)}]".ljust(40) + f"# {device.model}"
    yield f"bus = {_q(device.bus)}"
    yield f"unit = {device.unit}".ljust(40) + "# its Modbus address"
    yield f"profile = {_q(device.profile)}"
    if device.variant:
        yield f"variant = {_q(device.variant)}"
    if device.confirmed:
        yield "confirmed = true".ljust(40) + "# what its profile leaves open was settled on the device"
    if device.transport:
        inner = ", ".join(
            f"{key} = {_q(value) if isinstance(value, str) else value}" for key, value in device.transport
        )
        yield f"transport = {{ {inner} }}".ljust(40) + "# set on the instrument; it leaves the works otherwise"


def _channel(channel: ChannelDraft) -> Iterator[str]:
    yield ""
    shown = f"# showed {channel.shown} when this was written" if channel.shown else ""
    yield f"[channels.{_key(channel.name)}]".ljust(40 if shown else 0) + shown
    yield f"quantity = {_q(channel.quantity)}"
    yield f"unit = {_q(channel.unit)}"
    yield f"device = {_q(channel.device)}"
    yield f"point = {_q(channel.point)}"
    if channel.source_unit:
        yield f"source_unit = {_q(channel.source_unit)}".ljust(40) + "# as set in its menu; checked at every poll"
    if channel.water_column:
        yield 'conversion = "water-column"'.ljust(40) + "# gauge pressure to the height of water that makes it"
        yield (
            f'# calibration = {{ offset = "0 {channel.unit}" }}'.ljust(40)
            + "# height of the transmitter above the invert"
        )
    if channel.at_4_ma:
        scale = f'{{ input = ["4 mA", "20 mA"], output = [{_q(channel.at_4_ma)}, {_q(channel.at_20_ma)}] }}'
        yield f"scale = {scale}"
    yield f"poll = {_q(channel.poll)}"
    if channel.suspect_low:
        span = f"[{_q(channel.suspect_low)}, {_q(channel.suspect_high)}]"
        yield f"suspect_span = {span}".ljust(40) + "# outside it a reading is doubted"


def _discharging(site: SiteDraft) -> Iterator[str]:
    if not site.above and not site.probe_at:
        return
    yield ""
    yield "[discharging]".ljust(40) + "# dry probes neither exceed nor comply"
    if site.above:
        yield f"flow = {_q(site.flow)}"
        yield f"above = {_q(site.above)}"
    if site.probe_at:
        yield f"level = {_q(site.level)}"
        yield f"probe_at = {_q(site.probe_at)}".ljust(40) + "# the lowest probe is wet from here"


def _baselines(site: SiteDraft) -> Iterator[str]:
    for baseline in site.baselines:
        yield ""
        yield f"[baselines.{_key(baseline.channel)}]".ljust(40) + "# what is normal: a signed choice"
        yield 'mode = "declared"'
        yield f"value = {_q(baseline.value)}"
        yield f"approved_by = {_q(baseline.approved_by)}"
        yield f"approved_on = {baseline.approved_on}"


def _contact(site: SiteDraft) -> Iterator[str]:
    if site.contact is None:
        return
    yield ""
    yield f"[contacts.{_key(site.contact.role)}]".ljust(40) + "# who is told"
    yield f"name = {_q(site.contact.name)}"
    if site.contact.phone:
        yield f"phone = {_q(site.contact.phone)}"
    yield 'notify = ["bench"]'
    yield ""
    yield "[duty]".ljust(40) + "# until somebody acknowledges"
    yield 'repeat = "30 min"'
    yield "[[duty.steps]]"
    yield 'after = "0 min"'
    yield f"tell = [{_q(site.contact.role)}]".ljust(40) + "# a second step calls whoever stands in for them"
    yield ""
    yield "[notify.bench]".ljust(40) + "# prints and files the texts: nobody is woken by it"


def _q(text: str) -> str:
    """A TOML basic string: JSON's escapes are among TOML's."""
    return json.dumps(text, ensure_ascii=False)


def _key(name: str) -> str:
    return name if name.replace("-", "").replace("_", "").isalnum() and name.isascii() else _q(name)
