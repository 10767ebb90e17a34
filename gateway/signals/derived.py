"""Flow derived from level: a reading of the level becomes a sample of the flow channel (docs/quality.md 3.5)."""

from math import isfinite

from gateway.model import Fault, Quality, Reading, Sample
from gateway.primary import Primary
from gateway.signals.flow import Flow, FlowState, Rating
from gateway.signals.qc import BETWEEN, Evidence, evidence
from gateway.signals.ratings import rating
from gateway.site import Channel
from gateway.units import conversion

__all__ = ["DEPTH_ONLY", "Downstream", "FlowFrom", "SUBMERGED"]

SUBMERGED = "submerged"
"""The test of a flow whose device is drowned from below: it reads high, by nobody knows how much."""

DEPTH_ONLY = "depth_only"
"""Stands beside a flow that rests on depth and an assumed roughness alone, and changes no quality."""

_DOUBTED_FIRST = (FlowState.LEVEL_ONLY, FlowState.DOUBLE_VALUED, FlowState.ABOVE_RANGE)


class FlowFrom:
    """Turns readings of `level` into samples, in gpm, of the derived channel `flow`.

    A head below the rated range keeps its computed flow and is flagged; above it the device is saturated and the flow
    doubtful, and so it is from the crown of the pipe on, or where the `downstream` level drowns the device. A level
    that cannot be believed gives a flow that cannot either. Nothing is corrected. Raises ValueError for an unknown
    device.
    """

    def __init__(self, flow: Channel, level: Channel, downstream: Channel | None = None) -> None:
        if flow.primary is None:
            raise ValueError(f"channel {flow.name}: derived from {level.name} without a primary device")
        self.channel = flow.name
        self._rating = rating(flow.primary)
        self._to_ft = conversion(level.unit, "ft")
        self._crown = level.crown
        self._remark = DEPTH_ONLY if self._rating.depth_only else ""
        self._behind: Downstream | None = None
        if downstream is not None:
            self._behind = Downstream(downstream, flow.primary, self._rating)

    def hear(self, reading: Reading) -> None:
        """Take a reading of the level behind the device."""
        if self._behind is not None:
            self._behind.hear(reading)

    def __call__(self, reading: Reading) -> Sample:
        """The flow's sample for one reading of the level; raw stays the level's registers."""
        at, raw, mode = reading.at, reading.raw, reading.mode
        if reading.value is None or reading.quality is Quality.MISSING:
            return Sample(self.channel, at, raw, None, Fault.NO_SAMPLE, mode=mode)
        level_ft = self._to_ft(reading.value)
        flow = self._rating.flow_gpm(level_ft)
        if reading.quality is Quality.FAIL or not isfinite(flow.gpm):
            return Sample(self.channel, at, raw, None, Fault.DEVICE_FAULT, mode=mode)
        note = self._doubt(reading, flow, level_ft + self._rating.head_offset_ft)
        quality = Quality.SUSPECT if note else Quality.GOOD
        between = BETWEEN in reading.tests
        return Sample(self.channel, at, raw, flow.gpm, None, quality, mode, note, self._remark, between)

    def _doubt(self, reading: Reading, flow: Flow, head_ft: float) -> str:
        """What weakens the flow most, as the test of its reading; empty for nothing."""
        if self._crown is not None and reading.value is not None and reading.value >= self._crown:
            return FlowState.LEVEL_ONLY
        drowned = self._behind is not None and self._behind.drowns(head_ft, reading.at.mono_us)
        if drowned and flow.state is not FlowState.LEVEL_ONLY:
            return SUBMERGED
        if flow.state in _DOUBTED_FIRST:
            return flow.state
        if reading.mode == "run" and evidence(reading) == Evidence.DOUBTFUL:
            return "doubtful_level"
        return "" if flow.state is FlowState.OK else flow.state


class Downstream:
    """The latest level behind the device, as long as it speaks. One that is silent drowns nothing: it has an alarm of
    its own, and without it the flow is as believable as with no second level at all."""

    def __init__(self, channel: Channel, primary: Primary, rated: Rating) -> None:
        self._to_ft = conversion(channel.unit, "ft")
        self._offset_ft = primary.downstream_offset_ft
        self._limit = rated.submergence_limit or 0.0
        self._hold_us = channel.hold_us
        self._head_ft: float | None = None
        self._until_us = 0

    def hear(self, reading: Reading) -> None:
        """A valid reading speaks for its hold; any other ends the word of the one before."""
        self._head_ft = None
        if reading.value is not None and evidence(reading) == Evidence.VALID:
            self._head_ft = self._to_ft(reading.value) + self._offset_ft
            self._until_us = reading.at.mono_us + self._hold_us

    def drowns(self, head_ft: float, mono_us: int) -> bool:
        """Whether the downstream head is more than the device's share of the head."""
        behind = self._head_ft
        if behind is None or mono_us > self._until_us:
            return False
        return behind > 0 and behind > self._limit * head_ft
