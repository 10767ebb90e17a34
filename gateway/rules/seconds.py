"""Where a rule's time went. The verdicts of one rule on one channel sum to the period, to the microsecond.

A moment belongs to the latest word (valid or dry sample) up to the maximum hold, and to not evaluable past it. The
time of a run is not known until the run is settled: it waits in `pending`, and in `doubt` while the suspected track
may claim it.
"""

from gateway.model import Verdict

__all__ = ["RuleSeconds"]

_DOUBT = "doubt"


class RuleSeconds:
    """The account of one rule on one channel; every call carries the monotonic moment in microseconds."""

    __slots__ = ("_doubt_us", "_held_until_us", "_hold_us", "_mark_us", "_pending_us", "_proven", "_spent_us", "_word")

    def __init__(self, hold_us: int, start_us: int) -> None:
        self._hold_us = hold_us
        self._mark_us = start_us
        self._held_until_us = start_us
        self._word: Verdict | str | None = Verdict.NOT_EVALUABLE  # None: exceeding, not yet proven
        self._proven = False
        self._pending_us = 0
        self._doubt_us: dict[Verdict, int] = {}  # settled as the key unless the suspected track speaks
        self._spent_us = dict.fromkeys(Verdict, 0)

    def advance(self, mono_us: int) -> None:
        """Account for the time up to a moment."""
        mark_us = self._mark_us
        if mono_us <= mark_us:
            return
        until_us = min(mono_us, max(self._held_until_us, mark_us))
        if isinstance(self._word, Verdict):
            self._spent_us[self._word] += until_us - mark_us
        elif self._word is None:
            self._pending_us += until_us - mark_us
        else:
            doubt_us = self._doubt_us.get(Verdict.NOT_EVALUABLE, 0)
            self._doubt_us[Verdict.NOT_EVALUABLE] = doubt_us + until_us - mark_us
        self._spent_us[Verdict.NOT_EVALUABLE] += mono_us - until_us
        self._mark_us = mono_us

    def say(self, word: Verdict, mono_us: int) -> None:
        """From here on, until the next word or the hold: compliant, no discharge or not evaluable."""
        if word is not self._word or mono_us > self._held_until_us:
            self.advance(mono_us)
            self._word = word
        self._held_until_us = mono_us + self._hold_us  # the same word without a gap: one longer stretch

    def exceeding(self, mono_us: int) -> None:
        """A valid sample exceeds; whether that is an exceedance is settled later."""
        self.advance(mono_us)
        self._word = Verdict.EXCEEDED if self._proven else None
        self._held_until_us = mono_us + self._hold_us

    def doubtful(self, mono_us: int) -> None:
        """A doubtful sample exceeds: not evaluable, unless the suspected track speaks of it."""
        self.advance(mono_us)
        self._word = _DOUBT
        self._held_until_us = mono_us + self._hold_us

    def prove(self) -> None:
        """The run under way is an exceedance, from its first sample on."""
        self._spent_us[Verdict.EXCEEDED] += self._pending_us
        self._pending_us = 0
        self._proven = True
        self._word = Verdict.EXCEEDED

    def end_run(self, mono_us: int, unproven: Verdict) -> None:
        """The run is over; without proof its time is in doubt, and becomes `unproven` when that is lifted."""
        self.advance(mono_us)
        if not self._proven:
            self._doubt_us[unproven] = self._doubt_us.get(unproven, 0) + self._pending_us
            self._pending_us = 0
        self._proven = False
        if self._word is None or self._word is Verdict.EXCEEDED:  # else a dry probe has spoken since
            self._word = Verdict.NOT_EVALUABLE

    def claim_doubt(self) -> None:
        """The suspected track has spoken: what was in doubt is suspected."""
        self._spent_us[Verdict.SUSPECTED] += sum(self._doubt_us.values())
        self._doubt_us.clear()

    def lift_doubt(self) -> None:
        """The suspected track is over without a word: what was in doubt is what it was."""
        for verdict, spent_us in self._doubt_us.items():
            self._spent_us[verdict] += spent_us
        self._doubt_us.clear()

    def report(self, mono_us: int) -> dict[Verdict, int]:
        """Microseconds by verdict up to a moment; a run not yet settled counts as not evaluable."""
        self.advance(mono_us)
        spent_us = dict(self._spent_us)
        for verdict, doubt_us in self._doubt_us.items():
            spent_us[verdict] += doubt_us
        spent_us[Verdict.NOT_EVALUABLE] += self._pending_us
        return spent_us
