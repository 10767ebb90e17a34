"""A flow that its transmitter computes, compared with what the same level should give (docs/quality.md 3.5).

The transmitter's number is never replaced: a wrong device type, throat or unit in its menu makes the two part, and then
nobody knows who is right.
"""

from dataclasses import replace
from math import isfinite

from gateway.model import Quality, Reading, Sample
from gateway.signals.flow import FlowState
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
    is the configured share of the computed flow, and what the level's own uncertainty explains. Raises ValueError for
    an unknown device, or a flow that is compared with nothing.
    """

    def __init__(self, flow: Channel, level: Channel) -> None:
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
        self._level_ft: float | None = None
        self._until_us = 0
        self._parted_us: int | None = None  # since when

    def hear(self, reading: Reading) -> None:
        """Take a reading of the level; one that is not valid ends the word of the one before."""
        self._level_ft = None
        if reading.value is not None and evidence(reading) == Evidence.VALID:
            self._level_ft = self._to_ft(reading.value)
            self._until_us = reading.at.mono_us + self._hold_us

    def __call__(self, sample: Sample) -> Sample:
        """The sample itself, or the same sample in doubt. Its number stays."""
        mono_us = sample.at.mono_us
        parts = self._parts(sample)
        if not parts:
            self._parted_us = None
            return sample
        if self._parted_us is None:
            self._parted_us = mono_us
        if mono_us - self._parted_us < _PATIENCE_US:
            return sample
        if sample.quality is not Quality.GOOD:  # its own doubt stands first
            return replace(sample, remark=FLOW_DISAGREES)
        return replace(sample, quality=Quality.SUSPECT, note=FLOW_DISAGREES)

    def _parts(self, sample: Sample) -> bool:
        level_ft = self._level_ft
        if sample.value is None or sample.fault is not None or not isfinite(sample.value):
            return False
        if level_ft is None or sample.at.mono_us > self._until_us:
            return False
        rated = self._rating.flow_gpm(level_ft)
        if rated.state is not FlowState.OK:
            return False
        head_ft = level_ft + self._rating.head_offset_ft
        explained = self._rating.sensitivity(head_ft) * self._head_uncertainty_ft / head_ft
        told_gpm = self._to_gpm(self._to_unit(sample.value))
        return abs(told_gpm - rated.gpm) > (self._within + explained) * rated.gpm
