"""One way to a person: what every notifier offers, whatever carries the text."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from gateway.site import Contact

__all__ = ["Fate", "Inbound", "Notifier", "PathHealth", "Receipt"]


@dataclass(frozen=True, slots=True)
class Receipt:
    """The provider took the text. `delivered` is True only when it knows that the person's phone has it."""

    provider_ref: str = ""
    delivered: bool = False


class Fate(StrEnum):
    """What became of a text that was handed over, as far as the path can tell."""

    UNKNOWN = "unknown"  # the path keeps no account, or cannot be asked now
    ABSENT = "absent"  # it was never handed over: nothing by that name is known there
    PENDING = "pending"  # taken, on its way
    DELIVERED = "delivered"
    FAILED = "failed"  # taken, and given up


@dataclass(frozen=True, slots=True)
class Inbound:
    """A text that somebody sent to the station. `key` is the same however often the path shows it."""

    key: str
    sender: str
    text: str
    at_utc_us: int | None = None


@dataclass(frozen=True, slots=True)
class PathHealth:
    """Whether texts can go out this way now, why not, and what the path says of itself (signal, network, balance)."""

    usable: bool
    why: str = ""
    facts: Mapping[str, str | float] = field(default_factory=dict)


class Notifier:
    """One way to a person. Called from the event loop; may be called for several people at once.

    Only `send` must be there: a path that keeps no account and brings no replies leaves the rest as it is.
    """

    async def send(self, contact: Contact, text: str, dedupe_key: str) -> Receipt:
        """Hand over one text. Raises TryLater, InDoubt when nobody can say whether it went out, or Refused for good."""
        raise NotImplementedError

    async def fate(self, contact: Contact, text: str, dedupe_key: str, provider_ref: str) -> Fate:
        """What became of a text; `provider_ref` is empty when the answer to `send` was lost."""
        return Fate.UNKNOWN

    async def inbound(self) -> tuple[Inbound, ...]:
        """What people have sent, oldest first; shown again until `settle`d. Raises TryLater."""
        return ()

    async def settle(self, key: str) -> None:
        """An inbound text is on record here: the path need not keep it."""

    async def health(self) -> PathHealth:
        """Whether texts can go out this way now."""
        return PathHealth(usable=True)

    async def close(self) -> None:
        """Let go of connections; harmless when there are none."""
