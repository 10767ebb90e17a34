"""`check`, `replay`, `schema`: commands about a site file."""

import argparse
import sys
from pathlib import Path

from gateway.command_line.options import json_option, load_site, must_exist, site_file

__all__ = ["add"]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The commands about a site file."""
    check = commands.add_parser("check", help="every mistake of a site file at once")
    site_file(check)
    given = "hold the last values of this journal's directory against the spans"
    check.add_argument("--state", type=Path, metavar="DIR", help=given)
    json_option(check)
    check.set_defaults(body=_check)

    replay = commands.add_parser("replay", help="a recorded series through the same pipeline")
    site_file(replay)
    replay.add_argument("data", type=Path, metavar="DATA.csv", help="the series: `time`, then one column per channel")
    replay.add_argument(
        "--map", type=Path, metavar="FILE", help="TOML that renames columns and gives units and quality codes"
    )
    replay.add_argument(
        "--compare", type=Path, metavar="OTHER", help="another site file on the same data, side by side"
    )
    replay.add_argument("--time-zone", metavar="ZONE", help="the zone of times without an offset")
    json_option(replay)
    replay.set_defaults(body=_replay)

    schema = commands.add_parser("schema", help="JSON Schema of the site file, or of an ordinance pack")
    schema.add_argument("--pack", action="store_true", help="of an ordinance pack")
    schema.set_defaults(body=_schema)


def _check(arguments: argparse.Namespace) -> int:
    from gateway.check import run_check

    must_exist(arguments.site)
    return run_check(arguments.site, as_json=arguments.json, out=sys.stdout, state=arguments.state)


def _replay(arguments: argparse.Namespace) -> int:
    from gateway.drivers.recorded import read_map
    from gateway.drivers.replay import run_replay

    site = load_site(arguments.site, for_replay=True)
    mapping = None if arguments.map is None else read_map(arguments.map)
    if arguments.compare is not None:
        from gateway.drivers.compare import run_compare

        other = load_site(arguments.compare, for_replay=True)
        return run_compare(site, other, arguments.data, sys.stdout, mapping=mapping, time_zone=arguments.time_zone)
    return run_replay(site, arguments.data, sys.stdout, mapping=mapping, time_zone=arguments.time_zone)


def _schema(arguments: argparse.Namespace) -> int:
    from gateway.schema import run_pack_schema, run_schema

    return run_pack_schema(sys.stdout) if arguments.pack else run_schema(sys.stdout)
