"""Forty minutes without any way out: measuring waits for nobody."""

import asyncio
import socket
from contextlib import suppress
from pathlib import Path

from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.config import load
from simulators.instruments import HamiltonPhArc
from simulators.modbus import TcpServer
from tests.support.journal_rows import readings

SPEED = 300.0
MINUTES = 40
MIN_US = 60_000_000
SITE = """
[site]
id = "cut-off"
name = "Cut off"
discharger = "Acme"
time_zone = "UTC"
ordinances = ["us-federal"]
[buses.tcp]
kind = "modbus-tcp"
host = "127.0.0.1"
tcp_port = {devices}
[devices.probe]
bus = "tcp"
unit = 1
profile = "hamilton-ph-arc"
timeout = "2 s"
[channels.ph]
quantity = "pH"
unit = "pH"
device = "probe"
point = "pH"
poll = "15 s"
[contacts.superintendent]
name = "Super"
notify = ["bench"]
[notify.bench]
[sinks.mqtt]
host = "127.0.0.1"
port = {broker}
"""


def test_measuring_goes_on_for_forty_minutes_without_an_uplink(tmp_path: Path) -> None:
    """With a broker that takes the call and never says a word, every minute has its pH on record.

    One in ten may lack it, where this machine stood still for a minute of the test's own time; none of the last ones.
    """

    async def run() -> int:
        sensor = HamiltonPhArc(1)
        sensor.set("pH", 7.0)
        devices = TcpServer([sensor])
        await devices.start()
        with socket.create_server(("127.0.0.1", 0)) as silent:  # accepts into its queue, and that is all
            site = tmp_path / "site.toml"
            site.write_text(SITE.format(devices=devices.port, broker=silent.getsockname()[1]), encoding="utf-8")
            clock = ScaledClock(SPEED)
            app = GatewayApp(load(site), clock, tmp_path / "state")
            running = asyncio.create_task(app.run())
            await app.ready.wait()
            begun_us = clock.now().mono_us
            await clock.sleep((MINUTES + 1) * MIN_US)
            assert not running.done()
            assert app.faults == {}
            running.cancel()
            with suppress(asyncio.CancelledError):
                await running
        await devices.stop()
        await asyncio.sleep(0)
        return begun_us

    begun_us = asyncio.run(run())
    found = readings(tmp_path / "state" / "journal.db", "ph")
    minutes = {(mono_us - begun_us) // MIN_US for mono_us, value, _ in found if value is not None}
    assert len(minutes & set(range(MINUTES))) >= 0.9 * MINUTES
    assert max(minutes) >= MINUTES - 1
