"""Every test that can stand in a reading: its NE 107 letter, whether a doubt from it still counts, and what to do.

Letters of NAMUR NE 107: F failure, C function check, S out of specification, M maintenance required.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gateway.model import Fault, Quality

__all__ = ["CATALOGUE", "COUNTING", "DAMPING", "DIAGNOSES", "Diagnosis", "action_of", "advice_of"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One test. `quality` is what a diagnosis makes of a reading; None where the test decides that itself.

    `counts` says whether a reading that is SUSPECT by this test alone is still judged (docs/quality.md 4). `advice`
    marks what leaves the value as good as it was and wants a visit all the same.
    """

    test: str
    letter: str
    action: str
    quality: Quality | None = None
    counts: bool = False
    advice: bool = False
    dry: bool = False  # also said of a probe that is out of the discharge


_WIRING = "check power, cable, address, speed and parity of the instrument"
_SUSPECT, _FAIL, _GOOD = Quality.SUSPECT, Quality.FAIL, Quality.GOOD

CATALOGUE: tuple[Diagnosis, ...] = (
    Diagnosis(Fault.SILENT.value, "F", _WIRING),
    Diagnosis(Fault.BUS_DOWN.value, "F", "see what it says of the port: adapter, cable, its settings, another program"),
    Diagnosis(Fault.BAD_REPLY.value, "F", "look for two devices with one address"),
    Diagnosis(Fault.NO_SAMPLE.value, "F", _WIRING),
    Diagnosis(Fault.DEVICE_FAULT.value, "F", "read the fault on the instrument's own display"),
    Diagnosis(Fault.NO_SUCH_REGISTER.value, "F", "compare the profile with the instrument's model and firmware"),
    Diagnosis(Fault.NOT_A_NUMBER.value, "F", "check byte order and the probe's plug"),
    Diagnosis(Fault.SENTINEL.value, "F", "see why the instrument has no value: probe unplugged, or warming up"),
    Diagnosis(Fault.WRONG_UNIT.value, "F", "set the instrument's unit back as the site file has it"),
    Diagnosis("order", "F", "check the clock of whatever sends this series"),
    Diagnosis("fail_span", "F", "check byte order, scaling and the probe's cable"),
    Diagnosis("suspect_span", "S", "compare with a hand-held instrument"),
    Diagnosis("spike", "S", "look for bubbles, ragging or a loose plug", counts=True),
    Diagnosis("rate", "S", "look for bubbles, ragging or a loose plug", counts=True),
    Diagnosis("flat_line", "S", "move the probe by hand and see that the value follows", counts=True),
    Diagnosis("below_range", "S", "nothing, while the flow is that small", counts=True),
    Diagnosis("depth_only", "", "", counts=True),
    Diagnosis("incomplete", "", "", counts=True),
    Diagnosis("between", "", "", counts=True),
    Diagnosis("calibration_overdue", "M", "calibrate it, and enter the record", counts=True),
    Diagnosis("electrode_worn", "M", "regenerate the electrode, or have a new one ready", counts=True),
    Diagnosis("after_maintenance", "S", "nothing: it settles after the visit"),
    Diagnosis("double_valued", "S", "nothing, while the pipe is nearly full: two depths carry the same flow"),
    Diagnosis("level_only", "S", "look for a blockage downstream: the pipe is full"),
    Diagnosis("submerged", "S", "look for a blockage downstream: the flume or weir is drowned"),
    Diagnosis("flow_disagrees", "S", "compare the flow meter with a reading of the staff gauge"),
    Diagnosis("saturated", "S", "see whether the flume is drowned or too small"),
    Diagnosis("doubtful_level", "S", "check the level sensor"),
    Diagnosis("interlock", "S", "check the level sensor's zero: it has the probe dry while water flows"),
    Diagnosis("source", "S", "read the warning on the instrument's own display"),
    Diagnosis("current_failure", "F", "measure the loop: cable, supply, or the transmitter's own fault", _FAIL),
    Diagnosis("current_range", "S", "check the transmitter's range: it is at the end of its scale", _SUSPECT),
    Diagnosis("attenuated", "M", "clean the probe", _SUSPECT),
    Diagnosis("held", "F", "set the transmitter's fail-safe to 3.6 or 21 mA, not hold, and see to its echo", _FAIL),
    Diagnosis("broken_glass", "S", "put the probe into pH 4 buffer; if it still says 7, replace it", _SUSPECT),
    Diagnosis(
        "disagreement", "S", "compare both sensors with a reference and calibrate the one that is wrong", _SUSPECT
    ),
    Diagnosis("compensation", "S", "check the temperature sensor that corrects this probe", _SUSPECT),
    Diagnosis("over_pipe", "S", "look for a surcharge; else check the flow meter's range", _SUSPECT),
    Diagnosis("standing_water", "S", "look for a blockage downstream: the water stands or runs back", _SUSPECT),
    Diagnosis("level_jump", "S", "look for foam or condensation under the sensor", _SUSPECT, counts=True),
    Diagnosis("rewetted", "S", "nothing: the probe has just come back into the water", _SUSPECT),
    Diagnosis(
        "dry_glass", "M", "put the probe where it stays wet, and check it in buffer", _GOOD, advice=True, dry=True
    ),
    Diagnosis(
        "hot_glass", "M", "check the electrode in two buffers: it has been in hot water for long", _GOOD, advice=True
    ),
    Diagnosis("night_fall", "M", "clean the probe", _GOOD, advice=True),
    Diagnosis("night_rise", "M", "clear debris from the flume or the probe", _GOOD, advice=True),
)

DIAGNOSES: Mapping[str, Diagnosis] = {diagnosis.test: diagnosis for diagnosis in CATALOGUE}

COUNTING = frozenset(diagnosis.test for diagnosis in CATALOGUE if diagnosis.counts)
"""SUSPECT from these alone still counts for limit and slug rules (docs/judging.md 2.1)."""


DAMPING = frozenset({"attenuated"})
"""SUSPECT from these counts where the value exceeds, and only there: they can hide an excess and never make one."""


def action_of(tests: Iterable[str]) -> str:
    """The one thing to do about the first test that there is something to do about; empty when all is well."""
    return next((known.action for test in tests if (known := DIAGNOSES.get(test)) and known.action), "")


def advice_of(tests: Iterable[str]) -> Diagnosis | None:
    """The first test that wants a visit although the value is as good as it was."""
    return next((known for test in tests if (known := DIAGNOSES.get(test)) and known.advice), None)
