"""The MQTT sink: one site's records, live values and health at one broker.

Birth and will share the retained `status` topic at the same quality of service. A record counts as accepted when the
broker answered every one of its publishes with a good reason code. While there is no connection, or the broker does not
answer, nothing here holds up anybody else.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gateway import __version__
from gateway.backoff import Backoff
from gateway.clock import Clock
from gateway.errors import Refused
from gateway.model import Reading
from gateway.sinks.contract import Pace, Record
from gateway.sinks.mqtt import Answered, Connected, Lost, Session
from gateway.sinks.mqtt_options import MqttOptions
from gateway.sinks.outgoing import Outgoing, Publish
from gateway.sinks.payloads import Payloads, as_json
from gateway.sinks.topics import Topics, topic_level
from gateway.site import Part, Site

__all__ = ["LinkState", "MqttSink", "provide"]

log = logging.getLogger(__name__)

_FAREWELL_S = 2.0  # how long a stop waits for the broker to take the offline status
_LOOKS = 4  # how often an answer is looked for within the time it may take
_CONNECTING = -1  # stands for CONNECT where a packet id is watched
_STEADY_S = 10.0  # a connection that held this long was no flapping one
_PACKET_OVERHEAD = 16  # bytes of a PUBLISH beside topic and payload, at most, with the properties we send (none)


@dataclass(frozen=True, slots=True)
class LinkState:
    """The connection as health reports it. `taken_over` counts the times another client came with our id."""

    connected: bool
    connections: int
    taken_over: int
    refused_retained: int
    last_error: str


class MqttSink:
    """A `Sink`. `live` and `publish_health` may be called at any time, connected or not; the last word is kept."""

    def __init__(self, part: Part, site: Site, clock: Clock) -> None:
        self.name = part.name
        self.options = MqttOptions.of(part)
        self.client_id = f"{topic_level(site.id)}-{topic_level(self.options.role)}"
        self.topics = Topics(self.options.root, site.id)
        self._payloads = Payloads(site)
        self._clock = clock
        self._session: Session | None = None
        self._out = Outgoing(self._send)
        self._alarm_seq: dict[str, int] = {}  # the newest event whose state each alarm topic shows
        self._maximum_packet = 0
        self._stir: Callable[[], None] = lambda: None
        self._boot_id = ""
        self._connected = False
        self._connections = self._taken_over = 0
        self._last_error = ""

    @property
    def pace(self) -> Pace:
        """How its delivery is to behave, as the site file says."""
        return self.options.pace

    @property
    def room(self) -> int:
        """How many more records the window takes now."""
        return self._out.room

    @property
    def state(self) -> LinkState:
        """The connection, for health."""
        return LinkState(
            self._connected, self._connections, self._taken_over, self._out.refused_retained, self._last_error
        )

    def watch(self, stir: Callable[[], None]) -> None:
        """Call `stir` when there may be room again."""
        self._stir = stir

    def submit(self, record: Record, hist: bool) -> "asyncio.Future[None]":
        """Publish one record; see `Sink`."""
        try:
            publishes = self._publishes(record, hist)
            self._check_size(publishes)
        except (KeyError, TypeError, ValueError, Refused) as error:
            # A record that cannot be written is parked like one the broker refuses: it must not block the rest.
            answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            answer.set_exception(Refused(f"{record.kind} cannot be published: {error!r}"))
            return answer
        return self._out.submit(publishes)

    def current(self, record: Record) -> None:
        """Show the newest state of an alarm now, whatever history still waits."""
        if record.kind == "alarm":
            with contextlib.suppress(KeyError, TypeError, ValueError):  # it comes again in its turn, and is parked then
                publish = self._alarm_publish(record)
                if publish is not None:
                    self._out.retain(publish)

    def live(self, reading: Reading) -> None:
        """Show a channel's newest reading at once, before it is recorded."""
        topic = self.topics.channel(reading.channel)
        self._out.retain(Publish(topic, as_json(self._payloads.channel(reading)), retain=True))

    def publish_health(self, body: Mapping[str, Any]) -> None:
        """Show how the gateway is. The birth goes out beside it, which heals a status an old will has overwritten."""
        health = self._payloads.health(self._clock.now(), body)
        self._out.retain(Publish(self.topics.health, as_json(health), retain=True))
        if self._connected:
            self._out.retain(self._birth())

    async def run(self) -> None:
        """Keep a connection until cancelled, then say goodbye."""
        self._boot_id = self._clock.axis
        self._out.remember(Publish(self.topics.meta, as_json(self._payloads.meta(__version__)), retain=True))
        backoff = Backoff(self.options.retry_base_s, self.options.retry_cap_s)
        while True:
            lost = await self._hold_one_connection(backoff)
            level = logging.DEBUG if backoff.failures else logging.WARNING
            delay_s = backoff.next_s()
            log.log(level, "%s: %s; connecting again in %.1f s", self.name, lost.reason, delay_s)
            await asyncio.sleep(delay_s)

    async def _hold_one_connection(self, backoff: Backoff) -> Lost:
        will = as_json(self._payloads.lost(self._clock.now(), self._boot_id, __version__))
        session = Session(self.options, self.client_id, Publish(self.topics.status, will, retain=True))
        clean = False
        self._session = session
        watch = asyncio.create_task(self._watch_answers(session), name=f"{self.name} answers")
        try:
            try:
                session.open()
            except (OSError, ValueError) as error:
                return self._ended(Lost(f"cannot prepare the connection: {error}"))
            return self._ended(await self._serve(session, backoff))
        except asyncio.CancelledError:
            clean = await self._say_goodbye(session)
            raise
        finally:
            watch.cancel()
            self._connected = False
            self._out.closed("stopped" if clean else "connection lost")
            self._session = None
            await session.close(clean)

    async def _serve(self, session: Session, backoff: Backoff) -> Lost:
        steady: asyncio.TimerHandle | None = None
        try:
            while True:
                match await session.events.get():
                    case Connected() as connected:
                        self._begin(connected, backoff)
                        steady = asyncio.get_running_loop().call_later(_STEADY_S, backoff.reset)
                    case Answered(packet_id, error):
                        self._out.answered(packet_id, error)
                        self._stir()  # a retained topic's answer makes room too, and no record's future tells of it
                    case Lost() as lost:
                        return lost
        finally:
            if steady is not None:
                steady.cancel()

    def _begin(self, connected: Connected, backoff: Backoff) -> None:
        self._connected = True
        self._connections += 1
        self._maximum_packet = connected.maximum_packet
        window = min(self.options.window, connected.receive_maximum)
        log.info(
            "%s: connected to %s port %d as %s, window %d, after %d failed attempts",
            self.name, self.options.host, self.options.port, self.client_id, window, backoff.failures,
        )  # fmt: skip
        # First of all retained topics: whoever sees a value knows already that we are back.
        self._out.remember(self._birth())
        self._out.opened(window, first=self.topics.status)
        self._stir()

    def _ended(self, lost: Lost) -> Lost:
        self._last_error = lost.reason
        if lost.taken_over:
            self._taken_over += 1
            log.warning("%s: another client uses the id %s (%d times)", self.name, self.client_id, self._taken_over)
        return lost

    async def _watch_answers(self, session: Session) -> None:
        """Give a connection up when its oldest publish, or CONNECT itself, goes unanswered too long.

        Judged by answers alone: a half-open connection still says it is connected, and takes what it is given.
        """
        waiting_for, looks = None, 0
        while True:
            await asyncio.sleep(self.options.ack_timeout_s / _LOOKS)
            oldest = self._out.oldest if self._connected else _CONNECTING
            looks = looks + 1 if oldest is not None and oldest == waiting_for else 0
            waiting_for = oldest
            if looks == _LOOKS:
                session.give_up(f"no answer from the broker within {self.options.ack_timeout_s:g} s")
                return

    async def _say_goodbye(self, session: Session) -> bool:
        if not self._connected:
            return False
        offline = as_json(self._payloads.stopped(self._clock.now(), self._boot_id, __version__))
        self._out.only(Publish(self.topics.status, offline, retain=True))
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_FAREWELL_S):
                while self._out.is_unsent(self.topics.status):
                    match await session.events.get():
                        case Answered(packet_id, error):
                            self._out.answered(packet_id, error)
                        case Lost():
                            return False
        return not self._out.is_unsent(self.topics.status)

    def _send(self, publish: Publish) -> int | None:
        return self._session.send(publish) if self._session is not None else None

    def _birth(self) -> Publish:
        online = self._payloads.online(self._clock.now(), self._boot_id, __version__)
        return Publish(self.topics.status, as_json(online), retain=True)

    def _publishes(self, record: Record, hist: bool) -> tuple[Publish, ...]:
        if isinstance(record.body, Reading):
            telemetry = self._payloads.telemetry(record.seq, record.body, hist)
            return (Publish(self.topics.telemetry, as_json(telemetry)),)
        event = self._payloads.event(record.seq, record.kind, record.at, record.body, hist)
        publishes = (Publish(self.topics.event, as_json(event)),)
        if record.kind != "alarm":
            return publishes
        state = self._alarm_publish(record)
        if state is None:
            return publishes
        self._out.remember(state)
        return (*publishes, state)

    def _alarm_publish(self, record: Record) -> Publish | None:
        """The state after an alarm event, or None when the topic already shows a later one."""
        if isinstance(record.body, Reading):
            raise TypeError("an alarm event is not a reading")
        alarm = str(record.body["alarm"])
        if record.seq < self._alarm_seq.get(alarm, 0):
            return None
        state = as_json(self._payloads.alarm(record.seq, record.at, record.body))
        self._alarm_seq[alarm] = record.seq
        return Publish(self.topics.alarm(alarm), state, retain=True)

    def _check_size(self, publishes: tuple[Publish, ...]) -> None:
        # A broker ends the connection over a packet that is too large, and would again, for ever.
        for publish in publishes:
            size = len(publish.topic.encode()) + len(publish.payload) + _PACKET_OVERHEAD
            if self._maximum_packet and size > self._maximum_packet:
                raise Refused(f"{size} bytes are more than the broker's {self._maximum_packet}")


def provide(part: Part, site: Site, clock: Clock, _state_directory: Path) -> MqttSink:
    """The sink of `[sinks.*]` kind `mqtt`."""
    return MqttSink(part, site, clock)
