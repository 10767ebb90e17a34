"""What the outputs are at the start: put to their safe state, however late their module answers, and said to be so."""

import asyncio
from pathlib import Path
from typing import Any

from tests.faults.test_outputs_on_the_line import Bench, on_tcp
from tests.support.journal_rows import events
from tests.support.wired_gateway import HORN, VALVE


async def _are(bench: Bench) -> dict[str, Any]:
    """Whether each output is on, as `outputs list` says it."""
    answer = await bench.call("outputs", action="list")
    return {one["output"]: one["is_on"] for one in answer["outputs"]}


def test_what_the_start_put_to_rest_is_known(tmp_path: Path) -> None:
    """Once the safe state is confirmed nobody reads `unknown`; the note of the start says it, and no second one."""

    async def body(bench: Bench) -> None:
        await bench.until(lambda: bench.notes("safe_state"), "the safe state of the start")
        assert await _are(bench) == {"horn": False, "valve": False, "pace": None, "grab": None}
        assert bench.notes("order_done") == []

    asyncio.run(on_tcp(tmp_path, body))


def test_a_module_that_boots_later_than_the_gateway(tmp_path: Path) -> None:
    """Its valve, which an earlier run left on, is put to its safe state once it answers, and `output-valve` ends."""

    async def body(bench: Bench) -> None:
        await bench.until(lambda: bench.notes("safe_state"), "the start")
        (start,) = bench.notes("safe_state")
        assert "failed" in start["outputs"]["valve"]
        assert (await _are(bench))["valve"] is None
        bench.relays.coils[VALVE] = True
        bench.relays.silent = False
        await bench.until(lambda: not bench.relays.coils[VALVE], "the valve's safe state")
        await bench.until(lambda: "cleared" in _edges(bench, "output-valve"), "the end of its alarm")
        assert (await _are(bench))["valve"] is False
        assert "valve" not in {note["output"] for note in bench.notes("order")}

    asyncio.run(on_tcp(tmp_path, body, late=True))


def _edges(bench: Bench, alarm: str) -> set[str]:
    rows = events(bench.app.state_directory / "journal.db", "alarm")
    return {str(row["edge"]) for row in rows if row["alarm"] == alarm}


def test_an_order_takes_the_place_of_the_safe_state(tmp_path: Path) -> None:
    """A horn that was ordered on while its module still booted is not put to rest afterwards."""

    async def body(bench: Bench) -> None:
        await bench.until(lambda: bench.notes("safe_state"), "the start")
        await bench.call("outputs", action="on", output="horn", reason="drill")
        await bench.until(lambda: any(n["action"] == "on" for n in bench.notes("order_done")), "an order that failed")
        bench.relays.silent = False
        await bench.until(lambda: bench.relays.coils[HORN], "the horn")
        await bench.app.clock.sleep(150_000_000)
        horn = [on for coil, on in bench.relays.written if coil == HORN]
        assert horn[-1] is True
        assert False not in horn[horn.index(True) :]

    asyncio.run(on_tcp(tmp_path, body, late=True))
