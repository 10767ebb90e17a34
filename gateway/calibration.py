"""One calibration as a record: who found what, with which standards, in which order, and what follows from it.

The order of a visit keeps two errors apart (Wagner and others, USGS Techniques and Methods 1-D3, 2006): what cleaning
changes in the process is fouling, what the clean sensor shows wrong in a standard is calibration drift. An error here
is what the sensor read too high; a correction would be its negative. No recorded reading is ever changed by it.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Any

from gateway.ph_electrode import BUFFERS_FROM, SlopeBand, buffer_ph, shown_mv, slope_and_offset, slope_band
from gateway.units import conversion

__all__ = ["PROCESS", "Calibration", "Found", "Phase", "Reason", "Standard", "Taken", "evaluate", "slow_after_s"]

PROCESS = "process"
"""Where a reading was taken when not in a standard: the discharge itself."""

_APART_PH = 2.0
_OFFSET_MV, _REPLACE_MV, _MOST_MV = 30.0, 60.0, 120.0  # makers: good within, replace beyond, never beyond
_SLOW_S, _SLOW_ALKALINE_S = 20.0, 30.0  # from pH 7 into 4, and into 10 (Corning 440 manual)
_COATED_PH = 0.3  # trade practice: a step of so much by cleaning is a coat
_IN_THE_WATER_PH = 0.3  # trade practice: off by so much in the discharge and not in buffers is a ground loop
_ZERO_MM = 3.0  # trade practice, of a level beside the tape
_FOULED = 0.15  # trade practice, of what a clean optical sensor shows
_LEFT_PH = 0.2  # beyond it a record of pH is corrected (Wagner and others 2006): a probe is not left so
_SLOPES_APART = 5.0  # percent, ours: more between what the instrument shows and what its mV come to is a slip
_ROUNDING = 1e-9  # of floats: 4.2 in 4.0 is 0.2 off, and no more
_SAME_STANDARD = 0.5  # two standards of this distance are the same one, in the channel's unit


class Phase(StrEnum):
    """The readings of a visit, in their order."""

    BEFORE = "before cleaning"
    AFTER = "after cleaning"
    CHECK = "check"  # as found in the standards, the sensor clean
    FINAL = "final"  # as left


class Reason(StrEnum):
    """Why a channel is calibrated."""

    ROUTINE = "routine"
    FAILED_CHECK = "failed check"
    REPLACEMENT = "replacement"


@dataclass(frozen=True, slots=True)
class Standard:
    """A buffer or another standard: its `nominal` value at `temperature_c`, None where the table of buffers says it."""

    name: str
    temperature_c: float | None = None
    nominal: float | None = None
    lot: str = ""
    expires: str = ""  # ISO date

    def value(self, quantity: str) -> tuple[float, str]:
        """What it is worth, and who says so. ValueError or LookupError when nobody does."""
        if self.nominal is not None:
            return self.nominal, "given"
        if quantity != "pH":
            raise ValueError(f"standard {self.name!r} needs its nominal value")
        if self.temperature_c is None:
            raise ValueError(f"buffer {self.name!r} needs its temperature, or its nominal value at it")
        return buffer_ph(self.name, self.temperature_c), BUFFERS_FROM


@dataclass(frozen=True, slots=True)
class Taken:
    """One reading: `place` is PROCESS or a standard's name; `reference` what the reference instrument said there."""

    phase: Phase
    place: str
    value: float
    reference: float | None = None
    temperature_c: float | None = None
    mv: float | None = None


@dataclass(frozen=True, slots=True)
class Calibration:
    """One calibration as its technician signs it. Times are UTC, dates ISO; `response_s` is None when not timed.

    `slope_percent` and `offset_mv` are those that the instrument itself shows. `attachment` and its hash are empty
    for none. `corrects` names an earlier record that this one replaces.
    """

    channel: str
    technician: str
    sensor_serial: str
    started_utc_us: int
    stopped_utc_us: int
    reason: Reason
    cleaning: str
    accepted: bool
    reference_instrument: str
    reference_serial: str
    reference_calibrated_on: str
    readings: tuple[Taken, ...]
    standards: tuple[Standard, ...] = ()
    response_s: float | None = None
    slope_percent: float | None = None
    offset_mv: float | None = None
    next_due: str = ""
    attachment: str = ""
    attachment_sha256: str = ""
    remark: str = ""
    corrects: str = ""

    def of(self, phase: Phase) -> list[Taken]:
        """The readings of one phase."""
        return [taken for taken in self.readings if taken.phase is phase]


@dataclass(frozen=True, slots=True)
class Found:
    """What a calibration comes to. Errors are in the channel's unit, None where the readings do not say.

    `standards` holds what each standard was worth, and by whose word; `errors_found` and `errors_left` by standard.
    """

    standards: Mapping[str, tuple[float, str]]
    fouling_error: float | None
    errors_found: Mapping[str, float]
    errors_left: Mapping[str, float]
    slope_percent: float | None = None
    offset_mv: float | None = None
    slope_from: str = ""
    band: str = ""
    drift_since_last: float | None = None
    slope_since_last: float | None = None
    warnings: tuple[str, ...] = ()
    refused: tuple[str, ...] = field(default=())  # why it cannot be accepted

    def body(self) -> dict[str, Any]:
        """JSON-able."""
        body = asdict(self)
        body["standards"] = {name: {"value": v, "from": said} for name, (v, said) in self.standards.items()}
        return {**body, "warnings": list(self.warnings), "refused": list(self.refused)}


def evaluate(
    one: Calibration,
    quantity: str,
    last: tuple[Calibration, Found] | None = None,
    zone: tzinfo = UTC,
    unit: str = "",
) -> Found:
    """What a calibration of a channel of that quantity comes to, beside the last accepted one.

    `zone` is the site's, `unit` the channel's.

    ValueError or LookupError, in words, for readings that cannot be made sense of.
    """
    standards = {standard.name: standard.value(quantity) for standard in one.standards}
    for taken in one.readings:
        if taken.place != PROCESS and taken.place not in standards:
            raise LookupError(f"a reading was taken in {taken.place!r}, which is no standard of this record")
    found, left = _errors(one, Phase.CHECK, standards), _errors(one, Phase.FINAL, standards)
    slope, offset, said = _slope(one, standards) if quantity == "pH" else (None, None, "")
    warnings = _warnings(one, slope, offset) + _signs(one, quantity, unit, found, left)
    refused = _expired(one, zone)
    if quantity == "pH":
        warnings += _doubts(one, standards, left)
        refused += _unfit(one, standards, left, slope, offset)
    if not any(t.place != PROCESS or t.reference is not None for t in one.of(Phase.FINAL)):
        refused += ("no final reading in a standard, or beside the reference instrument: nobody saw how it was left",)
    drift = slope_moved = None
    if last is not None:
        drift = _drift(standards, found, last[1])
        if slope is not None and last[1].slope_percent is not None:
            slope_moved = slope - last[1].slope_percent
    band = "" if slope is None else slope_band(slope).value
    return Found(
        standards, _fouling(one), found, left, slope, offset, said, band, drift, slope_moved, warnings, refused
    )


def _errors(one: Calibration, phase: Phase, standards: Mapping[str, tuple[float, str]]) -> dict[str, float]:
    """By standard, what the sensor read too high; the process counts where the reference instrument was in it."""
    errors = {}
    for taken in one.of(phase):
        truth = standards[taken.place][0] if taken.place != PROCESS else taken.reference
        if truth is not None:
            errors[taken.place] = taken.value - truth
    return errors


def _fouling(one: Calibration) -> float | None:
    """What cleaning changed in the process, less what the process itself changed meanwhile."""
    before = next((t for t in one.of(Phase.BEFORE) if t.place == PROCESS), None)
    after = next((t for t in one.of(Phase.AFTER) if t.place == PROCESS), None)
    if before is None or after is None:
        return None
    moved = 0.0
    if before.reference is not None and after.reference is not None:
        moved = before.reference - after.reference
    return before.value - after.value - moved


def _slope(one: Calibration, standards: Mapping[str, tuple[float, str]]) -> tuple[float | None, float | None, str]:
    """Slope and offset, and what they rest on: the instrument's word, mV, or the values shown as found.

    Values shown after a recalibration are those of the new calibration and say nothing of the electrode.
    """
    slope, offset, said = None, None, ""
    temperatures = {standard.name: standard.temperature_c for standard in one.standards}
    for phase, by_mv in ((Phase.FINAL, True), (Phase.CHECK, True), (Phase.CHECK, False)):
        points = []
        for taken in one.of(phase):
            celsius = taken.temperature_c if taken.temperature_c is not None else temperatures.get(taken.place)
            if taken.place != PROCESS and celsius is not None and (taken.mv is not None or not by_mv):
                mv = taken.mv if by_mv and taken.mv is not None else shown_mv(taken.value, celsius)
                points.append((standards[taken.place][0], mv, celsius))
        points.sort()
        if len(points) > 1 and points[-1][0] - points[0][0] >= _APART_PH:
            slope, offset = slope_and_offset(points[0], points[-1])
            said = f"mV, {phase.value}" if by_mv else "values shown as found, against the calibration before"
            break
    if one.slope_percent is not None:
        slope, said = one.slope_percent, "the instrument"
    if one.offset_mv is not None:
        offset = one.offset_mv
    return slope, offset, said


def _warnings(one: Calibration, slope: float | None, offset: float | None) -> tuple[str, ...]:
    warnings = []
    if offset is not None and abs(offset) > _REPLACE_MV:
        warnings.append(f"offset {offset:.1f} mV is beyond {_REPLACE_MV:g} mV: replace the reference or the electrode")
    elif offset is not None and abs(offset) > _OFFSET_MV:
        warnings.append(f"offset {offset:.1f} mV is beyond {_OFFSET_MV:g} mV: clean the reference, or replace it soon")
    if slope is not None and slope_band(slope) in (SlopeBand.MAINTAIN, SlopeBand.ACT):
        what = "clean and regenerate the glass" if slope_band(slope) is SlopeBand.MAINTAIN else "order a new electrode"
        warnings.append(f"slope {slope:.1f} %: {what}")
    if _fouling(one) is not None and not all(
        taken.reference is not None for phase in (Phase.BEFORE, Phase.AFTER) for taken in one.of(phase)
    ):
        warnings.append("fouling is taken without a reference: what the process changed meanwhile is in it")
    missing = [phase.value for phase in Phase if not one.of(phase)]
    if missing:
        warnings.append(f"no reading {', '.join(missing)}")
    return tuple(warnings)


def _doubts(one: Calibration, standards: Mapping[str, tuple[float, str]], left: Mapping[str, float]) -> tuple[str, ...]:
    """What contradicts itself in a calibration of pH, and may still be right."""
    warnings = []
    if PROCESS in left and abs(left[PROCESS]) > _LEFT_PH:
        warnings.append(f"left {left[PROCESS]:+.2f} pH off the reference instrument in the discharge")
    measured, _, said = _slope(replace(one, slope_percent=None), standards)
    told = one.slope_percent
    if told is not None and measured is not None and said.startswith("mV") and abs(told - measured) > _SLOPES_APART:
        warnings.append(f"the instrument shows a slope of {told:.1f} %, its mV come to {measured:.1f} %")
    return tuple(warnings)


def _expired(one: Calibration, zone: tzinfo) -> tuple[str, ...]:
    """The standards that were past their date on the site's local day."""
    day = datetime.fromtimestamp(one.started_utc_us // 1_000_000, UTC).astimezone(zone).date().isoformat()
    return tuple(f"standard {s.name} expired on {s.expires}" for s in one.standards if s.expires and s.expires < day)


def _signs(
    one: Calibration, quantity: str, unit: str, found: Mapping[str, float], left: Mapping[str, float]
) -> tuple[str, ...]:
    """What the readings show of the sensor and its wiring beside its slope."""
    signs, fouling = [], _fouling(one)
    if quantity == "pH":
        slowest_s = slow_after_s(one)
        if one.response_s is not None and one.response_s > slowest_s:
            signs.append(
                f"took {one.response_s:g} s, more than {slowest_s:g}: clean the glass, or replace the electrode"
            )
        if fouling is not None and abs(fouling) > _COATED_PH:
            signs.append(f"cleaning changed it by {fouling:.2f} pH: it was coated; clean it more often")
        for errors in (left, found):
            buffers = [abs(error) for place, error in errors.items() if place != PROCESS]
            if buffers and max(buffers) <= _IN_THE_WATER_PH < abs(errors.get(PROCESS, 0.0)):
                signs.append(
                    f"{errors[PROCESS]:+.2f} pH off in the discharge and right in buffer: look for a ground loop, "
                    "a pump that runs, or a reference that is wrong"
                )
                break
    elif quantity == "level" and PROCESS in found:
        off_mm = conversion(unit, "mm")(found[PROCESS]) if unit else 0.0
        if abs(off_mm) > _ZERO_MM:
            signs.append(f"found {off_mm:+.0f} mm off the reference: its zero has drifted, or was never right")
    elif quantity in {"turbidity", "tss"} and fouling is not None:
        clean = next(t.value for t in one.of(Phase.AFTER) if t.place == PROCESS)
        if abs(fouling) > _FOULED * abs(clean):
            signs.append(
                f"cleaning changed it by {fouling:.3g} of {clean:.3g}: clean it more often, or see to its wiper"
            )
    return tuple(signs)


def slow_after_s(one: Calibration) -> float:
    """From which response time on an electrode is slow: it was put from pH 7 into the other buffer of the record."""
    values = [standard.value("pH")[0] for standard in one.standards]
    return _SLOW_ALKALINE_S if values and min(values) > 5 and max(values) > 9 else _SLOW_S


def _unfit(
    one: Calibration,
    standards: Mapping[str, tuple[float, str]],
    left: Mapping[str, float],
    slope: float | None,
    offset: float | None,
) -> tuple[str, ...]:
    """Why a calibration of pH cannot be accepted."""
    why = []
    for phase in (Phase.CHECK, Phase.FINAL):
        used = [standards[t.place][0] for t in one.of(phase) if t.place != PROCESS]
        if used and max(used) - min(used) >= _APART_PH:
            break
    else:
        why.append(f"two buffers at least {_APART_PH:g} pH apart are needed")
    if slope is None:
        why.append("no slope: two buffers with their temperature, as found or in mV, or what the instrument shows")
    elif slope_band(slope) is SlopeBand.REJECT:
        why.append(f"slope {slope:.1f} % is outside 85 to 105 %: the electrode is not fit")
    if offset is not None and abs(offset) > _MOST_MV:
        why.append(f"offset {offset:.1f} mV is beyond {_MOST_MV:g} mV: the electrode is not fit")
    why += [
        f"left {error:+.2f} pH off in standard {name}: more than {_LEFT_PH:g}"
        for name, error in left.items()
        if name != PROCESS and abs(error) > _LEFT_PH + _ROUNDING
    ]
    return tuple(why)


def _drift(standards: Mapping[str, tuple[float, str]], found: Mapping[str, float], last: Found) -> float | None:
    """The largest change of an error since the sensor was last left in the same standard."""
    changes = [
        error - last.errors_left[name]
        for place, error in found.items()
        if place in standards
        for name, (value, _) in last.standards.items()
        if name in last.errors_left and abs(value - standards[place][0]) <= _SAME_STANDARD
    ]
    return max(changes, key=abs, default=None)
