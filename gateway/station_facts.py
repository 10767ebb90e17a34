"""How the station itself is, asked of its parts: what is wrong with each, in words. See `station_alarms`."""

import asyncio
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from gateway.alarms.notifier import Notifier
from gateway.errors import GatewayError, StoreError
from gateway.isotime import iso_utc
from gateway.station_alarms import CLOCK, DISK, JOURNAL, TEXTS, bus_alarm, sink_alarm, way_alarm

if TYPE_CHECKING:
    from gateway.app import GatewayApp

__all__ = ["StationFacts"]

_SINK_PATIENCE_US = 3_600_000_000  # what is older than this and not acknowledged says that nothing is taken
_ASK_WAYS_EVERY_US = 300_000_000  # a provider is asked over a network that costs
_WAY_PATIENCE_S = 60.0
_LEAST_SHARE, _LEAST_BYTES = 0.05, 200 << 20
_FAILED_FOR_US = 600_000_000  # how long a text that failed for good is news


class StationFacts:
    """Asks the parts of one running gateway. One caller at a time."""

    def __init__(self, app: "GatewayApp", notifiers: Mapping[str, Notifier]) -> None:
        self._app = app
        self._notifiers = notifiers
        self._ways: dict[str, str] = {}
        self._asked_us: int | None = None
        self._failed = 0
        self._failed_us: int | None = None

    async def gather(self) -> dict[str, str | None]:
        """By alarm: what is wrong, empty when nothing is, None when nobody can tell."""
        app, now = self._app, self._app.now()
        facts: dict[str, str | None] = {
            JOURNAL: app.faults.get("journal", ""),
            CLOCK: "" if now.synced else "not synchronised",
            DISK: await asyncio.to_thread(_disk, app.state_directory),
            TEXTS: self._texts(now.mono_us),
        }
        for bus in app.buses:
            health = bus.health()
            facts[bus_alarm(health.bus)] = (health.why or "down") if health.state == "down" else ""
        for delivery in app.deliveries:
            facts[sink_alarm(delivery.name)] = await self._sink(delivery.name, now.utc_us)
        facts |= {way_alarm(name): why for name, why in (await self._ask_ways(now.mono_us)).items()}
        return facts

    def _texts(self, now_us: int) -> str:
        failed = self._app.texts.counts.failed
        if failed > self._failed:
            self._failed, self._failed_us = failed, now_us
        recent = self._failed_us is not None and now_us - self._failed_us < _FAILED_FOR_US
        return f"{failed} since the start" if recent else ""

    async def _sink(self, name: str, now_utc_us: int) -> str | None:
        try:
            stored = await self._app.journal.counts(name)
        except StoreError:
            return None
        oldest_us = stored.oldest_unsent_utc_us
        if not stored.unsent or oldest_us is None or now_utc_us - oldest_us < _SINK_PATIENCE_US:
            return ""
        return f"{stored.unsent} records wait since {iso_utc(oldest_us)}"

    async def _ask_ways(self, now_us: int) -> dict[str, str]:
        """What is wrong with each way to a person, asked every few minutes."""
        if self._asked_us is None or now_us - self._asked_us >= _ASK_WAYS_EVERY_US:
            self._asked_us = now_us
            asked = await asyncio.gather(*(_wrong_with(way) for way in self._notifiers.values()))
            self._ways = dict(zip(self._notifiers, asked, strict=True))
        return self._ways


async def _wrong_with(way: Notifier) -> str:
    """Why no text can go out this way; empty when it can."""
    try:
        async with asyncio.timeout(_WAY_PATIENCE_S):
            health = await way.health()
    except (GatewayError, OSError, TimeoutError) as error:
        return str(error) or "no answer"
    return "" if health.usable else health.why or "not usable"


def _disk(folder: Path) -> str:
    try:
        usage = shutil.disk_usage(folder)
    except OSError as error:
        return str(error.strerror)
    if usage.free >= max(_LEAST_BYTES, _LEAST_SHARE * usage.total):
        return ""
    return f"{usage.free >> 20} MB free of {usage.total >> 20}"
