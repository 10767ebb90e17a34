"""A flow that its transmitter computes, compared with what the same level should give (docs/quality.md 3.5).

The transmitter's number is never replaced: a wrong device type, throat or unit in its menu makes the two part, and then
nobody knows who is right.
"""

from dataclasses import replace
from math import isfinite

from gateway.model import Quality, Reading, Sample
from gateway.signals.derived import SUBMERGED, Downstream
from gateway.signals.flow import Flow, FlowState
from gateway.signals.qc import Evidence, evidence
from gateway.signals.ratings import rating
from gateway.site import Channel
from gateway.units import conversion, difference_conversion

__all__ = ["FLOW_DISAGREES", "FlowComparison"]

FLOW_DISAGREES = "flow_disagrees"
"""The test of a flow that has parted from what its level gives."""

_PATIENCE_US = 60_000_000  # ours: a transmitter smooths its flow, so the two part for a moment whenever it changes


class FlowComparison:
    """Doubts samples of `flow` that part from the rating of `level` for a minute without a break.

    Compared where the rating is proven and the level speaks; elsewhere nobody can tell, and nothing is doubted. Allowed
    is the configured share of the computed flow, and what the level's own uncertainty explains. A transmitter computes
    on when its device is drowned or the pipe is full, so its flow is doubted then too, at once. Raises ValueError for
    an unknown device, or a flow that is compared with nothing.
    """

    def __init__(self, flow: Channel, level: Channel, downstream: Channel | None = None) -> None:
        check = flow.cross_check
        if check is None:
            raise ValueError(f"channel {flow.name} is compared with nothing")
        self._within = check.within
        self._rating = rating(check.primary)
        self._to_ft = conversion(level.unit, "ft")
        self._to_unit = flow.conversion
        self._to_gpm = conversion(flow.unit, "gpm")
        self._head_uncertainty_ft = difference_conversion(level.unit, "ft")(level.uncertainty or 0.0)
        self._hold_us = level.hold_us
        self._level = level.name
        self._crown_ft = None if level.crown is None else self._to_ft(level.crown)
        self._behind = None if downstream is None else Downstream(downstream, check.primary, self._rating)
        self._level_ft: float | None = None
        self._until_us = 0
        self._parted_us: int | None = None  # since when

    def hear(self, reading: Reading) -> None:
        """Take a reading of the level, or of the one behind the device; one that is not valid ends the word of the one
        before."""
        if reading.channel != self._level:
            if self._behind is not None:
                self._behind.hear(reading)
            return
        self._level_ft = None
        if reading.value is not None and evidence(reading) == Evidence.VALID:
            self._level_ft = self._to_ft(reading.value)
            self._until_us = reading.at.mono_us + self._hold_us

    def __call__(self, sample: Sample) -> Sample:
        """The sample itself, or the same sample in doubt. Its number stays."""
        mono_us = sample.at.mono_us
        level_ft = None if mono_us > self._until_us else self._level_ft
        if sample.value is None or sample.fault is not None or not isfinite(sample.value) or level_ft is None:
            self._parted_us = None
            return sample
        rated = self._rating.flow_gpm(level_ft)
        if self._is_full(level_ft, rated):
            return _doubted(sample, FlowState.LEVEL_ONLY)
        head_ft = level_ft + self._rating.head_offset_ft
        if self._behind is not None and self._behind.drowns(head_ft, mono_us):
            return _doubted(sample, SUBMERGED)
        if not self._parts(sample.value, rated, head_ft):
            self._parted_us = None
            return sample
        if self._parted_us is None:
            self._parted_us = mono_us
        return _doubted(sample, FLOW_DISAGREES) if mono_us - self._parted_us >= _PATIENCE_US else sample

    def _is_full(self, level_ft: float, rated: Flow) -> bool:
        return rated.state is FlowState.LEVEL_ONLY or (self._crown_ft is not None and level_ft >= self._crown_ft)

    def _parts(self, value: float, rated: Flow, head_ft: float) -> bool:
        if rated.state is not FlowState.OK:
            return False
        explained = self._rating.sensitivity(head_ft) * self._head_uncertainty_ft / head_ft
        told_gpm = self._to_gpm(self._to_unit(value))
        return abs(told_gpm - rated.gpm) > (self._within + explained) * rated.gpm


def _doubted(sample: Sample, test: str) -> Sample:
    if sample.quality is not Quality.GOOD:  # its own doubt stands first
        return replace(sample, remark=test)
    return replace(sample, quality=Quality.SUSPECT, note=test)
