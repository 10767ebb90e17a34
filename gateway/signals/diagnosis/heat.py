"""Hours a glass electrode spent in hot water: heat ages glass, which wants a check in buffer (docs/quality.md 4.9)."""

from typing import Any

from gateway.model import Mode, Reading, Resume
from gateway.signals.diagnosis.frame import MINUTE_US, Health, Minute, Test
from gateway.signals.watch import Said
from gateway.site import Channel

__all__ = ["HotGlass"]

_PER_HOUR = 3_600_000_000 // MINUTE_US


class HotGlass(Test):
    """Flags `hot_glass` on the pH after so many hours above the dose's temperature; a calibration begins them anew."""

    def __init__(self, health: Health, channel: Channel) -> None:
        dose = channel.diagnosed.heat
        if dose is None:
            raise ValueError(f"channel {channel.name}: no heat to count")
        self.key = f"heat:{channel.name}"
        self._health = health
        self._temperature, self._above, self._most = dose.channel, dose.above, dose.hours * _PER_HOUR
        self._ph = channel.name
        self._minutes = 0

    def minute(self, channel: str, minute: Minute, said: Said | None) -> None:
        """Count a minute of the temperature that was hot on the mean."""
        if channel == self._temperature and minute.mean > self._above:
            self._minutes += 1
            if self._minutes >= self._most:
                self._health.flag("hot_glass", on=True)

    def visited(self, reading: Reading) -> None:
        """Who calibrates sees in the slope what the heat has done; a visit alone does not."""
        if reading.channel == self._ph and reading.mode is Mode.CALIBRATION:
            self._minutes = 0
            self._health.flag("hot_glass", on=False)

    def state(self) -> Any:
        """The minutes so far."""
        return {"minutes": self._minutes}

    def restore(self, state: Any, resume: Resume) -> None:
        """Bring them back, whatever the time."""
        self._minutes = int(state["minutes"])
        self._health.flag("hot_glass", on=self._minutes >= self._most)
