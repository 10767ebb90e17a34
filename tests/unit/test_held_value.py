"""A transmitter that repeats its last value while the water moves, through the pipeline."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from gateway.diagnosed import Diagnosed
from gateway.model import Quality
from gateway.signals.qc import Evidence, evidence
from gateway.site import Discharging, Witness
from tests.support.bench_site import S, channel
from tests.support.diagnosed_site import Bench, minutely, station

MIN = 60


def bench(*, flow: bool = True, derived: bool = False) -> Bench:
    """An ultrasonic level read every 15 s, held for 10 min at most; a flow of its own, and a probe."""
    facts = {"quantity": "level", "unit": "ft", "device": "echo", "diagnosed": Diagnosed(held_us=600 * S)}
    level = channel("level", **facts)
    others = [minutely("ph", "pH", "pH")]
    if flow:
        meter = channel("flow", quantity="flow", unit="gpm", derived_from="level" if derived else None)
        others.append(meter)
    return Bench(station(level, *others, witness=("flow", 2.0) if flow else None), measured=frozenset({"flow"}))


def play(
    one: Bench, minutes: float, flow: Callable[[float], float], *, move: bool = False, ph: Callable[[float], float]
) -> None:
    """Level at 0.3 ft in the same two registers, or moving by one count."""
    for second in range(0, int(minutes * MIN), 15):
        count = second // 15 % 2 if move else 0
        values = {"level": 0.3 + count * 1e-6, "flow": flow(second), "ph": ph(second)}
        values = {name: value for name, value in values.items() if name in one.site.channels}
        one.poll(second, values, raw={"level": (0x3E99, 0x999A + count)})


def rising(second: float) -> float:
    """10 gpm and 1 more each minute."""
    return 10 + second / MIN


def still(_: float) -> float:
    """Nothing moves."""
    return 7.0


@pytest.mark.parametrize(
    ("sentence", "flow", "move", "found"),
    [
        ("The same registers while the flow doubles: held.", rising, False, True),
        ("One count of difference now and then is a sensor at work.", rising, True, False),
        ("A steady flow keeps a good sensor still.", lambda _: 10.0, False, False),
        ("A flow within a fifth of itself too.", lambda s: 10 + s % 120 / 120, False, False),
        ("No discharge: the water stands, and so may its level.", lambda s: s % 120 / 120, False, False),
    ],
)
def test_held_or_still(sentence: str, flow: Callable[[float], float], move: bool, found: bool) -> None:
    """Twelve minutes of each."""
    one = bench()
    play(one, 12, flow, move=move, ph=still)
    assert bool(one.flagged("held")) is found, sentence


def test_ten_minutes_and_not_before() -> None:
    """Told with the first reading after ten minutes, and it fails; a new count ends it at once."""
    one = bench()
    play(one, 12, rising, ph=still)
    assert one.flagged("held")[0] == ("level", 600.0)
    last = one.readings[-3]
    level = one.poll(12 * MIN, {"level": 0.3}, raw={"level": (0x3E99, 0x999A)})["level"]
    assert (level.quality, level.value, evidence(level)) == (Quality.FAIL, 0.3, Evidence.VOID), last
    moved = one.poll(12 * MIN + 15, {"level": 0.3}, raw={"level": (0x3E99, 0x999B)})["level"]
    assert moved.quality is Quality.GOOD


def test_a_rounded_value_that_repeats_is_no_repeat_of_the_registers() -> None:
    """Without registers, as in a recorded series, nobody can tell."""
    one = bench()
    for second in range(0, 12 * MIN, 15):
        one.poll(second, {"level": 0.3, "flow": rising(second)})
    assert one.flagged("held") == []


def test_a_flow_computed_from_the_level_is_no_witness() -> None:
    """It would move with the level or stand with it: then the probes must move."""
    one = bench(derived=True)
    play(one, 12, rising, ph=still)
    assert one.flagged("held") == []
    one = bench(derived=True)
    play(one, 12, lambda _: 10.0, ph=lambda second: 7 + second / 1000)
    assert one.flagged("held")


def test_a_gap_begins_anew() -> None:
    """What came while nobody looked may have been another value."""
    one = bench()
    for second in [*range(0, 9 * MIN, 15), *range(10 * MIN, 18 * MIN, 15)]:
        one.poll(second, {"level": 0.3, "flow": rising(second)}, raw={"level": (1, 2)})
    assert one.flagged("held") == []


def test_a_held_level_says_nothing_of_the_water() -> None:
    """It fails, so it is no witness of the interlock any more and cannot keep the probes dry."""
    site = bench().site
    wet = Discharging((Witness("flow", 2.0), Witness("level", 0.5)), applies_to=frozenset({"ph"}))
    one = Bench(replace(site, discharging=wet))
    play(one, 12, rising, ph=still)
    ph = {second: reading for reading in one.readings if reading.channel == "ph" and (second := reading.at.mono_us / S)}
    assert ph[9 * MIN].dry  # the level has the probe dry, as long as it is believed
    assert not ph[11.5 * MIN].dry
