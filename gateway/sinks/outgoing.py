"""What goes out next over one MQTT session, and what is still unanswered. No library, no network, no clock.

Two kinds of traffic share one window: parcels (a record's publishes, answered to the delivery) and retained topics,
of which only the latest payload matters. Retained ones go first: live before everything else.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field

from gateway.errors import DeliveryError, Refused, TryLater

__all__ = ["Outgoing", "Publish"]

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Publish:
    """One publish at QoS 1."""

    topic: str
    payload: bytes
    retain: bool = False


@dataclass(eq=False, slots=True)
class _Parcel:
    """One record's publishes: accepted when all are, refused when one is, kept when one is."""

    answer: "asyncio.Future[None]"
    open: int
    error: DeliveryError | None = None

    def settle(self, error: DeliveryError | None) -> None:
        if error is not None and not isinstance(self.error, TryLater):
            self.error = error
        self.open -= 1
        if self.open == 0 and not self.answer.done():
            if self.error is None:
                self.answer.set_result(None)
            else:
                self.answer.set_exception(self.error)


@dataclass(eq=False, slots=True)
class Outgoing:
    """The queue in front of one session and the window behind it. From the event loop only.

    `send` hands a publish to the session and returns its packet id, or None when the session is gone.
    """

    send: Callable[[Publish], int | None]
    window: int = 0  # 0 while there is no session
    refused_retained: int = 0
    _waiting: deque[tuple[Publish, _Parcel]] = field(default_factory=deque)
    _flying: dict[int, tuple[Publish, _Parcel | None]] = field(default_factory=dict)
    _retained: dict[str, Publish] = field(default_factory=dict)
    _due: dict[str, None] = field(default_factory=dict)  # retained topics with something to send, oldest first
    _refused: set[str] = field(default_factory=set)

    @property
    def room(self) -> int:
        """How many more parcels can be taken now."""
        return max(0, self.window - len(self._flying) - len(self._waiting))

    @property
    def unanswered(self) -> int:
        """How many publishes the far side has not answered yet."""
        return len(self._flying)

    @property
    def oldest(self) -> int | None:
        """The packet id that has waited longest for its answer."""
        return next(iter(self._flying), None)

    def submit(self, publishes: tuple[Publish, ...]) -> "asyncio.Future[None]":
        """Queue one record's publishes; the future ends when the far side answered all of them."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.window == 0:
            answer.set_exception(TryLater("not connected"))
            return answer
        parcel = _Parcel(answer, len(publishes))
        self._waiting.extend((publish, parcel) for publish in publishes)
        self.pump()
        return answer

    def retain(self, publish: Publish) -> None:
        """Set the latest payload of a retained topic: sent now, and again at the start of every session."""
        self.remember(publish)
        self._due[publish.topic] = None
        self.pump()

    def remember(self, publish: Publish) -> None:
        """As `retain`, for a payload that travels in a parcel this time."""
        self._retained[publish.topic] = publish

    def opened(self, window: int, first: str = "") -> None:
        """A session began that takes `window` publishes at once. Every retained topic is due, `first` before all."""
        self.window = window
        self._due = dict.fromkeys(sorted(self._retained, key=lambda topic: topic != first))
        self.pump()

    def closed(self, reason: str) -> None:
        """The session is gone: everything without an answer is kept by whoever handed it over."""
        self.window = 0
        parcels = [parcel for _, parcel in (*self._flying.values(), *self._waiting) if parcel is not None]
        self._flying.clear()
        self._waiting.clear()
        for parcel in parcels:
            parcel.settle(TryLater(reason))

    def only(self, publish: Publish) -> None:
        """Say one last thing: what waits is kept, and nothing but `publish` goes out any more."""
        waiting, self._waiting = self._waiting, deque()
        for _, parcel in waiting:
            parcel.settle(TryLater("stopping"))
        self._due.clear()
        self.retain(publish)

    def is_unsent(self, topic: str) -> bool:
        """Whether the latest payload of a retained topic is still to be sent or answered."""
        return topic in self._due or any(publish.topic == topic for publish, _ in self._flying.values())

    def answered(self, packet_id: int, error: DeliveryError | None) -> None:
        """The far side answered one publish; an id nobody waits for is of an earlier life and means nothing."""
        publish, parcel = self._flying.pop(packet_id, (None, None))
        if publish is not None and isinstance(error, Refused):
            error = Refused(f"{publish.topic}: {error}")
        if parcel is not None:
            parcel.settle(error)
        elif publish is not None:
            self._retained_answered(publish, error)
        self.pump()

    def pump(self) -> None:
        """Send what the window allows, retained topics first."""
        while len(self._flying) < self.window and (self._due or self._waiting):
            if self._due:
                topic = next(iter(self._due))
                publish, parcel = self._retained[topic], None
            else:
                publish, parcel = self._waiting[0]
            packet_id = self.send(publish)
            if packet_id is None:
                self.closed("connection lost")
                return
            if parcel is None:
                del self._due[publish.topic]
            else:
                self._waiting.popleft()
            self._flying[packet_id] = (publish, parcel)

    def _retained_answered(self, publish: Publish, error: DeliveryError | None) -> None:
        if isinstance(error, Refused):
            self.refused_retained += 1
            level = logging.DEBUG if publish.topic in self._refused else logging.WARNING
            self._refused.add(publish.topic)
            log.log(level, "retained topic refused: %s", error)
        elif error is None and publish.topic in self._refused:
            self._refused.discard(publish.topic)
            log.info("retained topic accepted again: %s", publish.topic)
