"""Where a technician points a command: a serial port by its path, or a Modbus TCP server by its address."""

from dataclasses import dataclass, replace
from pathlib import Path

from gateway.errors import InputError
from gateway.site import Bus

__all__ = ["Setting", "bus_of", "is_serial", "serial_ports", "with_setting"]

_TCP_PORT = 502  # Modbus messaging on TCP/IP, 4.2.1
_BY_NAME = ("/dev/serial/by-path", "/dev/serial/by-id")
_BARE = ("ttyUSB*", "ttyACM*", "ttyAMA*", "ttySC*", "ttyS[0-3]")


@dataclass(frozen=True, slots=True)
class Setting:
    """How the characters of a serial line are sent: `9600 8N1`."""

    baud: int
    parity: str
    stop_bits: int

    def __str__(self) -> str:
        return f"{self.baud} 8{self.parity}{self.stop_bits}"


def is_serial(where: str) -> bool:
    """Whether this names a serial port: a path, or `COM3`; everything else is a host."""
    return where.startswith(("/", "./", "../", "COM"))


def bus_of(where: str, setting: Setting, kind: str = "") -> Bus:
    """The bus at a serial path or at `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`. InputError for a port that is no number.

    `kind` overrides what the place suggests (`modbus-rtu` on a path, `modbus-tcp` on a host).
    """
    if is_serial(where):
        # Modbus ASCII sends seven data bits (Modbus over serial line 2.5.2).
        bus = Bus("line", kind or "modbus-rtu", port=where, data_bits=7 if kind == "modbus-ascii" else 8)
        return with_setting(bus, setting)
    host, port = where, str(_TCP_PORT)
    if where.startswith("["):
        host, _, rest = where[1:].partition("]")
        port = rest.removeprefix(":") or port
    elif where.count(":") == 1:
        host, _, port = where.partition(":")
    if not host or not port.isdecimal() or not 1 <= int(port) <= 65_535:
        raise InputError(f"{where}: neither a serial port (/dev/...) nor HOST or HOST:PORT")
    return Bus("line", kind or "modbus-tcp", host=host, tcp_port=int(port))


def with_setting(bus: Bus, setting: Setting) -> Bus:
    """The same line with other characters."""
    return replace(bus, baud=setting.baud, parity=setting.parity, stop_bits=setting.stop_bits)


def serial_ports() -> tuple[str, ...]:
    """The serial ports of this machine by names that stay the same after a restart; bare names where there are none."""
    for folder in _BY_NAME:
        named = sorted(str(path) for path in Path(folder).glob("*"))
        if named:
            return tuple(named)
    return tuple(sorted(str(path) for pattern in _BARE for path in Path("/dev").glob(pattern)))
