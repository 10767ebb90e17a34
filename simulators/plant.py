"""The industrial user: a dairy on two shifts, with vat dumps, cleaning-in-place and a few people on site.

Everything random is drawn from one seed and the day's number, so a day is the same whoever looks at it and when. Clock
times are local to the site. An ordinary day stays within the limits of both towns: that is what makes it ordinary.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import exp
from random import Random

from simulators.water import Stream

__all__ = ["Plant", "Pour"]

DAY_S = 86_400
_MINUTES_PER_DAY = 1440
_HOUR = 3600
_SUNDAY = 6
_OPENS_S, _CLOSES_S = 5 * _HOUR, 21 * _HOUR  # two shifts
_RAMP_S = 1200.0  # the lines start and stop one after the other
_PROCESS_GPM = 8.8
_RIPPLE_EVERY_S = 10
_RIPPLE = 0.12  # relative standard deviation of the process flow
_RIPPLE_MEMORY = 0.985  # per 10 s: wanders over about ten minutes

PROCESS = Stream(0.0, ph=7.1, temperature_c=32.0, conductivity_us_cm=850.0, tss_mg_l=350.0)
SANITARY = Stream(0.0, ph=7.4, temperature_c=19.0, conductivity_us_cm=700.0, tss_mg_l=220.0)

# Cleaning-in-place after the last shift: minutes, and what runs to the sewer meanwhile.
_CLEANING = (
    (6, Stream(18.0, ph=7.0, temperature_c=32.0, conductivity_us_cm=700.0, tss_mg_l=600.0)),  # first rinse
    (10, Stream(16.0, ph=8.8, temperature_c=56.0, conductivity_us_cm=2900.0, tss_mg_l=450.0)),  # caustic
    (5, Stream(18.0, ph=7.6, temperature_c=40.0, conductivity_us_cm=900.0, tss_mg_l=150.0)),  # rinse
    (8, Stream(16.0, ph=6.3, temperature_c=48.0, conductivity_us_cm=2100.0, tss_mg_l=120.0)),  # acid
    (6, Stream(18.0, ph=7.1, temperature_c=28.0, conductivity_us_cm=500.0, tss_mg_l=60.0)),  # last rinse
)
_CLEANING_AT_S = 21 * _HOUR + 1800


@dataclass(frozen=True, slots=True)
class Pour:
    """A stream that runs from one second of the scenario to another."""

    start_s: int
    end_s: int
    stream: Stream


class Plant:
    """What the user sends to the sewer, second by second. Step through the seconds in order, each once."""

    def __init__(self, seed: int, clock_s: int, weekday: int) -> None:
        """`clock_s` local seconds since midnight at the start, `weekday` of that day with Monday 0."""
        self._seed = seed
        self._clock_s = clock_s
        self._weekday = weekday
        self._ripple_draw = Random(f"{seed} ripple")
        self._ripple = 0.0
        self._process_gpm = 0.0
        self._sanitary_gpm = 0.0
        self._waiting: list[Pour] = []  # latest first
        self._running: list[Pour] = []
        self._day = -1

    def streams(self, t_s: int) -> Iterator[tuple[float, Stream]]:
        """The flow in gpm and the water of every stream that runs in this second of the scenario."""
        day, second = divmod(self._clock_s + t_s, DAY_S)
        if day != self._day:
            self._begin(day)
        if t_s % _RIPPLE_EVERY_S == 0:
            self._wander(day, second)
        while self._waiting and self._waiting[-1].start_s <= t_s:
            self._running.append(self._waiting.pop())
        yield self._sanitary_gpm, SANITARY
        if self._process_gpm > 0.0:
            yield self._process_gpm, PROCESS
        if self._running:
            self._running = [pour for pour in self._running if pour.end_s > t_s]
            for pour in self._running:
                yield pour.stream.flow_gpm, pour.stream

    def _working(self, day: int) -> bool:
        return (self._weekday + day) % 7 != _SUNDAY

    def _begin(self, day: int) -> None:
        """Draw one day's dumps and cleaning, and leave out what lies before the scenario's start."""
        self._day = day
        if not self._working(day):
            return
        midnight_s = day * DAY_S - self._clock_s
        pours = [*_vat_dumps(Random(f"{self._seed} day {day}"), midnight_s), *_cleaning(midnight_s)]
        self._waiting.extend(pour for pour in pours if pour.end_s > 0)
        self._waiting.sort(key=lambda pour: pour.start_s, reverse=True)

    def _wander(self, day: int, second: int) -> None:
        self._sanitary_gpm = _SANITARY_GPM[second // 60]
        spread = (1.0 - _RIPPLE_MEMORY**2) ** 0.5
        self._ripple = _RIPPLE_MEMORY * self._ripple + spread * self._ripple_draw.gauss(0.0, _RIPPLE)
        ramp = min(1.0, (second - _OPENS_S) / _RAMP_S, (_CLOSES_S - second) / _RAMP_S) if self._working(day) else 0.0
        self._process_gpm = max(0.0, ramp * _PROCESS_GPM * (1.0 + self._ripple))


def _vat_dumps(draw: Random, midnight_s: int) -> Iterator[Pour]:
    """Seven to ten vats a day, one at a time: whey and wash water, a little sour, warm and thick."""
    count = draw.randint(7, 10)
    slot_s = (_CLOSES_S - _OPENS_S - 2 * _HOUR) // count
    for i in range(count):
        start_s = midnight_s + _OPENS_S + _HOUR + i * slot_s + draw.randrange(slot_s - 600)
        stream = Stream(
            flow_gpm=draw.uniform(8.0, 14.0),
            ph=draw.uniform(6.4, 6.9),
            temperature_c=draw.uniform(34.0, 46.0),
            conductivity_us_cm=draw.uniform(1200.0, 2000.0),
            tss_mg_l=draw.uniform(600.0, 950.0),
        )
        yield Pour(start_s, start_s + draw.randint(180, 360), stream)


def _cleaning(midnight_s: int) -> Iterator[Pour]:
    start_s = midnight_s + _CLEANING_AT_S
    for minutes, stream in _CLEANING:
        yield Pour(start_s, start_s + minutes * 60, stream)
        start_s += minutes * 60


def _sanitary_gpm(hour: float) -> float:
    """Wash rooms and canteen: peaks in the morning, at noon and in the evening, next to nothing at night."""
    morning = 1.2 * exp(-(((hour - 7.5) / 1.8) ** 2))
    noon = 0.7 * exp(-(((hour - 13.0) / 3.0) ** 2))
    evening = 1.0 * exp(-(((hour - 19.0) / 2.0) ** 2))
    return 0.05 + morning + noon + evening


_SANITARY_GPM = tuple(_sanitary_gpm(minute / 60.0) for minute in range(_MINUTES_PER_DAY))
