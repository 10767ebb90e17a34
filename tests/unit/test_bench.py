"""The bench as a whole: a site's lines with its instruments on them, and the command that runs it alone."""

import asyncio
import logging
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from struct import pack, unpack

import pytest
from pymodbus.client import AsyncModbusSerialClient, AsyncModbusTcpClient
from pymodbus.exceptions import ModbusIOException

from gateway.config import load as load_site
from gateway.errors import ConfigError, InputError
from gateway.model import Instant
from gateway.shipped import names, shipped
from gateway.site import Bus, Channel, Device, Site
from simulators.bench import Bench
from simulators.manhole import Manhole
from simulators.scenario import load
from simulators.simulate import main
from simulators.water import WEIR

_GPM = 3.785411784e-3 / 60  # in m3/s
_BAR_PER_FT = 0.3048 * 9806.65 / 1e5


class _Clock:
    """A clock the test moves; a sleep is one turn of the loop and a breath."""

    def __init__(self) -> None:
        self.mono_us = 7_000_000  # anything but zero

    def now(self) -> Instant:
        return Instant(0, self.mono_us, synced=True)

    async def sleep(self, duration_us: int) -> None:
        await asyncio.sleep(0.001)


@pytest.fixture
def site() -> Site:
    """The Little Valley example."""
    return load_site(shipped("examples", "little-valley"), for_replay=True)


def _f32(words: list[int], *, low_first: bool = False) -> float:
    return float(unpack(">f", pack(">2H", *(reversed(words) if low_first else words)))[0])


async def _read_all(buses: Mapping[str, Bus]) -> dict[str, float | None]:
    """Every value of the example site, polled and decoded by hand from the makers' documents; None for silence."""
    serial = AsyncModbusSerialClient(buses["rs485"].port, baudrate=19200, stopbits=2, timeout=0.5, retries=0)
    tcp = AsyncModbusTcpClient(buses["cabinet"].host, port=buses["cabinet"].tcp_port, timeout=0.5, retries=0)
    await serial.connect()
    await tcp.connect()

    async def words(client: AsyncModbusSerialClient | AsyncModbusTcpClient, unit: int, at: int, n: int) -> list[int]:
        with suppress(ModbusIOException):
            return list((await client.read_holding_registers(at, count=n, device_id=unit)).registers)
        return []

    ph, temperature = await words(serial, 1, 2089, 10), await words(serial, 1, 2409, 10)
    flow, level, analyser = await words(serial, 2, 3002, 2), await words(serial, 3, 2, 2), await words(tcp, 1, 0, 8)
    serial.close()
    tcp.close()
    return {
        "ph": _f32(ph[2:4], low_first=True) if ph else None,
        "temperature": _f32(temperature[2:4], low_first=True) if temperature else None,
        "flow": _f32(flow) / _GPM if flow else None,
        "level": _f32(level) / _BAR_PER_FT if level else None,
        "conductivity": _f32(analyser[0:2]) * 1000 if analyser else None,
        "tss": _f32(analyser[4:6]) if analyser else None,
    }


async def _arrived(bench: Bench, t_s: int) -> None:
    while bench.truth is None or bench.truth.t_s < t_s:  # noqa: ASYNC110 - the bench signals nobody
        await asyncio.sleep(0.001)


async def _polled(bench: Bench, clock: _Clock, moments_s: list[float]) -> list[dict[str, float | None]]:
    """What a client reads at each moment of the scenario, from a bench that runs."""
    buses = await bench.start()
    task = asyncio.create_task(bench.run())
    read = []
    zero_us = clock.mono_us
    try:
        for moment_s in moments_s:
            clock.mono_us = zero_us + round(moment_s * 1e6)
            await _arrived(bench, int(moment_s))
            read.append(await _read_all(buses))
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await bench.stop()
    return read


def test_what_is_read_is_what_the_model_says_to_the_last_digit(site: Site) -> None:
    """Over a real pty and a real socket, at moments before, in and after the slug, each instrument in its own unit."""
    moments = [0.0, 400.0, 1500.5, 2300.0]
    scenario, clock = load("slug"), _Clock()
    read = asyncio.run(_polled(Bench(scenario, site, clock), clock, moments))
    manhole = Manhole(scenario.seed, scenario, WEIR)
    for moment, values in zip(moments, read, strict=True):
        sensed = manhole.at(moment).sensed
        assert values["ph"] == pytest.approx(sensed.ph, abs=0.005 + 1e-6)
        assert values["temperature"] == pytest.approx(sensed.temperature_c, abs=0.05 + 1e-5)
        assert values["flow"] == pytest.approx(sensed.flow_gpm, abs=0.5e-7 / _GPM + 1e-4)
        assert values["level"] == pytest.approx(sensed.level_ft, abs=0.5e-5 / _BAR_PER_FT + 1e-6)
        assert values["conductivity"] == pytest.approx(sensed.conductivity_us_cm, abs=0.5 + 1e-3)
        assert values["tss"] == pytest.approx(sensed.tss_mg_l, abs=0.5 + 1e-3)
    assert [values["flow"] is not None and values["flow"] > 50.0 for values in read] == [False, True, True, False]


def test_a_dead_probe_is_silent_and_its_neighbours_are_not(site: Site) -> None:
    """While the pH cable is cut the probe's two values are gone and the others on the line go on; then it is back."""
    clock = _Clock()
    before, during, after = asyncio.run(_polled(Bench(load("dead-ph-probe"), site, clock), clock, [60, 600, 2400]))
    assert all(value is not None for value in (*before.values(), *after.values()))
    assert {name for name, value in during.items() if value is None} == {"ph", "temperature"}


def test_the_buses_keep_everything_but_where_they_are(site: Site) -> None:
    """The gateway gets the site's own buses back, with a real path and a real port in place of the ones on site."""

    async def start() -> Mapping[str, Bus]:
        bench = Bench(load("slug"), site, _Clock())
        buses = await bench.start()
        await bench.stop()
        return buses

    buses = asyncio.run(start())
    assert buses.keys() == site.buses.keys()
    assert replace(buses["rs485"], port=site.buses["rs485"].port) == site.buses["rs485"]
    cabinet = site.buses["cabinet"]
    assert replace(buses["cabinet"], host=cabinet.host, tcp_port=cabinet.tcp_port) == cabinet
    assert buses["rs485"].port.startswith("/dev/pts/")
    assert buses["cabinet"].host == "127.0.0.1"


@pytest.mark.parametrize("kind", ["modbus-rtu", "modbus-ascii"])
def test_a_line_with_parity_is_imitated_without(site: Site, kind: str) -> None:
    """A pseudo-terminal has neither parity nor seven bits: the bench's line goes without, and says so in its bus."""

    async def start() -> Mapping[str, Bus]:
        line = replace(site.buses["rs485"], kind=kind, parity="E", data_bits=7 if kind == "modbus-ascii" else 8)
        bench = Bench(load("slug"), replace(site, buses={**site.buses, "rs485": line}), _Clock())
        buses = await bench.start()
        await bench.stop()
        return buses

    bus = asyncio.run(start())["rs485"]
    assert (bus.kind, bus.parity, bus.data_bits) == (kind, "N", 8)


@pytest.mark.parametrize("name", names("examples"))
def test_every_example_site_can_be_imitated(name: str) -> None:
    """Each shipped example has an instrument for each of its devices and a point for each measured channel."""
    example = load_site(shipped("examples", name), for_replay=True)
    bench = Bench(load("normal-day"), example, _Clock())
    assert bench.instruments.keys() == example.devices.keys()


def test_a_4_to_20_ma_level_and_its_flow_agree() -> None:
    """Where flow is computed from the level, the level stands as the site's own flume would have it."""
    example = load_site(shipped("examples", "derived-flow"), for_replay=True)

    async def microamperes() -> int:
        clock = _Clock()
        bench = Bench(load("slug"), example, clock)
        await bench.start()
        clock.mono_us += 1_500_000_000
        task = asyncio.create_task(bench.run())
        await _arrived(bench, 1500)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        words = bench.instruments["inputs"].read(4, 0, 1)
        await bench.stop()
        assert isinstance(words, tuple)
        return words[0]

    head_ft = (asyncio.run(microamperes()) - 4000) / 16_000 * 1.5
    assert 2.06 * 448.831 * head_ft**1.58 == pytest.approx(62.0, rel=0.05)


def test_a_site_the_bench_cannot_imitate_says_why(site: Site) -> None:
    """Every device without a counterpart and every channel without a point, all at once."""
    strange = replace(
        site,
        devices={**site.devices, "gas": Device("gas", "rs485", 9, "msa-ultima-x")},
        channels={**site.channels, "ph": replace(site.channels["ph"], quantity="orp", unit="mV", point="redox")},
    )
    with pytest.raises(ConfigError) as caught:
        Bench(load("slug"), strange, _Clock())
    said = str(caught.value)
    assert "devices.gas: the bench has no instrument like 'msa-ultima-x'" in said
    assert "channels.ph: a simulated hamilton-ph-arc has no point 'redox'; it has pH, temperature" in said


def test_a_mute_instrument_must_be_there(site: Site) -> None:
    """A scenario that silences the pH probe needs a site that has one."""
    channels: dict[str, Channel] = {name: ch for name, ch in site.channels.items() if ch.quantity != "pH"}
    with pytest.raises(ConfigError, match=r"events\[0\].quantity: no instrument of lv-mh3 measures it: 'pH'"):
        Bench(load("dead-ph-probe"), replace(site, channels=channels), _Clock())


def test_the_bench_of_a_file_ends_with_the_file(site: Site, tmp_path: Path) -> None:
    """Polled row by row through the lines of the example site, the file arrives and the bench says it is over."""
    from simulators.recorded import read_rows

    file = tmp_path / "series.csv"
    rows = [f"2026-01-01T00:{i:02}:00Z,{6 + i / 10:.1f},{10 + i},{800 + i}" for i in range(8)]
    file.write_text("\n".join(["time,ph,flow,conductivity", *rows]), encoding="utf-8")

    async def poll() -> list[tuple[float, ...]]:
        bench = Bench(load("recorded"), site, _Clock(), rows=read_rows(file, site.channels))
        buses = await bench.start()
        task = asyncio.create_task(bench.run())
        seen = []
        for _ in range(8):
            values = await _read_all(buses)
            seen.append(tuple(float(values[name] or 0) for name in ("ph", "flow", "conductivity")))
        await task
        await bench.stop()
        assert bench.recorded is not None
        assert bench.recorded.served == 8
        return seen

    expected = [(6 + i / 10, 10.0 + i, 800.0 + i) for i in range(8)]
    for seen, row in zip(asyncio.run(poll()), expected, strict=True):
        assert seen == pytest.approx(row, abs=0.001)


def test_simulate_prints_where_to_point_a_gateway(capsys: pytest.CaptureFixture[str]) -> None:
    """The command's output is TOML: the buses tables of the site, with the lines that are really there."""
    assert main(["--scenario", "slug", "--speed", "600", "--duration", "1 min"]) == 0
    tables = tomllib.loads(capsys.readouterr().out)
    assert tables["buses"]["rs485"]["port"].startswith("/dev/pts/")
    assert tables["buses"]["cabinet"]["kind"] == "modbus-tcp"
    assert tables["buses"]["cabinet"]["tcp_port"] > 1024


def test_simulate_says_nothing_of_its_own_accord(caplog: pytest.LogCaptureFixture) -> None:
    """What the Modbus library tells of its own inside is no news to whoever runs the bench."""
    logging.getLogger("pymodbus.logging").setLevel(logging.NOTSET)
    with caplog.at_level(logging.INFO):
        assert main(["--scenario", "slug", "--speed", "600", "--duration", "1 min"]) == 0
    assert caplog.messages == []


def test_simulate_says_when_a_file_was_not_polled_to_its_end(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Nobody polls: the answer is no, with the number of rows that were served."""
    file = tmp_path / "series.csv"
    file.write_text("time,acidity\n2026-01-01T00:00:00Z,7.0\n", encoding="utf-8")
    assert main(["--recorded", str(file), "--map", "ph=acidity", "--speed", "600", "--duration", "1 min"]) == 1
    assert "# rows served: 0" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "error", "said"),
    [
        (["--scenario", "flood"], ConfigError, "known scenarios"),
        (["--scenario", "recorded"], InputError, "needs --recorded FILE"),
        (["--recorded", "nowhere.csv"], InputError, "nowhere.csv"),
        (["--duration", "5"], InputError, "--duration: '5' has no unit"),
    ],
)
def test_simulate_refuses_what_it_cannot_do(arguments: list[str], error: type[Exception], said: str) -> None:
    """A wrong name, file or duration is an error of its kind, before anything is opened."""
    with pytest.raises(error, match=said):
        main(arguments)
