"""The command line's contract: data on stdout, diagnostics on stderr, and exit statuses that mean something."""

import argparse
import json
import logging
from pathlib import Path

import pytest

from gateway.__main__ import _parser, main
from gateway.shipped import shipped

LITTLE_VALLEY = str(shipped("examples", "little-valley"))


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of one command."""
    try:
        status = main(arguments)
    except SystemExit as exit_:
        status = int(exit_.code or 0)
    captured = capsys.readouterr()
    return status, captured.out, captured.err


@pytest.mark.parametrize(
    ("sentence", "arguments", "status", "on_stderr"),
    [
        ("No command is usage.", [], 2, "COMMAND"),
        ("An unknown command is usage.", ["dance"], 2, "invalid choice"),
        ("A site that is not there is a missing input.", ["check", "nowhere.toml"], 66, "nowhere.toml"),
        ("A series that is not there is a missing input.", ["replay", LITTLE_VALLEY, "nowhere.csv"], 66, "nowhere.csv"),
        ("A map that is not there too.", ["replay", LITTLE_VALLEY, "x.csv", "--map", "no.toml"], 66, "no.toml"),
        ("A channel that is not there is a missing input.", ["read", LITTLE_VALLEY, "phh"], 66, "phh"),
        ("No gateway is the answer no.", ["status", "--state", "/nonexistent"], 1, ""),
        (
            "The same for its alarms.",
            ["alarms", "list", "--state", "/nonexistent"],
            1,
            "start it with `manhole-gateway",
        ),
        ("A clock that makes no sense is said.", ["run", LITTLE_VALLEY, "--bench-clock", "fast"], 66, "bench-clock"),
        ("An unknown scenario is a mistake of configuration.", ["demo", "--scenario", "nope"], 78, "nope"),
        ("The demo may be asked for no page.", ["demo", "--no-web", "--scenario", "nope"], 78, "nope"),
        ("A speed of zero shows nothing.", ["demo", "--speed", "0"], 66, "--speed"),
        ("A duration that is none is said.", ["demo", "--duration", "soon"], 66, "--duration"),
    ],
)
def test_exit_status_and_diagnostics(
    sentence: str, arguments: list[str], status: int, on_stderr: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each failure has its status and its words on stderr; stdout stays clean of diagnostics."""
    got, _, err = run(arguments, capsys)
    assert got == status, (sentence, err)
    assert on_stderr in err


def test_a_broken_site_is_78_with_every_mistake(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """systemd must not restart a gateway that cannot be configured."""
    site = tmp_path / "site.toml"
    site.write_text('[site]\nid = "x"\nnme = "y"\n', encoding="utf-8")
    for command in (["check", str(site)], ["run", str(site)], ["replay", str(site), "x.csv"]):
        status, out, err = run(command, capsys)
        assert status == 78
        assert "site.nme" in out + err


def test_schema_is_json_schema(capsys: pytest.CaptureFixture[str]) -> None:
    """What `schema` prints is one JSON object that says which draft it follows or what it describes."""
    status, out, _ = run(["schema"], capsys)
    assert status == 0
    assert json.loads(out)["type"] == "object"


def test_replay_prints_json_lines_with_and_without_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The summary comes last, whether --json is given or not."""
    data = tmp_path / "a.csv"
    data.write_text("time,flow\n2026-11-30T12:00:00Z,10\n2026-11-30T12:00:15Z,11\n", encoding="utf-8")
    _, plain, _ = run(["replay", LITTLE_VALLEY, str(data)], capsys)
    _, machine, _ = run(["replay", LITTLE_VALLEY, str(data), "--json"], capsys)
    assert plain == machine
    assert json.loads(plain.splitlines()[-1])["event"] == "summary"


def test_status_without_a_gateway_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nobody running is an answer too."""
    status, out, _ = run(["status", "--state", str(tmp_path), "--json"], capsys)
    assert (status, json.loads(out)["running"]) == (1, False)


def test_every_argument_is_explained() -> None:
    """No argument of any command is listed by --help without a word about it."""

    def unexplained(parser: argparse.ArgumentParser, name: str) -> list[str]:
        bare = []
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                for child, its_parser in action.choices.items():
                    bare += unexplained(its_parser, f"{name} {child}".strip())
            elif not action.help:
                bare.append(f"{name} {action.dest}")
        return bare

    assert unexplained(_parser(), "") == []


def test_run_says_what_it_starts_and_where_it_keeps_it(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """The first line names site and state directory, also when what follows goes wrong."""
    state = tmp_path / ("d" * 120)  # too deep for the control socket
    with caplog.at_level(logging.INFO):
        assert main(["run", LITTLE_VALLEY, "--state", str(state)]) == 78
    first = caplog.messages[0]
    assert first.startswith("lv-mh3: 6 channels, ")
    assert first.endswith(f" in {state}")


@pytest.mark.parametrize(
    "command", ["simulate", "demo", "run", "replay", "alarms", "read", "scan", "probe", "setup", "check", "status"]
)
def test_every_command_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    """--help of each command ends with 0 and names the command."""
    status, out, _ = run([command, "--help"], capsys)
    assert status == 0
    assert command in out
