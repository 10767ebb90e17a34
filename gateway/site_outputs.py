"""Contacts and outputs of the site file, checked: what each may write, what it stands for, what alarms it brings."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import TYPE_CHECKING

from gateway.model import Severity
from gateway.outputs.composite import COMPOSITE_ALARM
from gateway.outputs.grab import BOTTLES_ALARM, GRAB_ALARM
from gateway.outputs.wired import ContactInput, ContactRole, Output, OutputRole, Sampler
from gateway.problems import Problems
from gateway.site import AlarmPolicy, Channel
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path

if TYPE_CHECKING:
    from gateway.config_files import DeviceProfile
    from gateway.config_outputs import OutputTable
    from gateway.config_shape import SiteFile

__all__ = ["build_inputs", "build_outputs", "output_alarms"]

# Ours: waves let a float bob, a door that is drawn shut bounces.
_DEBOUNCE_US = {ContactRole.FLOAT: 5_000_000, ContactRole.SAMPLE_TAKEN: 0}
_DEBOUNCE_ELSE_US = 1_000_000
_EXPIRES_US, _EXPIRES_PULSE_US = 60_000_000, 30_000_000
_LONGEST_PULSE_US = 60_000_000

# The contact's normal state where the file does not say: a door switch is closed while the door is, the others are dry.
_CLOSED_IS_NORMAL = frozenset({ContactRole.DOOR, ContactRole.LID})

_CONTACT_ALARMS: Mapping[ContactRole, tuple[Severity, str, str]] = {
    ContactRole.DOOR: (Severity.HIGH, "door", "Nobody is signed in: go and look."),
    ContactRole.LID: (Severity.HIGH, "manhole lid", "Nobody is signed in: go and look."),
    ContactRole.FLOAT: (Severity.CRITICAL, "HIGH LEVEL", "The manhole fills: find the blockage."),
    ContactRole.BOTTLE_FULL: (Severity.NOTICE, "sampler bottle full", "Collect it."),
    ContactRole.SAMPLER_FAULT: (Severity.WARNING, "sampler fault", "Check the sampler."),
}


def build_inputs(tree: "SiteFile", channels: Mapping[str, Channel], problems: Problems) -> dict[str, ContactInput]:
    """What the channels of quantity `contact` mean, by channel."""
    inputs = {}
    for name, table in tree.channels.items():
        path: Path = ("channels", name)
        if table.quantity != "contact":
            for key in ("contact", "normal", "debounce"):
                if getattr(table, key) is not None:
                    problems.error((*path, key), "is for channels of quantity contact")
            continue
        if table.contact is None:
            problems.error((*path, "contact"), f"is required: what it says, {', '.join(ContactRole)}")
            continue
        role = ContactRole(table.contact)
        normal = role in _CLOSED_IS_NORMAL if table.normal is None else table.normal == "closed"
        default_us = _DEBOUNCE_US.get(role, _DEBOUNCE_ELSE_US)
        debounce_us = default_us if table.debounce is None else table.debounce
        if name in channels:
            inputs[name] = ContactInput(name, role, normal, debounce_us)
    return inputs


def build_outputs(
    tree: "SiteFile",
    devices: Iterable[str],
    profiles: Mapping[str, "DeviceProfile"],
    known_rules: Iterable[str],
    problems: Problems,
    *,
    rules_known: bool,
    today: date | None,
) -> dict[str, Output]:
    """Every output that may be written; a second one at the same place is a mistake."""
    declared, rules = tuple(devices), tuple(known_rules)
    outputs: dict[str, Output] = {}
    taken: dict[tuple[object, str, int], str] = {}
    for name, table in tree.outputs.items():
        path: Path = ("outputs", name)
        if table.device not in declared:
            problems.error(
                (*path, "device"), f"there is no device {table.device!r}{did_you_mean(table.device, declared)}"
            )
        output = _output(name, table, path, problems)
        if output is None:
            continue
        loaded = profiles.get(table.device)
        if loaded is not None and not table.allowed_by.strip():
            quirks = loaded.profile.quirks
            listed = quirks.writable_coils if output.kind == "coil" else quirks.writable
            if output.address not in listed:
                problems.error(
                    (*path, "coil" if output.kind == "coil" else "register"),
                    f"{output.address} is not among the addresses that {loaded.profile.id} lists as writable; "
                    "say in allowed_by which document allows it",
                )
        device = tree.devices.get(output.device)
        # Two devices of the file may be one on the line.
        place = output.device if device is None else (device.bus, device.unit)
        other = taken.setdefault((place, output.kind, output.address), name)
        if other != name:
            problems.error(path, f"writes what output {other!r} writes already")
        _valve(table, output, rules if rules_known else None, path, problems, today)
        outputs[name] = output
    return outputs


def _output(name: str, table: "OutputTable", path: Path, problems: Problems) -> Output | None:
    address = table.coil if table.coil is not None else table.register_
    if address is None or (table.coil is not None and table.register_ is not None):
        problems.error((*path, "coil"), "an output has a coil or a register, and not both")
        return None
    kind = "coil" if table.coil is not None else "register"
    on = 1 if table.on is None else table.on
    off = (1 - on if on in (0, 1) else 0) if table.off is None else table.off
    if on == off or (kind == "coil" and {on, off} != {0, 1}):
        problems.error((*path, "on"), "on and off must differ, and for a coil be 1 and 0")
        return None
    role = OutputRole(table.role)
    pulse_us = 1_000_000 if table.pulse is None else table.pulse
    min_interval_us = 0 if table.min_interval is None else table.min_interval
    if not 0 < pulse_us <= _LONGEST_PULSE_US:
        problems.error((*path, "pulse"), "must be above zero and at most a minute")
    if table.min_interval is not None and min_interval_us <= pulse_us:
        problems.error((*path, "min_interval"), "must be longer than the pulse: it counts from start to start")
    default_us = _EXPIRES_PULSE_US if role in (OutputRole.SAMPLER_PACE, OutputRole.SAMPLER_GRAB) else _EXPIRES_US
    expires_us = default_us if table.expires is None else table.expires
    if expires_us <= 0:
        problems.error((*path, "expires"), "must be above zero")
    safe = table.safe or ("hold" if role is OutputRole.VALVE else "off")
    if role in (OutputRole.SAMPLER_PACE, OutputRole.SAMPLER_GRAB) and safe != "off":
        problems.error((*path, "safe"), "a pulsed output rests at off")
    if table.from_severity is not None and role not in (OutputRole.HORN, OutputRole.BEACON):
        problems.error((*path, "from_severity"), "is for horn and beacon")
    return Output(
        name=name,
        device=table.device,
        role=role,
        kind=kind,
        address=address,
        on=on,
        off=off,
        pulse_us=pulse_us,
        min_interval_us=max(min_interval_us, 2 * pulse_us),
        expires_us=expires_us,
        safe=safe,
        from_severity=Severity[(table.from_severity or "high").upper()],
        shuts_on=tuple(table.shuts_on),
        approved_by=table.approved_by,
        approved_on="" if table.approved_on is None else table.approved_on.isoformat(),
    )


def _valve(
    table: "OutputTable",
    output: Output,
    rules: tuple[str, ...] | None,
    path: Path,
    problems: Problems,
    today: date | None,
) -> None:
    """Shutting somebody's sewer is a signed decision, rule by rule."""
    if output.role is not OutputRole.VALVE:
        if table.shuts_on:
            problems.error((*path, "shuts_on"), "is for a valve")
        return
    for rule in table.shuts_on:
        if rules is not None and rule not in rules:
            problems.error((*path, "shuts_on"), f"there is no rule {rule!r} at this site{did_you_mean(rule, rules)}")
    if table.shuts_on and (not table.approved_by.strip() or table.approved_on is None):
        problems.error((*path, "approved_by"), "is required, with approved_on: who signed that these rules shut it")
    if today is not None and table.approved_on is not None and table.approved_on > today:
        problems.error((*path, "approved_on"), "lies in the future")
    if output.safe == "off":
        text = "opens the valve at every start and end of the gateway that does not find it shut by its own word"
        problems.warning((*path, "safe"), f'"off" {text}')


def output_alarms(
    inputs: Mapping[str, ContactInput], outputs: Mapping[str, Output], sampler: Sampler, channels: Mapping[str, Channel]
) -> dict[str, AlarmPolicy]:
    """The alarms that contacts, outputs and the sampler bring, before the site file changes any."""
    policies: dict[str, AlarmPolicy] = {}
    for name, spec in inputs.items():
        if spec.alarm:
            severity, title, action = _CONTACT_ALARMS[spec.role]
            label = channels[name].label
            title = f"{title} ({label or name})"
            policies[spec.alarm] = AlarmPolicy(spec.alarm, severity, title=title, action=action)
    for output in outputs.values():
        severity = Severity.HIGH if output.role is OutputRole.VALVE else Severity.WARNING
        title, action = f"output {output.name}", "Check it on site."
        policies[output.alarm] = AlarmPolicy(output.alarm, severity, title=title, action=action)
    if sampler.composite is not None:
        policies[COMPOSITE_ALARM] = AlarmPolicy(COMPOSITE_ALARM, Severity.NOTICE, title="composite sample")
    if sampler.grab is not None:
        policies[GRAB_ALARM] = AlarmPolicy(GRAB_ALARM, Severity.WARNING, title="grab sample")
        policies[BOTTLES_ALARM] = AlarmPolicy(BOTTLES_ALARM, Severity.WARNING, title="sampler bottles")
    return policies
