"""Ordinance packs: a town's rules as data, read from an already loaded mapping and bound to a site's channels.

A pack knows nothing of any site; binding makes one `Rule` for every channel that can feed a provision.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from gateway.content_hash import content_hash
from gateway.model import Severity
from gateway.problems import Problems
from gateway.rules.pack_fields import Fields
from gateway.site import Baseline, Channel, Rule
from gateway.toml_lines import Path
from gateway.units import conversion, difference_conversion, quantity_units

__all__ = ["Binding", "Pack", "Pending", "Place", "Provision", "bind", "parse_pack"]

# "Five times" means nothing on a logarithm, on a temperature scale with an arbitrary zero, or on a height.
_NO_SLUG = ("pH", "orp", "temperature", "level")
_COMPARISONS = (">", ">=", "<", "<=")
_KINDS = ("limit", "slug")
PLACES = ("manhole", "influent", "elsewhere")
Place = str


@dataclass(frozen=True, slots=True)
class Provision:
    """One provision as the pack states it; quantities in `unit`, or in the channel's own unit when that is empty."""

    id: str
    clause: str
    title: str
    text: str
    kind: str
    quantities: tuple[str, ...]
    place: Place
    comparison: str
    unit: str
    limit: float | None
    factor: float | None
    duration_us: int
    strict_duration: bool
    confirm: int
    prealarms_us: tuple[int, ...]
    bridge_gap_us: int
    bridge_dip_us: int
    severity: Severity
    tell: tuple[str, ...]
    action: str
    reading: str
    reading_approved_by: str
    surrogates: tuple[str, ...]
    effective: date | None


@dataclass(frozen=True, slots=True)
class Pending:
    """A provision the product names but does not judge yet."""

    id: str
    clause: str
    title: str
    kind: str


@dataclass(frozen=True, slots=True)
class Pack:
    """One ordinance: its provisions, those not judged yet, and the hash of its content."""

    id: str
    name: str
    version: str
    note: str
    hash: str
    rules: tuple[Provision, ...]
    pending: tuple[Pending, ...]


@dataclass(frozen=True, slots=True)
class Binding:
    """What came of putting packs and channels together: rules to judge, and why the others are not."""

    rules: tuple[Rule, ...]
    unbound: Mapping[str, str]  # rule id -> reason


def parse_pack(content: Mapping[str, Any], problems: Problems) -> Pack:
    """The pack in a loaded mapping. Mistakes go to `problems`; a rule with a mistake is left out."""
    problems.unknown_keys(content, ("pack", "rules", "pending"))
    head = Fields(content.get("pack", {}), ("pack",), problems)
    head.unknown("id", "name", "version", "effective", "note")
    pack_id, effective = head.name("id"), head.day("effective")
    rules = [_provision(item, ("rules", i), problems, effective) for i, item in enumerate(_tables(content, "rules"))]
    pending = [p for i, item in enumerate(_tables(content, "pending")) for p in _pending(item, i, problems)]
    seen: set[str] = set()
    for i, rule in enumerate(rules):
        if rule is not None and rule.id in seen:
            problems.error(("rules", i, "id"), f"the rule {rule.id!r} is in this pack twice")
        seen.add(rule.id if rule else "")
    return Pack(
        id=pack_id,
        name=head.text("name"),
        version=head.text("version"),
        note=head.text("note", default=""),
        hash=content_hash(content),
        rules=tuple(rule for rule in rules if rule is not None),
        pending=tuple(pending),
    )


def _tables(content: Mapping[str, Any], key: str) -> list[Any]:
    tables = content.get(key, [])
    return tables if isinstance(tables, list) else [tables]


def _pending(item: Any, index: int, problems: Problems) -> list[Pending]:
    fields = Fields(item, ("pending", index), problems)
    fields.unknown("ids", "clause", "title", "kind")
    clause, title, kind = fields.text("clause"), fields.text("title"), fields.text("kind")
    return [Pending(rule_id, clause, title, kind) for rule_id in fields.texts("ids")]


def _provision(item: Any, path: Path, problems: Problems, effective: date | None) -> Provision | None:
    before = len(problems.errors)
    fields = Fields(item, path, problems)
    fields.unknown(*_RULE_KEYS)
    kind = fields.choice("kind", _KINDS)
    quantities = fields.texts("quantity")
    for quantity in quantities:
        try:
            quantity_units(quantity)
        except ValueError as error:
            problems.error((*path, "quantity"), str(error))
        if kind == "slug" and quantity in _NO_SLUG:
            problems.error((*path, "quantity"), f"a slug rule cannot judge {quantity}: a multiple of it means nothing")
    limit, unit = fields.limit("limit", quantities)
    factor = fields.number("factor")
    if factor is not None and "unit" in fields:
        unit = fields.unit("unit", quantities)
    _check_threshold(fields, kind, limit, factor)
    provision = Provision(
        id=fields.name("id"),
        clause=fields.text("clause"),
        title=fields.text("title"),
        text=fields.text("text"),
        kind=kind,
        quantities=quantities,
        place=fields.choice("place", PLACES, default="manhole"),
        comparison=fields.choice("comparison", _COMPARISONS),
        unit=unit,
        limit=limit,
        factor=factor,
        duration_us=fields.duration("duration"),
        strict_duration=fields.flag("strict_duration", default=True),
        confirm=fields.count("confirm", default=3),
        prealarms_us=fields.durations("prealarms"),
        bridge_gap_us=fields.duration("bridge_gap"),
        bridge_dip_us=fields.duration("bridge_dip"),
        severity=Severity[fields.choice("severity", tuple(s.name.lower() for s in Severity)).upper() or "HIGH"],
        tell=fields.texts("tell", required=False),
        action=fields.text("action", default=""),
        reading=fields.text("reading", default=""),
        reading_approved_by=fields.text("reading_approved_by", default="", may_be_empty=True),
        surrogates=fields.texts("surrogates", required=False),
        effective=fields.day("effective") or effective,
    )
    return provision if len(problems.errors) == before else None


_RULE_KEYS = (
    "id", "clause", "title", "text", "kind", "quantity", "place", "comparison", "limit", "unit", "factor", "duration",
    "strict_duration", "confirm", "prealarms", "bridge_gap", "bridge_dip", "severity", "tell", "action", "reading",
    "reading_approved_by", "surrogates", "effective",
)  # fmt: skip


def _check_threshold(fields: Fields, kind: str, limit: float | None, factor: float | None) -> None:
    if kind == "limit" and (limit is None or factor is not None):
        fields.error("limit", "a limit rule needs its limit, and takes no factor")
    if kind == "slug" and (limit is None) == (factor is None):
        fields.error("limit", "a slug rule needs either a limit or a factor of the baseline")
    if kind == "slug" and not fields.duration("duration"):
        fields.error("duration", "a slug rule needs a duration above zero")
    if kind == "limit" and "duration" in fields:
        fields.error("duration", "a limit rule is judged at once; a duration makes it a slug rule")
    if kind == "slug" and fields.choice("comparison", _COMPARISONS).startswith("<"):
        fields.error("comparison", "a slug is too much of something: > or >=")


def bind(
    packs: Mapping[str, Pack],
    channels: Mapping[str, Channel],
    places: Mapping[str, Place],
    baselines: Mapping[str, Baseline],
    today: date | None = None,
) -> Binding:
    """One Rule for every provision and every channel that measures its quantity at its place.

    `baselines` by channel, in any unit of its quantity; the rule's copy is in the rule's unit. `today` gates effective
    dates; None means that dates do not gate (a replay).
    """
    rules: list[Rule] = []
    unbound: dict[str, str] = {}
    for pack in packs.values():
        for provision in pack.rules:
            if today is not None and provision.effective is not None and provision.effective > today:
                unbound[provision.id] = f"in force only from {provision.effective.isoformat()}"
                continue
            fed_by = [
                channel
                for name, channel in channels.items()
                if channel.quantity in provision.quantities and places.get(name, "manhole") == provision.place
            ]
            if not fed_by:
                at = "" if provision.place == "manhole" else f" at the {provision.place}"
                unbound[provision.id] = f"no channel measures {' or '.join(provision.quantities)}{at}"
            for channel in fed_by:
                alarm = provision.id if len(fed_by) == 1 else f"{provision.id}.{channel.name}"
                baseline = baselines.get(channel.name) if provision.factor is not None else None
                rules.append(_rule(provision, pack, channel, alarm, baseline))
    return Binding(tuple(rules), unbound)


def _rule(provision: Provision, pack: Pack, channel: Channel, alarm: str, baseline: Baseline | None) -> Rule:
    unit = provision.unit or channel.unit
    if baseline is not None and baseline.value is not None and baseline.unit != unit:
        baseline = replace(baseline, value=conversion(baseline.unit, unit)(baseline.value), unit=unit)
    uncertainty = channel.uncertainty
    if uncertainty is not None:
        uncertainty = difference_conversion(channel.unit, unit)(uncertainty)
    return Rule(
        id=provision.id,
        alarm=alarm,
        clause=provision.clause,
        title=provision.title,
        text=provision.text,
        kind=provision.kind,
        channel=channel.name,
        comparison=provision.comparison,
        unit=unit,
        severity=provision.severity,
        pack=pack.id,
        pack_version=pack.version,
        pack_hash=pack.hash,
        limit=provision.limit,
        factor=provision.factor,
        baseline=baseline,
        duration_us=provision.duration_us,
        strict_duration=provision.strict_duration,
        confirm=provision.confirm,
        to_unit=conversion(channel.unit, unit),
        prealarms_us=provision.prealarms_us,
        bridge_gap_us=provision.bridge_gap_us,
        bridge_dip_us=provision.bridge_dip_us,
        uncertainty=uncertainty,
        action=provision.action,
        reading_approved_by=provision.reading_approved_by,
        surrogate=channel.quantity in provision.surrogates,
    )
