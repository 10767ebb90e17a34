"""Broken glass: about 7 whatever flows by."""

from collections.abc import Callable

import pytest

from gateway.model import Quality
from gateway.signals.qc import Evidence, evidence
from tests.support.diagnosed_site import HOUR, Bench, minutely, ph, station


def bench() -> Bench:
    """pH, flow and conductivity, once a minute."""
    channels = ph(glass=True), minutely("flow", "flow", "gpm"), minutely("conductivity", "conductivity", "uS/cm")
    return Bench(station(*channels))


def play(one: Bench, hours: float, glass: Callable[[float], float | None], flow: Callable[[float], float]) -> None:
    """So many hours; conductivity stands."""
    for second in range(0, int(hours * HOUR), 60):
        one.poll(second, {"flow": flow(second), "conductivity": 800.0, "ph": glass(second)})


def batches(second: float) -> float:
    """5 and 15 gpm by turns of ten minutes: sigma 5 about 10, half of the mean."""
    return 5.0 if second % 1200 < 600 else 15.0


@pytest.mark.parametrize(
    ("sentence", "glass", "flow", "found"),
    [
        ("7.00 for three hours while the flow goes up and down: broken.", lambda _: 7.0, batches, True),
        ("0.01 up and down is still.", lambda s: 6.9 + (s % 120 < 60) * 0.02, batches, True),
        ("0.03 up and down is a probe at work.", lambda s: 6.9 + (s % 120 < 60) * 0.06, batches, False),
        ("7.3 is not near 7.", lambda _: 7.3, batches, False),
        ("6.7 is not near 7.", lambda _: 6.7, batches, False),
        ("Nothing flows differently: nobody can tell.", lambda _: 7.0, lambda _: 10.0, False),
        ("A flow that varies by 19 % is even.", lambda _: 7.0, lambda s: 8.1 if s % 1200 < 600 else 11.9, False),
        ("One still hour is no broken glass.", lambda s: 7.0 if s < HOUR else 7.0 + s % 600 / 3000, batches, False),
        ("Still hours that drift from each other are a probe at work.", lambda s: 6.9 + s // HOUR / 50, batches, False),
    ],
)
def test_broken_or_even(sentence: str, glass: Callable, flow: Callable, found: bool) -> None:
    """Five hours of each."""
    one = bench()
    play(one, 5, glass, flow)
    assert bool(one.flagged("broken_glass")) is found, sentence


def test_conductivity_that_changes_is_enough() -> None:
    """The flow is even, and what flows is another thing every ten minutes."""
    one = bench()
    for second in range(0, 4 * HOUR, 60):
        one.poll(second, {"flow": 10.0, "conductivity": 80 * batches(second), "ph": 7.0})
    assert one.flagged("broken_glass")


def test_after_three_hours_and_not_before() -> None:
    """The fourth hour begins with it; suspect, not counted; an hour that moves ends it."""
    one = bench()
    play(one, 4, lambda _: 7.0, batches)
    assert one.flagged("broken_glass")[0] == ("ph", 3 * HOUR + 60)  # the minute that opens the fourth hour is over
    last = one.readings[-1]
    assert (last.quality, evidence(last)) == (Quality.SUSPECT, Evidence.DOUBTFUL)
    for second in range(4 * HOUR, 6 * HOUR, 60):
        one.poll(second, {"flow": batches(second), "conductivity": 800.0, "ph": 7 + second % 600 / 1000})
    assert one.readings[-1].quality is Quality.GOOD


def test_a_probe_that_was_in_hand_is_judged_anew() -> None:
    """Put into buffer and back."""
    one = bench()
    play(one, 4, lambda _: 7.0, batches)
    one.poll(4 * HOUR, {"ph": 4.01}, working=["ph"])
    assert one.poll(4 * HOUR + 60, {"ph": 7.0})["ph"].tests == ()
