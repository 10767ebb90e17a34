"""Where things are published: the topics of one site, as text. Pure.

`{root}/{site}/status | meta | telemetry | channel/{name} | alarm/{alarm} | event | health`.
"""

from dataclasses import dataclass

__all__ = ["Topics", "topic_level"]

_PLAIN = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")


def topic_level(name: str) -> str:
    """A name as one topic level: what MQTT forbids or gives a meaning (`/ + # $` NUL) is percent-encoded.

    Different names stay different. ValueError when the name is empty.
    """
    if not name:
        raise ValueError("an empty name cannot be a topic level")
    return "".join(
        letter if letter in _PLAIN else "".join(f"%{byte:02X}" for byte in letter.encode()) for letter in name
    )


@dataclass(frozen=True, slots=True)
class Topics:
    """The topics of one site below one root."""

    root: str
    site: str

    @property
    def base(self) -> str:
        """What every topic of the site begins with."""
        return f"{self.root.strip('/')}/{topic_level(self.site)}"

    @property
    def status(self) -> str:
        """Birth and will, retained."""
        return f"{self.base}/status"

    @property
    def meta(self) -> str:
        """Channels, units, limits and packs in force, retained."""
        return f"{self.base}/meta"

    @property
    def telemetry(self) -> str:
        """Every reading."""
        return f"{self.base}/telemetry"

    @property
    def event(self) -> str:
        """Findings, alarm events, messages and notes as a stream."""
        return f"{self.base}/event"

    @property
    def health(self) -> str:
        """How the gateway itself is, retained."""
        return f"{self.base}/health"

    def channel(self, name: str) -> str:
        """The last live value of one channel, retained."""
        return f"{self.base}/channel/{topic_level(name)}"

    def alarm(self, alarm: str) -> str:
        """The current state of one alarm, retained."""
        return f"{self.base}/alarm/{topic_level(alarm)}"
