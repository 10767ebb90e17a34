"""The requests that outputs are moved with: one write, its read-back, the arming of a module's own watchdog."""

from collections.abc import Awaitable, Callable

from gateway.drivers import profiles as profile_files
from gateway.drivers.modbus import ModbusLine
from gateway.drivers.writes import write_coil, write_register
from gateway.outputs.wired import Output
from gateway.site import Device

__all__ = ["arming", "read_back", "value_of", "write"]


def value_of(output: Output, on: bool) -> int:
    """What stands in the coil or register of an output that is on, or off."""
    return output.on if on else output.off


async def write(line: ModbusLine, device: Device, output: Output, on: bool) -> None:
    """One write, confirmed. Raises DriverError."""
    value = value_of(output, on)
    pdu = write_coil(output.address, value == 1) if output.kind == "coil" else write_register(output.address, value)
    await line.command(device.unit, pdu, device.timeout_us / 1e6)


async def read_back(line: ModbusLine, device: Device, output: Output) -> int:
    """What stands there now. Raises DriverError."""
    function = 1 if output.kind == "coil" else 3
    return (await line.read(device.unit, function, output.address, 1, device.timeout_us / 1e6))[0]


def arming(device: Device) -> Callable[[ModbusLine], Awaitable[None]] | None:
    """How the watchdog of this module is armed; None where it has none, or the site file asks for none."""
    if device.watchdog_us is None:
        return None
    watchdog = profile_files.load(device.profile, device.overrides).quirks.watchdog
    if watchdog is None:
        return None
    pdu = write_register(watchdog.address, watchdog.value(device.watchdog_us))
    return lambda line: line.command(device.unit, pdu, device.timeout_us / 1e6)
