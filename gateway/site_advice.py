"""What a technician would want to be told of a site that is sound but odd: the warnings of `check`."""

from collections.abc import Iterator, Mapping

from gateway.config_files import DeviceProfile
from gateway.drivers.plan import plan
from gateway.line_advice import advise_of_lines
from gateway.outputs.wired import OutputRole
from gateway.primary import Primary
from gateway.problems import Problems
from gateway.signals.flow import M_PER_FT
from gateway.signals.pipe import CAPACITY_MARGIN
from gateway.signals.ratings import rating
from gateway.signals.weirs import FULL_CONTRACTION
from gateway.site import Channel, Rule, Site
from gateway.site_build import Built
from gateway.units import conversion, format_duration

__all__ = ["advise", "threshold_of"]

_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MAX_CHANNELS = 200  # one gateway serves one cabinet


def advise(
    built: Built,
    profiles: Mapping[str, DeviceProfile],
    problems: Problems,
    *,
    for_replay: bool,
) -> None:
    """Add warnings for one sound site. A replay is spared those about ports, people and instruments."""
    site = built.site
    for rule in site.rules:
        if not rule.laboratory and rule.kind in ("limit", "slug", "average"):
            _testable(rule, site, problems)
        if rule.kind == "share" and site.town_flow is None:
            problems.warning(
                ("town_flow",),
                f"is missing, so {rule.alarm} will answer: cannot tell; give the town's flow and its source",
            )
    if built.pipe_gpm is not None:
        _fits_the_pipe(site, built.pipe_gpm, problems)
    chosen = {rule.id for pack in built.packs.values() for rule in pack.rules if rule.idle or not rule.enabled}
    for rule_id, reason in built.unbound.items():
        if rule_id not in chosen:
            problems.warning(("site", "ordinances"), f"{rule_id} judges nothing here: {reason}")
    for channel in site.channels.values():
        if channel.primary is not None:
            _fully_contracted(channel, channel.primary, problems)
    if for_replay:
        return
    advise_of_lines(site, {name: profiles[name].profile for name in site.devices}, problems)
    _sources(site, profiles, problems)
    _people(site, problems)
    for sink in site.sinks:
        host = sink.options.get("host", "localhost")
        if sink.kind == "mqtt" and host not in _LOOPBACK and not sink.options.get("tls"):
            problems.warning(
                ("sinks", sink.name, "host"), f"{host} is another machine and tls is off: anyone can listen"
            )


def _testable(rule: Rule, site: Site, problems: Problems) -> None:
    """A threshold the channel can never be read beyond makes the rule untestable."""
    channel = site.channels[rule.channel]
    if rule.factor is not None and rule.baseline is None:
        problems.warning(
            ("channels", channel.name), f"has no baseline in force, so {rule.alarm} will answer: cannot tell"
        )
    threshold = threshold_of(rule, site)
    if threshold is None:
        return
    upward = rule.comparison.startswith(">")
    of_baseline = f" ({rule.factor:g} x baseline)" if rule.factor is not None else ""
    asks = f"{rule.alarm} asks for {rule.comparison} {threshold:g} {rule.unit}{of_baseline}"
    for key, bound, trusted in _ends(channel, site, upward=upward):
        end = rule.to_unit(bound)
        if (threshold >= end) if upward else (threshold <= end):
            why = "no trusted reading can show it" if trusted else "a saturated reading cannot show it"
            problems.warning(("channels", channel.name, key), f"ends at {end:.6g} {rule.unit}, but {asks}: {why}")
            return


def _ends(channel: Channel, site: Site, *, upward: bool) -> Iterator[tuple[str, float, bool]]:
    """Where a channel's readings end, in its unit: its spans, its full scale, and its primary device's range."""
    for key in ("fail_span", "suspect_span"):
        span = getattr(channel, key)
        bound = span.high if upward else span.low
        if bound is not None:
            yield key, bound, True
    if not upward:
        return
    if channel.full_scale is not None:
        yield "full_scale", channel.full_scale, False
    if channel.primary is not None:
        level = site.channels[channel.derived_from or ""]
        crown_ft = None if level.crown is None else conversion(level.unit, "ft")(level.crown)
        yield "primary", conversion("gpm", channel.unit)(rating(channel.primary).most_gpm(crown_ft)), True


def _fully_contracted(channel: Channel, primary: Primary, problems: Problems) -> None:
    """A V-notch too near the floor or the sides of its approach passes more than it says."""
    if primary.kind != "v-notch":
        return
    least = {"crest_height": FULL_CONTRACTION["height_m"], "channel_width": FULL_CONTRACTION["width_m"]}
    for key, least_m in least.items():
        given_ft = getattr(primary, f"{key}_ft")
        if given_ft is not None and given_ft < least_m / M_PER_FT:
            text = f"is less than {least_m / M_PER_FT:.3g} ft: the notch is not fully contracted, its flow reads low"
            problems.warning(("channels", channel.name, "primary", key), text)


def threshold_of(rule: Rule, site: Site) -> float | None:
    """What must be exceeded, in the rule's unit; of a computed baseline the number declared beside it has to do."""
    if rule.factor is None:
        return rule.limit
    if rule.baseline is None:
        return None
    value = rule.baseline.value
    if value is None:
        declared = site.baselines[rule.channel]
        value = None if declared.value is None else conversion(declared.unit, rule.unit)(declared.value)
    floor = rule.baseline.floor
    return None if value is None else rule.factor * max(value, floor or value)


def _fits_the_pipe(site: Site, pipe_gpm: float, problems: Problems) -> None:
    """More than a pipe can carry is a surcharge or a fault, not a flow."""
    most_gpm = CAPACITY_MARGIN * pipe_gpm
    holds = f"the pipe carries {pipe_gpm:.4g} gpm when full, and no more than {CAPACITY_MARGIN:g} times that"
    for channel in site.channels.values():
        high = channel.suspect_span.high
        if channel.quantity != "flow" or high is None:
            continue
        high_gpm = conversion(channel.unit, "gpm")(high)
        if high_gpm > most_gpm:
            problems.warning(
                ("channels", channel.name, "suspect_span"), f"trusts readings up to {high_gpm:.4g} gpm, but {holds}"
            )
    for rule in site.rules:
        if rule.quantity != "flow" or rule.kind not in ("limit", "slug"):
            continue
        threshold = threshold_of(rule, site)
        if threshold is None:
            continue
        threshold_gpm = conversion(rule.unit, "gpm")(threshold)
        if threshold_gpm > most_gpm:
            problems.warning(("pipe",), f"{rule.alarm} asks for {rule.comparison} {threshold_gpm:.4g} gpm, but {holds}")


def _sources(site: Site, profiles: Mapping[str, DeviceProfile], problems: Problems) -> None:
    taken: dict[object, str] = {}
    for channel in site.channels.values():
        path = ("channels", channel.name)
        if channel.device is None and channel.derived_from is None:
            problems.warning(path, "has no device: nothing reads it")
        if channel.device is None or channel.point is None:
            continue
        device, profile = site.devices[channel.device], profiles[channel.device].profile
        point = profile.points[channel.point]
        codes = tuple(point.listing.units) if point.listing is not None else ()
        other = taken.setdefault((device.bus, device.unit, point.register, codes), channel.name)
        if other != channel.name:
            problems.warning((*path, "point"), f"is the register that channel {other!r} reads already")
        try:
            plan([point], profile.limits)
        except ValueError as error:
            problems.warning(("devices", device.name, "limits"), str(error))
        if not point.verified and not profile.confirmed:
            problems.warning(
                (*path, "point"), f"{point.name} is in no document that was seen: compare with the display"
            )
        refresh_us = profile.quirks.refresh_us
        if refresh_us is not None and channel.poll_us < refresh_us:
            often = format_duration(refresh_us)
            problems.warning((*path, "poll"), f"the instrument renews its values every {often} only")
    if len(site.channels) > _MAX_CHANNELS:
        problems.warning(
            ("channels",), f"one gateway serves up to {_MAX_CHANNELS} channels, here are {len(site.channels)}"
        )
    for name in site.devices:
        profile = profiles[name].profile
        for open_fact in () if profile.confirmed else profile.confirm:
            problems.warning(("devices", name, "profile"), f"to be confirmed on the device: {open_fact}")
    _outputs(site, problems)
    idle = set(site.devices) - {channel.device for channel in site.channels.values()}
    idle -= {output.device for output in site.outputs.values()}
    for name in sorted(idle):
        problems.warning(("devices", name), "is read by no channel")


def _outputs(site: Site, problems: Problems) -> None:
    driven: dict[str, list[str]] = {}
    for output in site.outputs.values():
        driven.setdefault(output.device, []).append(output.name)
    for device, names in driven.items():
        if site.devices[device].watchdog_us is None:
            text = f"holds {', '.join(names)} as they are when the gateway dies: no watchdog of the device is armed"
            problems.warning(("devices", device), text)
    used = {part.output for part in (site.sampler.composite, site.sampler.grab) if part is not None}
    for output in site.outputs.values():
        if output.pulsed and output.name not in used:
            problems.warning(("outputs", output.name), "is pulsed by nothing: [sampler] does not name it")
        if output.role is OutputRole.VALVE and not output.shuts_on:
            problems.warning(("outputs", output.name), "is shut by people only: shuts_on names no rule")


def _people(site: Site, problems: Problems) -> None:
    if not site.contacts:
        problems.warning(("contacts",), "nobody is told of any alarm")
        return
    if not site.duty.steps:
        problems.warning(("duty",), "is missing: nobody is called again when nobody acknowledges an alarm")
    present = {contact.id for contact in site.contacts}
    wanted = {role for rule in site.rules for role in rule.tell}
    for role in sorted(wanted - present):
        problems.warning(("contacts",), f"the ordinance wants the {role} told; there is no [contacts.{role}]")
