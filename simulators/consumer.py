"""A consumer at the broker that remembers which records reached it: the other end of "nothing lost"."""

import json
import threading

from paho.mqtt.client import Client, ConnectFlags, MQTTMessage
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode

__all__ = ["Consumer"]


class Consumer:
    """Subscribes to everything under a root and keeps the ids of telemetry and events, each once."""

    def __init__(self, root: str, host: str, port: int) -> None:
        self.ids: set[str] = set()
        self.duplicates = 0
        self.messages = 0
        self.listens = threading.Event()  # set while the broker knows what to send here
        self._root = root
        self._lock = threading.Lock()
        self._client = Client(
            CallbackAPIVersion.VERSION2, client_id="bench-consumer", protocol=MQTTProtocolVersion.MQTTv5
        )
        self._client.suppress_exceptions = True
        self._client.reconnect_delay_set(1, 2)
        self._client.on_connect = self._connected
        self._client.on_message = self._message
        self._client.on_subscribe = lambda *_: self.listens.set()
        self._client.on_disconnect = lambda *_: self.listens.clear()
        self._client.connect_async(host, port, keepalive=30)

    def start(self) -> None:
        """Connect in the background and stay connected."""
        self._client.loop_start()

    def stop(self) -> None:
        """Say goodbye."""
        self._client.disconnect()
        self._client.loop_stop()

    def _connected(
        self, client: Client, _: object, __: ConnectFlags, reason: ReasonCode, ___: Properties | None
    ) -> None:
        if not reason.is_failure:
            client.subscribe(f"{self._root}/#", qos=1)

    def _message(self, _: Client, __: object, message: MQTTMessage) -> None:
        kind = message.topic.rsplit("/", 1)[-1]
        with self._lock:
            self.messages += 1
            if kind not in ("telemetry", "event"):
                return
            record = json.loads(message.payload)["id"]
            if record in self.ids:
                self.duplicates += 1
            self.ids.add(record)
