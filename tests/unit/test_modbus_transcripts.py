"""The Modbus adapter against golden wire transcripts, on a real pty and a real socket."""

import asyncio
import errno
import grp
import os
import re
import socket
import termios
from pathlib import Path

import pytest

from gateway.drivers.opening import why_not_open
from gateway.site import SERIAL_KINDS
from tests.conftest import ROOT
from tests.support.scripted_line import play, serial_line, tcp_line
from tests.support.scripted_poll import play_polls

CASES = ROOT / "tests" / "cases"


KINDS = ("modbus-rtu", "modbus-ascii", "modbus-tcp", "modbus-rtu-over-tcp")


@pytest.mark.parametrize(
    ("kind", "case"),
    [
        pytest.param(kind, case, id=f"{kind}-{case.stem}")
        for kind in KINDS
        for case in sorted((CASES / kind).glob("*.txt"))
    ],
)
def test_a_transcript(kind: str, case: Path) -> None:
    """Every byte sent, every verdict and every number is the transcript's."""

    steps = case.read_text(encoding="utf-8").splitlines()

    async def run() -> None:
        async with serial_line(kind=kind) if kind in SERIAL_KINDS else tcp_line(kind) as (peer, line):
            await play(case.name, steps, peer, line)

    asyncio.run(run())


@pytest.mark.parametrize("case", sorted((CASES / "quirks").glob("*.txt")), ids=lambda path: path.stem)
def test_a_transcript_of_polls(case: Path) -> None:
    """What each kind of instrument wants beyond being read: every byte, and what every point then says."""
    asyncio.run(play_polls(case.name, case.read_text(encoding="utf-8").splitlines()))


def test_every_profile_that_wants_more_than_to_be_read_is_in_a_transcript() -> None:
    """Who has a trigger, a start, a sleep, a list or limits of its requests, and anything to read: byte by byte."""
    shown = {
        line.split()[1]
        for case in (CASES / "quirks").glob("*.txt")
        for line in case.read_text(encoding="utf-8").splitlines()
        if line.startswith("profile ")
    }
    wanting = set()
    for path in (ROOT / "config" / "devices").glob("*.toml"):
        text = path.read_text(encoding="utf-8")
        if re.search(r"^\[.*points\.", text, re.MULTILINE) and re.search(
            r"^\[(.*\.)?(trigger|start|wake|limits|lists\..*)\]", text, re.MULTILINE
        ):
            wanting.add(path.stem)
    assert len(wanting) >= 8
    assert wanting - shown == set()


@pytest.mark.parametrize("turns", range(10))
def test_a_cancellation_that_meets_the_answer_is_not_lost(turns: int) -> None:
    """However the two coincide, a read that was cancelled while it ran ends as cancelled: a stop never hangs."""
    request, answer = bytes.fromhex("01 03 00 02 00 02 65 CB"), bytes.fromhex("01 03 04 3F 75 F0 7B E3 DE")

    async def run() -> None:
        async with serial_line() as (peer, line):
            reading = asyncio.create_task(line.read(1, 3, 2, 2, 5.0))
            assert await peer.receive(len(request)) == request
            await peer.send(answer)
            for _ in range(turns):
                await asyncio.sleep(0)
            was_running = reading.cancel()
            await asyncio.wait([reading])
            assert reading.cancelled() or not was_running

    asyncio.run(run())


@pytest.mark.parametrize(
    ("serial", "cause", "said"),
    [
        (True, FileNotFoundError(errno.ENOENT, "no such file"), "there is no port /dev/x; is the adapter plugged in?"),
        (True, BlockingIOError(errno.EAGAIN, "locked"), "/dev/x is in use by another program"),
        (True, PermissionError(errno.EACCES, "denied"), "no permission to open /dev/x"),
        (False, ConnectionRefusedError(errno.ECONNREFUSED, "refused"), "no Modbus TCP server is listening there"),
        (False, OSError(errno.EHOSTUNREACH, "No route to host"), "cannot open /dev/x: [Errno 113] No route to host"),
        (True, termios.error(errno.EINVAL, "Invalid argument"), "cannot be set to this baud, parity and stop bits"),
        (False, socket.gaierror(-2, "Name or service not known"), "nobody knows a host of the name in /dev/x"),
        (True, ValueError("Not a valid baudrate: 1"), "cannot open /dev/x: Not a valid baudrate: 1"),
    ],
)
def test_why_a_port_did_not_open(serial: bool, cause: Exception, said: str) -> None:
    """The usual reasons come as something to do about them, any other as it came."""
    assert said in why_not_open("/dev/x", cause, serial=serial)


def test_a_port_of_another_group_names_the_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a Pi's serial port is delivered: of the group dialout, mode 660. For a port of nobody's there is no advice."""
    denied = PermissionError(errno.EACCES, "denied")
    port = tmp_path / "ttyS0"
    port.touch(mode=0o660)
    port.chmod(0o660)
    group = grp.getgrgid(port.stat().st_gid).gr_name
    monkeypatch.setattr(os, "getgroups", list)
    assert f"belongs to the group {group}; `sudo usermod -aG {group} USER`" in why_not_open(
        str(port), denied, serial=True
    )
    port.chmod(0o600)
    assert why_not_open(str(port), denied, serial=True) == f"no permission to open {port}"
