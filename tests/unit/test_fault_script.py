"""The language of fault scripts, and scripts drawn at random."""

import pytest

from gateway.errors import InputError
from simulators.fault_script import NOT_ON_SERIAL, NOT_ON_TCP, Action, Fault, parse, random_faults
from tests.conftest import ROOT

LINES = [
    ("answer 3: delay 400ms", Fault(True, Action.DELAY, 3, 3, after_us=400_000)),
    ("answer 4-6: drop", Fault(True, Action.DROP, 4, 6)),
    ("answer 7: twice", Fault(True, Action.TWICE, 7, 7)),
    ("answer 7: twice after 50ms", Fault(True, Action.TWICE, 7, 7, after_us=50_000)),
    ("answer 8: hold", Fault(True, Action.HOLD, 8, 8)),
    ("answer 9: keep 4", Fault(True, Action.KEEP, 9, 9, number=4)),
    ("answer 10: noise 00 ff", Fault(True, Action.NOISE, 10, 10, data=b"\x00\xff")),
    ("answer 11: flip 3 4 19", Fault(True, Action.FLIP, 11, 11, bits=(3, 4, 19))),
    ("answer 12: unit 9", Fault(True, Action.UNIT, 12, 12, number=9)),
    ("answer 13: function 4", Fault(True, Action.FUNCTION, 13, 13, number=4)),
    ("answer 14: registers 1", Fault(True, Action.REGISTERS, 14, 14, number=1)),
    ("answer 15: exception 6", Fault(True, Action.EXCEPTION, 15, 15, number=6)),
    ("answer 16: transaction 7", Fault(True, Action.TRANSACTION, 16, 16, number=7)),
    ("request 2: echo", Fault(False, Action.ECHO, 2, 2)),
    ("request 20: black-hole 2000ms", Fault(False, Action.BLACK_HOLE, 20, 20, after_us=2_000_000)),
    ("request 21: half-open", Fault(False, Action.HALF_OPEN, 21, 21)),
    ("request 22: hang-up", Fault(False, Action.HANG_UP, 22, 22)),
    ("answer every of unit 2: drop", Fault(True, Action.DROP, unit=2)),
    ("answer every 4 of unit 2: drop", Fault(True, Action.DROP, 4, every=4, unit=2)),
]


@pytest.mark.parametrize(("line", "fault"), LINES)
def test_a_line_is_one_fault_and_prints_as_it_was_written(line: str, fault: Fault) -> None:
    """Every kind of line means what the table says, and a fault prints as its own line."""
    assert parse([line]) == (fault,)
    assert str(fault) == line


def test_comments_and_empty_lines_are_none() -> None:
    """What stands behind # is for people."""
    assert parse(["# a bad day", "", "answer 1: drop  # the first one"]) == (Fault(True, Action.DROP, 1, 1),)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("reply 3: drop", "'reply 3: drop' is not WHICH: WHAT"),
        ("answer 3: explode", "unknown fault 'explode'; known are delay, drop"),
        ("answer 3: echo", "echo befalls requests, not answers"),
        ("request 3: exception 2", "exception befalls answers, not requests"),
        ("answer 0: drop", "frames count from 1"),
        ("answer 5-3: drop", "frames count from 1, the lower number first"),
        ("answer every 0: drop", "frames count from 1"),
        ("answer 3: delay", "''"),
        ("answer 3: delay soon", "'soon'"),
        ("answer 3: unit 300", "unit takes a number up to 255, not '300'"),
        ("answer 3: noise zz", "noise takes bytes as 00 ff, not 'zz'"),
        ("answer 3: flip", "flip takes the numbers of bits"),
        ("answer 3: drop 4", "drop takes nothing more, not '4'"),
    ],
)
def test_a_line_that_is_no_fault_is_refused_with_its_number(line: str, said: str) -> None:
    """The mistake is named with file and line, and every line of a script is looked at."""
    with pytest.raises(InputError) as caught:
        parse(["answer 1: drop", line, "nonsense"], "bad-day.txt")
    first, second = str(caught.value).splitlines()
    assert first.startswith("bad-day.txt:2: ")
    assert said in first
    assert second.startswith("bad-day.txt:3: 'nonsense' is not WHICH: WHAT")


def test_which_frames_are_hit() -> None:
    """From first to last, or each so many-th from that on."""
    assert [n for n in range(1, 12) if parse(["answer 4-6: drop"])[0].hits(n)] == [4, 5, 6]
    assert [n for n in range(1, 12) if parse(["answer every 4: drop"])[0].hits(n)] == [4, 8]
    assert [n for n in range(1, 4) if parse(["answer every: drop"])[0].hits(n)] == [1, 2, 3]


@pytest.mark.parametrize(
    ("framing", "lacking"), [("rtu", NOT_ON_SERIAL), ("ascii", NOT_ON_SERIAL), ("tcp", NOT_ON_TCP)]
)
def test_every_fault_of_its_kind_of_line_is_drawn_in_time(framing: str, lacking: frozenset[Action]) -> None:
    """A thousand seeds draw every fault there can be, none that cannot be, and the same ones again; all can be read."""
    scripts = [random_faults(seed, framing, units=(1, 2)) for seed in range(1000)]
    assert {fault.action for script in scripts for fault in script} == set(Action) - lacking
    assert scripts == [random_faults(seed, framing, units=(1, 2)) for seed in range(1000)]
    assert all(1 <= len(script) <= 5 for script in scripts)
    assert all(parse(map(str, script)) == script for script in scripts)
    assert len(set(scripts)) > 900


def test_what_is_inverted_at_random_is_what_the_check_sum_must_find() -> None:
    """An odd number of bits, or bits within 16 of one another: CRC-16 with x + 1 in its polynomial misses neither."""
    flips = [f for seed in range(3000) for f in random_faults(seed, "rtu") if f.action is Action.FLIP]
    assert len(flips) > 300
    assert all(len(f.bits) % 2 == 1 or max(f.bits) - min(f.bits) < 16 for f in flips)
    assert any(len(f.bits) % 2 == 0 for f in flips)


def test_the_scripts_of_the_guide_can_be_read() -> None:
    """Every line of the script in docs/bench.md is a fault, and its table names every fault there is."""
    page = (ROOT / "docs" / "bench.md").read_text(encoding="utf-8")
    script = next(block for block in page.split("```") if "# bad-day.txt" in block)
    assert len(parse(script.splitlines())) == 4
    assert all(f"`{action}" in page for action in Action)
