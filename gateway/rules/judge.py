"""What every rule at work looks like to the pipeline, whatever it judges."""

from collections.abc import Mapping
from typing import Any, Protocol

from gateway.model import Condition, Finding, Instant, Reading, Resume, Verdict
from gateway.rules.track import Run
from gateway.site import Rule

__all__ = ["Account", "Judge"]


class Account(Protocol):
    """Where one rule's time went."""

    def report(self, mono_us: int) -> dict[Verdict, int]:
        """Microseconds by verdict from the start to a moment; they sum to the period."""
        ...


class Judge(Protocol):
    """One rule on one channel. Single-threaded; moments never go back on the monotonic axis.

    Findings come in order of time, each stamped at the sample or deadline that settled it.
    """

    rule: Rule
    channel: str

    @property
    def quiet(self) -> bool:
        """Whether the latest reading, like the one before it, left nothing under way and the stance as it was.

        Then nobody need ask. False is always allowed.
        """
        ...

    @property
    def seconds(self) -> Account:
        """Where the rule's time went."""
        ...

    @property
    def deadline_us(self) -> int:
        """The monotonic moment past which time alone changes this rule's mind."""
        ...

    @property
    def active(self) -> bool:
        """Whether something is under way that a restart must not forget, and that every poll should commit."""
        ...

    @property
    def stance(self) -> object:
        """The loudest thing the rule can say; a change of it is what the alarm engine must hear of."""
        ...

    def begin(self, start: Instant) -> list[Finding]:
        """What there is to say before the first sample."""
        ...

    def judge(self, reading: Reading, evidence: int, *, discharging: bool) -> list[Finding]:
        """Take the channel's next reading."""
        ...

    def tick(self, now: Instant) -> list[Finding]:
        """Discover what elapsed time alone has changed."""
        ...

    def condition(self) -> Condition:
        """The stance in full."""
        ...

    def open_since(self) -> Run | None:
        """The proven run still under way, if there is one."""
        ...

    def state(self) -> dict[str, Any] | None:
        """What a restart needs, JSON-able; None when there is nothing."""
        ...

    def restore(self, state: Mapping[str, Any], resume: Resume) -> list[Finding]:
        """Bring the state back; findings say what could not be carried over."""
        ...
