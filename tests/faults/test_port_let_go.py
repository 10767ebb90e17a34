"""A serial port that cannot be set as asked is not kept: a scan goes on, and nobody is said to use it."""

import asyncio
import os
import tty

import pytest

from gateway.drivers.modbus import ModbusLine
from gateway.errors import BusDown
from gateway.site import Bus


def test_a_port_that_refuses_a_setting_is_free_at_once() -> None:
    """A pseudo-terminal knows no parity: it says so every time, and opens without one right after."""

    async def scenario() -> None:
        master, slave = os.openpty()
        tty.setraw(slave)
        path = os.ttyname(slave)
        plain = ModbusLine(Bus("bench", "modbus-rtu", port=path, baud=9600))
        await plain.open()
        plain.close()
        refused = ModbusLine(Bus("bench", "modbus-rtu", port=path, baud=19200, parity="E"))
        for _ in range(3):
            with pytest.raises(BusDown, match="cannot be set to this baud"):
                await refused.open()
            await plain.open()
            plain.close()
        os.close(master)
        os.close(slave)

    asyncio.run(scenario())
