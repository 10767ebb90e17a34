"""Whatever comes down the control socket: each line is answered with one object, and the next caller is served."""

import asyncio
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gateway.alarms.engine import AlarmEngine
from gateway.commands import Command, execute
from gateway.control import serve
from tests.support.alarm_site import alarm_site, at

GOOD = b'{"command": "ask"}\n'
LINES = {
    "a list": b"[1]\n",
    "NULs": b"\0\0\n",
    "bytes that are no text": b"\xff\xfe\n",
    "arguments in a list": b'{"command": "ask", "args": [1]}\n',
    "arguments that are a word": b'{"command": "ask", "args": "x"}\n',
    "nested without end": b"[" * 100_000 + b"\n",
    "objects without end": b'{"a":' * 100_000 + b"\n",
    "a command that fails": b'{"command": "fail"}\n',
    "a number no computer holds": b'{"command": "ask", "id": ' + b"9" * 5000 + b"}\n",
}


async def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Answers, or falls over when asked to."""
    if request.get("command") == "fail":
        raise RuntimeError("a fault of ours")
    return {"ok": True}


@pytest.mark.parametrize("line", LINES.values(), ids=LINES.keys())
def test_every_line_is_answered(tmp_path: Path, line: bytes) -> None:
    """A line that is nonsense, or makes the gateway stumble, is refused with a reason on the same connection."""

    async def talk() -> list[dict[str, Any]]:
        async with serve(tmp_path / "s", answer):
            reader, writer = await asyncio.open_unix_connection(tmp_path / "s")
            writer.write(line + GOOD)
            answers = [json.loads(await reader.readline()) for _ in range(2)]
            writer.close()
            await writer.wait_closed()
            return answers

    refused, served = asyncio.run(talk())
    assert refused["ok"] is False
    assert refused["error"]
    assert served == {"ok": True}


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("ack", {"alarm": "ph", "occurrence": float("inf")}),
        ("resend", {"sink": "s", "from_seq": float("inf"), "to_seq": 1}),
    ],
)
def test_an_infinite_number_is_refused(name: str, args: dict[str, Any]) -> None:
    """JSON's 1e400 is infinity to Python: an answer, not a traceback."""

    gateway = SimpleNamespace(
        answered={}, pipeline=SimpleNamespace(engine=AlarmEngine(alarm_site()), site=alarm_site()), now=lambda: at(0)
    )
    refused = asyncio.run(execute(gateway, Command(name, "Ann", args)))  # type: ignore[arg-type]  # no more is reached
    assert refused["ok"] is False
