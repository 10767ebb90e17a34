"""`maintenance` over the control socket of a running gateway, and what people see of it."""

import asyncio
import io
from pathlib import Path
from typing import Any

import pytest

from gateway.__main__ import main
from gateway.app import GatewayApp
from gateway.control import ask, socket_path
from gateway.maintenance_actions import run_list, run_start, run_stop
from gateway.model import Sample
from gateway.status import run_status
from tests.support.journal_rows import events
from tests.unit.test_app import call, with_app


async def printed(run: Any, *args: Any, **options: Any) -> tuple[int, str]:
    """Exit status and output of one body of the command line, in a thread: it asks the gateway of this loop."""
    out = io.StringIO()
    status = await asyncio.to_thread(lambda: run(*args, out, **options))
    return status, out.getvalue()


def test_from_start_to_stop(tmp_path: Path) -> None:
    """Who, until when and why are in the answer, in `status` and in `list`; a refusal says why with status 1."""

    async def body(app: GatewayApp) -> None:
        where = app.state_directory
        plain = {"station": False, "as_json": False}
        status, said = await printed(run_start, where, ["ph"], "J. Tech", "new glass", "30 min", **plain)
        assert status == 0
        assert said.startswith("MAINTENANCE ph until ")
        assert said.splitlines()[0].endswith(": new glass")
        assert "J. Tech since " in said
        at = app.now()
        app._deliver((Sample("ph", at, (), 3.1),), at)
        _, seen = await printed(run_status, where, as_json=False)
        assert "MAINTENANCE ph until " in seen
        (line,) = [line for line in seen.splitlines() if line.startswith("ph ")]
        assert " C " in line
        assert "no alarm stands" in seen
        status, said = await printed(run_start, where, ["ph"], "A. Other", "too", None, **plain)
        assert status == 1
        assert said.startswith("refused: ph is in maintenance already, by J. Tech (new glass)")
        status, said = await printed(run_stop, where, ["ph"], "J. Tech", **plain)
        assert status == 0
        assert "MAINTENANCE ph stopped" in said
        assert "the first minutes after it are doubtful" in said
        status, said = await printed(run_list, where, as_json=True)
        assert '"today_s"' in said
        health = await app.status()
        assert health["maintenance"][0]["state"] == "stopped"

    asyncio.run(with_app(tmp_path, body))
    notes = [n["body"] for n in events(tmp_path / "state" / "journal.db", "note") if n["kind"] == "maintenance"]
    assert [(n["event"], n["actor"], n["via"]) for n in notes] == [
        ("started", "J. Tech", "control socket"),
        ("stopped", "J. Tech", "control socket"),
    ]


def test_the_answer_comes_after_the_record(tmp_path: Path) -> None:
    """When the caller has the answer, the journal on disk holds the note; the same id twice is one note."""

    async def body(app: GatewayApp) -> None:
        first = await call(app, "maintenance", action="start", channels=["ph"], reason="r", id="one")
        journal = app.state_directory / "journal.db"
        assert [n["body"]["id"] for n in events(journal, "note") if n["kind"] == "maintenance"] == ["one"]
        assert await call(app, "maintenance", action="start", channels=["ph"], reason="r", id="one") == first
        refused = await call(app, "maintenance", action="start", channels=[7], reason="r")
        assert refused["error"] == "channels is a list of names"
        odd = await ask(socket_path(app.state_directory), {"command": "maintenance", "actor": None, "args": {}})
        assert odd["ok"]  # a list needs no name
        assert len([n for n in events(journal, "note") if n["kind"] == "maintenance"]) == 1

    asyncio.run(with_app(tmp_path, body))


def test_the_command_line_says_what_it_wants(capsys: Any, tmp_path: Path) -> None:
    """Without a gateway it says so; without a name or a reason it does not even ask."""
    assert main(["maintenance", "list", "--state", str(tmp_path)]) == 1
    assert "no gateway answers" in capsys.readouterr().err
    for words in (["start", "ph", "--by", "A"], ["start", "ph", "--reason", "r"], ["stop", "ph"]):
        with pytest.raises(SystemExit, match="2"):
            main(["maintenance", *words, "--state", str(tmp_path)])
        assert "required" in capsys.readouterr().err
