"""Signs of life: the daily text that says the station watches, and the one that says it is back. Pure.

Silence is the message of a dead station, so somebody must be used to hearing from a living one. The daily text is made
of live data and goes over the same paths as an alarm: it proves them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from gateway.alarms.engine import AlarmView
from gateway.alarms.gsm7 import SEGMENT_SEPTETS, clip, transliterate
from gateway.alarms.status_text import status_text
from gateway.alarms.wording import LANGUAGES, Subject, clock_text, duration_text
from gateway.model import AlarmState, Instant, Message, MessageKind, Reading, Severity
from gateway.site import Contact, Site

__all__ = ["RUNNING_KEY", "Signs"]

RUNNING_KEY = "signs:running"
"""Stands in the durable state while a gateway runs; one that finds it at its start was not stopped in order."""

_DAILY_KEY = "signs:daily"
_WAITS = frozenset({
    AlarmState.UNACKNOWLEDGED, AlarmState.RETURNED_UNACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED,
})  # fmt: skip
_ASIDE = frozenset({AlarmState.SHELVED, AlarmState.OUT_OF_SERVICE})
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Signs:
    """The signs of life of one site."""

    def __init__(self, site: Site) -> None:
        self._site = site
        self._zone = ZoneInfo(site.time_zone)
        self._last = ""  # the local date of the last daily text

    def restore(self, state: Mapping[str, Any]) -> None:
        """Which day was told of last."""
        self._last = str(state.get(_DAILY_KEY) or "")

    def daily(
        self, now: Instant, latest: Mapping[str, Reading], alarms: Iterable[AlarmView]
    ) -> tuple[tuple[Message, ...], dict[str, Any]]:
        """The text of the day once its time has come, and the durable state that says so.

        One that fell due while the gateway was away goes out when it is back. A clock that nobody vouches for may be
        wrong by years: the text goes out by it all the same, and marks its time.
        """
        at_min = self._site.signs.daily_min
        if at_min is None:
            return (), {}
        local = (_EPOCH + timedelta(microseconds=now.utc_us)).astimezone(self._zone)
        day = local.date().isoformat()
        if day == self._last or local.hour * 60 + local.minute < at_min:
            return (), {}
        self._last = day
        views = tuple(alarms)
        waiting = [view.code for view in views if view.state in _WAITS and view.code]
        aside = [view.id for view in views if view.state in _ASIDE]
        return self._told(now, f"daily:{day}", lambda c: self._day(c, now, latest, waiting, aside)), {_DAILY_KEY: day}

    def back(self, now: Instant, away_us: int | None) -> tuple[Message, ...]:
        """What is told after a stop that nobody ordered; `away_us` None when nobody can tell how long it was."""

        def text(contact: Contact) -> str:
            words = LANGUAGES[contact.language]
            time = clock_text(now, Subject(self._site, "", None, self._zone, words), now)
            if away_us is None:
                return words.back_unknown.format(time=time)
            return words.back_after.format(time=time, gap=duration_text(max(0, away_us), words))

        return self._told(now, f"back:{now.utc_us}", text)

    def _day(
        self, contact: Contact, now: Instant, latest: Mapping[str, Reading], waiting: Sequence[str],
        aside: Sequence[str],
    ) -> str:  # fmt: skip
        words = LANGUAGES[contact.language]
        quiet = words.put_aside.format(names=", ".join(aside)) + " " if aside else ""
        return quiet + status_text(self._site, latest, waiting, now, words)

    def _told(self, now: Instant, key: str, text: Any) -> tuple[Message, ...]:
        station, people = self._site.id.upper(), {contact.id: contact for contact in self._site.contacts}
        return tuple(
            Message(
                name, clip(transliterate(f"{station} {text(people[name])}"), SEGMENT_SEPTETS), f"{key}:{name}", now,
                MessageKind.NOTICE, Severity.NOTICE, "", 0,
            )
            for name in self._site.signs.tell
            if name in people
        )  # fmt: skip
