"""`scan`: who is on the line, with which characters, and what it is; it only reads, and it ends."""

import asyncio
import io
import json
import signal
import struct
import subprocess
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from gateway.__main__ import main
from gateway.drivers.facts import known_profiles
from gateway.drivers.scan import Scanner
from gateway.drivers.scan_plan import ALL_UNITS, LIKELY_SETTINGS, LIKELY_UNITS, ScanPlan, likely_settings, parse_units
from gateway.drivers.scan_words import run_scan
from gateway.drivers.target import Setting, bus_of
from gateway.errors import BusDown, InputError
from simulators.instruments import HamiltonPhArc, Instrument, KellerSeries30, Liquiline, Mag6000, WaveshareAi8
from simulators.line import Line
from simulators.modbus import SerialServer, TcpServer
from tests.conftest import ROOT
from tests.support.set_line import SetLine, holding, in_loop, refusing, served

N9600, N19200 = Setting(9600, "N", 2), Setting(19200, "N", 2)


def scanner_of(where: str, units: tuple[int, ...], *settings: Setting, reaction_s: float | None = None) -> Scanner:
    """A scan of these units that tells its progress to nobody."""
    plan = ScanPlan.of(where, settings=settings, units=units, reaction_s=reaction_s)
    return Scanner(plan, lambda _text: None)


async def scanned(line: SetLine, units: tuple[int, ...], *settings: Setting, reaction_s: float = 0.15) -> Scanner:
    """The scan of a line, run to its end; the line is taken away."""
    scanner = scanner_of(line.path, units, *settings, reaction_s=reaction_s)
    try:
        await scanner.run()
    finally:
        line.close()
    return scanner


@in_loop
async def test_a_unit_is_found_at_its_own_speed_and_nowhere_else() -> None:
    """A unit that hears 19200 baud only is found there, its exception being answer enough."""
    line = SetLine({7: refusing}, baud=19200)
    scanner = await scanned(line, (6, 7), N9600, N19200)
    assert [(a.unit, a.setting, a.how, a.told) for a in scanner.answers] == [(7, N19200, "answered", "exception 2")]


@in_loop
async def test_a_scan_for_one_setting_ends_where_somebody_answers() -> None:
    """Units of one line share one setting: setup's scan goes no further than the first that is answered."""
    line = SetLine({7: refusing, 8: refusing})
    plan = ScanPlan.of(line.path, settings=(N9600, N19200), units=(7, 8, 9), reaction_s=0.15)
    scanner = Scanner(plan, lambda _text: None, one_setting=True)
    try:
        await scanner.run()
    finally:
        line.close()
    assert [(answer.unit, answer.setting) for answer in scanner.sound] == [(7, N9600), (8, N9600)]
    assert scanner.asked == 3 + 2  # three units, and the two that answered once more with one stop bit


@in_loop
async def test_two_stop_bits_find_a_unit_and_one_is_tried_after() -> None:
    """Whether a unit found with two stop bits answers with one as well is asked, and told as found."""
    strict = await scanned(SetLine({1: refusing}, stop_bits=2), (1,), N9600)
    either = await scanned(SetLine({1: refusing}), (1,), N9600)
    assert [a.stop_bits_either for a in (*strict.answers, *either.answers)] == [False, True]


@in_loop
async def test_nothing_but_reads_goes_over_the_wire() -> None:
    """Whatever it finds, a scan asks with functions 3 and 4 only."""
    line = SetLine({1: refusing, 2: holding({0: 5, 1: 6, 100: 2})})
    await scanned(line, (1, 2, 3), N9600)
    assert {function for _, function, _, _ in line.heard} <= {3, 4}
    assert (1, 3, 0, 1) in line.heard


@in_loop
async def test_a_garbled_answer_is_somebody_at_another_setting() -> None:
    """Bytes that make no frame are told as somebody there, and never as a unit found."""
    line = SetLine({}, baud=38400)
    line.junk = b"\xfe\xf0\x80\xfe\x00\xff\xfe"
    scanner = await scanned(line, (1,), N9600)
    assert [answer.how for answer in scanner.answers] == ["garbled"]
    assert scanner.sound == []


@in_loop
async def test_an_echo_is_stepped_over_and_told() -> None:
    """An adapter that gives back what is sent does not make a unit of every address."""
    line = SetLine({3: refusing})
    line.echo = True
    scanner = await scanned(line, (2, 3), N9600)
    assert scanner.echo
    assert [answer.unit for answer in scanner.sound] == [3]


@in_loop
async def test_a_line_that_talks_before_anybody_asked_is_told() -> None:
    """Bytes on the line before the first question mean another master, or a device that sends by itself."""
    quiet = await scanned(SetLine({}), (2,), N9600)
    assert quiet.talks_unasked == []
    line = SetLine({})
    loop = asyncio.get_running_loop()
    for n in range(6):
        loop.call_later(0.02 * n, line.send, b"\x01\x03\x00\x00\x00\x02\xc4\x0b")
    scanner = await scanned(line, (2,), N9600)
    assert scanner.talks_unasked == [N9600]


@in_loop
async def test_a_unit_that_thinks_too_long_is_asked_again_with_patience() -> None:
    """An answer that comes while the next unit is asked is not that unit's: the slow one is found by asking again."""

    def thinking(function: int, address: int, count: int) -> bytes:
        line.delay_s = 0.3 if address == 0 else 0.0  # only of the question itself: naming it asks for much more
        return refusing(function, address, count)

    line = SetLine({4: thinking})
    scanner = await scanned(line, (4, 5), N9600, reaction_s=0.2)
    assert [(answer.unit, answer.how) for answer in scanner.answers] == [(4, "answered")]
    assert "slow" in scanner.answers[0].told


@in_loop
async def test_a_unit_that_is_silent_on_unknown_registers_is_asked_for_its_own() -> None:
    """A Yosemitech sonde gives no answer to register 0; at its works address it is asked for a register it has."""

    def sonde(function: int, address: int, count: int) -> bytes | None:
        if not 0x2601 <= address <= 0x2601 + 16 - count:
            return None
        return bytes((function, 2 * count)) + bytes(2 * count)

    scanner = await scanned(SetLine({1: sonde}), (1,), N9600)
    assert [answer.unit for answer in scanner.sound] == [1]
    assert scanner.sound[0].models[0].profile == "yosemitech-y4000"
    assert scanner.sound[0].models[0].weak


@in_loop
async def test_an_answer_of_another_unit_is_told_as_odd() -> None:
    """A device that answers with a unit address of its own is not the unit that was asked."""

    def impostor(function: int, address: int, count: int) -> bytes:
        return bytes((function | 0x80, 2))

    line = SetLine({9: impostor})
    line.speaks_as = 5
    scanner = await scanned(line, (9,), N9600)
    assert [(answer.unit, answer.how) for answer in scanner.answers] == [(9, "odd")]


@asynccontextmanager
async def serial_bench(*instruments: Instrument):
    """Simulated instruments on a pseudo-terminal."""
    line = Line()
    line.open()
    server = SerialServer(instruments, line.bench_path)
    await server.start()
    try:
        yield line.gateway_path
    finally:
        await server.stop()
        line.close()


@in_loop
async def test_instruments_are_named_by_what_they_say_of_themselves() -> None:
    """Unit flag, product code and maker, class and group name three models; a mere address names the fourth weakly."""
    instruments = (HamiltonPhArc(1), Mag6000(2), KellerSeries30(3), WaveshareAi8(4))
    async with serial_bench(*instruments) as path:
        scanner = scanner_of(path, (1, 2, 3, 4), N9600)
        await scanner.run()
    named = {answer.unit: [(model.profile, model.weak) for model in answer.models] for answer in scanner.sound}
    assert named[1] == [("hamilton-ph-arc", False)]
    assert named[2] == [("siemens-mag6000", False)]
    assert named[3] == [("keller-series30", False)]
    assert ("waveshare-ai8", True) in named[4]


@in_loop
async def test_a_tcp_server_is_scanned_without_settings() -> None:
    """An analyser behind Modbus TCP is found by its unit and named by the units of its inputs."""
    server = TcpServer([Liquiline(1, {1: "pH"})])
    await server.start()
    try:
        scanner = scanner_of(f"{server.host}:{server.port}", (1, 2), reaction_s=0.5)
        await scanner.run()
    finally:
        await server.stop()
    assert [answer.unit for answer in scanner.sound] == [1]
    assert scanner.sound[0].models[0].profile == "eh-liquiline-cm44x"
    assert not scanner.any_unit


@in_loop
async def test_serial_frames_through_a_socket_are_found_too() -> None:
    """Behind a converter that passes serial frames through, nobody answers Modbus TCP: the other kind is tried."""
    server = TcpServer([Mag6000(2)], rtu_framing=True)
    await server.start()
    try:
        scanner = scanner_of(f"{server.host}:{server.port}", (2,), reaction_s=0.2)
        await scanner.run()
    finally:
        await server.stop()
    assert [(answer.unit, answer.kind) for answer in scanner.sound] == [(2, "modbus-rtu-over-tcp")]
    assert scanner.sound[0].models[0].profile == "siemens-mag6000"


@in_loop
async def test_a_tcp_device_that_ignores_the_unit_is_one_device() -> None:
    """A server that answers to every unit address is told as such, and not as 247 instruments."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while len(head := await reader.read(7)) == 7:
            pdu = await reader.read(struct.unpack(">H", head[4:6])[0] - 1)
            writer.write(head[:4] + struct.pack(">HB", 3, head[6]) + bytes((pdu[0] | 0x80, 2)))
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        port = server.sockets[0].getsockname()[1]
        scanner = scanner_of(f"127.0.0.1:{port}", (1, 2, 3, 4, 5, 6, 7), reaction_s=0.5)
        await scanner.run()
    finally:
        server.close()
        await asyncio.sleep(0.05)
    assert scanner.any_unit
    assert len(scanner.sound) == 4


def _run_scan(units: tuple[int, ...], *, as_json: bool = False) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of a scan of a line with unit 7 on it, served by a thread of its own."""
    out, err = io.StringIO(), io.StringIO()
    with served({7: refusing}) as path:
        plan = ScanPlan.of(path, settings=(N9600,), units=units, reaction_s=0.15)
        status = run_scan(plan, out, err, as_json=as_json)
    return status, out.getvalue(), err.getvalue()


def test_what_it_does_is_said_before_and_what_to_look_at_after() -> None:
    """Nobody there is exit 1 with what a technician can check; before it, what goes over the wire and how long."""
    status, out, err = _run_scan((2, 3))
    assert status == 1
    for reason in ("A and B", "power", "termination", "another master", "--all", "Modbus ASCII"):
        assert reason in out
    assert "nothing is written" in err
    assert "At most" in err


def test_json_tells_units_and_settings() -> None:
    """The same as data: one object, the unit with its speed, parity and models."""
    status, out, _ = _run_scan((7,), as_json=True)
    told = json.loads(out)
    assert status == 0
    assert [(u["unit"], u["baud"], u["parity"], u["how"]) for u in told["units"]] == [(7, 9600, "N", "answered")]
    assert told["interrupted"] is False


def test_a_port_in_use_is_said() -> None:
    """A port that another program holds open is the reason, and not an empty line."""

    async def twice() -> None:
        line = SetLine({})
        holder = scanner_of(line.path, (2, 3), N9600)
        task = asyncio.create_task(holder.run())
        await asyncio.sleep(0.03)
        try:
            with pytest.raises(BusDown, match="in use by another program"):
                await scanner_of(line.path, (2,), N9600).run()
        finally:
            await task
            line.close()

    asyncio.run(twice())


def test_ctrl_c_leaves_what_was_found() -> None:
    """An interrupt in the middle of 247 units tells the one that had answered, and ends in order."""
    bench = subprocess.Popen(
        [sys.executable, "-c", _BENCH], cwd=ROOT, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True
    )
    assert bench.stdout is not None
    assert bench.stdin is not None
    with bench:
        path = bench.stdout.readline().strip()
        scan = subprocess.Popen(
            [sys.executable, "-m", "gateway", "scan", path, "--all", "--json"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        bench.stdout.readline()  # unit 1 was asked: the scan is under way
        scan.send_signal(signal.SIGINT)
        out, err = scan.communicate(timeout=60)
        bench.stdin.close()
    told = json.loads(out)
    assert told["interrupted"] is True
    assert [unit["unit"] for unit in told["units"]] == [1]
    assert scan.returncode == 0, err
    assert told["asked"] < 247


_BENCH = """
import asyncio, sys
from tests.support.set_line import SetLine, refusing

async def main():
    line = SetLine({1: refusing})
    print(line.path, flush=True)
    while not any(unit == 3 for unit, *_ in line.heard):
        await asyncio.sleep(0.01)
    print("asked", flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    line.close()

asyncio.run(main())
"""


def test_the_cost_is_arithmetic() -> None:
    """An absent unit costs the reaction and 15 characters of 11 bits; the default scan is bounded by half a minute."""
    plan = ScanPlan.of("/dev/x", units=(1, 2), settings=(N9600,))
    assert plan.timeout_s(N9600) == pytest.approx(0.12 + 15 * 11 / 9600)
    assert plan.longest_s == pytest.approx(2 * (0.12 + 15 * 11 / 9600 + 0.01))
    default = Scanner(ScanPlan.of("/dev/x"), lambda _text: None)
    assert default.plan.longest_s < default.longest_s < 30


@pytest.mark.parametrize(
    ("sentence", "text", "units"),
    [
        ("A list.", "1,5", (1, 5)),
        ("A range.", "3-6", (3, 4, 5, 6)),
        ("Both, none twice.", "1-3, 2,247", (1, 2, 3, 247)),
    ],
)
def test_units_are_written_as_people_write_them(sentence: str, text: str, units: tuple[int, ...]) -> None:
    """Lists and ranges of unit addresses."""
    assert parse_units(text) == units, sentence


@pytest.mark.parametrize("text", ["", "a", "1-", "5-3", "300", "1,,2", "-4"])
def test_what_is_no_unit_is_refused(text: str) -> None:
    """Anything else is refused with an example."""
    with pytest.raises(ValueError, match="unit address"):
        parse_units(text)


@pytest.mark.parametrize(
    ("sentence", "arguments", "told"),
    [
        ("Unit 0 of a serial line is everybody.", ["/dev/x", "--units", "0-3"], "0 speaks to all"),
        ("A parity nobody has.", ["/dev/x", "--parity", "Q"], "N, E or O"),
        ("A speed nobody has.", ["/dev/x", "--baud", "fast"], "--baud"),
        ("A wait that is none.", ["/dev/x", "--timeout", "0"], "--timeout"),
        ("A place that is none.", ["host:x"], "HOST:PORT"),
    ],
)
def test_what_cannot_be_scanned_is_said(
    sentence: str, arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each mistake of the command line is a missing input with its words, and nothing is announced."""
    assert main(["scan", *arguments]) == 66, sentence
    captured = capsys.readouterr()
    assert told in captured.err
    assert "At most" not in captured.err


def test_settings_are_narrowed_by_speed_and_parity() -> None:
    """A speed or a parity that is asked for is tried, in the order of likelihood; no parity goes with two stop bits."""
    assert likely_settings((), (), None) == LIKELY_SETTINGS
    assert likely_settings((9600,), (), None) == (Setting(9600, "N", 2), Setting(9600, "E", 1))
    assert likely_settings((1200,), ("O",), None) == (Setting(1200, "O", 1),)
    assert likely_settings((), ("O",), None) == (Setting(9600, "O", 1), Setting(19200, "O", 1))
    assert likely_settings((9600,), ("N",), 1) == (Setting(9600, "N", 1),)


def test_every_default_of_a_profile_is_among_the_likely_ones() -> None:
    """Whoever connects an instrument as it left the works finds it without an option."""
    for profile in known_profiles():
        transport = profile.transport
        if transport.unit is not None:
            assert transport.unit in LIKELY_UNITS, profile.id
        if transport.baud is not None and transport.parity is not None:
            assert (transport.baud, transport.parity) in {(s.baud, s.parity) for s in LIKELY_SETTINGS}, profile.id
    assert set(LIKELY_UNITS) <= set(ALL_UNITS)


@pytest.mark.parametrize(
    ("where", "kind", "place"),
    [
        ("/dev/ttyUSB0", "modbus-rtu", "/dev/ttyUSB0"),
        ("192.168.10.20", "modbus-tcp", "192.168.10.20:502"),
        ("plc.local:1502", "modbus-tcp", "plc.local:1502"),
        ("[::1]:1502", "modbus-tcp", "::1:1502"),
    ],
)
def test_a_place_is_a_path_or_a_host(where: str, kind: str, place: str) -> None:
    """A path is a serial port, anything else a host with or without its port."""
    bus = bus_of(where, N9600)
    assert bus.kind == kind
    assert (bus.port or f"{bus.host}:{bus.tcp_port}") == place


@pytest.mark.parametrize("where", ["", "host:port", "host:0", "host:70000", ":502"])
def test_a_place_that_is_none_is_refused(where: str) -> None:
    """What is neither is said, before anything is opened."""
    with pytest.raises(InputError, match="HOST:PORT"):
        bus_of(where, N9600)


def test_by_path_names_come_before_bare_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports are offered by names that stay the same after a restart, where the system has such names."""
    from gateway.drivers import target

    named = tmp_path / "by-path"
    named.mkdir()
    (named / "platform-usb-0:1.2").touch()
    monkeypatch.setattr(target, "_BY_NAME", (str(named),))
    assert target.serial_ports() == (str(named / "platform-usb-0:1.2"),)
