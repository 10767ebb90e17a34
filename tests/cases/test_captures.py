"""Frames of real equipment and of test rigs, as captured, put before the gateway's decoder and its line."""

import asyncio
import struct
from collections import defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from gateway.drivers.frames import Expected, Found, Scan, crc16, rtu_frame, scan_rtu, scan_tcp
from gateway.errors import DriverError
from tests.support.captures import Adu, adus, segments, transactions
from tests.support.scripted_line import tcp_line

pytestmark = pytest.mark.recorded

FOLDER = "14_modbus_pcaps"
CAPTURES = (
    "iti_modbus_test", "iti_modbus_test_2", "iti_modbus_test_data_part1", "iti_modbus_test_data_part2",
    "zeek_4SICS-GeekLounge-151022-min", "zeek_fuzz-72", "zeek_modbus-eit", "zeek_modbusSmall",
)  # fmt: skip
LISTED = CAPTURES[:4]
READS = frozenset({1, 2, 3, 4})
STEP = 50  # every so many-th frame is cut at every byte

SharedData = Callable[[str], Path]


def expected_of(request: bytes) -> Expected | None:
    """What the gateway would wait for had it sent this frame; None for a frame that it never sends."""
    if len(request) < 12:
        return None
    transaction, unit, function = int.from_bytes(request[:2], "big"), request[6], request[7]
    address, count = struct.unpack(">HH", request[8:12])
    if function in READS:
        return Expected(unit, function, address, count, transaction)
    if function in {5, 6, 16}:
        return Expected(unit, function, address, 0, transaction, command=request[7:])
    return None


def verdicts(frames: Sequence[Adu]) -> list[tuple[Adu, Scan]]:
    """One connection as a client lives through it: each request replaces the last, each answer is looked at."""
    found: list[tuple[Adu, Scan]] = []
    waiting: Adu | None = None
    rest = b""
    for frame in frames:
        if frame.request:
            waiting = frame
            continue
        scan = scan_tcp(rest + frame.data, None if waiting is None else expected_of(waiting.data))
        rest = scan.rest
        if waiting is not None and scan.found is Found.REPLY:
            found.append((waiting, scan))
            waiting = None
    return found


def connections(path: Path) -> dict[tuple[bytes, int, bytes, int], list[Adu]]:
    """The frames of a capture by connection."""
    found = defaultdict(list)
    for frame in adus(path):
        found[frame.connection].append(frame)
    return found


@pytest.mark.parametrize("name", CAPTURES)
def test_no_captured_frame_upsets_the_decoder(shared_data: SharedData, name: str) -> None:
    """Each frame alone, against its own kind of request and a foreign one, over TCP and as RTU: a verdict, no error."""
    frames = adus(shared_data(f"{FOLDER}/{name}.pcap"))
    assert frames
    own = next((e for f in frames if f.request and (e := expected_of(f.data)) is not None), Expected(1, 3, 0, 1))
    for number, frame in enumerate(frames):
        pieces = range(len(frame.data) + 1) if number % STEP == 0 else (len(frame.data),)
        serial = frame.data[6:] + crc16(frame.data[6:])
        for expected in (own, Expected(17, 3, 9, 2, 0xFFFF)):
            for end in pieces:
                first = scan_tcp(frame.data[:end], expected)
                if first.found is Found.MORE:
                    assert scan_tcp(first.rest + frame.data[end:], expected).found in Found
                kept = scan_rtu(serial[:end], expected)
                if kept.found is Found.MORE:
                    whole = scan_rtu(kept.rest + serial[end:], expected)
                    assert (whole.found, whole.pdu) == (
                        scan_rtu(serial, expected).found,
                        scan_rtu(serial, expected).pdu,
                    )
        assert scan_tcp(frame.data, None).found in {Found.MORE, Found.BROKEN}
        assert rtu_frame(serial) in {None, 0, len(serial)} or frame.request


@pytest.mark.parametrize("name", CAPTURES)
def test_whole_segments_in_order_upset_nobody(shared_data: SharedData, name: str) -> None:
    """What TCP carried, in the pieces it carried it in, whether it was Modbus or not."""
    rest = b""
    count = 0
    for segment in segments(shared_data(f"{FOLDER}/{name}.pcap")):
        scan = scan_tcp(rest + segment.data, Expected(1, 3, 0, 1, 1))
        assert scan.found in Found
        rest = b"" if scan.found is Found.BROKEN else scan.rest
        count += 1
    assert count > 0


@pytest.mark.parametrize("name", LISTED)
def test_our_reading_of_a_capture_is_that_of_its_list(shared_data: SharedData, name: str) -> None:
    """Every answer that we take for a request's is the one its list pairs with it, and none that could be is missed."""
    path = shared_data(f"{FOLDER}/{name}.pcap")
    listed = transactions(shared_data(f"{FOLDER}/{name}_transactions.csv"))
    frames = adus(path)
    requests, answers = {f.data for f in frames if f.request}, {f.data for f in frames if not f.request}
    pairs = {(one.request, one.answer) for one in listed if one.request and one.answer}
    assert sum(one.request in requests for one in listed if one.request) >= 0.6 * len(listed)
    assert all(one.answer in answers for one in listed if one.request in requests and one.answer)

    taken = [(request.data, scan.pdu) for found in map(verdicts, connections(path).values()) for request, scan in found]
    assert taken
    for request, pdu in taken:
        header = request[:4] + (1 + len(pdu)).to_bytes(2, "big") + request[6:7]
        assert (request, header + pdu) in pairs
    for one in listed:
        expected = expected_of(one.request)
        if expected is None or not one.answer or one.answer[:2] != one.request[:2]:
            continue
        scan = scan_tcp(one.answer, expected)
        if one.exception:
            assert (scan.found, scan.pdu) == (Found.REPLY, bytes((expected.function | 0x80, one.exception)))
        elif one.answer[7] == expected.function and (expected.command or one.answer[8] == expected.data_bytes):
            assert (scan.found, scan.pdu) == (Found.REPLY, one.answer[7:])
        else:
            assert scan.found is Found.WRONG


def test_captured_answers_on_a_real_connection_end_as_words_or_as_a_named_failure(shared_data: SharedData) -> None:
    """Each different answer of the test rigs, put on a socket with the right transaction: never anything unnamed."""
    paths = [shared_data(f"{FOLDER}/{name}.pcap") for name in CAPTURES[2:]]
    answers = sorted({frame.data for path in paths for frame in adus(path) if not frame.request})
    assert len(answers) > 30

    async def run() -> int:
        failures = 0
        async with tcp_line() as (peer, line):
            for answer in answers:
                if not line.connected:
                    await peer.closed()
                    await line.open()
                    await peer.accept()
                reading = asyncio.create_task(line.read(answer[6] if len(answer) > 6 else 1, 3, 0, 1, 0.2))
                request = await peer.receive(12)
                await peer.send(request[:2] + answer[2:])
                try:
                    assert len(await reading) == 1
                except DriverError:
                    failures += 1
        return failures

    assert asyncio.run(run()) > len(answers) // 2


def test_the_overloaded_gateway_is_followed_to_its_end(shared_data: SharedData) -> None:
    """Two thousand requests, a third of them never answered: an answer counts when no other request went out before."""
    prompt, taken, unanswered = 0, 0, 0
    for frames in connections(shared_data(f"{FOLDER}/iti_modbus_test_2.pcap")).values():
        waiting: Adu | None = None
        for frame in frames:
            if frame.request:
                waiting = frame
                unanswered += 1
            elif waiting is not None and frame.data[:2] == waiting.data[:2]:
                prompt += 1
                waiting = None
        taken += len(verdicts(frames))
    assert unanswered == 2382
    assert 0 < taken == prompt < 1593  # of 1,593 answers in the list some came after the next request
