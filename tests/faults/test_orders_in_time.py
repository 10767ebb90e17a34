"""An order goes out in its time or not at all, however long another device has the line. A real pty."""

import asyncio
from dataclasses import replace

import pytest

from gateway.clock import SystemClock
from gateway.drivers.bus import PollBus
from gateway.drivers.outputs import OutputLines
from gateway.model import Instant, Note, Order
from gateway.outputs.wired import Carried, Output, OutputRole, Result
from tests.support.polling import Deliveries, polling, run, serial
from tests.support.scripted_devices import Devices, SerialDevices, channel, device, profile
from tests.support.wired_site import wired_site

# a register that reads back 209, whatever was written, is on
OUTPUT = Output("pace", "d2", OutputRole.SAMPLER_PACE, "register", 9, on=209, pulse_us=1, safe="hold")


@pytest.mark.parametrize("action", ["on", "pulse"])
def test_an_order_that_waited_for_the_line_past_its_time_is_not_sent(action: str) -> None:
    """While a silent device has the line for 400 ms an order of 100 ms expires, unwritten; one of 10 s is carried out.

    A pulse of the sampler that goes out late is in the bottle, and voids its composite.
    """

    async def scenario() -> None:
        peer = SerialDevices(Devices())
        bus = PollBus(
            serial(peer), [device(1, 400_000), device(2)], [channel("d1", 0, 500_000)], SystemClock(),
            Deliveries().deliver, profiles={"d1": profile(0)},
        )  # fmt: skip
        site = replace(wired_site(outputs=(OUTPUT,)), devices={"d1": device(1), "d2": device(2)})
        ends: list[Carried] = []
        notes: list[Note] = []
        clock = SystemClock()
        lines = OutputLines(site, [bus], clock, ends.append, notes.append, frozenset)

        def order(what: str, lasts_us: int) -> Order:
            now = clock.now()
            expires = Instant(now.utc_us + lasts_us, now.mono_us + lasts_us)
            return Order("pace", what, now, expires, "test", f"{what} {lasts_us}")

        async with polling(bus) as until, asyncio.TaskGroup() as group:
            serving = group.create_task(lines.run())
            await until(lambda: bool(notes))  # of the start, which leaves it as it is
            peer.devices.silent.add(1)
            asked = len(peer.devices.of(1))
            await until(lambda: len(peer.devices.of(1)) > asked)  # and 400 ms begin, in which nobody else is asked
            lines.take([order(action, 100_000)])
            await until(lambda: bool(ends))
            assert peer.devices.of(2) == []
            lines.take([order("on", 10_000_000)])
            await until(lambda: len(ends) == 2)
            serving.cancel()
        peer.close()
        assert [end.result for end in ends] == [Result.EXPIRED, Result.DONE]
        assert "when the line was free" in ends[0].why
        assert [asked.function for asked in peer.devices.of(2)] == [6, 3]

    run(scenario)
