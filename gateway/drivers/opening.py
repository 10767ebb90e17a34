"""Opening a port or a connection: the reason it failed in a technician's words, and the socket options that matter."""

import asyncio
import errno
import socket

__all__ = ["tune", "why_not_open"]


def why_not_open(where: str, cause: Exception | None, *, serial: bool) -> str:
    """The usual reasons as something to do about them; any other as it came."""
    number = cause.errno if isinstance(cause, OSError) else None
    if serial and number == errno.ENOENT:
        return f"there is no port {where}; is the adapter plugged in?"
    if serial and number in {errno.EBUSY, errno.EAGAIN}:
        return f"{where} is in use by another program"
    if number in {errno.EACCES, errno.EPERM}:
        return f"no permission to open {where}"
    if number == errno.ECONNREFUSED:
        return f"{where} refuses the connection: no Modbus TCP server is listening there"
    return f"cannot open {where}: {cause or 'no reason given'}"


def tune(transport: asyncio.BaseTransport) -> None:
    """No waiting to fill segments, and a peer that vanished is noticed in seconds, not hours."""
    connection: socket.socket = transport.get_extra_info("socket")
    for level, option, value in (
        (socket.IPPROTO_TCP, socket.TCP_NODELAY, 1),
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10),
        (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5),
        (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 3),
        (socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, 10_000),
    ):
        connection.setsockopt(level, option, value)
