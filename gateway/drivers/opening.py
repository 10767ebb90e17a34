"""Opening a port or a connection: why it failed in a technician's words, who else has it, the options that matter."""

import asyncio
import errno
import fcntl
import grp
import logging
import os
import socket
import stat
import termios
from contextlib import suppress
from pathlib import Path

from gateway.site import Bus

__all__ = ["claim", "holders", "release", "tune", "why_not_open"]

log = logging.getLogger(__name__)

_PSEUDO_TERMINALS = "/dev/pts/"
_PROBE_AFTER_S, _PROBE_EVERY_S, _PROBES = 10, 5, 3  # of a TCP connection on which nothing passes
_UNACKNOWLEDGED_S = 10  # the longest that anything sent on it, a probe too, may go without an acknowledgement


def why_not_open(where: str, cause: Exception | None, *, serial: bool) -> str:
    """The usual reasons as something to do about them; any other as it came."""
    number = cause.errno if isinstance(cause, OSError) else None
    if isinstance(cause, termios.error):
        number = cause.args[0]
    if serial and number == errno.ENOENT:
        return f"there is no port {where}; is the adapter plugged in?"
    if serial and number in {errno.EBUSY, errno.EAGAIN}:
        others = holders(where)
        return f"{where} is in use by another program" + (f": {', '.join(others)}; stop it first" if others else "")
    if number in {errno.EACCES, errno.EPERM}:
        return f"no permission to open {where}{_whose(where) if serial else ''}"
    if serial and number == errno.EINVAL:
        return f"{where} cannot be set to this baud, parity and stop bits; what its adapter can do, `scan` tries out"
    if isinstance(cause, socket.gaierror):
        return f"nobody knows a host of the name in {where}; give its number, as 192.168.10.20"
    if number == errno.ECONNREFUSED:
        return f"{where} refuses the connection: no Modbus TCP server is listening there"
    return f"cannot open {where}: {cause or 'no reason given'}"


def _whose(port: str) -> str:
    """How to get into the group that owns a port; nothing when that is not what is missing."""
    with suppress(OSError, KeyError):
        found = Path(port).stat()
        group = grp.getgrgid(found.st_gid)
        if found.st_mode & stat.S_IRGRP and found.st_mode & stat.S_IWGRP and group.gr_gid not in os.getgroups():
            return (
                f": it belongs to the group {group.gr_name}; `sudo usermod -aG {group.gr_name} USER`, and log in again"
            )
    return ""


def holders(port: str) -> tuple[str, ...]:
    """The other programs that have this port open, as `mbpoll (process 4711)`; only those we are allowed to see."""
    real = os.path.realpath(port)
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        if int(process.name) == os.getpid():
            continue
        with suppress(OSError):
            if any(_leads_to(entry, real) for entry in (process / "fd").iterdir()):
                found.append(f"{(process / 'comm').read_text().strip()} (process {process.name})")
    return tuple(sorted(found))


def claim(transport: asyncio.Transport, bus: Bus) -> None:
    """Keeps a serial port, already locked against programs that ask (flock), from those that do not (TIOCEXCL).

    One that had it open before takes bytes of our answers: that is told. A pseudo-terminal is left as it is: it would
    stay closed to everyone after a program that died.
    """
    if os.path.realpath(bus.port).startswith(_PSEUDO_TERMINALS):
        return
    _exclusive(transport, termios.TIOCEXCL)
    for other in holders(bus.port):
        log.warning("bus %s: %s is also open in %s, which will take some of its bytes", bus.name, bus.port, other)


def release(transport: asyncio.Transport) -> None:
    """Throws away what the port has not sent, for closing it would wait for that, and lets others open it again."""
    port = getattr(transport, "sync_serial", None)
    if port is None:
        return
    with suppress(OSError, termios.error):  # it may be unplugged
        termios.tcflush(port.fileno(), termios.TCOFLUSH)
    _exclusive(transport, termios.TIOCNXCL)


def tune(transport: asyncio.Transport) -> None:
    """No waiting to fill segments, and a peer that vanished is noticed in seconds, not hours.

    `TCP_USER_TIMEOUT` (RFC 5482) on Linux also bounds the probes: whoever is gone is noticed in under 30 s, whether
    something was sent or not.
    """
    connection: socket.socket = transport.get_extra_info("socket")
    for level, option, value in (
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _PROBE_AFTER_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _PROBE_EVERY_S),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _PROBES),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 1000 * _UNACKNOWLEDGED_S),
    ):
        connection.setsockopt(level, option, value)


def _exclusive(transport: asyncio.Transport, request: int) -> None:
    port = getattr(transport, "sync_serial", None)
    if port is not None:
        with suppress(OSError, termios.error):
            fcntl.ioctl(port.fileno(), request)


def _leads_to(entry: Path, real: str) -> bool:
    try:
        return str(entry.readlink()) == real
    except OSError:
        return False
