"""`check` of an ordinance pack by itself: its mistakes, or its rules as they were understood."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, TextIO

from gateway.check_words import print_notes, print_readings, print_table, readings_chosen, test_of
from gateway.config_files import read_toml
from gateway.errors import ConfigError
from gateway.problems import Problems
from gateway.rules.pack import Pack, parse_pack
from gateway.rules.provision import Provision

__all__ = ["check_pack", "is_pack"]

_EX_OK, _EX_CONFIG = 0, 78


def is_pack(path: Path) -> bool:
    """Whether a file says that it is an ordinance pack. A file that cannot be read is none."""
    try:
        content = read_toml(path).content
    except ConfigError:
        return False
    return "pack" in content and "site" not in content


def check_pack(path: Path, *, as_json: bool, out: TextIO) -> int:
    """Check one pack. Exit status 0 with its rules, or 78 with every mistake."""
    source = read_toml(path)
    problems = Problems(source.name, source.lines)
    pack = parse_pack(source.content, problems)
    if as_json:
        errors = [asdict(error) for error in problems.errors]
        data: dict[str, Any] = {"ok": not errors, "errors": errors, "warnings": []}
        out.write(json.dumps(data | (_as_data(pack) if not errors else {}), ensure_ascii=False) + "\n")
    elif problems.errors:
        out.writelines(f"{problem}\n" for problem in sorted(problems.errors, key=lambda p: p.line or 0))
        count = len(problems.errors)
        out.write(f"{path}: {count} mistake{'' if count == 1 else 's'}; no site could use this pack\n")
    else:
        _print(path, pack, out)
    return _EX_CONFIG if problems.errors else _EX_OK


def _as_data(pack: Pack) -> dict[str, Any]:
    return {
        "pack": pack.id,
        "name": pack.name,
        "version": pack.version,
        "jurisdiction": pack.jurisdiction,
        "effective": None if pack.effective is None else pack.effective.isoformat(),
        "hash": pack.hash,
        "note": pack.note,
        "options": {name: asdict(option) for name, option in pack.options.items()},
        "rules": [
            {
                "rule": rule.id, "clause": rule.clause, "title": rule.title, "quantities": list(rule.quantities),
                "sources": list(rule.sources), "place": rule.place, "test": test_of(rule), "enabled": rule.enabled,
                "advisory": rule.advisory, "trc": rule.trc,
                "effective": None if rule.effective is None else rule.effective.isoformat(),
            }
            for rule in pack.rules
        ],
        "readings_chosen": readings_chosen(pack.rules),
        "law_notes": [asdict(note) for note in pack.notes],
    }  # fmt: skip


def _print(path: Path, pack: Pack, out: TextIO) -> None:
    effective = "no date given" if pack.effective is None else f"in force from {pack.effective.isoformat()}"
    out.write(f"{path}: sound\n\n{pack.name} ({pack.id}), version {pack.version}, {pack.jurisdiction}; {effective}\n")
    if pack.note:
        out.write(f"{pack.note}\n")
    out.write("\nRules\n")
    print_table([(rule.id, rule.clause, _watches(rule.quantities), _asks(rule)) for rule in pack.rules], out)
    if pack.options:
        out.write("\nAsked of the site file\n")
        print_table([(f"[ordinances.{pack.id}] {name}", option.text) for name, option in pack.options.items()], out)
    print_readings(readings_chosen(pack.rules), out)
    print_notes(pack.notes, out)


def _watches(quantities: tuple[str, ...]) -> str:
    return quantities[0] if len(quantities) == 1 else f"{quantities[0]} and {len(quantities) - 1} more"


def _asks(rule: Provision) -> str:
    return test_of(rule) + ("" if rule.enabled else "; off unless switched on")
