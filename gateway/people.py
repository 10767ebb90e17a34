"""The people of a site: how each is reached, who is called when, and who hears that the station lives."""

from dataclasses import dataclass

from gateway.model import Severity

__all__ = ["NO_DUTY", "NO_SIGNS", "Contact", "Duty", "DutyStep", "SignsOfLife"]


@dataclass(frozen=True, slots=True)
class Contact:
    """One person who is told. `from_severity` is the least severe alarm that reaches them."""

    id: str
    name: str
    notifiers: tuple[str, ...]
    phone: str = ""
    from_severity: Severity = Severity.WARNING
    language: str = "en"
    email: str = ""
    role: str = ""  # `superintendent`, `operator`, `technician`, `discharger`, `engineer`
    pin: str = ""  # where the PIN is that this person adds to what they text (`gateway.secret`)


@dataclass(frozen=True, slots=True)
class DutyStep:
    """Who is called so long after an alarm, while nobody has acknowledged it. `tell` are ids of contacts."""

    after_us: int
    tell: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Duty:
    """The duty roster: whom an unacknowledged alarm of `from_severity` and above calls, and when.

    After the last step everybody in it is called again every `repeat_us` until somebody acknowledges. While an
    acknowledged one still stands, those who were told are reminded every `reminder_us`; None: never.
    """

    steps: tuple[DutyStep, ...] = ()
    repeat_us: int = 1_800_000_000
    reminder_us: int | None = 3_600_000_000
    from_severity: Severity = Severity.HIGH


NO_DUTY = Duty()


@dataclass(frozen=True, slots=True)
class SignsOfLife:
    """The daily text at `daily_min` minutes after local midnight (None: none), to `tell`; the beat to a watcher."""

    daily_min: int | None = None
    tell: tuple[str, ...] = ()
    ping: str = ""
    ping_every_us: int = 300_000_000


NO_SIGNS = SignsOfLife()
