"""Sensor diagnosis of one site: every test that its channels ask for, heard before the rules judge."""

from collections.abc import Mapping
from typing import Any
from zoneinfo import ZoneInfo

from gateway.model import Instant, Resume
from gateway.signals.diagnosis.agreement import Disagreement
from gateway.signals.diagnosis.attenuation import Attenuation
from gateway.signals.diagnosis.dry import DryGlass
from gateway.signals.diagnosis.frame import Health, Test
from gateway.signals.diagnosis.glass import BrokenGlass
from gateway.signals.diagnosis.heat import HotGlass
from gateway.signals.diagnosis.held import Held
from gateway.signals.diagnosis.motion import witnesses_of_motion
from gateway.signals.diagnosis.night import NightValue
from gateway.signals.diagnosis.standing import StandingWater, velocity_beside
from gateway.signals.diagnosis.surcharge import Surcharge
from gateway.signals.diagnosis.tamper import TamperWatch, probes_that_step
from gateway.signals.watch import FAR_US, Said, Watch
from gateway.site import Site

__all__ = ["SensorDiagnosis"]


class SensorDiagnosis(Watch):
    """A watch that hears nothing by itself: the pipeline asks `by_channel` about each reading before it is judged."""

    key = "diagnosis"

    def __init__(self, site: Site) -> None:
        self._healths = {name: Health(name) for name in site.channels}
        self._tests: list[Test] = []
        self._tamper: TamperWatch | None = None
        for name in site.channels:
            self._watch_channel(name, site)
        self._watch_pipe(site)
        self._watch_water(site)
        self._watch_hands(site)
        self.by_channel: dict[str, Health | None] = {
            name: None if health.idle else health for name, health in self._healths.items()
        }

    @property
    def waits(self) -> bool:
        """Whether anything here waits for time to pass."""
        return self._tamper is not None

    @property
    def deadline_us(self) -> int:  # type: ignore[override]  # a plain number in the frame
        """When elapsed time alone may change something: only tampering waits for anything."""
        return FAR_US if self._tamper is None else self._tamper.deadline_us

    def tick(self, now: Instant, said: Said) -> None:
        """Let what waits discover that its time has come."""
        if self._tamper is not None:
            self._tamper.tick(now, said)

    def snapshot(self) -> dict[str, Any]:
        """What every test remembers."""
        states = {test.key: test.state() for test in self._tests}
        states |= {_minute_key(name): health.state() for name, health in self._healths.items() if not health.idle}
        return {self.key: {key: state for key, state in states.items() if state is not None}} if states else {}

    def restore(self, state: Mapping[str, Any], resume: Resume, said: Said) -> None:
        """Bring every test back; what cannot be read is left out, and the first of it is told."""
        stored = state.get(self.key)
        if stored is None:
            return
        failed: Exception | None = None
        known: dict[str, Test | Health] = {test.key: test for test in self._tests}
        known |= {_minute_key(name): health for name, health in self._healths.items()}
        for key, test in known.items():
            if key in stored:
                try:
                    test.restore(stored[key], resume)
                except (LookupError, TypeError, ValueError, AttributeError) as error:
                    failed = failed or ValueError(f"{key}: {error}")
        if failed is not None:
            raise failed

    def _watch_channel(self, name: str, site: Site) -> None:
        channel, health = site.channels[name], self._healths[name]
        diagnosed = channel.diagnosed
        if diagnosed.attenuation is not None:
            self._add(Attenuation(health, channel), minutes=[name])
        if diagnosed.held_us is not None:
            motion = witnesses_of_motion(site, name)
            self._add(Held(health, channel, motion), each=[name], minutes=motion.channels)
        if diagnosed.glass:
            glass = BrokenGlass(health, channel, site)
            self._add(glass, minutes=[name, *glass.witnesses])
        if diagnosed.agreement is not None:
            other = site.channels[diagnosed.agreement.channel]
            pair = (name, other.name)
            corrected = [self._healths[n] for n, c in site.channels.items() if c.diagnosed.compensated_by in pair]
            for one in corrected:
                one.expected = True
            test = Disagreement(channel, other, (health, self._healths[other.name]), corrected)
            self._add(test, each=list(pair))
        if diagnosed.dry_us is not None:
            dry = DryGlass(health, channel)
            self._tests.append(dry)
            health.listen(dry, dry=True)
        if diagnosed.heat is not None:
            heat = HotGlass(health, channel)
            self._add(heat, each=[name], minutes=[diagnosed.heat.channel])
        if diagnosed.night is not None:
            self._add(NightValue(health, channel, ZoneInfo(site.time_zone)), minutes=[name])

    def _watch_pipe(self, site: Site) -> None:
        ends = [
            name
            for name, channel in site.channels.items()
            if (channel.diagnosed.crown, channel.diagnosed.overflow_at, channel.diagnosed.capacity) != (None,) * 3
        ]
        if ends:
            self._add(Surcharge({name: site.channels[name] for name in ends}, self._healths), each=ends)

    def _watch_water(self, site: Site) -> None:
        """A flow from a level goes with the velocity beside the level."""
        for name, channel in site.channels.items():
            level = site.channels.get(channel.derived_from or "")
            if level is None or level.quantity != "level":
                continue
            velocity = velocity_beside(level, site.channels)
            if velocity is not None:
                self._healths[name].expected = True
                self._add(StandingWater(self._healths[name], level, velocity), minutes=[level.name, velocity.name])

    def _watch_hands(self, site: Site) -> None:
        if site.tamper is None:
            return
        test = TamperWatch(site.tamper, site)
        self._tests.append(test)
        self._tamper = test
        contacts = frozenset(name for name, _ in site.tamper.contacts)
        flows = frozenset(name for name, channel in site.channels.items() if channel.quantity == "flow")
        looked_at = flows.union(probes_that_step(site))
        for name, health in self._healths.items():  # all of them, to know when somebody is at work
            health.listen(test, each=name in contacts, minutes=name in looked_at)

    def _add(self, test: Test, *, each: list[str] | None = None, minutes: list[str] | None = None) -> None:
        self._tests.append(test)
        for name in dict.fromkeys((*(each or ()), *(minutes or ()))):
            self._healths[name].listen(test, each=name in (each or ()), minutes=name in (minutes or ()))


def _minute_key(channel: str) -> str:
    return f"minute:{channel}"
