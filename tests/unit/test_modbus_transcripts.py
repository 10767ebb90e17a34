"""The Modbus adapter against golden wire transcripts, on a real pty and a real socket."""

import asyncio
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.support.scripted_line import play, serial_line, tcp_line

CASES = ROOT / "tests" / "cases"


@pytest.mark.parametrize("case", sorted((CASES / "modbus-rtu").glob("*.txt")), ids=lambda path: path.stem)
def test_a_serial_transcript(case: Path) -> None:
    """Every byte sent, every verdict and every number is the transcript's."""

    steps = case.read_text(encoding="utf-8").splitlines()

    async def run() -> None:
        async with serial_line() as (peer, line):
            await play(case.name, steps, peer, line)

    asyncio.run(run())


@pytest.mark.parametrize("case", sorted((CASES / "modbus-tcp").glob("*.txt")), ids=lambda path: path.stem)
def test_a_tcp_transcript(case: Path) -> None:
    """Every byte sent, every verdict and every number is the transcript's."""

    steps = case.read_text(encoding="utf-8").splitlines()

    async def run() -> None:
        async with tcp_line() as (peer, line):
            await play(case.name, steps, peer, line)

    asyncio.run(run())
