"""The command line. It parses and prints; each command's body lives with what it commands.

Data goes to stdout, diagnostics to stderr. Exit status: 0 done; 1 the answer is "no"; 2 usage; 66 input missing;
78 configuration.
"""

import argparse
import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable, Coroutine, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from gateway import __version__
from gateway.clock import Clock, ScaledClock, SystemClock
from gateway.errors import ConfigError, GatewayError, InputError
from gateway.site import Site

__all__ = ["main"]

EX_OK, EX_NO, EX_USAGE, EX_NOINPUT, EX_CONFIG = 0, 1, 2, 66, 78


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    parser = _parser()
    arguments, rest = parser.parse_known_args(argv)
    if rest and arguments.body is not _simulate:
        parser.error(f"unrecognised arguments: {' '.join(rest)}")
    arguments.rest = rest
    logging.basicConfig(
        level=logging.DEBUG if arguments.verbose else logging.INFO,
        stream=sys.stderr,
        format="%(levelname)s %(name)s: %(message)s",
    )
    try:
        return int(arguments.body(arguments))
    except ConfigError as error:
        for problem in error.problems:
            print(problem, file=sys.stderr)
        return EX_CONFIG
    except InputError as error:
        print(error, file=sys.stderr)
        return EX_NOINPUT
    except GatewayError as error:
        print(error, file=sys.stderr)
        return EX_NO
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # the reader of a pipe left; that is its right
        return EX_OK
    except KeyboardInterrupt:
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="manhole-gateway", description=import_module("gateway").__doc__)
    parser.add_argument("--version", action="version", version=f"manhole-gateway {__version__}")
    parser.add_argument("-v", "--verbose", action="store_true", help="diagnostics in full, on stderr")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    run = commands.add_parser("run", help="the gateway in the foreground")
    _site_file(run)
    _state(run)
    run.add_argument("--bench-clock", metavar="SPEED[@MONO_US/UTC_US]", help="a scaled clock, for the bench only")
    run.set_defaults(body=_run)

    demo = commands.add_parser("demo", help="simulators, a broker and the gateway, all in one")
    demo.add_argument("--scenario", default="demo", help="which story (`simulate --help` names them), or a file")
    demo.add_argument("--speed", type=float, help="virtual seconds in every real one")
    demo.add_argument("--duration", metavar="2min", help="how long to show, in real time")
    demo.add_argument("--no-web", action="store_true", help="without the local page (this release has none)")
    demo.add_argument("--svg", type=Path, metavar="FILE", help="save the last picture here")
    _json(demo)
    demo.set_defaults(body=_demo)

    check = commands.add_parser("check", help="every mistake of a site file at once")
    _site_file(check)
    _json(check)
    check.set_defaults(body=_check)

    replay = commands.add_parser("replay", help="a recorded series through the same pipeline")
    _site_file(replay)
    replay.add_argument("data", type=Path, metavar="DATA.csv", help="the series: `time`, then one column per channel")
    replay.add_argument(
        "--map", type=Path, metavar="FILE", help="TOML that renames columns and gives units and quality codes"
    )
    replay.add_argument(
        "--compare", type=Path, metavar="OTHER", help="another site file on the same data, side by side"
    )
    replay.add_argument("--time-zone", metavar="ZONE", help="the zone of times without an offset")
    _json(replay)
    replay.set_defaults(body=_replay)

    read = commands.add_parser("read", help="values with raw words, straight from the instruments")
    _site_file(read)
    read.add_argument("channels", nargs="*", metavar="CHANNEL", help="only these (default: all that are wired)")
    _json(read)
    read.set_defaults(body=_read)

    _alarms(commands)

    simulate = commands.add_parser("simulate", help="the simulated instruments alone", add_help=False)
    simulate.set_defaults(body=_simulate)

    status = commands.add_parser("status", help="health of the running gateway")
    _state(status)
    _json(status)
    status.set_defaults(body=_status)

    _lab(commands)
    _baselines(commands)

    schema = commands.add_parser("schema", help="JSON Schema of the site file, or of an ordinance pack")
    schema.add_argument("--pack", action="store_true", help="of an ordinance pack")
    schema.set_defaults(body=_schema)
    return parser


def _alarms(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    alarms = commands.add_parser("alarms", help="list, acknowledge, shelve, take out of service")
    actions = alarms.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every alarm that is not normal")
    listing.add_argument("--all", action="store_true", help="the normal ones too")
    _state(listing)
    _json(listing)
    listing.set_defaults(body=_alarm_list)
    for name, words in (
        ("ack", "acknowledge"),
        ("shelve", "put aside for a while"),
        ("unshelve", "take up again"),
        ("out-of-service", "take out of service"),
        ("return", "return to service"),
        ("reset", "reset a latched alarm"),
    ):
        action = actions.add_parser(name, help=words)
        action.add_argument("alarm", metavar="ALARM", help="as `alarms list` names it")
        action.add_argument("--by", required=True, metavar="NAME", help="who does it")
        if name == "ack":
            action.add_argument("--occurrence", type=int, help="only if this is still the one that stands")
        if name in ("shelve", "out-of-service"):
            action.add_argument("--reason", required=True, metavar="WORDS", help="why; it is kept")
        if name == "shelve":
            action.add_argument("--for", dest="duration", metavar="2h", help="without it, for the present occurrence")
        _state(action)
        _json(action)
        action.set_defaults(body=_alarm_action, action=name)


def _baselines(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    baselines = commands.add_parser("baselines", help="what is normal: list all three of each channel, approve a drift")
    actions = baselines.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="declared, operating and literal side by side, and which is in force")
    listing.set_defaults(body=_baseline_list)
    approve = actions.add_parser("approve", help="what is measured now is what later drift is compared with")
    approve.add_argument("channel", metavar="CHANNEL", help="as `baselines list` names it")
    approve.add_argument("--by", required=True, metavar="NAME", help="who does it")
    approve.add_argument("--reason", required=True, metavar="WORDS", help="why; it is kept")
    approve.set_defaults(body=_baseline_approve)
    for action in (listing, approve):
        _state(action)
        _json(action)


def _site_file(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("site", type=Path, metavar="SITE", help="the site file (TOML)")


def _lab(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
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
        _state(action)
        _json(action)


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


def _state(parser: argparse.ArgumentParser) -> None:
    where = "the gateway's state directory (default: $STATE_DIRECTORY, else that of your user; by the site's id)"
    parser.add_argument("--state", type=Path, metavar="DIR", help=where)


def _json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def _run(arguments: argparse.Namespace) -> int:
    from gateway.app import GatewayApp
    from gateway.state_dir import state_directory

    site = _site(arguments.site)
    state = state_directory(site.id, arguments.state)
    app = GatewayApp(site, _clock(arguments.bench_clock), state)
    counts = f"{len(site.channels)} channels, {len(site.rules)} rules"
    logging.getLogger(__name__).info("%s: %s; journal and control socket in %s", site.id, counts, state)
    return asyncio.run(_until_signalled(app.run()))


async def _until_signalled(body: Coroutine[Any, Any, None]) -> int:
    task = asyncio.create_task(body, name="gateway")
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        return EX_OK
    return EX_OK


def _clock(text: str | None) -> Clock:
    if text is None:
        return SystemClock()
    speed, _, anchor = text.partition("@")
    mono_us, _, utc_us = anchor.partition("/")
    try:
        return ScaledClock(float(speed), int(mono_us) if mono_us else None, int(utc_us) if utc_us else None)
    except ValueError as error:
        raise InputError(f"--bench-clock {text!r}: {error}") from error


def _site(path: Path, *, for_replay: bool = False) -> Site:
    from gateway.config import load

    _must_exist(path)
    return load(path, for_replay=for_replay)


def _must_exist(path: Path) -> None:
    if not path.exists():
        raise InputError(f"{path}: no such file")


def _demo(arguments: argparse.Namespace) -> int:
    body = _bench("simulators.demo", "run_demo")
    return int(body(arguments, sys.stdout))


def _simulate(arguments: argparse.Namespace) -> int:
    return int(_bench("simulators.simulate", "main")(arguments.rest))


def _bench(module: str, name: str) -> Callable[..., Any]:
    """The bench, imported only when asked for: a gateway in a cabinet never loads it."""
    try:
        body: Callable[..., Any] = getattr(import_module(module), name)
    except ModuleNotFoundError as error:
        if error.name and error.name.startswith("simulators"):
            raise
        raise InputError(f"the bench needs {error.name}: install manhole-gateway[bench]") from error
    return body


def _check(arguments: argparse.Namespace) -> int:
    from gateway.check import run_check

    _must_exist(arguments.site)
    return run_check(arguments.site, as_json=arguments.json, out=sys.stdout)


def _replay(arguments: argparse.Namespace) -> int:
    from gateway.drivers.recorded import read_map
    from gateway.drivers.replay import run_replay

    site = _site(arguments.site, for_replay=True)
    mapping = None if arguments.map is None else read_map(arguments.map)
    if arguments.compare is not None:
        from gateway.drivers.compare import run_compare

        other = _site(arguments.compare, for_replay=True)
        return run_compare(site, other, arguments.data, sys.stdout, mapping=mapping, time_zone=arguments.time_zone)
    return run_replay(site, arguments.data, sys.stdout, mapping=mapping, time_zone=arguments.time_zone)


def _read(arguments: argparse.Namespace) -> int:
    from gateway.drivers.read import run_read

    site = _site(arguments.site)
    return run_read(site, arguments.channels, sys.stdout, as_json=arguments.json)


def _alarm_list(arguments: argparse.Namespace) -> int:
    from gateway.operator_actions import run_list

    return run_list(arguments.state, sys.stdout, as_json=arguments.json, everything=arguments.all)


def _alarm_action(arguments: argparse.Namespace) -> int:
    from gateway.operator_actions import run_action

    args = {
        key: value
        for key, value in (
            ("alarm", arguments.alarm),
            ("occurrence", getattr(arguments, "occurrence", None)),
            ("reason", getattr(arguments, "reason", None)),
            ("for", getattr(arguments, "duration", None)),
        )
        if value is not None
    }
    return run_action(arguments.state, arguments.action, arguments.by, args, sys.stdout, as_json=arguments.json)


def _baseline_list(arguments: argparse.Namespace) -> int:
    from gateway.baseline_actions import run_list

    return run_list(arguments.state, sys.stdout, as_json=arguments.json)


def _baseline_approve(arguments: argparse.Namespace) -> int:
    from gateway.baseline_actions import run_approve

    channel, by, reason = arguments.channel, arguments.by, arguments.reason
    return run_approve(arguments.state, channel, by, reason, sys.stdout, as_json=arguments.json)


def _status(arguments: argparse.Namespace) -> int:
    from gateway.state_dir import find_state_directory
    from gateway.status import run_status

    return run_status(find_state_directory(arguments.state), sys.stdout, as_json=arguments.json)


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


def _schema(arguments: argparse.Namespace) -> int:
    from gateway.schema import run_pack_schema, run_schema

    return run_pack_schema(sys.stdout) if arguments.pack else run_schema(sys.stdout)


if __name__ == "__main__":
    sys.exit(main())
