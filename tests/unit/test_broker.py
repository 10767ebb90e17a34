"""The bench's broker, whichever is installed: it starts, passes records on, dies and comes back on the same port."""

import asyncio
from pathlib import Path

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion, MQTTProtocolVersion

from simulators import broker as brokers
from simulators.broker import Broker
from simulators.consumer import Consumer


@pytest.mark.parametrize("name", [pytest.param("mosquitto", marks=pytest.mark.mosquitto), "iotcore"])
def test_each_broker_passes_records_on_also_after_it_was_killed(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A record published before the kill and one published after it both reach who subscribed."""
    if name == "iotcore":
        monkeypatch.setattr(brokers, "_mosquitto", lambda: None)
    broker = Broker(tmp_path)
    assert broker.name == name

    async def publish(record: str) -> None:
        await broker.start()
        consumer = Consumer("manhole/v1", broker.host, broker.port)
        consumer.start()
        sender = Client(CallbackAPIVersion.VERSION2, client_id="sender", protocol=MQTTProtocolVersion.MQTTv5)
        sender.connect(broker.host, broker.port)
        sender.loop_start()
        try:
            async with asyncio.timeout(30):
                while record not in consumer.ids:  # it subscribes when it likes: say it until it is heard
                    sender.publish("manhole/v1/site/event", f'{{"id": "{record}"}}', qos=1)
                    await asyncio.sleep(0.05)
        finally:
            sender.disconnect()
            sender.loop_stop()
            consumer.stop()
            await broker.kill()

    async def story() -> None:
        await publish("before")
        await publish("after")

    asyncio.run(story())
