"""The body of `check`: every mistake of a site file or an ordinance pack at once, or what the gateway makes of it."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, TextIO

from gateway.check_outputs import print_writes, writes_of
from gateway.check_pack import check_pack, is_pack
from gateway.check_ratings import print_ratings, ratings_data
from gateway.check_words import print_notes, print_readings, print_table, readings_chosen, test_of
from gateway.config import Loaded, read
from gateway.config_files import read_toml
from gateway.drivers.profile import Register
from gateway.errors import ConfigError, Problem
from gateway.last_values import advise_of_last_values, last_readings
from gateway.line_advice import share_in_words
from gateway.line_share import THINKS_S, LineShare, line_shares
from gateway.problems import Problems
from gateway.rules.pack import Pack
from gateway.site import Rule, Site, Term

__all__ = ["WireRead", "run_check", "wire_reads"]

_EX_OK, _EX_CONFIG = 0, 78
_FUNCTIONS = {1: "coil", 2: "contact", 3: "holding", 4: "input"}


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


def run_check(site: Path, *, as_json: bool, out: TextIO, state: Path | None = None) -> int:
    """Check one site file, or an ordinance pack by itself: a file with [pack].

    Exit status 0 with warnings and a summary, or 78 with every mistake. With `state` the last values of its journal are
    held against the spans; InputError where there is no journal.
    """
    if is_pack(site):
        return check_pack(site, as_json=as_json, out=out)
    try:
        loaded = read(site)
        errors: Sequence[Problem] = loaded.errors
        if state is not None and loaded.site is not None:
            found = Problems(str(site), read_toml(site).lines)
            advise_of_last_values(loaded.site, last_readings(state).values(), found)
            loaded = replace(loaded, warnings=(*loaded.warnings, *found.warnings))
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
        point = loaded.profiles[channel.device].profile.points[channel.point].for_unit(channel.source_unit)

        def one(what: str, register: Register, doc: str = "", name: str = channel.name) -> WireRead:
            span = register.span
            # Called within its own turn of the loop: the device is the one meant.
            return WireRead(
                name, what, device.bus, device.unit, span.function, span.start, span.count, register.type,  # noqa: B023
                register.order, doc,
            )  # fmt: skip

        for what, register in point.parts():
            yield one(what, register, point.doc_register if register is point.register else "")


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
        "packs": [_pack_data(pack) for pack in loaded.packs],
        "channels": [
            {"channel": c.name, "quantity": c.quantity, "unit": c.unit, "poll_s": c.poll_us / 1e6}
            for c in site.channels.values()
        ],
        "reads": [asdict(wire) for wire in wire_reads(loaded)],
        "writes": writes_of(site),
        "lines": [asdict(line) for line in _lines(loaded)],
        "ratings": ratings_data(site, loaded.pipe_gpm),
        "rules": [_rule_data(rule) for rule in site.rules],
        "readings_chosen": readings_chosen(rule for pack in loaded.packs for rule in pack.rules),
        "unbound": dict(loaded.unbound),
        "law_notes": [asdict(note) for note in site.law_notes],
    }


def _rule_data(rule: Rule) -> dict[str, Any]:
    return {
        "rule": rule.id, "alarm": rule.alarm, "clause": rule.clause, "channel": rule.channel, "test": test_of(rule),
        "notes": list(rule.notes), "terms": [asdict(term) for term in rule.terms],
    }  # fmt: skip


def _pack_data(pack: Pack) -> dict[str, Any]:
    return {
        "id": pack.id, "version": pack.version, "hash": pack.hash, "note": pack.note, "jurisdiction": pack.jurisdiction,
        "effective": None if pack.effective is None else pack.effective.isoformat(),
    }  # fmt: skip


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
    print_writes(writes_of(site), out)
    _print_lines(loaded, site, out)
    print_ratings(site, loaded.pipe_gpm, out)
    _print_packs(loaded, out)
    _print_rules(site, out)
    print_readings(readings_chosen(rule for pack in loaded.packs for rule in pack.rules), out)
    print_notes(site.law_notes, out)


def _print_reads(loaded: Loaded, out: TextIO) -> None:
    out.write("\nReads (addresses on the wire, from 0)\n")
    rows = [
        (
            wire.channel,
            wire.what,
            f"{wire.bus} unit {wire.unit}",
            f"{_FUNCTIONS[wire.function]} {wire.address}",
            "1 bit" if wire.type == "bit" else f"{wire.words} word{'s' if wire.words > 1 else ''}",
            f"{wire.type} {wire.order}" if wire.words > 1 else wire.type,
            f"manual: {wire.doc_register}" if wire.doc_register else "",
        )
        for wire in wire_reads(loaded)
    ]
    print_table(rows, out)


def _lines(loaded: Loaded) -> tuple[LineShare, ...]:
    site = loaded.site
    return () if site is None else line_shares(site, {name: p.profile for name, p in loaded.profiles.items()})


def _print_lines(loaded: Loaded, site: Site, out: TextIO) -> None:
    rows = [(line.bus, share_in_words(line, site.buses[line.bus])) for line in _lines(loaded)]
    if rows:
        out.write(f"\nSerial lines (estimated, with {THINKS_S * 1e3:g} ms for each answer)\n")
        print_table(rows, out)


def _print_packs(loaded: Loaded, out: TextIO) -> None:
    if not loaded.packs:
        return
    out.write("\nOrdinances\n")
    print_table(
        [
            (
                pack.id,
                f"version {pack.version}",
                "no date given" if pack.effective is None else f"in force from {pack.effective.isoformat()}",
                pack.name,
            )
            for pack in loaded.packs
        ],
        out,
    )


def _print_rules(site: Site, out: TextIO) -> None:
    out.write("\nRules\n")
    print_table([(rule.alarm, rule.clause, rule.channel, test_of(rule)) for rule in site.rules], out)
    changed = [(rule.alarm, note) for rule in site.rules for note in (*rule.notes, *map(_term, rule.terms))]
    if changed:
        out.write("\nNot as printed in the ordinance\n")
        print_table(changed, out)


def _term(term: Term) -> str:
    limit = "the rule is suspended" if term.limit is None else f"limit {term.limit:g}"
    return f"{term.kind}, {limit}: {term.reference}, approved by {term.approved_by}"
