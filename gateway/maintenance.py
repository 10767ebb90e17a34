"""Who is working on what: which channels are in maintenance or calibration, since when, until when, and what follows.

While a channel is worked on its readings are recorded and flagged C, and no rule hears them. Every stay has a name, a
reason and an end: the latest moment given at its start, earlier when it is stopped, or when the cabinet's door has been
closed and the probes steady for a while. The first minutes afterwards are suspect. A stay that only its time ended
raises an alarm until somebody signs off (docs/judging.md 2.6).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from zoneinfo import ZoneInfo

from gateway.maintenance_entry import (
    AUTO_ENDED,
    EXPIRED,
    STATION,
    STOPPED,
    Entry,
    entry_from,
    maintenance_alarm,
    unplaced,
)
from gateway.maintenance_minutes import MaintenanceMinutes
from gateway.model import Condition, Instant, Mode, Note, Quality, Reading, Resume, Severity
from gateway.rules.track import moment
from gateway.signals.qc import AFTER_MAINTENANCE
from gateway.signals.steady import Steady
from gateway.signals.watch import FAR_US, Said, Watch
from gateway.site import Site
from gateway.spelling import did_you_mean
from gateway.units import format_duration

__all__ = ["SETTLING_US", "Maintenance"]

SETTLING_US = 600_000_000
"""How long a channel is doubtful after it was worked on: wet glass, air in a pipe, a warm hand. Ten minutes, ours."""

_MOVES = frozenset({"flow", "level", "volume", "contact", "pressure"})  # the process moves these, whoever is at work
_LONGEST_WORDS = 500
_MINUTES_KEY = "maintenance:today"


class _Span:
    """The time of one stay as the readings see it: [since, end) is its mode, and what follows is settling."""

    __slots__ = ("end_us", "mode", "since_us")

    def __init__(self, entry: Entry) -> None:
        self.since_us = entry.since.mono_us
        self.end_us = (entry.ended or entry.until).mono_us
        self.mode = entry.mode


class Maintenance(Watch):
    """Keeps every stay of one site. Moments never go back on the monotonic axis, but a reading may be older than one.

    Stays of one scope and mode follow each other: there is at most one that lasts.
    """

    key = "maintenance:"

    def __init__(self, site: Site, start: Instant) -> None:
        self._site = site
        self._upkeep = site.upkeep
        self.channels = frozenset({site.upkeep.door} if site.upkeep.door else ())
        self.deadline_us = FAR_US
        self._entries: dict[tuple[str, Mode], Entry] = {}
        self._span_of: dict[tuple[str, Mode], _Span] = {}
        self.spans: dict[str, list[_Span]] = {}  # what `mark` looks at; empty nearly always, like the next
        self.follows: dict[str, Steady] = {}
        self._minutes = MaintenanceMinutes(ZoneInfo(site.time_zone), start)
        self._door_closed_us: int | None = None  # since when, if it is
        self._door_open_us: int | None = None  # when it was last seen open
        self._door_heard_us = start.mono_us

    def mark(self, reading: Reading) -> Reading:
        """The reading as it counts: in the mode of the stay it was taken in, doubtful shortly after one."""
        spans = self.spans.get(reading.channel)
        if not spans or reading.mode is not Mode.RUN:
            return reading
        mono_us, mode, settling = reading.at.mono_us, Mode.RUN, False
        for span in spans:
            if span.since_us <= mono_us < span.end_us:
                mode = span.mode if mode is not Mode.CALIBRATION else mode
            elif span.end_us <= mono_us < span.end_us + SETTLING_US:
                settling = True
        if mode is not Mode.RUN:
            return replace(reading, mode=mode)
        if settling and reading.quality in (Quality.GOOD, Quality.SUSPECT):
            return replace(reading, quality=Quality.SUSPECT, tests=(*reading.tests, AFTER_MAINTENANCE))
        return reading

    def held(self, channel: str | None = None) -> bool:
        """Whether whatever this channel paces must wait: it, or the station, is being worked on."""
        return any(entry.is_open and self._covers(entry, channel) for entry in self._entries.values())

    def standing(self, scope: str, mode: Mode = Mode.MAINTENANCE) -> Entry | None:
        """The latest stay of a channel or of the STATION, while it lasts, settles or waits for a signature."""
        return self._entries.get((scope, mode))

    def start(
        self, scopes: Sequence[str], mode: Mode, signed: tuple[str, str, str, str], lasts_us: int | None, now: Instant,
        said: Said,
    ) -> list[Entry]:  # fmt: skip
        """Begin stays; `signed` is name, reason, via and command id, `lasts_us` None the site's default.

        ValueError or LookupError, with nothing begun, says why not.
        """
        by, reason, via, command = signed
        self.tick(now, said)
        if not scopes:
            raise ValueError("say which channels, or the whole station")
        if len(set(scopes)) < len(scopes):
            raise ValueError("a channel is named twice")
        if not by.strip():
            raise ValueError(f"say who you are: {mode.value} is signed")
        if not reason.strip():
            raise ValueError(f"{mode.value} needs a reason: it is kept, and shown while it lasts")
        if len(reason) > _LONGEST_WORDS or len(by) > _LONGEST_WORDS:
            raise ValueError(f"keep name and reason within {_LONGEST_WORDS} characters each")
        lasts_us = self._upkeep.default_us if lasts_us is None else lasts_us
        if lasts_us <= 0:
            raise ValueError(f"{mode.value} that lasts no time is none")
        if lasts_us > self._upkeep.most_us:
            raise ValueError(f"{mode.value} lasts at most {format_duration(self._upkeep.most_us)} at this site")
        standing = [self._entries.get((self._known(scope), mode)) for scope in scopes]
        again = [entry for entry in standing if entry is not None and command and entry.id == command]
        if len(again) == len(scopes):
            return again
        for entry in standing:
            if entry is not None and entry.is_open:
                end = f"for {-(-(entry.until.mono_us - now.mono_us) // 60_000_000)} min more"
                raise ValueError(
                    f"{entry.where} is in {mode.value} already, by {entry.by} ({entry.reason}), {end}: stop it first"
                )
        until = Instant(now.utc_us + lasts_us, now.mono_us + lasts_us, now.synced)
        begun = [Entry(scope, mode, by, reason, via, command, now, until) for scope in scopes]
        for entry in begun:
            before = self._entries.get(entry.key)
            self._enter(entry)
            said.notes.append(Note("maintenance", now, entry.body("started")))
            said.state[self._key(entry)] = entry.state()
            if before is not None and before.unsigned:
                self._say(said, entry.scope, "taken up again")
        self._plan(now)
        return begun

    def stop(
        self, scopes: Sequence[str], mode: Mode, by: str, via: str, command: str, now: Instant, said: Said
    ) -> list[Entry]:
        """End stays, or sign off those that expired. ValueError or LookupError, with nothing ended, says why not."""
        self.tick(now, said)
        if not scopes:
            raise ValueError("say which channels, or the whole station")
        if not by.strip():
            raise ValueError(f"say who you are: the end of {mode.value} is signed")
        for scope in scopes:
            entry = self._entries.get((self._known(scope), mode))
            if entry is None or not (entry.is_open or entry.unsigned or self._repeats(entry, command)):
                station = self._entries.get((STATION, mode))
                within = "; the station is: stop that" if station is not None and station.is_open else ""
                raise LookupError(f"{_where(scope)} is not in {mode.value}{within}")
        ended = []
        for scope in dict.fromkeys(scopes):
            entry = self._entries[scope, mode]
            if self._repeats(entry, command):
                ended.append(entry)
            elif entry.is_open:
                ended.append(self._end(entry, now, STOPPED, said, by=by, via=via, command=command))
            else:
                entry = replace(entry, unsigned=False, ended_by=by, ended_id=command)
                self._entries[entry.key] = entry
                said.state[self._key(entry)] = entry.state()
                signer = {"signed_by": by, "signed_via": via, "signed_id": command}
                said.notes.append(Note("maintenance", now, entry.body("signed off", **signer)))
                self._say(said, scope, "signed off")
                ended.append(entry)
        self._plan(now)
        return ended

    def follow(self, reading: Reading) -> None:
        """See how steady the channels at work are."""
        if steady := self.follows.get(reading.channel):
            steady.see(reading)

    def tick(self, now: Instant, said: Said) -> None:
        """End what is over by `now`, at its own moment, and let go of what has settled."""
        for entry in [e for e in self._entries.values() if e.is_open and e.until.mono_us <= now.mono_us]:
            self._end(entry, moment(now, entry.until.mono_us), EXPIRED, said)
        for entry in [e for e in self._entries.values() if e.is_open and self._left_in_order(e, now)]:
            self._end(entry, now, AUTO_ENDED, said)
        if self._minutes.is_over(now):
            midnight = moment(now, min(now.mono_us, self._minutes.ends_us(now)))
            self._count(self._site.channels, midnight)
            day, spent_us = self._minutes.day, self._minutes.turn(now)
            self._day_over(day, spent_us, midnight, said)
        for name, spans in list(self.spans.items()):
            spans[:] = [span for span in spans if span.end_us + SETTLING_US > now.mono_us]
            if not spans:
                del self.spans[name]
        for key, entry in list(self._entries.items()):
            settled = entry.ended is not None and entry.ended.mono_us + SETTLING_US <= now.mono_us
            if settled and not entry.unsigned:
                del self._entries[key]
                said.state[self._key(entry)] = None
        self._plan(now)

    def lines(self, now: Instant) -> list[dict[str, Any]]:
        """Every stay that lasts, settles or waits for a signature, JSON-able."""
        lines = []
        for entry in self._entries.values():
            open_ = entry.is_open and now.mono_us < entry.until.mono_us
            settling = entry.ended is not None and now.mono_us < entry.ended.mono_us + SETTLING_US
            word = "in progress" if open_ else entry.how or EXPIRED
            lines.append(
                {
                    "scope": "station" if entry.scope == STATION else entry.scope,
                    "channels": list(self._covered(entry.scope)),
                    "mode": entry.mode.value,
                    "state": word,
                    "by": entry.by,
                    "reason": entry.reason,
                    "since_utc_us": entry.since.utc_us,
                    "until_utc_us": (entry.ended or entry.until).utc_us,
                    "left_s": round((entry.until.mono_us - now.mono_us) / 1e6) if open_ else 0,
                    "settling": settling,
                    "unsigned": entry.unsigned,
                }
            )
        return lines

    def today_us(self, now: Instant) -> dict[str, int]:
        """How long each channel was worked on today, by the site's local day; channels without any are left out."""
        if not self._minutes.is_over(now):  # a day that has just ended is settled by the next tick
            self._count(self._site.channels, now)
        return self._minutes.today_us()

    def restore(self, state: Mapping[str, Any], resume: Resume, said: Said) -> None:
        """Bring stays back: within their time they last on, past it they have expired.

        Where nobody can tell how long the gateway was away they have expired too: a stay must not run on for ever.
        """
        for key, stored in state.items():
            try:
                if key == _MINUTES_KEY:
                    if (earlier := self._minutes.restore(stored, resume)) is not None:
                        self._day_over(*earlier, resume.now, said)
                    said.state[key] = self._minutes.state()  # its stamps are on a new axis now
                else:
                    self._restore_entry(key, stored, resume, said)
            except (LookupError, TypeError, ValueError) as error:
                why = f"{type(error).__name__}: {error}"
                said.notes.append(Note("state_unreadable", resume.now, {"state": key, "why": why}))
                said.state[key] = None
        for scope in (STATION, *self._site.channels):
            self._say(said, scope, "nothing is unsigned")
        self.tick(resume.now, said)

    def _restore_entry(self, key: str, stored: Mapping[str, Any], resume: Resume, said: Said) -> None:
        entry = entry_from(stored, resume)
        lost = entry is None
        entry = entry or unplaced(stored, resume.now)
        if entry.scope != STATION and entry.scope not in self._site.channels:
            said.notes.append(Note("maintenance", resume.now, entry.body("dropped", why="the channel is gone")))
            said.state[key] = None
            return
        why = "the gateway was away"
        if lost:
            why = "nobody can tell how long the gateway was away"
        self._enter(entry)
        if entry.is_open and entry.until.mono_us <= resume.now.mono_us:
            self._end(entry, moment(resume.now, entry.until.mono_us), EXPIRED, said, why=why)
        else:
            said.state[key] = entry.state()  # its stamps are on a new axis now

    def _known(self, scope: str) -> str:
        if scope != STATION and scope not in self._site.channels:
            known = did_you_mean(scope, self._site.channels)
            raise LookupError(f"no channel {scope!r} at {self._site.id}{known}")
        return scope

    def _repeats(self, entry: Entry, command: str) -> bool:
        return bool(command) and not entry.is_open and entry.ended_id == command

    def _covered(self, scope: str) -> Iterable[str]:
        """The channels a stay speaks for: itself and what is derived from it, or all."""
        if scope == STATION:
            return self._site.channels
        covered = [scope]
        for name in covered:
            covered += [c.name for c in self._site.channels.values() if c.derived_from == name]
        return covered

    def _covers(self, entry: Entry, channel: str | None) -> bool:
        return entry.scope == STATION or (channel is not None and channel in self._covered(entry.scope))

    def _enter(self, entry: Entry) -> None:
        self._entries[entry.key] = entry
        self._span_of[entry.key] = span = _Span(entry)
        for name in self._covered(entry.scope):
            self.spans.setdefault(name, []).append(span)
            channel = self._site.channels[name]
            if entry.is_open and channel.derived_from is None:
                self.follows[name] = Steady(channel, moves=channel.quantity in _MOVES)

    def _end(self, entry: Entry, at: Instant, how: str, said: Said, **signed: str) -> Entry:
        """The stay is over: written down, counted, and an alarm when only its time has ended it."""
        by, command = signed.get("by", ""), signed.get("command", "")
        self._count(self._covered(entry.scope), at)
        ended = replace(entry, ended=at, how=how, ended_by=by, ended_id=command, unsigned=how == EXPIRED)
        self._entries[entry.key] = ended
        self._span_of[entry.key].end_us = at.mono_us
        more = {f"ended_{key}": value for key, value in (("by", by), ("via", signed.get("via")), ("id", command))}
        more |= {"why": signed["why"]} if "why" in signed else {}
        more = {key: value for key, value in more.items() if value}
        said.notes.append(Note("maintenance", at, ended.body(how, lasted_us=at.mono_us - entry.since.mono_us, **more)))
        said.state[self._key(ended)] = ended.state()
        said.state[_MINUTES_KEY] = self._minutes.state()
        if ended.unsigned:
            self._say(said, entry.scope)
        for name in self._covered(entry.scope):
            if not self.held(name):
                self.follows.pop(name, None)
        return ended

    def _say(self, said: Said, scope: str, reason: str = "") -> None:
        """The condition of a scope's alarm, where the site has it."""
        alarm = maintenance_alarm(scope)
        policy = self._site.alarms.get(alarm)
        if policy is None:
            return
        unsigned = [e for (name, _), e in self._entries.items() if name == scope and e.unsigned]
        if unsigned:
            reason = "expired, nobody signed off"
        severity = policy.severity if unsigned else Severity.NOTICE
        said.conditions.append(Condition(alarm, bool(unsigned), severity, reason))

    def hear(self, reading: Reading, weight: int, said: Said) -> None:
        """Follow the door."""
        if reading.value is None or reading.quality in (Quality.FAIL, Quality.MISSING):
            self._door_closed_us = None
            return
        mono_us = reading.at.mono_us
        hold_us = self._site.channels[reading.channel].hold_us
        if reading.value != self._upkeep.door_closed:
            self._door_open_us, self._door_closed_us = mono_us, None
        elif self._door_closed_us is None or mono_us - self._door_heard_us > hold_us:
            self._door_closed_us = mono_us
            self.deadline_us = min(self.deadline_us, mono_us + self._upkeep.after_door_us)
        self._door_heard_us = mono_us

    def _left_in_order(self, entry: Entry, now: Instant) -> bool:
        """Whether the door was opened during the stay, and has been closed, and everything steady, for long enough.

        A calibration has its record to end it: a probe in a buffer is steady too.
        """
        if entry.mode is not Mode.MAINTENANCE:
            return False
        closed_us, opened_us, after_us = self._door_closed_us, self._door_open_us, self._upkeep.after_door_us
        if closed_us is None or opened_us is None or opened_us < entry.since.mono_us:
            return False
        if now.mono_us - self._door_heard_us > self._site.channels[self._upkeep.door].hold_us:
            return False
        begins_us = now.mono_us - after_us
        steady = [self.follows[name] for name in self._covered(entry.scope) if name in self.follows]
        return closed_us <= begins_us and all(
            (since_us := one.since_us(now.mono_us)) is not None and since_us <= begins_us for one in steady
        )

    def _count(self, channels: Iterable[str], at: Instant) -> None:
        for name in channels:
            sinces_us = [e.since.mono_us for e in self._entries.values() if e.is_open and self._covers(e, name)]
            if sinces_us:
                self._minutes.count(name, sinces_us, at)

    def _day_over(self, day: str, spent_us: Mapping[str, int], at: Instant, said: Said) -> None:
        """What a local day held of maintenance goes on record."""
        said.state[_MINUTES_KEY] = self._minutes.state()
        if spent_us:
            said.notes.append(Note("maintenance_day", at, {"day": day, "spent_us": dict(spent_us)}))

    def _plan(self, now: Instant) -> None:
        """When elapsed time alone changes something next."""
        due_us = [entry.until.mono_us for entry in self._entries.values() if entry.is_open]
        if due_us and self._door_closed_us is not None:
            due_us.append(now.mono_us + self._site.channels[self._upkeep.door].hold_us)
        due_us += [span.end_us + SETTLING_US for spans in self.spans.values() for span in spans]
        if self._entries or self._minutes.today_us():
            due_us.append(max(self._minutes.ends_us(now), now.mono_us + 1))
        self.deadline_us = min(due_us, default=FAR_US)

    def _key(self, entry: Entry) -> str:
        return f"{self.key}{entry.mode.value}:{entry.scope}"


def _where(scope: str) -> str:
    return "the station" if scope == STATION else scope
