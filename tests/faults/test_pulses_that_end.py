"""A pulse that began is ended, whatever becomes of the line or of the gateway in its middle."""

import asyncio
from pathlib import Path

import pytest

from gateway.drivers import outputs
from tests.faults.test_outputs_on_the_line import Bench, on_tcp
from tests.support.wired_gateway import HORN, PACE

HOLDS = ('expires = "2 min"\n[outputs.valve]', 'expires = "2 min"\nsafe = "hold"\npulse = "60 s"\n[outputs.valve]')


def test_a_line_that_fails_in_mid_pulse(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that is silent for longer than the tries to end a pulse is told as soon as it speaks again."""
    monkeypatch.setattr(outputs, "_PAUSE_S", 0.001)

    async def body(bench: Bench) -> None:
        await bench.until(lambda: bench.notes("safe_state"), "the start")
        assert (await bench.call("outputs", action="test", output="pace", reason="drill"))["ok"]
        await bench.until(lambda: bench.relays.coils[PACE], "the pulse")
        bench.relays.silent = True
        await bench.until(lambda: bench.notes("order_done"), "its end")
        assert "may still be on" in bench.notes("order_done")[0]["why"]
        assert bench.relays.coils[PACE]
        bench.relays.silent = False
        await bench.until(lambda: not bench.relays.coils[PACE], "the pulse's end")
        assert bench.relays.rising[PACE] == 1

    asyncio.run(on_tcp(tmp_path, body, speed=10))


def test_a_clean_end_in_mid_pulse_of_an_output_that_holds(tmp_path: Path) -> None:
    """`safe = "hold"` keeps what somebody put it to, and no pulse: the end of the gateway ends it."""

    async def body(bench: Bench) -> None:
        await bench.until(lambda: bench.notes("safe_state"), "the start")
        assert (await bench.call("outputs", action="test", output="horn", reason="drill"))["ok"]
        await bench.until(lambda: bench.relays.coils[HORN], "the pulse")

    bench = asyncio.run(on_tcp(tmp_path, body, speed=5, change=HOLDS))
    assert bench.notes("safe_state")[-1]["outputs"]["horn"] == "off"
    assert not bench.relays.coils[HORN]
