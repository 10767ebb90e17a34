"""A ledger's closed days written by hand: what rules over many days read, without living through them."""

from collections.abc import Callable
from datetime import date, timedelta
from fractions import Fraction

from gateway.model import Instant
from gateway.rules.ledger import VOLUME_SCALE, DayRecord, DaySums
from gateway.rules.local_day import midnight_us
from gateway.rules.sums import VALUE_SCALE
from tests.support.ledger_feed import ZONE

DAY_US = 86_400_000_000


class DayBook:
    """Stands in for a Ledger where only closed days matter. Days follow one another from `first`."""

    def __init__(self, first: str = "2026-01-01") -> None:
        self.next = date.fromisoformat(first)
        self.days: list[DayRecord] = []
        self.closed = 0
        self.flow = object()
        self.next_minute_us = 0
        self.rolling = DaySums()
        self.watchers: list[Callable[[], None]] = []

    def add(
        self,
        mean: Fraction | float = 0,
        gal: Fraction | float | None = 1000,
        *,
        coverage: Fraction | float = 1,
        discharging: bool = True,
        flow_coverage: Fraction | float = 1,
    ) -> DayRecord:
        """One more local day: its average, its water (None: no valid flow all day), how much of it is valid."""
        start, end = self._at(self.next), self._at(self.next + timedelta(days=1))
        length_us = end.mono_us - start.mono_us
        discharging_us = length_us // 2 if discharging else 0
        valid_us = int(discharging_us * coverage)
        fixed, water = int(Fraction(mean) * VALUE_SCALE), int(Fraction(gal or 0) * VOLUME_SCALE)
        flowing = gal is not None and valid_us > 0 and water > 0
        sums = DaySums(
            weighted=fixed * water if flowing else 0,
            volume=water if flowing else 0,
            plain=fixed * valid_us,
            valid_us=valid_us,
            discharging_us=discharging_us,
            minimum=float(mean) if valid_us else None,
            maximum=float(mean) if valid_us else None,
            flowed_us=valid_us if flowing else 0,
            unflowed=0 if flowing else fixed * valid_us,
        )
        flow_valid_us = 0 if gal is None else int(length_us * flow_coverage)
        record = DayRecord(
            self.next.isoformat(), start, end, sums, None if gal is None else float(gal), False,
            length_us, flow_valid_us, water,
        )  # fmt: skip
        self.days.append(record)
        self.closed += 1
        self.next += timedelta(days=1)
        for minute_passed in self.watchers:
            minute_passed()
        return record

    def _at(self, day: date) -> Instant:
        utc_us = midnight_us(day, ZONE)
        return Instant(utc_us, utc_us - 1_700_000_000_000_000)

    @property
    def now(self) -> Instant:
        """The midnight that closed the last day."""
        return self._at(self.next)

    settled = now

    @property
    def today(self) -> DayRecord:
        """The day under way, of which nothing is known yet."""
        return DayRecord(self.next.isoformat(), self.now, self.now, DaySums(), 0.0, False)

    def settle(self, now: Instant) -> None:
        """Nothing waits here."""

    def watch(self, minute_passed: Callable[[], None]) -> None:
        """Called for every day."""
        self.watchers.append(minute_passed)
