"""`lab`: laboratory results, entered, imported and listed."""

import argparse
import sys
from pathlib import Path

from gateway.command_line.options import json_option, state_option

__all__ = ["add"]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The `lab` commands."""
    lab = commands.add_parser("lab", help="laboratory results: enter one, import a file, list what is on record")
    actions = lab.add_subparsers(title="actions", metavar="ACTION", required=True)
    add = actions.add_parser("add", help="enter one result")
    for name, words in LAB_FIELDS:
        add.add_argument(f"--{name}", default="", help=words)
    add.set_defaults(body=_lab_add)
    importing = actions.add_parser("import", help="enter every result of a CSV file, or none")
    importing.add_argument("file", type=Path, metavar="FILE.csv", help="its columns are named in docs/laboratory.md")
    importing.add_argument("--by", required=True, metavar="NAME", help="who imports it")
    importing.set_defaults(body=_lab_import)
    for action in (add, importing):
        action.add_argument("--time-zone", metavar="ZONE", help="the zone of times without an offset")
        action.add_argument("--check", action="store_true", help="say what it would mean, and enter nothing")
    listing = actions.add_parser("list", help="what is on record, and what each rule says of it")
    listing.add_argument("--analyte", help="of this one only")
    listing.set_defaults(body=_lab_list)
    for action in (add, importing, listing):
        state_option(action)
        json_option(action)


LAB_FIELDS = (
    ("id", "the laboratory's number of the result"),
    ("analyte", "what was measured, as rules name it: copper, fog, bod"),
    ("value", "the number, or <0.005 for less than a detection limit"),
    ("unit", "mg/L, ug/L, ppm"),
    ("sample-type", "grab or composite"),
    ("start", "when the sampling began (ISO 8601)"),
    ("stop", "when it ended; for a grab the same"),
    ("method", "the analytical method"),
    ("laboratory", "who analysed it"),
    ("entered-by", "who enters it"),
    ("remark", "anything else"),
    ("version", "2 and more for a correction of the same id"),
)


def _lab_add(arguments: argparse.Namespace) -> int:
    from gateway.laboratory import run_add

    given = {name.replace("-", "_"): getattr(arguments, name.replace("-", "_")) for name, _ in LAB_FIELDS}
    row = {name: value for name, value in given.items() if value}
    where, out = arguments.state, sys.stdout
    return run_add(where, row, out, time_zone=arguments.time_zone, check=arguments.check, as_json=arguments.json)


def _lab_import(arguments: argparse.Namespace) -> int:
    from gateway.laboratory import run_import

    where, file, by = arguments.state, arguments.file, arguments.by
    zone, check, as_json = arguments.time_zone, arguments.check, arguments.json
    return run_import(where, file, by, sys.stdout, time_zone=zone, check=check, as_json=as_json)


def _lab_list(arguments: argparse.Namespace) -> int:
    from gateway.laboratory import run_list

    return run_list(arguments.state, arguments.analyte, sys.stdout, as_json=arguments.json)
