"""Two sensors of one thing that do not agree: neither is believed, nor a pH that one of them corrects."""

from typing import Any

from gateway.model import Reading, Resume, Severity
from gateway.signals.diagnosis.frame import Health, Test, Voice
from gateway.signals.watch import Said
from gateway.site import Channel

__all__ = ["Disagreement", "disagreement_alarm"]


def disagreement_alarm(channel: str) -> str:
    """The id of the alarm of a channel that names another it must agree with."""
    return f"agreement-{channel}"


class Disagreement(Test):
    """Flags `disagreement` on both once they were apart for as long as the site allows, and `compensation` on the pH.

    Each reading is compared with the other's latest, if that is no older than its hold; without one nothing is
    evaluated and the time begins anew.
    """

    def __init__(self, channel: Channel, other: Channel, both: tuple[Health, Health], corrected: list[Health]) -> None:
        agreement = channel.diagnosed.agreement
        assert agreement is not None  # noqa: S101 - built for channels that have one
        self.key = f"agreement:{channel.name}"
        self._agreement = agreement
        self._channel = channel
        self._other = other
        self._both = both
        self._corrected = corrected
        self._voice = Voice(disagreement_alarm(channel.name))
        self._latest: dict[str, tuple[float, int]] = {}
        self._apart_since_us: int | None = None

    def hear(self, reading: Reading, usable: bool, said: Said | None) -> None:
        """Compare with the other's latest."""
        if not usable or reading.value is None:
            return
        mono_us = reading.at.mono_us
        mine = reading.channel == self._channel.name
        agreement, partner = self._agreement, self._other if mine else self._channel
        value = reading.value if mine else reading.value * agreement.gain + agreement.offset
        self._latest[reading.channel] = (value, mono_us)
        there = self._latest.get(partner.name)
        if there is None or mono_us - there[1] > partner.hold_us:
            self._apart_since_us = None
            return
        difference = abs(value - there[0])
        if difference <= agreement.within:
            self._apart_since_us = None
            self._flag(on=False)
            self._voice.say(said, Severity.WARNING, "they agree again", active=False)
            return
        if self._apart_since_us is None:
            self._apart_since_us = mono_us
        if mono_us - self._apart_since_us >= agreement.for_us:
            self._flag(on=True)
            names = f"{self._channel.name} and {self._other.name}"
            why = f"{names} differ by {difference:.3g} {self._channel.unit}: compare both with a reference"
            self._voice.say(said, Severity.WARNING, why, active=True)

    def visited(self, reading: Reading) -> None:
        """While one is in somebody's hand they need not agree."""
        self._latest.pop(reading.channel, None)
        self._apart_since_us = None
        self._flag(on=False)

    def state(self) -> Any:
        """Since when they are apart, and whether that was long enough."""
        return {"since_us": self._apart_since_us, "flagged": self._both[0].flagged("disagreement")}

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring it back where time can be told."""
        since_us = state["since_us"]
        self._apart_since_us = None if since_us is None else resume.mono(int(since_us))
        self._flag(on=bool(state["flagged"]))

    def _flag(self, *, on: bool) -> None:
        for health in self._both:
            health.flag("disagreement", on=on)
        for health in self._corrected:
            health.flag("compensation", on=on)
