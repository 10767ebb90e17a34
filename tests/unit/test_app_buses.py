"""Buses and the rest of the gateway: faster polls while a rule has a run, news of ports and devices, `status`."""

import asyncio
import io
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.model import Instant, Outcome, Reading
from gateway.signals.qc import BETWEEN
from gateway.status import run_status
from gateway.status_buses import bus_lines
from tests.support.journal_rows import events
from tests.support.scripted_devices import Devices, TcpDevices

SPEED = 20  # virtual seconds in each real one
POLL_S = 6

# Address n of unit u is n + 100 u: register 3 of unit 1 is 103, of which a hundredth is a pH of 1.03.
PROFILE = """
id = "made-up"
model = "made up"
source = ["this test"]
[points.pH]
function = 3
address = 3
type = "u16"
scale = 0.01
unit = "pH"
"""
SITE = f"""
[site]
id = "mh3"
name = "Manhole 3"
discharger = "Acme Dairy"
time_zone = "America/New_York"
ordinances = ["little-valley"]
[buses.lan]
kind = "modbus-tcp"
host = "127.0.0.1"
tcp_port = %d
[devices.probe]
bus = "lan"
unit = 1
profile = "./made-up.toml"
timeout = "100 ms"
[devices.other]
bus = "lan"
unit = 6
profile = "./made-up.toml"
[channels.ph]
quantity = "pH"
device = "probe"
point = "pH"
poll = "{POLL_S} s"
[channels.ph-beside]
quantity = "pH"
place = "elsewhere"
device = "other"
point = "pH"
poll = "{POLL_S} s"
"""


class Board:
    """A sink that shows what is live: everything it was told of the gateway's health."""

    name = "board"

    def __init__(self) -> None:
        self.shown: list[Mapping[str, Any]] = []

    def live(self, reading: Reading) -> None:
        """Readings are not for this one."""

    def publish_health(self, body: Mapping[str, Any]) -> None:
        """One more."""
        self.shown.append(body)

    def states(self) -> list[str]:
        """The state of the first device, each time it was shown."""
        return [body["buses"]["lan"]["devices"][0]["state"] for body in self.shown]


Body = Callable[[GatewayApp, TcpDevices, Callable[[Callable[[], bool]], Awaitable[None]], Board], Awaitable[None]]


def with_probe(folder: Path, body: Body) -> list[Outcome]:
    """Run a gateway with a pH probe at 1.03 behind a real server around a body; everything it found."""
    outcomes: list[Outcome] = []

    async def scenario() -> None:
        server = TcpDevices(Devices())
        await server.start()
        (folder / "made-up.toml").write_text(PROFILE, encoding="utf-8")
        (folder / "site.toml").write_text(SITE % server.port, encoding="utf-8")
        app = GatewayApp(load(folder / "site.toml"), ScaledClock(SPEED), folder / "state")
        app.watch(outcomes.append)
        board = Board()
        app.sinks.append(board)
        running = asyncio.create_task(app.run())

        async def until(condition: Callable[[], bool]) -> None:
            async with asyncio.timeout(30):
                while not condition() and not running.done():  # noqa: ASYNC110 - the conditions are other parties' logs
                    await asyncio.sleep(0.005)

        try:
            await body(app, server, until, board)
        finally:
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            await server.kill()

    asyncio.run(scenario())
    return outcomes


def test_what_a_rule_has_under_way_is_looked_at_closer_and_judged_as_ever(tmp_path: Path) -> None:
    """The acid probe is polled three times as often, the one beside it is not; proof comes with the third slot."""

    async def body(app: GatewayApp, server: TcpDevices, until: Any, board: Board) -> None:
        await until(lambda: len(server.devices.of(6)) >= 8)
        assert app.pipeline.under_way == {"ph"}
        assert [device.fast for device in app.buses[0].health().devices] == [True, False]

    outcomes = with_probe(tmp_path, body)
    readings = [reading for outcome in outcomes for reading in outcome.readings]
    acid = [reading for reading in readings if reading.channel == "ph"]
    scheduled = [reading.at.mono_us for reading in acid if BETWEEN not in reading.tests]
    assert len(acid) >= 2 * len(scheduled)
    assert not any(BETWEEN in reading.tests for reading in readings if reading.channel == "ph-beside")
    (raised,) = [f for o in outcomes for f in o.findings if f.rule == "lv-ph-low"]
    assert raised.event == "raised"
    assert [raised.since.mono_us, raised.at.mono_us] == [scheduled[0], scheduled[2]]


def test_a_device_that_goes_down_and_comes_back_is_on_record_and_shown_at_once(tmp_path: Path) -> None:
    """Its health is shown when it changes, not with the next minute; the journal has both notes, once each."""
    shown_at: list[Instant] = []
    down_at: list[Instant] = []

    async def body(app: GatewayApp, server: TcpDevices, until: Any, board: Board) -> None:
        await until(lambda: bool(app.latest) and bool(board.shown))
        app.watch(lambda outcome: down_at.extend(n.at for n in outcome.notes if n.kind == "device_down"))
        server.devices.silent.add(1)
        await until(lambda: board.states()[-1:] == ["down"])
        shown_at.append(app.now())
        out = io.StringIO()
        assert await asyncio.to_thread(run_status, app.state_directory, out, as_json=False) == 0
        assert "probe (unit 1): DOWN for" in out.getvalue()
        assert "unit 1 did not answer within 0.1 s" in out.getvalue()
        server.devices.silent.clear()
        await until(lambda: board.states()[-1:] == ["up"])
        await app.quiesce()
        assert shown_at[0].mono_us - down_at[0].mono_us < 30_000_000  # the next one in turn comes after a minute

    with_probe(tmp_path, body)
    notes = [note for note in events(tmp_path / "state" / "journal.db", "note") if note["kind"].startswith("device_")]
    assert [note["kind"] for note in notes] == ["device_down", "device_back"]
    assert notes[0]["body"]["why"] == "unit 1 did not answer within 0.1 s"
    assert notes[1]["body"]["down_s"] > 0


def device(**facts: Any) -> dict[str, Any]:
    """A sound device as the status has it."""
    sound = {
        "device": "meter", "unit": 3, "state": "up", "why": "", "down_s": None, "polls": 10, "answered": 10,
        "timeouts": 0, "bad_check_sums": 0, "exceptions": 0, "bad_replies": 0, "late_answers": 0, "desyncs": 0,
        "missed_slots": 0, "fast": False, "latency_p50_us": 12_000, "latency_p95_us": 15_000, "latency_p99_us": 41_000,
    }  # fmt: skip
    return sound | facts


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({}, "meter (unit 3): up; 10 of 10 polls answered, half within 12 ms, 95 % 15 ms, 99 % 41 ms"),
        (
            {
                "state": "down",
                "down_s": 750.0,
                "why": "unit 3 did not answer within 0.5 s",
                "answered": 0,
                "timeouts": 4,
            },
            "meter (unit 3): DOWN for 12 min: unit 3 did not answer within 0.5 s; 0 of 10 polls answered; 4 timeouts",
        ),
        ({"state": "unheard", "polls": 0, "answered": 0}, "meter (unit 3): not heard yet"),
        (
            {"fast": True, "missed_slots": 2, "desyncs": 1},
            (
                "meter (unit 3): up, polled faster; 10 of 10 polls answered, half within 12 ms, 95 % 15 ms, "
                "99 % 41 ms; 1 times out of step, 2 polls missed"
            ),
        ),
    ],
)
def test_a_device_in_words(facts: dict[str, Any], line: str) -> None:
    """State, what it answered and how fast, and only the counters that are not nought."""
    bus = {
        "where": "/dev/ttyX", "state": "up", "connected": True, "why": "", "down_s": None, "missed_slots": 0,
        "foreign_frames": 0, "noisy_answers": 0, "echoes": 0, "resets": 1, "devices": [device(**facts)],
    }  # fmt: skip
    assert bus_lines({"rs485": bus}) == ["port rs485 /dev/ttyX: open; 1 resets", f"  {line}"]
    down = bus | {"state": "down", "down_s": 65.2, "why": "there is no port /dev/ttyX", "devices": [], "resets": 0}
    assert bus_lines({"rs485": down}) == ["port rs485 /dev/ttyX: DOWN for 65 s: there is no port /dev/ttyX"]
