"""Outputs of a whole gateway on a real line: what the relays at the far end really did.

The bench clock runs some hundred times as fast as real; counts and order are asserted, never seconds.
"""

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.control import ask, socket_path
from gateway.drivers import outputs
from gateway.errors import DiskFull
from gateway.model import Instant, Order, Outcome
from gateway.output_actions import run_outputs, run_sampler
from gateway.sinks.payloads import Payloads
from gateway.site import Part, Site
from gateway.status import run_status
from simulators.instruments import Mag6000
from simulators.line import Line
from simulators.modbus import SerialServer, TcpServer
from simulators.relays import Autosampler, RelayModule
from tests.support.journal_rows import events
from tests.support.wired_gateway import GRAB, HORN, M3S_PER_GPM, PACE, SERIAL, TCP, VALVE, instruments, site_file

PATIENCE_S = 30.0
SPEED = 100


class Bench:
    """A gateway, its relays and its meter."""

    def __init__(self, app: GatewayApp, meter: Mag6000, relays: RelayModule, sampler: Autosampler) -> None:
        self.app, self.meter, self.relays, self.sampler = app, meter, relays, sampler

    async def until(self, holds: Callable[[], object], what: str) -> None:
        """Wait until something holds."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not holds():  # noqa: ASYNC110  # the far end of a line is what is waited for
                    await asyncio.sleep(0.01)
        except TimeoutError:
            raise AssertionError(f"waited for {what}: {self.relays.coils} {self.relays.written[-9:]}") from None

    async def call(self, command: str, **args: Any) -> dict[str, Any]:
        """One request over the control socket."""
        request = {"command": command, "actor": args.pop("actor", "Ann"), "args": args}
        return await ask(socket_path(self.app.state_directory), request)

    def flow(self, gpm: float) -> None:
        """What the meter shows."""
        self.meter.set("volume_flow", gpm * M3S_PER_GPM)

    def notes(self, kind: str) -> list[dict[str, Any]]:
        """The notes of a kind in the journal."""
        path = self.app.state_directory / "journal.db"
        return [note["body"] for note in events(path, "note") if note["kind"] == kind]


def _site(path: Path, folder: Path) -> Site:
    return replace(load(path), notifiers=(Part("bench", "bench", {"folder": folder / "texts"}),))


async def on_tcp(
    folder: Path,
    body: Callable[[Bench], Awaitable[None]],
    *,
    speed: float = SPEED,
    change: tuple[str, str] = ("", ""),
    profile: str = "",
    watchdog_at: int | None = None,
    late: bool = False,
) -> Bench:
    """Run a gateway on a TCP line around a body, and end it cleanly. `late`: the relay module is silent at first."""
    meter, relays = instruments(watchdog_at)
    relays.silent = late
    sampler = Autosampler(relays, pace=PACE, grab=GRAB)
    server = TcpServer([meter, relays])
    await server.start()
    path = site_file(folder, TCP.format(port=server.port), "tcp", "tcp")
    text = path.read_text(encoding="utf-8").replace(*change)
    if profile:
        text = text.replace('profile = "waveshare-relay-d8"', profile)
    path.write_text(text, encoding="utf-8")
    site = _site(path, folder)
    bench = Bench(GatewayApp(site, ScaledClock(speed), folder / "state"), meter, relays, sampler)
    try:
        return await _around(site, folder, bench, body)
    finally:
        await server.stop()


async def _around(site: Site, folder: Path, bench: Bench, body: Callable[[Bench], Awaitable[None]]) -> Bench:
    running = asyncio.create_task(bench.app.run())
    await bench.app.ready.wait()
    try:
        await body(bench)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return bench


def test_a_slug_takes_a_bottle_sounds_the_horn_and_shuts_the_valve(tmp_path: Path) -> None:
    """Pre-alarm: a bottle. Proof: horn and valve. Acknowledged: the horn is off, the valve stays. Released: open."""

    async def body(bench: Bench) -> None:
        relays = bench.relays
        await bench.until(lambda: bench.notes("safe_state"), "the safe state of the start")
        bench.flow(62)
        await bench.until(lambda: relays.rising[GRAB], "the bottle of the pre-alarm")
        assert not relays.coils[HORN] or relays.coils[VALVE], "no horn before the exceedance is proven"
        await bench.until(lambda: relays.coils[HORN] and relays.coils[VALVE], "horn and valve")
        await bench.until(lambda: relays.rising[GRAB] == 2, "the follow-up")
        assert (await bench.call("ack", alarm="lv-slug-flow"))["ok"]
        await bench.until(lambda: not relays.coils[HORN], "silence")
        assert relays.coils[VALVE]
        refused = await bench.call("outputs", action="release", output="valve", reason="cleaned")
        assert not refused["ok"]
        assert "still exceeded" in refused["error"]
        bench.flow(10)
        await bench.until(lambda: any(f["event"] == "cleared" for f in _findings(bench)), "the end of the slug")
        assert relays.coils[VALVE], "the end of an exceedance opens nothing"
        assert (await bench.call("outputs", action="release", output="valve", reason="cleaned"))["ok"]
        await bench.until(lambda: not relays.coils[VALVE], "the valve")

    bench = asyncio.run(on_tcp(tmp_path, body, speed=200))
    grabs = bench.notes("grab")
    assert [(g["bottle"], g["what"], g["event"]["event"]) for g in grabs] == [
        (1, "the event itself", "prealarm"),
        (2, "a follow-up", "prealarm"),
    ]
    assert grabs[0]["values"]["flow"]["value"] == pytest.approx(62, rel=0.01)
    assert bench.sampler.grabs == bench.relays.rising[GRAB] == 2
    assert not any(bench.relays.coils[one] for one in (HORN, PACE, GRAB))
    assert {coil for coil, _ in bench.relays.written} <= {HORN, VALVE, PACE, GRAB}
    _ordered_then_done(bench)


def _findings(bench: Bench) -> list[dict[str, Any]]:
    return events(bench.app.state_directory / "journal.db", "finding")


def _ordered_then_done(bench: Bench) -> None:
    """In the journal every order stands before what became of it, and each has one end."""
    path = bench.app.state_directory / "journal.db"
    rows = [(n["kind"], n["body"]["key"]) for n in events(path, "note") if n["kind"] in ("order", "order_done")]
    keys = [key for kind, key in rows if kind == "order"]
    assert len(set(keys)) == len(keys)
    for key in keys:
        assert [kind for kind, one in rows if one == key] == ["order", "order_done"], key


def test_a_composite_on_a_serial_line(tmp_path: Path) -> None:
    """Every aliquot on record is a pulse that the sampler at the far end of the line saw, and no other."""

    async def body(bench: Bench) -> None:
        assert (await bench.call("sampler", action="start", bottle="B7"))["ok"]
        await bench.until(lambda: bench.sampler.aliquots >= 6, "six aliquots")
        test = await bench.call("outputs", action="test", output="pace", reason="wiring")
        assert "composite is under way" in test["error"]
        assert (await bench.call("sampler", action="stop", reason="enough"))["ok"]
        aliquots = bench.sampler.aliquots
        bench.relays.inputs[0] = True
        await bench.until(lambda: any(a["alarm"] == "high-level-float" for a in _alarms(bench)), "the float")
        assert bench.sampler.aliquots == aliquots

    async def scene() -> Bench:
        meter, relays = instruments()
        sampler = Autosampler(relays, pace=PACE, grab=GRAB)
        line = Line(None)
        line.open()
        server = SerialServer([meter, relays], line.bench_path, baud=115200)
        await server.start()
        buses = SERIAL.format(port=line.gateway_path)
        site = _site(site_file(tmp_path, buses, "rs485", "rs485", expires="20 min"), tmp_path)
        bench = Bench(GatewayApp(site, ScaledClock(SPEED), tmp_path / "state"), meter, relays, sampler)
        try:
            return await _around(site, tmp_path, bench, body)
        finally:
            await server.stop()
            line.close()
            await asyncio.sleep(0)

    bench = asyncio.run(scene())
    (end,) = bench.notes("composite_ended")
    aliquots = bench.notes("aliquot")
    assert (end["started_by"], end["by"], end["bottle"], end["aliquots"]) == ("Ann", "Ann", "B7", len(aliquots))
    assert bench.sampler.aliquots == bench.relays.rising[PACE] == end["pulses_done"] == len(aliquots)
    assert not bench.relays.coils[PACE]
    _ordered_then_done(bench)


def _alarms(bench: Bench) -> list[dict[str, Any]]:
    return events(bench.app.state_directory / "journal.db", "alarm")


def test_a_relay_that_does_not_move(tmp_path: Path) -> None:
    """A write that is confirmed and reads back otherwise is a failed order and an alarm, and ends in no endless row."""

    async def body(bench: Bench) -> None:
        bench.relays.stuck.add(HORN)
        await bench.call("outputs", action="on", output="horn", reason="test of the horn")
        await bench.until(lambda: any(a["alarm"] == "output-horn" for a in _alarms(bench)), "the alarm")
        (first, *_) = [n for n in bench.notes("order_done") if n["result"] == "failed"]
        assert "reads back 0" in first["why"]
        assert sum(coil == HORN and on for coil, on in bench.relays.written) <= 3 * len(bench.notes("order"))
        bench.relays.stuck.clear()
        await bench.until(lambda: bench.relays.coils[HORN], "the horn once it can")

    asyncio.run(on_tcp(tmp_path, body))


def test_an_order_whose_time_is_over_is_not_sent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While the module is silent pulses expire; when it is back none of them is made up."""
    monkeypatch.setattr(outputs, "_PAUSE_S", 0.02)  # real seconds between tries, of a clock that runs fast

    async def body(bench: Bench) -> None:
        await bench.until(lambda: bench.notes("safe_state"), "the start")
        bench.relays.silent = True
        assert (await bench.call("sampler", action="start"))["ok"]
        await bench.until(lambda: bench.notes("order_done"), "an order that came to nothing")
        assert {n["result"] for n in bench.notes("order_done")} <= {"failed", "expired"}
        assert bench.relays.rising[PACE] == 0
        await bench.call("sampler", action="stop")
        ordered = len(bench.notes("order"))
        await bench.until(lambda: len(bench.notes("order_done")) >= ordered, "the rest")
        bench.relays.silent = False
        await bench.app.clock.sleep(100_000_000)
        assert bench.relays.rising[PACE] == 0, "a late pulse voids a composite"

    asyncio.run(on_tcp(tmp_path, body))


def test_orders_too_old_and_orders_for_nobody(tmp_path: Path) -> None:
    """An order that expired before its turn is not written; one for an output that is not there is refused."""

    async def body(bench: Bench) -> None:
        await bench.until(lambda: bench.notes("safe_state"), "the start")
        now = bench.app.now()
        old = Instant(now.utc_us - 1, now.mono_us - 1)
        bench.app.outputs.take([Order("horn", "on", old, old, "test", "old"), Order("hron", "on", now, now, "t", "no")])
        far = Instant(now.utc_us + 10**9, now.mono_us + 10**9)
        bench.app.outputs.take([Order("horn", "dance", now, far, "test", "what")])
        await bench.until(lambda: {n["key"] for n in bench.notes("order_done")} >= {"old", "no", "what"}, "three ends")
        ends = {n["key"]: n["result"] for n in bench.notes("order_done")}
        assert [ends[key] for key in ("old", "no", "what")] == ["expired", "refused", "refused"]
        assert (HORN, True) not in bench.relays.written

    asyncio.run(on_tcp(tmp_path, body))


def test_the_command_line(tmp_path: Path) -> None:
    """`outputs` and `sampler` print what stands, refuse with the reason, and need a name and a reason."""

    async def body(bench: Bench) -> None:
        await bench.until(lambda: bench.notes("safe_state"), "the start")

        async def say(run: Callable[..., int], by: str = "", **args: str) -> tuple[int, str]:
            out = io.StringIO()
            args = {"output": "", "bottle": "", "reason": "", **args}
            status = await asyncio.to_thread(run, bench.app.state_directory, by, args, out, as_json=False)
            return status, out.getvalue()

        status, printed = await say(run_outputs, action="list")
        assert status == 0
        assert printed.splitlines()[0].split()[:4] == ["horn", "horn", "relays", "coil"]
        assert any("sampler-pace" in line and "pulsed" in line for line in printed.splitlines())
        assert await say(run_outputs, action="on", output="horn") == (
            1, "refused: say who you are: an output is moved under somebody's name\n",
        )  # fmt: skip
        for by, args, told in (
            ("Ann", {"action": "on", "output": "horn"}, "say why"),
            ("Ann", {"action": "on", "output": "hron", "reason": "x"}, "there is no output 'hron'; there are horn"),
            ("Ann", {"action": "on", "output": "pace", "reason": "x"}, "only ever pulsed"),
            ("Ann", {"action": "off", "output": "valve", "reason": "x"}, "release valve"),
            ("Ann", {"action": "off", "output": "horn", "reason": "x"}, "acknowledge or shelve"),
        ):
            status, printed = await say(run_outputs, by, **args)
            assert status == 1
            assert told in printed
        assert (await say(run_outputs, "Ann", action="test", output="horn", reason="drill"))[0] == 0
        await bench.until(lambda: bench.relays.rising[HORN] == 1 and not bench.relays.coils[HORN], "one pulse")
        assert (await say(run_sampler, action="status"))[1].splitlines()[0] == "no composite is under way"
        status, printed = await say(run_sampler, "Ann", action="start", bottle="B1")
        assert (status, printed.splitlines()[0]) == (0, "composite 1, bottle B1, started by Ann")
        assert "composite 1: 0 aliquots" in await say_status(bench)
        assert (await say(run_sampler, "Ann", action="collected"))[0] == 1
        assert (await say(run_sampler, "Ann", action="stop"))[0] == 0
        assert (await say(run_sampler, "", action="bottles"))[0] == 1
        assert (await say(run_sampler, "Ann", action="bottles"))[0] == 0
        status, printed = await say(run_outputs, action="list")
        assert "sampler-grab" in printed

    bench = asyncio.run(on_tcp(tmp_path, body))
    payloads, now = Payloads(bench.app.site), bench.app.now()
    sent = [payloads.event(1, "note", now, n, False) for n in events(bench.app.state_directory / "journal.db", "note")]
    assert len(sent) > 5
    assert "Ann" not in json.dumps(sent), "no name leaves the site"
    signed = [(n["command"], n["actor"]) for n in bench.notes("command")]
    assert ("outputs test", "Ann") in signed
    assert ("sampler start", "Ann") in signed


async def say_status(bench: Bench) -> str:
    """What `status` prints."""
    out = io.StringIO()
    assert await asyncio.to_thread(run_status, bench.app.state_directory, out, as_json=False) == 0
    return out.getvalue()


def test_a_line_that_never_opens(tmp_path: Path) -> None:
    """An order for a module nobody can reach since the start expires and is told of; it does not wait for ever."""

    async def scene() -> Bench:
        meter, relays = instruments()
        site = _site(site_file(tmp_path, TCP.format(port=1), "tcp", "tcp"), tmp_path)  # nobody listens there
        app = GatewayApp(site, ScaledClock(SPEED), tmp_path / "state")
        bench = Bench(app, meter, relays, Autosampler(relays))

        async def body(bench: Bench) -> None:
            assert (await bench.call("outputs", action="on", output="valve", reason="drill"))["ok"]
            await bench.until(lambda: any(a["alarm"] == "output-valve" for a in _alarms(bench)), "the alarm")

        return await _around(site, tmp_path, bench, body)

    bench = asyncio.run(scene())
    assert bench.notes("order_done")[0]["result"] == "expired"


def test_a_module_that_forgot(tmp_path: Path) -> None:
    """A relay that falls back by itself (its module lost its power) is noticed, told, and put back."""

    async def body(bench: Bench) -> None:
        await bench.call("outputs", action="on", output="horn", reason="drill")
        await bench.until(lambda: bench.relays.coils[HORN], "the horn")
        await bench.until(lambda: bench.notes("order_done"), "its end")
        assert "OUTPUT horn on: by hand: drill Ann" in await say_status(bench)
        bench.relays.coils[HORN] = False
        await bench.until(lambda: bench.relays.coils[HORN], "the horn again")
        assert any(n["result"] == "failed" and "is now 0" in n["why"] for n in bench.notes("order_done"))

    asyncio.run(on_tcp(tmp_path, body))


def test_with_a_broken_disk_the_horn_sounds_and_no_sample_is_taken(tmp_path: Path) -> None:
    """What cannot be recorded first: horn and valve act and say so, a pulse of the sampler waits and is not made."""

    async def body(bench: Bench) -> None:
        await bench.until(lambda: bench.notes("safe_state"), "the start")
        writer = bench.app.journal._writer
        append = writer.append

        def full(*_: object) -> None:
            raise DiskFull("no room")

        writer.append = full  # type: ignore[assignment]
        with pytest.raises(AssertionError, match="not made"):
            await _order_both(bench)
        writer.append = append
        await bench.until(lambda: bench.notes("order_done"), "the record that came later")
        (horn,) = [n for n in bench.notes("order_done") if n["output"] == "horn"]
        assert (horn["result"], horn["recorded_first"]) == ("done", False)

    async def _order_both(bench: Bench) -> None:
        now = bench.app.now()
        far = Instant(now.utc_us + 10**9, now.mono_us + 10**9)
        orders = (Order("horn", "on", now, far, "t", "h"), Order("pace", "pulse", now, far, "t", "p"))
        bench.app._accept(Outcome(orders=orders, urgent=True, state={"order:h": None}))
        await bench.until(lambda: bench.relays.coils[HORN], "the horn")
        await asyncio.sleep(0.3)
        assert bench.relays.rising[PACE], "not made"

    asyncio.run(on_tcp(tmp_path, body))


WATCHDOG = """
id = "relays"
model = "Relays with a watchdog"
source = "made up for the test, after the CREVIS NA-9189 manual, 6.3.2"
writable_coils = ["0-7"]
[watchdog]
address = 4128
unit = "100 ms"
[points.DI1]
function = 2
address = 0
unit = "state"
"""


def test_the_devices_own_watchdog_is_armed(tmp_path: Path) -> None:
    """A module that knows a watchdog is told how long to wait for the gateway: 90 s are 900 of its tenths."""
    (tmp_path / "relays.toml").write_text(WATCHDOG, encoding="utf-8")

    async def body(bench: Bench) -> None:
        await bench.until(lambda: bench.relays.armed, "the watchdog")
        await bench.until(lambda: bench.notes("watchdog_armed"), "its note")

    profile = 'profile = "./relays.toml"\nwatchdog = "90 s"'
    bench = asyncio.run(on_tcp(tmp_path, body, profile=profile, watchdog_at=4128))
    assert bench.relays.armed == [900]
    assert bench.notes("watchdog_armed") == [{"device": "relays", "after_us": 90_000_000}]


def test_an_output_that_is_a_register(tmp_path: Path) -> None:
    """A register takes the numbers of the site file for on and off, and nothing else is written to it."""
    (tmp_path / "relays.toml").write_text(WATCHDOG, encoding="utf-8")

    async def body(bench: Bench) -> None:
        await bench.call("outputs", action="on", output="horn", reason="drill")
        await bench.until(lambda: bench.relays.armed[-1:] == [7], "seven for on")
        await bench.until(lambda: any(n["result"] == "done" for n in bench.notes("order_done")), "its end")
        await bench.call("outputs", action="release", output="horn", reason="over")
        await bench.until(lambda: bench.relays.armed[-1] == 2, "two for off")

    change = ("coil = 0", 'register = 4128\non = 7\noff = 2\nallowed_by = "the maker, by letter"')
    path = 'profile = "./relays.toml"'
    bench = asyncio.run(on_tcp(tmp_path, body, change=change, profile=path, watchdog_at=4128))
    assert set(bench.relays.armed) == {2, 7}
