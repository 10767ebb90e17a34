"""The questions of `setup` in their order, and the site they make."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gateway.drivers import profiles
from gateway.drivers.live import LiveValue
from gateway.drivers.profile import Point, Profile
from gateway.drivers.scan import Answer
from gateway.drivers.target import Setting, bus_of, is_serial
from gateway.setup_checks import (
    choice,
    day,
    duration,
    identifier,
    measured,
    number,
    optional,
    packs,
    place,
    profile_named,
    quantity,
    time_zone,
    unit_of,
)  # fmt: skip
from gateway.setup_file import BaselineDraft, BusDraft, ChannelDraft, ContactDraft, DeviceDraft, SiteDraft
from gateway.setup_questions import Questions, no_check, yes_or_no
from gateway.shipped import names
from gateway.site import SERIAL_KINDS, TCP_KINDS, Bus
from gateway.units import canonical_unit, quantity_units

__all__ = ["Bench", "ask_baselines", "ask_site"]

_DEFAULT_POLL = "15 s"
_GUESSES = {
    "pH": "pH", "temperature": "temperature", "flow": "flow", "conductivity": "conductivity", "length": "level",
    "pressure": "level", "turbidity": "turbidity", "concentration": "tss", "potential": "orp", "volume": "volume",
    "current": "level", "contact": "contact", "velocity": "velocity",
}  # fmt: skip
_PRESSURES = frozenset(quantity_units("pressure"))


@dataclass(frozen=True, slots=True)
class Bench:
    """What can be asked of the lines themselves; each may be told that there is nothing.

    `ports` are the serial ports of this machine, `scan` asks who is on a line, `live` reads all points of a device.
    """

    ports: tuple[str, ...]
    scan: Callable[[str], list[Answer]]
    live: Callable[[Bus, int, Profile], Mapping[str, LiveValue]]


@dataclass(slots=True)
class _Dialogue:
    ask: Questions
    bench: Bench
    default_zone: str | None
    buses: list[BusDraft] = field(default_factory=list)
    found: dict[str, list[Answer]] = field(default_factory=dict)
    devices: list[DeviceDraft] = field(default_factory=list)
    channels: list[ChannelDraft] = field(default_factory=list)


def ask_site(ask: Questions, bench: Bench, default_zone: str | None) -> SiteDraft:
    """Everything but the baselines, which depend on what the ordinances ask for. InputError, KeyboardInterrupt."""
    talk = _Dialogue(ask, bench, default_zone)
    ask.say("Whose discharge, and where. Nothing is lost by Ctrl-C.")
    site_id = ask.ask("site.id", "Site id, short (lower case, digits, hyphens)", identifier)
    name = ask.ask("site.name", "Its name, as people call it (Manhole 3, Mill Street)", no_check)
    discharger = ask.ask("site.discharger", "Who discharges there", no_check)
    zone = ask.ask("site.time_zone", "Time zone (America/New_York)", time_zone, default_zone)
    ask.say(f"Ordinances: {', '.join(names('ordinances'))}, or a file of your own (./my-town.toml)")
    chosen = ask.ask("site.ordinances", "Which apply (several with commas, none for none)", packs, "none")
    _each(ask, "bus", "another line", lambda n: _bus(talk, n))
    _each(ask, "device", "another instrument", lambda n: _device(talk, n))
    flow, above, level, probe_at = _discharging(talk)
    contact = _contact(ask)
    return SiteDraft(
        site_id, name, discharger, zone, chosen, tuple(talk.buses), tuple(talk.devices), tuple(talk.channels),
        flow, above, level, probe_at, (), contact,
    )  # fmt: skip


def ask_baselines(ask: Questions, channels: Mapping[str, str]) -> tuple[BaselineDraft, ...]:
    """What is normal on the channels whose rules are a multiple of it; `channels` by name with their units."""
    drafts: list[BaselineDraft] = []
    for name, unit in channels.items():
        ask.say(f"A rule asks for a multiple of what is normal on {name}. Without it the answer is: cannot tell.")
        key = f"baseline.{name}"
        value = ask.ask(
            f"{key}.value", f"Normal {name} in {unit} (nothing: not known yet)", optional(measured(unit)), ""
        )
        if not value:
            continue
        by = ask.ask(f"{key}.approved_by", "Who approved that number", no_check)
        on = ask.ask(f"{key}.approved_on", "On which day (2026-03-01)", day)
        drafts.append(BaselineDraft(name, value, by, on))
    return tuple(drafts)


def _each(ask: Questions, key: str, another: str, body: Callable[[int], None]) -> None:
    """The body for 1, 2 and so on: as many as were answered beforehand, then as many as are wanted."""
    number_ = 1
    while True:
        body(number_)
        number_ += 1
        if ask.has(f"{key}.{number_}"):
            continue
        if not ask.ask(f"{key}.{number_ - 1}.more", f"Is there {another}", yes_or_no, "no"):
            return


def _bus(talk: _Dialogue, n: int) -> None:
    ask, key = talk.ask, f"bus.{n}"
    ask.say(f"Line {n}. Serial ports here: {', '.join(talk.bench.ports) or 'none'}")
    used = {bus.port for bus in talk.buses}
    free = next((port for port in talk.bench.ports if port not in used), None)
    where = ask.ask(f"{key}.port", "Port, or HOST[:PORT] of a Modbus TCP device", place, free)
    serial = is_serial(where)
    taken = {bus.name for bus in talk.buses}
    name = ask.ask(f"{key}.name", "A name for the line", identifier, _free("rs485" if serial else "cabinet", taken))
    found: list[Answer] = []
    if ask.ask(f"{key}.scan", "Ask now who is on it (reads only)", yes_or_no, "no"):
        found = talk.bench.scan(where)
    talk.found[name] = found
    if not serial:
        bus = bus_of(where, Setting(9600, "N", 1))
        kind = _kind(ask, key, found, TCP_KINDS)
        talk.buses.append(BusDraft(name, kind, host=bus.host, tcp_port=bus.tcp_port))
        return
    setting = found[0].setting if found else Setting(9600, "N", 1)
    stop_bits = 1 if found and found[0].stop_bits_either else setting.stop_bits
    baud = ask.ask(f"{key}.baud", "Baud", number(300, 921_600), str(setting.baud))
    parity = ask.ask(f"{key}.parity", "Parity (N, E, O)", choice("N", "E", "O"), setting.parity)
    stops = ask.ask(f"{key}.stop_bits", "Stop bits", number(1, 2), str(stop_bits))
    kind = _kind(ask, key, found, SERIAL_KINDS)
    talk.buses.append(BusDraft(name, kind, where, baud, parity, stops))


def _kind(ask: Questions, key: str, found: Sequence[Answer], kinds: tuple[str, ...]) -> str:
    """The kind that answered, else the usual one; another only where it was answered beforehand: few need it."""
    if ask.has(f"{key}.kind"):
        return ask.ask(f"{key}.kind", "Kind of line", choice(*kinds))
    return found[0].kind if found else kinds[0]


def _device(talk: _Dialogue, n: int) -> None:
    ask, key = talk.ask, f"device.{n}"
    bus_names = [bus.name for bus in talk.buses]
    taken = {(device.bus, device.unit) for device in talk.devices}
    waiting = [(bus, a) for bus, found in talk.found.items() for a in found if (bus, a.unit) not in taken]
    bus_name = bus_names[0] if len(bus_names) == 1 else ask.ask(
        f"{key}.bus", f"Instrument {n}: on which line ({', '.join(bus_names)})", choice(*bus_names),
        waiting[0][0] if waiting else bus_names[0],
    )  # fmt: skip
    bus = next(bus for bus in talk.buses if bus.name == bus_name)
    answer = next((a for line, a in waiting if line == bus_name), None)
    model = answer.models[0] if answer is not None and answer.models else None
    asked = f"Instrument {n}: its profile, or a part of its maker's or model's name"
    profile_name = ask.ask(f"{key}.profile", asked, profile_named, None if model is None else model.profile)
    overrides: dict[str, Any] = {}
    variants = profiles.variants_of(profile_name)
    if variants:
        wanted = model.variant if model is not None and model.variant in variants else None
        asked = f"Which of them ({', '.join(variants)})"
        overrides["variant"] = ask.ask(f"{key}.variant", asked, choice(*variants), wanted)
    profile = profiles.load(profile_name, overrides | {"confirmed": True})
    ask.say(f"  {profile.model}; {_as_delivered(profile)}")
    for open_fact in profile.confirm:
        ask.say(f"  to be confirmed on the device: {open_fact}")
    confirmed = bool(profile.confirm) and ask.ask(f"{key}.confirmed", "Was that settled on the device", yes_or_no, "no")
    default_unit = answer.unit if answer is not None else profile.transport.unit
    unit = ask.ask(
        f"{key}.unit", "Its unit address", number(0, 255), None if default_unit is None else str(default_unit)
    )
    names_taken = {device.name for device in talk.devices}
    name = ask.ask(f"{key}.name", "A name for it", identifier, _free(profile_name.split("-")[0].lower(), names_taken))
    variant = overrides.get("variant", "")
    transport = _as_set(ask, key, bus, profile)
    talk.devices.append(
        DeviceDraft(name, bus_name, unit, profile_name, profile.model, variant, confirmed, transport)
    )  # fmt: skip
    _channels(talk, n, name, profile, talk.bench.live(_bus_record(bus), unit, profile))


def _as_delivered(profile: Profile) -> str:
    """The serial settings with which it leaves the works, as far as a document tells."""
    transport = profile.transport
    told = [str(value) for value in (transport.baud, transport.parity) if value is not None]
    if transport.unit is not None:
        told.append(f"unit {transport.unit}")
    if not told:
        return "no document seen gives its serial settings: look in its menu"
    return f"leaves the works with {' '.join(told)}{'' if transport.verified else ' (to be confirmed)'}"


def _as_set(ask: Questions, key: str, bus: BusDraft, profile: Profile) -> tuple[tuple[str, int | str], ...]:
    """What the instrument was set to, where that is not what it leaves the works with."""
    transport = profile.transport
    differs: list[tuple[str, int | str]] = []
    if bus.port and transport.baud is not None and transport.baud != bus.baud:
        differs.append(("baud", bus.baud))
    if bus.port and transport.parity is not None and transport.parity != bus.parity:
        differs.append(("parity", bus.parity))
    if not differs:
        return ()
    told = " ".join(str(value) for value in (transport.baud, transport.parity) if value is not None)
    ask.say(f"  It leaves the works with {told}; this line has {bus.baud} {bus.parity}.")
    return tuple(differs) if ask.ask(f"{key}.set", "Was it set to the line's", yes_or_no, "no") else ()


def _channels(talk: _Dialogue, n: int, device: str, profile: Profile, live: Mapping[str, LiveValue]) -> None:
    ask, key = talk.ask, f"device.{n}"
    for point in profile.points.values():
        told = live.get(point.name)
        ask.say(f"    {point.name:<24} {told if told is not None else point.unit or '(unit by its menu)'}")

    def chosen(text: str) -> tuple[str, ...]:
        wanted = tuple(part.strip() for part in text.split(",") if part.strip())
        for name in wanted:
            if name not in profile.points:
                raise ValueError(f"no point {name!r}; it has {', '.join(profile.points)}")
        if not wanted:
            raise ValueError("at least one")
        return wanted

    first = next((name for name, value in live.items() if value.value is not None), next(iter(profile.points)))
    for name in ask.ask(f"{key}.points", "Which of them to measure (several with commas)", chosen, first):
        _channel(talk, device, profile.points[name], live.get(name))


def _channel(talk: _Dialogue, device: str, point: Point, live: LiveValue | None) -> None:
    ask, key = talk.ask, f"channel.{device}.{point.name}"
    sent = point.unit or (live.unit if live is not None else "")
    guess = _GUESSES.get(_dimension(sent))
    kind = ask.ask(f"{key}.quantity", f"{device}.{point.name}: what does it measure", quantity, guess)
    units = quantity_units(kind)
    # A flow is sent in what its maker likes, and spoken of in what the ordinances do.
    wanted = sent if sent in units and kind != "flow" else units[0]
    unit = units[0]
    if len(units) > 1:
        unit = ask.ask(f"{key}.unit", f"In which unit ({', '.join(units)})", unit_of(kind), wanted)
    taken = {channel.name for channel in talk.channels}
    name = ask.ask(f"{key}.name", "A name for the channel", identifier, _free(kind.lower(), taken))
    source_unit = ""
    if not point.unit:
        source_unit = ask.ask(f"{key}.source_unit", "The unit the device is set to send", canonical_unit, sent or None)
        sent = source_unit
    at_4 = at_20 = ""
    if sent == "mA" and kind != "current":
        at_4 = ask.ask(f"{key}.at_4_mA", f"What 4 mA means (0 {unit})", measured(unit))
        at_20 = ask.ask(f"{key}.at_20_mA", f"What 20 mA means (10 {unit})", measured(unit))
    poll = ask.ask(f"{key}.poll", "How often to read it", duration, _DEFAULT_POLL)
    question = f"Doubt it below (in {unit}; nothing for never)"
    low = ask.ask(f"{key}.suspect_low", question, optional(measured(unit)), "")
    high = ask.ask(f"{key}.suspect_high", "and above", measured(unit)) if low else ""
    talk.channels.append(
        ChannelDraft(
            name, device, point.name, kind, unit, poll, source_unit, kind == "level" and sent in _PRESSURES, at_4,
            at_20, low, high, str(live) if live is not None and live.value is not None else "",
        )
    )  # fmt: skip


def _discharging(talk: _Dialogue) -> tuple[str, str, str, str]:
    ask = talk.ask
    flow = next((c for c in talk.channels if c.quantity == "flow"), None)
    level = next((c for c in talk.channels if c.quantity == "level"), None)
    above = probe_at = ""
    if flow is not None:
        question = f"Discharging when {flow.name} is above (in {flow.unit}; nothing: always)"
        above = ask.ask("discharging.above", question, optional(measured(flow.unit)), "")
    if level is not None:
        question = f"The lowest probe is wet from {level.name} (in {level.unit}; nothing: always)"
        probe_at = ask.ask("discharging.probe_at", question, optional(measured(level.unit)), "")
    return flow.name if flow is not None else "", above, level.name if level is not None else "", probe_at


def _contact(ask: Questions) -> ContactDraft | None:
    name = ask.ask("contact.name", "Who is told of alarms (nothing: nobody yet)", lambda text: text, "")
    if not name:
        return None
    role = ask.ask("contact.role", "As what", identifier, "superintendent")
    return ContactDraft(role, name, ask.ask("contact.phone", "Phone (+15185550123)", lambda text: text, ""))


def _bus_record(bus: BusDraft) -> Bus:
    setting = Setting(bus.baud, bus.parity, bus.stop_bits)
    return bus_of(bus.port or f"[{bus.host}]:{bus.tcp_port}", setting, bus.kind)


def _free(wanted: str, taken: set[str]) -> str:
    name, number_ = wanted, 2
    while name in taken:
        name, number_ = f"{wanted}-{number_}", number_ + 1
    return name


def _dimension(unit: str) -> str:
    """Which group of quantities a unit belongs to; empty for one the product does not know."""
    groups = {
        "pH": "pH", "flow": "flow", "level": "length", "pressure": "pressure", "temperature": "temperature",
        "conductivity": "conductivity", "tss": "concentration", "turbidity": "turbidity", "orp": "potential",
        "current": "current", "volume": "volume", "contact": "contact", "velocity": "velocity",
    }  # fmt: skip
    return next((group for name, group in groups.items() if unit in quantity_units(name)), "")
