"""One stay in maintenance or calibration as it is kept: who, why, since when, until when, and how it ended."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from gateway.model import Instant, Mode, Resume

__all__ = ["AUTO_ENDED", "EXPIRED", "STATION", "STOPPED", "Entry", "entry_from", "maintenance_alarm", "unplaced"]

STATION = "*"
"""The scope of an entry for the whole station; no channel can be called that."""

STOPPED, EXPIRED, AUTO_ENDED = "stopped", "expired", "ended by itself"


def maintenance_alarm(scope: str) -> str:
    """The id of the alarm that a stay ended by its time alone and nobody signed off."""
    return "maintenance" if scope == STATION else f"maintenance-{scope}"


@dataclass(frozen=True, slots=True)
class Entry:
    """One stay. `scope` is a channel or STATION; `until` its end at the latest; `ended` when and `how` it really ended.

    `unsigned` is True while it expired and nobody has signed off. `id` and `ended_id` are those of the commands.
    """

    scope: str
    mode: Mode
    by: str
    reason: str
    via: str
    id: str
    since: Instant
    until: Instant
    ended: Instant | None = None
    how: str = ""
    ended_by: str = ""
    ended_id: str = ""
    unsigned: bool = False

    @property
    def key(self) -> tuple[str, Mode]:
        """What there is at most one of."""
        return self.scope, self.mode

    @property
    def where(self) -> str:
        """The scope in words."""
        return "the station" if self.scope == STATION else self.scope

    @property
    def is_open(self) -> bool:
        """Whether it lasts."""
        return self.ended is None

    def body(self, event: str, **more: Any) -> dict[str, Any]:
        """What the record holds of an event of this stay; JSON-able."""
        return {
            "event": event,
            "scope": self.scope,
            "mode": self.mode.value,
            "actor": self.by,
            "reason": self.reason,
            "via": self.via,
            "id": self.id,
            "since_utc_us": self.since.utc_us,
            "until_utc_us": self.until.utc_us,
            **more,
        }

    def state(self) -> dict[str, Any]:
        """What a restart needs, JSON-able."""
        return asdict(self)


def entry_from(state: Mapping[str, Any], resume: Resume) -> Entry | None:
    """A stored stay on this process's axis; None when nobody can tell where on it the stay lies.

    LookupError, TypeError or ValueError when it is none.
    """
    if state["mode"] == Mode.RUN:
        raise ValueError("a stay in run mode is none")
    placed: dict[str, Any] = {}
    for key in ("since", "until", "ended"):
        if state[key] is not None:
            instant = _instant(state[key])
            mono_us = resume.mono(instant.mono_us)
            if mono_us is None:
                return None
            placed[key] = replace(instant, mono_us=mono_us)
    return Entry(**{**state, **placed, "mode": Mode(state["mode"])})


def unplaced(state: Mapping[str, Any], at: Instant) -> Entry:
    """A stored stay that cannot be placed in time, over at `at` at the latest; its stamps of UTC are kept."""
    since = replace(_instant(state["since"]), mono_us=at.mono_us)
    ended = None if state["ended"] is None else at
    return Entry(**{**state, "since": since, "until": at, "mode": Mode(state["mode"]), "ended": ended})


def _instant(stored: Mapping[str, Any]) -> Instant:
    utc_us, mono_us = stored["utc_us"], stored["mono_us"]
    if not (isinstance(utc_us, int) and isinstance(mono_us, int)):
        raise TypeError("a moment is made of whole microseconds")
    return Instant(utc_us, mono_us, bool(stored["synced"]))
