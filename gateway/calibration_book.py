"""The calibrations of a site: what is on record of each channel, when the next is due, and what a probe shows now."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from gateway.calibration import Calibration, Found, evaluate, slow_after_s
from gateway.calibration_form import calibration_body, calibration_from
from gateway.model import Condition, Instant, Mode, Note, Quality, Reading, Resume
from gateway.ph_electrode import SlopeBand
from gateway.signals.qc import CALIBRATION_OVERDUE, ELECTRODE_WORN
from gateway.signals.steady import Steady
from gateway.signals.watch import FAR_US, Said, Watch
from gateway.site import Site
from gateway.upkeep import calibration_alarm

__all__ = ["CalibrationBook", "Kept"]

_MOST_KEPT = 200  # of one channel at hand; older ones stay in the journal
_LOOK_AGAIN_US = 3_600_000_000  # a clock that was set brings a date nearer
_STEADY_US = 60_000_000
"""How long a reading must have stood still to be taken. Ours; at least four readings."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One record as it is kept: its number, the command that brought it, when, and what it came to."""

    id: str
    command: str
    recorded_utc_us: int
    record: Calibration
    found: Found

    def body(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "id": self.id,
            "command": self.command,
            "recorded_utc_us": self.recorded_utc_us,
            "record": calibration_body(self.record),
            "found": self.found.body(),
        }


class CalibrationBook(Watch):
    """Every record of one site, and the dates that follow from them."""

    key = "calibration:"

    def __init__(self, site: Site, start: Instant) -> None:
        self._site = site
        self._zone = ZoneInfo(site.time_zone)
        self.channels = frozenset(site.channels)
        self.deadline_us = FAR_US
        self._kept: dict[str, list[Kept]] = {}
        self._overdue: set[str] = set()
        self.marks: dict[str, tuple[str, ...]] = {}
        """By channel what `mark` puts beside its readings; empty nearly always."""
        self._latest: dict[str, Reading] = {}
        self._steady: dict[str, Steady] = {}

    def mark(self, reading: Reading) -> Reading:
        """The reading with a word of its own while the channel's calibration is overdue, or its last one found the
        electrode worn; that changes no quality."""
        marks = self.marks.get(reading.channel)
        if marks is None or reading.mode is not Mode.RUN:
            return reading
        if reading.quality in (Quality.GOOD, Quality.SUSPECT):
            return replace(reading, tests=(*reading.tests, *marks))
        return reading

    def hear(self, reading: Reading, weight: int, said: Said) -> None:
        """Keep the latest reading of each channel, and how steady it is where somebody watches it."""
        self._latest[reading.channel] = reading
        if self._steady and (steady := self._steady.get(reading.channel)) is not None:
            steady.see(reading)

    def tick(self, now: Instant, said: Said) -> None:
        """Discover that a date has passed."""
        self._look(now, said)

    def live(self, channel: str, now: Instant) -> dict[str, Any]:
        """What a channel shows now, for how long it has stood still, and whether that is long enough; JSON-able."""
        spec = self._site.channels[channel]
        steady = self._steady.setdefault(channel, Steady(spec))
        reading = self._latest.get(channel)
        answer: dict[str, Any] = {"channel": channel, "unit": spec.unit, "value": None, "steady_s": 0, "steady": False}
        if reading is None:
            return answer
        since_us = steady.since_us(now.mono_us)
        stood_us = 0 if since_us is None else reading.at.mono_us - since_us
        return answer | {
            "value": reading.value,
            "quality": reading.quality.name.lower(),
            "tests": list(reading.tests),
            "mode": reading.mode.value,
            "age_s": round((now.mono_us - reading.at.mono_us) / 1e6, 1),
            "steady_s": round(stood_us / 1e6, 1),
            "steady": stood_us >= max(_STEADY_US, 3 * spec.poll_us),
        }

    def unwatch(self, channel: str) -> None:
        """Nobody watches this channel any more."""
        self._steady.pop(channel, None)

    def evaluate(self, record: Calibration) -> Found:
        """What a record would come to, beside the last accepted one of its channel."""
        before = [
            kept for kept in self._standing(record.channel, record.corrects)
            if kept.record.stopped_utc_us <= record.started_utc_us
        ]  # fmt: skip
        last = max(before, key=lambda kept: kept.record.stopped_utc_us, default=None)
        channel = self._site.channels[record.channel]
        before_it = None if last is None else (last.record, last.found)
        return evaluate(record, channel.quantity, before_it, self._zone, channel.unit)

    def add(self, record: Calibration, found: Found, command: str, now: Instant, said: Said) -> Kept:
        """Keep a record. LookupError when it corrects one that is not there."""
        kept_before = self._kept.setdefault(record.channel, [])
        if record.corrects and record.corrects not in {kept.id for kept in kept_before}:
            raise LookupError(f"there is no record {record.corrects!r} of {record.channel} to correct")
        number = 1 + max((_number(kept.id) for kept in kept_before), default=0)
        kept = Kept(f"{record.channel}-{number}", command, now.utc_us, record, found)
        kept_before.append(kept)
        said.notes.append(Note("calibration", now, kept.body()))
        said.state[self._key(kept)] = kept.body()
        while len(kept_before) > _MOST_KEPT:
            said.state[self._key(kept_before.pop(0))] = None
        self._look(now, said, tell=record.channel)
        return kept

    def by_command(self, channel: str, command: str) -> Kept | None:
        """The record that a command brought, for its repeat."""
        return next((kept for kept in self._kept.get(channel, ()) if command and kept.command == command), None)

    def history(self, channel: str, most: int) -> list[dict[str, Any]]:
        """The latest records of a channel, oldest first; JSON-able."""
        kept = self._kept.get(channel, [])
        corrected = {one.record.corrects for one in kept}
        return [{**one.body(), "corrected": one.id in corrected} for one in kept[-most:]]

    def due(self, channel: str) -> date | None:
        """The local day on which the next calibration is due; None when nothing on record says."""
        last = max(self._standing(channel), key=lambda kept: kept.record.stopped_utc_us, default=None)
        if last is None:
            return None
        if last.record.next_due:
            return date.fromisoformat(last.record.next_due)
        every_us = self._site.upkeep.calibrate_every_us.get(channel)
        if every_us is None:
            return None
        stopped = datetime.fromtimestamp(last.record.stopped_utc_us // 1_000_000, UTC) + timedelta(
            microseconds=every_us
        )
        return stopped.astimezone(self._zone).date()

    def standing(self) -> dict[str, dict[str, Any]]:
        """For each channel with a record or an interval: when the next is due, and whether that is past; JSON-able."""
        names = [n for n in self._site.channels if n in self._kept or n in self._site.upkeep.calibrate_every_us]
        return {
            name: {
                "due": None if (due := self.due(name)) is None else due.isoformat(),
                "overdue": name in self._overdue,
                "records": len(self._kept.get(name, ())),
            }
            for name in names
        }

    def restore(self, state: Mapping[str, Any], resume: Resume, said: Said) -> None:
        """Bring the records back; one that cannot be read is written down, and kept on disk."""
        for key, body in sorted(state.items(), key=lambda item: _number(item[0])):
            try:
                record = calibration_from(body["record"])
                found = self.evaluate(record)
                kept = Kept(body["id"], body["command"], body["recorded_utc_us"], record, found)
            except (LookupError, TypeError, ValueError) as error:
                why = f"{type(error).__name__}: {error}"
                said.notes.append(Note("state_unreadable", resume.now, {"state": key, "why": why}))
                continue
            self._kept.setdefault(record.channel, []).append(kept)
        self._look(resume.now, said, everything=True)

    def _standing(self, channel: str, but: str = "") -> list[Kept]:
        """The accepted records that no other corrects."""
        kept = self._kept.get(channel, [])
        corrected = {one.record.corrects for one in kept} | {but}
        return [one for one in kept if one.record.accepted and one.id not in corrected]

    def _look(self, now: Instant, said: Said, *, tell: str = "", everything: bool = False) -> None:
        """Which channels are overdue now. An untrusted clock says nothing new."""
        next_us = now.mono_us + _LOOK_AGAIN_US
        dated = False
        for name in self._kept:
            due = self.due(name)
            over_us = None if due is None else self._over_utc_us(due)
            overdue = over_us is not None and now.utc_us >= over_us
            if not now.synced and name != tell:
                overdue = name in self._overdue
            dated = dated or over_us is not None
            if over_us is not None and not overdue:
                next_us = min(next_us, now.mono_us + max(1, over_us - now.utc_us))
            if overdue is not (name in self._overdue) or name == tell or everything:
                self._overdue = self._overdue | {name} if overdue else self._overdue - {name}
                self._mark_as(name)
                self._say(name, due, said)
        self.deadline_us = next_us if dated else FAR_US

    def _mark_as(self, channel: str) -> None:
        """What stands beside every reading of a channel from now on."""
        last = max(self._standing(channel), key=lambda kept: kept.record.stopped_utc_us, default=None)
        marks = (CALIBRATION_OVERDUE,) if channel in self._overdue else ()
        if last is not None and _worn(last):
            marks = (*marks, ELECTRODE_WORN)
        if marks:
            self.marks[channel] = marks
        else:
            self.marks.pop(channel, None)

    def _over_utc_us(self, due: date) -> int:
        """The end of the local day on which it is due."""
        after = due + timedelta(days=1)
        return round(datetime(after.year, after.month, after.day, tzinfo=self._zone).timestamp()) * 1_000_000

    def _say(self, channel: str, due: date | None, said: Said) -> None:
        alarm = calibration_alarm(channel)
        policy = self._site.alarms.get(alarm)
        if policy is not None:
            overdue = channel in self._overdue
            reason = f"was due on {due}" if overdue else f"next due on {due}"
            said.conditions.append(Condition(alarm, overdue, policy.severity, reason))

    def _key(self, kept: Kept) -> str:
        return f"{self.key}{kept.id}"


def _worn(kept: Kept) -> bool:
    """Whether it left an electrode in use that is on its way out: a low slope, or a slow answer."""
    slow = kept.record.response_s is not None and kept.record.response_s > slow_after_s(kept.record)
    return kept.found.band != "" and (slow or kept.found.band != SlopeBand.GOOD.value)


def _number(record_id: str) -> int:
    """The number at the end of a record's id."""
    tail = record_id.rpartition("-")[2]
    return int(tail) if tail.isdecimal() else 0
