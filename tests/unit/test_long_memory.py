"""Windows over a restart: the state of an hour ago and the readings since give the same integers as never stopping."""

import asyncio
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.model import Instant, Sample
from gateway.site import Site
from tests.unit.test_app import EXAMPLE
from tests.unit.test_app import site as plain_site

S = 1_000_000
ON = "enabled = true\n"


def site(folder: Path) -> Site:
    """Little Valley with the federal minutes outside pH 7.1 to 9 counted, which a plain site leaves off."""
    folder.mkdir(exist_ok=True)
    path = folder / "site.toml"
    text = EXAMPLE.read_text(encoding="utf-8").replace('["little-valley"]', '["little-valley", "us-federal"]')
    path.write_text(
        text + f'\n[rules."us-ph-excursion-total"]\n{ON}inside = ["7.1 pH", "9 pH"]\n'
        f'[rules."us-ph-excursion-single"]\n{ON}',
        encoding="utf-8",
    )
    counted = load(path, for_replay=True)
    assert any(rule.kind == "excursion" for rule in counted.rules)
    return replace(plain_site(folder), rules=counted.rules, alarms=counted.alarms)


def feed(app: GatewayApp, minutes: range) -> None:
    """Flow, pH and conductivity four times a minute: a slug in between, gaps, a doubtful value."""
    start = app.started
    for second in range(minutes.start * 60, minutes.stop * 60, 15):
        at = Instant(start.utc_us + second * S, start.mono_us + second * S, True)
        minute = second // 60
        flow_gpm = 62.0 if 20 <= minute < 40 else 0.0 if 50 <= minute < 55 else 9.0 + second % 7
        flow = None if 70 <= minute < 73 else flow_gpm / app.site.channels["flow"].conversion.gain
        samples = (
            Sample("flow", at, (), flow),
            Sample("ph", at, (), 7.0 + (second % 40) / 100),
            Sample("conductivity", at, (), 0.8 + (second % 11) / 100),
        )
        app._deliver(samples, at)


async def started(folder: Path, clock: ScaledClock) -> tuple[GatewayApp, "asyncio.Task[None]"]:
    """A gateway that is up."""
    app = GatewayApp(site(folder), clock, folder / "state")
    running = asyncio.create_task(app.run())
    await app.ready.wait()
    return app, running


async def stopped(running: "asyncio.Task[None]") -> None:
    """Cancelled, and gone."""
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


BEFORE_MIDNIGHT_US = 1_796_101_200_000_000 - 50 * 60 * S  # 50 minutes before 2026-12-01T00:00 in New York
NOON_US = 1_796_101_200_000_000 - 12 * 3600 * S


@pytest.mark.parametrize("anchor_utc_us", [NOON_US, BEFORE_MIDNIGHT_US], ids=["at noon", "over midnight"])
@pytest.mark.parametrize("more", [0, 1, 47, 90], ids=lambda m: f"{m} minutes after the state was stored")
def test_a_killed_gateway_rebuilds_its_windows_to_the_bit(more: int, anchor_utc_us: int, tmp_path: Path) -> None:
    """The journal as kill -9 leaves it: state as of some record, and what came after it, a day's end too."""
    # Its own ticks settle nothing: time comes with the samples.
    clock = ScaledClock(0.001, anchor_utc_us=anchor_utc_us)

    async def body() -> tuple[dict[str, Any], dict[str, Any]]:
        app, running = await started(tmp_path / "one", clock)
        feed(app, range(30))
        await app.quiesce()
        await app.memory.keep(app.now(), at_once=True)
        await app.quiesce()
        feed(app, range(30, 30 + more))
        await app.quiesce()
        (tmp_path / "two").mkdir()
        shutil.copytree(tmp_path / "one" / "state", tmp_path / "two" / "state", ignore=shutil.ignore_patterns("*.sock"))
        expected = app.pipeline.snapshot()
        await stopped(running)
        again, running = await started(tmp_path / "two", clock)
        rebuilt = again.pipeline.snapshot()
        await stopped(running)
        return expected, rebuilt

    expected, rebuilt = asyncio.run(body())
    assert rebuilt.keys() == expected.keys()
    for key, value in expected.items():
        assert rebuilt[key] == value, key


def test_a_clean_stop_stores_everything(tmp_path: Path) -> None:
    """After a stop nothing has to be fed again, and the books are the same."""
    clock = ScaledClock(0.001)

    async def body() -> None:
        app, running = await started(tmp_path, clock)
        feed(app, range(65))
        await app.quiesce()
        expected = app.pipeline.accounts.state()
        await stopped(running)
        again, running = await started(tmp_path, clock)
        assert again.pipeline.accounts.state() == expected
        await stopped(running)

    asyncio.run(body())
