"""The MQTT sink against a scripted peer: window, reason codes, silence, dropped connections, order."""

import asyncio
import json
import random
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from gateway.clock import SystemClock
from gateway.model import Instant, Quality, Reading
from gateway.sinks.contract import Pace
from gateway.sinks.delivery import Delivery
from gateway.sinks.mqtt_sink import MqttSink
from tests.support.listed_source import Listed, ListedSource, reading_record
from tests.support.mosquitto import free_port
from tests.support.mqtt_peer import DROP, HOLD, MqttPeer, Published
from tests.support.small_site import mqtt_part, small_site

BASE = "manhole/v1/lv-mh3"
QUICK = Pace(live_first_above=100_000, hist_per_s=1e6, retry_base_s=0.01, retry_cap_s=0.05)


def alarm_record(seq: int, state: str = "B", alarm: str = "lv-slug-flow") -> Listed:
    """An alarm event as the journal gives it."""
    at = Instant(seq * 1_000_000, seq * 1_000_000)
    body = {"alarm": alarm, "occurrence": 1, "edge": "raised", "severity": 3, "to_state": state, "reason": ""}
    return Listed(seq, "alarm", at, body)


async def until(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    for _ in range(2000):
        if holds():
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"waited for {what}")


async def during(delivery: Delivery, test: Coroutine[Any, Any, Any]) -> None:
    """Run the delivery and its sink while the test goes on, then stop them cleanly."""
    task = asyncio.create_task(delivery.run())
    try:
        await asyncio.wait_for(test, 20)
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task


def telemetry(peer: MqttPeer) -> list[int]:
    """The numbers of the readings that reached the peer, repeats included."""
    return [
        int(json.loads(p.payload)["id"].rsplit("-", 1)[1]) for p in peer.published if p.topic == f"{BASE}/telemetry"
    ]


def test_the_broker_s_receive_maximum_is_honoured_by_everything_together() -> None:
    """Birth, meta, live values and records share one window: never more unanswered than the broker allows."""

    async def run() -> None:
        async with MqttPeer(lambda _: HOLD, receive_maximum=3) as peer:
            sink = MqttSink(mqtt_part(peer.port), small_site(), SystemClock())
            source = ListedSource([reading_record(n) for n in range(1, 41)])
            delivery = Delivery(sink, source, SystemClock(), QUICK)

            async def test() -> None:
                for _ in range(12):
                    await until(lambda: peer.unanswered == 3, "a full window")
                    sink.live(Reading("ph", Instant(0, 0), (), 7.0, Quality.GOOD))
                    sink.publish_health({"ok": True})
                    await asyncio.sleep(0.01)
                    assert peer.unanswered == 3
                    peer.release()
                peer.answer = lambda _: 0
                peer.release()
                await delivery.drained()
                assert sorted(set(telemetry(peer))) == list(range(1, 41))
                assert peer.most_unanswered == 3

            await during(delivery, test())

    asyncio.run(run())


def test_reason_codes_settle_records_one_by_one() -> None:
    """0 and 16 are successes, 135 parks with topic and words, 151 comes back later."""
    given: dict[int, int] = {}

    def answer(published: Published) -> int:
        if published.topic != f"{BASE}/telemetry":
            return 0
        seq = int(json.loads(published.payload)["id"].rsplit("-", 1)[1])
        given[seq] = given.get(seq, 0) + 1
        return {2: 16, 3: 135, 4: 151 if given[seq] < 3 else 0}.get(seq, 0)

    async def run() -> None:
        async with MqttPeer(answer) as peer:
            source = ListedSource([reading_record(n) for n in range(1, 7)])
            delivery = Delivery(
                MqttSink(mqtt_part(peer.port), small_site(), SystemClock()), source, SystemClock(), QUICK
            )
            await during(delivery, delivery.drained())
            assert given == {1: 1, 2: 1, 3: 1, 4: 3, 5: 1, 6: 1}
            assert source.parked == {3: f"{BASE}/telemetry: Not authorized (135)"}
            assert source.stored_cursor == 6

    asyncio.run(run())


def test_dropped_connections_lose_nothing_and_keep_the_order_of_first_arrivals() -> None:
    """Whatever the peer took without answering comes again; nothing is missing, first arrivals are in order."""
    draw = random.Random(11)

    async def run() -> None:
        async with MqttPeer(lambda _: DROP if draw.random() < 0.02 else 0) as peer:
            source = ListedSource([reading_record(n) for n in range(1, 301)])
            delivery = Delivery(
                MqttSink(mqtt_part(peer.port, retry_cap="60 ms"), small_site(), SystemClock()),
                source,
                SystemClock(),
                QUICK,
            )
            await during(delivery, delivery.drained())
            arrived = telemetry(peer)
            assert list(dict.fromkeys(arrived)) == list(range(1, 301))
            assert len(peer.connects) > 3
            assert len(arrived) - 300 <= 20 * len(peer.connects)
            assert not any(p.duplicate for p in peer.published), "paho re-sent from a queue of its own"

    asyncio.run(run())


def test_silence_of_the_broker_ends_the_connection() -> None:
    """A peer that takes everything and answers nothing is left for a new connection, which catches up."""

    async def run() -> None:
        async with MqttPeer() as peer:
            peer.answer = lambda p: HOLD if len(peer.connects) == 1 and p.topic.endswith("telemetry") else 0
            sink = MqttSink(mqtt_part(peer.port, ack_timeout="200 ms"), small_site(), SystemClock())
            source = ListedSource([reading_record(n) for n in range(1, 31)])
            delivery = Delivery(sink, source, SystemClock(), QUICK)

            async def test() -> None:
                await delivery.drained()
                assert len(peer.connects) == 2
                assert sink.state.last_error == "no answer from the broker within 0.2 s"
                assert sorted(set(telemetry(peer))) == list(range(1, 31))

            await during(delivery, test())

    asyncio.run(run())


def test_without_a_broker_nobody_waits() -> None:
    """With nothing at the address the sink takes live values and health at once and tells its delivery it is down."""

    async def run() -> None:
        sink = MqttSink(mqtt_part(free_port()), small_site(), SystemClock())
        source = ListedSource([reading_record(1)])
        delivery = Delivery(sink, source, SystemClock(), QUICK)

        async def test() -> None:
            loop = asyncio.get_running_loop()
            turns = 0
            while not sink.state.last_error:
                sink.live(Reading("ph", Instant(0, 0), (), 7.0, Quality.GOOD))
                sink.publish_health({})
                delivery.wake()
                before = loop.time()
                await asyncio.sleep(0)
                assert loop.time() - before < 1.0, "the event loop stood still"
                turns += 1
            assert turns > 1
            assert not sink.state.connected
            assert delivery.counts.published == 0
            assert delivery.counts.unsent == 1

        await during(delivery, test())

    asyncio.run(run())


def test_the_latest_live_values_and_alarm_states_go_out_again_after_a_reconnect() -> None:
    """The birth comes first, then everything retained in its latest form, once each."""

    async def run() -> None:
        async with MqttPeer() as peer:
            sink = MqttSink(mqtt_part(peer.port), small_site(), SystemClock())
            source = ListedSource([alarm_record(1)])
            delivery = Delivery(sink, source, SystemClock(), QUICK)

            async def test() -> None:
                for value in (7.0, 7.1):
                    sink.live(Reading("ph", Instant(0, 0), (), value, Quality.GOOD))
                await delivery.drained()
                await until(lambda: f"{BASE}/channel/ph" in {p.topic for p in peer.published}, "the live value")
                before = len(peer.published)
                for writer in tuple(peer.writers):
                    writer.close()
                sink.live(Reading("ph", Instant(0, 0), (), 7.2, Quality.GOOD))
                await until(lambda: len(peer.connects) == 2 and len(peer.published) >= before + 4, "the second birth")
                again = peer.published[-4:]
                assert all(p.retain for p in again)
                assert again[0].topic == f"{BASE}/status"
                assert {p.topic for p in again} == {
                    f"{BASE}/status", f"{BASE}/meta", f"{BASE}/channel/ph", f"{BASE}/alarm/lv-slug-flow",
                }  # fmt: skip
                values = [json.loads(p.payload)["value"] for p in again if p.topic.endswith("/ph")]
                assert values == [7.2]

            await during(delivery, test())

    asyncio.run(run())


def test_history_never_turns_an_alarm_topic_back() -> None:
    """The newest state is shown first; the older events that follow go to the stream and leave the topic alone."""

    async def run() -> None:
        async with MqttPeer() as peer:
            sink = MqttSink(mqtt_part(peer.port), small_site(), SystemClock())
            listed = [
                alarm_record(1),
                alarm_record(2, "C"),
                *(reading_record(n) for n in range(3, 60)),
                alarm_record(60, "A"),
            ]
            source = ListedSource(listed)
            pace = Pace(live_first_above=20, hist_per_s=1e6, retry_base_s=0.01, retry_cap_s=0.05)
            delivery = Delivery(sink, source, SystemClock(), pace)
            await during(delivery, delivery.drained())
            states = [json.loads(p.payload)["state"] for p in peer.published if "/alarm/" in p.topic]
            assert set(states) == {"A"}
            events = [json.loads(p.payload) for p in peer.published if p.topic == f"{BASE}/event"]
            assert [(event["seq"], event["hist"]) for event in events] == [(1, True), (2, True), (60, True)]

    asyncio.run(run())


def test_a_record_that_cannot_be_written_or_is_too_large_is_parked() -> None:
    """A malformed body, or one above the broker's packet size, is refused on this side and blocks nothing."""

    async def run() -> None:
        async with MqttPeer(maximum_packet=2000) as peer:
            at = Instant(0, 0)
            listed = [
                reading_record(1),
                Listed(2, "alarm", at, {"alarm": "a"}),
                Listed(3, "note", at, {"what": object()}),
                Listed(4, "note", at, {"what": "x" * 3000}),
                reading_record(5),
            ]
            source = ListedSource(listed)
            delivery = Delivery(
                MqttSink(mqtt_part(peer.port), small_site(), SystemClock()), source, SystemClock(), QUICK
            )
            await during(delivery, delivery.drained())
            assert sorted(source.parked) == [2, 3, 4]
            assert "to_state" in source.parked[2]
            assert "2000" in source.parked[4]
            assert telemetry(peer) == [1, 5]
            assert len(peer.connects) == 1

    asyncio.run(run())


def test_credentials_come_from_a_file_and_a_missing_one_is_waited_for(tmp_path: Any) -> None:
    """The password is the file's first line; while the file is missing the sink says so and tries again."""

    async def run() -> None:
        async with MqttPeer() as peer:
            secret = tmp_path / "password"
            part = mqtt_part(peer.port, username="lv-mh3", password_file=str(secret))
            sink = MqttSink(part, small_site(), SystemClock())
            delivery = Delivery(sink, ListedSource([reading_record(1)]), SystemClock(), QUICK)

            async def test() -> None:
                await until(lambda: sink.state.last_error, "the complaint")
                assert "password" in sink.state.last_error
                assert "wohl" not in sink.state.last_error
                secret.write_text("wohl behütet\n", encoding="utf-8")
                await delivery.drained()
                assert peer.connects[0].endswith("wohl behütet".encode())

            await during(delivery, test())

    asyncio.run(run())
