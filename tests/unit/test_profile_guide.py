"""The guide to writing a profile: its examples load, and mean what the guide says."""

import re

import pytest

from gateway.drivers.points import read_fact, read_point
from gateway.drivers.profile import Profile
from gateway.drivers.profiles import parse
from gateway.drivers.registers import TYPES
from gateway.drivers.texts import TEXT_TYPES, TIME_TYPES
from gateway.model import Fault, Quality
from tests.conftest import ROOT

GUIDE = (ROOT / "docs" / "device-profiles.md").read_text(encoding="utf-8")
EXAMPLES = [text for text in re.findall(r"```toml\n(.*?)```", GUIDE, re.DOTALL) if "id = " in text]


def example(name: str) -> Profile:
    """The example of the guide with this id."""
    text = next(text for text in EXAMPLES if f'id = "{name}"' in text)
    return parse(text, f"{name}.toml")


def test_every_example_of_the_guide_is_a_profile() -> None:
    """Both load as they stand."""
    assert {re.search(r'id = "(.+)"', text).group(1) for text in EXAMPLES} == {"my-probe", "list"}  # type: ignore[union-attr]
    assert len(example("my-probe").points) == 3
    assert example("my-probe").pace.timeout_us == 800_000


@pytest.mark.parametrize(
    ("runs", "value", "quality", "fault"),
    [
        ({10: [0x0000, 0x40E8, 1, 0]}, 7.25, Quality.GOOD, None),  # 7.25 = 1.8125 x 2^2
        ({10: [0x0000, 0x40E8, 2, 0]}, None, Quality.FAIL, Fault.WRONG_UNIT),
        ({10: [0x0000, 0xC2C6, 1, 0]}, None, Quality.FAIL, Fault.SENTINEL),  # -99
        ({10: [0x0000, 0x40E8, 1, 0b0001]}, 7.25, Quality.SUSPECT, None),
        ({10: [0x0000, 0x40E8, 1, 0b1000]}, 7.25, Quality.FAIL, Fault.DEVICE_FAULT),
    ],
)
def test_the_example_does_what_its_comments_say(
    runs: dict[int, list[int]], value: float | None, quality: Quality, fault: Fault | None
) -> None:
    """A pH, the same switched to mV, no value, calibration due, a broken glass."""
    words = {(3, start + n): word for start, run in runs.items() for n, word in enumerate(run)}
    found = read_point(example("my-probe").points["pH"], words)
    assert (found.value, found.quality, found.fault) == (value, quality, fault)


def test_the_example_says_who_it_is() -> None:
    """Its serial number is six registers of two characters."""
    words = {(3, 100 + n): word for n, word in enumerate([0x4142, 0x4331, 0x3200, 0, 0, 0])}
    assert read_fact(example("my-probe").facts["serial"], words) == "ABC12"


def test_the_guide_names_every_type_and_every_part_of_a_number() -> None:
    """What the reader knows, the guide explains."""
    for word in (
        *TYPES,
        *TEXT_TYPES,
        *TIME_TYPES,
        "fraction",
        "carry",
        "decimals",
        "negative",
        "exponent",
        "multiplier",
    ):
        assert f"`{word}`" in GUIDE, word
