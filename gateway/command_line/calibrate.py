"""`calibrate`: record a calibration, by flags, by file or guided; list what is on record."""

import argparse
import asyncio
import select
import sys
from pathlib import Path
from typing import Any

from gateway.command_line.options import json_option, state_option
from gateway.errors import InputError

__all__ = ["add"]

_USAGE = (
    "manhole-gateway calibrate CHANNEL --by NAME (--guide | --file FILE | --begin --reason WORDS | --abandon | FLAGS)\n"
    "       manhole-gateway calibrate list [CHANNEL]"
)


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The `calibrate` command."""
    parser = commands.add_parser(
        "calibrate", usage=_USAGE, help="record a calibration, by flags, by file or guided; list what is on record"
    )
    parser.add_argument("words", nargs="+", metavar="CHANNEL", help="a channel, or `list` and perhaps a channel")
    parser.add_argument("--by", default="", metavar="NAME", help="the technician, who signs")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--guide", action="store_true", help="step by step, with live values")
    way.add_argument("--file", type=Path, metavar="FILE.toml", help="a record as docs/technician.md shows it, or .json")
    way.add_argument("--begin", action="store_true", help="only put the channel into calibration")
    way.add_argument("--abandon", action="store_true", help="end it without a record")
    parser.add_argument("--for", dest="lasts", metavar="60min", help="with --begin: how long at most")
    parser.add_argument("--check", action="store_true", help="say what it would come to, and record nothing")
    for flag, words in _FLAGS:
        parser.add_argument(flag, metavar="WORDS", help=words)
    for flag, words in _NUMBERS:
        parser.add_argument(flag, type=float, metavar="NUMBER", help=words)
    for flag, shape, words in _REPEATED:
        parser.add_argument(flag, action="append", default=[], metavar=shape, help=words)
    parser.add_argument("--attachment", type=Path, metavar="FILE", help="a photograph or form; its hash is kept")
    verdict = parser.add_mutually_exclusive_group()
    verdict.add_argument("--accept", dest="accepted", action="store_true", default=None, help="it is fit for use")
    verdict.add_argument("--reject", dest="accepted", action="store_false", default=None, help="it is not")
    state_option(parser)
    json_option(parser)
    parser.set_defaults(body=_calibrate)


_FLAGS = (
    ("--reason", "routine, failed check or replacement"),
    ("--sensor-serial", "the serial number of the sensor"),
    ("--cleaning", "what was done, or none"),
    ("--reference", "the reference instrument"),
    ("--reference-serial", "its serial number"),
    ("--reference-calibrated", "the day it was calibrated"),
    ("--started", "when, with its offset (default: since --begin)"),
    ("--stopped", "when (default: now, after --begin)"),
    ("--next-due", "a day of your own instead of the usual interval"),
    ("--remark", "anything else"),
    ("--corrects", "the id of the record that this one replaces"),
)
_REPEATED = (
    ("--standard", "name=4,temperature=21.5,lot=...,expires=...", "a buffer or standard that was used; once for each"),
    ("--reading", "phase=check,in=4,value=4.05,mv=172", "what the channel showed in which standard; once for each"),
)
_NUMBERS = (
    ("--response-s", "response time in s"),
    ("--slope", "slope in %% that the instrument shows"),
    ("--offset", "offset in mV that it shows"),
)


def _calibrate(arguments: argparse.Namespace) -> int:
    from gateway.calibration_actions import run_abandon, run_begin, run_calibrations, run_record
    from gateway.calibration_flags import record_from_file, record_from_flags

    words, where, out, as_json = arguments.words, arguments.state, sys.stdout, arguments.json
    if words[0] == "list" and len(words) <= 2:
        return run_calibrations(where, words[1] if len(words) == 2 else "", out, as_json=as_json)
    if len(words) > 1:
        raise InputError("calibrate takes one channel at a time")
    channel, by = words[0], arguments.by
    if not by.strip():
        raise InputError("calibrate needs --by: a calibration is signed by its technician")
    if arguments.guide:
        return _guided(where, channel, by)
    if arguments.begin:
        return run_begin(where, channel, by, arguments.reason or "", arguments.lasts, out, as_json=as_json)
    if arguments.abandon:
        return run_abandon(where, channel, by, out, as_json=as_json)
    record = record_from_flags(arguments) if arguments.file is None else record_from_file(arguments.file)
    return run_record(where, channel, by, record, out, check=arguments.check, as_json=as_json)


def _pause(seconds: float) -> str | None:
    """Some seconds, or what is typed at a terminal within them; piped answers wait for their questions."""
    if not sys.stdin.isatty():
        return asyncio.run(asyncio.sleep(seconds))
    if not select.select([sys.stdin], [], [], seconds)[0]:
        return None
    line = sys.stdin.readline()
    if not line:
        raise EOFError
    return line


def _guided(where: Path | None, channel: str, by: str) -> int:
    from gateway.calibration_actions import ask_calibration
    from gateway.calibration_flags import attached
    from gateway.calibration_guide import Guide

    def ask(action: str, **args: Any) -> dict[str, Any]:
        return ask_calibration(where, action, channel, by, **args)

    guide = Guide(
        ask,
        input,
        lambda line: sys.stdout.write(f"{line}\n"),
        lambda name: attached(Path(name)),
        _pause,
    )
    return guide.run()
