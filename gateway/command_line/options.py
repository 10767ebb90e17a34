"""What several commands take: the site file, the state directory, machine-readable output."""

import argparse
from pathlib import Path

from gateway.errors import InputError
from gateway.site import Site

__all__ = ["json_option", "load_site", "must_exist", "site_file", "state_option"]


def site_file(parser: argparse.ArgumentParser) -> None:
    """The site file as the first argument."""
    parser.add_argument("site", type=Path, metavar="SITE", help="the site file (TOML)")


def state_option(parser: argparse.ArgumentParser) -> None:
    """Where the running gateway keeps its journal and its control socket."""
    where = "the gateway's state directory (default: $STATE_DIRECTORY, else that of your user; by the site's id)"
    parser.add_argument("--state", type=Path, metavar="DIR", help=where)


def json_option(parser: argparse.ArgumentParser) -> None:
    """Data for programs instead of for people."""
    parser.add_argument("--json", action="store_true", help="machine-readable output")


def load_site(path: Path, *, for_replay: bool = False) -> Site:
    """The site of a file. Raises InputError where there is none, ConfigError for its mistakes."""
    from gateway.config import load

    must_exist(path)
    return load(path, for_replay=for_replay)


def must_exist(path: Path) -> None:
    """Raises InputError for a file that is not there."""
    if not path.exists():
        raise InputError(f"{path}: no such file")
