"""The MQTT sink and its delivery against a real mosquitto: nothing lost, whatever happens to the broker."""

import asyncio
import subprocess
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.clock import SystemClock
from gateway.model import Instant, Quality, Reading
from gateway.sinks.contract import Pace
from gateway.sinks.delivery import Delivery
from gateway.sinks.mqtt_sink import MqttSink
from tests.programs import find
from tests.support.listed_source import Listed, ListedSource, reading_record
from tests.support.mosquitto import Broker, Consumer, wait_for
from tests.support.small_site import mqtt_part, small_site

pytestmark = pytest.mark.mosquitto

ROOT = Path(__file__).resolve().parents[2]
BASE = "manhole/v1/lv-mh3"
QUICK = Pace(live_first_above=100_000, hist_per_s=1e6, retry_base_s=0.01, retry_cap_s=0.1)


def gateway(port: int, source: ListedSource, pace: Pace = QUICK, **options: Any) -> tuple[MqttSink, Delivery]:
    """A sink for that port and its delivery from that source."""
    sink = MqttSink(mqtt_part(port, **options), small_site(), SystemClock())
    return sink, Delivery(sink, source, SystemClock(), pace)


async def until(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    await asyncio.to_thread(wait_for, holds, what)


async def during(delivery: Delivery, test: Coroutine[Any, Any, Any]) -> None:
    """Run the delivery and its sink while the test goes on, then stop them cleanly."""
    task = asyncio.create_task(delivery.run())
    try:
        await asyncio.wait_for(test, 30)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def names(*numbers: int) -> list[str]:
    """Record ids."""
    return [f"lv-mh3-{n}" for n in numbers]


def note(seq: int) -> Listed:
    """A note, which goes to the event topic."""
    return Listed(seq, "note", Instant(seq, seq), {"kind": "started"})


def test_every_record_arrives_in_order(tmp_path: Path) -> None:
    """What the consumer has, by unique id and first occurrence, is what the source holds."""

    async def run(broker: Broker, consumer: Consumer) -> None:
        source = ListedSource([reading_record(n) for n in range(1, 1001)])
        sink, delivery = gateway(broker.port, source)
        await during(delivery, delivery.drained())
        await until(lambda: len(consumer.ids(f"{BASE}/telemetry")) == 1000, "the last reading")
        assert consumer.ids(f"{BASE}/telemetry") == names(*range(1, 1001))
        assert sink.state.connections == 1

    with Broker(tmp_path) as broker, Consumer(broker.port) as consumer:
        asyncio.run(run(broker, consumer))


def test_a_broker_killed_in_the_middle_loses_nothing_for_good(tmp_path: Path) -> None:
    """kill -9 and restart: all arrive; what the broker had acknowledged and forgot comes with a replay of the range."""

    async def run(broker: Broker, consumer: Consumer) -> None:
        source = ListedSource([reading_record(n) for n in range(1, 401)])
        sink, delivery = gateway(broker.port, source)

        async def test() -> None:
            await until(lambda: len(consumer.messages) > 100, "the first readings")
            await asyncio.to_thread(broker.kill)
            await until(lambda: not sink.state.connected, "the sink to notice")
            source.listed.extend(reading_record(n) for n in range(401, 2001))
            delivery.wake()
            await asyncio.to_thread(broker.start)
            await delivery.drained()
            assert source.stored_cursor == 2000
            assert source.parked == {}
            assert await asyncio.to_thread(consumer.subscribed.wait, 10)
            replayed = await delivery.replay(1, 2000)
            assert (replayed.acknowledged, replayed.rejected) == (2000, 0)
            await until(lambda: len(consumer.ids(f"{BASE}/telemetry")) == 2000, "all readings")
            assert set(consumer.ids(f"{BASE}/telemetry")) == set(names(*range(1, 2001)))
            assert sink.state.connections >= 2
            assert any(body["hist"] for body in consumer.of(f"{BASE}/telemetry"))

        await during(delivery, test())

    with Broker(tmp_path) as broker, Consumer(broker.port) as consumer:
        asyncio.run(run(broker, consumer))


def test_a_topic_the_broker_denies_is_parked_and_the_others_go_on(tmp_path: Path) -> None:
    """Under an ACL without the event topic every event is parked with the reason, every reading arrives."""

    async def run(broker: Broker, consumer: Consumer) -> None:
        source = ListedSource([note(n) if n % 10 == 0 else reading_record(n) for n in range(1, 101)])
        _, delivery = gateway(broker.port, source)
        await during(delivery, delivery.drained())
        events = [n for n in range(1, 101) if n % 10 == 0]
        await until(lambda: len(consumer.ids(f"{BASE}/telemetry")) == 90, "the readings")
        assert consumer.ids(f"{BASE}/telemetry") == names(*(n for n in range(1, 101) if n not in events))
        assert source.parked == dict.fromkeys(events, f"{BASE}/event: Not authorized (135)")
        assert (delivery.counts.acknowledged, delivery.counts.rejected, delivery.counts.unsent) == (90, 10, 0)

    acl = tmp_path / "acl"
    allowed = [f"topic readwrite {BASE}/{name}" for name in ("telemetry", "status", "meta", "channel/#")]
    acl.write_text("\n".join(allowed) + "\n", encoding="utf-8")
    acl.chmod(0o600)
    with Broker(tmp_path, [f"acl_file {acl}"]) as broker, Consumer(broker.port) as consumer:
        asyncio.run(run(broker, consumer))


def test_a_small_receive_maximum_is_taken_from_the_broker(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """mosquitto's max_inflight_messages becomes our window, and everything still arrives."""
    caplog.set_level("INFO", logger="gateway.sinks.mqtt_sink")

    async def run(broker: Broker, consumer: Consumer) -> None:
        source = ListedSource([reading_record(n) for n in range(1, 101)])
        _, delivery = gateway(broker.port, source)
        await during(delivery, delivery.drained())
        await until(lambda: len(consumer.ids(f"{BASE}/telemetry")) == 100, "the readings")

    with Broker(tmp_path, ["max_inflight_messages 2"]) as broker, Consumer(broker.port) as consumer:
        asyncio.run(run(broker, consumer))
    assert "window 2," in caplog.text


def test_a_gateway_killed_is_reported_by_its_will(tmp_path: Path) -> None:
    """kill -9 of the process: the broker itself turns the retained status to offline, and says why."""
    with Broker(tmp_path) as broker, Consumer(broker.port, f"{BASE}/status") as consumer:
        command = [sys.executable, "-m", "tests.support.lone_gateway", str(broker.port)]
        with subprocess.Popen(command, cwd=ROOT) as process:
            wait_for(lambda: consumer.of(f"{BASE}/status"), "the birth")
            assert consumer.of(f"{BASE}/status")[-1]["state"] == "online"
            process.kill()
        wait_for(lambda: len(consumer.of(f"{BASE}/status")) == 2, "the will")
        with Consumer(broker.port, f"{BASE}/status") as latecomer:
            wait_for(lambda: latecomer.messages, "the retained status")
            assert latecomer.messages[0].retained
            will = latecomer.messages[0].body
        assert (will["state"], will["why"]) == ("offline", "connection lost")
        assert "ts" not in will


def test_a_clean_stop_says_goodbye_itself(tmp_path: Path) -> None:
    """Stopped by its own hand the gateway publishes offline, stopped, and the broker forgets the will."""

    async def run(broker: Broker, consumer: Consumer) -> None:
        _, delivery = gateway(broker.port, ListedSource([reading_record(1)]))
        await during(delivery, delivery.drained())
        await asyncio.sleep(0.2)  # time for a will that must not come

    with Broker(tmp_path) as broker, Consumer(broker.port, f"{BASE}/status") as consumer:
        asyncio.run(run(broker, consumer))
        states = [(body["state"], body.get("why")) for body in consumer.of(f"{BASE}/status")]
        assert states == [("online", None), ("offline", "stopped")]


def test_a_broker_that_stands_still_is_left_and_found_again(tmp_path: Path) -> None:
    """SIGSTOP leaves the connection half open; the missing PUBACK ends it, and after SIGCONT everything arrives."""

    async def run(broker: Broker, consumer: Consumer) -> None:
        source = ListedSource([reading_record(n) for n in range(1, 51)])
        sink, delivery = gateway(broker.port, source, ack_timeout="400 ms")

        async def test() -> None:
            await delivery.drained()
            broker.pause()
            source.listed.extend(reading_record(n) for n in range(51, 101))
            delivery.wake()
            await until(lambda: "no answer" in sink.state.last_error, "the watchdog")
            assert delivery.counts.unsent > 0
            sink.live(Reading("ph", Instant(0, 0), (), 7.25, Quality.GOOD))
            broker.resume()
            await delivery.drained()
            await until(lambda: len(consumer.ids(f"{BASE}/telemetry")) == 100, "all readings")
            assert consumer.ids(f"{BASE}/telemetry") == names(*range(1, 101))
            await until(lambda: consumer.of(f"{BASE}/channel/ph"), "the live value")
            assert consumer.of(f"{BASE}/status")[-1]["state"] == "online"

        await during(delivery, test())

    with Broker(tmp_path) as broker, Consumer(broker.port) as consumer:
        asyncio.run(run(broker, consumer))


def test_a_broker_that_comes_later_gets_everything(tmp_path: Path) -> None:
    """Started with no broker at all, the gateway goes on taking readings; the broker that appears is served."""

    async def run(broker: Broker) -> None:
        source = ListedSource()
        sink, delivery = gateway(broker.port, source)

        async def test() -> None:
            for n in range(1, 51):
                source.listed.append(reading_record(n))
                sink.live(Reading("ph", Instant(n, n), (), float(n), Quality.GOOD))
                delivery.wake()
                await asyncio.sleep(0.001)
            await until(lambda: sink.state.last_error, "the first failed attempt")
            assert "no connection to" in sink.state.last_error
            await asyncio.to_thread(broker.start)
            await delivery.drained()
            assert source.stored_cursor == 50
            with Consumer(broker.port) as consumer:
                await until(lambda: consumer.of(f"{BASE}/channel/ph"), "the retained value")
                assert [body["value"] for body in consumer.of(f"{BASE}/channel/ph")] == [50.0]

        await during(delivery, test())

    broker = Broker(tmp_path)
    try:
        asyncio.run(run(broker))
    finally:
        broker.stop()


def certificates(folder: Path, openssl: Path) -> None:
    """A certificate authority, the broker's certificate for 127.0.0.1 and the gateway's own."""

    def call(*arguments: str) -> None:
        subprocess.run([str(openssl), *arguments], cwd=folder, check=True, capture_output=True)

    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    call("req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=test authority")
    (folder / "san").write_text("subjectAltName=IP:127.0.0.1\n", encoding="ascii")
    for name in ("broker", "lv-mh3"):
        call("req", *new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        call("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
             "-extfile", "san", "-out", f"{name}.pem")  # fmt: skip


def test_tls_with_a_client_certificate(tmp_path: Path, program: Callable[[str], Path]) -> None:
    """With its certificate the gateway publishes under its own name; without one, or to a stranger, it stays out."""
    certificates(tmp_path, program("openssl"))
    acl = tmp_path / "acl"
    acl.write_text("pattern readwrite manhole/v1/%u/#\n", encoding="utf-8")
    acl.chmod(0o600)
    lines = [
        f"cafile {tmp_path}/ca.pem", f"certfile {tmp_path}/broker.pem", f"keyfile {tmp_path}/broker.key",
        "require_certificate true", "use_identity_as_username true", f"acl_file {acl}",
    ]  # fmt: skip
    ours = {"ca": f"{tmp_path}/ca.pem", "cert": f"{tmp_path}/lv-mh3.pem", "key": f"{tmp_path}/lv-mh3.key"}

    async def run(broker: Broker) -> None:
        source = ListedSource([reading_record(n) for n in range(1, 21)])
        sink, delivery = gateway(broker.port, source, tls=ours)
        await during(delivery, delivery.drained())
        assert (sink.state.connections, source.parked) == (1, {})
        unknown_here = {**ours, "ca": f"{tmp_path}/lv-mh3.pem"}
        for tls, words in (({"ca": ours["ca"]}, "connection lost"), (unknown_here, "CERTIFICATE_VERIFY_FAILED")):
            outsider, delivery = gateway(broker.port, ListedSource([reading_record(1)]), tls=tls)
            await during(delivery, until(lambda sink=outsider: sink.state.last_error, "the refusal"))  # type: ignore[misc]
            assert words in outsider.state.last_error
            assert outsider.state.connections == 0
            assert delivery.counts.published == 0

    with Broker(tmp_path, lines) as broker:
        asyncio.run(run(broker))


def test_the_programs_these_tests_start_are_named() -> None:
    """Where mosquitto is missing these tests are skipped, by name; here it was found."""
    assert find("mosquitto") is not None
