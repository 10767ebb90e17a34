"""From an empty folder to a running gateway by what the technician's page says, command by command, on the bench."""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "technician.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("## Commissioning in fifteen minutes\n")[2].partition("\n## ")[0]
COMMANDS = [
    line.removeprefix("manhole-gateway ")
    for block in re.findall(r"```sh\n(.*?)```", SECTION, flags=re.DOTALL)
    for line in block.splitlines()
    if line.startswith("manhole-gateway ")
]
ANSWERS = re.findall(r"```toml\n(.*?)```", SECTION, flags=re.DOTALL)
PORT, ADDRESS = "/dev/serial/by-path/platform-usb-0:1.2:1.0-port0", "192.168.10.20:502"
PATIENCE_S = 60


@contextmanager
def bench(folder: Path) -> Iterator[dict[str, str]]:
    """The simulated instruments; what the page's port and address really are."""
    process = _start(COMMANDS[0], folder)
    assert process.stdout is not None
    told = ""
    try:
        while "tcp_port" not in told:
            line = process.stdout.readline()
            assert line, told
            told += line
        port = re.search(r'port = "(/dev/[^"]+)"', told)
        tcp_port = re.search(r"tcp_port = (\d+)", told)
        assert port is not None
        assert tcp_port is not None
        yield {PORT: port[1], ADDRESS: f"127.0.0.1:{tcp_port[1]}"}
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)


def _start(command: str, folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "gateway", *shlex.split(command)],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "XDG_STATE_HOME": str(folder / "state")},
    )


def _done(command: str, folder: Path) -> str:
    """What a command of the page prints; it must end with 0."""
    process = _start(command, folder)
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, f"{command}\n{out}\n{err}"
    return out


def _until(command: str, folder: Path, lines: int) -> list[str]:
    """So many lines of a command that goes on, which then ends in order at an interrupt."""
    process = _start(command, folder)
    assert process.stdout is not None
    told = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    return told


def _status(folder: Path) -> dict[str, object]:
    process = _start("status --json", folder)
    out, _ = process.communicate(timeout=PATIENCE_S)
    return json.loads(out) if out.startswith("{") else {}


def test_the_page_has_the_whole_way() -> None:
    """The section names every step in order, and one file of answers."""
    assert [shlex.split(command)[0] for command in COMMANDS] == [
        "simulate", "scan", "scan", "probe", "setup", "check", "read", "read", "run",
    ]  # fmt: skip
    assert len(ANSWERS) == 1


@pytest.fixture
def folder() -> Iterator[Path]:
    """An empty folder whose path is short enough for the control socket below it."""
    with tempfile.TemporaryDirectory(prefix="mh", dir="/tmp") as path:
        yield Path(path)


@pytest.mark.timeout(240)
def test_a_newcomer_gets_from_nothing_to_a_running_gateway(folder: Path) -> None:
    """scan, probe, setup, check, read and run as printed, with the bench's port and address in place of the page's."""
    with bench(folder) as places:

        def here(text: str) -> str:
            for printed, real in places.items():
                text = text.replace(printed, real)
            return text

        _, scan, scan_tcp, probe, setup, check, facts, watch, run = map(here, COMMANDS)
        on_the_line = _done(scan, folder)
        for name in ("hamilton-ph-arc", "siemens-mag6000", "keller-series30"):
            assert f'profile = "{name}"' in on_the_line
        assert len(re.findall(r"^unit +[123] at 19200 8N2", on_the_line, flags=re.MULTILINE)) == 3
        assert 'profile = "eh-liquiline-cm44x"' in _done(scan_tcp, folder)
        probed = _done(probe, folder)
        assert "address = 2091" in probed
        assert 'order = "CDAB"' in probed
        (folder / "answers.toml").write_text(here(ANSWERS[0]), encoding="utf-8")
        assert _done(setup, folder) == "site.toml\n"
        assert "sound" in _done(check, folder)
        told = _done(facts, folder)
        assert "product_code: MAG 6000" in told
        assert re.search(r"^ph +\d", told, flags=re.MULTILINE)
        rounds = _until(watch, folder, lines=8)
        assert len({line.split()[0] for line in rounds}) == 2  # four channels, two rounds, each with its time
        gateway = _start(run, folder)
        try:
            until = time.monotonic() + PATIENCE_S
            while time.monotonic() < until:
                channels = _status(folder).get("channels", [])
                if "7." in json.dumps(channels) or "6.9" in json.dumps(channels):
                    break
            else:
                pytest.fail(f"no value of the pH within {PATIENCE_S} s: {_status(folder)}")
        finally:
            gateway.send_signal(signal.SIGTERM)
            _, err = gateway.communicate(timeout=PATIENCE_S)
        assert gateway.returncode == 0, err
