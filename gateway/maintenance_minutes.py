"""How long each channel has been in maintenance or calibration today, by the site's local day; stays may overlap."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from gateway.model import Instant, Resume

__all__ = ["MaintenanceMinutes"]

_SET_BACK_US = 3_600_000_000  # ticks lag behind commands by seconds; a clock that is further back was set back


class MaintenanceMinutes:
    """Sums the time covered by any stay. Microseconds of the monotonic axis; moments never go back on it."""

    def __init__(self, zone: tzinfo, start: Instant) -> None:
        self._zone = zone
        self._day_begins, self._day_ends = self._day(start)
        self._spent_us: dict[str, int] = {}
        self._counted_us: dict[str, int] = {}  # up to where a channel's time is in the sum

    @property
    def day(self) -> str:
        """The local day that is being summed, as an ISO date."""
        return datetime.fromtimestamp(self._day_begins // 1_000_000, UTC).astimezone(self._zone).date().isoformat()

    def ends_us(self, now: Instant) -> int:
        """The monotonic moment at which the local day ends."""
        return now.mono_us + self._day_ends - now.utc_us

    def count(self, channel: str, sinces_us: Iterable[int], now: Instant) -> None:
        """Take the time up to now of a channel that is covered by stays that began at these moments."""
        since_us = min(sinces_us, default=now.mono_us)
        midnight_us = now.mono_us - (now.utc_us - self._day_begins)
        counted_us = max(since_us, midnight_us, self._counted_us.get(channel, since_us))
        if now.mono_us > counted_us:
            self._spent_us[channel] = self._spent_us.get(channel, 0) + now.mono_us - counted_us
            self._counted_us[channel] = now.mono_us

    def is_over(self, now: Instant) -> bool:
        """Whether the local day has ended."""
        return now.utc_us >= self._day_ends or now.utc_us < self._day_begins - _SET_BACK_US

    def turn(self, now: Instant) -> dict[str, int]:
        """Begin the local day of `now`; the sums of the day that ended, in microseconds by channel."""
        self._day_begins, self._day_ends = self._day(now)
        spent_us, self._spent_us = self._spent_us, {}
        return spent_us

    def today_us(self) -> dict[str, int]:
        """What was counted today, by channel."""
        return dict(self._spent_us)

    def state(self) -> dict[str, Any]:
        """What a restart needs, JSON-able."""
        return {"day": self.day, "spent_us": dict(self._spent_us), "counted_us": dict(self._counted_us)}

    def restore(self, state: Mapping[str, Any], resume: Resume) -> tuple[str, dict[str, int]] | None:
        """Go on with the sums of the same local day; those of an earlier one are given back, with that day.

        LookupError or TypeError when they are none.
        """
        for channel, mono_us in state["counted_us"].items():
            placed_us = resume.mono(mono_us)
            self._counted_us[channel] = resume.now.mono_us if placed_us is None else placed_us
        spent_us = {channel: int(us) for channel, us in state["spent_us"].items()}
        if state["day"] != self.day:
            return str(state["day"]), spent_us
        self._spent_us = spent_us
        return None

    def _day(self, now: Instant) -> tuple[int, int]:
        local = datetime.fromtimestamp(now.utc_us // 1_000_000, UTC).astimezone(self._zone)
        first = datetime(local.year, local.month, local.day, tzinfo=self._zone)
        after = (first.replace(tzinfo=None) + timedelta(days=1)).replace(tzinfo=self._zone)
        return round(first.timestamp()) * 1_000_000, round(after.timestamp()) * 1_000_000
