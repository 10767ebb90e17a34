"""The volume integral of a site's flow channel: what every flow-weighted sum asks for.

A line of knots in time; between two of them everything grows at a constant rate, so any moment is answered exactly.
"""

from bisect import bisect_right
from collections.abc import Sequence
from datetime import tzinfo
from typing import Any

from gateway.model import Instant, Mode, Reading, Resume
from gateway.rules.minutes import STRAY_US, Minutes, placing, step_of
from gateway.signals.qc import DISAGREE, Evidence
from gateway.site import Channel
from gateway.units import conversion

__all__ = ["FlowFollower", "FlowLedger"]

_VALID = Evidence.VALID
_VOID = Evidence.VOID
_RUN = Mode.RUN
_RATE_SCALE = 10**6
_NEVER_US = 1 << 62
_KEPT_MINUTES = 1_500  # the last 24 h, and a few short minutes of clock steps

# mono_us, volume, rate, discharged volume, its rate, valid_us, flowing (0, 1), discharged_us, discharging (0, 1),
# discharging or unknown less mono_us
_Knot = tuple[int, int, int, int, int, int, int, int, int, int]
_Edge = tuple[int, int, int, int]  # mono_us, volume, valid_us, discharging_us: at every full minute


class FlowFollower:
    """How far one reader of the flow has settled: the flow keeps every knot from there on."""

    __slots__ = ("settled_us",)

    def __init__(self, settled_us: int) -> None:
        self.settled_us = settled_us


class FlowLedger:
    """One per site. Feed readings in order and `advance` past them; every sum is cumulative and zero at the start.

    A valid flow holds to the next valid one, up to the channel's hold; a technician at work ends it. Past the hold
    nobody can tell: no volume, no valid time, but discharging as far as anyone knows. A flow below zero (the zero
    drift of an instrument) moves no water. A reading from before a moment already settled counts from that moment on.
    """

    def __init__(self, channel: Channel, zone: tzinfo, start: Instant) -> None:
        self.channel = channel.name
        to_gpm = conversion(channel.unit, "gpm")
        self._gain = to_gpm.gain * _RATE_SCALE
        self._hold_us = channel.hold_us
        self.minutes = Minutes(zone, start, step_of(channel.poll_us))
        self._strays: list[Instant] = []
        self._offset_us = self.minutes.offset_us
        self._knots: list[_Knot] = [(-_NEVER_US, 0, 0, 0, 0, 0, 0, 0, 0, -start.mono_us)]  # before it: nobody knows
        self._times: list[int] = [-_NEVER_US]
        self.floor_us = start.mono_us  # what readers have settled is never changed again
        self._held_until_us = start.mono_us  # of the last word
        self._expiring = False  # the last knot is the end of that hold, not a word
        self._followers: list[FlowFollower] = []
        self._own = self.follow(start.mono_us)
        self._edge_times = [start.mono_us]
        self._edges: list[_Edge] = [(start.mono_us, 0, 0, 0)]
        self.shift_us = 0  # how far the last restart moved the stored stamps

    def follow(self, settled_us: int) -> FlowFollower:
        """Register a reader that will ask for moments from `settled_us` on."""
        follower = FlowFollower(settled_us)
        self._followers.append(follower)
        return follower

    def take(self, reading: Reading, weight: int, *, discharging: bool) -> None:
        """Take the channel's next reading; `discharging` is the interlock's word on it."""
        at = reading.at
        stray_us = at.utc_us - at.mono_us - self._offset_us
        if stray_us > STRAY_US or stray_us < -STRAY_US:
            self._offset_us += stray_us
            self._strays.append(at)
        if weight == _VALID:
            value = reading.value
            if value is None or value <= 0:
                self._say(at.mono_us, 0, 1, discharging=discharging)
            else:
                self._say(at.mono_us, round(value * self._gain), 1, discharging=discharging)
        elif weight == _VOID:
            if reading.mode is not _RUN:
                self._say(at.mono_us, 0, 0, discharging=False)
            elif reading.dry and DISAGREE not in reading.tests:
                self._say(at.mono_us, 0, 1, discharging=False)

    def _say(self, mono_us: int, rate: int, flowing: int, *, discharging: bool) -> None:
        """From here on, up to the hold, this is the flow."""
        knots, times = self._knots, self._times
        mono_us = max(mono_us, self.floor_us)
        if self._expiring:
            if times[-1] >= mono_us:
                knots.pop()
                times.pop()
            self._expiring = False
        elif mono_us > self._held_until_us:
            self._expire()
            self._expiring = False
        since_us, volume, old_rate, discharged, wet_rate, valid_us, was_flowing, discharged_us, was_wet, idle = knots[
            -1
        ]
        span_us = mono_us - since_us
        if span_us > 0:
            volume += old_rate * span_us
            if was_flowing:
                valid_us += span_us
                if was_wet:
                    discharged += wet_rate * span_us
                    discharged_us += span_us
                else:
                    idle -= span_us
        elif len(knots) > 1:
            mono_us = since_us
            knots.pop()
            times.pop()
        wet = flowing if discharging else 0
        knots.append((mono_us, volume, rate, discharged, rate * wet, valid_us, flowing, discharged_us, wet, idle))
        times.append(mono_us)
        self._held_until_us = mono_us + self._hold_us if flowing else mono_us

    def _expire(self) -> None:
        """Put a knot at the end of the hold of the last word, unless there is one or the word held nothing."""
        since_us, volume, rate, discharged, wet_rate, valid_us, flowing, discharged_us, wet, idle = self._knots[-1]
        until_us = self._held_until_us
        span_us = until_us - since_us
        if not flowing or span_us < 0:
            return
        volume, discharged = volume + rate * span_us, discharged + wet_rate * span_us
        discharged_us, idle = discharged_us + span_us * wet, idle - span_us * (1 - wet)
        self._knots.append((until_us, volume, 0, discharged, 0, valid_us + span_us, 0, discharged_us, 0, idle))
        self._times.append(until_us)
        self._expiring = True

    def advance(self, now: Instant) -> None:
        """Everything before `now` has been fed. Advance the flow before the ledgers that read it."""
        mono_us = now.mono_us
        if mono_us < self.minutes.boundary_us and not self._strays:
            return
        minutes = self.minutes
        while True:
            stray = self._strays[0] if self._strays else None
            if stray is not None and stray.mono_us < minutes.boundary_us:
                if stray.mono_us > mono_us:
                    break
                minutes.anchor(self._strays.pop(0))
                continue
            if minutes.boundary_us > mono_us:
                break
            edge_us = minutes.boundary_us
            self._edges.append((edge_us, *self.totals(edge_us)))
            self._edge_times.append(edge_us)
            self._own.settled_us = edge_us
            self.floor_us = max(self.floor_us, edge_us)
            minutes.pass_boundary()
        self._forget()

    def _forget(self) -> None:
        """Drop the knots nobody will ask for again."""
        oldest_us = min(follower.settled_us for follower in self._followers)
        keep = bisect_right(self._times, oldest_us) - 1
        if keep > 64:
            del self._knots[:keep], self._times[:keep]
        if len(self._edges) > 2 * _KEPT_MINUTES:
            del self._edges[:-_KEPT_MINUTES], self._edge_times[:-_KEPT_MINUTES]

    def volume(self, mono_us: int) -> int:
        """All water up to a moment, in gal x VOLUME_SCALE; monotone, over valid time only.

        Exact from the last settled minute on and at every full minute of the last 24 h; within an older minute at its
        mean flow. Raises LookupError for a moment before that.
        """
        return self.totals(mono_us)[0]

    def valid_us(self, mono_us: int) -> int:
        """The time with a valid flow up to a moment."""
        return self.totals(mono_us)[1]

    def discharging_us(self, mono_us: int) -> int:
        """The time up to a moment that was discharging, or when nobody could tell."""
        return self.totals(mono_us)[2]

    def along(self, moments_us: Sequence[int]) -> list[tuple[int, int, int]]:
        """For a reader that settles: up to each of these moments, in order, the water discharged, the time of it, and
        the time discharging or unknown. Raises LookupError for a moment older than the readers' own."""
        if moments_us[-1] > self._held_until_us and not self._expiring:
            self._expire()
        index = bisect_right(self._times, moments_us[0]) - 1
        if index < 0:
            raise LookupError(f"{self.channel}: the flow of {moments_us[0]} us was already let go")
        knots = self._knots[index:]
        times = [*self._times[index + 1 :], _NEVER_US]
        index, next_us = 0, times[0]
        since_us, _, _, discharged, wet_rate, _, flowing, discharged_us, wet, idle = knots[0]
        sums = []
        for moment_us in moments_us:
            while next_us <= moment_us:
                index += 1
                next_us = times[index]
                since_us, _, _, discharged, wet_rate, _, flowing, discharged_us, wet, idle = knots[index]
            span_us = moment_us - since_us
            if wet:
                sums.append((discharged + wet_rate * span_us, discharged_us + span_us, idle + moment_us))
            else:
                sums.append((discharged, discharged_us, idle + moment_us - flowing * span_us))
        return sums

    def totals(self, mono_us: int) -> tuple[int, int, int]:
        """`volume`, `valid_us` and `discharging_us` at once."""
        if mono_us > self._held_until_us and not self._expiring:
            self._expire()
        index = bisect_right(self._times, mono_us) - 1
        if index < 0:
            return self._older(mono_us)
        since_us, volume, rate, _, _, valid_us, flowing, _, wet, idle = self._knots[index]
        span_us = mono_us - since_us
        return volume + rate * span_us, valid_us + flowing * span_us, idle + mono_us - (flowing - wet) * span_us

    def _older(self, mono_us: int) -> tuple[int, int, int]:
        index = bisect_right(self._edge_times, mono_us) - 1
        if 0 <= index < len(self._edges) - 1:
            since_us, *earlier = self._edges[index]
            until_us, *later = self._edges[index + 1]
            spans = mono_us - since_us, until_us - since_us
            volume, valid_us, open_us = (
                before + (after - before) * spans[0] // spans[1] for before, after in zip(earlier, later, strict=True)
            )
            return volume, valid_us, open_us
        if index < 0 and not any(self._edges[0][1:3]):
            return 0, 0, self._edges[0][3] + mono_us - self._edge_times[0]
        raise LookupError(f"{self.channel}: the flow of {mono_us} us is no longer known, only the last 24 h")

    def state(self) -> dict[str, Any]:
        """JSON-able; grows to some 60 kB with a day of minutes. Store it together with the ledgers that read it."""
        return {
            "minutes": self.minutes.state(),
            "offset_us": self._offset_us,
            "strays": [[at.utc_us, at.mono_us, int(at.synced)] for at in self._strays],
            "floor_us": self.floor_us,
            "knots": [list(knot) for knot in self._knots],
            "held_until_us": self._held_until_us,
            "expiring": self._expiring,
            "settled_us": self._own.settled_us,
            "edges": [list(edge) for edge in self._edges[-_KEPT_MINUTES:]],
        }

    def restore(self, state: dict[str, Any], resume: Resume) -> None:
        """Bring the state back; call before the first reading, and before the ledgers that read this flow."""
        mark_us = state["knots"][-2 if state["expiring"] else -1][0]
        self.shift_us = shift_us = placing(resume.offset_us, resume.now, mark_us, state["minutes"])
        self.minutes.restore(state["minutes"], shift_us)
        self._offset_us = state["offset_us"] - shift_us
        self._strays = [Instant(utc, mono + shift_us, bool(synced)) for utc, mono, synced in state["strays"]]
        self._knots = [_moved(knot, shift_us) for knot in state["knots"]]
        self._expiring = state["expiring"]
        self._times = [knot[0] for knot in self._knots]
        self._held_until_us = state["held_until_us"] + shift_us
        self.floor_us = state["floor_us"] + shift_us
        if resume.offset_us is None:  # nobody can tell how long: what was settled stays, nothing is held beyond it
            if self._expiring:
                self._knots.pop()
                self._times.pop()
            self._held_until_us = min(self._held_until_us, max(self.floor_us, self._times[-1]))
            self._expiring = False
            self._expire()
        for follower in self._followers:
            follower.settled_us = self._times[0]
        self._own.settled_us = state["settled_us"] + shift_us
        self._edges = [(edge[0] + shift_us, edge[1], edge[2], edge[3]) for edge in state["edges"]]
        self._edge_times = [edge[0] for edge in self._edges]


def _moved(knot: list[int], shift_us: int) -> _Knot:
    since_us, volume, rate, discharged, wet_rate, valid_us, flowing, discharged_us, wet, idle = knot
    since_us, idle = since_us + shift_us, idle - shift_us
    return since_us, volume, rate, discharged, wet_rate, valid_us, flowing, discharged_us, wet, idle
