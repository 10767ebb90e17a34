"""A glass electrode out of the water: after a day its glass dries out, and that wants a visit (docs/quality.md 4.9)."""

from typing import Any

from gateway.model import Mode, Reading, Resume
from gateway.signals.diagnosis.frame import Health, Test
from gateway.signals.watch import Said
from gateway.site import Channel

__all__ = ["DryGlass"]


class DryGlass(Test):
    """Flags `dry_glass` once the interlock has had the probe dry for `dry_us`; the first wet reading ends it."""

    def __init__(self, health: Health, channel: Channel) -> None:
        self.key = f"dry:{channel.name}"
        self._health = health
        self._after_us = channel.diagnosed.dry_us or 0
        self._since_us: int | None = None

    def hear(self, reading: Reading, usable: bool, said: Said | None) -> None:
        """A reading in maintenance says nothing of where the probe hangs."""
        if reading.mode is not Mode.RUN:
            return
        if not reading.dry:
            if self._since_us is not None:
                self._since_us = None
                self._health.flag("dry_glass", on=False)
        elif self._since_us is None:
            self._since_us = reading.at.mono_us
        elif reading.at.mono_us - self._since_us >= self._after_us:
            self._health.flag("dry_glass", on=True)

    def state(self) -> Any:
        """Since when it is dry."""
        return {"since_us": self._since_us}

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring it back where time can be told; the flag follows with the first reading."""
        since_us = state["since_us"]
        self._since_us = None if since_us is None else resume.mono(int(since_us))
