"""A station under sensor diagnosis, built by hand, and its pipeline fed minute by minute."""

from collections.abc import Iterable, Mapping
from typing import Any

from gateway.diagnosed import Diagnosed, Tamper
from gateway.model import AlarmEvent, Instant, Mode, Outcome, Reading, Sample
from gateway.pipeline import Pipeline
from gateway.problems import Problems
from gateway.site import Channel, Discharging, Site, Witness
from gateway.site_alarms import build_alarms
from tests.support.bench_site import START, S, channel

HOUR = 3600
DAY = 24 * HOUR


def station(
    *channels: Channel, witness: tuple[str, float] | None = None, tamper: Tamper | None = None, hold_off_s: float = 0
) -> Site:
    """A site without rules; `witness` is the flow that says when the others are wet."""
    by_name = {one.name: one for one in channels}
    applies = frozenset(one.name for one in channels if one.quantity in ("pH", "temperature", "conductivity"))
    witnesses = () if witness is None else (Witness(*witness),)
    alarms = build_alarms({}, [], by_name, [], Problems("site.toml", {}), complete=True, tamper=tamper is not None)
    return Site(
        id="bench", name="bench", discharger="user", time_zone="UTC", channels=by_name, rules=(),
        discharging=Discharging(witnesses, applies_to=applies, hold_off_us=int(hold_off_s * S)), alarms=alarms,
        contacts=(), buses={}, devices={}, sinks=(), notifiers=(), baselines={}, config_hash="", tamper=tamper,
    )  # fmt: skip


def ph(**diagnosed: Any) -> Channel:
    """A pH channel polled once a minute, its display in hundredths."""
    return minutely("ph", "pH", "pH", **({"resolution": 0.01} | diagnosed))


def minutely(name: str, quantity: str, unit: str, **diagnosed: Any) -> Channel:
    """A channel polled once a minute."""
    facts = {"quantity": quantity, "unit": unit, "stale_after_us": 150 * S, "diagnosed": Diagnosed(**diagnosed)}
    return channel(name, poll_s=60, hold_s=150, **facts)


def moment(second: float) -> Instant:
    """So many seconds after midnight of the day the bench starts on, UTC."""
    midnight_us = START.utc_us // (DAY * S) * DAY * S
    return Instant(midnight_us + int(second * S), int(second * S), True)


class Bench:
    """A pipeline, the readings it gave and the alarm edges it made."""

    def __init__(self, site: Site, second: float = 0, *, measured: frozenset[str] = frozenset()) -> None:
        self.site = site
        self.pipeline = Pipeline(site, moment(second), measured=measured)
        self.readings: list[Reading] = []
        self.events: list[AlarmEvent] = []
        self.notes: list[Any] = []
        self.state: dict[str, Any] = {}

    def poll(
        self,
        second: float,
        values: Mapping[str, float | None],
        *,
        raw: Mapping[str, tuple[int, ...]] | None = None,
        working: Iterable[str] = (),
    ) -> dict[str, Reading]:
        """One poll; `raw` gives registers, `working` channels on which somebody is at work."""
        at = moment(second)
        samples = [
            Sample(name, at, (raw or {}).get(name, ()), value, mode=Mode.MAINTENANCE if name in working else Mode.RUN)
            for name, value in values.items()
        ]
        return self._keep(self.pipeline.process(samples, at))

    def tick(self, second: float) -> None:
        """Time passes."""
        self._keep(self.pipeline.tick(moment(second)))

    def _keep(self, outcome: Outcome) -> dict[str, Reading]:
        self.readings.extend(outcome.readings)
        self.events.extend(outcome.alarm_events)
        self.notes.extend(outcome.notes)
        self.state |= outcome.state
        return {reading.channel: reading for reading in outcome.readings}

    def flagged(self, test: str) -> list[tuple[str, float]]:
        """Which readings carry this test, with their seconds."""
        return [(r.channel, r.at.mono_us / S) for r in self.readings if test in r.tests]

    def edges(self, alarm: str) -> list[tuple[str, float]]:
        """What happened to an alarm, with its seconds."""
        return [(e.edge.value, e.at.mono_us / S) for e in self.events if e.alarm == alarm]
