"""How every alarm of a site behaves for people: the defaults, and what the site file changes of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gateway.maintenance_entry import STATION, maintenance_alarm
from gateway.model import Severity
from gateway.problems import Problems
from gateway.signals.diagnosis.agreement import disagreement_alarm
from gateway.signals.diagnosis.surcharge import SURCHARGE
from gateway.signals.diagnosis.tamper import TAMPER
from gateway.site import AlarmPolicy, Channel, Rule
from gateway.site_channels import convert
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path

if TYPE_CHECKING:
    from gateway.config_shape import AlarmTable

__all__ = ["build_alarms", "sensor_alarm"]

_MINUTE_US = 60_000_000
_SIGN_OFF = "Judged again. Sign off: maintenance stop."

# Engineering choices, in the rule's unit or as a share of its limit: how far inside the limit a value must be before an
# alarm returns to normal. They never touch what the rule records.
_DEADBAND_PH = 0.1
_DEADBAND_SHARE = {"temperature": 0.01}
_DEADBAND_SHARE_ELSE = 0.05
# Judged over a period or result by result: they neither flutter nor need a deadband.
_COUNTED = ("average", "volume", "share", "excursion")


def sensor_alarm(channel: str) -> str:
    """The alarm that says a channel cannot be trusted."""
    return f"sensor-{channel}"


def build_alarms(
    tables: Mapping[str, "AlarmTable"],
    rules: Sequence[Rule],
    channels: Mapping[str, Channel],
    known_rules: Iterable[str],
    problems: Problems,
    *,
    complete: bool,
    others: Mapping[str, AlarmPolicy] | None = None,
    tamper: bool = False,
) -> dict[str, AlarmPolicy]:
    """One policy for every bound rule's alarm, for every channel's sensor fault, for what diagnosis may raise, and for
    `others` as they are given.

    `known_rules` are the ids of all rules of the packs, bound or not: their tables are no mistake, only idle. A name
    nobody knows is a mistake only if the rules and channels are `complete`, that is, without mistakes themselves.
    """
    policies = {rule.alarm: _rule_policy(rule) for rule in rules}
    units = {rule.alarm: rule.unit for rule in rules}
    for name, channel in channels.items():
        alarm = sensor_alarm(name)
        # A volume since midnight is silent with its counter or flow: that is told once, by the one that speaks first.
        told_by = (sensor_alarm(channel.derived_from),) if channel.quantity == "volume" and channel.derived_from else ()
        policies[alarm] = AlarmPolicy(
            alarm,
            Severity.WARNING,
            on_delay_us=2 * _MINUTE_US if told_by else _MINUTE_US,
            off_delay_us=_MINUTE_US,
            suppressed_by=told_by,
        )
        units[alarm] = channel.unit
    policies |= others or {}
    units |= dict.fromkeys(others or (), "state")
    for scope in (STATION, *channels):
        alarm = maintenance_alarm(scope)
        of = "the station" if scope == STATION else channels[scope].label or scope
        policies[alarm] = AlarmPolicy(alarm, Severity.WARNING, title=f"maintenance of {of}", action=_SIGN_OFF)
        units[alarm] = "1"
    for policy in _diagnosed(channels, tamper=tamper):
        policies[policy.alarm], units[policy.alarm] = policy, ""
    by_rule: dict[str, list[str]] = {}
    for rule in rules:
        by_rule.setdefault(rule.id, []).append(rule.alarm)
    names = {*policies, *by_rule, *known_rules}
    # A table for a rule speaks for all its alarms; one for a single alarm has the last word.
    for name, table in sorted(tables.items(), key=lambda item: item[0] in policies):
        path: Path = ("alarms", name)
        if name not in names and complete:
            problems.error(path, f"there is no rule or alarm {name!r}{did_you_mean(name, names)}")
        if name in names and name not in policies and name not in by_rule:
            problems.warning(path, "is idle: no channel of this site feeds that rule")
        for alarm in [name] if name in policies else by_rule.get(name, []):
            known = names if complete else None
            policies[alarm] = replace(policies[alarm], **_changes(table, units[alarm], known, path, problems))
    return policies


def _diagnosed(channels: Mapping[str, Channel], *, tamper: bool) -> Iterable[AlarmPolicy]:
    """The alarms of sensor diagnosis (docs/quality.md 4); delays are ours."""
    for name, channel in channels.items():
        if channel.diagnosed.agreement is not None:
            yield AlarmPolicy(disagreement_alarm(name), Severity.WARNING, off_delay_us=_MINUTE_US)
    diagnosed = [channel.diagnosed for channel in channels.values()]
    if any((d.crown, d.overflow_at, d.capacity) != (None,) * 3 for d in diagnosed):
        yield AlarmPolicy(SURCHARGE, Severity.HIGH, on_delay_us=_MINUTE_US, off_delay_us=_MINUTE_US, shelvable=False)
    if tamper:
        yield AlarmPolicy(TAMPER, Severity.HIGH, latching=True)


def _rule_policy(rule: Rule) -> AlarmPolicy:
    if rule.laboratory or rule.kind in _COUNTED:
        return AlarmPolicy(rule.alarm, rule.severity)
    threshold = rule.limit
    if threshold is None and rule.factor is not None and rule.baseline is not None and rule.baseline.value is not None:
        threshold = rule.factor * rule.baseline.value
    share = _DEADBAND_SHARE.get(rule.quantity, _DEADBAND_SHARE_ELSE)
    deadband = _DEADBAND_PH if rule.quantity == "pH" else share * abs(threshold or 0.0)
    return AlarmPolicy(rule.alarm, rule.severity, off_delay_us=_MINUTE_US, deadband=deadband)


def _changes(
    table: "AlarmTable", unit: str, alarms: Collection[str] | None, path: Path, problems: Problems
) -> dict[str, Any]:
    changes: dict[str, Any] = {
        "severity": Severity[table.severity.upper()] if table.severity is not None else None,
        "enabled": table.enabled,
        "on_delay_us": table.on_delay,
        "off_delay_us": table.off_delay,
        "latching": table.latching,
        "ack_required": table.ack_required,
        "realarm_us": table.realarm,
        "shelvable": table.shelvable,
        "max_shelve_us": table.max_shelve,
    }
    if table.deadband is not None:
        changes["deadband"] = convert(table.deadband, unit, problems, (*path, "deadband"), difference=True)
        if table.deadband[0] < 0:
            problems.error((*path, "deadband"), "must not be negative")
    if table.suppressed_by is not None:
        for other in table.suppressed_by:
            if alarms is not None and other not in alarms:
                problems.error((*path, "suppressed_by"), f"there is no alarm {other!r}{did_you_mean(other, alarms)}")
        changes["suppressed_by"] = tuple(table.suppressed_by)
    return {key: value for key, value in changes.items() if value is not None}
