"""`probe`: the readings of an unknown register side by side, with what the display says; nothing chosen silently."""

import io
import json
import struct
from collections.abc import Sequence

import pytest

from gateway.__main__ import main
from gateway.drivers.probe import Question, run_probe
from gateway.drivers.probe_candidates import Candidate, Display, Verdict, candidates, places_of, survivors, twins
from gateway.drivers.registers import ORDERS
from gateway.drivers.target import Setting, bus_of
from tests.support.set_line import Answer, holding, served

PH = (0.0, 14.0)


def f32_words(value: float, order: str = "ABCD") -> tuple[int, int]:
    """The two registers of a float as a device of this order sends them, by the letters' own definition."""
    plain = dict(zip("ABCD", struct.pack(">f", value), strict=True))
    sent = bytes(plain[letter] for letter in order)
    return struct.unpack(">2H", sent)


def read_of(
    registers: Sequence[int], start: int, address: int, *, display: str | None = None, types: tuple[str, ...] = ()
) -> tuple[Candidate, ...]:
    """The candidates of holding registers from `start` on, for a pH."""
    words = {(3, start + n): word for n, word in enumerate(registers)}
    shown = None if display is None else Display.of(display)
    return candidates(words, {}, functions=(3,), address=address, types=types, display=shown, band=PH)


def by_place(found: Sequence[Candidate]) -> dict[tuple[int, str], Candidate]:
    """The float's candidates by what was added to the number, and order."""
    return {(c.base, c.order): c for c in found if c.type == "f32"}


def test_there_are_eight_of_a_float() -> None:
    """Two address bases times four orders, each with its raw words, whatever the display says."""
    found = read_of((*f32_words(7.02, "CDAB"), 0x4120), 9, 10, types=("f32",))
    assert [(c.base, c.order) for c in found] == [(base, order) for base in (0, -1) for order in ORDERS]
    assert all(len(c.words) == 2 for c in found)


@pytest.mark.parametrize(
    ("value", "swapped"),
    [(7.02, -2.3337815e-17), (7.0, 2.3272766e-41)],
)
def test_a_swapped_ph_is_a_number_and_not_believed(value: float, swapped: float) -> None:
    """pH 7.02 with its words swapped reads -2.3e-17 and 7.0 reads 2.3e-41: near zero, and called another's bytes."""
    found = by_place(read_of(f32_words(value), 10, 10, types=("f32",)))
    wrong = found[0, "CDAB"]
    assert wrong.value == pytest.approx(swapped, rel=1e-3)
    assert wrong.verdict is Verdict.IMPLAUSIBLE
    assert found[0, "ABCD"].value == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("base", [0, -1])
def test_the_display_singles_one_out(order: str, base: int) -> None:
    """Whatever the order and the base, the candidate that equals the display is the true one, and the only one."""
    around = [0x1234, 0x1234, 0x1234]  # as a low word behind 40E0 it makes 7.0022, which no display rounds to 7.02
    at = 1 if base == 0 else 0  # of the registers 9, 10, 11 asked for around register 10
    around[at : at + 2] = f32_words(7.02, order)
    left = survivors(read_of(around, 9, 10, display="7.02"))
    assert [(c.type, c.base, c.order, c.verdict) for c in left] == [("f32", base, order, Verdict.EQUAL)]


def test_zero_cannot_be_told_apart() -> None:
    """0.0 is 0.0 in every order: all eight survive, in one group of twins."""
    left = survivors(read_of((0, 0, 0), 9, 10, display="0.0"))
    assert len(left) == 8
    assert [len(group) for group in twins(left)] == [8]


def test_words_that_are_the_same_backwards_cannot_be_told_apart() -> None:
    """12.0625 is 4141 0000; a value whose two words are equal reads the same with its words swapped."""
    value = struct.unpack(">f", bytes.fromhex("41414141"))[0]  # 12.078...
    left = survivors(read_of((0x4141, 0x4141), 10, 10, display=f"{value:.2f}"))
    assert {c.order for c in left} == set(ORDERS)
    assert len(twins(left)) == 1


def test_a_seven_between_zeros_is_two_values() -> None:
    """7.0 is 40E0 0000: between zeros the plain float at the number and the swapped one below it are the same."""
    left = survivors(read_of((0x0000, 0x40E0, 0x0000), 9, 10, display="7.00"))
    assert [(c.base, c.order) for c in left] == [(0, "ABCD"), (-1, "CDAB")]
    assert len(twins(left)) == 1


@pytest.mark.parametrize(
    ("sentence", "words", "display", "expected"),
    [
        ("Hundredths in one register.", (0x02BC,), "7.00", ("u16", "ABCD", 0.01)),
        ("Hundredths with the bytes swapped.", (0xBC02,), "7.00", ("u16", "BADC", 0.01)),
        ("A negative temperature in hundredths.", (0xFF05,), "-2.51", ("i16", "ABCD", 0.01)),
        ("Thousandths over two registers, low word first.", (0x1B58, 0x0000), "7.000", ("u32", "CDAB", 0.001)),
    ],
)
def test_whole_numbers_with_decimals_are_proposed(
    sentence: str, words: tuple[int, ...], display: str, expected: tuple[str, str, float]
) -> None:
    """Where no type is given, whole numbers that give the display with a decimal scale are among the candidates."""
    left = survivors(read_of(words, 10, 10, display=display))
    assert expected in [(c.type, c.order, c.scale) for c in left], sentence


def test_what_merely_moved_is_near_and_what_is_far_is_not() -> None:
    """A value that drifted by a digit since the look is near; nothing is proposed when all are far."""
    near = survivors(read_of(f32_words(7.04), 10, 10, display="7.02", types=("f32",)))
    assert [(c.order, c.verdict) for c in near] == [("ABCD", Verdict.NEAR)]
    other = survivors(read_of(f32_words(4.01), 10, 10, display="7.02", types=("f32",)))
    assert [c.verdict for c in other] == [Verdict.PLAUSIBLE]


def test_with_nothing_to_compare_with_whole_numbers_stand_as_they_are() -> None:
    """Without display and quantity nobody can tell decimals: the float's eight, and the whole numbers unscaled."""
    words = {(3, 9): 0x0000, (3, 10): 0x02BC, (3, 11): 0x0001}
    found = candidates(words, {}, functions=(3,), address=10)
    assert len([c for c in found if c.type == "f32"]) == 8
    assert {c.scale for c in found} == {1.0}
    assert (0, "u16", 700.0) in [(c.base, c.type, c.value) for c in found]


def test_an_absurd_map_leaves_nobody() -> None:
    """Four readings that are all outside a pH leave no survivor, and nothing is proposed."""
    assert survivors(read_of(f32_words(1e9), 10, 10, types=("f32",))) == ()


def test_register_nought_has_one_base() -> None:
    """There is nothing below register 0."""
    assert places_of(0) == (0,)
    assert places_of(1) == (0, -1)


@pytest.mark.parametrize(
    ("text", "value", "step"), [("7.02", 7.02, 0.01), ("7", 7.0, 1.0), ("-2.5", -2.5, 0.1), ("1e3", 1000.0, 1000.0)]
)
def test_the_display_tells_its_own_resolution(text: str, value: float, step: float) -> None:
    """How many digits the display shows is how closely it can be compared with."""
    shown = Display.of(text)
    assert (shown.value, shown.step) == (value, pytest.approx(step))


@pytest.mark.parametrize("text", ["seven", "", "nan", "inf"])
def test_a_display_that_is_no_number_is_refused(text: str) -> None:
    """A display is a number."""
    with pytest.raises(ValueError, match=r"number|float"):
        Display.of(text)


def probe(answer: Answer, question: Question, *, as_json: bool = False) -> tuple[int, str]:
    """Exit status and words of a probe of unit 7 on a real pseudo-terminal."""
    out = io.StringIO()
    with served({7: answer}) as path:
        status = run_probe(bus_of(path, Setting(9600, "N", 1)), question, out, as_json=as_json)
    return status, out.getvalue()


def test_the_survivor_is_written_out_for_a_profile() -> None:
    """One candidate equals the display: it is told as TOML with wire address, order and the manual's number."""
    low, high = f32_words(7.02, "CDAB")
    answer = holding({2090: 0x1000, 2091: low, 2092: high, 2093: 0x0101})
    status, out = probe(answer, Question(7, 2092, display=Display.of("7.02"), band=PH, quantity="pH", unit_name="pH"))
    assert status == 0
    assert out.count("EQUALS THE DISPLAY") == 1
    for line in ("doc_register = 2092", "address = 2091", 'order = "CDAB"', 'type = "f32"', "function = 3"):
        assert line in out
    assert "not chosen for you" in out
    assert "So do" in out
    assert "hamilton-ph-arc" in out  # its manual and two programs: low word first
    assert "yosemitech" not in out  # sends DCBA


def test_what_one_look_cannot_decide_is_said_with_the_way_out() -> None:
    """0.0 on the display: the candidates are not decided, and the advice is another buffer."""
    answer = holding({9: 0, 10: 0, 11: 0})
    status, out = probe(answer, Question(7, 10, display=Display.of("0.0"), band=PH, quantity="pH"))
    assert status == 0
    assert "cannot be told apart" in out
    assert "zero is zero in every order" in out
    assert "another buffer" in out


def test_nothing_that_agrees_is_exit_one_with_reasons() -> None:
    """No candidate is plausible: nothing is proposed, and the usual reasons are told."""
    low, high = f32_words(1e9)
    status, out = probe(holding({10: low, 11: high, 9: 0x4E6E}), Question(7, 10, types=("f32",), band=PH))
    assert status == 1
    assert "nothing is proposed" in out
    assert "[points" not in out


def test_a_register_that_is_not_there_is_said_with_its_exception() -> None:
    """Exception 2 for every register around the number."""
    status, out = probe(holding({}), Question(7, 500, band=PH))
    assert status == 1
    assert "exception 2" in out


def test_a_last_register_is_read_alone() -> None:
    """Where the neighbours do not exist, the one register that does is still shown, as a whole number."""
    status, out = probe(holding({10: 0x02BC}), Question(7, 10, display=Display.of("7.00"), band=PH, quantity="pH"))
    assert status == 0
    assert "scale = 0.01" in out


def test_functions_that_give_the_same_registers_are_one_row() -> None:
    """A device that answers function 4 with its holding registers is not shown twice."""
    registers = {9: 0x1111, 10: 0x40E0, 11: 0xA3D7}

    def both(function: int, address: int, count: int) -> bytes | None:
        pdu = holding(registers)(3, address, count)
        return bytes((function | (pdu[0] & 0x80),)) + pdu[1:]

    status, out = probe(both, Question(7, 10, display=Display.of("7.02"), band=PH), as_json=True)
    told = json.loads(out)
    assert status == 0
    assert {tuple(c["functions"]) for c in told["candidates"]} == {(3, 4)}
    assert [c["address"] for c in told["candidates"] if c["survives"]] == [10]


@pytest.mark.parametrize(
    ("sentence", "arguments", "status", "told"),
    [
        ("A display that is no number.", ["--display", "seven"], 66, "--display"),
        ("A quantity nobody knows.", ["--quantity", "phh"], 66, "phh"),
        ("A unit the quantity does not have.", ["--quantity", "pH", "--in", "ft"], 66, "measured in"),
        ("A type nobody knows.", ["--type", "float33"], 66, "float33"),
        ("A block that is none.", ["--block", "10"], 66, "--block"),
        ("A wait that is none.", ["--timeout", "0"], 66, "--timeout"),
        ("A bus kind nobody knows.", ["--kind", "carrier-pigeon"], 66, "carrier-pigeon"),
        ("A port that is not there.", [], 1, "no port"),
    ],
)
def test_what_cannot_be_asked_is_said(
    sentence: str, arguments: list[str], status: int, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each mistake of the command line has its words, and opens no port."""
    got = main(["probe", "/dev/no-such-port", "--unit", "1", "--address", "10", *arguments])
    assert got == status, sentence
    assert told in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "register", "functions"),
    [
        ("2092", 2092, (3, 4)),
        ("0x082B", 2091, (3, 4)),
        ("42092", 2092, (3,)),
        ("32092", 2092, (4,)),
    ],
)
def test_a_manual_may_count_from_forty_thousand(text: str, register: int, functions: tuple[int, ...]) -> None:
    """42092 is holding register 2092, 32092 input register 2092; a hexadecimal number stands as it is."""
    from gateway.command_line.commission import _register

    assert _register(text) == (register, functions)
