"""What `replay` takes and what it refuses, each with its line; nothing half-done."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path
from zoneinfo import ZoneInfo

import pytest

from gateway.config import load
from gateway.drivers.recorded import read_map
from gateway.drivers.replay import run_replay
from gateway.errors import InputError
from gateway.shipped import shipped

SITE = load(Path(str(shipped("examples", "little-valley"))), for_replay=True)
T0, T1 = "2026-11-30T12:00:00Z", "2026-11-30T12:00:15Z"


def replayed(tmp_path: Path, text: str, mapping: str | None = None, zone: str | None = None) -> str:
    """What replay prints for a file of this text."""
    data = tmp_path / "data.csv"
    data.write_text(text, encoding="utf-8")
    columns = None
    if mapping is not None:
        path = tmp_path / "map.toml"
        path.write_text(mapping, encoding="utf-8")
        columns = read_map(path)
    out = StringIO()
    run_replay(SITE, data, out, mapping=columns, time_zone=zone)
    return out.getvalue()


@pytest.mark.parametrize(
    ("sentence", "text", "said"),
    [
        ("An empty file.", "", "data.csv:1: the file is empty"),
        ("A file of a heading alone.", "time,flow\n", "no data rows"),
        ("A first column that is not time.", f"stamp,flow\n{T0},1\n", "data.csv:1: the first column is 'stamp'"),
        ("A column that is no channel, with what it may have meant.", f"time,flwo\n{T0},1\n", "did you mean flow?"),
        ("A unit that does not fit.", f"time,flow [pH]\n{T0},1\n", "data.csv:1: channel flow"),
        ("A column twice.", f"time,flow,flow\n{T0},1,2\n", "data.csv:1: column 'flow' stands twice"),
        (
            "One channel in two columns, under two units.",
            f"time,flow,flow [L/s]\n{T0},1,2\n",
            "data.csv:1: column 'flow [L/s]' is a second one for channel flow",
        ),
        ("A number that is none.", f"time,flow\n{T0},1\n{T1},abc\n", "data.csv:3: flow: 'abc' is no number"),
        ("A time that is none.", f"time,flow\n{T0},1\nnoon,2\n", "data.csv:3: 'noon' is no ISO 8601 time"),
        (
            "A time without a zone.",
            "time,flow\n2026-11-30T12:00:00,1\n",
            "data.csv:2: '2026-11-30T12:00:00' has no off",
        ),
        ("A row too short.", f"time,flow,ph\n{T0},1,7\n{T1},1\n", "data.csv:3: 2 fields where the header has 3"),
        ("A quality that is none.", f"time,flow,flow.quality\n{T0},1,fine\n", "data.csv:2: flow: quality 'fine'"),
        ("A quality without its channel.", f"time,flow.quality\n{T0},good\n", "flow.quality stands without"),
    ],
)
def test_a_malformed_file_stops_with_its_line(sentence: str, text: str, said: str, tmp_path: Path) -> None:
    """Each mistake names file, line and what was found; nothing is printed."""
    with pytest.raises(InputError) as caught:
        replayed(tmp_path, text)
    assert said in str(caught.value), sentence


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ('[channels]\nflwo = "q"\n', "'flwo', which is no channel of this site (did you mean flow?)"),
        ('[channels]\nflow = "qq"\n', "no column 'qq' for channel flow"),
        ("[channels]\nflow = 3\n", "channels.flow: needs a column"),
        ('tme = "t"\n', "tme: unknown key"),
        ('[channels.flow]\ncolumn = "q"\ncodes = { x = "odd" }\n', "channels.flow.codes.x: 'odd' is none of"),
        ('[channels.flow]\ncolumn = "q"\nfactor = 2\n', "channels.flow.factor: unknown key"),
        ("[channels\n", "map.toml"),
    ],
)
def test_a_mistake_in_the_map_names_its_key(mapping: str, said: str, tmp_path: Path) -> None:
    """The map file is checked as strictly as the site."""
    with pytest.raises(InputError) as caught:
        replayed(tmp_path, f"time,q\n{T0},1\n", mapping)
    assert said in str(caught.value)


def test_a_map_renames_converts_and_reads_codes(tmp_path: Path) -> None:
    """L/s under another name, a technician's codes, naive times in a zone, and a column left out."""
    rows = "\n".join(f"2026-11-30T07:{n // 4:02d}:{15 * (n % 4):02d},4.0,{'M' if n > 30 else ''},x" for n in range(60))
    text = "when,q,code,note\n" + rows + "\n"
    mapping = (
        'time = "when"\ntime_zone = "America/New_York"\n[channels.flow]\ncolumn = "q"\nunit = "L/s"\n'
        'quality = "code"\ncodes = { "M" = "maintenance" }\n'
    )
    out = replayed(tmp_path, text, mapping)
    assert '"from":"2026-11-30T12:00:00Z"' in out
    assert '"observed":63.40' in out  # 4 L/s x 15.850323 gpm
    assert '"maintenance_s":420' in out  # from the 32nd row to the last


def test_empty_cells_are_missing_and_nan_and_inf_are_failed(tmp_path: Path) -> None:
    """Three kinds of nothing, each under its own name."""
    cells = ["10", "", "nan", "inf", "-inf", "10"]
    text = "time,flow\n" + "\n".join(f"2026-11-30T12:00:{n:02d}Z,{cell}" for n, cell in enumerate(cells)) + "\n"
    out = replayed(tmp_path, text)
    assert '{"channel":"flow","valid_s":1,"suspect_s":0,"failed_s":3,"maintenance_s":0,"missing_s":1,' in out


def test_duplicates_and_backward_steps_are_input(tmp_path: Path) -> None:
    """Counted, kept out of judgement, and the period is what the clock covered."""
    stamps = ["12:00:00", "12:00:15", "12:00:15", "12:00:05", "12:00:20", "12:00:30"]
    text = "time,flow\n" + "\n".join(f"2026-11-30T{stamp}Z,10" for stamp in stamps) + "\n"
    out = replayed(tmp_path, text)
    assert '"duplicate_stamps":1,"backward_steps":1' in out
    assert '{"channel":"flow","valid_s":30,' in out


@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_a_byte_order_mark_and_either_line_ending_are_no_matter(ending: str, tmp_path: Path) -> None:
    """Files come from other people's machines."""
    text = ending.join(["\ufefftime,flow", f"{T0},10", f"{T1},10", ""])
    assert '"rows":2' in replayed(tmp_path, text)


def test_the_same_file_gives_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the zone of the machine."""
    make: Callable[[], str] = lambda: replayed(tmp_path, f"time,flow\n{T0},60\n{T1},60\n")  # noqa: E731  # twice
    first = make()
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    assert make() == first


def test_the_hour_a_zone_repeats_is_read_in_order(tmp_path: Path) -> None:
    """A logger on local time writes 01:00 to 02:00 twice on the night of the change: two hours pass, and no step back.

    60 gpm from 01:30 EDT to 02:30 EST is one slug of 7,200 s, as it is with offsets.
    """
    first = datetime(2026, 11, 1, 5, 30, tzinfo=UTC)
    lines = ["time,flow"]
    for n in range(482):
        local = (first + timedelta(seconds=15 * n)).astimezone(ZoneInfo("America/New_York"))
        lines.append(f"{local:%Y-%m-%d %H:%M:%S},{60 if n <= 480 else 10}")
    out = [json.loads(line) for line in replayed(tmp_path, "\n".join(lines), zone="America/New_York").splitlines()]
    ended = [(e["event"], e["duration_s"]) for e in out if e.get("rule") == "lv-slug-flow"]
    assert ended[-2:] == [("raised", 915.0), ("cleared", 7200.0)]
    assert (out[-1]["to"], out[-1]["backward_steps"]) == ("2026-11-01T07:30:15Z", 0)


def test_a_clock_set_back_by_a_little_is_no_change_of_zone(tmp_path: Path) -> None:
    """On any other day, and in the first pass of the repeated hour, a stamp that steps back stays a backward step."""
    for day in ("2026-11-30", "2026-11-01"):
        text = f"time,flow\n{day} 00:40:15,10\n{day} 00:40:00,10\n{day} 00:40:30,10\n"
        assert '"backward_steps":1' in replayed(tmp_path, text, zone="America/New_York")


def test_one_row_for_each_channel_at_the_same_stamp_is_one_moment(tmp_path: Path) -> None:
    """A recorder that writes pH and flow on rows of their own loses neither: the slug is found, both are valid."""
    rows = []
    for n in range(81):
        stamp = f"2026-11-30T12:{15 * n // 60:02d}:{15 * n % 60:02d}Z"
        rows += [f"{stamp},7.0,", f"{stamp},,60.0"]
    out = replayed(tmp_path, "time,ph,flow\n" + "\n".join(rows) + "\n")
    assert '"event":"raised","rule":"lv-slug-flow"' in out
    assert '{"channel":"flow","valid_s":1200,' in out
    assert '{"channel":"ph","valid_s":1200,' in out
