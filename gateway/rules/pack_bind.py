"""Packs and channels together: one `Rule` for every provision and everything of a site that can feed it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date

from gateway.rules.pack import Pack
from gateway.rules.provision import Place, Provision
from gateway.signals.ratings import rating
from gateway.site import Baseline, Channel, Conversion, Rule, Span
from gateway.units import conversion, difference_conversion

__all__ = ["LABORATORY", "Binding", "bind", "laboratory_channel"]

LABORATORY = "lab"
"""The place of a laboratory result among the channels: `lab:copper`, alarm `….lab`."""
_MOST_NAMED = 4  # quantities named in full where none is measured


@dataclass(frozen=True, slots=True)
class Binding:
    """What came of putting packs and channels together: rules to judge, and why the others are not."""

    rules: tuple[Rule, ...]
    unbound: Mapping[str, str]  # rule id -> reason


def laboratory_channel(quantity: str) -> str:
    """What stands for a channel where a laboratory result is judged."""
    return f"{LABORATORY}:{quantity}"


def bind(
    packs: Mapping[str, Pack],
    channels: Mapping[str, Channel],
    places: Mapping[str, Place],
    baselines: Mapping[str, Baseline],
    today: date | None = None,
) -> Binding:
    """One Rule for every provision and every channel that measures its quantity at its place, and one more for the
    laboratory where the provision takes its results: that needs no instrument.

    An alarm is named by its rule where that judges one thing, else by rule and channel; the laboratory's is then
    `rule.lab`. `baselines` by channel, in any unit of its quantity; the rule's copy is in the rule's unit. `today`
    gates effective dates; None means that dates do not gate (a replay).
    """
    rules: list[Rule] = []
    unbound: dict[str, str] = {}
    for pack in packs.values():
        for provision in pack.rules:
            reason = provision.idle or _off(provision) or _not_yet(provision, today)
            if reason:
                unbound[provision.id] = reason
                continue
            fed_by = _fed_by(provision, channels, places) if "sensor" in provision.sources else []
            laboratory = "laboratory" in provision.sources
            several = len(fed_by) + laboratory > 1
            for channel in fed_by:
                alarm = f"{provision.id}.{channel.name}" if several else provision.id
                baseline = baselines.get(channel.name) if provision.factor is not None else None
                rules.append(_for_channel(provision, pack, channel, alarm, baseline, channels))
            if laboratory:
                alarm = f"{provision.id}.{LABORATORY}" if several else provision.id
                quantity = provision.quantities[0]
                rules.append(_rule(provision, pack, alarm, laboratory_channel(quantity), quantity, provision.unit))
            if not fed_by and not laboratory:
                unbound[provision.id] = _nothing_measures(provision)
    return Binding(tuple(rules), unbound)


def _fed_by(provision: Provision, channels: Mapping[str, Channel], places: Mapping[str, Place]) -> list[Channel]:
    return [
        channel
        for name, channel in channels.items()
        if channel.quantity in provision.quantities and places.get(name, "manhole") == provision.place
    ]


def _off(provision: Provision) -> str:
    if provision.enabled:
        return ""
    return f'off unless the site file switches it on: [rules."{provision.id}"] enabled = true'


def _not_yet(provision: Provision, today: date | None) -> str:
    if today is not None and provision.effective is not None and provision.effective > today:
        return f"in force only from {provision.effective.isoformat()}"
    return ""


def _nothing_measures(provision: Provision) -> str:
    named = " or ".join(provision.quantities[:_MOST_NAMED])
    others = len(provision.quantities) - _MOST_NAMED
    at = "" if provision.place == "manhole" else f" at the {provision.place}"
    return f"no channel measures {named}{f' or one of {others} others' if others > 0 else ''}{at}"


def _for_channel(
    provision: Provision,
    pack: Pack,
    channel: Channel,
    alarm: str,
    baseline: Baseline | None,
    channels: Mapping[str, Channel],
) -> Rule:
    unit = provision.unit or channel.unit
    rule = _rule(provision, pack, alarm, channel.name, channel.quantity, unit)
    if provision.kind in ("volume", "share"):
        return replace(rule, to_unit=conversion(channel.unit, "gpm"))
    if provision.kind == "excursion":
        return replace(rule, to_unit=Conversion(), inside=_span_in(provision, channel.unit))
    uncertainty = channel.uncertainty
    if uncertainty is not None:
        uncertainty = difference_conversion(channel.unit, unit)(uncertainty)
    else:
        uncertainty = _of_the_rating(provision, channel, baseline, unit, channels)
    return replace(
        rule,
        baseline=None if baseline is None else _baseline_in(baseline, unit),
        to_unit=conversion(channel.unit, unit),
        uncertainty=uncertainty,
        surrogate=channel.quantity in provision.surrogates,
        depth_only=channel.primary is not None and rating(channel.primary).depth_only,
    )


def _of_the_rating(
    provision: Provision, channel: Channel, baseline: Baseline | None, unit: str, channels: Mapping[str, Channel]
) -> float | None:
    """How far a computed flow may be off at what the rule asks for, in the rule's unit; None where nobody can say.

    The device's own and its level's. Of a computed baseline the number declared beside it has to do.
    """
    level = channels.get(channel.derived_from or "")
    if channel.primary is None or level is None:
        return None
    threshold = provision.limit
    if provision.factor is not None:
        if baseline is None or baseline.value is None:
            return None
        floor = baseline.floor
        threshold = provision.factor * conversion(baseline.unit, unit)(max(baseline.value, floor or baseline.value))
    if threshold is None:
        return None
    to_gpm = conversion(unit, "gpm")
    head_ft = 0.0 if level.uncertainty is None else difference_conversion(level.unit, "ft")(level.uncertainty)
    gpm = rating(channel.primary).uncertainty_gpm(to_gpm(threshold), head_ft)
    return None if gpm is None else difference_conversion("gpm", unit)(gpm)


def _baseline_in(baseline: Baseline, unit: str) -> Baseline:
    """The baseline in a rule's unit; a number declared beside a computed one is not in force, so it is left out."""
    to_unit = conversion(baseline.unit, unit)
    value = baseline.value if baseline.mode == "declared" else None
    return replace(
        baseline,
        value=value if value is None or to_unit.is_identity else to_unit(value),
        floor=baseline.floor if baseline.floor is None or to_unit.is_identity else to_unit(baseline.floor),
        unit=unit,
    )


def _span_in(provision: Provision, unit: str) -> Span | None:
    inside = provision.inside
    if inside is None:
        return None
    to_unit = conversion(provision.inside_unit, unit)
    low, high = (None if end is None else to_unit(end) for end in (inside.low, inside.high))
    return Span(low, high)


def _rule(provision: Provision, pack: Pack, alarm: str, channel: str, quantity: str, unit: str) -> Rule:
    return Rule(
        id=provision.id,
        alarm=alarm,
        clause=provision.clause,
        title=provision.title,
        text=provision.text,
        kind=provision.kind,
        channel=channel,
        comparison=provision.comparison,
        unit=unit,
        severity=provision.severity,
        pack=pack.id,
        pack_version=pack.version,
        pack_hash=pack.hash,
        limit=provision.limit,
        factor=provision.factor,
        duration_us=provision.duration_us,
        strict_duration=provision.strict_duration,
        confirm=provision.confirm,
        prealarms_us=provision.prealarms_us,
        bridge_gap_us=provision.bridge_gap_us,
        bridge_dip_us=provision.bridge_dip_us,
        action=provision.action,
        reading_approved_by=provision.reading_approved_by,
        window=provision.window,
        coverage=provision.coverage,
        min_days=provision.min_days,
        advisory=provision.advisory,
        laboratory=channel.startswith(f"{LABORATORY}:"),
        quantity=quantity,
        trc=provision.trc,
        jurisdiction=pack.jurisdiction,
        notes=provision.notes,
        reading=provision.reading,
        reading_approved_on=provision.reading_approved_on,
        exceptions=provision.exceptions,
        effective="" if provision.effective is None else provision.effective.isoformat(),
        tell=provision.tell,
    )
