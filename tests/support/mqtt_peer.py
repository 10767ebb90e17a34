"""A scripted MQTT 5 peer: it counts what is unanswered and answers as a test says. QoS 1 publishes only."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

__all__ = ["DROP", "HOLD", "MqttPeer", "Published"]

DROP = -1  # close the connection without an answer
HOLD = -2  # say nothing until `release`


@dataclass(frozen=True)
class Published:
    """One publish as it came over the wire."""

    topic: str
    payload: bytes
    retain: bool
    packet_id: int
    duplicate: bool


@dataclass
class MqttPeer:
    """Listens on a free loopback port; `answer` says the reason code of each PUBACK, or DROP, or HOLD."""

    answer: Callable[[Published], int] = lambda _: 0
    receive_maximum: int | None = None
    maximum_packet: int | None = None
    port: int = 0
    published: list[Published] = field(default_factory=list)
    connects: list[bytes] = field(default_factory=list)
    unanswered: int = 0
    most_unanswered: int = 0
    held: list[tuple[asyncio.StreamWriter, int]] = field(default_factory=list)
    writers: set[asyncio.StreamWriter] = field(default_factory=set)

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.close()
        for writer in tuple(self.writers):
            writer.close()
        await self._server.wait_closed()

    def release(self) -> None:
        """Accept everything that is held."""
        held, self.held = self.held, []
        for writer, packet_id in held:
            self._puback(writer, packet_id, 0)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.add(writer)
        self.unanswered = 0
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await self._one_packet(reader, writer):
                pass
        self.writers.discard(writer)
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()

    async def _one_packet(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        first = (await reader.readexactly(1))[0]
        body = await reader.readexactly(await _length(reader))
        match first >> 4:
            case 1:
                self.connects.append(body)
                properties = b""
                if self.receive_maximum is not None:
                    properties += b"\x21" + self.receive_maximum.to_bytes(2, "big")
                if self.maximum_packet is not None:
                    properties += b"\x27" + self.maximum_packet.to_bytes(4, "big")
                writer.write(bytes([0x20, 3 + len(properties), 0, 0, len(properties)]) + properties)
            case 3:
                return self._on_publish(first, body, writer)
            case 12:
                writer.write(b"\xd0\x00")
            case 14:
                return False
        return True

    def _on_publish(self, first: int, body: bytes, writer: asyncio.StreamWriter) -> bool:
        size = int.from_bytes(body[:2], "big")
        packet_id = int.from_bytes(body[2 + size : 4 + size], "big")
        properties = body[4 + size]
        payload = body[5 + size + properties :]
        published = Published(body[2 : 2 + size].decode(), payload, bool(first & 1), packet_id, bool(first & 8))
        self.published.append(published)
        self.unanswered += 1
        self.most_unanswered = max(self.most_unanswered, self.unanswered)
        verdict = self.answer(published)
        if verdict == DROP:
            return False
        if verdict == HOLD:
            self.held.append((writer, packet_id))
        else:
            self._puback(writer, packet_id, verdict)
        return True

    def _puback(self, writer: asyncio.StreamWriter, packet_id: int, reason: int) -> None:
        self.unanswered -= 1
        writer.write(b"\x40\x03" + packet_id.to_bytes(2, "big") + bytes([reason]))


async def _length(reader: asyncio.StreamReader) -> int:
    value = shift = 0
    while True:
        byte = (await reader.readexactly(1))[0]
        value |= (byte & 0x7F) << shift
        if not byte & 0x80:
            return value
        shift += 7
