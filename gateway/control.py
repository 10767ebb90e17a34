"""The control socket: one JSON line in, one JSON line out, for whoever may open it (the state directory's owner).

The command line, the local page and the push-button all speak this; what a command does lives in `commands`.
"""

import asyncio
import contextlib
import json
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any

from gateway.errors import ConfigError, GatewayError, InputError, Problem
from gateway.state_dir import find_state_directory

__all__ = ["NotRunningError", "ask", "ask_running", "serve", "socket_path"]

_log = logging.getLogger(__name__)
_LINE_LIMIT = 1 << 20
_LONGEST_PATH = 107  # unix(7): sun_path holds 108 bytes with its end

Answer = Callable[[dict[str, Any]], Awaitable[dict[str, Any]]]


class NotRunningError(GatewayError):
    """No gateway answers on the control socket."""


def socket_path(state_directory: Path) -> Path:
    """Where the gateway of this state directory listens."""
    return state_directory / "control.sock"


@contextlib.asynccontextmanager
async def serve(path: Path, answer: Answer) -> AsyncIterator[None]:
    """Listen while the context lasts. A line that is no JSON object is answered with its error, never fatal.

    Raises ConfigError for a path that no socket can have; a disk that takes none is logged, and nobody listens.
    """

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                writer.write((json.dumps(await _answer_line(line, answer), allow_nan=False) + "\n").encode())
                await writer.drain()
        except (ConnectionError, asyncio.LimitOverrunError, ValueError) as error:
            _log.info("control socket: a caller left: %s", error)
        finally:
            writer.close()

    if len(os.fsencode(path)) > _LONGEST_PATH:
        text = f"{path} is too long for a socket ({_LONGEST_PATH} bytes); choose a shorter --state"
        raise ConfigError([Problem("command line", "--state", None, text)])
    umask = os.umask(0o077)
    try:
        _unlink(path)
        server = await asyncio.start_unix_server(talk, path, limit=_LINE_LIMIT)
    except OSError as error:
        # A disk that takes no socket takes no journal either; measuring goes on without both.
        _log.error("control socket: %s: %s; no command reaches this gateway", path, error.strerror)
        yield
        return
    finally:
        os.umask(umask)
    try:
        yield
    finally:
        server.close()
        _unlink(path)


def _unlink(path: Path) -> None:
    path.unlink(missing_ok=True)


async def _answer_line(line: bytes, answer: Answer) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError) as error:
        return {"ok": False, "error": f"not JSON: {error}"}
    if not isinstance(request, dict):
        return {"ok": False, "error": "a request is a JSON object"}
    if not isinstance(request.get("args") or {}, dict):
        return {"ok": False, "error": "args is a JSON object"}
    try:
        return await answer(request)
    except Exception as error:  # noqa: BLE001  # the task boundary of one caller: who asks is answered
        _log.exception("control socket: %s", request.get("command"))
        return {"ok": False, "error": f"{type(error).__name__}: {error}"}


def _why_silent(error: OSError | TimeoutError) -> str:
    """What to do about a gateway that does not answer, after its path."""
    match error:
        case FileNotFoundError() | ConnectionRefusedError():
            return ": it is not running; start it with `manhole-gateway run SITE`, or say with --state where it is"
        case PermissionError():
            return ": it belongs to another user; ask as the one who runs it"
        case TimeoutError():
            return ": it runs, but gave no answer in time"
    return f": {error.strerror}"


async def ask(path: Path, request: dict[str, Any], timeout_s: float = 10.0) -> dict[str, Any]:
    """Send one request and return its answer.

    NotRunningError when nobody listens or answers in time, InputError for a number that is none or has no end.
    """
    try:
        asked = (json.dumps(request, allow_nan=False) + "\n").encode()
    except ValueError as error:
        raise InputError("a number in it is not finite; leave out what is not known") from error
    try:
        async with asyncio.timeout(timeout_s):
            reader, writer = await asyncio.open_unix_connection(path, limit=_LINE_LIMIT)
            try:
                writer.write(asked)
                await writer.drain()
                line = await reader.readline()
            finally:
                writer.close()
    except (OSError, TimeoutError) as error:
        raise NotRunningError(f"no gateway answers on {path}{_why_silent(error)}") from error
    if not line:
        raise NotRunningError(f"the gateway on {path} hung up without an answer")
    answer = json.loads(line)
    if not isinstance(answer, dict):
        raise NotRunningError(f"the gateway on {path} answered no JSON object")
    if why := answer.get("not_recorded"):  # whoever asked learns it on any path, also beside --json
        _log.warning("NOT ON RECORD YET, the gateway cannot write its journal: %s", why)
    return answer


def ask_running(state: Path | None, request: dict[str, Any]) -> dict[str, Any]:
    """Ask the gateway of a state directory, the one there is when none is named. Raises as `ask`, and InputError."""
    return asyncio.run(ask(socket_path(find_state_directory(state)), request))
