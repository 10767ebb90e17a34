"""What `check` says of the lines: how full they are by arithmetic, and spans that exclude what was read last."""

import asyncio
import io
import json
from pathlib import Path

import pytest

from gateway import config
from gateway.check import run_check
from gateway.errors import InputError
from gateway.line_share import bits_per_character, line_shares
from gateway.model import Instant, Outcome, Quality, Reading
from gateway.site import Bus
from gateway.store.journal import Journal

SITE = """
[site]
id = "bench"
name = "Bench"
discharger = "Nobody"
time_zone = "UTC"
ordinances = []

[buses.line]
kind = "modbus-rtu"
port = "/dev/serial/by-path/x"
baud = 9600

[devices.probe]
bus = "line"
unit = 20
profile = "aqualabo-ponsel-digisens"
variant = "PHEHT"

[channels.ph]
quantity = "pH"
device = "probe"
point = "pH"
poll = "2 s"
suspect_span = ["6 pH", "9 pH"]

[devices.meter]
bus = "line"
unit = 2
profile = "siemens-mag6000"

[channels.flow]
quantity = "flow"
unit = "gpm"
device = "meter"
point = "volume_flow"
poll = "500 ms"
"""


@pytest.fixture
def site_file(tmp_path: Path) -> Path:
    """Two devices on one line, one of which is triggered before each read."""
    path = tmp_path / "site.toml"
    path.write_text(SITE, encoding="utf-8")
    return path


def test_the_share_is_characters_silences_and_thinking(site_file: Path) -> None:
    """Per request: 8 characters out, 5 and two per register back, 3.5 around each, 20 ms; a trigger adds 16."""
    loaded = config.read(site_file)
    assert loaded.site is not None
    profiles = {name: held.profile for name, held in loaded.profiles.items()}
    trigger = profiles["probe"].quirks.trigger
    assert trigger is not None
    (line,) = line_shares(loaded.site, profiles)
    character_s, gaps_s = 10 / 9600, 2 * 3.5 * 11 / 9600  # 8N1; the silence is counted with 11 bits by the standard
    meter_s = (8 + 5 + 4) * character_s + gaps_s + 0.02
    reads = json.loads(_check(site_file))["reads"]
    registers = {r["address"] + n for r in reads if r["channel"] == "ph" for n in range(r["words"])}
    count = max(registers) - min(registers) + 1
    several = profiles["probe"].limits.max_gap < count - len(registers)
    assert not several, "the probe's registers come in one request, or this arithmetic is not its"
    probe_s = (8 + 5 + 2 * count) * character_s + gaps_s + 0.02
    probe_s += 16 * character_s + gaps_s + 0.02  # while it measures, others have the line
    assert line.share == pytest.approx(meter_s / 0.5 + probe_s / 2)
    assert line.requests_per_min == pytest.approx(60 * (1 / 0.5 + 2 / 2))


@pytest.mark.parametrize(("parity", "stop_bits", "bits"), [("N", 1, 10), ("N", 2, 11), ("E", 1, 11), ("O", 2, 12)])
def test_a_character_has_its_bits(parity: str, stop_bits: int, bits: int) -> None:
    """Start, eight data, parity where there is one, and the stop bits."""
    assert bits_per_character(Bus("line", "modbus-rtu", port="x", parity=parity, stop_bits=stop_bits)) == bits


def _check(site: Path, state: Path | None = None) -> str:
    out = io.StringIO()
    assert run_check(site, as_json=True, out=out, state=state) == 0
    return out.getvalue()


@pytest.mark.parametrize(
    ("sentence", "value", "told"),
    [
        ("A value the span excludes is told.", 9.4, ["channels.ph.suspect_span"]),
        ("One beyond the widest bounds is told once, by those.", 15.0, ["channels.ph.fail_span"]),
        ("One within says nothing.", 7.2, []),
    ],
)
def test_a_span_that_excludes_the_last_value_is_told(
    sentence: str, value: float, told: list[str], site_file: Path, tmp_path: Path
) -> None:
    """With --state the newest value in the journal is held against the spans: only the newest counts."""

    async def write() -> None:
        journal = Journal(tmp_path / "journal.db", "bench", "boot")
        await journal.open(Instant(1_700_000_000_000_000, 0))
        for second, shown in ((1, 3.0), (2, value)):
            at = Instant(1_700_000_000_000_000 + second * 1_000_000, second * 1_000_000)
            journal.add(Outcome(readings=(Reading("ph", at, (), shown, Quality.GOOD),)))
        await journal.commit(Instant(1_700_000_003_000_000, 3_000_000))
        await journal.close(Instant(1_700_000_003_000_000, 3_000_000))

    asyncio.run(write())
    warnings = json.loads(_check(site_file, tmp_path))["warnings"]
    assert [w["path"] for w in warnings if "last value" in w["text"]] == told, sentence


def test_a_state_without_a_journal_is_said(site_file: Path, tmp_path: Path) -> None:
    """--state that names no journal is a missing input, not silence."""
    with pytest.raises(InputError, match="no journal here"):
        run_check(site_file, as_json=False, out=io.StringIO(), state=tmp_path)
