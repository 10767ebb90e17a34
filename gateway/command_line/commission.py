"""`scan`, `probe`, `read` and `setup`: what a technician does at the instrument."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.command_line.options import json_option, load_site, site_file
from gateway.errors import InputError

if TYPE_CHECKING:
    from gateway.drivers.target import Setting

__all__ = ["add"]

_PARITIES = ("N", "E", "O")
_PORT = "a serial port (/dev/serial/by-path/...) or HOST[:PORT] of a Modbus TCP server"


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The commands of commissioning."""
    _add_scan(commands)
    _add_probe(commands)
    _add_read(commands)
    _add_setup(commands)


def _add_scan(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    scan = commands.add_parser("scan", help="who answers on a line, at which speed and parity, and what it is")
    scan.add_argument("port", metavar="PORT", help=_PORT)
    scan.add_argument("--all", action="store_true", help="units 1 to 247 instead of the likely ones")
    scan.add_argument("--units", metavar="1-32,247", help="these units")
    scan.add_argument("--baud", metavar="9600,19200", help="these speeds only")
    scan.add_argument("--parity", metavar="N,E,O", help="these parities only")
    scan.add_argument("--stop-bits", type=int, choices=(1, 2), help="instead of 2 without parity and 1 with")
    scan.add_argument("--timeout", type=float, metavar="SECONDS", help="how long a unit may think before it is absent")
    _kind_option(scan)
    json_option(scan)
    scan.set_defaults(body=_scan)


def _add_probe(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    probe = commands.add_parser("probe", help="a register nobody is sure of: every reading of it beside the display")
    probe.add_argument("port", metavar="PORT", help=_PORT)
    probe.add_argument("--unit", type=int, required=True, metavar="N", help="the instrument's unit address")
    probe.add_argument("--address", required=True, metavar="A", help="the register as the manual numbers it (0x.. too)")
    probe.add_argument("--display", metavar="7.02", help="what the instrument's display says now")
    probe.add_argument("--quantity", metavar="pH", help="what it is, for what is plausible")
    probe.add_argument(
        "--in", dest="unit_name", metavar="degF", help="the display's unit (default: the quantity's first)"
    )
    probe.add_argument("--type", metavar="float32", help="only this type (several with commas)")
    probe.add_argument("--function", type=int, choices=(3, 4), help="only holding (3) or input registers (4)")
    probe.add_argument("--block", metavar="START:COUNT", help="what the device insists on being asked for, on the wire")
    probe.add_argument("--baud", type=int, default=9600, help="as scan found it")
    probe.add_argument("--parity", choices=_PARITIES, default="N", help="as scan found it")
    probe.add_argument("--stop-bits", type=int, choices=(1, 2), default=1, help="as scan found it")
    probe.add_argument("--timeout", type=float, default=1.0, metavar="SECONDS", help="how long it may take to answer")
    _kind_option(probe)
    json_option(probe)
    probe.set_defaults(body=_probe)


def _add_read(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    read = commands.add_parser("read", help="values with raw words, straight from the instruments")
    site_file(read)
    read.add_argument("channels", nargs="*", metavar="CHANNEL", help="only these (default: all that are wired)")
    read.add_argument("--watch", action="store_true", help="again and again until Ctrl-C")
    read.add_argument("--every", metavar="2s", help="how often with --watch (default: 2 s); alone it means --watch")
    read.add_argument(
        "--facts", action="store_true", help="also what each device says of itself: serial number, firmware"
    )
    json_option(read)
    read.set_defaults(body=_read)


def _add_setup(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    setup = commands.add_parser("setup", help="a guided first site file, checked before it is written")
    setup.add_argument(
        "site", nargs="?", type=Path, metavar="SITE", help="the file to write (default: by the site's id)"
    )
    setup.add_argument("--answers", type=Path, metavar="FILE", help="answers beforehand (TOML), as setup keeps them")
    setup.add_argument("--id", help="the site's id")
    setup.add_argument("--name", help="where it is, as people call it")
    setup.add_argument("--discharger", help="whose discharge it is")
    setup.add_argument("--time-zone", metavar="ZONE", help="as America/New_York")
    setup.add_argument("--ordinances", metavar="PACK,PACK", help="which apply")
    setup.add_argument("--port", metavar="PORT", help="the first line: " + _PORT)
    setup.add_argument("--scan", action="store_true", help="ask who is on the first line")
    setup.add_argument("--offline", action="store_true", help="open no port: no scan, and no values while you answer")
    setup.add_argument("--no-questions", action="store_true", help="take the defaults for what is not answered")
    setup.add_argument("--force", action="store_true", help="write over a file that is there")
    setup.set_defaults(body=_setup)


def _kind_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--kind", default="", metavar="KIND", help="as in a site's [buses], if PORT does not tell it")


def _scan(arguments: argparse.Namespace) -> int:
    from gateway.drivers.scan_plan import ALL_UNITS, ScanPlan, likely_settings, parse_units
    from gateway.drivers.scan_words import run_scan
    from gateway.drivers.target import bus_of, is_serial

    bauds = tuple(_number(part, "--baud", 300, 921_600) for part in _parts(arguments.baud))
    parities = tuple(part.upper() for part in _parts(arguments.parity))
    for parity in parities:
        if parity not in _PARITIES:
            raise InputError(f"--parity {parity!r}: N, E or O")
    try:
        units = ALL_UNITS if arguments.all else parse_units(arguments.units) if arguments.units else ()
    except ValueError as error:
        raise InputError(f"--units: {error}") from error
    if is_serial(arguments.port) and not set(units) <= set(ALL_UNITS):
        raise InputError("--units: on a serial line units are 1 to 247; 0 speaks to all of them")
    settings = likely_settings(bauds, parities, arguments.stop_bits) if is_serial(arguments.port) else ()
    plan = ScanPlan.of(arguments.port, settings=settings, units=units, reaction_s=_seconds(arguments.timeout))
    bus_of(arguments.port, plan.settings[0])  # a place that is none is said before anything is announced
    return run_scan(plan, sys.stdout, sys.stderr, as_json=arguments.json, kind=_kind(arguments.kind))


def _probe(arguments: argparse.Namespace) -> int:
    from gateway.drivers.probe import Question, run_probe
    from gateway.drivers.probe_candidates import Display
    from gateway.drivers.target import bus_of

    try:
        display = None if arguments.display is None else Display.of(arguments.display)
    except ValueError as error:
        raise InputError(f"--display {arguments.display!r}: a number as the display shows it, as 7.02") from error
    unit_name, band = _band(arguments.quantity, arguments.unit_name)
    address, functions = _register(arguments.address)
    question = Question(
        unit=_number(str(arguments.unit), "--unit", 0, 255),
        address=address,
        functions=(arguments.function,) if arguments.function else functions,
        types=_types(arguments.type),
        display=display,
        band=band,
        quantity=arguments.quantity or "",
        unit_name=unit_name,
        block=_block(arguments.block),
        timeout_s=_seconds(arguments.timeout) or 1.0,
    )
    bus = bus_of(arguments.port, _setting(arguments), _kind(arguments.kind))
    return run_probe(bus, question, sys.stdout, as_json=arguments.json)


def _read(arguments: argparse.Namespace) -> int:
    from gateway.drivers.read import run_read
    from gateway.units import parse_duration_us

    site = load_site(arguments.site)
    every_us = None
    if arguments.watch or arguments.every is not None:
        try:
            every_us = parse_duration_us(arguments.every or "2 s")
        except ValueError as error:
            raise InputError(f"--every: {error}") from error
    chosen = arguments.channels
    return run_read(site, chosen, sys.stdout, as_json=arguments.json, every_us=every_us, facts=arguments.facts)


def _setup(arguments: argparse.Namespace) -> int:
    from gateway.setup import read_answers, run_setup

    given = read_answers(arguments.answers) if arguments.answers is not None else {}
    site = {
        key: value
        for key, value in (
            ("id", arguments.id), ("name", arguments.name), ("discharger", arguments.discharger),
            ("time_zone", arguments.time_zone), ("ordinances", arguments.ordinances),
        )
        if value is not None
    }  # fmt: skip
    line = {
        key: value for key, value in (("port", arguments.port), ("scan", arguments.scan or None)) if value is not None
    }
    for table, number, values in (("site", "", site), ("bus", "1", line)):
        part = given.setdefault(table, {})
        (part.setdefault(number, {}) if number else part).update(values)
    force, silent, offline = arguments.force, arguments.no_questions, arguments.offline
    return run_setup(
        arguments.site, given, sys.stdin, sys.stdout, sys.stderr, force=force, silent=silent, offline=offline
    )


def _setting(arguments: argparse.Namespace) -> "Setting":
    from gateway.drivers.target import Setting

    return Setting(_number(str(arguments.baud), "--baud", 300, 921_600), arguments.parity, arguments.stop_bits)


def _register(text: str) -> tuple[int, tuple[int, ...]]:
    """The manual's number within its table, and the functions it can be read with: 42092 is holding register 2092."""
    try:
        number = int(text, 0)
    except ValueError as error:
        raise InputError(f"--address {text!r}: a register number, as 2092, 0x082B or 42092") from error
    for function, first in ((3, 40_001), (4, 30_001)):
        if first <= number < first + 9_999 and not text.lower().startswith("0x"):
            return number - first + 1, (function,)
    if not 0 <= number <= 0xFFFF:
        raise InputError(f"--address {text!r}: registers run from 0 to 65535")
    return number, (3, 4)


def _types(text: str | None) -> tuple[str, ...]:
    from gateway.drivers.probe_candidates import FULL_NAMES
    from gateway.drivers.registers import TYPES

    chosen = tuple(FULL_NAMES.get(part.lower(), part.lower()) for part in _parts(text))
    for type_name in chosen:
        if type_name not in TYPES:
            raise InputError(f"--type {type_name!r}: one of {', '.join((*FULL_NAMES, *TYPES))}")
    return chosen


def _band(quantity: str | None, unit_name: str | None) -> tuple[str, tuple[float, float] | None]:
    """The unit of the number and where it can lie in it."""
    from gateway.site_channels import DEFAULT_FAIL_SPANS
    from gateway.units import canonical_unit, conversion, quantity_units

    try:
        units = quantity_units(quantity) if quantity else ()
        unit = canonical_unit(unit_name) if unit_name else next(iter(units), "")
    except ValueError as error:
        raise InputError(str(error)) from error
    if units and unit not in units:
        raise InputError(f"{quantity} is measured in {', '.join(units)}, not in {unit}")
    spans = {**DEFAULT_FAIL_SPANS, "temperature": (-5.0, 60.0, "degC")}  # ours: a sewer, and not the widest of sensors
    span = spans.get(quantity or "")
    if span is None:
        return unit, None
    convert = conversion(span[2], unit)
    return unit, (convert(span[0]), convert(span[1]))


def _block(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    start, _, count = text.partition(":")
    return _number(start, "--block", 0, 0xFFFF), _number(count, "--block", 1, 125)


def _kind(text: str) -> str:
    from gateway.drivers.modbus import ModbusLine
    from gateway.site import Bus

    if text:
        try:
            ModbusLine(Bus("line", text))
        except ValueError as error:
            raise InputError(f"--kind {text!r}: {error}") from error
    return text


def _parts(text: str | None) -> tuple[str, ...]:
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def _number(text: str, option: str, low: int, high: int) -> int:
    try:
        number = int(text, 0)
    except ValueError as error:
        raise InputError(f"{option} {text!r}: a whole number") from error
    if not low <= number <= high:
        raise InputError(f"{option} {text}: from {low} to {high}")
    return number


def _seconds(value: float | None) -> float | None:
    if value is not None and not 0.01 <= value <= 60:
        raise InputError(f"--timeout {value:g}: from 0.01 to 60 seconds")
    return value
