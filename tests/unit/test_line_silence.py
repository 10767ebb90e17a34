"""How long a serial line and its units are left alone after a failure."""

import pytest

from gateway.drivers.quiet import Quiet


@pytest.mark.parametrize("first", ["garbled", "timed_out"])
def test_a_second_try_with_little_time_left_shortens_no_silence(first: str) -> None:
    """After a first try of 60 ms and a second of 15 ms the unit is left alone for twice the 60 ms, not twice the 15."""
    quiet = Quiet(0.002)
    quiet.answered(1, 0.0, 0.001)
    getattr(quiet, first)(1, 1.0, 0.06)
    quiet.timed_out(1, 1.045, 0.015)
    assert quiet.free_at(1) == pytest.approx(1.045 + 2 * 0.06)


def test_a_request_that_was_given_up_keeps_the_silence_of_its_device() -> None:
    """A request given up in a short second try leaves the unit alone for as long as the device may take."""
    quiet = Quiet(0.002)
    quiet.garbled(1, 1.0, 0.06)
    quiet.abandoned(1, 1.05, 0.015)
    assert quiet.free_at(1) == pytest.approx(1.05 + 0.06)


def test_after_the_answer_that_was_thrown_away_its_successor_has_its_time() -> None:
    """If what came was the late one, the right one comes within the unit's slowest answer: nobody is asked before."""
    quiet = Quiet(0.002)
    quiet.answered(1, 0.0, 0.3)
    quiet.timed_out(1, 1.0, 0.06)
    assert quiet.owes(1)
    quiet.settled(1, 2.0)
    assert not quiet.owes(1)
    assert quiet.free_at(1) == quiet.free_at(2) == pytest.approx(2.0 + 0.3)


def test_a_broadcast_keeps_everybody_silent() -> None:
    """The turnaround of a broadcast holds for every unit, and a shorter one takes nothing away."""
    quiet = Quiet(0.002)
    quiet.busy_until(5.0)
    quiet.busy_until(4.0)
    assert quiet.free_at(1) == quiet.free_at(7) == 5.0
