"""The command line. It parses and prints; each command's body lives with what it commands.

The commands themselves are in `gateway/command_line`, by subject.

Data goes to stdout, diagnostics to stderr. Exit status: 0 done; 1 the answer is "no"; 2 usage; 66 input missing;
78 configuration.
"""

import argparse
import logging
import os
import sys
from collections.abc import Sequence
from importlib import import_module

from gateway import __version__
from gateway.command_line import (
    alarms,
    baselines,
    bench,
    calibrate,
    commission,
    lab,
    maintenance,
    outputs,
    running,
    site,
)
from gateway.errors import ConfigError, GatewayError, InputError

__all__ = ["main"]

EX_OK, EX_NO, EX_USAGE, EX_NOINPUT, EX_CONFIG = 0, 1, 2, 66, 78


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; returns its exit status."""
    parser = _parser()
    arguments, rest = parser.parse_known_args(argv)
    if rest and not getattr(arguments, "takes_rest", False):
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
    for subject in (running, bench, site, commission, alarms, lab, baselines, maintenance, calibrate, outputs):
        subject.add(commands)
    return parser


if __name__ == "__main__":
    sys.exit(main())
