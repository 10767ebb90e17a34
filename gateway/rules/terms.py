"""Dated waivers, agreements and permits of one rule: whose limit rules at a moment (docs/judging.md 8).

A waiver or agreement replaces the printed limit while it is in force, or suspends the rule when it names no limit. A
permit counts only where it is more stringent than the ordinance. A federal limit is never relaxed by either of the
first two. Outside all of them the ordinance rules.
"""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from operator import attrgetter, itemgetter

from gateway.site import Rule, Term

__all__ = ["ALWAYS_US", "ORDINANCE", "Ruling", "Terms"]

ORDINANCE = "ordinance"
ALWAYS_US = 1 << 62
"""Further away than any stamp: the bound of a stretch that has none."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What rules in one stretch of UTC [`from_utc_us`, `until_utc_us`), whatever the ordinance's own limit is then.

    `relaxed` is the waiver or agreement in force, the latest to begin where several are; `permit` and `permit_source`
    are those of the most stringent permit in force.
    """

    from_utc_us: int = -ALWAYS_US
    until_utc_us: int = ALWAYS_US
    relaxed: Term | None = None
    permit: float | None = None
    permit_source: str = ""
    upward: bool = True

    @property
    def suspended(self) -> bool:
        """Whether the rule is judged and recorded, and calls nobody."""
        return self.relaxed is not None and self.relaxed.limit is None

    def limit(self, ordinance: float | None) -> tuple[float | None, str]:
        """The limit that rules and its source, given what the ordinance says; None when nobody can tell.

        Where the ordinance's own limit is unknown (no baseline) a permit does not stand in for it: a value within the
        permit might exceed the ordinance.
        """
        relaxed, permit = self.relaxed, self.permit
        if relaxed is not None and relaxed.limit is not None:
            return relaxed.limit, _source(relaxed)
        limit, source = ordinance, ORDINANCE
        if limit is not None and permit is not None and (permit < limit if self.upward else permit > limit):
            limit, source = permit, self.permit_source
        return limit, source if relaxed is None else _source(relaxed)


class Terms:
    """The terms of one rule, cut into stretches in which nothing changes. Immutable."""

    __slots__ = ("_starts", "_stretches")

    def __init__(self, rule: Rule) -> None:
        terms = [t for t in rule.terms if t.kind == "permit" or rule.jurisdiction != "federal"]
        edges = {t.from_utc_us for t in terms} | {t.until_utc_us for t in terms if t.until_utc_us is not None}
        bounds = [-ALWAYS_US, *sorted(edges), ALWAYS_US]
        upward = rule.comparison.startswith(">")
        self._starts = bounds[:-1]
        self._stretches = [_stretch(start, end, terms, upward=upward) for start, end in pairwise(bounds)]

    def ruling(self, utc_us: int) -> Ruling:
        """What rules at a moment of UTC."""
        return self._stretches[bisect_right(self._starts, utc_us) - 1]


def _stretch(start: int, end: int, terms: list[Term], *, upward: bool) -> Ruling:
    here = [t for t in terms if t.from_utc_us <= start and (t.until_utc_us is None or end <= t.until_utc_us)]
    permits = [(t.limit, _source(t)) for t in here if t.kind == "permit" and t.limit is not None]
    strictest = (min if upward else max)(permits, key=itemgetter(0), default=None)
    relaxed = max((t for t in here if t.kind != "permit"), key=attrgetter("from_utc_us"), default=None)
    permit, source = (None, "") if strictest is None else strictest
    return Ruling(start, end, relaxed, permit, source, upward)


def _source(term: Term) -> str:
    return f"{term.kind}: {term.reference}"
