"""What a rule stands for at a moment, what it last heard, and the words for why nobody can tell."""

from enum import Enum

from gateway.model import Condition, Finding, Instant, Mode, Reading, Severity, Verdict
from gateway.signals.qc import DISAGREE

__all__ = ["NEVER_US", "NO_SAMPLE", "Heard", "Stance", "condition_of"]

NEVER_US = 1 << 62
NO_SAMPLE = "no sample"


class Stance(Enum):
    """The loudest thing a rule can say now. From CANNOT_TELL on nobody can tell, and the value is the reason."""

    EXCEEDED = "exceeded"
    SUSPECTED = "suspected"
    PREALARM = "pre-alarm"
    UNPROVEN = "exceeding, not yet proven"
    WITHIN = "within the limit"
    CANNOT_TELL = "cannot tell"  # silence, a failed or a doubtful sensor
    WARM_UP = "warm-up"  # nothing has been heard since the start
    NO_BASELINE = "no baseline"
    COVERAGE = "coverage"  # too little of the time is valid
    CALIBRATING = "calibrating"
    MAINTENANCE = "maintenance"
    CLOCK = "clock"  # a calendar window, and nobody vouches for the clock
    SATURATED = "saturated"  # at full scale, which is not above the threshold
    DRY = "dry"  # no discharge


def _of_mode(mode: Mode) -> Stance:
    """Why a channel that is not in run mode is not judged."""
    return Stance.CALIBRATING if mode is Mode.CALIBRATION else Stance.MAINTENANCE


class Heard:
    """What a rule last heard of its channel. `valid` is the latest valid sample, `word` the latest valid or dry one."""

    __slots__ = ("_blind", "because", "silent", "telling", "valid", "word")

    def __init__(self, start: Instant) -> None:
        self.valid = start
        self.word = start
        self.silent = False  # the hold has passed without a word, and that was said
        self.telling = False  # the latest word was a valid sample: a condition may be called normal
        self.because = Stance.WARM_UP.value  # why nobody can tell, in words
        self._blind = Stance.WARM_UP

    def value(self, at: Instant) -> None:
        """A valid sample."""
        self.valid = self.word = at
        self.silent = False
        self.telling = True
        self.because = NO_SAMPLE

    def void(self, reading: Reading) -> Verdict | None:
        """A reading that says nothing about the limit; a technician at work or a dry probe says so for the account."""
        if reading.mode is not Mode.RUN:
            self.nothing(_of_mode(reading.mode))
            return Verdict.NOT_EVALUABLE
        if reading.dry and DISAGREE not in reading.tests:
            self.word = reading.at
            self.silent = False
            self.nothing(Stance.DRY, "dry, no discharge")
            return Verdict.NO_DISCHARGE
        self.unusable(reading, NO_SAMPLE)
        return None

    def unusable(self, reading: Reading, otherwise: str) -> None:
        """A sample that is no word: what was last heard holds on."""
        self._blind, self.because = Stance.CANNOT_TELL, reading.tests[0] if reading.tests else otherwise

    def nothing(self, stance: Stance, because: str = "") -> None:
        """From here on nobody can tell."""
        self._blind, self.because = stance, because or stance.value
        self.telling = False

    def hush(self) -> None:
        """The hold has passed."""
        self.silent = True
        self.telling = False

    def resumed(self, last_valid: Instant) -> None:
        """After a restart: nothing was heard since."""
        self.valid = self.word = last_valid
        self.because = "the gateway was down"

    def words(self) -> str:
        """Why nobody can tell."""
        return self.because

    def edge(self, now: Instant, utc_us: int) -> Instant:
        """When a past moment of UTC was; one that a clock step jumped over comes right after the latest word."""
        mono_us = now.mono_us - (now.utc_us - utc_us)
        return Instant(utc_us, min(max(mono_us, self.valid.mono_us, self.word.mono_us), now.mono_us), now.synced)

    def due_us(self, hold_us: int, *, running: bool) -> int:
        """The monotonic moment past which silence says something; a run needs valid samples."""
        due_us = NEVER_US if self.silent else self.word.mono_us + hold_us
        return min(due_us, self.valid.mono_us + hold_us) if running else due_us

    @property
    def stance(self) -> Stance:
        """Within the limit, or why nobody can tell."""
        return Stance.WITHIN if self.telling else (self._blind if self.because != NO_SAMPLE else Stance.CANNOT_TELL)


def condition_of(
    alarm: str, stance: Stance, severity: Severity, reason: str, margin: float | None, loudest: Finding | None
) -> Condition:
    """A stance in full, for the alarm engine. An unproven exceedance neither raises nor clears."""
    match stance:
        case Stance.EXCEEDED:
            return Condition(alarm, True, severity, reason, None, loudest)
        case Stance.SUSPECTED:
            return Condition(alarm, True, min(Severity.WARNING, severity), reason, None, loudest)
        case Stance.PREALARM:
            return Condition(alarm, True, Severity.NOTICE, stance.value, None, loudest)
        case Stance.UNPROVEN:
            return Condition(alarm, None, Severity.NOTICE, stance.value)
        case Stance.WITHIN:
            return Condition(alarm, False, Severity.NOTICE, stance.value, margin, loudest)
        case _:
            return Condition(alarm, None, Severity.NOTICE, f"cannot tell ({reason})")
