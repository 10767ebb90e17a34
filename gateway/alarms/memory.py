"""What the engine remembers of one alarm across restarts, and its form as JSON."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

from gateway.alarms.record import AlarmRecord, Cause, Input, Shelf, moment
from gateway.model import Finding, FindingEvent, Instant, Resume, Severity, Verdict
from gateway.site import AlarmPolicy

__all__ = ["AlarmMemory", "to_json", "from_json", "resumed"]


@dataclass(frozen=True, slots=True)
class AlarmMemory:
    """One alarm's record and what was said about its present occurrence.

    `number` is the alarm's own at this site, given at its first raise and never to another: the first half of the
    acknowledgement code. `told` are the contacts who know of this occurrence, `annunciations` how often people were
    told of it. `finding` and `reason` are behind the present cause, `ending` and `end_reason` behind its going.
    """

    record: AlarmRecord
    number: int = 0
    told: tuple[str, ...] = ()
    annunciations: int = 0
    reason: str = ""
    finding: Finding | None = None
    end_reason: str = ""
    ending: Finding | None = None


def to_json(memory: AlarmMemory) -> dict[str, Any]:
    """JSON-able: enums by value, an Instant as [utc_us, mono_us, synced]."""
    state: dict[str, Any] = {f.name: _plain(getattr(memory.record, f.name)) for f in fields(AlarmRecord)}
    state |= {f.name: _plain(getattr(memory, f.name)) for f in fields(AlarmMemory) if f.name != "record"}
    return state


def from_json(key: str, state: Mapping[str, Any]) -> AlarmMemory:
    """The exact inverse of `to_json`; a key of a later release is passed over, an absent one has its default.

    Raises ValueError naming the state key when something is not as it was written.
    """
    try:
        known = {name: read(state[name]) for name, read in _READ.items() if name in state}
        record = AlarmRecord(**{f.name: known[f.name] for f in fields(AlarmRecord) if f.name in known})
        return AlarmMemory(record, **{f.name: known[f.name] for f in fields(AlarmMemory) if f.name in known})
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise ValueError(f"stored state {key!r} cannot be read: {error}") from error


def resumed(memory: AlarmMemory, resume: Resume, policy: AlarmPolicy) -> AlarmMemory:
    """The memory on this process's axis, as of a restart: a moment when nobody can tell about any cause.

    A running delay keeps what is left of it and waits for the first word; one that cannot be placed starts afresh. A
    re-alarm that cannot be placed is due now. A shelf that cannot be placed gets an end beyond any permitted one, for
    the engine to end it.
    """
    record = memory.record
    return replace(
        memory,
        record=replace(
            record,
            input=Input.UNSEEN,
            resumed=record.active,
            delay_due_us=None,
            delay_left_us=_left_us(record, resume, policy),
            realarm_due_us=None if record.realarm_due_us is None else _placed_us(record.realarm_due_us, resume),
            began_at=_carried(record.began_at, resume),
            raised_at=_carried(record.raised_at, resume),
            cleared_at=_carried(record.cleared_at, resume),
            acked_at=_carried(record.acked_at, resume),
            shelf=None if record.shelf is None else _carried_shelf(record.shelf, resume, policy),
        ),
        finding=_carried_finding(memory.finding, resume),
        ending=_carried_finding(memory.ending, resume),
    )


def _left_us(record: AlarmRecord, resume: Resume, policy: AlarmPolicy) -> int | None:
    if record.cause not in (Cause.PENDING_ON, Cause.PENDING_OFF):
        return None
    if resume.offset_us is None:
        return policy.on_delay_us if record.cause is Cause.PENDING_ON else policy.off_delay_us
    if record.delay_due_us is None:
        return record.delay_left_us
    return max(0, record.delay_due_us + resume.offset_us - resume.now.mono_us)


def _placed_us(stored_us: int, resume: Resume) -> int:
    placed_us = resume.mono(stored_us)
    return resume.now.mono_us if placed_us is None else placed_us


def _carried(at: Instant | None, resume: Resume) -> Instant | None:
    return None if at is None else _placed(at, resume)


def _placed(at: Instant, resume: Resume) -> Instant:
    """A stored Instant on this axis; where that cannot be told, by its UTC, marked as not trusted."""
    mono_us = resume.mono(at.mono_us)
    if mono_us is not None:
        return replace(at, mono_us=mono_us)
    return Instant(at.utc_us, resume.now.mono_us - max(0, resume.now.utc_us - at.utc_us), synced=False)


def _carried_shelf(shelf: Shelf, resume: Resume, policy: AlarmPolicy) -> Shelf:
    mono_us = resume.mono(shelf.until.mono_us)
    if mono_us is None:
        return replace(shelf, until=moment(resume.now, resume.now.mono_us + policy.max_shelve_us + 1))
    return replace(shelf, until=replace(shelf.until, mono_us=mono_us))


def _carried_finding(finding: Finding | None, resume: Resume) -> Finding | None:
    if finding is None:
        return None
    return replace(finding, since=_placed(finding.since, resume), at=_placed(finding.at, resume))


def _plain(value: Any) -> Any:
    if isinstance(value, Instant):
        return [value.utc_us, value.mono_us, value.synced]
    if isinstance(value, Shelf | Finding):
        return {f.name: _plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return list(value)
    return dict(value) if isinstance(value, Mapping) else value


def _as_is(value: Any) -> Any:
    return value


def _instant(value: Any) -> Instant | None:
    return None if value is None else Instant(int(value[0]), int(value[1]), bool(value[2]))


def _shelf(value: Any) -> Shelf | None:
    return None if value is None else Shelf(**{**value, "until": _instant(value["until"])})


def _finding(value: Any) -> Finding | None:
    if value is None:
        return None
    known = {f.name: value[f.name] for f in fields(Finding) if f.name in value}
    stamps = {"since": _instant(value["since"]), "at": _instant(value["at"])}
    kinds = {"event": FindingEvent(value["event"]), "verdict": Verdict(value["verdict"])}
    return Finding(**{**known, **stamps, **kinds})


_READ: Mapping[str, Any] = {
    **{f.name: _as_is for f in (*fields(AlarmRecord), *fields(AlarmMemory)) if f.name != "record"},
    "severity": Severity,
    "cause_severity": Severity,
    "cause": Cause,
    "input": Input,
    "began_at": _instant,
    "raised_at": _instant,
    "cleared_at": _instant,
    "acked_at": _instant,
    "shelf": _shelf,
    "told": tuple,
    "finding": _finding,
    "ending": _finding,
}
