"""`calibrate` as a technician types it, over the control socket of a running gateway."""

import asyncio
import hashlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway.__main__ import main
from gateway.app import GatewayApp
from gateway.calibration_actions import ask_calibration
from gateway.calibration_flags import attached, record_from_file
from gateway.calibration_form import calibration_from
from gateway.calibration_guide import Guide
from gateway.errors import InputError
from gateway.model import Sample
from tests.support.journal_rows import events
from tests.unit.test_app import with_app

RECORD = """
sensor_serial = "A1234"
started = 2026-11-30T08:00:00-05:00
stopped = "2026-11-30T08:40:00-05:00"
reason = "routine"
cleaning = "brush"
accepted = true
attachment = "photo.jpg"
[reference]
instrument = "hand-held"
serial = "R77"
calibrated_on = 2026-11-30
[[standards]]
name = "4"
temperature_c = 25
lot = "L4"
expires = 2027-01-31
[[standards]]
name = "7"
temperature_c = 25
[[readings]]
phase = "check"
place = "4"
value = 4.1
[[readings]]
phase = "check"
place = "7"
value = 7.1
[[readings]]
phase = "final"
place = "4"
value = 4.0
[[readings]]
phase = "final"
place = "7"
value = 7.0
"""
FLAGS = [
    "--sensor-serial", "A1234", "--reason", "routine", "--cleaning", "none", "--accept",
    "--started", "2026-11-30T08:00-05:00", "--stopped", "2026-11-30T08:40-05:00",
    "--standard", "name=4,temperature=25", "--standard", "name=7,temperature=25",
    "--reading", "phase=check,in=4,value=4.1", "--reading", "phase=check,in=7,value=7.1",
    "--reading", "phase=final,in=4,value=4.0", "--reading", "phase=final,in=7,value=7",
]  # fmt: skip


def typed(app: GatewayApp, *words: str) -> int:
    """One command line; it runs in a thread of its own beside the gateway's loop."""
    return main(["calibrate", *words, "--state", str(app.state_directory)])


def test_by_file_by_flags_and_listed(tmp_path: Path, capsys: Any) -> None:
    """Both come to the same slope and offset; the attachment's hash is that of the file; the history shows both."""
    (tmp_path / "record.toml").write_text(RECORD, encoding="utf-8")
    (tmp_path / "photo.jpg").write_bytes(b"a photograph")

    async def body(app: GatewayApp) -> None:
        by = ("--by", "J. Tech")
        assert await asyncio.to_thread(typed, app, "ph", *by, "--file", str(tmp_path / "record.toml")) == 0
        said = capsys.readouterr().out
        assert said.startswith("recorded as ph-1, accepted, signed by J. Tech\n")
        assert "slope 100.0 % (good), offset -5.9 mV, by values shown as found" in said
        assert "next due 2026-12-28" in said
        assert await asyncio.to_thread(typed, app, "ph", *by, "--check", *FLAGS) == 0
        assert "standard 4 = 4 (manual MI 611-211" in capsys.readouterr().out
        assert await asyncio.to_thread(typed, app, "ph", *by, *FLAGS, "--slope", "84") == 1
        assert "refused: it cannot be accepted: slope 84.0 % is outside" in capsys.readouterr().out
        assert await asyncio.to_thread(typed, app, "ph", *by, *FLAGS, "--remark", "second", "--json") == 0
        assert json.loads(capsys.readouterr().out)["calibration"]["id"] == "ph-2"
        assert await asyncio.to_thread(typed, app, "list", "ph") == 0
        listed = capsys.readouterr().out.splitlines()
        assert listed[0] == "ph: next due 2026-12-28"
        assert len(listed) == 3
        assert "slope 100.0 %, offset -5.9 mV" in listed[1]
        assert await asyncio.to_thread(typed, app, "ph", *by, "--begin", "--reason", "routine") == 0
        assert "CALIBRATION ph until" in capsys.readouterr().out
        assert await asyncio.to_thread(typed, app, "ph", *by, "--abandon") == 0
        assert "CALIBRATION ph stopped" in capsys.readouterr().out
        assert await asyncio.to_thread(typed, app, "hp", *by, "--abandon") == 1
        assert "no channel 'hp'" in capsys.readouterr().out

    asyncio.run(with_app(tmp_path, body))
    journal = tmp_path / "state" / "journal.db"
    first, second = (n["body"]["record"] for n in events(journal, "note") if n["kind"] == "calibration")
    assert first["attachment"] == str(tmp_path / "photo.jpg")
    assert first["attachment_sha256"] == hashlib.sha256(b"a photograph").hexdigest()
    assert first["started_utc_us"] == 1_796_043_600_000_000  # 13:00 UTC
    assert first["reference_calibrated_on"] == "2026-11-30"
    assert (second["remark"], second["attachment"]) == ("second", "")


class Technician:
    """Answers the guide's questions in their order, and moves the probe when told to."""

    def __init__(self, app: GatewayApp, answers: list[str], place: Callable[[str], None]) -> None:
        self.app = app
        self.answers = answers
        self.place = place
        self.heard: list[str] = []

    def prompt(self, question: str) -> str:
        """The next answer; the end of them is the end of the file."""
        self.heard.append(question)
        if "the sensor in" in question:
            self.place(question)
        if not self.answers:
            raise EOFError
        return self.answers.pop(0)


ANSWERS = [
    "routine", "A1234", "hand-held", "R77", "2026-11-30", "2",
    "4", "L4", "2036-01-31", "25", "", "7", "L7", "2036-01-31", "25", "",
    "", "", "7.10",           # before cleaning: Enter, take it, the reference beside it
    "brush",
    "", "", "7.10",           # after cleaning
    "", "", "", "", "", "",   # check in 4 and 7, without mV
    "",                       # recalibrated
    "", "", "", "", "7.02", "",  # final in 4; in 7 a value by hand
    "s",                      # no final reading in the process
    "12", "99", "-3", "", "by the guide",
]  # fmt: skip
PLACES = {"discharge": 7.3, "standard 4": 4.1, "standard 7": 7.1, "standard 9.18": 9.2}


def guided(
    tmp_path: Path, answers: list[str], *, typed_early: str | None = None
) -> tuple[int, list[str], list[str], list[dict[str, Any]]]:
    """A guided visit to a gateway that runs: exit status, what was printed and asked, and the notes on record."""
    said: list[str] = []

    async def body(app: GatewayApp) -> int:
        now_at = ["discharge"]

        def place(question: str) -> None:
            now_at[0] = next(name for name in PLACES if name in question)

        technician = Technician(app, list(answers), place)

        def ask(action: str, **args: Any) -> dict[str, Any]:
            return ask_calibration(app.state_directory, action, "ph", "J. Tech", **args)

        def wait(seconds: float) -> str | None:
            """The bench clock is a thousand times as fast: what is polled meanwhile comes in here."""
            loop.call_soon_threadsafe(poll, PLACES[now_at[0]])
            return typed_early

        def poll(value: float) -> None:
            at = app.now()
            app._deliver((Sample("ph", at, (), value),), at)

        loop = asyncio.get_running_loop()
        guide = Guide(ask, technician.prompt, said.append, lambda name: attached(Path(name)), wait)
        status = await asyncio.to_thread(guide.run)
        heard.extend(technician.heard)
        return status

    heard: list[str] = []
    statuses: list[int] = []

    async def keep(app: GatewayApp) -> None:
        statuses.append(await body(app))

    asyncio.run(with_app(tmp_path, keep))
    notes = events(tmp_path / "state" / "journal.db", "note")
    return statuses[0], said, heard, notes


def test_guided(tmp_path: Path) -> None:
    """Every value but one is taken live, once it stands still; the record is what was seen, and the mode is left."""
    status, said, heard, notes = guided(tmp_path, [*ANSWERS, "y"])
    assert status == 0, said
    (kept,) = (note["body"] for note in notes if note["kind"] == "calibration")
    rows = [(row["phase"], row["place"], row["value"]) for row in kept["record"]["readings"]]
    assert rows == [
        ("before cleaning", "process", 7.3),
        ("after cleaning", "process", 7.3),
        ("check", "4", 4.1),
        ("check", "7", 7.1),
        ("final", "4", 4.1),
        ("final", "7", 7.02),
    ]
    assert (kept["found"]["slope_percent"], kept["found"]["offset_mv"]) == (99.0, -3.0)
    assert kept["record"]["technician"] == "J. Tech"
    assert said[-1].startswith("recorded as ph-1, accepted, next due")
    assert any("steady for" in line for line in said)
    modes = [note["body"]["event"] for note in notes if note["kind"] == "maintenance"]
    assert modes == ["started", "stopped"]
    assert sum("take 4.1?" in question for question in heard) == 2


@pytest.mark.parametrize(("typed_early", "value"), [("\n", 7.05), ("7.05\n", 7.05)])
def test_a_discharge_that_never_stands_still_is_not_waited_for(tmp_path: Path, typed_early: str, value: float) -> None:
    """Enter brings the question at once, and a value typed meanwhile is taken: nobody waits ten minutes for either."""
    asked = typed_early == "\n"
    answers = [
        "routine", "A1234", "", "0",
        "", *(["7.05"] if asked else []), "none", "s", "", "s",
        "", "", "", "", "", "n",
    ]  # fmt: skip
    status, said, _, notes = guided(tmp_path, answers, typed_early=typed_early)
    assert status == 0, said
    (kept,) = (note["body"] for note in notes if note["kind"] == "calibration")
    assert [row["value"] for row in kept["record"]["readings"]] == [value]


def test_a_slip_of_the_finger_neither_accepts_nor_rejects(tmp_path: Path) -> None:
    """A record is never changed: Enter alone, or another word, asks again; so does nothing where a word is needed."""
    status, said, _, notes = guided(tmp_path, ["routine", "", *ANSWERS[1:], "", "ja", "u", "yes"])
    assert status == 0, said
    assert said.count("  y or n, please") == 3
    assert any("is needed" in line for line in said)
    (kept,) = (note["body"] for note in notes if note["kind"] == "calibration")
    assert kept["record"]["accepted"] is True


def test_a_guide_that_is_left_records_nothing(tmp_path: Path) -> None:
    """Control-D in the middle: the channel is judged again, and that is on record."""
    status, said, _, notes = guided(tmp_path, ANSWERS[:20])
    assert status == 1
    assert said[-1] == "given up, nothing recorded"
    assert not [note for note in notes if note["kind"] == "calibration"]
    assert [note["body"]["event"] for note in notes if note["kind"] == "maintenance"] == ["started", "stopped"]


def test_a_guide_asks_again_when_it_is_not_fit(tmp_path: Path) -> None:
    """Accepted with 80 % slope: refused in words, and rejected then."""
    answers = ["80" if answer == "99" else answer for answer in ANSWERS]
    status, said, _, notes = guided(tmp_path, [*answers, "y", "n"])
    assert status == 0
    assert any(line.startswith("CANNOT BE ACCEPTED: slope 80.0 %") for line in said)
    assert any(line.startswith("refused: it cannot be accepted") for line in said)
    (kept,) = (note["body"] for note in notes if note["kind"] == "calibration")
    assert kept["record"]["accepted"] is False


def test_the_guide_of_the_command_line(tmp_path: Path) -> None:
    """As a process of its own, typed to and left by the end of its input: begun, and given up, both on record."""

    async def body(app: GatewayApp) -> None:
        words = ["-m", "gateway", "calibrate", "ph", "--by", "J. Tech", "--guide", "--state", str(app.state_directory)]
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(sys.executable, *words, stdin=pipe, stdout=pipe)
        printed, _ = await process.communicate(b"routine\nA1234\n")
        assert process.returncode == 1
        assert printed.decode().endswith("given up, nothing recorded\n")
        assert "in calibration: recorded, flagged C" in printed.decode()

    asyncio.run(with_app(tmp_path, body))
    notes = events(tmp_path / "state" / "journal.db", "note")
    assert [n["body"]["event"] for n in notes if n["kind"] == "maintenance"] == ["started", "stopped"]


def test_what_a_guide_could_not_hand_in_is_not_lost(tmp_path: Path) -> None:
    """A buffer without a table and without its value: said in words, and left as JSON that --file takes once mended."""
    answers = ["9.18" if answer == "7" else answer for answer in ANSWERS]
    answers[4:5] = ["yesterday", answers[4]]  # asked again for a date
    status, said, _, notes = guided(tmp_path, answers)
    assert status == 1
    assert "  a date as 2026-11-30, please" in said
    (why,) = [line for line in said if line.startswith("this is no record yet")]
    assert "no table of buffer '9.18'" in why
    (left,) = [line for line in said if line.startswith("{")]
    path = tmp_path / "mended.json"
    path.write_text(left.replace('"nominal": null}]', '"nominal": 9.18}]'), encoding="utf-8")
    record = record_from_file(path)
    assert record["standards"][1]["nominal"] == 9.18
    times = {"started_utc_us": 1_796_043_600_000_000, "stopped_utc_us": 1_796_043_600_000_000}
    assert len(calibration_from({**record, **times, "channel": "ph", "technician": "J. Tech"}).readings) == 6
    assert [note["body"]["event"] for note in notes if note["kind"] == "maintenance"] == ["started"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("\nreason = ?\n", "record.toml: Invalid value (at line 2"),
        ("started = 2026-11-30T08:00:00\n", "started needs its offset from UTC"),
        ('stopped = "soon"\n', "stopped is a time as"),
        ('attachment = "none.jpg"\n', "none.jpg: No such file"),
        ("[reference]\nname = 1\n", "reference is a table of instrument, serial, calibrated_on"),
    ],
)
def test_a_file_that_cannot_be_read_is_named(text: str, said: str, tmp_path: Path) -> None:
    """File, and what is wrong with it."""
    path = tmp_path / "record.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError) as refused:
        record_from_file(path)
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["ph", "--by", "A", "--reading", "phase"], "write key=value"),
        (["ph", "--by", "A", "--reading", "value=x"], "value is a number"),
        (["ph", "--by", "A", "--started", "2026-11-30"], "--started needs its offset"),
        (["ph", "--by", "A", "--file", "/no/such.toml"], "/no/such.toml: No such file"),
        (["ph", "--by", "A", "--slope", "nan"], "a number in it is not finite"),
        (["ph", "--by", "A", "--reading", "phase=check,in=4,value=inf"], "a number in it is not finite"),
        (["ph"], "needs --by"),
        (["ph", "temperature", "--by", "A"], "one channel at a time"),
    ],
)
def test_a_flag_that_cannot_be_read_is_named(words: list[str], said: str, tmp_path: Path, capsys: Any) -> None:
    """Exit status 66 and the flag, before anybody is asked."""
    assert main(["calibrate", *words, "--state", str(tmp_path)]) == 66
    assert said in capsys.readouterr().err


def test_the_usage_names_every_way(capsys: Any) -> None:
    """By guide, by file, by flags, and the list."""
    with pytest.raises(SystemExit, match="0"):
        main(["calibrate", "--help"])
    printed = capsys.readouterr().out
    for word in ("--guide", "--file", "--begin", "--abandon", "calibrate list", "--accept", "--corrects"):
        assert word in printed
