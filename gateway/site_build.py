"""From the checked tree of a site file to a `Site`: what its parts mean to each other."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import TYPE_CHECKING, Any
from zoneinfo import ZoneInfo

from gateway.config_files import DeviceProfile
from gateway.content_hash import content_hash
from gateway.problems import Problems
from gateway.rules.pack import Pack, bind
from gateway.site import Baseline, Channel, Discharging, Site, Waiver, Witness
from gateway.site_alarms import build_alarms
from gateway.site_channels import IN_THE_LIQUID, build_channels, convert
from gateway.site_parts import build_buses, build_contacts, build_devices, build_parts
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path
from gateway.units import conversion

if TYPE_CHECKING:
    from gateway.config import BaselineTable, SiteFile

__all__ = ["Built", "build_site"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_NAMED_SECTIONS = ("buses", "devices", "channels", "contacts", "notify", "sinks")
_COMMIT_EVERY_US = 10_000_000


@dataclass(frozen=True, slots=True)
class Built:
    """The site, sound only if `problems` stayed empty, and why some rules of its packs judge nothing here."""

    site: Site
    unbound: Mapping[str, str]


def build_site(
    tree: "SiteFile",
    content: Mapping[str, Any],
    packs: Mapping[str, Pack],
    profiles: Mapping[str, DeviceProfile],
    problems: Problems,
    *,
    packs_sound: bool,
    today: date | None,
    for_replay: bool,
) -> Built:
    """Put the parts together. Every mistake goes to `problems`, and building goes on past it.

    `content` is the file as it was written, mistakes included: a reference to a part that is itself broken is not
    reported twice, nor is a rule of a pack that is not `packs_sound`.
    `profiles` by device. `today` gates dates unless None.
    """
    _check_names(tree, problems)
    _check_time_zone(tree.site.time_zone, problems)
    points = {name: loaded.profile.points for name, loaded in profiles.items()}
    sources = {name: loaded.source for name, loaded in profiles.items()}
    channels = build_channels(tree, points, _declared(content, "devices"), problems)
    baselines = _baselines(tree, content, channels, problems, today, for_replay=for_replay)
    places = {name: table.place for name, table in tree.channels.items()}
    binding = bind(packs, channels, places, baselines, today)
    known_rules = {rule.id for pack in packs.values() for rule in pack.rules}
    known_rules |= {rule.id for pack in packs.values() for rule in pack.pending}
    complete = packs_sound and len(channels) == len(_declared(content, "channels"))
    alarms = build_alarms(tree.alarms, binding.rules, channels, known_rules, problems, complete=complete)
    site = Site(
        id=tree.site.id,
        name=tree.site.name,
        discharger=tree.site.discharger,
        time_zone=tree.site.time_zone,
        channels=channels,
        rules=tuple(replace(rule, severity=alarms[rule.alarm].severity) for rule in binding.rules),
        discharging=_discharging(tree, content, channels, problems),
        alarms=alarms,
        contacts=build_contacts(tree.contacts, _declared(content, "notify"), problems),
        buses=build_buses(tree.buses, problems),
        devices=build_devices(tree, _declared(content, "buses"), sources, problems),
        sinks=build_parts("sinks", tree.sinks, problems),
        notifiers=build_parts("notify", tree.notify, problems),
        baselines=baselines,
        config_hash=content_hash(
            {
                "site": content,
                "packs": {pack.id: pack.hash for pack in packs.values()},
                "profiles": {name: loaded.hash for name, loaded in profiles.items()},
            }
        ),
        commit_every_us=_COMMIT_EVERY_US if tree.journal.commit_every is None else tree.journal.commit_every,
        waivers=_waivers(tree, known_rules, problems, packs_sound=packs_sound),
        unbound_rules=tuple(binding.unbound),
    )
    return Built(site, binding.unbound)


def _declared(content: Mapping[str, Any], section: str) -> tuple[str, ...]:
    table = content.get(section)
    return tuple(table) if isinstance(table, Mapping) else ()


def _check_names(tree: "SiteFile", problems: Problems) -> None:
    for section in _NAMED_SECTIONS:
        for name in getattr(tree, section):
            if not _NAME.fullmatch(name):
                problems.error((section, name), f"the name {name!r} must be letters, digits, hyphens and underscores")


def _check_time_zone(name: str, problems: Problems) -> None:
    try:
        ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # not found, a folder of zones, or no zone name at all
        problems.error(("site", "time_zone"), f"unknown time zone {name!r}; an IANA name, as America/New_York")


def _discharging(
    tree: "SiteFile", content: Mapping[str, Any], channels: Mapping[str, Channel], problems: Problems
) -> Discharging:
    table = tree.discharging
    if table is None:
        return Discharging()
    witnesses: list[Witness] = []
    for key, threshold_key in (("flow", "above"), ("level", "probe_at")):
        name, threshold = getattr(table, key), getattr(table, threshold_key)
        if (name is None) != (threshold is None):
            missing = threshold_key if threshold is None else key
            problems.error(("discharging", missing), f"is required: {key} and {threshold_key} belong together")
        elif name is not None:
            channel = _channel(name, key, ("discharging", key), content, channels, problems)
            if channel is not None:
                wet_at = convert(threshold, channel.unit, problems, ("discharging", threshold_key))
                witnesses.append(Witness(name, wet_at or 0.0))
    if not witnesses and not problems.errors:
        problems.error(("discharging",), "needs a flow (with above) or a level (with probe_at) to tell by")
    applies_to = table.applies_to
    for name in applies_to or ():
        _channel(name, "", ("discharging", "applies_to"), content, channels, problems)
    if applies_to is None:
        applies_to = [n for n, c in channels.items() if c.quantity in IN_THE_LIQUID and _at_manhole(tree, n)]
    default = Discharging()
    return Discharging(
        witnesses=tuple(witnesses),
        on_delay_us=default.on_delay_us if table.on_delay is None else table.on_delay,
        off_delay_us=default.off_delay_us if table.off_delay is None else table.off_delay,
        applies_to=frozenset(applies_to),
    )


def _at_manhole(tree: "SiteFile", name: str) -> bool:
    return tree.channels[name].place == "manhole"


def _channel(
    name: str,
    quantity: str,
    path: Path,
    content: Mapping[str, Any],
    channels: Mapping[str, Channel],
    problems: Problems,
) -> Channel | None:
    """The channel of that name, of that quantity when one is asked for, or None after saying so."""
    channel = channels.get(name)
    declared = _declared(content, "channels")
    if channel is None:
        if name not in declared:
            problems.error(path, f"there is no channel {name!r}{did_you_mean(name, declared)}")
        return None
    if quantity and channel.quantity != quantity:
        problems.error(path, f"{name} measures {channel.quantity}, not {quantity}")
        return None
    return channel


def _baselines(
    tree: "SiteFile",
    content: Mapping[str, Any],
    channels: Mapping[str, Channel],
    problems: Problems,
    today: date | None,
    *,
    for_replay: bool,
) -> dict[str, Baseline]:
    """Baselines in force, by channel. One whose approval lies ahead is not in force; one without approval is an error
    for the gateway and a warning for a replay."""
    baselines: dict[str, Baseline] = {}
    for name, table in tree.baselines.items():
        path: Path = ("baselines", name)
        channel = _channel(name, "", path, content, channels, problems)
        if not table.approved_by or table.approved_on is None:
            say = problems.warning if for_replay else problems.error
            missing = "approved_by" if not table.approved_by else "approved_on"
            say((*path, missing), "is required: a baseline is a signed choice")
        if today is not None and table.approved_on is not None and table.approved_on > today:
            problems.warning((*path, "approved_on"), "lies ahead: the baseline is not in force yet")
            continue
        baseline = _baseline(name, table, channel, problems) if channel is not None else None
        if baseline is not None:
            baselines[name] = baseline
    return baselines


def _baseline(name: str, table: "BaselineTable", channel: Channel, problems: Problems) -> Baseline | None:
    path: Path = ("baselines", name)
    if table.mode == "declared" and table.value is None:
        problems.error((*path, "value"), "is required: a declared baseline is a number")
    if table.mode != "declared":
        problems.warning((*path, "mode"), f"{table.mode!r} is not computed yet: rules that need it are not evaluable")
        if table.value is not None:
            problems.error((*path, "value"), f"only a declared baseline has a value, not {table.mode!r}")
    value, unit = table.value if table.value is not None else (None, channel.unit)
    if value is not None:
        if value <= 0:
            problems.error((*path, "value"), "must be above zero")
        try:
            conversion(unit, channel.unit)
        except ValueError as error:
            problems.error((*path, "value"), str(error))
            return None
    approved_on = "" if table.approved_on is None else table.approved_on.isoformat()
    facts = {
        "channel": name,
        "mode": table.mode,
        "value": value,
        "unit": unit,
        "approved_by": table.approved_by,
        "approved_on": approved_on,
    }
    return Baseline(
        id=name,
        channel=name,
        mode=table.mode,
        value=value,
        unit=unit,
        approved_by=table.approved_by,
        approved_on=approved_on,
        hash=content_hash(facts),
    )


def _waivers(tree: "SiteFile", known_rules: set[str], problems: Problems, *, packs_sound: bool) -> tuple[Waiver, ...]:
    for index, table in enumerate(tree.waivers):
        if packs_sound and table.rule not in known_rules:
            hint = did_you_mean(table.rule, known_rules)
            problems.error(("waivers", index, "rule"), f"there is no rule {table.rule!r}{hint}")
        if table.valid_until < table.valid_from:
            problems.error(("waivers", index, "valid_until"), "is before valid_from")
        problems.warning(("waivers", index), "waivers are kept with the record but do not change any verdict yet")
    return tuple(
        Waiver(w.rule, w.approved_by, w.reason, w.valid_from.isoformat(), w.valid_until.isoformat())
        for w in tree.waivers
    )
