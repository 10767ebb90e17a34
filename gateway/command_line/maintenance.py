"""`maintenance`: say that somebody works on a channel, and that it is over."""

import argparse
import sys

from gateway.command_line.options import json_option, state_option

__all__ = ["add"]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The `maintenance` commands."""
    maintenance = commands.add_parser("maintenance", help="work on a channel without being judged: start, stop, list")
    actions = maintenance.add_subparsers(title="actions", metavar="ACTION", required=True)
    start = actions.add_parser("start", help="recorded, flagged C and judged by no rule, until it is stopped or over")
    start.add_argument("--reason", required=True, metavar="WORDS", help="why; it is kept")
    start.add_argument("--for", dest="lasts", metavar="60min", help="how long at most (default: 60 min)")
    start.set_defaults(body=_start)
    stop = actions.add_parser("stop", help="the work is done; also signs off what expired")
    stop.set_defaults(body=_stop)
    listing = actions.add_parser("list", help="who works on what, since when, until when, why; minutes of today")
    listing.set_defaults(body=_list)
    for action in (start, stop):
        action.add_argument("channels", nargs="*", metavar="CHANNEL", help="as the site file names it")
        action.add_argument("--station", action="store_true", help="every channel")
        action.add_argument("--by", required=True, metavar="NAME", help="who does it")
    for action in (start, stop, listing):
        state_option(action)
        json_option(action)


def _start(arguments: argparse.Namespace) -> int:
    from gateway.maintenance_actions import run_start

    where, channels, by, why = arguments.state, arguments.channels, arguments.by, arguments.reason
    station, as_json = arguments.station, arguments.json
    return run_start(where, channels, by, why, arguments.lasts, sys.stdout, station=station, as_json=as_json)


def _stop(arguments: argparse.Namespace) -> int:
    from gateway.maintenance_actions import run_stop

    where, channels, by = arguments.state, arguments.channels, arguments.by
    return run_stop(where, channels, by, sys.stdout, station=arguments.station, as_json=arguments.json)


def _list(arguments: argparse.Namespace) -> int:
    from gateway.maintenance_actions import run_list

    return run_list(arguments.state, sys.stdout, as_json=arguments.json)
