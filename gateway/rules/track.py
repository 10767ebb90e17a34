"""The two tracks of an exceedance: the proven run, and the suspected track that bridges short gaps and dips."""

from collections.abc import Mapping
from typing import Any

from gateway.model import Instant, Resume

__all__ = ["Run", "SuspectedTrack", "instant_from", "instant_state", "moment"]


def instant_state(at: Instant) -> list[int]:
    """JSON-able."""
    return [at.utc_us, at.mono_us, int(at.synced)]


def instant_from(state: list[int], resume: Resume) -> Instant | None:
    """The stored moment on this process's axis, or None when it cannot be placed."""
    mono_us = resume.mono(state[1])
    return None if mono_us is None else Instant(state[0], mono_us, bool(state[2]))


def moment(now: Instant, mono_us: int) -> Instant:
    """A past moment of this process's axis, with the UTC it had by the present clock."""
    return Instant(now.utc_us - (now.mono_us - mono_us), mono_us, now.synced)


class Run:
    """Consecutive valid samples that exceed, with no gap longer than the maximum hold among them."""

    __slots__ = ("count", "extreme", "last", "observed", "prealarms", "proven", "since")

    def __init__(self, since: Instant, value: float) -> None:
        self.since = since
        self.last = since
        self.count = 1
        self.observed = value
        self.extreme = value
        self.proven = False
        self.prealarms = 0

    @property
    def duration_us(self) -> int:
        """Last minus first exceeding sample, on the monotonic axis (docs/judging.md 4.2)."""
        return self.last.mono_us - self.since.mono_us

    def extend(self, value: float, at: Instant, *, upward: bool) -> None:
        """Take the next exceeding sample."""
        self.last = at
        self.count += 1
        self.observed = value
        self.extreme = max(self.extreme, value) if upward else min(self.extreme, value)

    def glimpse(self, value: float, *, upward: bool) -> None:
        """An exceeding sample between two scheduled ones: it shows the shape, and is no step of the proof."""
        self.extreme = max(self.extreme, value) if upward else min(self.extreme, value)

    def state(self) -> dict[str, Any]:
        """JSON-able."""
        return {
            "since": instant_state(self.since),
            "last": instant_state(self.last),
            "count": self.count,
            "observed": self.observed,
            "extreme": self.extreme,
            "proven": self.proven,
            "prealarms": self.prealarms,
        }

    @classmethod
    def from_state(cls, state: Mapping[str, Any], resume: Resume) -> "Run | None":
        """The run on this process's axis, or None when it cannot be placed."""
        since, last = instant_from(state["since"], resume), instant_from(state["last"], resume)
        if since is None or last is None:
            return None
        run = cls(since, state["observed"])
        run.last = last
        run.count, run.extreme, run.proven = state["count"], state["extreme"], state["proven"]
        run.prealarms = state["prealarms"]
        return run


class SuspectedTrack:
    """Exceeding samples with gaps up to `bridge_gap_us` and dips up to `bridge_dip_us` bridged; never evidence.

    Sees valid and doubtful samples. A dip lasts from its first sample within the limit to the next one that exceeds.
    """

    __slots__ = (
        "bridge_dip_us", "bridge_gap_us", "bridged_us", "count", "dip_since_us", "dips", "extreme", "hold_us", "last",
        "over", "seen_us", "since", "told",
    )  # fmt: skip

    def __init__(self, hold_us: int, bridge_gap_us: int, bridge_dip_us: int) -> None:
        self.hold_us = hold_us
        self.bridge_gap_us = max(bridge_gap_us, hold_us)
        self.bridge_dip_us = bridge_dip_us
        self.over = False  # a track has ended since the owner last looked
        self.since: Instant | None = None
        self._clear()
        self.over = False

    def _clear(self) -> None:
        self.over = True
        self.since = None
        self.last: Instant | None = None
        self.seen_us = 0
        self.dip_since_us: int | None = None
        self.count = 0
        self.extreme = 0.0
        self.told = False
        self.dips = 0
        self.bridged_us = 0

    def see(self, value: float, at: Instant, *, exceeds: bool, upward: bool) -> None:
        """Take the next valid or doubtful sample."""
        mono_us = at.mono_us
        if self.since is None:
            if exceeds:
                self._start(value, at)
            return
        if self.lapsed(mono_us):
            self._clear()
            if exceeds:
                self._start(value, at)
            return
        if not exceeds:
            if self.bridge_dip_us == 0:
                self._clear()
                return
            if self.dip_since_us is None:
                self.dip_since_us = mono_us
            self.seen_us = mono_us
            return
        if self.dip_since_us is not None:
            self.dips += 1
            self.dip_since_us = None
        if mono_us - self.seen_us > self.hold_us:
            self.bridged_us += mono_us - self.seen_us
        self.extreme = max(self.extreme, value) if upward else min(self.extreme, value)
        self.count += 1
        self.last = at
        self.seen_us = mono_us

    def glimpse(self, value: float, at: Instant, *, exceeds: bool, upward: bool) -> None:
        """A sample between two scheduled ones: it starts, ends and proves nothing, but a dip it saw is told."""
        if self.since is None or self.lapsed(at.mono_us):
            return
        self.seen_us = at.mono_us
        if exceeds:
            self.extreme = max(self.extreme, value) if upward else min(self.extreme, value)
        else:
            self.dips += 1

    def _start(self, value: float, at: Instant) -> None:
        self.since = self.last = at
        self.seen_us = at.mono_us
        self.extreme = value
        self.count = 1

    def stale(self, mono_us: int) -> bool:
        """Whether what is under way can no longer be bridged by anything that comes now."""
        return self.since is not None and mono_us - self.seen_us > self.bridge_gap_us

    def lapsed(self, mono_us: int) -> bool:
        """Whether what is under way is over for a sample that comes now, whatever it says."""
        dip_us = self.dip_since_us
        return self.stale(mono_us) or (
            self.since is not None and dip_us is not None and mono_us - dip_us > self.bridge_dip_us
        )

    def forget(self) -> None:
        """Let go of what is under way."""
        self._clear()

    def ended(self) -> bool:
        """Whether a track has ended since this was last asked."""
        over, self.over = self.over, False
        return over

    def reason(self) -> str:
        """Why this is suspected and not proven."""
        if self.bridged_us:
            return f"{self.bridged_us / 1e6:g} s without valid samples bridged, not counted as proven"
        if self.dips:
            return "brief dips within the limit bridged, not counted as proven"
        return "the samples are doubtful, not counted as proven"

    def state(self) -> dict[str, Any] | None:
        """JSON-able; None when nothing is under way."""
        if self.since is None or self.last is None:
            return None
        return {
            "since": instant_state(self.since),
            "last": instant_state(self.last),
            "seen_us": self.seen_us,
            "dip_since_us": self.dip_since_us,
            "count": self.count,
            "extreme": self.extreme,
            "told": self.told,
            "dips": self.dips,
            "bridged_us": self.bridged_us,
        }

    def restore(self, state: Mapping[str, Any] | None, resume: Resume) -> None:
        """Bring a track back; one that cannot be placed in time is forgotten (the proven run says so)."""
        if state is None or resume.offset_us is None:
            return
        self.since = instant_from(state["since"], resume)
        self.last = instant_from(state["last"], resume)
        self.seen_us = state["seen_us"] + resume.offset_us
        dip_since_us = state["dip_since_us"]
        self.dip_since_us = None if dip_since_us is None else dip_since_us + resume.offset_us
        self.count, self.extreme, self.told = state["count"], state["extreme"], state["told"]
        self.dips, self.bridged_us = state["dips"], state["bridged_us"]
