"""The body of `check`: every mistake of a site file at once, or its warnings and what the gateway would do."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TextIO

from gateway.config import Loaded, read
from gateway.drivers.profile import Register
from gateway.errors import ConfigError, Problem
from gateway.site import Rule, Site

__all__ = ["WireRead", "run_check", "wire_reads"]

_EX_OK, _EX_CONFIG = 0, 78
_FUNCTIONS = {3: "holding", 4: "input"}


@dataclass(frozen=True, slots=True)
class WireRead:
    """One register a channel needs, as it goes over the wire: `address` counts from 0, `doc_register` as the manual."""

    channel: str
    what: str  # value, unit or status
    bus: str
    unit: int
    function: int
    address: int
    words: int
    type: str
    order: str
    doc_register: str


def run_check(site: Path, *, as_json: bool, out: TextIO) -> int:
    """Check one site file. Exit status 0 with warnings and a summary, or 78 with every mistake."""
    try:
        loaded = read(site)
        errors: Sequence[Problem] = loaded.errors
    except ConfigError as error:
        loaded, errors = None, error.problems
    if as_json:
        out.write(json.dumps(_as_data(loaded, errors), ensure_ascii=False, allow_nan=False) + "\n")
    elif errors or loaded is None:
        _print_errors(site, errors, out)
    else:
        _print_summary(site, loaded, out)
    return _EX_CONFIG if errors else _EX_OK


def wire_reads(loaded: Loaded) -> tuple[WireRead, ...]:
    """Every register the gateway will read, in the order of the channels. The site must be sound."""
    return tuple(_reads(loaded)) if loaded.site is not None else ()


def _reads(loaded: Loaded) -> Iterator[WireRead]:
    site = loaded.site
    for channel in site.channels.values() if site is not None else ():
        if site is None or channel.device is None or channel.point is None:
            continue
        device = site.devices[channel.device]
        point = loaded.profiles[channel.device].profile.points[channel.point]

        def one(what: str, register: Register, doc: str = "", name: str = channel.name) -> WireRead:
            span = register.span
            return WireRead(
                name, what, device.bus, device.unit, span.function, span.start, span.count, register.type,  # noqa: B023
                register.order, doc,
            )  # fmt: skip

        yield one("value", point.register, point.doc_register)
        if point.unit_register is not None:
            yield one("unit", point.unit_register.register)
        for rule in point.status:
            yield one("status", rule.register)


def _as_data(loaded: Loaded | None, errors: Sequence[Problem]) -> dict[str, Any]:
    site = loaded.site if loaded is not None else None
    data: dict[str, Any] = {
        "ok": not errors,
        "errors": [asdict(problem) for problem in errors],
        "warnings": [asdict(problem) for problem in loaded.warnings] if loaded is not None else [],
    }
    if loaded is None or site is None:
        return data
    return data | {
        "site": site.id,
        "config_hash": site.config_hash,
        "packs": [{"id": p.id, "version": p.version, "hash": p.hash, "note": p.note} for p in loaded.packs],
        "channels": [
            {"channel": c.name, "quantity": c.quantity, "unit": c.unit, "poll_s": c.poll_us / 1e6}
            for c in site.channels.values()
        ],
        "reads": [asdict(wire) for wire in wire_reads(loaded)],
        "rules": [
            {"rule": r.id, "alarm": r.alarm, "clause": r.clause, "channel": r.channel, "test": _test(r)}
            for r in site.rules
        ],
        "readings_chosen": [
            {"rule": rule.id, "reading": rule.reading, "approved_by": rule.reading_approved_by or None}
            for pack in loaded.packs
            for rule in pack.rules
        ],
        "unbound": dict(loaded.unbound),
        "not_judged_yet": [asdict(pending) for pack in loaded.packs for pending in pack.pending],
    }


def _print_errors(site: Path, errors: Sequence[Problem], out: TextIO) -> None:
    out.writelines(f"{problem}\n" for problem in errors)
    mistakes = "1 mistake" if len(errors) == 1 else f"{len(errors)} mistakes"
    out.write(f"{site}: {mistakes}; the gateway would not start\n")


def _print_summary(path: Path, loaded: Loaded, out: TextIO) -> None:
    site = loaded.site
    if site is None:
        return
    out.writelines(f"{problem}\n" for problem in loaded.warnings)
    count = len(loaded.warnings)
    out.write(
        f"{path}: sound, with {count or 'no'} warning{'' if count == 1 else 's'}\n"
        f"\n{site.name} ({site.id}), {site.discharger}; times in {site.time_zone}\n"
    )
    _print_reads(loaded, out)
    _print_rules(site, loaded, out)


def _print_reads(loaded: Loaded, out: TextIO) -> None:
    out.write("\nReads (addresses on the wire, from 0)\n")
    rows = [
        (
            wire.channel,
            wire.what,
            f"{wire.bus} unit {wire.unit}",
            f"{_FUNCTIONS[wire.function]} {wire.address}",
            f"{wire.words} word{'s' if wire.words > 1 else ''}",
            f"{wire.type} {wire.order}" if wire.words > 1 else wire.type,
            f"manual: {wire.doc_register}" if wire.doc_register else "",
        )
        for wire in wire_reads(loaded)
    ]
    _print_table(rows, out)


def _print_rules(site: Site, loaded: Loaded, out: TextIO) -> None:
    out.write("\nRules\n")
    _print_table([(rule.alarm, rule.clause, rule.channel, _test(rule)) for rule in site.rules], out)
    pending = [(p.id, p.clause, p.title) for pack in loaded.packs for p in pack.pending]
    if not pending:
        return
    out.write("\nNamed by the ordinances, not judged yet\n")
    by_title: dict[tuple[str, str], list[str]] = {}
    for rule, clause, title in pending:
        by_title.setdefault((clause, title), []).append(rule)
    _print_table(
        [
            (rules[0] if len(rules) == 1 else f"{rules[0]} and {len(rules) - 1} more", *key)
            for key, rules in by_title.items()
        ],
        out,
    )


def _test(rule: Rule) -> str:
    threshold = f"{rule.limit:g} {rule.unit}" if rule.limit is not None else f"{rule.factor:g} x baseline"
    if rule.factor is not None:
        value = rule.baseline.value if rule.baseline is not None else None
        threshold += f" of {value:g} {rule.unit}" if value is not None else " (none in force)"
    if rule.kind == "slug":
        word = "longer than" if rule.strict_duration else "for at least"
        return f"{rule.comparison} {threshold}, {word} {rule.duration_us / 60e6:g} min"
    return f"{rule.comparison} {threshold}, {rule.confirm} samples in a row"


def _print_table(rows: Sequence[tuple[str, ...]], out: TextIO) -> None:
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        out.write(f"  {'  '.join(cells).rstrip()}\n")
