"""One provision of an ordinance pack: what a town may write, and what each kind of rule needs."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date

from gateway.model import Severity
from gateway.problems import Problems
from gateway.rules.limit_sense import check_sense
from gateway.rules.pack_fields import Fields
from gateway.site import Span
from gateway.units import quantity_units

__all__ = [
    "COMPARISONS", "KINDS", "PLACES", "RELAXED_KEYS", "RULE_KEYS", "SOURCES", "WINDOWS", "Place", "Provision",
    "Relaxation", "read_provision",
]  # fmt: skip

COMPARISONS = (">", ">=", "<", "<=")
KINDS = ("limit", "slug", "average", "volume", "share", "excursion")
PLACES = ("manhole", "influent", "elsewhere")
SOURCES = ("sensor", "laboratory")
Place = str
_MOST_RELAXED = 100  # far more than the 1.5 of the laws read so far; beyond it a slip of the pen
# The windows each kind knows, the usual one first; the others have none.
WINDOWS: Mapping[str, tuple[str, ...]] = {
    "average": ("day", "30-day", "month"),
    "volume": ("day", "30-day"),
    "share": ("30-day",),
    "excursion": ("month", "excursion"),
}

RULE_KEYS = (
    "id", "clause", "title", "text", "kind", "quantity", "place", "sources", "comparison", "limit", "unit", "factor",
    "duration", "strict_duration", "confirm", "prealarms", "bridge_gap", "bridge_dip", "window", "coverage",
    "min_days", "inside", "trc", "severity", "advisory", "tell", "action", "reading", "reading_approved_by",
    "reading_approved_on", "exceptions", "surrogates", "effective", "enabled", "only_if", "relaxed",
)  # fmt: skip
RELAXED_KEYS = ("when", "factor", "note")

# "Five times" means nothing on a logarithm, on a temperature scale with an arbitrary zero, or on a height.
_NO_SLUG = ("pH", "orp", "temperature", "level")
# Kinds whose limit is in another quantity than the one they watch.
_LIMIT_IN = {"volume": ("volume",), "share": ("share",)}
_FLOW_ONLY = ("volume", "share")
_SUBJECT_TO_WINDOW = ("average", "volume", "share", "excursion")


@dataclass(frozen=True, slots=True)
class Relaxation:
    """A factor on the limit that the law allows where the site file answers an option of the pack in this way."""

    when: Mapping[str, bool | str]
    factor: float
    note: str


@dataclass(frozen=True, slots=True)
class Provision:
    """One provision as the pack states it; quantities in `unit`, or in the channel's own unit when that is empty.

    `idle` says why it judges nothing whatever is wired; `notes` what the site file changed of the pack's numbers.
    """

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
    severity: Severity
    sources: tuple[str, ...] = ("sensor",)
    duration_us: int = 0
    strict_duration: bool = True
    confirm: int = 3
    prealarms_us: tuple[int, ...] = ()
    bridge_gap_us: int = 0
    bridge_dip_us: int = 0
    window: str = ""
    coverage: float = 0.75
    min_days: int = 22
    inside: Span | None = None
    inside_unit: str = ""
    trc: float | None = None
    advisory: bool = False
    tell: tuple[str, ...] = ()
    action: str = ""
    reading: str = ""
    reading_approved_by: str = ""
    reading_approved_on: str = ""
    exceptions: str = ""
    surrogates: tuple[str, ...] = ()
    effective: date | None = None
    enabled: bool = True
    only_if: Mapping[str, bool | str] = field(default_factory=dict)
    relaxed: Relaxation | None = None
    idle: str = ""
    notes: tuple[str, ...] = ()


def read_provision(fields: Fields, effective: date | None, problems: Problems) -> Provision | None:
    """The provision in one table, or None after noting what is wrong with it. `effective` is the pack's own date."""
    before = len(problems.errors)
    fields.unknown(*RULE_KEYS)
    kind = fields.choice("kind", KINDS)
    quantities = fields.texts("quantity")
    _check_quantities(fields, kind, quantities)
    limit, unit = _limit(fields, kind, quantities)
    factor = fields.number("factor")
    if factor is not None and "unit" in fields:
        unit = fields.unit("unit", quantities)
    _check_threshold(fields, kind)
    check_sense(fields, kind, quantities, limit, unit)
    sources = fields.texts("sources", required=False) or (SOURCES if kind == "average" else SOURCES[:1])
    _check_sources(fields, kind, quantities, sources)
    approved_on = fields.day("reading_approved_on")
    inside, inside_unit = _inside(fields, kind, quantities)
    provision = Provision(
        id=fields.name("id"),
        clause=fields.text("clause"),
        title=fields.text("title"),
        text=fields.text("text"),
        kind=kind,
        quantities=quantities,
        place=fields.choice("place", PLACES, default="manhole"),
        comparison=fields.choice("comparison", COMPARISONS),
        unit=unit,
        limit=limit,
        factor=factor,
        severity=Severity[fields.choice("severity", tuple(s.name.lower() for s in Severity)).upper() or "HIGH"],
        sources=sources,
        duration_us=fields.duration("duration"),
        strict_duration=fields.flag("strict_duration", default=True),
        confirm=fields.count("confirm", default=3),
        prealarms_us=fields.durations("prealarms"),
        bridge_gap_us=fields.duration("bridge_gap"),
        bridge_dip_us=fields.duration("bridge_dip"),
        window=_window(fields, kind),
        coverage=fields.share("coverage", default=0.75),
        min_days=fields.count("min_days", default=22),
        inside=inside,
        inside_unit=inside_unit,
        trc=fields.number("trc"),
        advisory=fields.flag("advisory", default=False),
        tell=fields.texts("tell", required=False),
        action=fields.text("action", default=""),
        reading=fields.text("reading", default=""),
        reading_approved_by=fields.text("reading_approved_by", default="", may_be_empty=True),
        reading_approved_on="" if approved_on is None else approved_on.isoformat(),
        exceptions=fields.text("exceptions", default=""),
        surrogates=fields.texts("surrogates", required=False),
        effective=fields.day("effective") or effective,
        enabled=fields.flag("enabled", default=True),
        only_if=fields.answers("only_if"),
        relaxed=_relaxed(fields, problems),
    )
    return provision if len(problems.errors) == before else None


def _check_quantities(fields: Fields, kind: str, quantities: tuple[str, ...]) -> None:
    for quantity in quantities:
        try:
            quantity_units(quantity)
        except ValueError as error:
            fields.error("quantity", str(error))
        if kind == "slug" and quantity in _NO_SLUG:
            fields.error("quantity", f"a slug rule cannot judge {quantity}: a multiple of it means nothing")
        if kind in _FLOW_ONLY and quantity != "flow":
            fields.error("quantity", f"a {kind} rule counts the flow, not {quantity}")
        if kind == "average" and quantity in ("orp", "contact"):
            fields.error("quantity", f"an average of {quantity} means nothing")
        if kind == "average" and quantity == "pH":
            fields.error("quantity", "no rule judges a mean of pH: it hides the peaks (a limit or an excursion does)")


def _limit(fields: Fields, kind: str, quantities: tuple[str, ...]) -> tuple[float | None, str]:
    if kind != "excursion":
        return fields.limit("limit", _LIMIT_IN.get(kind, quantities))
    allowed_us = fields.duration("limit")
    return (allowed_us / 60e6 if "limit" in fields else None), "min"


def _check_threshold(fields: Fields, kind: str) -> None:
    """By what is written; a limit that cannot be read has been told already."""
    if kind == "slug":
        if ("limit" in fields) == ("factor" in fields):
            fields.error("limit", "a slug rule needs either a limit or a factor of the baseline")
        if not fields.duration("duration"):
            fields.error("duration", "a slug rule needs a duration above zero")
        if fields.choice("comparison", COMPARISONS).startswith("<"):
            fields.error("comparison", "a slug is too much of something: > or >=")
        return
    if kind and ("limit" not in fields or "factor" in fields):
        fields.error("limit", f"{_a(kind)} rule needs its limit, and takes no factor")
    if kind == "limit" and "duration" in fields:
        fields.error("duration", "a limit rule is judged at once; a duration makes it a slug rule")
    if kind in _SUBJECT_TO_WINDOW and "duration" in fields:
        fields.error("duration", f"{_a(kind)} rule has a window, not a duration")
    if kind in ("volume", "share", "excursion") and fields.choice("comparison", COMPARISONS).startswith("<"):
        fields.error("comparison", f"{_a(kind)} rule asks for too much of something: > or >=")


def _a(kind: str) -> str:
    return f"an {kind}" if kind in ("average", "excursion") else f"a {kind}"


def _check_sources(fields: Fields, kind: str, quantities: tuple[str, ...], sources: tuple[str, ...]) -> None:
    for source in sources:
        if source not in SOURCES:
            fields.error("sources", f"{source!r} is none of {', '.join(SOURCES)}")
    if "laboratory" not in sources:
        return
    if kind not in ("limit", "average", ""):
        fields.error("sources", f"{_a(kind)} rule is judged by the minute: no laboratory result can show it")
    if len(quantities) > 1:
        fields.error("sources", "a rule for laboratory results names one quantity")


def _window(fields: Fields, kind: str) -> str:
    known = WINDOWS.get(kind)
    if known is None:
        if "window" in fields and kind:
            fields.error("window", f"a {kind} rule has no window")
        return ""
    return fields.choice("window", known, default=known[0] if len(known) == 1 or kind == "volume" else None)


def _inside(fields: Fields, kind: str, quantities: tuple[str, ...]) -> tuple[Span | None, str]:
    if "inside" in fields and kind and kind != "excursion":
        fields.error("inside", "only an excursion rule has a range")
        return None, ""
    if kind == "excursion" and "inside" not in fields and fields.flag("enabled", default=True):
        fields.error("inside", "is required: the range outside which the minutes count")
    return fields.span("inside", quantities)


def _relaxed(fields: Fields, problems: Problems) -> Relaxation | None:
    if "relaxed" not in fields:
        return None
    table, path = fields.table("relaxed")
    inner = Fields(table, path, problems)
    inner.unknown(*RELAXED_KEYS)
    factor = inner.number("factor")
    if factor is None and "factor" not in inner:
        inner.error("factor", "is required")
    elif factor is not None and not 1 < factor <= _MOST_RELAXED:
        inner.error("factor", f"must be above 1 and at most {_MOST_RELAXED}: it makes a limit milder")
    if "comparison" in fields and fields.choice("comparison", COMPARISONS).startswith("<"):
        fields.error("relaxed", "a factor makes a lower limit stricter, not milder")
    if not inner.answers("when"):
        inner.error("when", "is required: the option of the pack, and the answer that relaxes the limit")
    return Relaxation(inner.answers("when"), factor or 1.0, inner.text("note"))
