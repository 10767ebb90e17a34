"""The end of a conversation over a blocking socket, however slowly the other side talks.

The time-outs of sockets begin anew with every byte: a tarpit that sends one every few seconds holds a thread for ever.
"""

import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

__all__ = ["OuterDeadline"]


class OuterDeadline:
    """Use as a context around a conversation: past `after_s` the socket under it is shut, and reads as closed.

    `socket_of` is asked at that moment, from another thread; None says that there is none (any more).
    """

    def __init__(self, after_s: float, socket_of: Callable[[], socket.socket | None]) -> None:
        self._socket_of = socket_of
        self._timer = threading.Timer(after_s, self._cut)
        self._timer.daemon = True

    def __enter__(self) -> Self:
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()

    def _cut(self) -> None:
        sock = self._socket_of()
        if sock is not None:
            try:
                # Of the plain socket, also under TLS: a farewell would wait for the other side.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)
            except OSError:
                return  # closed meanwhile
