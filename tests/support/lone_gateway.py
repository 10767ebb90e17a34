"""A process with nothing in it but an MQTT sink, to be killed by a test (`-m tests.support.lone_gateway PORT`)."""

import asyncio
import sys

from gateway.clock import SystemClock
from gateway.sinks.mqtt_sink import MqttSink
from tests.support.small_site import mqtt_part, small_site

if __name__ == "__main__":
    asyncio.run(MqttSink(mqtt_part(int(sys.argv[1])), small_site(), SystemClock()).run())
