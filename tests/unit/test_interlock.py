"""Whether the probes are in the discharge: flow, level, delays, silence and disagreement."""

import pytest

from gateway.model import Quality
from gateway.signals.interlock import Discharge, Interlock
from gateway.site import Discharging, Witness
from tests.support.bench_site import S, at, channel, reading

CHANNELS = {"flow": channel("flow"), "level": channel("level", quantity="level", unit="ft")}


def interlock() -> Interlock:
    """Discharging at 2 gpm and more; the probe is under water from 0.1 ft."""
    witnesses = (Witness("flow", 2.0), Witness("level", 0.1))
    return Interlock(Discharging(witnesses, 60 * S, 60 * S, frozenset({"ph"})), CHANNELS)


def hear(lock: Interlock, name: str, values: list[float], *, start_s: int = 0) -> None:
    """One reading every 15 s."""
    for n, value in enumerate(values):
        lock.hear(reading(name, start_s + 15 * n, value))


@pytest.mark.parametrize(
    ("sentence", "flow", "level", "state"),
    [
        ("With no witness at all the probes are judged.", [], [], Discharge.WET),
        ("Flow and level say wet.", [10.0], [0.3], Discharge.WET),
        ("No flow and a low level: no discharge.", [0.0], [0.0], Discharge.NONE),
        ("Either of them is enough: flow alone.", [0.0], [], Discharge.NONE),
        ("Either of them is enough: level alone.", [], [0.05], Discharge.NONE),
        ("Standing water is no discharge.", [0.0], [0.4], Discharge.NONE),
        ("Flow with a dry probe: nobody can tell.", [40.0], [0.0], Discharge.DISAGREE),
        ("A witness that failed takes no part.", [None], [0.3], Discharge.WET),
        ("Less than the off-delay of no flow is not dry yet.", [10.0, 0.0, 0.0, 0.0, 0.0], [], Discharge.WET),
        ("The off-delay of no flow is dry.", [10.0, 0.0, 0.0, 0.0, 0.0, 0.0], [], Discharge.NONE),
        ("A flicker starts the delay anew.", [10.0, 0.0, 0.0, 9.0, 0.0, 0.0, 0.0], [], Discharge.WET),
        ("The on-delay of flow is wet again.", [0.0, 9.0, 9.0, 9.0, 9.0, 9.0], [], Discharge.WET),
        ("Less than the on-delay is still dry.", [0.0, 9.0, 9.0, 9.0, 9.0], [], Discharge.NONE),
    ],
)
def test_what_the_witnesses_say(sentence: str, flow: list, level: list, state: Discharge) -> None:
    """The state at the last reading of the row."""
    lock = interlock()
    hear(lock, "flow", flow)
    hear(lock, "level", level)
    assert lock.state(at(15 * max(len(flow) - 1, len(level) - 1, 0)).mono_us) is state, sentence


def test_a_silent_witness_takes_no_part_past_its_hold() -> None:
    """No flow, then no word from the flow meter: after 37.5 s nobody says dry."""
    lock = interlock()
    hear(lock, "flow", [0.0])
    assert lock.state(at(37.5).mono_us) is Discharge.NONE
    assert lock.state(at(37.6).mono_us) is Discharge.WET


def test_a_failed_reading_is_not_heard() -> None:
    """A stuck zero that quality control failed cannot silence the pH alarm."""
    lock = interlock()
    lock.hear(reading("flow", 0, 0.0, quality=Quality.FAIL, tests=("flat_line",)))
    assert lock.state(at(0).mono_us) is Discharge.WET
