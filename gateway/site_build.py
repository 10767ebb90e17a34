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
from gateway.rules.pack import Pack
from gateway.rules.pack_bind import LABORATORY, bind
from gateway.signals.pipe import MANNING_N, full_pipe_gpm
from gateway.site import Channel, Discharging, Site, TownFlow, Witness
from gateway.site_alarms import build_alarms
from gateway.site_baselines import build_baselines
from gateway.site_channels import IN_THE_LIQUID, build_channels, convert
from gateway.site_diagnosis import build_tamper, diagnosed_channels
from gateway.site_duty import build_duty, build_signs
from gateway.site_outputs import build_inputs, build_outputs, output_alarms
from gateway.site_parts import build_buses, build_contacts, build_devices, build_parts
from gateway.site_polling import check_polling
from gateway.site_rules import as_the_site_takes_them
from gateway.site_sampler import build_sampler
from gateway.site_terms import with_terms
from gateway.site_upkeep import build_upkeep, calibration_alarms
from gateway.spelling import did_you_mean
from gateway.station_alarms import station_policies
from gateway.toml_lines import Path

if TYPE_CHECKING:
    from gateway.config_shape import SiteFile

__all__ = ["Built", "build_site"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_NAMED_SECTIONS = ("buses", "devices", "channels", "contacts", "notify", "sinks", "outputs")
_COMMIT_EVERY_US = 10_000_000


@dataclass(frozen=True, slots=True)
class Built:
    """The site, sound only if `problems` stayed empty, its packs as it takes them, and why some rules judge nothing.

    `pipe_gpm` is what the sewer at the flow meter carries when full, None when the file does not describe it.
    """

    site: Site
    packs: Mapping[str, Pack]
    unbound: Mapping[str, str]
    pipe_gpm: float | None


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
    zone = _time_zone(tree.site.time_zone, problems)
    packs = as_the_site_takes_them(packs, tree, problems, packs_sound=packs_sound)
    points = {name: loaded.profile.points for name, loaded in profiles.items()}
    channels = build_channels(tree, points, _declared(content, "devices"), problems)
    discharging = _discharging(tree, content, channels, problems)
    pipe_gpm = _pipe_gpm(tree, problems)
    channels = diagnosed_channels(channels, points, tree, discharging, pipe_gpm, problems)
    for name in tree.baselines:
        _channel(name, "", ("baselines", name), content, channels, problems)
    baselines = build_baselines(tree.baselines, channels, problems, today, for_replay=for_replay)
    places = {name: table.place for name, table in tree.channels.items()}
    binding = bind(packs, channels, places, baselines, today)
    known_rules = {rule.id for pack in packs.values() for rule in pack.rules}
    complete = packs_sound and len(channels) == len(_declared(content, "channels"))
    rules = with_terms(
        binding.rules, packs, tree, zone, problems, packs_sound=packs_sound, complete=complete, today=today
    )
    inputs = build_inputs(tree, channels, problems)
    tamper = build_tamper(tree, inputs, problems)
    outputs = build_outputs(
        tree,
        _declared(content, "devices"),
        profiles,
        {rule.id for rule in rules},
        problems,
        rules_known=complete,
        today=today,
    )
    sampler = build_sampler(tree, outputs, channels, discharging, rules, problems, complete=complete)
    upkeep = build_upkeep(tree, content, channels, inputs, problems)
    others = output_alarms(inputs, outputs, sampler, channels) | calibration_alarms(upkeep, channels)
    station = station_policies(tree.buses, tree.sinks, tree.notify)
    others |= {name: policy for name, policy in station.items() if not for_replay}
    alarms = build_alarms(
        tree.alarms, rules, channels, known_rules, problems, complete=complete, others=others, tamper=tamper is not None
    )
    buses = build_buses(tree.buses, problems)
    devices = build_devices(tree, _declared(content, "buses"), profiles, problems)
    known_profiles = {name: loaded.profile for name, loaded in profiles.items()}
    check_polling(channels, devices, buses, known_profiles, problems)
    contacts = build_contacts(tree.contacts, _notifiers(tree, content), problems)
    site = Site(
        id=tree.site.id,
        name=tree.site.name,
        discharger=tree.site.discharger,
        time_zone=tree.site.time_zone,
        channels=channels,
        rules=tuple(replace(rule, severity=alarms[rule.alarm].severity) for rule in rules),
        discharging=discharging,
        alarms=alarms,
        contacts=contacts,
        duty=build_duty(tree.duty, contacts, problems),
        signs=build_signs(tree.signs, contacts, problems),
        buses=buses,
        devices=devices,
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
        town_flow=_town_flow(tree, problems),
        nondetect=tree.laboratory.nondetect,
        upkeep=upkeep,
        unbound_rules=tuple(binding.unbound),
        law_notes=tuple(note for pack in packs.values() for note in pack.notes),
        inputs=inputs,
        outputs=outputs,
        sampler=sampler,
        tamper=tamper,
    )
    return Built(site, packs, binding.unbound, pipe_gpm)


def _notifiers(tree: "SiteFile", content: Mapping[str, Any]) -> dict[str, str]:
    """The kind of every notifier the file names, broken ones included."""
    tables = tree.notify
    return {name: (tables[name].kind if name in tables else None) or name for name in _declared(content, "notify")}


def _declared(content: Mapping[str, Any], section: str) -> tuple[str, ...]:
    table = content.get(section)
    return tuple(table) if isinstance(table, Mapping) else ()


def _check_names(tree: "SiteFile", problems: Problems) -> None:
    for section in _NAMED_SECTIONS:
        for name in getattr(tree, section):
            if not _NAME.fullmatch(name):
                problems.error((section, name), f"the name {name!r} must be letters, digits, hyphens and underscores")
    if LABORATORY in tree.channels:
        problems.error(("channels", LABORATORY), "is what laboratory results are called: give the channel another name")


def _time_zone(name: str, problems: Problems) -> ZoneInfo | None:
    try:
        return ZoneInfo(name)
    except (OSError, ValueError, KeyError):  # not found, a folder of zones, or no zone name at all
        problems.error(("site", "time_zone"), f"unknown time zone {name!r}; an IANA name, as America/New_York")
        return None


def _town_flow(tree: "SiteFile", problems: Problems) -> TownFlow | None:
    table = tree.town_flow
    if table is None:
        return None
    value_gpd = convert(table.value, "gpd", problems, ("town_flow", "value"))
    if value_gpd is not None and value_gpd <= 0:
        problems.error(("town_flow", "value"), "must be above zero")
    return TownFlow(value_gpd or 0.0, table.source, table.date.isoformat())


def _pipe_gpm(tree: "SiteFile", problems: Problems) -> float | None:
    table = tree.pipe
    if table is None:
        return None
    diameter_ft = convert(table.diameter, "ft", problems, ("pipe", "diameter"))
    slope_percent = convert(table.slope, "%", problems, ("pipe", "slope"))
    for key, value in (("diameter", diameter_ft), ("slope", slope_percent)):
        if value is not None and value <= 0:
            problems.error(("pipe", key), "must be above zero")
    if diameter_ft is None or slope_percent is None or min(diameter_ft, slope_percent) <= 0:
        return None
    return full_pipe_gpm(diameter_ft, slope_percent / 100, table.roughness or MANNING_N)


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
        hold_off_us=0 if table.hold_off is None else table.hold_off,
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
