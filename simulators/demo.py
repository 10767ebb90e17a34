"""The body of `demo`: simulated instruments on real Modbus lines, a broker, the gateway, and what people would see."""

import argparse
import asyncio
import io
import json
import logging
import re
import tempfile
from collections import Counter
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from gateway.app import GatewayApp
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.errors import InputError
from gateway.model import AlarmEdge, Outcome
from gateway.shipped import shipped
from gateway.site import Bus, Contact, Part, Site
from gateway.units import parse_duration_us
from simulators import scenario as scenarios
from simulators.bench import Bench
from simulators.broker import Broker
from simulators.consumer import Consumer
from simulators.scenario import Scenario
from simulators.view import View

__all__ = ["run_demo"]

_log = logging.getLogger(__name__)

_SHOWN_S = 75.0  # how long a whole scenario is shown when nobody says otherwise
_DRAIN_S = 15.0
_REFRESH_S = 0.25
_SINK = "mqtt"


def run_demo(arguments: argparse.Namespace, out: TextIO) -> int:
    """Show one scenario. Returns 0 when every record reached the consumer and every text was delivered, else 1."""
    scenario = scenarios.load(arguments.scenario)
    if scenario.recorded:
        raise InputError("the recorded scenario needs a file: use `simulate --recorded FILE` and `run`")
    speed, shown_us = _pace(scenario, arguments.speed, arguments.duration)
    site = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
    console = Console(file=out, soft_wrap=not out.isatty(), width=None if out.isatty() else 160)
    if out.isatty():
        logging.getLogger().setLevel(logging.ERROR)  # a picture and log lines do not share a terminal
    with tempfile.TemporaryDirectory(prefix="manhole-demo-") as folder:
        demo = _Demo(scenario, site, ScaledClock(speed, anchor_utc_us=scenario.starts_at_us), Path(folder), console)
        summary = asyncio.run(demo.show(shown_us))
        if arguments.svg is not None:
            _picture(demo.view, arguments.svg)
    if arguments.json:
        out.write(json.dumps(summary) + "\n")
    else:
        console.print("\n".join(_words(summary, speed)), markup=False, highlight=False)
    lost = summary["records"] - summary["consumer_received"]
    return 0 if lost == 0 and summary["texts_waiting"] == 0 else 1


class _Demo:
    """Everything on one machine and one loop."""

    def __init__(self, scenario: Scenario, site: Site, clock: ScaledClock, folder: Path, console: Console) -> None:
        self.scenario = scenario
        self.clock = clock
        self.folder = folder
        self.broker = Broker(folder)
        self.bench = Bench(scenario, site, clock)
        self.site = site
        self.view = View(site, console, f"{scenario.name}: {scenario.title}", self.broker.name)
        self.edges: Counter[AlarmEdge] = Counter()
        self.readings = 0
        self.resent = 0
        self._resending = False

    async def show(self, shown_us: int) -> dict[str, Any]:
        """Run for a virtual duration, let everything arrive, and count."""
        await self.broker.start()
        consumer = Consumer("manhole/v1", self.broker.host, self.broker.port)
        consumer.start()
        try:
            app = GatewayApp(self._wired(await self.bench.start()), self.clock, self.folder / "state")
            app.watch(self._take)
            with self.view:
                await self._run(app, consumer, shown_us)
                return await self._end(app, consumer)
        finally:
            consumer.stop()
            await self.bench.stop()
            await self.broker.kill()

    async def _run(self, app: GatewayApp, consumer: Consumer, shown_us: int) -> None:
        self._tasks = [
            asyncio.create_task(app.run(), name="gateway"),
            asyncio.create_task(self.bench.run(), name="bench"),
            asyncio.create_task(self._outage(app, consumer), name="broker outage"),
        ]
        over = asyncio.create_task(self.clock.sleep(shown_us), name="scenario over")
        while not over.done():
            for task in self._tasks[:2]:
                if task.done():
                    task.result()
            self._refresh(app, consumer)
            await asyncio.sleep(_REFRESH_S)

    async def _end(self, app: GatewayApp, consumer: Consumer) -> dict[str, Any]:
        """Stop the instruments' story, wait for what is on its way, then stop the gateway and count."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_DRAIN_S):
                await app.quiesce()
                await self._arrived(app, consumer)
        waiting = len(await app.journal.outbox_due())
        self._refresh(app, consumer)
        delivery = app.deliveries[0].counts
        records = await app.journal.last_seq()
        late = sum(bus.health().missed_slots for bus in app.buses)
        for task in reversed(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        return {
            "scenario": self.scenario.name,
            "readings_stored": self.readings,
            "records": records,
            "mqtt_published": delivery.published - self.resent,
            "mqtt_acknowledged": delivery.acknowledged - self.resent,
            "mqtt_resent": self.resent,
            "consumer_received": len(consumer.ids),
            "alarms_raised": self.edges[AlarmEdge.RAISED],
            "alarms_cleared": self.edges[AlarmEdge.CLEARED],
            "texts_delivered": app.texts.counts.delivered,
            "texts_waiting": waiting,
            "polls_late": late,
        }

    async def _arrived(self, app: GatewayApp, consumer: Consumer) -> None:
        # The consumer lives in another thread and another library: there is nothing to wait on but its count.
        while self._resending or len(consumer.ids) < await app.journal.last_seq():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.05)

    def _wired(self, buses: Mapping[str, Bus]) -> Site:
        """The example site on the bench's own lines, broker and phone."""
        sink = Part(_SINK, "mqtt", {"host": self.broker.host, "port": self.broker.port})
        phone = Part("bench", "bench", {"folder": self.folder / "texts", "show": self._texted})
        return replace(self.site, buses=buses, sinks=(sink,), notifiers=(phone,))

    def _texted(self, contact: Contact, text: str) -> None:
        self.view.text(contact, text, self.clock.now())

    def _take(self, outcome: Outcome) -> None:
        self.readings += len(outcome.readings)
        self.edges.update(event.edge for event in outcome.alarm_events)
        self.view.take(outcome)

    def _refresh(self, app: GatewayApp, consumer: Consumer) -> None:
        self.view.refresh(
            self.clock.now(),
            stored=self.readings,
            acknowledged=app.deliveries[0].counts.acknowledged - self.resent,
            received=len(consumer.ids),
        )

    async def _outage(self, app: GatewayApp, consumer: Consumer) -> None:
        outage = self.scenario.outage
        if outage is None:
            return
        await self.clock.sleep(round(outage.down_at_s * 1e6))
        await self.broker.kill()
        _log.warning("the broker was killed, as the scenario says")
        await self.clock.sleep(round((outage.up_at_s - outage.down_at_s) * 1e6))
        await self.broker.start()
        _log.warning("the broker is back")
        # Killed, it forgot its subscribers: what it took from the gateway before they were back went to nobody.
        while not consumer.listens.is_set():  # noqa: ASYNC110  # set by another thread
            await asyncio.sleep(0.05)
        self._resending = True
        answer = await app.resend(_SINK, 1, await app.journal.last_seq())
        self.resent = int(answer["acknowledged"])
        self._resending = False


def _pace(scenario: Scenario, speed: float | None, duration: str | None) -> tuple[float, int]:
    """How fast, and for how long in virtual time: the whole scenario, unless the duration cuts it short."""
    whole_us = round(scenario.duration_s * 1e6)
    try:
        shown_s = None if duration is None else parse_duration_us(duration) / 1e6
    except ValueError as error:
        raise InputError(f"--duration: {error}") from error
    if speed is not None and not 0 < speed < inf:
        raise InputError(f"--speed {speed:g}: time does not run backwards here, nor without end")
    if shown_s is not None and shown_s <= 0:
        raise InputError(f"--duration {duration}: nothing to show")
    chosen = speed if speed is not None else scenario.duration_s / (shown_s or _SHOWN_S)
    return chosen, whole_us if shown_s is None else min(whole_us, round(shown_s * chosen * 1e6))


def _words(summary: Mapping[str, Any], speed: float) -> list[str]:
    arrived = (
        f"{summary['mqtt_acknowledged']} acknowledged by the broker, {summary['consumer_received']} at the consumer"
    )
    alarms = f"{summary['alarms_raised']} alarms raised, {summary['alarms_cleared']} cleared"
    return [
        f"{summary['scenario']}, {speed:.0f} times as fast as real:",
        f"  {summary['readings_stored']} readings stored, {summary['polls_late']} polls late",
        f"  {summary['records']} records, {arrived}",
        f"  {alarms}, {summary['texts_delivered']} texts delivered",
    ]


def _picture(view: View, path: Path) -> None:
    """The last picture as SVG, for the README; it loads no font from anywhere."""
    console = Console(record=True, width=118, file=io.StringIO())
    console.print(view.picture())
    svg = console.export_svg(title="manhole-gateway demo")
    path.write_text(re.sub(r"\s*@font-face \{.*?\}", "", svg, flags=re.DOTALL), encoding="utf-8")
