"""The error tree: each class says what happens next.

::

    GatewayError
    ├─ ConfigError          all problems at once, each with its path; exit 78, systemd must not restart
    ├─ InputError           a data file that cannot be read as promised; exit 66, nothing half-done
    ├─ DriverError
    │  ├─ BusDown           port or socket gone: its channels MISSING, reconnect with capped, jittered backoff
    │  ├─ DeviceSilent      timeout or CRC: drain the line, this device's channels MISSING, next device
    │  ├─ BadReply          wrong function, unit, count or shape: drain, treat as DeviceSilent, count it
    │  ├─ DeviceFault       valid answer saying "I am ill" (exceptions 4, 5, 6): FAIL, go on
    │  └─ NoSuchRegister    exceptions 1 to 3: that register FAILs alone and says "configuration"
    ├─ DeliveryError
    │  ├─ TryLater          keep; optional not-before
    │  │  └─ InDoubt        it may have gone out: ask what became of it, else send again marked as a repeat
    │  └─ Refused           parked with the reason, counted, alarmed; never retried for ever
    └─ StoreError
       ├─ NotOurs           the journal of another gateway, site or product: do not start, leave it as it is
       ├─ DiskFull          notify anyway, shed in the stated order
       └─ Corrupt           notify anyway, quarantine the file and start a new one

For example: a USB adapter pulled out is BusDown; a probe with a cut cable is DeviceSilent; a late answer to an earlier
request is BadReply; an analyser answering "server device busy" is DeviceFault; a wrong register number is
NoSuchRegister.
"""

from collections.abc import Sequence
from dataclasses import dataclass

__all__ = [
    "GatewayError", "Problem", "ConfigError", "InputError", "DriverError", "BusDown", "DeviceSilent", "BadReply",
    "DeviceFault", "NoSuchRegister", "DeliveryError", "TryLater", "InDoubt", "Refused", "StoreError", "NotOurs",
    "DiskFull", "Corrupt",
]  # fmt: skip


class GatewayError(Exception):
    """Root of everything this product raises on purpose."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake in a configuration file: where it is and what is wrong with it."""

    file: str
    path: str  # dotted key, e.g. "channels.ph.poll"
    line: int | None
    text: str

    def __str__(self) -> str:
        where = f"{self.file}:{self.line}" if self.line else self.file
        return f"{where}: {self.path}: {self.text}" if self.path else f"{where}: {self.text}"


class ConfigError(GatewayError):
    """The site file cannot be used. Carries every problem found, so one `check` shows them all."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(str(p) for p in self.problems))


class InputError(GatewayError):
    """A data file is absent or malformed. The message names file and line; nothing was half-done."""


class DriverError(GatewayError):
    """A poll failed. The subclass says what the bus does next."""


class BusDown(DriverError):
    """Port or socket gone: its channels are MISSING; reconnect with capped, jittered backoff."""


class DeviceSilent(DriverError):
    """No answer in time, or one that failed its check sum: drain the line and go on with the next device."""


class BadReply(DriverError):
    """An answer of the wrong function, unit, count or shape: drain, treat as silence, count it."""


class DeviceFault(DriverError):
    """A valid answer that says the device is ill (exceptions 4, 5, 6): FAIL, go on."""

    def __init__(self, message: str, code: int = 0) -> None:
        self.code = code
        super().__init__(message)


class NoSuchRegister(DriverError):
    """Exceptions 1 to 3: a question of configuration. Split the block; one bad register fails alone."""

    def __init__(self, message: str, code: int = 0) -> None:
        self.code = code
        super().__init__(message)


class DeliveryError(GatewayError):
    """A sink or a notifier did not take a record."""


class TryLater(DeliveryError):
    """Keep the record and try again, not before `not_before_s` seconds from now when given."""

    def __init__(self, message: str, not_before_s: float | None = None) -> None:
        self.not_before_s = not_before_s
        super().__init__(message)


class InDoubt(TryLater):
    """Nobody can say whether it went out: ask before it goes again, and mark a repeat as one."""


class Refused(DeliveryError):
    """The other side will never take this record: park it with the reason, count it, alarm, go on."""


class StoreError(GatewayError):
    """The journal could not take a commit. Alarms still go out, marked "not recorded"."""


class NotOurs(StoreError):
    """The journal of another gateway, site, product or release: a gateway that meets it at its start does not run."""


class DiskFull(StoreError):
    """No room: shed in the stated order, never the events."""


class Corrupt(StoreError):
    """The file is not a sound database: quarantine it, start a new one, say so."""
