"""Counters of volume beside the integral of the flow: what ran today, by both, and whether they agree.

The integral is the flow ledger's (docs/judging.md 5.1). A counter that parts from it is doubted, since it has an alarm
of its own; which of the two is wrong, nobody knows.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

from gateway.model import Fault, Instant, Mode, Note, Quality, Reading, Resume, Sample
from gateway.rules.flow_ledger import FlowLedger
from gateway.rules.local_day import local_date, midnight_us
from gateway.rules.sums import VOLUME_SCALE
from gateway.signals.cross_check import FLOW_DISAGREES
from gateway.signals.qc import COUNTING_TESTS, Evidence
from gateway.signals.totalizer import SCALE, Increment, Meaning, Totalizer
from gateway.signals.watch import Said, Watch
from gateway.site import Channel, Site
from gateway.units import conversion

__all__ = ["INCOMPLETE", "CounterToday", "FlowToday", "Totals", "totals_of", "volumes_today"]

INCOMPLETE = "incomplete"
"""Stands beside a volume that is at least so much: some of the day was not seen. It changes no quality."""

_BLOCK_US = 3_600_000_000  # ours: over an hour a minute of difference in the readings is 2 %
_SET_BACK_US = 3_600_000_000  # ours: a clock that lies further back was wrong before
_LEAST_VALID = 0.98  # of the block, ours: what the flow did in the rest cannot be more than the allowed share
_ALMOST_ALL = 0.99  # of the day so far, ours: single lost polls do not make a day incomplete
_TOLD = frozenset({
    Meaning.ROLLED_OVER, Meaning.STRAYED, Meaning.RESET, Meaning.REPLACED, Meaning.JUMPED, Meaning.AMBIGUOUS,
})  # fmt: skip
_BELIEVED = COUNTING_TESTS | {FLOW_DISAGREES}


@dataclass(slots=True)
class _Mark:
    """Where counter, flow and time stood when something began."""

    at_us: int
    counted: int
    flow: int
    flow_valid_us: int

    def state(self) -> list[int]:
        """JSON-able; `_Mark(*state)` brings it back."""
        return [self.at_us, self.counted, self.flow, self.flow_valid_us]


class Totals(Watch):
    """One counter: its day, and its hour beside the flow. `flow` is the ledger it is compared with, None for none."""

    def __init__(self, channel: Channel, flow: FlowLedger | None, zone: tzinfo) -> None:
        counter = channel.totalizer
        if counter is None:
            raise ValueError(f"channel {channel.name} counts no volume")
        self.channel = channel.name
        self.unit = channel.unit
        self.key = f"totalizer:{channel.name}"
        self.channels = frozenset({channel.name})
        self._totalizer = Totalizer(counter.most_per_min, counter.modulus, counter.jitter)
        self._within = counter.within
        self._hold_us = channel.hold_us
        self._flow = flow
        self._to_gal = conversion(channel.unit, "gal")
        self._least_gal = self._to_gal(counter.most_per_min)  # a minute's water: less proves nothing
        self._zone = zone
        self._counted = 0  # ever, in SCALE of the unit
        self._day = ""
        self._whole = False
        self._midnight: _Mark | None = None
        self._hour: _Mark | None = None
        self._refused = False
        self._parted = False

    @property
    def today(self) -> tuple[float, bool]:
        """What ran since midnight, in the channel's unit, and whether that is all."""
        if self._midnight is None:
            return 0.0, False
        return (self._counted - self._midnight.counted) / SCALE, self._whole

    def doubt(self, sample: Sample) -> Sample:
        """The counter's next sample, in doubt while it has parted from the flow. Its number stays."""
        if not self._parted or sample.quality is not Quality.GOOD:
            return sample
        return replace(sample, quality=Quality.SUSPECT, note=FLOW_DISAGREES)

    def hear(self, reading: Reading, weight: int, said: Said) -> None:
        """Count a reading that can be believed; any other leaves the count where it is."""
        if reading.value is None or reading.mode is not Mode.RUN:
            return
        if weight != Evidence.VALID and not (weight == Evidence.DOUBTFUL and _BELIEVED.issuperset(reading.tests)):
            return
        at = reading.at
        seen_us, before = self._totalizer.since_us, self._counted
        increment = self._totalizer.take(reading.value, at.mono_us)
        self._tell(reading, increment, said)
        if increment.meaning is Meaning.REFUSED:
            return
        day = local_date(at.utc_us, self._zone)
        if day.isoformat() != self._day and not self._is_set_back(day, at):
            self._enter(day, reading, increment, seen_us, said)
        self._counted = before + increment.volume
        if not increment.whole:
            self._whole = False
            self._hour = None
        self._compare(at, said)

    def _tell(self, reading: Reading, increment: Increment, said: Said) -> None:
        refused = increment.meaning is Meaning.REFUSED
        if increment.meaning in _TOLD or (refused and not self._refused):
            body = {
                "channel": self.channel,
                "meaning": increment.meaning.value,
                "reads": reading.value,
                "volume": increment.volume / SCALE,
                "unit": self.unit,
                "whole": increment.whole,
            }
            said.notes.append(Note("totalizer", reading.at, body))
        self._refused = refused

    def _is_set_back(self, day: date, at: Instant) -> bool:
        """Whether a clock put back a little has come to lie before a midnight that is done: no day is closed twice."""
        if not self._day or day.isoformat() > self._day:
            return False
        return midnight_us(date.fromisoformat(self._day), self._zone) - at.utc_us <= _SET_BACK_US

    def _enter(self, day: date, reading: Reading, increment: Increment, seen_us: int, said: Said) -> None:
        """Close the day before, and begin this one.

        What ran since the reading before midnight is shared out by time within a hold. Over a longer gap nobody knows
        on which side it ran: it is counted in neither day, and both are at least what they say.
        """
        at, before = reading.at, self._counted
        span_us = at.mono_us - seen_us
        forward = day.isoformat() > self._day  # else the clock was far off, and a day is seen again in part
        known = (increment.meaning is Meaning.FIRST or span_us <= self._hold_us) and forward
        late_us = min(max(0, at.utc_us - midnight_us(day, self._zone)), span_us)
        late = increment.volume * late_us // span_us if known and span_us > 0 else 0
        begun = self._midnight is not None
        if begun:
            closed = before + increment.volume - late if known else before
            said.notes.append(self._closed(at, closed, whole=self._whole and known))
            if not known:
                body = {"channel": self.channel, "meaning": "over midnight", "volume": increment.volume / SCALE}
                said.notes.append(Note("totalizer", at, {**body, "unit": self.unit, "whole": False}))
        self._whole = begun and known
        self._day = day.isoformat()
        self._midnight = self._mark(at, before + increment.volume - late)

    def _closed(self, at: Instant, counted: int, *, whole: bool) -> Note:
        volume = (counted - self._midnight.counted) / SCALE if self._midnight is not None else 0.0
        body: dict[str, Any] = {
            "channel": self.channel, "date": self._day, "volume": volume, "unit": self.unit, "whole": whole,
        }  # fmt: skip
        if self._flow is not None and self._midnight is not None:
            now, begun = self._mark(at, counted), self._midnight
            known_us = now.flow_valid_us - begun.flow_valid_us
            if known_us >= 0 and now.flow >= begun.flow:  # else the flow's own count began anew meanwhile
                body["flow"] = self._flow.channel
                body["flow_gal"] = (now.flow - begun.flow) / VOLUME_SCALE
                body["flow_known"] = known_us / max(1, now.at_us - begun.at_us)
        return Note("totalizer_day", at, body)

    def _mark(self, at: Instant, counted: int) -> _Mark:
        flow = self._flow
        if flow is None:
            return _Mark(at.mono_us, counted, 0, 0)
        return _Mark(at.mono_us, counted, flow.volume(at.mono_us), flow.valid_us(at.mono_us))

    def _compare(self, at: Instant, said: Said) -> None:
        """Once an hour: both volumes of that hour, if the flow was known in nearly all of it."""
        if self._flow is None:
            return
        if self._hour is None or at.mono_us < self._hour.at_us:
            self._hour = self._mark(at, self._counted)
        length_us = at.mono_us - self._hour.at_us
        if length_us < _BLOCK_US:
            return
        before, now = self._hour, self._mark(at, self._counted)
        self._hour = now
        counted_gal = self._to_gal((now.counted - before.counted) / SCALE)
        flow_gal = (now.flow - before.flow) / VOLUME_SCALE
        known = (now.flow_valid_us - before.flow_valid_us) / length_us
        most = max(counted_gal, flow_gal)
        if known < _LEAST_VALID or most < self._least_gal:
            return
        apart = abs(counted_gal - flow_gal) / most
        parted = apart > self._within
        if parted is self._parted:
            return
        self._parted = parted
        body = {
            "channel": self.channel, "flow": self._flow.channel, "counted_gal": counted_gal, "flow_gal": flow_gal,
            "apart": apart, "allowed": self._within, "over_s": length_us / 1e6,
        }  # fmt: skip
        said.notes.append(Note("totalizer_parted" if parted else "totalizer_agrees", at, body))

    def snapshot(self) -> dict[str, Any]:
        """What it remembers by durable key."""
        return {
            self.key: {
                "totalizer": self._totalizer.state(),
                "counted": self._counted,
                "day": self._day,
                "whole": self._whole,
                "midnight": self._midnight and self._midnight.state(),
                "hour": self._hour and self._hour.state(),
                "parted": self._parted,
            }
        }

    def restore(self, state: Mapping[str, Any], resume: Resume, said: Said) -> None:
        """Bring it back. The hour beside the flow begins anew; the day goes on where it can be placed."""
        stored = state.get(self.key)
        if stored is None:
            return
        mark = None if stored["midnight"] is None else _Mark(*stored["midnight"])
        counted, day, whole, parted = stored["counted"], stored["day"], stored["whole"], stored["parted"]
        self._totalizer.restore(stored["totalizer"], resume)
        self._counted, self._day, self._parted, self._hour = counted, day, parted, None
        if mark is None:
            return
        placed_us = resume.mono(mark.at_us)
        self._whole = whole and placed_us is not None
        self._midnight = replace(mark, at_us=resume.now.mono_us if placed_us is None else placed_us)


class CounterToday:
    """Turns readings of a counter into samples of a derived channel: what ran since midnight, in the counter's unit."""

    def __init__(self, volume: Channel, totals: Totals) -> None:
        self.channel = volume.name
        self._totals = totals

    def __call__(self, reading: Reading) -> Sample:
        """The day so far, as the counter has it after this reading; raw stays the counter's registers."""
        at, raw, mode = reading.at, reading.raw, reading.mode
        if reading.value is None or reading.quality in (Quality.FAIL, Quality.MISSING):
            return Sample(self.channel, at, raw, None, Fault.NO_SAMPLE, mode=mode)
        value, whole = self._totals.today
        return Sample(self.channel, at, raw, value, mode=mode, remark="" if whole else INCOMPLETE)


class FlowToday:
    """Turns readings of a flow into samples of a derived channel: its water since midnight, in gal."""

    def __init__(self, volume: Channel, flow: FlowLedger, zone: tzinfo) -> None:
        self.channel = volume.name
        self._flow = flow
        self._zone = zone

    def __call__(self, reading: Reading) -> Sample:
        """The integral from midnight to this reading; a gap past the hold adds nothing, and the day is incomplete."""
        at = reading.at
        midnight = midnight_us(local_date(at.utc_us, self._zone), self._zone)
        length_us = at.utc_us - midnight
        begin_us = at.mono_us - length_us
        try:
            volume = self._flow.volume(at.mono_us) - self._flow.volume(begin_us)
            valid_us = self._flow.valid_us(at.mono_us) - self._flow.valid_us(begin_us)
        except LookupError:  # the clock was set back over the edge of what is remembered
            return Sample(self.channel, at, (), None, Fault.NO_SAMPLE, mode=reading.mode)
        remark = "" if valid_us >= _ALMOST_ALL * length_us else INCOMPLETE
        return Sample(self.channel, at, (), volume / VOLUME_SCALE, mode=reading.mode, remark=remark)


def totals_of(site: Site, flows: Mapping[str, FlowLedger]) -> dict[str, Totals]:
    """Every counter of the site, by its channel."""
    zone = ZoneInfo(site.time_zone)
    return {
        name: Totals(channel, flows.get(channel.totalizer.flow or ""), zone)
        for name, channel in site.channels.items()
        if channel.totalizer is not None
    }


def volumes_today(
    site: Site, totals: Mapping[str, Totals], flows: Mapping[str, FlowLedger], measured: frozenset[str]
) -> dict[str, list[CounterToday | FlowToday]]:
    """By the name of a counter or a flow: the volumes since midnight that are derived from it.

    `measured` names derived channels whose own values are supplied, so they are not computed.
    """
    zone = ZoneInfo(site.time_zone)
    derived: dict[str, list[CounterToday | FlowToday]] = {name: [] for name in site.channels}
    for name, channel in site.channels.items():
        source = channel.derived_from
        if channel.quantity != "volume" or source is None or name in measured:
            continue
        if source in totals:
            derived[source].append(CounterToday(channel, totals[source]))
        else:
            derived[source].append(FlowToday(channel, flows[source], zone))
    return derived
