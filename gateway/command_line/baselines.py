"""`baselines`: what is normal, and the approval of a drift."""

import argparse
import sys

from gateway.command_line.options import json_option, state_option

__all__ = ["add"]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The `baselines` commands."""
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
        state_option(action)
        json_option(action)


def _baseline_list(arguments: argparse.Namespace) -> int:
    from gateway.baseline_actions import run_list

    return run_list(arguments.state, sys.stdout, as_json=arguments.json)


def _baseline_approve(arguments: argparse.Namespace) -> int:
    from gateway.baseline_actions import run_approve

    channel, by, reason = arguments.channel, arguments.by, arguments.reason
    return run_approve(arguments.state, channel, by, reason, sys.stdout, as_json=arguments.json)
