"""MQTT 5 over paho: the only module that knows paho.

Paho keeps nothing on disk, ignores the broker's Receive Maximum, re-sends its own queue after a reconnect and calls a
refused publish a success unless `on_publish` is read. So one paho client lives for one connection only: the journal is
the session, the window is ours, and a new connection starts at the lowest record without an answer.
"""

import asyncio
import logging
import socket
import ssl
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode, MQTTProtocolVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

from gateway.errors import DeliveryError, Refused, TryLater
from gateway.sinks.mqtt_options import MqttOptions, TlsFiles
from gateway.sinks.outgoing import Publish

__all__ = ["Answered", "Connected", "Lost", "Session"]

log = logging.getLogger(__name__)

_TAKEN_OVER = 142  # MQTT 5, 2.4: another client connected with our id
_COMES_BACK = frozenset({145, 151})  # packet id in use, quota exceeded: true of this moment only
_CONNECT_TIMEOUT_S = 5.0
_JOIN_S = 10.0


@dataclass(frozen=True, slots=True)
class Connected:
    """The broker took us: how many publishes it takes at once, and how large a packet may be (0: any size)."""

    receive_maximum: int
    maximum_packet: int = 0


@dataclass(frozen=True, slots=True)
class Answered:
    """One PUBACK, read: None is accepted, else what became of the publish."""

    packet_id: int
    error: DeliveryError | None


@dataclass(frozen=True, slots=True)
class Lost:
    """The connection is over, or never was. `taken_over` when a second client came with our id."""

    reason: str
    taken_over: bool = False


class Session:
    """One connection from CONNECT to its end, in paho's own thread; what happens arrives in `events`.

    Call from the event loop only. Callbacks run in paho's thread, some under its locks: they only pass an event on.
    """

    def __init__(self, options: MqttOptions, client_id: str, will: Publish) -> None:
        self.events: asyncio.Queue[Connected | Answered | Lost] = asyncio.Queue()
        self._options = options
        self._client_id = client_id
        self._will = will
        self._client: paho.Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over = False
        self._tls_failure = ""

    def open(self) -> None:
        """Start connecting and return at once. OSError when a certificate or the password file cannot be read."""
        options = self._options
        client = paho.Client(
            CallbackAPIVersion.VERSION2,
            self._client_id,
            protocol=MQTTProtocolVersion.MQTTv5,
            reconnect_on_failure=False,
        )
        client.suppress_exceptions = True  # an exception in a callback would end paho's thread without a word
        client.connect_timeout = _CONNECT_TIMEOUT_S
        client.max_inflight_messages_set(0)  # no limit of paho's own: ours comes first
        client.reconnect_delay_set(0, 0)
        if options.username:
            password = _first_line(options.password_file) if options.password_file else None
            client.username_pw_set(options.username, password)
        if options.tls is not None:
            client.tls_set_context(_tls_context(options.tls, self._note_tls_failure))
        client.will_set(self._will.topic, self._will.payload, qos=1, retain=self._will.retain)
        client.on_connect = self._on_connect
        client.on_connect_fail = self._on_connect_fail
        client.on_disconnect = self._on_disconnect
        client.on_publish = self._on_publish
        client.on_socket_open = self._on_socket_open
        self._loop = asyncio.get_running_loop()
        self._client = client
        # Without a Session Expiry Interval it is 0 (MQTT 5, 3.1.2.11.2): the broker keeps nothing of us.
        client.connect_async(options.host, options.port, keepalive=options.keepalive_s, clean_start=True)
        client.loop_start()

    def send(self, publish: Publish) -> int | None:
        """Hand one publish to paho; its packet id, or None when the connection is gone."""
        if self._client is None or self._over:
            return None
        info = self._client.publish(publish.topic, publish.payload, qos=1, retain=publish.retain)
        return info.mid if info.rc == MQTTErrorCode.MQTT_ERR_SUCCESS else None

    def give_up(self, reason: str) -> None:
        """End it from our side: `Lost` is the next event that counts."""
        self.events.put_nowait(Lost(reason))

    async def close(self, clean: bool) -> None:
        """End the connection and wait for paho's thread, so that no two clients of ours ever share an id.

        `clean` says DISCONNECT first, which makes the broker forget the will.
        """
        client, self._client = self._client, None
        if client is None:
            return
        if clean:
            client.disconnect()
        self._over = True
        ended = asyncio.Event()
        threading.Thread(target=self._join, args=(client, ended), name="mqtt close", daemon=True).start()
        if clean:
            with suppress(TimeoutError):
                await asyncio.wait_for(ended.wait(), 1.0)
        # Paho's thread stops by itself only when nothing is unanswered; a closed socket convinces it in any case.
        client.drop_out_messages()
        _shut(client.socket())
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), _JOIN_S)

    def _join(self, client: paho.Client, ended: asyncio.Event) -> None:
        client.loop_stop()
        self._call(ended.set)

    def _call(self, what: Any, *arguments: Any) -> None:
        if self._loop is not None:
            with suppress(RuntimeError):  # the loop is closed: nobody is left to be told
                self._loop.call_soon_threadsafe(what, *arguments)

    def _tell(self, event: Connected | Answered | Lost) -> None:
        self._call(self.events.put_nowait, event)

    def _on_connect(
        self, _client: paho.Client, _data: Any, _flags: Any, reason: ReasonCode, properties: Properties | None
    ) -> None:
        if reason.is_failure:
            self._tell(Lost(f"the broker refused the connection: {reason} ({reason.value})"))
            return
        # Absent means the protocol's own maximum, MQTT 5, 3.2.2.3.3.
        receive_maximum = int(getattr(properties, "ReceiveMaximum", 65535))
        self._tell(Connected(receive_maximum, int(getattr(properties, "MaximumPacketSize", 0))))

    def _on_connect_fail(self, _client: paho.Client, _data: Any) -> None:
        # Paho keeps the exception to itself; only a failed handshake has left its words here.
        why = self._tls_failure or "no connection to"
        self._tell(Lost(f"{why} {self._options.host} port {self._options.port}"))

    def _note_tls_failure(self, error: Exception) -> None:
        self._tls_failure = f"TLS failed ({error}) with"

    def _on_disconnect(
        self, _client: paho.Client, _data: Any, _flags: Any, reason: ReasonCode, _properties: Properties | None
    ) -> None:
        self._tell(Lost(f"connection lost: {reason}", reason.value == _TAKEN_OVER))

    def _on_publish(
        self, _client: paho.Client, _data: Any, packet_id: int, reason: ReasonCode, _properties: Properties
    ) -> None:
        # Paho holds a lock here that publish() needs: pass it on and be gone.
        self._tell(Answered(packet_id, _verdict(reason)))

    def _on_socket_open(self, _client: paho.Client, _data: Any, sock: Any) -> None:
        if self._over:  # a connection that came too late must not push out its successor
            _shut(sock)


def _verdict(reason: ReasonCode) -> DeliveryError | None:
    """What a PUBACK's reason code says; 16, nobody subscribed, is a success (MQTT 5, 3.4.2.1)."""
    if not reason.is_failure:
        return None
    words = f"{reason} ({reason.value})"
    return TryLater(words) if reason.value in _COMES_BACK else Refused(words)


def _shut(sock: Any) -> None:
    if isinstance(sock, socket.socket):
        with suppress(OSError):
            # Past the TLS layer on purpose: its own shutdown is not safe while paho's thread reads.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _first_line(path: str) -> str:
    return Path(path).read_text(encoding="utf-8").split("\n", 1)[0].rstrip("\r")


def _tls_context(files: TlsFiles, note_failure: Callable[[Exception], None]) -> ssl.SSLContext:
    class Socket(ssl.SSLSocket):
        """Says why a handshake failed, and closes itself then: paho would do neither."""

        def do_handshake(self, block: bool = False) -> None:
            try:
                super().do_handshake(block)
            except OSError as error:
                note_failure(error)
                self.close()
                raise

    context = ssl.create_default_context(cafile=files.ca or None)
    context.sslsocket_class = Socket
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if files.cert:
        context.load_cert_chain(files.cert, files.key)
    return context
