"""Modbus/TCP captures: the frames of each connection in the order they were sent, and the pairs listed beside them."""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dpkt

MODBUS_PORT = 502


@dataclass(frozen=True, slots=True)
class Adu:
    """One frame, or what stood where one should: its moment, its connection, whether the client sent it, its bytes."""

    utc_us: int
    connection: tuple[bytes, int, bytes, int]  # client and server, address and port each
    request: bool
    data: bytes


@dataclass(frozen=True, slots=True)
class Transaction:
    """A line of a list of transactions; `answer` is empty for a request that nobody answered, and the reverse."""

    timestamp: str
    request: bytes
    answer: bytes
    exception: int
    latency_ms: float | None

    @property
    def unit(self) -> int:
        """The unit that was asked."""
        return self.request[6]


def segments(path: Path) -> Iterator[Adu]:
    """What TCP carried on port 502, without what it sent a second time."""
    expected: dict[tuple[tuple[bytes, int, bytes, int], bool], int] = {}
    with path.open("rb") as file:
        for seconds, packet in dpkt.pcap.Reader(file):
            ip = dpkt.ethernet.Ethernet(packet).data
            tcp = getattr(ip, "data", None)
            if not isinstance(tcp, dpkt.tcp.TCP) or MODBUS_PORT not in {tcp.sport, tcp.dport}:
                continue
            request = tcp.dport == MODBUS_PORT
            near, far = (bytes(ip.src), tcp.sport), (bytes(ip.dst), tcp.dport)
            connection = (*near, *far) if request else (*far, *near)
            key = (connection, request)
            if tcp.flags & dpkt.tcp.TH_SYN:
                expected[key] = (tcp.seq + 1) & 0xFFFF_FFFF
                continue
            data = bytes(tcp.data)
            if not data:
                continue
            behind = (expected.get(key, tcp.seq) - tcp.seq) & 0xFFFF_FFFF
            if 0 < behind < 1 << 31:
                data = data[behind:]  # sent a second time
            if data:
                expected[key] = (tcp.seq + len(bytes(tcp.data))) & 0xFFFF_FFFF
                yield Adu(round(seconds * 1e6), connection, request, data)


def adus(path: Path) -> list[Adu]:
    """Every frame by the length in its header; a segment that cannot be framed stays as it is."""
    found: list[Adu] = []
    for segment in segments(path):
        data = segment.data
        while len(data) > 6 and data[2:4] == b"\0\0" and 2 <= (length := int.from_bytes(data[4:6], "big")) <= 254:
            if len(data) < 6 + length:
                break
            found.append(Adu(segment.utc_us, segment.connection, segment.request, data[: 6 + length]))
            data = data[6 + length :]
        if data:
            found.append(Adu(segment.utc_us, segment.connection, segment.request, data))
    return found


def transactions(path: Path) -> list[Transaction]:
    """The list that lies beside a capture."""
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Transaction(
                row["timestamp"],
                bytes.fromhex(row["request_adu_hex"]),
                bytes.fromhex(row["response_adu_hex"]),
                int(row["exception_code"] or 0),
                float(row["latency_ms"]) if row["latency_ms"] else None,
            )
            for row in csv.DictReader(file)
        ]
