"""Waivers, agreements and permits of a site file: dated terms on the rules they name."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from gateway.problems import Problems
from gateway.rules.pack import Pack
from gateway.rules.pack_bind import LABORATORY
from gateway.site import Rule, Term
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path
from gateway.units import conversion

if TYPE_CHECKING:
    from gateway.config_shape import SiteFile, TermTable

__all__ = ["with_terms"]

_KINDS = (("waivers", "waiver"), ("agreements", "agreement"), ("permits", "permit"))
_ARTICLE = {"waiver": "a waiver", "agreement": "an agreement", "permit": "a permit"}


@dataclass(frozen=True, slots=True)
class _Given:
    """One table of the file and where it stands."""

    kind: str
    path: Path
    table: "TermTable"

    @property
    def replaces(self) -> bool:
        """Whether it takes the place of the printed limit, rather than standing beside it."""
        return self.kind != "permit"


def with_terms(
    rules: Sequence[Rule],
    packs: Mapping[str, Pack],
    tree: "SiteFile",
    zone: ZoneInfo | None,
    problems: Problems,
    *,
    packs_sound: bool,
    complete: bool,
    today: date | None,
) -> tuple[Rule, ...]:
    """The rules, each with the terms that name it. Dates are days of `zone`; None when the file names no zone.

    A channel that a term names may be missing for a mistake of its own unless the rules are `complete`.

    `today` tells what has ended or lies ahead; nothing is left out for it, since terms carry their own time.
    """
    given = [
        _Given(kind, (section, index), table)
        for section, kind in _KINDS
        for index, table in enumerate(getattr(tree, section))
    ]
    provisions = {rule.id: pack for pack in packs.values() for rule in pack.rules}
    sound = [term for term in given if _is_sound(term, provisions, problems, packs_sound=packs_sound)]
    for term in sound:
        _told_by_the_day(term, today, problems)
        if not any(_names(term, rule) for rule in rules):
            _idle(term, rules, problems, complete=complete)
    _check_overlaps(sound, problems)
    return tuple(replace(rule, terms=tuple(_terms(rule, sound, zone, problems))) for rule in rules)


def _is_sound(term: _Given, provisions: Mapping[str, Pack], problems: Problems, *, packs_sound: bool) -> bool:
    before = len(problems.errors)
    table, path = term.table, term.path
    pack = provisions.get(table.rule)
    if pack is None and packs_sound:
        problems.error((*path, "rule"), f"there is no rule {table.rule!r}{did_you_mean(table.rule, provisions)}")
    if pack is not None and pack.jurisdiction == "federal" and term.replaces:
        problems.error((*path, "rule"), f"{table.rule} is federal: {_ARTICLE[term.kind]} of the town cannot relax it")
    if table.valid_until < table.valid_from:
        problems.error((*path, "valid_until"), "is before valid_from")
    if term.kind == "waiver" and not table.reason.strip():
        problems.error((*path, "reason"), "is required: why the waiver was given")
    if term.kind != "waiver" and not table.reference.strip():
        problems.error((*path, "reference"), f"is required: the paper that is {_ARTICLE[term.kind]}")
    if term.kind == "permit" and table.limit is None:
        problems.error((*path, "limit"), "is required: a permit counts by its limit")
    return pack is not None and len(problems.errors) == before


def _told_by_the_day(term: _Given, today: date | None, problems: Problems) -> None:
    if today is None:
        return
    table = term.table
    if table.valid_until < today:
        problems.warning((*term.path, "valid_until"), f"has passed: the {term.kind} no longer changes anything")
    elif table.valid_from > today:
        problems.warning((*term.path, "valid_from"), f"lies ahead: the {term.kind} changes nothing yet")


def _idle(term: _Given, rules: Collection[Rule], problems: Problems, *, complete: bool) -> None:
    channels = sorted(_place(rule) for rule in rules if rule.id == term.table.rule)
    if not complete:
        return
    if term.table.channel is not None and channels:
        hint = did_you_mean(term.table.channel, channels)
        problems.error((*term.path, "channel"), f"{term.table.rule} does not judge {term.table.channel!r}{hint}")
    else:
        problems.warning((*term.path, "rule"), f"is idle: {term.table.rule} judges nothing here")


def _place(rule: Rule) -> str:
    return LABORATORY if rule.laboratory else rule.channel


def _names(term: _Given, rule: Rule) -> bool:
    return term.table.rule == rule.id and term.table.channel in (None, _place(rule))


def _check_overlaps(terms: Sequence[_Given], problems: Problems) -> None:
    """Two waivers or agreements, or two permits, of one rule at one time: nobody could say which rules."""
    for i, term in enumerate(terms):
        for other in terms[:i]:
            same = term.table.rule == other.table.rule and term.replaces == other.replaces
            together = term.table.channel is None or other.table.channel in (None, term.table.channel)
            if same and together and _overlap(term.table, other.table):
                section, index = other.path
                problems.error(
                    (*term.path, "valid_from"), f"overlaps {section}[{index}], which names {other.table.rule} too"
                )


def _overlap(one: "TermTable", other: "TermTable") -> bool:
    return one.valid_from <= other.valid_until and other.valid_from <= one.valid_until


def _terms(rule: Rule, given: Sequence[_Given], zone: ZoneInfo | None, problems: Problems) -> Iterator[Term]:
    for term in given:
        if not _names(term, rule) or zone is None:
            continue
        table = term.table
        limit = None if table.limit is None else _limit(table.limit, rule, term, problems)
        if term.kind == "permit" and limit is not None and rule.limit is not None:
            laxer = limit > rule.limit if rule.comparison.startswith(">") else limit < rule.limit
            if laxer:
                problems.warning(
                    (*term.path, "limit"),
                    f"is laxer than the {rule.limit:g} {rule.unit} of {rule.alarm}, so it changes nothing: "
                    "the most stringent rules",
                )
        yield Term(
            kind=term.kind,
            from_utc_us=_midnight_us(table.valid_from, zone),
            until_utc_us=_midnight_us(table.valid_until + timedelta(days=1), zone),
            limit=limit,
            reference=table.reference or f"by {table.approved_by}, from {table.valid_from.isoformat()}",
            approved_by=table.approved_by,
            reason=table.reason,
        )


def _limit(measured: tuple[float, str], rule: Rule, term: _Given, problems: Problems) -> float | None:
    value, unit = measured
    try:
        return conversion(unit, rule.unit)(value)
    except ValueError:
        problems.error(
            (*term.path, "limit"),
            f"{rule.alarm} is judged in {rule.unit}, not in {unit}; name the channel it is for if there are several",
        )
        return None


def _midnight_us(day: date, zone: ZoneInfo) -> int:
    """The first moment of a local day in UTC; where the clock skips midnight, the moment of the skip."""
    return int(datetime.combine(day, time(), zone).timestamp()) * 1_000_000
