"""Ten thousand random fault scripts, second part: a real socket, with and without transaction ids."""

import asyncio

import pytest

from tests.support.faulty_bus import RTU_OVER_TCP, SEEDS, TCP, Kind, proven, run_many


@pytest.mark.timeout(900)  # a minute of two cores, where nobody else wants them
@pytest.mark.parametrize(("kind", "at_once"), [(TCP, 100), (RTU_OVER_TCP, 40)], ids=[TCP.bus, RTU_OVER_TCP.bus])
def test_no_script_over_tcp_stores_a_wrong_value(kind: Kind, at_once: int) -> None:
    """No value of another unit, register or poll is ever delivered; every channel is right again; every task lives."""
    told = asyncio.run(run_many([(seed, kind) for seed in SEEDS[kind]], at_once))
    assert sorted(one.seed for one in told) == list(SEEDS[kind])
    proven(told)
