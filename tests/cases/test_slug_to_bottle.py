"""A tank is let go at the plant; minutes later a bottle of it stands in the sampler, with its paper."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.control import ask, socket_path
from gateway.shipped import shipped
from gateway.site import Part
from simulators import scenario as scenarios
from simulators.bench import Bench
from simulators.relays import RelayModule
from tests.support.journal_rows import events

SPEED = 150
PATIENCE_S = 60.0


@pytest.mark.timeout(120)
def test_from_the_holding_tank_to_the_bottle(tmp_path: Path) -> None:
    """The shipped example on the shipped slug, over a real serial line: composite, pre-alarm, bottle, horn, silence."""
    text = Path(str(shipped("examples", "sampler"))).read_text(encoding="utf-8")
    (tmp_path / "site.toml").write_text(text.replace('poll = "1 s"', 'poll = "15 s"'), encoding="utf-8")
    site = replace(
        load(tmp_path / "site.toml", for_replay=True),
        notifiers=(Part("bench", "bench", {"folder": tmp_path / "texts"}),),
    )
    scenario = scenarios.load("slug")

    async def scene() -> tuple[Bench, Path]:
        clock = ScaledClock(SPEED, anchor_utc_us=scenario.starts_at_us)
        bench = Bench(scenario, site, clock)
        assert bench.sampler is not None
        relays = bench.instruments["relays"]
        assert isinstance(relays, RelayModule)
        app = GatewayApp(replace(site, buses=await bench.start()), clock, tmp_path / "state")
        tasks = [asyncio.create_task(bench.run()), asyncio.create_task(app.run())]
        await app.ready.wait()

        async def until(holds: Callable[[], object]) -> None:
            async with asyncio.timeout(PATIENCE_S):
                while not holds():  # noqa: ASYNC110  # the far end of a line
                    await asyncio.sleep(0.005)

        async def call(command: str, **args: str) -> dict[str, Any]:
            request = {"command": command, "actor": "J. Tech", "args": args}
            answer = await ask(socket_path(app.state_directory), request)
            assert answer["ok"], answer
            return answer

        try:
            await call("sampler", action="start", bottle="B1")
            await until(lambda: relays.rising[2])  # the grab relay; a pulse is over before one looks
            assert not relays.coils[0], "a pre-alarm does not sound"
            await until(lambda: relays.coils[0])  # the horn
            await call("ack", alarm="lv-slug-flow")
            await until(lambda: not relays.coils[0])
            await call("sampler", action="stop")
            while (await call("sampler"))["sampler"]["composite"] is not None:  # noqa: ASYNC110
                await asyncio.sleep(0.05)  # a pulse is still under way
            await app.quiesce()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await bench.stop()
        return bench, tmp_path / "state" / "journal.db"

    bench, journal = asyncio.run(scene())
    notes = [(note["kind"], note["body"]) for note in events(journal, "note")]
    grabs = [body for kind, body in notes if kind == "grab"]
    assert bench.sampler is not None
    assert bench.sampler.grabs == len(grabs) >= 1
    first = grabs[0]
    assert (first["bottle"], first["event"]["rule"], first["event"]["event"]) == (1, "lv-slug-flow", "prealarm")
    assert first["event"]["clause"] == "§ 194-6C(13)(d)"
    assert first["values"]["flow"]["value"] > 50
    assert set(first["values"]) == set(site.channels) - {"relays"}
    raised = next(f for f in events(journal, "finding") if f["event"] == "raised")
    ordered = next(body for kind, body in notes if kind == "order" and body["output"] == "grab")
    assert ordered["expires_utc_us"] < raised["at"]["utc_us"], "the bottle stood long before the slug was proven"
    (end,) = [body for kind, body in notes if kind == "composite_ended"]
    aliquots = [body for kind, body in notes if kind == "aliquot"]
    assert end["why"] == "ended by hand"
    assert bench.sampler.pulses == end["pulses_done"] > 40
    assert bench.sampler.aliquots == end["aliquots"] == len(aliquots) == end["pulses_done"] // 20
    assert [a["alarm"] for a in events(journal, "alarm") if a["alarm"] == "sampler-grab"]
