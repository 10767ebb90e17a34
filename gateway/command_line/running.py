"""`run` and `status`: the gateway in the foreground, and its health."""

import argparse
import asyncio
import logging
import signal
import sys
from collections.abc import Coroutine
from typing import Any

from gateway.clock import Clock, ScaledClock, SystemClock
from gateway.command_line.options import json_option, load_site, site_file, state_option
from gateway.errors import InputError

__all__ = ["add"]


def add(commands: "argparse._SubParsersAction[argparse.ArgumentParser]") -> None:
    """The `run` and `status` commands."""
    run = commands.add_parser("run", help="the gateway in the foreground")
    site_file(run)
    state_option(run)
    run.add_argument("--bench-clock", metavar="SPEED[@MONO_US/UTC_US]", help="a scaled clock, for the bench only")
    run.set_defaults(body=_run)

    status = commands.add_parser("status", help="health of the running gateway")
    state_option(status)
    json_option(status)
    status.set_defaults(body=_status)


def _run(arguments: argparse.Namespace) -> int:
    from gateway.app import GatewayApp
    from gateway.state_dir import state_directory

    site = load_site(arguments.site)
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
        return 0
    return 0


def _clock(text: str | None) -> Clock:
    if text is None:
        return SystemClock()
    speed, _, anchor = text.partition("@")
    mono_us, _, utc_us = anchor.partition("/")
    try:
        return ScaledClock(float(speed), int(mono_us) if mono_us else None, int(utc_us) if utc_us else None)
    except ValueError as error:
        raise InputError(f"--bench-clock {text!r}: {error}") from error


def _status(arguments: argparse.Namespace) -> int:
    from gateway.state_dir import find_state_directory
    from gateway.status import run_status

    return run_status(find_state_directory(arguments.state), sys.stdout, as_json=arguments.json)
