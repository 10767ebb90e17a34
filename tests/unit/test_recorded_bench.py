"""A recorded file on simulated instruments: every row served once, in order, at the instruments' resolution."""

import asyncio
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from struct import pack, unpack

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymodbus.client import AsyncModbusTcpClient

from gateway.errors import InputError
from gateway.site import Channel, Conversion
from simulators.instruments import HamiltonPhArc, Instrument, Mag6000, Point, Refusal
from simulators.modbus import TcpServer
from simulators.recorded import Recorded, Row, read_rows
from simulators.wiring import Feed

_GPM = 3.785411784e-3 / 60  # in m3/s


def _channel(name: str, quantity: str, unit: str) -> Channel:
    return Channel(name, quantity, unit, poll_us=15_000_000, hold_us=37_500_000, stale_after_us=60_000_000)


CHANNELS = {
    "ph": _channel("ph", "pH", "pH"),
    "temperature": _channel("temperature", "temperature", "degC"),
    "flow": _channel("flow", "flow", "gpm"),
}


def _feeds() -> dict[str, Feed]:
    arc, mag = HamiltonPhArc(1), Mag6000(2)

    def feed(name: str, instrument: Instrument, point: Point, gain: float = 1.0) -> Feed:
        return Feed(CHANNELS[name], instrument, point, Conversion(gain))

    return {
        "ph": feed("ph", arc, arc.points["pH"]),
        "temperature": feed("temperature", arc, arc.points["temperature"]),
        "flow": feed("flow", mag, mag.points["volume_flow"], _GPM),
    }


def _rows(count: int) -> list[Row]:
    """Rows of which no two neighbours are alike in any column."""
    return [
        Row(f"row {i}", {"ph": 5.0 + i * 0.01, "temperature": 20.0 + i * 0.1, "flow": 10.0 + i * 0.5})
        for i in range(count)
    ]


_BLOCKS = {"ph": (2089, 10), "temperature": (2409, 10), "flow": (3002, 2)}


def _decoded(name: str, words: Sequence[int]) -> float:
    """The value in the channel's unit, read by the documents and not by the product."""
    low_first = name != "flow"
    pair = words[2:4] if low_first else words
    value = unpack(">f", pack(">2H", *(reversed(pair) if low_first else pair)))[0]
    return float(value / _GPM if name == "flow" else value)


def _read(feeds: dict[str, Feed], name: str) -> float | None:
    """One poll of a channel's registers, as a line would carry it; None for silence."""
    instrument = feeds[name].instrument
    if instrument.silent:
        return None
    words = instrument.read(3, *_BLOCKS[name])
    assert not isinstance(words, Refusal)
    return _decoded(name, words)


_RESOLUTION = {"ph": 0.01, "temperature": 0.1, "flow": 1e-7 / _GPM}


@given(polls=st.lists(st.sampled_from(sorted(_BLOCKS)), max_size=120), count=st.integers(1, 12))
def test_whoever_polls_sees_every_row_once_and_in_order(polls: list[str], count: int) -> None:
    """In whatever order and however often values are polled: none skipped, none invented, repeated only while held."""
    feeds, rows = _feeds(), _rows(count)
    recorded = Recorded(rows, list(feeds.values()))
    recorded.begin()
    seen: dict[str, list[float]] = {name: [] for name in _BLOCKS}
    for name in polls:
        value = _read(feeds, name)
        if value is not None:
            seen[name].append(value)
    for name, values in seen.items():
        distinct = [value for value, _ in groupby(values)]
        file = [float(row.values[name] or 0.0) for row in rows][: len(distinct)]
        assert distinct == pytest.approx(file, abs=_RESOLUTION[name] / 2 + 1e-6)
        assert recorded.served <= len(distinct) <= recorded.served + 1
    assert recorded.finished.is_set() == (recorded.served == count)


@pytest.mark.parametrize(
    "pattern",
    [
        pytest.param(["ph", "temperature", "flow"], id="all at one rate"),
        pytest.param(["flow"] * 7 + ["ph", "temperature"], id="flow polled seven times as often"),
        pytest.param(["ph", "flow", "ph", "ph", "temperature", "temperature"], id="uneven"),
    ],
)
def test_a_whole_file_is_served_over_a_socket(pattern: list[str]) -> None:
    """A plain client polls until the instruments fall silent: the file arrived, each row once, in order."""

    async def poll() -> tuple[dict[str, list[float]], Recorded, list[bool]]:
        feeds, rows = _feeds(), _rows(20)
        recorded = Recorded(rows, list(feeds.values()))
        recorded.begin()
        instruments = [feeds["ph"].instrument, feeds["flow"].instrument]
        server = TcpServer(instruments)
        await server.start()
        client = AsyncModbusTcpClient(server.host, port=server.port, timeout=2, retries=0)
        await client.connect()
        seen: dict[str, list[float]] = {name: [] for name in _BLOCKS}
        while not recorded.finished.is_set():
            for name in pattern:
                if recorded.finished.is_set():
                    break
                address, count = _BLOCKS[name]
                unit = feeds[name].instrument.unit
                answer = await client.read_holding_registers(address, count=count, device_id=unit)
                seen[name].append(_decoded(name, answer.registers))
        client.close()
        await server.stop()
        return seen, recorded, [instrument.silent for instrument in instruments]

    seen, recorded, silent = asyncio.run(poll())
    assert recorded.served == 20
    assert silent == [True, True]
    for name, values in seen.items():
        distinct = [value for value, _ in groupby(values)]
        assert distinct == pytest.approx([row.values[name] for row in _rows(20)], abs=_RESOLUTION[name] / 2 + 1e-6)


def test_an_empty_cell_is_the_instruments_own_no_value() -> None:
    """A missing value is said by the status register, held and polled like any other row."""
    feeds = _feeds()
    rows = [Row("a", {"ph": 7.0}), Row("b", {"ph": None}), Row("c", {"ph": 7.2})]
    recorded = Recorded(rows, list(feeds.values()))
    recorded.begin()
    arc = feeds["ph"].instrument
    states = []
    while not recorded.finished.is_set():
        words = arc.read(3, *_BLOCKS["ph"])
        assert not isinstance(words, Refusal)
        states.append((round(_decoded("ph", words), 2), words[4]))
    assert states == [(7.0, 0), (0.0, 16), (7.2, 0)]


def test_reading_the_unit_only_does_not_turn_the_page() -> None:
    """A row counts as served when its values were carried, not when something else of the instrument was read."""
    feeds = _feeds()
    recorded = Recorded([Row("a", {"flow": 10.0})], list(feeds.values()))
    recorded.begin()
    feeds["flow"].instrument.read(3, 602, 1)
    feeds["flow"].instrument.read(3, 3002, 1)
    assert recorded.served == 0
    feeds["flow"].instrument.read(3, 3002, 2)
    assert recorded.served == 1


def _file(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "series.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_columns_are_found_by_name_by_map_and_in_their_unit(tmp_path: Path) -> None:
    """A heading may carry its unit; a map renames; empty cells, nan and inf are no value."""
    path = _file(tmp_path, "time,flow [L/s],acid,other\n2026-01-01T00:00:00Z,1,7.1,x\n2026-01-01T00:00:15Z,,nan,y\n")
    rows = read_rows(path, CHANNELS, {"flow": "flow", "ph": "acid"})
    assert rows[0].time == "2026-01-01T00:00:00Z"
    assert rows[0].values == {"flow": pytest.approx(60 / 3.785411784), "ph": 7.1}
    assert rows[1].values == {"flow": None, "ph": None}
    assert read_rows(path, CHANNELS)[0].values.keys() == {"flow"}


@pytest.mark.parametrize(
    ("text", "columns", "said"),
    [
        pytest.param("", None, "series.csv: empty", id="an empty file"),
        pytest.param("time,level\n", None, "no column is a channel of the site; they are level", id="no channel"),
        pytest.param("time,ph\nx,7\ny,seven\n", None, "series.csv:3: ph: could not convert", id="not a number"),
        pytest.param("time,ph\nx,7,8\n", None, "series.csv:2: 3 cells under 2 headings", id="a cell too many"),
        pytest.param(
            "time,ph\nx,7\n", {"ph": "acid"}, "no column 'acid'; they are ph", id="a column that is not there"
        ),
        pytest.param("time,ph\nx,7\n", {"orp": "ph"}, "no channel 'orp'", id="a channel the site does not have"),
        pytest.param("time,flow [ft]\nx,7\n", None, "series.csv:2: flow: 'ft' is a unit of length", id="a wrong unit"),
    ],
)
def test_a_bad_file_is_named_with_its_line(
    tmp_path: Path, text: str, columns: dict[str, str] | None, said: str
) -> None:
    """Nothing of a malformed file is shown; the message says where it is wrong."""
    with pytest.raises(InputError) as caught:
        read_rows(_file(tmp_path, text), CHANNELS, columns)
    assert said in str(caught.value)


def test_a_file_needs_rows_and_instruments() -> None:
    """A file without rows, and a channel no instrument shows, are refused before anything starts."""
    feeds = _feeds()
    with pytest.raises(InputError, match="no rows"):
        Recorded([], list(feeds.values()))
    with pytest.raises(InputError, match="no instrument shows flow"):
        Recorded([Row("a", {"flow": 1.0})], [feeds["ph"]])
