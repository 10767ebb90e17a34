"""What a site file says of its ordinance packs: answers to a pack's options, and numbers stricter than the law's."""

import operator
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from gateway.problems import Problems
from gateway.rules.pack import Option, Pack
from gateway.rules.provision import Provision
from gateway.site import Span
from gateway.site_channels import convert
from gateway.spelling import did_you_mean
from gateway.toml_lines import Path
from gateway.units import format_duration

if TYPE_CHECKING:
    from gateway.config_shape import RuleTable, SiteFile

__all__ = ["as_the_site_takes_them"]


def as_the_site_takes_them(
    packs: Mapping[str, Pack], tree: "SiteFile", problems: Problems, *, packs_sound: bool
) -> dict[str, Pack]:
    """The packs with the site's answers and stricter numbers in their provisions, each said in the provision's notes.

    A name nobody knows is a mistake only if the packs are sound, that is, read without mistakes themselves.
    """
    answers = _answers(packs, tree.ordinances, problems, packs_sound=packs_sound)
    known = {rule.id for pack in packs.values() for rule in pack.rules}
    if packs_sound:
        for name in tree.rules:
            if name not in known:
                problems.error(("rules", name), f"there is no rule {name!r}{did_you_mean(name, known)}")
    return {
        pack.id: replace(
            pack, rules=tuple(_taken(rule, answers.get(pack.id, {}), tree, problems) for rule in pack.rules)
        )
        for pack in packs.values()
    }


def _answers(
    packs: Mapping[str, Pack],
    tables: Mapping[str, Mapping[str, bool | str]],
    problems: Problems,
    *,
    packs_sound: bool,
) -> dict[str, dict[str, bool | str]]:
    sound: dict[str, dict[str, bool | str]] = {}
    for name, table in tables.items():
        pack = packs.get(name)
        if pack is None:
            if packs_sound:
                hint = did_you_mean(name, packs)
                problems.error(("ordinances", name), f"{name!r} is no ordinance of this site{hint}")
            continue
        for key, answer in table.items():
            path: Path = ("ordinances", name, key)
            option = pack.options.get(key)
            if option is None:
                problems.error(path, f"unknown key{did_you_mean(key, pack.options)}")
            elif not option.takes(answer):
                problems.error(path, f"must be {_choices(option)}: {option.text}")
            else:
                sound.setdefault(name, {})[key] = answer
    return sound


def _choices(option: Option) -> str:
    return " or ".join(repr(choice) for choice in option.choices) or "true or false"


def _taken(rule: Provision, answers: Mapping[str, bool | str], tree: "SiteFile", problems: Problems) -> Provision:
    table = tree.rules.get(rule.id)
    rule = _answered(rule, answers)
    if table is not None:
        rule = _stricter(rule, table, problems)
    if rule.enabled and not rule.idle and rule.kind == "excursion" and rule.inside is None:
        problems.error(("rules", rule.id, "inside"), "is required: the range outside which the minutes count")
    return rule


def _answered(rule: Provision, answers: Mapping[str, bool | str]) -> Provision:
    """An option that is not answered lets every rule apply and relaxes none."""
    for name, wanted in rule.only_if.items():
        if answers.get(name, wanted) != wanted:
            return replace(rule, idle=f"not for this town: {name} = {_said(answers[name])}")
    relaxed = rule.relaxed
    if (
        relaxed is None
        or rule.limit is None
        or any(answers.get(name) != answer for name, answer in relaxed.when.items())
    ):
        return rule
    limit = rule.limit * relaxed.factor
    note = f"limit {limit:g} {rule.unit}: {relaxed.factor:g} x {rule.limit:g} {rule.unit}, {relaxed.note}"
    return replace(rule, limit=limit, notes=(*rule.notes, note))


def _said(answer: bool | str) -> str:
    return f'"{answer}"' if isinstance(answer, str) else str(answer).lower()


def _stricter(rule: Provision, table: "RuleTable", problems: Problems) -> Provision:
    path: Path = ("rules", rule.id)
    changes = _Changes(rule, path, problems)
    if table.enabled is False and rule.enabled:
        problems.error(
            (*path, "enabled"), "a rule of the ordinance cannot be switched off; a dated waiver can suspend it"
        )
    upward = rule.comparison.startswith(">")
    if table.limit is not None:
        limit = _in_rule_unit(table.limit, rule, problems, path)
        changes.number("limit", limit, rule.limit, rule.unit, smaller_is_stricter=upward)
    changes.number("factor", table.factor, rule.factor, "x the baseline", smaller_is_stricter=True)
    if table.duration is not None:
        changes.duration(table.duration)
    if table.inside is not None:
        changes.range(table.inside)
    if (table.reading_approved_by is None) != (table.reading_approved_on is None):
        missing = "reading_approved_by" if table.reading_approved_by is None else "reading_approved_on"
        problems.error((*path, missing), "is required: an approval is signed and dated")
    return replace(
        rule,
        enabled=rule.enabled if table.enabled is None else table.enabled or rule.enabled,
        limit=changes.values.get("limit", rule.limit),
        factor=changes.values.get("factor", rule.factor),
        duration_us=int(changes.values.get("duration", rule.duration_us)),
        inside=changes.inside,
        reading_approved_by=table.reading_approved_by or rule.reading_approved_by,
        reading_approved_on=(
            table.reading_approved_on.isoformat() if table.reading_approved_on else rule.reading_approved_on
        ),
        notes=(*rule.notes, *changes.notes),
    )


def _in_rule_unit(given: tuple[float, str], rule: Provision, problems: Problems, path: Path) -> float | None:
    """The limit in the rule's unit; a rule without a unit of its own is judged in its channel's."""
    if not rule.unit:
        return given[0]
    return convert(given, rule.unit, problems, (*path, "limit"))


class _Changes:
    """The stricter numbers of one rule, each compared with the ordinance's before it counts."""

    def __init__(self, rule: Provision, path: Path, problems: Problems) -> None:
        self.rule = rule
        self.values: dict[str, float] = {}
        self.inside = rule.inside
        self.notes: list[str] = []
        self._path = path
        self._problems = problems

    def number(self, key: str, given: float | None, law: float | None, unit: str, *, smaller_is_stricter: bool) -> None:
        if given is None:
            return
        if law is None:
            self._error(key, f"{self.rule.id} has no {key} to be stricter than")
        elif given <= 0:
            self._error(key, "must be above zero")
        elif (operator.gt if smaller_is_stricter else operator.lt)(given, law):
            self._error(
                key, f"may only be stricter than the ordinance's {law:g} {unit}; a waiver or an agreement may be laxer"
            )
        elif given != law:
            self.values[key] = given
            self.notes.append(f"{key} {given:g} {unit} by the site file, stricter than the ordinance's {law:g} {unit}")

    def duration(self, given_us: int) -> None:
        law_us = self.rule.duration_us
        if not law_us:
            self._error("duration", f"{self.rule.id} has no duration to be stricter than")
        elif not 0 < given_us <= law_us:
            self._error("duration", f"may only be stricter, that is, above zero and at most {format_duration(law_us)}")
        elif given_us != law_us:
            self.values["duration"] = given_us
            self.notes.append(
                f"duration {format_duration(given_us)} by the site file, stricter than the ordinance's "
                f"{format_duration(law_us)}"
            )

    def range(self, given: Iterable[tuple[float, str]]) -> None:
        law, unit = self.rule.inside, self.rule.inside_unit
        if law is None or law.low is None or law.high is None:
            self._error("inside", f"{self.rule.id} has no range to be narrower than")
            return
        low, high = (convert(end, unit, self._problems, (*self._path, "inside")) for end in given)
        if low is None or high is None:
            return
        if low >= high:
            self._error("inside", "must be two quantities, the lowest first")
        elif low < law.low or high > law.high:
            self._error("inside", f"may only be narrower than the ordinance's {law.low:g} to {law.high:g} {unit}")
        elif (low, high) != (law.low, law.high):
            self.inside = Span(low, high)
            self.notes.append(f"range {low:g} to {high:g} {unit} by the site file, from the user's permit")

    def _error(self, key: str, text: str) -> None:
        self._problems.error((*self._path, key), text)
