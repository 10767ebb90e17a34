"""What a technician would want to be told of a site that is sound but odd: the warnings of `check`."""

import re
from collections.abc import Collection, Mapping

from gateway.config_files import DeviceProfile
from gateway.drivers.plan import plan
from gateway.problems import Problems
from gateway.rules.pack import Pack
from gateway.site import Channel, Rule, Site

__all__ = ["advise"]

_BARE_PORT = re.compile(r"/dev/tty(USB|ACM)[0-9]+")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MAX_CHANNELS = 200  # one gateway serves one cabinet


def advise(
    site: Site,
    packs: Collection[Pack],
    profiles: Mapping[str, DeviceProfile],
    unbound: Mapping[str, str],
    problems: Problems,
    *,
    for_replay: bool,
) -> None:
    """Add warnings for one sound site. A replay is spared those about ports, people and instruments."""
    for rule in site.rules:
        _testable(rule, site.channels[rule.channel], problems)
    for rule_id, reason in unbound.items():
        problems.warning(("site", "ordinances"), f"{rule_id} judges nothing here: {reason}")
    if for_replay:
        return
    for bus in site.buses.values():
        if _BARE_PORT.fullmatch(bus.port):
            problems.warning(
                ("buses", bus.name, "port"),
                f"{bus.port} may be another adapter after a restart; take its name under /dev/serial/by-path",
            )
    _sources(site, profiles, problems)
    _people(site, packs, problems)
    for sink in site.sinks:
        host = sink.options.get("host", "localhost")
        if sink.kind == "mqtt" and host not in _LOOPBACK and not sink.options.get("tls"):
            problems.warning(
                ("sinks", sink.name, "host"), f"{host} is another machine and tls is off: anyone can listen"
            )


def _testable(rule: Rule, channel: Channel, problems: Problems) -> None:
    """A threshold the channel can never be read beyond makes the rule untestable (ordinances 1.3.3 h)."""
    threshold = rule.limit
    if threshold is None and rule.baseline is None:
        problems.warning(
            ("channels", channel.name), f"has no baseline in force, so {rule.alarm} will answer: cannot tell"
        )
    if threshold is None and rule.factor is not None and rule.baseline is not None and rule.baseline.value is not None:
        threshold = rule.factor * rule.baseline.value
    if threshold is None:
        return
    upward = rule.comparison.startswith(">")
    for name in ("fail_span", "suspect_span"):
        span = getattr(channel, name)
        bound = span.high if upward else span.low
        if bound is None:
            continue
        end = rule.to_unit(bound)
        if (threshold >= end) if upward else (threshold <= end):
            of_baseline = f" ({rule.factor:g} x baseline)" if rule.factor is not None else ""
            problems.warning(
                ("channels", channel.name, name),
                f"ends at {end:g} {rule.unit}, but {rule.alarm} asks for {rule.comparison} {threshold:g} {rule.unit}"
                f"{of_baseline}: no trusted reading can show it",
            )
            return


def _sources(site: Site, profiles: Mapping[str, DeviceProfile], problems: Problems) -> None:
    taken: dict[tuple[str, int, int, int], str] = {}
    for channel in site.channels.values():
        path = ("channels", channel.name)
        if channel.device is None and channel.derived_from is None:
            problems.warning(path, "has no device: nothing reads it")
        if channel.device is None or channel.point is None:
            continue
        device, profile = site.devices[channel.device], profiles[channel.device].profile
        point = profile.points[channel.point]
        register = (device.bus, device.unit, point.function, point.address)
        other = taken.setdefault(register, channel.name)
        if other != channel.name:
            problems.warning((*path, "point"), f"is the register that channel {other!r} reads already")
        try:
            plan([point], profile.limits)
        except ValueError as error:
            problems.warning(("devices", device.name, "limits"), str(error))
    if len(site.channels) > _MAX_CHANNELS:
        problems.warning(
            ("channels",), f"one gateway serves up to {_MAX_CHANNELS} channels, here are {len(site.channels)}"
        )
    idle = set(site.devices) - {channel.device for channel in site.channels.values()}
    for name in sorted(idle):
        problems.warning(("devices", name), "is read by no channel")


def _people(site: Site, packs: Collection[Pack], problems: Problems) -> None:
    if not site.contacts:
        problems.warning(("contacts",), "nobody is told of any alarm")
        return
    present = {contact.id for contact in site.contacts}
    wanted = {role for pack in packs for rule in pack.rules for role in rule.tell}
    for role in sorted(wanted - present):
        problems.warning(("contacts",), f"the ordinance wants the {role} told; there is no [contacts.{role}]")
