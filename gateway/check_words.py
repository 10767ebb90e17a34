"""How `check` puts rules, readings and notes to words and into columns. Pure but for the stream it is handed."""

import textwrap
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from gateway.rules.provision import Provision
from gateway.site import LawNote, Rule

__all__ = ["print_notes", "print_readings", "print_table", "readings_chosen", "test_of"]

_WIDTH = 110
_PER = {"day": "a day", "30-day": "30 days", "month": "a calendar month", "excursion": "one excursion"}


def test_of(rule: Rule | Provision) -> str:
    """What a rule asks, in one line: `> 1.6 mg/L, average of a day`."""
    threshold = f"{rule.limit:g} {rule.unit}" if rule.limit is not None else f"{rule.factor:g} x baseline"
    if isinstance(rule, Rule) and rule.factor is not None:
        threshold += _of_baseline(rule)
    asks = f"{rule.comparison} {threshold}"
    match rule.kind:
        case "slug":
            word = "longer than" if rule.strict_duration else "for at least"
            return f"{asks}, {word} {rule.duration_us / 60e6:g} min"
        case "average":
            return f"{asks}, average of {_PER[rule.window]}"
        case "volume":
            return f"{asks} in {_PER[rule.window]}"
        case "share":
            return f"{asks} of the town's sewage, average of {_PER[rule.window]}"
        case "excursion":
            inside = rule.inside
            around = "" if inside is None else f" outside {inside.low:g} to {inside.high:g}"
            return f"{asks}{around} in {_PER[rule.window]}"
    if isinstance(rule, Rule) and rule.laboratory:
        return f"{asks}, each result"
    return f"{asks}, {rule.confirm} samples in a row"


def _of_baseline(rule: Rule) -> str:
    baseline = rule.baseline
    if baseline is None:
        return " (none in force)"
    if baseline.value is None:
        return f" ({baseline.mode}, computed)"
    return f" of {baseline.value:g} {rule.unit}"


def readings_chosen(rules: Iterable[Provision]) -> list[dict[str, Any]]:
    """How each unclear place was read, and who approved that reading when."""
    return [
        {
            "rule": rule.id, "reading": rule.reading, "approved_by": rule.reading_approved_by or None,
            "approved_on": rule.reading_approved_on or None,
        }
        for rule in rules
        if not rule.idle
    ]  # fmt: skip


def print_readings(readings: Sequence[dict[str, Any]], out: TextIO) -> None:
    """Which readings somebody with authority has approved; the others are the product's own."""
    if not readings:
        return
    approved = [r for r in readings if r["approved_by"]]
    out.write("\nReadings of the law\n")
    print_table(
        [(r["rule"], f"approved by {r['approved_by']} on {r['approved_on'] or 'no date'}") for r in approved], out
    )
    open_ones = len(readings) - len(approved)
    if open_ones:
        out.write(
            f"  {open_ones} of {len(readings)} are the product's own and approved by nobody yet (--json shows each)\n"
        )


def print_notes(notes: Sequence[LawNote], out: TextIO) -> None:
    """What the ordinances contradict or leave open."""
    if not notes:
        return
    out.write("\nWhat the law leaves open\n")
    for note in notes:
        text = f"{note.pack}, {note.clause}: {note.text}"
        out.write(textwrap.fill(text, _WIDTH, initial_indent="  ", subsequent_indent="      ") + "\n")


def print_table(rows: Sequence[tuple[str, ...]], out: TextIO) -> None:
    """Rows in columns as wide as their widest cell."""
    widths = [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        out.write(f"  {'  '.join(cells).rstrip()}\n")
