"""Ten thousand random fault scripts, first part: a real pty, and everything that can go wrong between two frames."""

import asyncio

import pytest

from tests.support.faulty_bus import ASCII, JOURNAL_SEEDS, RTU, SEEDS, Kind, proven, run_many, script_of


def test_the_seeds_are_ten_thousand() -> None:
    """The parts together run every seed from 0 to 9,999 once, and hardly two of them make the same script."""
    seeds = sorted([*JOURNAL_SEEDS, *(seed for part in SEEDS.values() for seed in part)])
    assert seeds == list(range(10_000))
    assert len({script_of(seed, RTU) for seed in seeds}) > 9_000


@pytest.mark.timeout(900)  # a minute of two cores, where nobody else wants them
@pytest.mark.parametrize("kind", [RTU, ASCII], ids=lambda kind: kind.bus)
def test_no_script_on_a_serial_line_stores_a_wrong_value(kind: Kind) -> None:
    """No value of another unit, register or poll is ever delivered; every channel is right again; every task lives."""
    told = asyncio.run(run_many([(seed, kind) for seed in SEEDS[kind]], at_once=40))
    assert sorted(one.seed for one in told) == list(SEEDS[kind])
    proven(told)
