"""The latencies and the missing answers of a real, overloaded gateway, played back by the simulator."""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from gateway.clock import SystemClock
from gateway.drivers.bus import PollBus
from gateway.model import Fault as Failure
from gateway.model import Instant, Sample
from simulators.fault_script import Action, Fault
from simulators.faults import Script
from tests.support.captures import Transaction, transactions
from tests.support.faulty_bus import TCP, FarEnd, FaultyHost, faulty_channels, faulty_devices, faulty_profile

SCALE = 1 / 60  # a minute of the capture in a second: its slowest answer, of 5.1 s, comes after 85 ms
TIMEOUT_S = 3.0 * SCALE
PERIOD_S = 15.0 * SCALE
SLOTS = 40
SLOW, HEALTHY = (1, 2, 3), 7  # three units lose a third of their answers, the fourth none (in the list)


def script_of(listed: Sequence[Transaction]) -> list[Fault]:
    """What befell the nth request to each unit befalls the nth again."""
    counts: defaultdict[int, int] = defaultdict(int)
    faults = []
    for one in listed:
        if one.request:
            counts[one.unit] += 1
            nth = counts[one.unit]
            if one.latency_ms is None:
                faults.append(Fault(True, Action.DROP, nth, nth, unit=one.unit))
            else:
                after_us = round(one.latency_ms * 1000 * SCALE)
                faults.append(Fault(True, Action.DELAY, nth, nth, unit=one.unit, after_us=after_us))
    return faults


@pytest.mark.recorded
def test_an_overloaded_gateway_costs_no_wrong_value_and_its_healthy_unit_no_poll(
    shared_data: Callable[[str], Path],
) -> None:
    """No answer is taken for another request's; the unit that always answers keeps its period beside the others."""
    listed = transactions(shared_data("14_modbus_pcaps/iti_modbus_test_2_transactions.csv"))
    missing = {
        unit: sum(t.latency_ms is None for t in listed if t.request and t.unit == unit) for unit in (*SLOW, HEALTHY)
    }
    assert min(missing[unit] for unit in SLOW) > 200
    assert missing[HEALTHY] == 0

    async def run() -> tuple[dict[int, list[Sample]], list[str], int]:
        clock = SystemClock()
        units = (*SLOW, HEALTHY)
        far = FarEnd(TCP, lambda: clock.now().mono_us, units)
        script = Script(script_of(listed))
        host = FaultyHost(TCP, script, far)
        told: dict[int, list[Sample]] = {unit: [] for unit in units}
        wrong: list[str] = []
        enough = asyncio.Event()

        def take(samples: tuple[Sample, ...], now: Instant) -> None:
            for sample in samples:
                told[int(sample.channel[1])].append(sample)
                if sample.value is not None and (text := far.judge(sample)):
                    wrong.append(text)
            if len(told[HEALTHY]) >= 3 * SLOTS:
                enough.set()

        devices = faulty_devices("bench", units, TIMEOUT_S)
        channels = faulty_channels(units, round(PERIOD_S * 1e6))
        known = {device.name: faulty_profile() for device in devices}
        bus = PollBus(await host.listen("bench"), devices, channels, clock, take, profiles=known, jitter=lambda: 0.5)
        running = asyncio.create_task(bus.run())
        waiting = asyncio.create_task(enough.wait())
        await asyncio.wait((running, waiting), timeout=100 * PERIOD_S, return_when=asyncio.FIRST_COMPLETED)
        foreign = bus.health().foreign_frames
        assert enough.is_set()
        assert not running.done()
        for task in (running, waiting):
            task.cancel()
        await asyncio.wait((running, waiting))
        await host.close()
        return told, wrong, foreign

    told, wrong, foreign = asyncio.run(run())
    assert wrong == []
    assert foreign > 0  # late answers did come
    for unit in SLOW:
        assert any(sample.value is not None for sample in told[unit])
        assert any(sample.fault is Failure.SILENT for sample in told[unit])
    healthy = sorted({sample.at.mono_us for sample in told[HEALTHY]})
    good = sum(sample.value is not None for sample in told[HEALTHY])
    assert good >= 0.9 * len(told[HEALTHY])
    spans = [later - earlier for earlier, later in pairwise(healthy)]
    assert sum(spans) / len(spans) == pytest.approx(PERIOD_S * 1e6, rel=0.1)
