"""Ordinance packs: a town's rules as data, read from an already loaded mapping.

A pack knows nothing of any site; `pack_bind` makes rules of it for the channels of one. What may stand in a pack is
described for its writers in docs/packs.md.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from gateway.content_hash import content_hash
from gateway.problems import Problems
from gateway.rules.pack_fields import Fields
from gateway.rules.provision import Provision, read_provision
from gateway.site import LawNote
from gateway.toml_lines import Path

__all__ = ["HEAD_KEYS", "JURISDICTIONS", "NOTE_KEYS", "OPTION_KEYS", "TOP_KEYS", "Option", "Pack", "parse_pack"]

TOP_KEYS = ("pack", "options", "rules", "notes")
HEAD_KEYS = ("id", "name", "version", "effective", "note", "jurisdiction")
OPTION_KEYS = ("text", "choices")
NOTE_KEYS = ("clause", "text", "rules")
JURISDICTIONS = ("local", "state", "federal")


@dataclass(frozen=True, slots=True)
class Option:
    """A fact about the town that the pack leaves to the site file: true or false, or one of its choices."""

    text: str
    choices: tuple[str, ...] = ()

    def takes(self, answer: bool | str) -> bool:
        """Whether this can be an answer."""
        return answer in self.choices if self.choices else isinstance(answer, bool)


@dataclass(frozen=True, slots=True)
class Pack:
    """One ordinance: its provisions, its open questions, the notes on its text, and the hash of its content."""

    id: str
    name: str
    version: str
    note: str
    hash: str
    rules: tuple[Provision, ...]
    effective: date | None = None
    jurisdiction: str = "local"
    options: Mapping[str, Option] = field(default_factory=dict)
    notes: tuple[LawNote, ...] = ()


def parse_pack(content: Mapping[str, Any], problems: Problems) -> Pack:
    """The pack in a loaded mapping. Mistakes go to `problems`; a rule with a mistake is left out."""
    problems.unknown_keys(content, TOP_KEYS)
    head = Fields(content.get("pack", {}), ("pack",), problems)
    head.unknown(*HEAD_KEYS)
    pack_id, effective = head.name("id"), head.day("effective")
    options = _options(content.get("options", {}), problems)
    rules = list(_rules(content, problems, effective, options))
    seen: set[str] = set()
    for path, rule in rules:
        if rule is not None and rule.id in seen:
            problems.error((*path, "id"), f"the rule {rule.id!r} is in this pack twice")
        seen.add(rule.id if rule else "")
    return Pack(
        id=pack_id,
        name=head.text("name"),
        version=head.text("version"),
        note=head.text("note", default=""),
        hash=content_hash(content),
        rules=tuple(rule for _, rule in rules if rule is not None),
        effective=effective,
        jurisdiction=head.choice("jurisdiction", JURISDICTIONS, default="local"),
        options=options,
        notes=tuple(_notes(content, pack_id, None if any(rule is None for _, rule in rules) else seen, problems)),
    )


def _tables(content: Mapping[str, Any], key: str) -> list[Any]:
    tables = content.get(key, [])
    return tables if isinstance(tables, list) else [tables]


def _options(tables: Any, problems: Problems) -> dict[str, Option]:
    if not isinstance(tables, Mapping):
        problems.error(("options",), "must be a table of options")
        return {}
    options: dict[str, Option] = {}
    for name, table in tables.items():
        fields = Fields(table, ("options", name), problems)
        fields.unknown(*OPTION_KEYS)
        options[name] = Option(fields.text("text"), fields.texts("choices", required=False))
    return options


def _rules(
    content: Mapping[str, Any], problems: Problems, effective: date | None, options: Mapping[str, Option]
) -> Iterator[tuple[Path, Provision | None]]:
    """Every rule with its place in the file; a table with `each` gives one for every row."""
    for i, item in enumerate(_tables(content, "rules")):
        path: Path = ("rules", i)
        if not isinstance(item, Mapping) or "each" not in item:
            fields = Fields(item, path, problems)
            yield path, _checked(read_provision(fields, effective, problems), fields, options)
            continue
        rows = item["each"]
        if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
            problems.error((*path, "each"), 'must be a list of rows, as [{ row = "copper", limit = "1.6 mg/L" }]')
            continue
        for j, row in enumerate(rows):
            at: Path = (*path, "each", j)
            whole = {key: value for key, value in item.items() if key != "each"} | dict(row)
            words = {word: whole.pop(word) for word in ("row", "name") if word in whole}
            fields = Fields(_filled(whole, words), path, problems, dict.fromkeys(row, at))
            yield at, _checked(read_provision(fields, effective, problems), fields, options)


def _filled(table: Mapping[str, Any], words: Mapping[str, Any]) -> dict[str, Any]:
    """The table with `{row}` and `{name}` of its texts filled in."""
    filled: dict[str, Any] = {}
    for key, value in table.items():
        text = value
        if isinstance(value, str):
            for word, by in words.items():
                text = text.replace(f"{{{word}}}", str(by))
        filled[key] = text
    return filled


def _checked(provision: Provision | None, fields: Fields, options: Mapping[str, Option]) -> Provision | None:
    """The provision, unless it asks for an option the pack does not have or an answer it cannot get."""
    if provision is None:
        return None
    asked = [("only_if", name, answer) for name, answer in provision.only_if.items()]
    if provision.relaxed is not None:
        asked += [("relaxed", name, answer) for name, answer in provision.relaxed.when.items()]
    sound = True
    for key, name, answer in asked:
        if name not in options or not options[name].takes(answer):
            fields.error(key, f"{name} = {answer!r} is no answer to an option of this pack")
            sound = False
    return provision if sound else None


def _notes(
    content: Mapping[str, Any], pack: str, rules: Sequence[str] | set[str] | None, problems: Problems
) -> Iterator[LawNote]:
    for i, item in enumerate(_tables(content, "notes")):
        fields = Fields(item, ("notes", i), problems)
        fields.unknown(*NOTE_KEYS)
        about = fields.texts("rules", required=False)
        for rule in about:
            if rules is not None and not _is_about(rule, rules):
                fields.error("rules", f"there is no rule {rule!r} in this pack")
        yield LawNote(pack, fields.text("clause"), fields.text("text"), about)


def _is_about(rule: str, rules: Sequence[str] | set[str]) -> bool:
    """`lv-tox-*` speaks of every rule that begins so."""
    return any(r.startswith(rule[:-1]) for r in rules if r) if rule.endswith("*") else rule in rules
