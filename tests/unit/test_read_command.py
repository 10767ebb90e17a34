"""`read`: what a technician sees at the instrument, once or again and again, and what the devices say of themselves."""

import io
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.config import load
from gateway.drivers.facts import FactReader
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.profiles import load as load_profile
from gateway.drivers.read import run_read
from gateway.drivers.target import Setting, bus_of
from tests.conftest import ROOT
from tests.support.set_line import SetLine, holding, in_loop, refusing, served

SITE = """
[site]
id = "bench"
name = "Bench"
discharger = "Nobody"
time_zone = "UTC"
ordinances = []

[buses.rs485]
kind = "modbus-rtu"
port = "{path}"

[devices.depth]
bus = "rs485"
unit = 3
profile = "keller-series30"
timeout = "400 ms"

[channels.pressure]
quantity = "pressure"
unit = "mbar"
device = "depth"
point = "P1"
suspect_span = ["0 mbar", "500 mbar"]
"""
# 3F75 F07B is 0.960701 bar: Keller, protocol v3.5, section 4.4. The serial number and the class are made up.
KELLER = {2: 0x3F75, 3: 0xF07B, 0x0202: 0x0000, 0x0203: 0x7531, 0x0204: 0x0002, 0x020C: 0, 0x020E: 0x0514}


def site_at(path: str, folder: Path) -> Path:
    """The site file of one pressure transmitter on this line."""
    file = folder / "site.toml"
    file.write_text(SITE.format(path=path), encoding="utf-8")
    return file


def test_a_reading_tells_where_it_comes_from_and_how_the_line_did(tmp_path: Path) -> None:
    """Value, raw words, wire address, function, unit address, flags, latency and retries stand in one line of data."""
    out = io.StringIO()
    with served({3: holding(KELLER)}) as path:
        status = run_read(load(site_at(path, tmp_path)), (), out, as_json=True)
    told = json.loads(out.getvalue())
    assert status == 0
    assert told["value"] == pytest.approx(960.701, rel=1e-6)
    assert told["raw"] == ["3F75", "F07B"]
    assert (told["unit_address"], told["function"], told["address"]) == (3, 3, 2)
    assert (told["quality"], told["tests"]) == ("suspect", ["suspect_span"])
    assert told["latency_ms"] > 0
    assert told["retries"] == 0


def test_a_request_that_was_repeated_is_counted(tmp_path: Path) -> None:
    """A device that misses one request answers the next: one retry, told with the value."""
    missed: list[int] = []

    def once_deaf(function: int, address: int, count: int) -> bytes | None:
        if not missed:
            missed.append(address)
            return None
        return holding(KELLER)(function, address, count)

    out = io.StringIO()
    with served({3: once_deaf}) as path:
        run_read(load(site_at(path, tmp_path)), (), out, as_json=True)
    told = json.loads(out.getvalue())
    assert told["fault"] is None
    assert told["retries"] == 1


def test_a_silent_device_is_no_number(tmp_path: Path) -> None:
    """Nobody there: exit 1, no value, no latency, and the fault in words."""
    out = io.StringIO()
    with served({}) as path:
        status = run_read(load(site_at(path, tmp_path)), (), out, as_json=False)
    assert status == 1
    assert "silent" in out.getvalue()


def test_watch_reads_again_until_ctrl_c(tmp_path: Path) -> None:
    """Round after round with its time, on the open line, until an interrupt ends it in order."""
    with served({3: holding(KELLER)}) as path:
        watch = subprocess.Popen(
            [sys.executable, "-m", "gateway", "read", str(site_at(path, tmp_path)), "--every", "100 ms", "--json"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
        )
        assert watch.stdout is not None
        rounds = [json.loads(watch.stdout.readline()) for _ in range(3)]
        watch.send_signal(signal.SIGINT)
        _, err = watch.communicate(timeout=60)
    assert [told["raw"] for told in rounds] == [["3F75", "F07B"]] * 3
    assert len({told["at"] for told in rounds}) == 3
    assert watch.returncode == 0, err


def test_facts_are_told_in_words(tmp_path: Path) -> None:
    """Serial number, class and group stand before the readings; what the device does not have says why."""
    out = io.StringIO()
    with served({3: holding(KELLER)}) as path:
        run_read(load(site_at(path, tmp_path)), (), out, as_json=True, facts=True)
    told = [json.loads(line) for line in out.getvalue().splitlines()]
    facts = {line["fact"]: line["value"] for line in told if "fact" in line}
    assert facts["serial"] == "30001"
    assert (facts["class"], facts["group"]) == ("5", "20")
    assert told[-1]["channel"] == "pressure"


@in_loop
async def test_a_fact_that_is_refused_does_not_stop_the_others() -> None:
    """Exception 2 for one fact is told with it; a device that falls silent is not asked for the rest one by one."""
    profile = load_profile("keller-series30")
    line = SetLine({3: refusing, 4: holding({0x0202: 0, 0x0203: 1}), 5: lambda *_: None})
    bus = ModbusLine(bus_of(line.path, Setting(9600, "N", 1)))
    try:
        await bus.open()
        refused = await FactReader(bus, 3, 0.1).read(profile)
        some = {fact.name: (fact.text, fact.error) for fact in await FactReader(bus, 4, 0.1).read(profile)}
        silent = await FactReader(bus, 5, 0.05).read(profile)
    finally:
        bus.close()
        line.close()
    assert {fact.error for fact in refused} == {"exception 2"}
    assert some["serial"] == ("1", "")
    assert some["status"] == ("", "exception 2")
    asked = [request for request in line.heard if request[0] == 5]
    assert len(asked) <= 3
    assert silent[-1].error == "not asked: it gave no answer before"
