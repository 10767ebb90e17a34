"""Windows and baselines over a restart: stored once an hour as of a numbered record, and fed what was recorded since.

What is fed again is what the journal holds, so the rebuilt sums are the same integers as if nothing had happened.
"""

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gateway.errors import StoreError
from gateway.model import Finding, FindingEvent, Instant, Outcome, Reading, Resume, Verdict
from gateway.pipeline import Pipeline
from gateway.store.journal import Journal

__all__ = ["LongMemory"]

_log = logging.getLogger(__name__)

_EVERY_US = 3_600_000_000
_PAGE = 2000
_AS_OF = "account:as_of"


class LongMemory:
    """Keeps the pipeline's accounts in the journal. Called from the event loop only."""

    def __init__(self, pipeline: Pipeline, journal: Journal) -> None:
        self._pipeline = pipeline
        self._journal = journal
        self._stored_us: int | None = None

    async def rebuild(self, state: Mapping[str, Any], resume: Resume) -> int:
        """Feed the readings recorded after the stored state came to be; how many. Call before the first sample.

        Without a place in time for them (another boot, an untrusted clock) nothing is fed: the windows are thin then.
        """
        after = state.get(_AS_OF)
        if not isinstance(after, int) or resume.offset_us is None:
            return 0
        fed = 0
        try:
            while page := await self._journal.records(after, _PAGE):
                for record in page:
                    if isinstance(record.body, Reading):
                        self._pipeline.refeed(_moved(record.body, resume.offset_us))
                        fed += 1
                    elif record.kind == "finding":
                        self._pipeline.accounts.hear(_finding(record.body, resume.offset_us))
                after = page[-1].seq
        except StoreError as error:
            _log.warning("long memory: %d readings fed again, then: %s", fed, error)
        return fed

    async def keep(self, now: Instant, *, at_once: bool = False) -> None:
        """Add the state to the next commit when it is due and the journal holds every reading it rests on."""
        due = at_once or self._stored_us is None or now.mono_us - self._stored_us >= _EVERY_US
        as_of = await self._journal.last_seq() if due else 0
        if not due or self._journal.pending:  # something came while we asked: the next commit will do
            return
        self._stored_us = now.mono_us
        self._journal.add(Outcome(state={**self._pipeline.snapshot(), _AS_OF: as_of}))


def _finding(body: Mapping[str, Any], offset_us: int) -> Finding:
    """As much of a recorded finding as the accounts hear: which rule, from when to when, and what was said."""
    since, at = (_moment(body[name], offset_us) for name in ("since", "at"))
    event, verdict = FindingEvent(body["event"]), Verdict(body["verdict"])
    said = (body["duration_us"], body["reason"], body["unit"])
    parties = (body["rule"], body["clause"], body["channel"])
    return Finding(event, *parties, verdict, since, at, *said, context=body.get("context", {}))


def _moment(stored: Mapping[str, Any], offset_us: int) -> Instant:
    return Instant(stored["utc_us"], stored["mono_us"] + offset_us, bool(stored["synced"]))


def _moved(reading: Reading, offset_us: int) -> Reading:
    at = reading.at
    return replace(reading, at=Instant(at.utc_us, at.mono_us + offset_us, at.synced))
