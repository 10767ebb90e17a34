"""One rule on one channel: the run of samples that exceed, from the first of them to the proof and to the end.

Two tracks (docs/judging.md 4). The *proven* run sees valid samples only; it ends at the first valid sample within the
limit, or when more than the maximum hold passes without one, and credits no time before its first or after its last
exceeding sample. The *suspected* track also sees doubtful samples and bridges short gaps and dips: never evidence.
Limit rules prove by a count of consecutive samples, slug rules by a duration: `limit.py` and `slug.py` say which.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from gateway.model import Condition, Finding, FindingEvent, Instant, Reading, Resume, Severity, Verdict
from gateway.rules.baseline import Baselines
from gateway.rules.comparison import Comparison
from gateway.rules.finding import Record
from gateway.rules.metering import Meter, Water, weighs
from gateway.rules.seconds import RuleSeconds
from gateway.rules.stance import Heard, Stance, condition_of
from gateway.rules.threshold import Threshold
from gateway.rules.track import Run, SuspectedTrack, instant_from, instant_state, moment
from gateway.signals.qc import BETWEEN, Evidence, evidence_beyond
from gateway.site import Channel, Rule

__all__ = ["ExceedanceRule", "Stance"]

_NE, _CLEARED, _CUT = Verdict.NOT_EVALUABLE, FindingEvent.CLEARED, FindingEvent.INTERRUPTED


class ExceedanceRule(ABC):
    """Judges one channel against one threshold, sample by sample. Single-threaded; time comes with the samples.

    `limit` is the threshold in `rule.unit`, None while no baseline is in force: then nothing is evaluable. It moves
    with the baseline and with the rule's terms; no run outlives a change of terms.
    """

    unproven: Verdict
    """What the time of a run was, when it ended within the limit before its proof."""

    def __init__(self, rule: Rule, channel: Channel, hashes: Mapping[str, str], start: Instant) -> None:
        self.rule = rule
        self.channel = channel.name
        self.hold_us = channel.hold_us
        self.threshold = Threshold(rule, channel, start)
        self.limit = self.threshold.limit
        self.seconds = RuleSeconds(channel.hold_us, start.mono_us)
        self._record = Record(rule, self.threshold, hashes)
        self._weighs = weighs(channel, rule.unit)
        self._compare = Comparison(rule, channel)
        self._upward = self._compare.upward
        self._full_scale = self.threshold.full_scale
        self._moves = self.threshold.moves
        self._run: Run | None = None
        self._water: Water | None = None  # the run's
        self._suspected = SuspectedTrack(channel.hold_us, rule.bridge_gap_us, rule.bridge_dip_us)
        self._heard = Heard(start)
        self._said = ""  # why there is no limit, as last said
        self._margin: float | None = None
        self._loudest: Finding | None = None  # the finding behind the present condition
        self.quiet = False

    @abstractmethod
    def proves(self, duration_us: int, count: int) -> bool:
        """Whether `count` exceeding samples, the last `duration_us` after the first, are an exceedance."""

    @abstractmethod
    def proof(self) -> str:
        """The proof in words, for the record and the text."""

    def follow(self, baselines: Baselines, now: Instant) -> None:
        """Take the threshold from these baselines, and put all three into every finding. Call before `restore`.

        Their ledger must have been advanced to a reading's moment before `judge` sees the reading.
        """
        self.threshold.follow(baselines, now)
        self.limit = self.threshold.limit
        self._moves = self.threshold.moves

    def measure(self, volume: Callable[[int], int], valid_us: Callable[[int], int]) -> None:
        """Put the water of an event into its findings, and its load: a flow ledger's `volume` and `valid_us`."""
        self._record.meter = Meter(volume, valid_us, self._weighs)

    @property
    def deadline_us(self) -> int:
        """The monotonic moment past which time alone changes this rule's mind; far away once it has."""
        due_us = self._heard.due_us(self.hold_us, running=self._run is not None)
        if self._moves and self.active:
            word = self._heard.word
            due_us = min(due_us, word.mono_us + self.threshold.ruling.until_utc_us - word.utc_us)
        return due_us

    @property
    def active(self) -> bool:
        """Whether a run is under way on either track: state worth keeping over a restart."""
        return self._run is not None or self._suspected.since is not None

    def begin(self, start: Instant) -> list[Finding]:
        """What there is to say before the first sample: nothing, unless no baseline is in force."""
        findings: list[Finding] = []
        self._adopt(start, findings)
        return findings

    def judge(self, reading: Reading, evidence: int, *, discharging: bool) -> list[Finding]:
        """Take the channel's next reading. Deadlines that passed before it are settled first, at their own moment.

        `discharging` False turns compliance into no discharge. Returns the findings in order of time.
        """
        at = reading.at
        heard = self._heard
        findings: list[Finding] = []
        idle = self._run is None and self._suspected.since is None
        # A rule with nothing under way has one deadline, the hold after the latest word: cheap to ask at every sample.
        if (not idle or at.mono_us > heard.word.mono_us + self.hold_us) and at.mono_us > self.deadline_us:
            findings = self.tick(at)
        quiet, self.quiet = heard.telling, False
        if self._moves:
            self._amend(at, findings)
            self._rebase(at, findings)
        limit = self.limit
        if limit is None:
            self.seconds.say(_NE, at.mono_us)
            return findings
        if (number := reading.value) is None or evidence == Evidence.VOID:
            if (word := heard.void(reading)) is not None:
                self.seconds.say(word, at.mono_us)
            return findings
        if number >= self._full_scale and self.threshold.saturates(limit):
            self._cannot_tell(Stance.SATURATED, at)
            return findings
        value = self._compare.value(number)
        exceeds = self._compare.beyond(number, limit)
        evidence = evidence_beyond(reading, evidence) if exceeds else evidence
        idle = self._run is None and self._suspected.since is None
        if idle and exceeds:
            self.threshold.look(at)  # an event begins: what stands now is what its findings say
        if evidence == Evidence.VALID:
            heard.value(at)
            self._margin = limit - value if self._upward else value - limit
            if exceeds:
                self._exceeding(value, at, findings, between=BETWEEN in reading.tests)
            elif idle:
                self.seconds.say(Verdict.COMPLIANT if discharging else Verdict.NO_DISCHARGE, at.mono_us)
                self.quiet = quiet and not findings
                return findings
            else:
                self._within(value, at, findings, discharging=discharging)
        else:
            heard.unusable(reading, "doubtful")
        if exceeds and self._run is None:
            self.seconds.doubtful(at.mono_us)
        if exceeds or self.active:
            self._suspect(value, at, findings, exceeds=exceeds, between=BETWEEN in reading.tests)
        return findings

    def _amend(self, now: Instant, findings: list[Finding]) -> None:
        """Terms that began or ended since the last look, each at its own moment: what ran under the old limit is over.

        A clock set back puts the earlier terms in force again, from now on.
        """
        ruling = self.threshold.ruling
        while not ruling.from_utc_us <= now.utc_us < ruling.until_utc_us:
            forward = now.utc_us >= ruling.until_utc_us
            edge = self._heard.edge(now, ruling.until_utc_us) if forward else now
            findings += self._silence(edge)
            run = self.open_since()
            closing = None if run is None else self._record.of_run(_CLEARED, _NE, run, edge, "", water=self._water)
            changed_by = self.threshold.amended(edge.utc_us)
            ruling = self.threshold.ruling
            if not changed_by:
                continue
            if closing is not None:
                self._loudest = replace(closing, reason=f"limit changed by {changed_by}")
                findings.append(self._loudest)
            self._end_event(edge)
            self._adopt(edge, findings)

    def _end_event(self, at: Instant) -> None:
        """What was under way on either track is over: the question has changed."""
        if self._run is not None:
            self._run = self._water = None
            self.seconds.end_run(at.mono_us, self.unproven)
        if self._suspected.told:
            self.seconds.claim_doubt()
        self._forget_suspicion()
        if self._heard.telling:
            self._cannot_tell(Stance.CANNOT_TELL, at)  # until the next sample

    def _rebase(self, now: Instant, findings: list[Finding]) -> None:
        """A baseline that moved since the last look; during an event it stays as it was, where the site freezes it."""
        threshold = self.threshold
        if self._suspected.lapsed(now.mono_us):
            self._suspected.forget()
        if not threshold.due(now) or (threshold.freezes and self.active):
            return
        run, verdict = self._run, Verdict.EXCEEDED if self.open_since() else _NE
        closing = None if run is None else self._record.of_run(_CUT, verdict, run, now, "", water=self._water)
        threshold.look(now)
        if closing is not None and threshold.limit is None:
            self._loudest = replace(closing, reason=f"interrupted: {threshold.reason}")
            findings.append(self._loudest)
            self._said = threshold.reason
            self._run = self._water = None
            self.seconds.end_run(now.mono_us, _NE)
        self._adopt(now, findings)

    def _adopt(self, at: Instant, findings: list[Finding]) -> None:
        """Judge by the threshold as it stands from here on; that there is none is said once for each reason."""
        threshold, heard = self.threshold, self._heard
        had, self.limit = self.limit, threshold.limit
        if self.limit is not None:
            self._said = ""
            if had is None:
                heard.word, heard.silent = at, False
            return
        because = threshold.reason
        if because != self._said:
            findings.append(self._record(FindingEvent.NOT_EVALUABLE, _NE, at, at, 0, because))
        self._said = because
        self._forget_suspicion()
        heard.silent = True
        self._cannot_tell(threshold.stance, at, because)

    def _cannot_tell(self, stance: Stance, at: Instant, because: str = "") -> None:
        """From this sample on nobody can tell, until the next word."""
        self._heard.nothing(stance, because)
        self.seconds.say(_NE, at.mono_us)

    def _exceeding(self, value: float, at: Instant, findings: list[Finding], *, between: bool) -> None:
        run, meter = self._run, self._record.meter
        if run is None and between:  # it is no step of a proof (decision 0011)
            return
        if run is None:
            run = self._run = Run(at, value)
            self._water = None if meter is None else Water.begin(meter, at.mono_us, value)
        elif between:
            run.glimpse(value, upward=self._upward)
        else:
            run.extend(value, at, upward=self._upward)
            if meter is not None and self._water is not None:
                self._water.add(meter, at.mono_us, value)
        self.seconds.exceeding(at.mono_us)
        if run.proven or between:
            return
        if self.proves(run.duration_us, run.count):
            run.proven = True
            self._suspected.told = True
            self.seconds.prove()
            reason = self.proof() + self._record.caveats(value)
            findings.append(self._tell(FindingEvent.RAISED, Verdict.EXCEEDED, run, at, reason))
            return
        # Each pre-alarm once per run: the only moment at which there is time to act (docs/judging.md 4.12).
        steps_us = self.rule.prealarms_us
        while run.prealarms < len(steps_us) and run.duration_us >= steps_us[run.prealarms]:
            reason = self._record.warning(steps_us[run.prealarms])
            run.prealarms += 1
            findings.append(self._tell(FindingEvent.PREALARM, Verdict.SUSPECTED, run, at, reason))

    def _within(self, value: float, at: Instant, findings: list[Finding], *, discharging: bool) -> None:
        if (run := self._run) is not None:
            self.seconds.end_run(at.mono_us, self.unproven)
            if run.proven:
                findings.append(self._tell(_CLEARED, Verdict.COMPLIANT, run, at, "back within the limit", value))
            self._run = self._water = None
        self.seconds.say(Verdict.COMPLIANT if discharging else Verdict.NO_DISCHARGE, at.mono_us)

    def _suspect(self, value: float, at: Instant, findings: list[Finding], *, exceeds: bool, between: bool) -> None:
        """Feed the suspected track; it speaks once, and never when the proven run has spoken."""
        track = self._suspected
        (track.glimpse if between else track.see)(value, at, exceeds=exceeds, upward=self._upward)
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
        if exceeds and not between and self.proves(duration_us, track.count):
            track.told = True
            self.seconds.claim_doubt()
            told = FindingEvent.SUSPECTED, Verdict.SUSPECTED, since, at, duration_us, track.reason()
            self._loudest = self._record(*told, value, track.extreme)
            findings.append(self._loudest)

    def _forget_suspicion(self) -> None:
        self._suspected.forget()
        self._suspected.ended()
        self.seconds.lift_doubt()

    def tick(self, now: Instant) -> list[Finding]:
        """Discover what elapsed time alone has changed, each change at its own moment."""
        findings: list[Finding] = []
        if self._moves:
            self._amend(now, findings)
        return findings + self._silence(now)

    def _silence(self, now: Instant) -> list[Finding]:
        """Discover that the maximum hold has passed; each silence is said once, stamped at its own deadline."""
        findings: list[Finding] = []
        heard, run = self._heard, self._run
        reason = f"no valid sample for {self.hold_us / 1e6:g} s ({heard.because})"
        if run is not None and now.mono_us > heard.valid.mono_us + self.hold_us:
            deadline = moment(now, heard.valid.mono_us + self.hold_us)
            heard.telling = False
            self.seconds.end_run(deadline.mono_us, _NE)
            if run.proven:
                self._suspected.told = False  # bridged, it is suspected again; only a new proof makes it exceeded
            verdict = Verdict.EXCEEDED if run.proven else _NE
            findings.append(self._tell(_CUT, verdict, run, deadline, f"interrupted: {reason}"))
            self._run = self._water = None
        if self._suspected.stale(now.mono_us):
            self._forget_suspicion()
        if not heard.silent and now.mono_us > heard.word.mono_us + self.hold_us:
            heard.hush()
            if run is None and self.limit is not None:
                deadline = moment(now, heard.word.mono_us + self.hold_us)
                findings.append(self._record(FindingEvent.NOT_EVALUABLE, _NE, heard.word, deadline, 0, reason))
        return findings

    @property
    def stance(self) -> Stance:
        """The loudest thing this rule can say now."""
        run = self._run
        if run is not None and run.proven:
            return Stance.EXCEEDED
        if self._suspected.told:
            return Stance.SUSPECTED
        if run is not None:
            return Stance.PREALARM if run.prealarms else Stance.UNPROVEN
        return self._heard.stance

    def condition(self) -> Condition:
        """The stance in full, for the alarm engine; a suspended rule is recorded and calls nobody."""
        severity = Severity.NOTICE if self.threshold.ruling.suspended else self.rule.severity
        reasons = {Stance.EXCEEDED: self.proof, Stance.SUSPECTED: self._suspected.reason}
        reason = reasons.get(stance := self.stance, self._heard.words)()
        return condition_of(self.rule.alarm, stance, severity, reason, self._margin, self._loudest)

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
            "last_valid": instant_state(self._heard.valid),
            **self.threshold.state(self._heard.word.utc_us),
            "water": None if self._water is None else self._water.state(),
        }

    def restore(self, state: Mapping[str, Any], resume: Resume) -> list[Finding]:
        """Carry a run over a restart: both tracks resume by their own stamps, so the absence is a gap like any other.

        When nobody can tell how long the gateway was away, or the threshold is no longer the same, the run is
        recorded as interrupted and a new one must prove itself.
        """
        last_valid = instant_from(state["last_valid"], resume)
        if last_valid is not None and self.threshold.restore(state, resume.now):
            self.limit = self.threshold.limit
            self._heard.resumed(last_valid)
            self._suspected.restore(state["suspected"], resume)
            if state["run"] is not None:
                self._run = run = Run.from_state(state["run"], resume)
                water = state.get("water")
                self._water = None if run is None or water is None else Water(*water)
                if run is not None and (run.proven or run.prealarms):
                    event = FindingEvent.RAISED if run.proven else FindingEvent.PREALARM
                    self._tell(event, Verdict.EXCEEDED, run, run.last, self.proof())
            return []
        self.forget(resume)
        lost = None if state["run"] is None else Run.from_state(state["run"], Resume(resume.now, 0))
        if lost is None:
            return []
        because = "the threshold changed" if last_valid is not None else "nobody can tell for how long"
        return [self._tell(_CUT, _NE, lost, resume.now, f"interrupted: the gateway was down; {because}")]

    def forget(self, resume: Resume) -> None:
        """Start afresh at a restart: what was stored cannot be used."""
        self.threshold.forget(resume.now)
        self.limit = self.threshold.limit
        self._run = self._water = None
        self._suspected.forget()
        self._heard.valid = self._heard.word = resume.now

    def _tell(
        self, event: FindingEvent, verdict: Verdict, run: Run, at: Instant, reason: str, observed: float | None = None
    ) -> Finding:
        """A finding about the run, which is what the condition now rests on."""
        self._loudest = self._record.of_run(event, verdict, run, at, reason, observed=observed, water=self._water)
        return self._loudest
