"""What a consumer at a real mosquitto sees of the whole gateway: at once what is live, after its commit what is on
record, and after the fact what is retained.
"""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.model import Sample
from gateway.shipped import shipped
from gateway.site import Part
from tests.support.mosquitto import Broker, Consumer, wait_for

pytestmark = pytest.mark.mosquitto

ROOT = "manhole/v1/lv-mh3"
S = 1_000_000


def ph(app: GatewayApp, value: float, *seconds: int) -> None:
    """pH samples at these seconds of the gateway's life, as if a probe had sent them."""
    for second in seconds:
        at = replace(app.started, utc_us=app.started.utc_us + second * S, mono_us=app.started.mono_us + second * S)
        app._deliver((Sample("ph", at, (), value),), at)


async def story(folder: Path, broker: Broker, consumer: Consumer) -> list[str]:
    """Two sound readings, an acid run, and what a consumer that comes only now is shown; ends with a clean stop."""
    site = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
    sink = Part("mqtt", "mqtt", {"host": "127.0.0.1", "port": broker.port})
    phone = Part("bench", "bench", {"folder": folder / "texts"})
    site = replace(site, buses={}, sinks=(sink,), notifiers=(phone,), commit_every_us=10**6 * S)  # no timer commits
    app = GatewayApp(site, ScaledClock(1), folder / "state")
    running = asyncio.create_task(app.run())
    try:
        await app.ready.wait()
        await asyncio.to_thread(wait_for, lambda: consumer.of(f"{ROOT}/status"), "the birth")
        ph(app, 7.0, 0)  # the first poll also says that suspended solids have no baseline, so it is committed
        await asyncio.to_thread(wait_for, lambda: consumer.of(f"{ROOT}/telemetry"), "the first reading")
        ph(app, 7.1, 15)
        live = f"{ROOT}/channel/ph"
        await asyncio.to_thread(
            wait_for, lambda: consumer.of(live)[-1:] and consumer.of(live)[-1]["value"] == 7.1, live
        )
        assert app.journal.pending
        assert len(consumer.of(f"{ROOT}/telemetry")) == 1
        ph(app, 3.1, 30, 45, 60)
        await asyncio.to_thread(wait_for, lambda: consumer.of(f"{ROOT}/alarm/lv-ph-low"), "the alarm")
        await asyncio.to_thread(wait_for, lambda: len(consumer.of(f"{ROOT}/telemetry")) == 5, "every reading")
        with Consumer(broker.port, f"{ROOT}/#") as latecomer:
            await asyncio.to_thread(wait_for, lambda: len(latecomer.messages) == 5, "what is retained, and no more")
            shown = sorted(m.topic.removeprefix(f"{ROOT}/") for m in latecomer.messages if m.retained)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    return shown


def test_live_at_once_the_record_after_its_commit_an_exceedance_without_delay(tmp_path: Path) -> None:
    """With a commit period no test lives to see: the live value comes uncommitted, ordinary telemetry waits for a
    commit, and an exceedance commits at once and takes the waiting readings along, in order."""
    with Broker(tmp_path) as broker, Consumer(broker.port, f"{ROOT}/#") as consumer:
        shown = asyncio.run(story(tmp_path, broker, consumer))
        wait_for(lambda: consumer.of(f"{ROOT}/status")[-1]["state"] == "offline", "the farewell")
    assert [body["value"] for body in consumer.of(f"{ROOT}/channel/ph")][-1] == 3.1
    telemetry = consumer.of(f"{ROOT}/telemetry")
    assert [body["m"]["ph"]["value"] for body in telemetry] == [7.0, 7.1, 3.1, 3.1, 3.1]
    assert {(body["m"]["ph"]["unit"], body["m"]["ph"]["q"], body["hist"]) for body in telemetry} == {
        ("pH", "good", False)
    }
    found = [body["body"] for body in consumer.of(f"{ROOT}/event") if body["kind"] == "finding"]
    assert [f["event"] for f in found if f["rule"] == "lv-ph-low"] == ["raised"]
    (alarm,) = consumer.of(f"{ROOT}/alarm/lv-ph-low")
    assert (alarm["state"], alarm["active"], alarm["severity"]) == ("B", True, "high")
    assert shown == ["alarm/lv-ph-low", "channel/ph", "health", "meta", "status"]
    last = consumer.of(f"{ROOT}/status")[-1]
    assert (last["state"], last["why"]) == ("offline", "stopped")
