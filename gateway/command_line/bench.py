"""`demo` and `simulate`: the bench, imported only when asked for."""

import argparse
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from gateway.command_line.options import json_option
from gateway.errors import InputError

__all__ = ["add"]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The `demo` and `simulate` commands."""
    demo = commands.add_parser("demo", help="simulators, a broker and the gateway, all in one")
    demo.add_argument("--scenario", default="demo", help="which story (`simulate --help` names them), or a file")
    demo.add_argument("--speed", type=float, help="virtual seconds in every real one")
    demo.add_argument("--duration", metavar="2min", help="how long to show, in real time")
    demo.add_argument("--no-web", action="store_true", help="without the local page (this release has none)")
    demo.add_argument("--svg", type=Path, metavar="FILE", help="save the last picture here")
    json_option(demo)
    demo.set_defaults(body=_demo)

    simulate = commands.add_parser("simulate", help="the simulated instruments alone", add_help=False)
    simulate.set_defaults(body=_simulate, takes_rest=True)


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
