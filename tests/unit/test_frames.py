"""Which bytes on a line are the answer, and what is said of all others."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.drivers.frames import Expected, Found, crc16, request_pdu, rtu_frame, scan_rtu, scan_tcp
from tests.conftest import SHARED_DATA

VECTORS_FILE = SHARED_DATA.parent / "registers.json"
ASKED = Expected(unit=1, function=3, address=0, count=2)
GOOD = bytes.fromhex("01 03 04 12 34 56 78 81 07")


def framed(*body: int) -> bytes:
    """Bytes with their check sum."""
    return bytes(body) + crc16(bytes(body))


@pytest.mark.skipif(not VECTORS_FILE.exists(), reason="../shared/registers.json is not here")
def test_the_frames_printed_in_manuals() -> None:
    """Requests and answers of four manuals have the check sums we compute (one misprint is known and corrected)."""
    listed = [v for v in json.loads(VECTORS_FILE.read_text())["decode_vectors"] if v["type"] == "frame"]
    assert len(listed) == 4
    for vector in listed:
        request = bytes.fromhex(vector["request"])
        asked = Expected(
            request[0], request[1], int.from_bytes(request[2:4], "big"), int.from_bytes(request[4:6], "big")
        )
        assert bytes((asked.unit,)) + request_pdu(asked) + crc16(request[:-2]) == request
        if "response" in vector:
            response = bytes.fromhex(vector["response"])
            assert rtu_frame(response) == len(response)
            assert scan_rtu(response, asked).pdu == response[1:-2]


@pytest.mark.parametrize(
    ("data", "found", "said"),
    [
        (GOOD, Found.REPLY, ""),
        (framed(1, 0x83, 2), Found.REPLY, ""),
        (GOOD[:-1], Found.MORE, ""),
        (b"", Found.MORE, ""),
        (framed(1, 4, 4, 0x12, 0x34, 0x56, 0x78), Found.WRONG, "the answer is to function 4"),
        (framed(1, 0x84, 2), Found.WRONG, "the answer is to function 4"),
        (framed(1, 3, 2, 0x12, 0x34), Found.WRONG, "1 registers came, 2 were asked for"),
        (framed(1, 3, 8, 1, 2, 3, 4, 5, 6, 7, 8), Found.WRONG, "4 registers came, 2 were asked for"),
        (framed(2, 3, 4, 0x12, 0x34, 0x56, 0x78), Found.WRONG, "unit 2 answered instead of unit 1"),
        (framed(1, 16, 0, 0, 0, 2), Found.WRONG, "the answer is to function 16"),
        (GOOD[:-1] + b"\x08", Found.GARBLED, "no sound check sum"),
        (bytes.fromhex("55 AA 55 AA 55 AA 55 AA 55 AA"), Found.GARBLED, "no sound check sum"),
        (framed(1, 0x83, 2)[:-1] + b"\x00", Found.GARBLED, "no sound check sum"),
    ],
)
def test_what_came_on_a_serial_line(data: bytes, found: Found, said: str) -> None:
    """Only the right unit, function, count and check sum together are the answer."""
    scan = scan_rtu(data, ASKED)
    assert scan.found is found
    assert said in scan.text


@pytest.mark.parametrize("noise", [b"\x00", b"\xff", b"\x00\xff\x00", b"\x01", b"\x01\x03"])
def test_a_good_answer_behind_stray_bytes_is_found(noise: bytes) -> None:
    """A turn-round glitch of an RS-485 driver costs nothing, and is counted."""
    scan = scan_rtu(noise + GOOD, ASKED)
    assert (scan.found, scan.pdu, scan.noise) == (Found.REPLY, GOOD[1:-2], len(noise))


def test_an_adapter_that_gives_back_the_request() -> None:
    """Our own request, given back before the answer, is stepped over and reported."""
    echo = bytes.fromhex("01 03 00 00 00 02 C4 0B")
    assert scan_rtu(echo, ASKED).found is Found.MORE
    scan = scan_rtu(echo + GOOD, ASKED)
    assert (scan.found, scan.pdu, scan.echoed) == (Found.REPLY, GOOD[1:-2], True)


def test_a_late_unit_is_stepped_over_and_a_stranger_is_not() -> None:
    """A frame of a unit that owes an answer is thrown away; without that it is a wrong answer."""
    late = framed(2, 3, 4, 9, 9, 9, 9)
    scan = scan_rtu(late + GOOD, ASKED, frozenset({2}))
    assert (scan.found, scan.pdu, scan.skipped) == (Found.REPLY, GOOD[1:-2], (2,))
    assert scan_rtu(late + GOOD, ASKED).found is Found.WRONG


@given(
    st.integers(1, 247),
    st.sampled_from([3, 4]),
    st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=125),
    st.lists(st.integers(0, 255), max_size=3),
    st.data(),
)
def test_a_good_answer_is_found_however_it_is_cut(
    unit: int, function: int, words: list[int], cuts: list[int], data: st.DataObject
) -> None:
    """The bytes may arrive in any pieces: never wrong on the way, always the answer at the end."""
    asked = Expected(unit, function, data.draw(st.integers(0, 0xFFFF)), len(words))
    payload = b"".join(word.to_bytes(2, "big") for word in words)
    whole = framed(unit, function, len(payload), *payload)
    kept = b""
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(whole)], strict=True):
        scan = scan_rtu(kept + whole[start:end], asked)
        kept = scan.rest
        if scan.found is not Found.MORE:
            break
    assert (scan.found, scan.pdu) == (Found.REPLY, whole[1:-2])


@given(st.binary(max_size=300))
def test_no_bytes_at_all_upset_the_search(data: bytes) -> None:
    """Noise ends in a verdict, never in an exception or a made-up answer."""
    scan = scan_rtu(data, ASKED)
    if scan.found is Found.REPLY:
        assert framed(1, *scan.pdu) in data
    scan_tcp(data, ASKED)


def tcp(transaction: int, unit: int, *pdu: int) -> bytes:
    """A Modbus TCP frame."""
    head = transaction.to_bytes(2, "big") + b"\0\0" + (len(pdu) + 1).to_bytes(2, "big")
    return head + bytes((unit, *pdu))


OVER_TCP = Expected(unit=1, function=3, address=0, count=1, transaction=7)
ANSWER = tcp(7, 1, 3, 2, 0x12, 0x34)


@pytest.mark.parametrize(
    ("data", "found", "skipped", "said"),
    [
        (ANSWER, Found.REPLY, 0, ""),
        (tcp(7, 1, 0x83, 2), Found.REPLY, 0, ""),
        (ANSWER[:5], Found.MORE, 0, ""),
        (ANSWER[:-1], Found.MORE, 0, ""),
        (tcp(6, 1, 3, 2, 0, 1), Found.MORE, 1, ""),
        (tcp(0, 1, 3, 2, 0, 1), Found.MORE, 1, ""),
        (tcp(6, 1, 3, 2, 0, 1) + ANSWER, Found.REPLY, 1, ""),
        (tcp(7, 2, 3, 2, 0, 1), Found.WRONG, 0, "unit 2 answered"),
        (tcp(7, 1, 4, 2, 0, 1), Found.WRONG, 0, "function 4"),
        (tcp(7, 1, 3, 4, 0, 1, 0, 2), Found.WRONG, 0, "2 registers came"),
        (tcp(7, 1, 3, 4, 0, 1), Found.WRONG, 0, "1 registers came"),
        (b"\x00\x07\x00\x01\x00\x05\x01\x03\x02\x12\x34", Found.BROKEN, 0, "protocol id 1"),
        (b"\x00\x07\x00\x00\x40\x05\x01\x03\x02\x12\x34", Found.BROKEN, 0, "length 16389"),
    ],
)
def test_what_came_over_tcp(data: bytes, found: Found, skipped: int, said: str) -> None:
    """Only the transaction that is out is answered; transaction 0 is foreign too; broken framing is told apart."""
    scan = scan_tcp(data, OVER_TCP)
    assert (scan.found, len(scan.skipped)) == (found, skipped)
    assert said in scan.text


def test_a_frame_nobody_waits_for_is_thrown_away() -> None:
    """Between requests a whole frame is dropped and half a frame is kept until it is whole."""
    scan = scan_tcp(ANSWER + ANSWER[:4], None)
    assert (scan.found, len(scan.skipped), scan.rest) == (Found.MORE, 1, ANSWER[:4])


WRITE = bytes.fromhex("01 06 00 18 00 02")


def test_on_an_echoing_line_the_second_of_two_alike_is_the_answer() -> None:
    """The confirmation of such a write is its own image: where the adapter gives back what is sent, one is none."""
    frame = WRITE + crc16(WRITE)
    quiet, echoing = (Expected.to_command(1, WRITE[1:], echoing=echo) for echo in (False, True))
    assert scan_rtu(frame, quiet).found is Found.REPLY
    assert scan_rtu(frame, echoing).found is Found.MORE
    found = scan_rtu(frame + frame, echoing)
    assert (found.found, found.pdu, found.echoed) == (Found.REPLY, WRITE[1:], True)


@pytest.mark.parametrize(
    ("command", "answer", "found"),
    [
        ("10 00 01 00 01 02 00 1F", "10 00 01 00 01", Found.REPLY),
        ("10 00 01 00 01 02 00 1F", "10 00 02 00 01", Found.WRONG),
        ("10 1C 00 00 00 00", "10 1C 00 00 00", Found.REPLY),
        ("03 25 00 00 00", "03 00", Found.REPLY),
        ("03 25 00 00 00", "03 02 00 00", Found.WRONG),
        ("10 00 01 00 01 02 00 1F", "90 02", Found.REPLY),
    ],
)
def test_a_command_is_confirmed_by_its_own_answer_only(command: str, answer: str, found: Found) -> None:
    """Address and count of a write, nothing of a read of nothing, or the exception."""
    body = bytes((1,)) + bytes.fromhex(answer)
    assert scan_rtu(body + crc16(body), Expected.to_command(1, bytes.fromhex(command))).found is found
