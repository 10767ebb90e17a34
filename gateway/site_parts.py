"""Buses, devices, contacts, sinks and notifiers of the site file, checked for what they need of each other."""

import re
from collections.abc import Callable, Iterable, Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from gateway.alarms.path_options import HttpSmsOptions, MailOptions, ModemOptions, SmsdOptions
from gateway.drivers.profile import Pace
from gateway.errors import ConfigError
from gateway.model import Severity
from gateway.problems import Problems
from gateway.sinks.mqtt_options import MqttOptions
from gateway.site import MODBUS_KINDS, SERIAL_KINDS, TCP_KINDS, Bus, Contact, Device, Part
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path

if TYPE_CHECKING:
    from gateway.config_files import DeviceProfile
    from gateway.config_shape import BusTable, ContactTable, PartTable, SiteFile

__all__ = ["build_buses", "build_contacts", "build_devices", "build_parts"]

_PHONE = re.compile(r"\+[1-9][0-9]{6,14}")
_NEEDS = dict.fromkeys(SERIAL_KINDS, "port") | dict.fromkeys(TCP_KINDS, "host") | {"replay": "file"}
_NOT_BROADCAST = frozenset(MODBUS_KINDS) - {"modbus-tcp"}  # where unit 0 is everybody
_MAX_BUSES, _MAX_DEVICES, _LAST_SERIAL_UNIT = 4, 32, 247

# Kinds that come with the product; others register as entry points of the same group.
_BUILT_IN = {"sinks": ("mqtt",), "notify": ("bench", "gammu-smsd", "http-sms", "mail", "modem")}
_ENTRY_POINT_GROUPS = {"sinks": "manhole_gateway.sinks", "notify": "manhole_gateway.notifiers"}
_CHECKS: Mapping[tuple[str, str], Callable[[Part], object]] = {
    ("sinks", "mqtt"): MqttOptions.of,
    ("notify", "gammu-smsd"): SmsdOptions.of,
    ("notify", "http-sms"): HttpSmsOptions.of,
    ("notify", "mail"): MailOptions.of,
    ("notify", "modem"): ModemOptions.of,
}
_ADDRESSED_BY = {"gammu-smsd": "phone", "http-sms": "phone", "modem": "phone", "mail": "email"}
_EMAIL = re.compile(r"[^@\s]+@[^@\s]+")
_SECRET = re.compile(r"(password|passphrase|secret|token|api_?key|pin)$", re.IGNORECASE)


def build_buses(tables: Mapping[str, "BusTable"], problems: Problems) -> dict[str, Bus]:
    """The ports, each with what its kind needs. One port or one host and TCP port is one bus."""
    taken: dict[tuple[object, ...], str] = {}
    for name, table in tables.items():
        needs = _NEEDS[table.kind]
        if not getattr(table, needs):
            problems.error(("buses", name, needs), f"is required for {table.kind}")
            continue
        _character(name, table, problems)
        if table.kind == "replay":
            continue
        place = (table.port,) if table.kind in SERIAL_KINDS else (table.host, table.tcp_port)
        if place in taken:
            text = f"is bus {taken[place]!r} already: one connection to it, with all its devices on one bus"
            problems.error(("buses", name, needs), text)
        taken.setdefault(place, name)
    if len(tables) > _MAX_BUSES:
        problems.warning(("buses",), f"one gateway serves up to {_MAX_BUSES} buses, here are {len(tables)}")
    return {
        name: Bus(
            name=name,
            kind=t.kind,
            port=t.port,
            baud=t.baud,
            parity=t.parity or ("E" if t.kind == "modbus-ascii" else "N"),
            stop_bits=t.stop_bits,
            host=t.host,
            tcp_port=t.tcp_port,
            file=t.file,
            data_bits=t.data_bits or (7 if t.kind == "modbus-ascii" else 8),
            close_when_idle_us=t.close_when_idle if t.kind in TCP_KINDS else None,
        )
        for name, t in tables.items()
    }


def _character(name: str, table: "BusTable", problems: Problems) -> None:
    """What only some kinds have; and characters that no standard device sends."""
    path: Path = ("buses", name)
    if table.data_bits == 7 and table.kind != "modbus-ascii":
        problems.error((*path, "data_bits"), f"must be 8: {table.kind} sends bytes, and seven bits hold none")
    if table.close_when_idle is not None and table.kind not in TCP_KINDS:
        problems.error((*path, "close_when_idle"), f"is for connections over TCP, not for {table.kind}")
    if table.kind == "modbus-ascii" and table.data_bits != 8 and table.parity == "N" and table.stop_bits == 1:
        problems.warning((*path, "parity"), "7 bits without parity have 2 stop bits in the standard: 7E1, 7O1 or 7N2")


def build_devices(
    tree: "SiteFile", buses: Iterable[str], profiles: Mapping[str, "DeviceProfile"], problems: Problems
) -> dict[str, Device]:
    """The instruments; `buses` are the names the file gives, broken ones included. `profiles` by device."""
    devices: dict[str, Device] = {}
    names = tuple(buses)
    for name, table in tree.devices.items():
        path: Path = ("devices", name)
        if table.bus not in names:
            problems.error((*path, "bus"), f"there is no bus {table.bus!r}{did_you_mean(table.bus, names)}")
        bus = tree.buses.get(table.bus)
        if bus is not None and bus.kind in _NOT_BROADCAST and not 1 <= table.unit <= _LAST_SERIAL_UNIT:
            problems.error((*path, "unit"), f"must be 1 to {_LAST_SERIAL_UNIT} on a serial line")
        if table.timeout == 0:
            problems.error((*path, "timeout"), "must be above zero")
        for other in devices.values():
            if (other.bus, other.unit) == (table.bus, table.unit):
                problems.warning((*path, "unit"), f"is also the address of device {other.name!r} on bus {table.bus!r}")
        loaded = profiles.get(name)
        pace = Pace() if loaded is None else loaded.profile.pace
        usual = Device(name, table.bus, table.unit, table.profile)
        devices[name] = Device(
            name=name,
            bus=table.bus,
            unit=table.unit,
            profile=table.profile if loaded is None else loaded.source,
            timeout_us=_first(table.timeout, pace.timeout_us, usual.timeout_us),
            retries=_first(table.retries, pace.retries, usual.retries),
            overrides=dict(table.model_extra or {}),
            watchdog_us=table.watchdog,
            gap_us=_first(table.gap, pace.gap_us, usual.gap_us),
            warm_up_us=_first(table.warm_up, pace.warm_up_us, usual.warm_up_us),
        )
        if table.watchdog is not None and loaded is not None:
            _watchdog(table.watchdog, loaded, (*path, "watchdog"), problems)
    if len(devices) > _MAX_DEVICES:
        problems.warning(("devices",), f"one gateway serves up to {_MAX_DEVICES} devices, here are {len(devices)}")
    return devices


def _first(*said: int | None) -> int:
    """What the site says, else the profile, else what is usual."""
    return next(value for value in said if value is not None)


def _watchdog(after_us: int, loaded: "DeviceProfile", path: Path, problems: Problems) -> None:
    watchdog = loaded.profile.quirks.watchdog
    if watchdog is None:
        problems.error(path, f"{loaded.profile.id} knows no watchdog that could be armed over the line")
        return
    try:
        watchdog.value(after_us)
    except ValueError as error:
        problems.error(path, str(error))


def build_contacts(
    tables: Mapping[str, "ContactTable"], notifiers: Mapping[str, str], problems: Problems
) -> tuple[Contact, ...]:
    """The people; `notifiers` are the names the file gives, each with its kind."""
    names = tuple(notifiers)
    for name, table in tables.items():
        for notifier in table.notify:
            if notifier not in names:
                hint = did_you_mean(notifier, names)
                problems.error(("contacts", name, "notify"), f"there is no [notify.{notifier}]{hint}")
            address = _ADDRESSED_BY.get(notifiers.get(notifier, ""))
            if address and not getattr(table, address):
                problems.error(("contacts", name, address), f"is required: [notify.{notifier}] reaches people by it")
        if table.phone and not _PHONE.fullmatch(table.phone):
            problems.error(("contacts", name, "phone"), f"{table.phone!r} must be as +15185550123, with country code")
        if table.email and not _EMAIL.fullmatch(table.email):
            problems.error(("contacts", name, "email"), f"{table.email!r} is no e-mail address")
    return tuple(
        Contact(
            id=name,
            name=t.name,
            notifiers=tuple(t.notify),
            phone=t.phone,
            from_severity=Severity[t.from_severity.upper()],
            language=t.language,
            email=t.email,
            role=t.role or "",
            pin=t.pin_file,
        )
        for name, t in tables.items()
    )


def build_parts(section: str, tables: Mapping[str, "PartTable"], problems: Problems) -> tuple[Part, ...]:
    """Sinks or notifiers with their options as written. No secret may stand in the file itself."""
    parts: list[Part] = []
    installed = entry_points(group=_ENTRY_POINT_GROUPS[section]).names
    for name, table in tables.items():
        path: Path = (section, name)
        kind = table.kind or name
        options: dict[str, Any] = dict(table.model_extra or {})
        parts.append(Part(name, kind, options))
        public = {key: value for key, value in options.items() if not _secret(key, value, path, problems)}
        if kind not in _BUILT_IN[section] and kind not in installed:
            hint = did_you_mean(kind, {*_BUILT_IN[section], *installed})
            problems.error((*path, "kind") if table.kind else path, f"no {section} of kind {kind!r} is installed{hint}")
        elif (section, kind) in _CHECKS:
            try:
                _CHECKS[section, kind](Part(name, kind, public))
            except ConfigError as error:
                for problem in error.problems:
                    keys = problem.path.split(".")[2:]
                    problems.error((*path, *keys), problem.text)
    return tuple(parts)


def _secret(key: str, value: Any, path: Path, problems: Problems) -> bool:
    """Whether an option is a secret written out, which is a mistake; looks into tables too."""
    if isinstance(value, Mapping):
        inside = [_secret(inner, v, (*path, key), problems) for inner, v in value.items()]  # every one is told
        return any(inside)
    if not _SECRET.search(key):
        return False
    problems.error((*path, key), f"a secret never stands in the site file; name a file: {key}_file")
    return True
