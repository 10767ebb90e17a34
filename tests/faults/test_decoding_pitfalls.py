"""Bytes that other gateways made into numbers, from a real line through decoding, quality control and a pH rule.

The rule calls for somebody when pH falls below 5.5. Whatever nonsense stands in the registers, it must neither call nor
say that all is well.
"""

import asyncio
import json
import struct
from collections.abc import Sequence
from dataclasses import replace

import pytest

from gateway.clock import SystemClock
from gateway.drivers.bus import PollBus
from gateway.drivers.profile import Limits, Point, Profile, Register
from gateway.model import FindingEvent, Quality, Sample
from gateway.pipeline import Pipeline
from gateway.signals.qc import QualityControl
from gateway.sinks.payloads import Payloads, as_json
from gateway.site import Bus, Channel, Span
from tests.support.alarm_site import PH, alarm_site, at
from tests.support.scripted_devices import Devices, SerialDevices, device


class Registers(Devices):
    """One unit whose registers from 0 on are these."""

    def __init__(self, words: Sequence[int], exception: int = 0) -> None:
        super().__init__()
        self.words, self.exception = tuple(words), exception

    def answer(self, body: bytes) -> bytes | None:
        """The words asked for, or the exception."""
        start, count = int.from_bytes(body[2:4], "big"), int.from_bytes(body[4:6], "big")
        self.asked = (start, count)
        if self.exception:
            return bytes((body[0], body[1] | 0x80, self.exception))
        return bytes((body[0], body[1], 2 * count)) + struct.pack(f">{count}H", *self.words[start : start + count])


def channel_of(name: str, point: str) -> Channel:
    """A pH channel with the span it has when its file gives none."""
    return Channel(
        name=name,
        quantity="pH",
        unit="pH",
        poll_us=1_000_000,
        hold_us=2_500_000,
        stale_after_us=5_000_000,
        source_unit="pH",
        device="d1",
        point=point,
        fail_span=Span(0.0, 14.0),
    )


def read(far: Registers, points: dict[str, Point], channels: Sequence[Channel]) -> list[Sample]:
    """One poll of these channels over a real pty."""

    async def run() -> list[Sample]:
        peer = SerialDevices(far)
        bus = PollBus(
            Bus("bench", "modbus-rtu", port=peer.path, baud=115200),
            [device(1, retries=0)],
            channels,
            SystemClock(),
            lambda *_: None,
            profiles={"d1": Profile("made-up", "made-up", (), points, Limits(max_gap=8))},
        )
        try:
            return [reading.sample for reading in await bus.read_once()]
        finally:
            peer.close()

    return asyncio.run(run())


def ph_sample(words: Sequence[int], order: str = "ABCD", exception: int = 0) -> Sample:
    """What a pH channel gets of a float in these registers, in that order."""
    points = {"pH": Point("pH", Register(3, 0, "f32", order), "pH")}
    (sample,) = read(Registers(words, exception), points, [channel_of("ph", "pH")])
    return sample


def words_of(number: float) -> list[int]:
    """A single-precision number as plain Modbus sends it."""
    return list(struct.unpack(">HH", struct.pack(">f", number)))


NONSENSE = [
    ("7.02 with its words swapped is -2.3e-17, below 5.5", words_of(7.02)[::-1], 0),
    ("7.0 with its words swapped is 2.3e-41, below 5.5 and between 0 and 14", words_of(7.0)[::-1], 0),
    ("a quiet NaN is below nothing and above nothing", [0x7FC0, 0x0000], 0),
    ("all ones are a NaN too", [0xFFFF, 0xFFFF], 0),
    ("infinity", [0x7F80, 0x0000], 0),
    ("minus infinity is below every limit", [0xFF80, 0x0000], 0),
    ("the device is busy: exception 6 was once recorded as 0 for months", words_of(7.0), 6),
    ("the register does not exist", words_of(7.0), 2),
    ("-9999.9 for no value", words_of(-9999.9), 0),
]


@pytest.mark.parametrize(("why", "words", "exception"), NONSENSE, ids=[row[0] for row in NONSENSE])
def test_nonsense_is_no_ph_raises_no_call_and_is_no_all_clear(why: str, words: list[int], exception: int) -> None:
    """The reading has failed, the rule cannot tell, and what is published is JSON that everybody can read."""
    sample = ph_sample(words, exception=exception)
    site = replace(alarm_site(), channels={"ph": channel_of("ph", "pH")})
    pipeline = Pipeline(site, at(0))
    outcome = pipeline.process([replace(sample, at=at(1))], at(1))
    (reading,) = outcome.readings
    assert reading.quality is Quality.FAIL, why
    assert not any(finding.event is FindingEvent.RAISED for finding in outcome.findings), why
    assert not outcome.messages
    later = pipeline.tick(at(30))
    (finding,) = later.findings
    assert finding.reason.startswith("no valid sample for"), why
    told = as_json(Payloads(site).telemetry(1, reading, hist=False))
    json.loads(told, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


def test_the_rule_that_was_not_fooled_does_call() -> None:
    """The same path with a sound 3.1 raises its finding: the rule of this file can."""
    site = replace(alarm_site(), channels={"ph": channel_of("ph", "pH")})
    pipeline = Pipeline(site, at(0))
    raised = False
    for second in range(1, 5):
        outcome = pipeline.process([replace(ph_sample(words_of(3.1)), at=at(second))], at(second))
        raised = raised or any(finding.event is FindingEvent.RAISED for finding in outcome.findings)
    assert raised
    assert PH.limit == 5.5


def test_the_order_is_each_values_own_and_not_the_blocks() -> None:
    """Three floats of one request, words swapped: each is turned by itself, and none straddles two."""
    numbers = (7.02, 21.5, -12.25)
    words = [word for number in numbers for word in words_of(number)[::-1]]
    points = {f"p{n}": Point(f"p{n}", Register(3, 2 * n, "f32", "CDAB"), "") for n in range(3)}
    far = Registers(words)
    samples = read(far, points, [replace(channel_of(f"c{n}", f"p{n}"), source_unit="") for n in range(3)])
    assert [sample.value for sample in samples] == pytest.approx(numbers, rel=1e-6)
    assert far.asked == (0, 6)
    assert len(far.log) == 1


def test_a_pair_of_registers_changed_between_two_requests_is_never_made_of_both() -> None:
    """A 32-bit total beside a full request moves into the next one whole: 124 registers and then the pair."""
    points = {f"p{n}": Point(f"p{n}", Register(3, n, "u16"), "") for n in range(124)}
    points["total"] = Point("total", Register(3, 124, "u32"), "")
    far = Registers([*range(124), 0x0001, 0x0002])
    channels = [replace(channel_of(f"c-{name}", name), source_unit="", fail_span=Span()) for name in points]
    samples = read(far, points, channels)
    assert samples[-1].value == 0x0001_0002
    assert [(asked.start, asked.count) for asked in far.log] == [(0, 124), (124, 2)]


def test_a_sentinel_is_compared_as_it_came_before_scaling() -> None:
    """FFFF of a device that counts hundredths is no 655.35, although 655.35 is inside no span that would refuse it."""
    points = {"level": Point("level", Register(3, 0, "u16"), "", scale=0.01, sentinels=(0xFFFF,))}
    open_span = replace(channel_of("level", "level"), quantity="level", source_unit="", fail_span=Span())
    (sample,) = read(Registers([0xFFFF]), points, [open_span])
    assert QualityControl(open_span).assess(replace(sample, at=at(1))).quality is Quality.FAIL
    assert sample.raw == (0xFFFF,)
