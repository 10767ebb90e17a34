"""`outputs` and `sampler`: what is driven, and what is sampled."""

import argparse
import sys

from gateway.command_line.options import json_option, state_option

__all__ = ["add"]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The `outputs` and `sampler` commands."""
    outputs = commands.add_parser("outputs", help="horn, beacon, valve, relays: list, test, switch, release")
    actions = outputs.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("list", help="every output as it stands, and why")
    listing.set_defaults(body=_outputs, action="list")
    for name, words in (
        ("test", "one pulse, to hear or see that it works"),
        ("on", "on until it is released; a valve is shut"),
        ("off", "off until it is released"),
        ("release", "leave it to itself again; a valve is opened"),
    ):
        action = actions.add_parser(name, help=words)
        action.add_argument("output", metavar="NAME", help="as `outputs list` names it")
        action.add_argument("--by", required=True, metavar="WHO", help="who does it")
        action.add_argument("--reason", required=True, metavar="WORDS", help="why; it is kept")
        action.set_defaults(body=_outputs, action=name)
    _common(actions)

    sampler = commands.add_parser("sampler", help="the composite and the event bottles: status, start, stop, collected")
    actions = sampler.add_subparsers(title="actions", metavar="ACTION", required=True)
    status = actions.add_parser("status", help="the composite under way, and the bottles")
    status.set_defaults(body=_sampler, action="status")
    for name, words in (
        ("start", "begin a composite"),
        ("stop", "end it before its time"),
        ("collected", "the composite's bottle was taken away"),
        ("bottles", "the event bottles were taken away and fresh ones set"),
    ):
        action = actions.add_parser(name, help=words)
        action.add_argument("--by", required=True, metavar="WHO", help="who does it: part of the custody")
        if name == "start":
            action.add_argument("--bottle", default="", metavar="NUMBER", help="what stands on the bottle")
        if name in ("start", "stop"):
            action.add_argument("--reason", default="", metavar="WORDS", help="what for; it is kept")
        action.set_defaults(body=_sampler, action=name)
    _common(actions)


def _common(actions: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    for action in actions.choices.values():
        state_option(action)
        json_option(action)


def _outputs(arguments: argparse.Namespace) -> int:
    from gateway.output_actions import run_outputs

    args = {"action": arguments.action, "output": getattr(arguments, "output", "")}
    args["reason"] = getattr(arguments, "reason", "")
    return run_outputs(arguments.state, getattr(arguments, "by", ""), args, sys.stdout, as_json=arguments.json)


def _sampler(arguments: argparse.Namespace) -> int:
    from gateway.output_actions import run_sampler

    args = {"action": arguments.action, "bottle": getattr(arguments, "bottle", "")}
    args["reason"] = getattr(arguments, "reason", "")
    return run_sampler(arguments.state, getattr(arguments, "by", ""), args, sys.stdout, as_json=arguments.json)
