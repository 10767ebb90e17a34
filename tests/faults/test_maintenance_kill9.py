"""kill -9 of the real gateway while a technician works on a meter that had just proven a slug.

On a real Modbus/TCP instrument, a real journal and the real command line. The bench clock runs 300 times as fast as
real: an hour is twelve seconds.
"""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from gateway.clock import ScaledClock
from simulators.instruments import Mag6000
from simulators.modbus import TcpServer
from tests.faults.test_gateway_kill9 import M3S_PER_GPM, SITE, until
from tests.support.gateway_process import GatewayProcess
from tests.support.journal_rows import events, readings, texts

SPEED, S = 300, 1_000_000
CALIBRATED = [
    "--sensor-serial", "M1", "--reason", "routine", "--cleaning", "none", "--accept", "--reference", "bucket",
    "--started", "2026-01-02T08:00Z", "--stopped", "2026-01-02T09:00Z",
    "--reading", "phase=final,value=10,reference=10.1",
]  # fmt: skip


async def command(gateway: GatewayProcess, *words: str) -> tuple[int, Any]:
    """One command of the command line, as a process of its own: its exit status and what it printed as JSON."""
    state = str(gateway.folder / "state")
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "gateway", *words, "--state", state, "--json", stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await process.communicate()
    return process.returncode or 0, json.loads(printed)


def alarms(path: Path, alarm: str) -> list[str]:
    """The edges of one alarm."""
    return [event["edge"] for event in events(path, "alarm") if event["alarm"] == alarm]


def notes(path: Path) -> list[dict[str, Any]]:
    """What the record holds of maintenance."""
    return [note["body"] for note in events(path, "note") if note["kind"] == "maintenance"]


async def story(folder: Path) -> None:
    """Slug, maintenance, kill, restart, expiry, signature."""
    meter = Mag6000(1)
    server = TcpServer([meter])
    meter.set("volume_flow", 62 * M3S_PER_GPM)
    await server.start()
    site = folder / "site.toml"
    site.write_text(SITE.format(port=server.port), encoding="utf-8")
    gateway = GatewayProcess(site, folder, ScaledClock(SPEED))
    path = gateway.journal
    try:
        await gateway.start()
        await until(lambda: "severity_up" in alarms(path, "lv-slug-flow"), "the proven slug", gateway)
        who = ("--by", "J. Tech", "--reason", "pull the liner")
        status, answer = await command(gateway, "maintenance", "start", "flow", "--for", "60 min", *who)
        assert (status, answer["maintenance"][0]["state"]) == (0, "in progress")
        meter.set("volume_flow", 1 * M3S_PER_GPM)
        status, kept = await command(gateway, "calibrate", "flow", "--by", "J. Tech", *CALIBRATED)
        assert (status, kept["calibration"]["id"]) == (0, "flow-1")
        await gateway.kill()  # the answer was given: what it said is on disk
        assert [note["event"] for note in notes(path)] == ["started"]
        seen_us = readings(path, "flow")[-1][0] if readings(path, "flow") else 0
        await gateway.start()
        await until(lambda: readings(path, "flow")[-1][0] > seen_us + 120 * S, "readings after the restart", gateway)
        status, listed = await command(gateway, "maintenance", "list")
        (stay,) = listed["maintenance"]
        _, records = await command(gateway, "calibrate", "list", "flow")
        (record,) = records["calibrations"]["flow"]
        assert {**record, "corrected": None} == {**kept["calibration"], "corrected": None}
        assert records["standing"]["flow"]["due"] == "2027-01-02"
        assert (stay["by"], stay["reason"], stay["state"]) == ("J. Tech", "pull the liner", "in progress")
        assert stay["until_utc_us"] == answer["maintenance"][0]["until_utc_us"]
        await until(lambda: alarms(path, "maintenance-flow"), "the expiry", gateway)
        await until(lambda: texts(path)[-1]["alarm"] == "maintenance-flow", "its text", gateway)
        status, refused = await command(gateway, "maintenance", "stop", "flow", "--by", " ")
        assert (status, refused["ok"]) == (1, False)
        status, _ = await command(gateway, "maintenance", "stop", "flow", "--by", "J. Tech")
        assert status == 0
        assert await gateway.stop() == 0, gateway.log
    finally:
        await gateway.kill()
        await server.stop()
    judge(path)


def judge(path: Path) -> None:
    """What the journal says of it afterwards."""
    started, expired, signed = notes(path)
    assert (started["event"], expired["event"], signed["event"]) == ("started", "expired", "signed off")
    assert expired["lasted_us"] == 60 * 60 * S
    assert alarms(path, "maintenance-flow") == ["raised", "cleared"]
    found = [f["event"] for f in events(path, "finding") if f["rule"] == "lv-slug-flow"]
    # Pre-alarms come before, and a slow machine adds gaps in which nobody can tell: what counts is that nothing cleared
    assert [event for event in found if event not in ("prealarm", "not_evaluable")] == ["raised", "interrupted"]
    assert alarms(path, "lv-slug-flow") == [
        "raised",
        "severity_up",
    ]  # from its pre-alarm; two minutes at 1 gpm in maintenance have cleared nothing


@pytest.mark.timeout(120)
def test_a_kill_in_the_middle_of_maintenance(tmp_path: Path) -> None:
    """The stay goes on to its own end, the slug stays interrupted and its alarm stands, and the expiry is told."""
    asyncio.run(story(tmp_path))
