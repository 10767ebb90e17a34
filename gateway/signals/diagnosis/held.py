"""Hold-last-value: a transmitter that lost its echo repeats its last word while the water moves (docs/quality.md 4.3).

Seen in the field on open-channel levels; the remedy is a fail-safe of 3.6 or 21 mA. An exact repeat means the registers
as they came, not a rounded value; a source without registers is never judged by this.
"""

from typing import Any

from gateway.model import Mode, Reading, Resume
from gateway.signals.diagnosis.frame import Health, Minute, Test
from gateway.signals.diagnosis.motion import Motion
from gateway.signals.watch import Said
from gateway.site import Channel

__all__ = ["Held"]


class Held(Test):
    """Flags `held` once the same registers came for `held_us` and the witnesses of motion moved meanwhile."""

    def __init__(self, health: Health, channel: Channel, motion: Motion) -> None:
        self.key = f"held:{channel.name}"
        self._health = health
        self._after_us = channel.diagnosed.held_us or 0
        self._hold_us = channel.hold_us
        self._motion = motion
        self._raw: tuple[int, ...] = ()
        self._since_us = self._last_us = 0

    def hear(self, reading: Reading, usable: bool, said: Said | None) -> None:
        """Compare the registers; a gap longer than the hold begins anew: nobody saw what came in it."""
        raw, mono_us = reading.raw, reading.at.mono_us
        if not usable or not raw:
            if reading.mode is not Mode.RUN:
                self._raw = ()
            return
        if raw != self._raw or mono_us - self._last_us > self._hold_us:
            self._raw, self._since_us = raw, mono_us
            self._motion.begin()
            self._health.flag("held", on=False)
        elif mono_us - self._since_us >= self._after_us and self._motion.seen:
            self._health.flag("held", on=True)
        self._last_us = mono_us

    def visited(self, reading: Reading) -> None:
        """Begin anew after a visit."""
        self._raw = ()
        self._motion.begin()
        self._health.flag("held", on=False)

    def minute(self, channel: str, minute: Minute, said: Said | None) -> None:
        """Take a minute of a channel that shows whether the water moves."""
        self._motion.minute(channel, minute)

    def state(self) -> Any:
        """The registers that repeat, since when, and whether they are held."""
        return {
            "raw": list(self._raw), "since_us": self._since_us, "last_us": self._last_us,
            "flagged": self._health.flagged("held"), "motion": self._motion.state(),
        }  # fmt: skip

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring it back where time can be told; else begin anew."""
        since_us, last_us = resume.mono(int(state["since_us"])), resume.mono(int(state["last_us"]))
        if since_us is None or last_us is None:
            return
        self._raw = tuple(int(word) for word in state["raw"])
        self._since_us, self._last_us = since_us, last_us
        self._motion.restore(state["motion"])
        self._health.flag("held", on=bool(state["flagged"]))
