"""Modbus ASCII: which characters are the answer, however they come and whatever stands around them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.drivers.ascii_frames import lrc, scan_ascii
from gateway.drivers.frames import Expected, Found

ASKED = Expected(unit=1, function=3, address=0, count=1)


def framed(*body: int) -> bytes:
    """Bytes as characters, with their check."""
    return b":" + bytes((*body, lrc(bytes(body)))).hex().upper().encode() + b"\r\n"


@pytest.mark.parametrize(
    ("body", "check"),
    [
        ("01 03 00 00 00 0A", 0xF2),  # TUF-2000 user manual, MODBUS ASCII example
        ("11 03 00 6B 00 03", 0x7E),  # Simply Modbus, ASCII vs RTU
    ],
)
def test_the_checks_printed_in_manuals(body: str, check: int) -> None:
    """The longitudinal redundancy check is the published one."""
    assert lrc(bytes.fromhex(body)) == check


@given(
    st.integers(1, 247),
    st.sampled_from([3, 4]),
    st.lists(st.integers(0, 0xFFFF), min_size=1, max_size=20),
    st.lists(st.integers(0, 100), max_size=3),
    st.binary(max_size=8).filter(lambda noise: b":" not in noise),
)
def test_a_good_answer_is_found_however_it_is_cut(
    unit: int, function: int, words: list[int], cuts: list[int], noise: bytes
) -> None:
    """In any pieces and behind any noise: never a wrong answer on the way, always the right one at the end."""
    asked = Expected(unit, function, 0, len(words))
    pdu = bytes((function, 2 * len(words))) + b"".join(word.to_bytes(2, "big") for word in words)
    whole = noise + framed(unit, *pdu)
    kept = b""
    for start, end in zip([0, *sorted(cuts)], [*sorted(cuts), len(whole)], strict=True):
        scan = scan_ascii(kept + whole[start:end], asked)
        kept = scan.rest
        if scan.found is not Found.MORE:
            break
    assert (scan.found, scan.pdu) == (Found.REPLY, pdu)


@given(st.lists(st.sampled_from(list(b":0123456789ABCDEFabcdefG\r\n \x00\xff")), max_size=80))
def test_no_characters_at_all_upset_the_search(characters: list[int]) -> None:
    """Noise ends in a verdict, never in an exception or a made-up answer; and what is kept is bounded."""
    data = bytes(characters)
    scan = scan_ascii(data, ASKED)
    assert len(scan.rest) <= len(data)
    if scan.found is Found.REPLY:
        assert framed(1, *scan.pdu).upper() in data.upper()


def test_a_frame_that_never_ends_is_given_up() -> None:
    """Five hundred and thirteen characters are the longest frame (Modbus over serial line V1.02, 2.5.2.1)."""
    scan = scan_ascii(b":" + b"0" * 513, ASKED)
    assert (scan.found, scan.rest) == (Found.MORE, b"")
    assert scan_ascii(b":" + b"0" * 600 + framed(1, 3, 2, 0, 222), ASKED).found is Found.REPLY
