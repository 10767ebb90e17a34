"""`alarms`: list, acknowledge, shelve, take out of service."""

import argparse
import sys

from gateway.command_line.options import json_option, state_option

__all__ = ["add"]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The `alarms` commands."""
    alarms = commands.add_parser("alarms", help="list, acknowledge, shelve, take out of service")
    actions = alarms.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every alarm that is not normal")
    listing.add_argument("--all", action="store_true", help="the normal ones too")
    state_option(listing)
    json_option(listing)
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
        state_option(action)
        json_option(action)
        action.set_defaults(body=_alarm_action, action=name)


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
