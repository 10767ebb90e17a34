"""A hand in the manhole: probes that step together toward clean water (docs/quality.md 4.8).

A bucket of tap water over the probes takes pH toward 7, conductivity toward the tap's and temperature toward that of
the air, all at once, while the flow goes on as before. Both ordinances make tampering an offence of its own.
A lid or a door that opens has an alarm of its own.
"""

from gateway.diagnosed import Tamper
from gateway.model import Instant, Quality, Reading, Severity
from gateway.signals.diagnosis.frame import MINUTE_US, Minute, Test, Voice
from gateway.signals.watch import FAR_US, Said
from gateway.site import Site
from gateway.units import conversion

__all__ = ["TAMPER", "TamperWatch", "probes_that_step"]

TAMPER = "tamper"
_STANDS_US = 10 * MINUTE_US
"""How long a step stands as a cause, and how long after a visit nothing is called one; ours."""
_NEUTRAL = 7.0


def probes_that_step(site: Site) -> tuple[str, ...]:
    """The channels whose steps are looked at: what the interlock keeps out while dry, of three quantities."""
    wanted = ("pH", "conductivity", "temperature")
    return tuple(n for n, c in site.channels.items() if c.quantity in wanted and n in site.discharging.applies_to)


class TamperWatch(Test):
    """Says the alarm `tamper`; it flags nothing, since the values may well be what the probes are in.

    With a door or lid open it is a high alarm, else a warning: a rinse with clean water looks the same.
    """

    key = "tamper"

    def __init__(self, tamper: Tamper, site: Site) -> None:
        self._tamper = tamper
        self._voice = Voice(TAMPER)
        self._closed = dict(tamper.contacts)
        self._opened_us: dict[str, int] = {}
        self._worked_us = -FAR_US
        self._until_us = -FAR_US
        self._steps: dict[str, int] = {}  # channel -> the minute in which it last stepped toward clean water
        self._together: int | None = None
        self._means: dict[str, list[tuple[int, float]]] = {}
        self._flows = frozenset(name for name, c in site.channels.items() if c.quantity == "flow")
        self._targets = {name: self._target(site, name) for name in probes_that_step(site)}

    @property
    def deadline_us(self) -> int:
        """When a step stops being a cause."""
        return self._until_us if self._until_us > -FAR_US else FAR_US

    def hear(self, reading: Reading, usable: bool, said: Said | None) -> None:
        """Take a door or lid."""
        if reading.value is None or reading.quality is not Quality.GOOD:
            return
        if (reading.value >= 0.5) is self._closed[reading.channel]:
            self._opened_us.pop(reading.channel, None)
        else:
            self._opened_us.setdefault(reading.channel, reading.at.mono_us)

    def minute(self, channel: str, minute: Minute, said: Said | None) -> None:
        """Take a minute of a probe or of the flow."""
        means = self._means.setdefault(channel, [])
        means.append((minute.index, minute.mean))
        del means[:-5]
        if channel in self._flows:
            self._settle(minute, said)
            return
        before = self._before(channel, minute.index)
        target = self._targets.get(channel)
        if before is None or target is None or not self._toward(target, before, minute.mean):
            return
        self._steps[channel] = minute.index
        together = sum(1 for index in self._steps.values() if minute.index - index <= 1)
        at_work = minute.at.mono_us - self._worked_us <= _STANDS_US
        if together >= self._tamper.channels and not at_work:
            self._together = minute.index
            self._settle(minute, said)

    def _settle(self, minute: Minute, said: Said | None) -> None:
        """Raise the alarm for steps together once the flow of their minute is known, and unchanged."""
        if self._together is None:
            return
        unchanged = self._flow_unchanged(self._together)
        if unchanged is None:  # not yet: the flow's own minute may close after those of the probes
            self._together = self._together if minute.index - self._together <= 1 else None
            return
        self._together = None
        if not unchanged:
            return
        self._until_us = minute.at.mono_us + _STANDS_US
        opened = ", ".join(self._opened_us)
        severity = Severity.HIGH if opened else Severity.WARNING
        what = "probes stepped together toward clean water, flow unchanged"
        self._voice.say(said, severity, f"{what}{f', {opened} open' if opened else ''}: go and look", active=True)

    def visited(self, reading: Reading) -> None:
        """Somebody is at work here by name: what he does to the probes is no tampering."""
        self._worked_us = reading.at.mono_us
        self._steps.clear()

    def tick(self, now: Instant, said: Said) -> None:
        """A step is a cause for a while only; the alarm itself stays until somebody lets go of it."""
        if now.mono_us >= self._until_us:
            self._until_us = -FAR_US
            self._voice.say(said, Severity.WARNING, "no further step", active=False)

    def _target(self, site: Site, name: str) -> tuple[float, float | None]:
        """Toward which value in the channel's unit, and by how much; None: by a share of the value before."""
        channel, tamper = site.channels[name], self._tamper
        if channel.quantity == "pH":
            return _NEUTRAL, tamper.ph_step
        if channel.quantity == "conductivity":
            return conversion("uS/cm", channel.unit)(tamper.tap_us_cm), None
        from_c = conversion("degC", channel.unit)
        return from_c(tamper.ambient_c), abs(tamper.temperature_step_c * from_c.gain)

    def _toward(self, target: tuple[float, float | None], before: float, after: float) -> bool:
        goal, step = target
        least = self._tamper.conductivity_share * abs(before) if step is None else step
        return abs(before - goal) - abs(after - goal) >= least

    def _before(self, channel: str, index: int) -> float | None:
        """The mean of the minute before the one before: the step itself lies between."""
        return next((mean for at, mean in self._means.get(channel, ()) if at == index - 2), None)

    def _flow_unchanged(self, index: int) -> bool | None:
        """Whether the flow of that minute is as it was three minutes before; None while nobody can tell."""
        known: bool | None = None
        for name in self._flows:
            means = [mean for at, mean in self._means.get(name, ()) if index - 3 <= at]
            if len(means) < 2 or self._means[name][-1][0] < index:
                continue
            if max(means) - min(means) > self._tamper.flow_share * max(abs(max(means)), abs(min(means))):
                return False
            known = True
        return known
