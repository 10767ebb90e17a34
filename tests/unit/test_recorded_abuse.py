"""Recorded files as no logger should write them: refused with file and line, never a traceback, nothing half-done."""

from io import StringIO
from pathlib import Path

import pytest

from gateway.__main__ import main
from gateway.clock import ScaledClock
from gateway.config import load
from gateway.drivers.recorded import read_map
from gateway.drivers.replay import run_replay
from gateway.errors import InputError
from gateway.shipped import shipped

SITE_FILE = Path(str(shipped("examples", "little-valley")))
SITE = load(SITE_FILE, for_replay=True)
T0, T1 = "2026-11-30T12:00:00Z", "2026-11-30T12:00:15Z"


def refused(tmp_path: Path, data: bytes, mapping: str | None = None) -> str:
    """What replay says against a file of these bytes; it must print nothing."""
    path, columns, out = tmp_path / "data.csv", tmp_path / "map.toml", StringIO()
    path.write_bytes(data)
    if mapping is not None:
        columns.write_text(mapping, encoding="utf-8")
    with pytest.raises(InputError) as caught:
        run_replay(SITE, path, out, mapping=None if mapping is None else read_map(columns))
    assert not out.getvalue()
    return str(caught.value)


@pytest.mark.parametrize(
    ("sentence", "data", "said"),
    [
        ("Latin-1 in the heading.", b"time,ph \xe9\n", "data.csv:1 or later: is not UTF-8 text"),
        ("Latin-1 in a row.", f"time,ph\n{T0},7\n".encode() + b"\xe9\n", "is not UTF-8 text"),
        ("UTF-16.", "time,ph\n".encode("utf-16"), "is not UTF-8 text"),
        ("A cell longer than any number.", f"time,ph\n{T0},{'7' * 200_000}\n".encode(), "data.csv:2: field larger"),
        ("NUL bytes.", f"time,ph\n{T0},7\0\n".encode(), r"data.csv:2: ph: '7\x00' is no number"),
        ("A quote that never closes.", f'time,ph\n{T0},"7\n{T1},7\n'.encode(), "data.csv:3: ph:"),
        ("Python's own underscore.", f"time,ph\n{T0},1_0\n".encode(), "data.csv:2: ph: '1_0' is no number"),
        ("A day too early.", b"time,ph\n1899-12-31T23:59:59Z,7\n", "outside the years 1900 to 9998"),
        ("A day too late.", b"time,ph\n9999-01-01T00:00:00Z,7\n", "outside the years 1900 to 9998"),
        ("A stamp far ahead.", f"time,ph\n{T0},7\n9000-01-01T00:00:00Z,7\n".encode(), "data.csv:3: '9000-01-01T00:"),
        ("Before the year 1.", b"time,ph\n0001-01-01T00:00:00+14:00,7\n", "data.csv:2: '0001-01-01T00:00:00+14:00'"),
        ("After the year 9999.", b"time,ph\n9999-12-31T23:59:59-14:00,7\n", "outside the years 1900 to 9998"),
    ],
)
def test_a_file_no_logger_should_write_is_refused(sentence: str, data: bytes, said: str, tmp_path: Path) -> None:
    """Bytes, sizes and times beyond reason stop the reading with file and line."""
    assert said in refused(tmp_path, data), sentence


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ("time = 3\n", "map.toml: time: 3 is no text"),
        ("time_zone = 3\n", "map.toml: time_zone: 3 is no text"),
        ("channels = [1]\n", "map.toml: channels: [1] is no table"),
        ("[channels.ph]\ncolumn = 3\n", "channels.ph.column: 3 is no text"),
        ('[channels.ph]\ncolumn = "ph"\nunit = 3\n', "channels.ph.unit: 3 is no text"),
        ('[channels.ph]\ncolumn = "ph"\nquality = 3\n', "channels.ph.quality: 3 is no text"),
        ('[channels.ph]\ncolumn = "ph"\ncodes = 3\n', "channels.ph.codes: 3 is no table"),
        ("a = " + "[" * 100_000 + "\n", "map.toml: "),
    ],
)
def test_a_map_of_the_wrong_shape_names_its_key(mapping: str, said: str, tmp_path: Path) -> None:
    """A map whose values are of another kind is a mistake with a key, not a traceback."""
    assert said in refused(tmp_path, f"time,ph\n{T0},7\n".encode(), mapping)


def test_the_first_and_the_last_moment_there_are(tmp_path: Path) -> None:
    """The first second of 1900 and the last of 9998 replay: local days exist on both sides of them."""
    for begin, end in (
        ("1900-01-01T00:00:00Z", "1900-01-03T00:00:00Z"),
        ("9998-12-30T00:00:00Z", "9998-12-31T23:59:59Z"),
    ):
        path, out = tmp_path / "data.csv", StringIO()
        path.write_text(f"time,ph\n{begin},7\n{end},7\n", encoding="utf-8")
        assert run_replay(SITE, path, out) == 0
        assert f'"from":"{begin}","to":"{end}"' in out.getvalue()


def test_a_year_without_rows_is_a_gap_and_more_is_a_mistake(tmp_path: Path) -> None:
    """400 days to the second replay as one gap; a second more is refused with its line."""
    path = tmp_path / "data.csv"
    path.write_text("time,ph\n2026-01-01T00:00:00Z,7\n2027-02-05T00:00:00Z,7\n", encoding="utf-8")
    assert run_replay(SITE, path, StringIO()) == 0
    said = refused(tmp_path, b"time,ph\n2026-01-01T00:00:00Z,7\n2027-02-05T00:00:01Z,7\n")
    assert "data.csv:3: '2027-02-05T00:00:01Z' is more than 400 days after" in said


@pytest.mark.parametrize("speed", ["nan", "inf", "1e308", "0", "-1"])
def test_a_clock_of_no_speed_is_refused(speed: str, tmp_path: Path) -> None:
    """Not a number, endless, nothing and backwards are no speeds of time."""
    with pytest.raises(ValueError, match="speed"):
        ScaledClock(float(speed))
    assert main(["run", str(SITE_FILE), "--bench-clock", speed, "--state", str(tmp_path)]) == 66
