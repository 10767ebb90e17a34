"""A real mosquitto for one test, and a consumer that remembers what it was sent."""

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

import paho.mqtt.client as paho
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from tests.programs import find

__all__ = ["Broker", "Consumer", "Received", "free_port", "wait_for"]

PATIENCE_S = 15.0


def free_port() -> int:
    """A TCP port of the loopback that nobody uses at this moment."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def wait_for(holds: Callable[[], object], what: str) -> None:
    """Wait, from outside any event loop, until something holds; AssertionError naming it when it never does."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE_S:g} s for {what}")
        time.sleep(0.01)


@dataclass
class Broker:
    """mosquitto on a loopback port, with its files in `folder`. Use as a context, or `start` and `stop`.

    `lines` are added to its configuration after the listener's own; a broker restarted keeps its port.
    """

    folder: Path
    lines: Sequence[str] = ()
    port: int = field(default_factory=free_port)
    anonymous: bool = True
    process: "subprocess.Popen[bytes] | None" = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Start it and wait until its port answers."""
        program = find("mosquitto")
        assert program is not None, "mark the test with pytest.mark.mosquitto"
        config = self.folder / "mosquitto.conf"
        user = ["user root"] if os.geteuid() == 0 else []  # else it drops its rights and cannot read the test's files
        anonymous = f"allow_anonymous {str(self.anonymous).lower()}"
        own = [f"listener {self.port} 127.0.0.1", *user, anonymous, "persistence false", "log_dest stderr"]
        config.write_text("\n".join([*own, *self.lines]) + "\n", encoding="utf-8")
        with (self.folder / "mosquitto.log").open("ab") as log:
            self.process = subprocess.Popen([str(program), "-c", str(config)], stdout=log, stderr=log)
        wait_for(self._answers, f"mosquitto on port {self.port}; its log: {self.folder / 'mosquitto.log'}")

    def kill(self) -> None:
        """kill -9, and nothing remembered."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def restart(self) -> None:
        """kill -9 and start again on the same port."""
        self.kill()
        self.start()

    def pause(self) -> None:
        """Stop it in its tracks: the kernel still accepts and buffers, nobody answers."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """Let it go on."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def stop(self) -> None:
        """End it."""
        if self.process is not None:
            self.process.send_signal(signal.SIGCONT)
            self.process.terminate()
            self.process.wait()
            self.process = None

    def _answers(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.folder / "mosquitto.log").read_text(encoding="utf-8")
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


@dataclass(frozen=True)
class Received:
    """One message as it arrived."""

    topic: str
    body: Any
    retained: bool


@dataclass
class Consumer:
    """Subscribes to `topics` and keeps every message in `messages`, in order; comes back after a broker's restart."""

    port: int
    topics: str = "#"
    prepare: Callable[[paho.Client], None] = lambda _: None
    host: str = "127.0.0.1"
    messages: list[Received] = field(default_factory=list)
    subscribed: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        client = paho.Client(CallbackAPIVersion.VERSION2, protocol=MQTTProtocolVersion.MQTTv5)
        client.reconnect_delay_set(1, 1)
        client.on_connect = lambda c, *_: c.subscribe(self.topics, qos=1)
        client.on_subscribe = lambda *_: self.subscribed.set()
        client.on_disconnect = lambda *_: self.subscribed.clear()
        client.on_message = self._keep
        self.prepare(client)
        client.connect_async(self.host, self.port)
        client.loop_start()
        self._client = client
        assert self.subscribed.wait(PATIENCE_S), "the consumer could not subscribe"
        return self

    def __exit__(self, *_: object) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def of(self, topic: str) -> list[Any]:
        """The bodies that came on one topic, in order."""
        return [message.body for message in tuple(self.messages) if message.topic == topic]

    def ids(self, topic: str) -> list[str]:
        """The record ids of one topic in order of first arrival."""
        return list(dict.fromkeys(body["id"] for body in self.of(topic)))

    def _keep(self, _client: paho.Client, _data: object, message: paho.MQTTMessage) -> None:
        body = json.loads(message.payload) if message.payload else None
        self.messages.append(Received(message.topic, body, message.retain))
