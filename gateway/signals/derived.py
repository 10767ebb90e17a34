"""Flow derived from level: a reading of the level becomes a sample of the flow channel (docs/quality.md 3.5)."""

from math import isfinite

from gateway.model import Fault, Quality, Reading, Sample
from gateway.signals.flow import FlowState, rating
from gateway.signals.qc import Evidence, evidence
from gateway.site import Channel
from gateway.units import conversion

__all__ = ["FlowFrom"]


class FlowFrom:
    """Turns readings of `level` into samples, in gpm, of the derived channel `flow`.

    A head below the rated range keeps its computed flow and is flagged; above it the device is saturated and the flow
    doubtful. A level that cannot be believed gives a flow that cannot either. Raises ValueError for an unknown device.
    """

    def __init__(self, flow: Channel, level: Channel) -> None:
        if flow.primary is None:
            raise ValueError(f"channel {flow.name}: derived from {level.name} without a primary device")
        self.channel = flow.name
        self._rating = rating(flow.primary)
        self._to_ft = conversion(level.unit, "ft")

    def __call__(self, reading: Reading) -> Sample:
        """The flow's sample for one reading of the level; raw stays the level's registers."""
        at, raw, mode = reading.at, reading.raw, reading.mode
        if reading.value is None or reading.quality is Quality.MISSING:
            return Sample(self.channel, at, raw, None, Fault.NO_SAMPLE, mode=mode)
        flow = self._rating.flow_gpm(self._to_ft(reading.value))
        if reading.quality is Quality.FAIL or not isfinite(flow.gpm):
            return Sample(self.channel, at, raw, None, Fault.DEVICE_FAULT, mode=mode)
        if flow.state is FlowState.ABOVE_RANGE:
            return Sample(self.channel, at, raw, flow.gpm, quality=Quality.SUSPECT, mode=mode, note="saturated")
        if mode == "run" and evidence(reading) == Evidence.DOUBTFUL:
            return Sample(self.channel, at, raw, flow.gpm, quality=Quality.SUSPECT, mode=mode, note="doubtful_level")
        if flow.state is FlowState.BELOW_RANGE:
            return Sample(self.channel, at, raw, flow.gpm, quality=Quality.SUSPECT, mode=mode, note="below_range")
        return Sample(self.channel, at, raw, flow.gpm, mode=mode)
