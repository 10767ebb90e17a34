"""A full pipe and one that runs over: an alarm of its own, which no visit and no shelf puts aside (quality.md 4.7).

Level at or above the crown, or a flow of more than 1.1 times what the full pipe carries (a circle carries at most 1.076
times that): water backs up, or an instrument is wrong, and somebody has to look either way. A level at or above
`overflow_at` leaves the manhole.
"""

from typing import Any

from gateway.model import Note, Quality, Reading, Resume, Severity
from gateway.signals.diagnosis.frame import Health, Test, Voice
from gateway.signals.watch import Said
from gateway.site import Channel

__all__ = ["SURCHARGE", "Surcharge"]

SURCHARGE = "surcharge"
_RELEASE = 0.98
"""A cause goes when the value is below this share of its threshold, so that a ripple does not flutter; ours."""


class Surcharge(Test):
    """Hears levels with a crown and flows with a capacity, in maintenance too."""

    key = "surcharge"

    def __init__(self, channels: dict[str, Channel], healths: dict[str, Health]) -> None:
        self._channels = channels
        self._healths = healths
        self._voice = Voice(SURCHARGE)
        self._causes: dict[str, str] = {}
        self._over: set[str] = set()
        self._least = {name: _least(channel) for name, channel in channels.items()}

    def hear(self, reading: Reading, usable: bool, said: Said | None) -> None:
        """Compare with the crown, the manhole's rim or the pipe's capacity."""
        value, name = reading.value, reading.channel
        if value is None or reading.quality is Quality.FAIL or reading.quality is Quality.MISSING:
            return  # nobody can tell: what stands stands, and the sensor's own alarm says the rest
        if value < self._least[name] and name not in self._causes and self._voice.told is not None:
            return
        diagnosed, unit = self._channels[name].diagnosed, self._channels[name].unit
        if diagnosed.capacity is not None and self._beyond(name, value, diagnosed.capacity):
            words = f"{name} {value:.4g} {unit}, the full pipe carries {diagnosed.capacity:.4g}"
        elif diagnosed.crown is not None and self._beyond(name, value, diagnosed.crown):
            words = f"{name} {value:.3g} {unit}, crown at {diagnosed.crown:.3g}"
        else:
            words = ""
        self._healths[name].flag("over_pipe", on=bool(words) and diagnosed.capacity is not None)
        spills = diagnosed.overflow_at is not None and self._spills(name, value, diagnosed.overflow_at)
        if spills and name not in self._over and said is not None:
            body = {"channel": name, "level": value, "unit": unit, "overflow_at": diagnosed.overflow_at}
            said.notes.append(Note("overflow", reading.at, body))
        if spills:
            words = f"OVERFLOW: {name} {value:.3g} {unit}, over the rim at {diagnosed.overflow_at:.3g}"
            self._over.add(name)
        else:
            self._over.discard(name)
        if words:
            self._causes[name] = words
        else:
            self._causes.pop(name, None)
        severity = Severity.CRITICAL if self._over else Severity.HIGH
        worst = [self._causes[n] for n in sorted(self._causes, key=lambda n: n not in self._over)]
        reason = "; ".join(worst) + ": look for a blockage downstream" if worst else "the pipe is not full any more"
        self._voice.say(said, severity, reason, active=bool(worst))

    def state(self) -> Any:
        """What stands."""
        return {"causes": dict(self._causes), "over": sorted(self._over)}

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring it back; a channel that is gone takes its cause with it."""
        self._causes = {str(n): str(words) for n, words in state["causes"].items() if n in self._channels}
        self._over = {str(name) for name in state["over"] if name in self._channels}

    def _beyond(self, name: str, value: float, threshold: float) -> bool:
        return value >= (threshold * _RELEASE if name in self._causes else threshold)

    def _spills(self, name: str, value: float, threshold: float) -> bool:
        return value >= (threshold * _RELEASE if name in self._over else threshold)


def _least(channel: Channel) -> float:
    """The lowest of the channel's thresholds."""
    diagnosed = channel.diagnosed
    ends = (diagnosed.capacity, diagnosed.crown, diagnosed.overflow_at)
    return min(end for end in ends if end is not None)
