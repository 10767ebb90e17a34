"""One rule on one channel: the run of samples that exceed, from the first of them to the proof and to the end.

Two tracks (ordinances 1.3.3). The *proven* run sees valid samples only; it ends at the first valid sample within the
limit, or when more than the maximum hold passes without one, and credits no time before its first or after its last
exceeding sample. The *suspected* track also sees doubtful samples and bridges short gaps and dips: never evidence.

Limit rules prove by a count of consecutive samples, slug rules by a duration: `limit.py` and `slug.py` say which.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from enum import Enum
from operator import ge, gt, le, lt
from typing import Any

from gateway.model import Condition, Finding, FindingEvent, Instant, Mode, Reading, Resume, Severity, Verdict
from gateway.rules.seconds import RuleSeconds
from gateway.rules.track import Run, SuspectedTrack, instant_from, instant_state
from gateway.signals.qc import DISAGREE, Evidence
from gateway.site import Channel, Rule

__all__ = ["ExceedanceRule", "Stance"]

_COMPARE = {">": gt, ">=": ge, "<": lt, "<=": le}
_NEVER_US = 1 << 62


class Stance(Enum):
    """What a rule stands for at a moment."""

    EXCEEDED = "exceeded"
    SUSPECTED = "suspected"
    PREALARM = "pre-alarm"
    UNPROVEN = "exceeding, not yet proven"
    WITHIN = "within the limit"
    CANNOT_TELL = "cannot tell"


class ExceedanceRule(ABC):
    """Judges one channel against one threshold, sample by sample. Single-threaded; time comes with the samples.

    `limit` is the threshold in `rule.unit`, None while no baseline is in force: then nothing is evaluable.
    """

    unproven: Verdict
    """What the time of a run was, when it ended within the limit before its proof."""

    def __init__(self, rule: Rule, channel: Channel, hashes: Mapping[str, str], start: Instant) -> None:
        self.rule = rule
        self.channel = channel.name
        self.hold_us = channel.hold_us
        self.baseline = rule.baseline.value if rule.baseline is not None else None
        self.limit = _threshold(rule, self.baseline)
        self.seconds = RuleSeconds(channel.hold_us, start.mono_us)
        self._hashes = hashes
        self._exceeds = _COMPARE[rule.comparison]
        self._upward = rule.comparison in (">", ">=")
        self._to_unit = rule.to_unit
        self._plain = rule.to_unit.is_identity
        self._run: Run | None = None
        self._suspected = SuspectedTrack(channel.hold_us, rule.bridge_gap_us, rule.bridge_dip_us)
        self._last_valid = start
        self._last_word = start  # valid or dry: somebody could tell
        self._silent = False  # the hold has passed without a word, and that was said
        self._telling = False  # the latest word was a valid sample: a condition may be called normal
        self._void_because = "no sample"
        self._margin: float | None = None
        self._loudest: Finding | None = None  # the finding behind the present condition

    @abstractmethod
    def proves(self, duration_us: int, count: int) -> bool:
        """Whether `count` exceeding samples, the last `duration_us` after the first, are an exceedance."""

    @abstractmethod
    def proof(self) -> str:
        """The proof in words, for the record and the text."""

    @property
    def deadline_us(self) -> int:
        """The monotonic moment past which silence changes this rule's mind; far away once it has."""
        word_us = _NEVER_US if self._silent else self._last_word.mono_us + self.hold_us
        return word_us if self._run is None else min(word_us, self._last_valid.mono_us + self.hold_us)

    @property
    def active(self) -> bool:
        """Whether a run is under way on either track: state worth keeping over a restart."""
        return self._run is not None or self._suspected.since is not None

    def begin(self, start: Instant) -> list[Finding]:
        """What there is to say before the first sample: nothing, unless no baseline is in force."""
        if self.limit is not None:
            return []
        self._silent = True
        return [self._finding(FindingEvent.NOT_EVALUABLE, Verdict.NOT_EVALUABLE, start, start, 0, "no baseline")]

    def judge(self, reading: Reading, evidence: int, *, discharging: bool) -> list[Finding]:
        """Take the channel's next reading. Deadlines that passed before it are settled first, at their own moment.

        `discharging` False turns compliance into no discharge. Returns the findings in order of time.
        """
        at = reading.at
        findings = self.tick(at) if at.mono_us > self.deadline_us else []
        limit = self.limit
        if limit is None:
            self.seconds.say(Verdict.NOT_EVALUABLE, at.mono_us)
            return findings
        number = reading.value
        if evidence == Evidence.VOID or number is None:
            self._void(reading)
            return findings
        value = number if self._plain else self._to_unit(number)
        exceeds = self._exceeds(value, limit)
        if evidence == Evidence.VALID:
            self._last_valid = self._last_word = at
            self._silent = False
            self._telling = True
            self._margin = limit - value if self._upward else value - limit
            if exceeds:
                self._exceeding(value, at, findings)
            elif self._run is None and not self.active:
                self.seconds.say(Verdict.COMPLIANT if discharging else Verdict.NO_DISCHARGE, at.mono_us)
                return findings
            else:
                self._within(value, at, findings, discharging=discharging)
        else:
            self._void_because = reading.tests[0] if reading.tests else "doubtful"
        if exceeds or self.active:
            self._suspect(value, at, findings, exceeds=exceeds)
        return findings

    def _void(self, reading: Reading) -> None:
        """A reading that says nothing about the limit; a dry probe or a technician at work says so for the account."""
        if reading.mode is not Mode.RUN:
            self._void_because = reading.mode.value
            self._telling = False
            self.seconds.say(Verdict.NOT_EVALUABLE, reading.at.mono_us)
        elif reading.dry and DISAGREE not in reading.tests:
            self._void_because = "no discharge"
            self._telling = False
            self._last_word = reading.at
            self._silent = False
            self.seconds.say(Verdict.NO_DISCHARGE, reading.at.mono_us)
        else:
            self._void_because = reading.tests[0] if reading.tests else "no sample"

    def _exceeding(self, value: float, at: Instant, findings: list[Finding]) -> None:
        run = self._run
        if run is None:
            run = self._run = Run(at, value)
        else:
            run.extend(value, at, upward=self._upward)
        self.seconds.exceeding(at.mono_us)
        if run.proven:
            return
        if self.proves(run.duration_us, run.count):
            run.proven = True
            self._suspected.told = True
            self.seconds.prove()
            reason = self.proof() + self._caveats(value)
            findings.append(self._of_run(FindingEvent.RAISED, Verdict.EXCEEDED, run, at, value, reason))
            return
        # Each pre-alarm once per run: the only moment at which there is time to act (ordinances 1.3.3 j).
        steps_us = self.rule.prealarms_us
        while run.prealarms < len(steps_us) and run.duration_us >= steps_us[run.prealarms]:
            step_us = steps_us[run.prealarms]
            run.prealarms += 1
            left_min = (self.rule.duration_us - step_us) / 60e6
            reason = f"exceeding for {step_us / 60e6:g} min; an exceedance in {left_min:g} min if it goes on"
            findings.append(self._of_run(FindingEvent.PREALARM, Verdict.SUSPECTED, run, at, value, reason))

    def _within(self, value: float, at: Instant, findings: list[Finding], *, discharging: bool) -> None:
        run = self._run
        if run is not None:
            self._run = None
            self.seconds.end_run(at.mono_us, self.unproven)
            if run.proven:
                reason = "back within the limit"
                findings.append(self._of_run(FindingEvent.CLEARED, Verdict.COMPLIANT, run, at, value, reason))
        self.seconds.say(Verdict.COMPLIANT if discharging else Verdict.NO_DISCHARGE, at.mono_us)

    def _suspect(self, value: float, at: Instant, findings: list[Finding], *, exceeds: bool) -> None:
        """Feed the suspected track; it speaks once, and never when the proven run has spoken."""
        track = self._suspected
        track.see(value, at, exceeds=exceeds, upward=self._upward)
        if track.ended():
            self.seconds.lift_doubt()
            if self._run is not None and self._run.proven:
                track.told = True
        since, last = track.since, track.last
        if since is None or last is None:
            return
        if track.told:
            if self._run is None or not self._run.proven:
                self.seconds.claim_doubt()
            return
        duration_us = last.mono_us - since.mono_us
        if exceeds and self.proves(duration_us, track.count):
            track.told = True
            self.seconds.claim_doubt()
            event, verdict = FindingEvent.SUSPECTED, Verdict.SUSPECTED
            finding = self._finding(event, verdict, since, at, duration_us, track.reason(), value, track.extreme)
            self._loudest = finding
            findings.append(finding)

    def tick(self, now: Instant) -> list[Finding]:
        """Discover that the maximum hold has passed; each silence is said once, stamped at its own deadline."""
        findings: list[Finding] = []
        hold = f"{self.hold_us / 1e6:g} s"
        run = self._run
        if run is not None and now.mono_us > self._last_valid.mono_us + self.hold_us:
            deadline = _moment(now, self._last_valid.mono_us + self.hold_us)
            self._run = None
            self._telling = False
            self.seconds.end_run(deadline.mono_us, Verdict.NOT_EVALUABLE)
            if run.proven:
                self._suspected.told = False  # bridged, it is suspected again; only a new proof makes it exceeded
            verdict = Verdict.EXCEEDED if run.proven else Verdict.NOT_EVALUABLE
            reason = f"interrupted: no valid sample for {hold} ({self._void_because})"
            findings.append(self._of_run(FindingEvent.INTERRUPTED, verdict, run, deadline, run.observed, reason))
        if self._suspected.stale(now.mono_us):
            self._suspected.forget()
            self._suspected.ended()
            self.seconds.lift_doubt()
        if not self._silent and now.mono_us > self._last_word.mono_us + self.hold_us:
            self._silent = True
            self._telling = False
            if run is None and self.limit is not None:
                deadline = _moment(now, self._last_word.mono_us + self.hold_us)
                reason = f"no valid sample for {hold} ({self._void_because})"
                event, verdict = FindingEvent.NOT_EVALUABLE, Verdict.NOT_EVALUABLE
                findings.append(self._finding(event, verdict, self._last_word, deadline, 0, reason))
        return findings

    @property
    def stance(self) -> Stance:
        """The loudest thing this rule can say now."""
        run = self._run
        if run is None and self._suspected.since is None:
            return Stance.WITHIN if self._telling else Stance.CANNOT_TELL
        if run is not None and run.proven:
            return Stance.EXCEEDED
        if self._suspected.told:
            return Stance.SUSPECTED
        if run is not None:
            return Stance.PREALARM if run.prealarms else Stance.UNPROVEN
        return Stance.WITHIN if self._telling else Stance.CANNOT_TELL

    def condition(self) -> Condition:
        """The stance in full, for the alarm engine. An unproven exceedance neither raises nor clears."""
        alarm, loudest = self.rule.alarm, self._loudest
        match self.stance:
            case Stance.EXCEEDED:
                return Condition(alarm, True, self.rule.severity, self.proof(), None, loudest)
            case Stance.SUSPECTED:
                severity = min(Severity.WARNING, self.rule.severity)
                return Condition(alarm, True, severity, self._suspected.reason(), None, loudest)
            case Stance.PREALARM:
                return Condition(alarm, True, Severity.NOTICE, "pre-alarm", None, loudest)
            case Stance.UNPROVEN:
                return Condition(alarm, None, Severity.NOTICE, "exceeding, not yet proven")
            case Stance.CANNOT_TELL:
                return Condition(alarm, None, Severity.NOTICE, f"cannot tell ({self._void_because})")
            case Stance.WITHIN:
                return Condition(alarm, False, Severity.NOTICE, "within the limit", self._margin, loudest)

    def open_since(self) -> Run | None:
        """The proven run still under way, if there is one."""
        return self._run if self._run is not None and self._run.proven else None

    def state(self) -> dict[str, Any] | None:
        """What a restart needs, JSON-able; None when no run is under way."""
        if not self.active:
            return None
        return {
            "run": None if self._run is None else self._run.state(),
            "suspected": self._suspected.state(),
            "last_valid": instant_state(self._last_valid),
            "limit": self.limit,
        }

    def restore(self, state: Mapping[str, Any], resume: Resume) -> list[Finding]:
        """Carry a run over a restart: both tracks resume by their own stamps, so the absence is a gap like any other.

        When nobody can tell how long the gateway was away, or the threshold is no longer the same, the run is
        recorded as interrupted and a new one must prove itself.
        """
        last_valid = instant_from(state["last_valid"], resume)
        if last_valid is not None and state["limit"] == self.limit:
            self._last_valid = self._last_word = last_valid
            self._void_because = "the gateway was down"
            self._suspected.restore(state["suspected"], resume)
            if state["run"] is not None:
                self._run = run = Run.from_state(state["run"], resume)
                if run is not None and (run.proven or run.prealarms):
                    event = FindingEvent.RAISED if run.proven else FindingEvent.PREALARM
                    self._of_run(event, Verdict.EXCEEDED, run, run.last, run.observed, self.proof())
            return []
        self.forget(resume)
        lost = None if state["run"] is None else Run.from_state(state["run"], Resume(resume.now, 0))
        if lost is None:
            return []
        because = "the threshold changed" if last_valid is not None else "nobody can tell for how long"
        reason = f"interrupted: the gateway was down; {because}"
        event, verdict = FindingEvent.INTERRUPTED, Verdict.NOT_EVALUABLE
        return [self._of_run(event, verdict, lost, resume.now, lost.observed, reason)]

    def forget(self, resume: Resume) -> None:
        """Start afresh at a restart: what was stored cannot be used."""
        self._run = None
        self._suspected.forget()
        self._last_valid = self._last_word = resume.now

    def _caveats(self, value: float) -> str:
        rule = self.rule
        caveats = ""
        if rule.uncertainty is not None and self.limit is not None and abs(value - self.limit) <= rule.uncertainty:
            caveats += f"; within the sensor's uncertainty of {rule.uncertainty:g} {rule.unit}"
        return caveats + ("; measured by a surrogate" if rule.surrogate else "")

    def _of_run(
        self, event: FindingEvent, verdict: Verdict, run: Run, at: Instant, observed: float | None, reason: str
    ) -> Finding:
        finding = self._finding(event, verdict, run.since, at, run.duration_us, reason, observed, run.extreme)
        self._loudest = finding
        return finding

    def _finding(
        self,
        event: FindingEvent,
        verdict: Verdict,
        since: Instant,
        at: Instant,
        duration_us: int,
        reason: str,
        observed: float | None = None,
        extreme: float | None = None,
    ) -> Finding:
        rule = self.rule
        return Finding(
            event=event,
            rule=rule.id,
            clause=rule.clause,
            channel=self.channel,
            verdict=verdict,
            since=since,
            at=at,
            duration_us=duration_us,
            reason=reason,
            unit=rule.unit,
            observed=observed,
            limit=self.limit,
            baseline=self.baseline,
            extreme=extreme,
            hashes=self._hashes,
        )


def _threshold(rule: Rule, baseline: float | None) -> float | None:
    if rule.factor is None:
        return rule.limit
    return None if baseline is None else rule.factor * baseline


def _moment(now: Instant, mono_us: int) -> Instant:
    """A past moment of this process's axis, with the UTC it had by the present clock."""
    return Instant(now.utc_us - (now.mono_us - mono_us), mono_us, now.synced)
