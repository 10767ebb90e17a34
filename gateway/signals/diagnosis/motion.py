"""Whether the discharge moved: the flow's minutes, and where there is no flow of its own, those of the other probes."""

from collections.abc import Mapping
from typing import Any

from gateway.signals.diagnosis.frame import Minute
from gateway.site import Site

__all__ = ["Motion", "witnesses_of_motion"]

# How far a quantity goes before the water has moved, as a share of its largest value or in its own step; ours.
_SHARES = {"flow": 0.2, "conductivity": 0.1}
_STEPS = {"pH": 0.2, "temperature": 1.0}


class Motion:
    """The lowest and highest minute of each witness since `begin`. A value below its `wet_at` is no discharge."""

    __slots__ = ("_kinds", "_spans", "_wet_at", "seen")

    def __init__(self, kinds: Mapping[str, str], wet_at: Mapping[str, float]) -> None:
        self._kinds = kinds
        self._wet_at = wet_at
        self._spans: dict[str, tuple[float, float]] = {}
        self.seen = False

    @property
    def channels(self) -> list[str]:
        """The channels it listens to."""
        return list(self._kinds)

    def begin(self) -> None:
        """From now on."""
        self._spans.clear()
        self.seen = False

    def minute(self, channel: str, minute: Minute) -> None:
        """Take a minute of a channel; one that is no witness is passed over."""
        kind, mean = self._kinds.get(channel), minute.mean
        if kind is None or mean < self._wet_at.get(channel, mean):
            return
        low, high = self._spans.get(channel, (mean, mean))
        low, high = min(low, mean), max(high, mean)
        self._spans[channel] = (low, high)
        share = _SHARES.get(kind)
        enough = _STEPS[kind] if share is None else share * max(abs(low), abs(high))
        self.seen = self.seen or (high > low and high - low >= enough)

    def state(self) -> Any:
        """What was seen so far."""
        return {"spans": {name: list(span) for name, span in self._spans.items()}, "seen": self.seen}

    def restore(self, state: Any) -> None:
        """Bring it back."""
        self._spans = {str(name): (float(low), float(high)) for name, (low, high) in state["spans"].items()}
        self.seen = bool(state["seen"])


def witnesses_of_motion(site: Site, but: str) -> Motion:
    """The flows that `but` has no part in; without one, every other probe whose motion is known by size."""
    own = site.channels[but]
    flows = {
        name: "flow"
        for name, channel in site.channels.items()
        if channel.quantity == "flow" and but not in (name, channel.derived_from)
    }
    others = {
        name: channel.quantity
        for name, channel in site.channels.items()
        if name != but
        and channel.quantity in ("pH", "temperature", "conductivity")
        # A device that repeats itself repeats all its values.
        and (channel.device is None or channel.device != own.device)
    }
    wet_at = {witness.channel: witness.wet_at for witness in site.discharging.witnesses if witness.channel in flows}
    return Motion(flows or others, wet_at)
