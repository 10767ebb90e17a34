"""`lab add`, `lab import` and `lab list` over a real control socket, with a laboratory behind it."""

import asyncio
import io
import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.control import NotRunningError, serve, socket_path
from gateway.errors import InputError
from gateway.lab_command import LabStep, carry_out
from gateway.laboratory import run_add, run_import, run_list
from gateway.model import Note
from gateway.rules.lab_result import result_body
from tests.support.lab_site import fog, laboratory, now, result, toxic

ROW = {
    "id": "R1", "analyte": "copper", "value": "1.61", "unit": "mg/L", "sample_type": "composite",
    "start": "2026-03-01T08:00-05:00", "stop": "2026-03-02T08:00-05:00", "method": "EPA 200.7",
    "laboratory": "Olean Lab", "entered_by": "P. Coordinator",
}  # fmt: skip
HEADER = ",".join(ROW) + "\n"


class Behind:
    """What listens on the socket: a laboratory, and the steps it took."""

    def __init__(self) -> None:
        self.laboratory = laboratory(toxic("copper"), fog("mb"))
        self.steps: list[LabStep] = []

    async def answer(self, request: dict[str, Any]) -> dict[str, Any]:
        """As the gateway does it: refused in words, or taken."""
        try:
            step = carry_out(self.laboratory, request["args"], now())
        except ValueError as error:
            return {"ok": False, "error": str(error)}
        self.steps.append(step)
        return step.answer


@pytest.fixture
def behind(tmp_path: Path) -> Iterator[Behind]:
    """A laboratory that listens in a thread of its own, in the test's state directory."""
    one, ready, loop = Behind(), threading.Event(), asyncio.new_event_loop()
    stop = asyncio.Event()

    async def listen() -> None:
        async with serve(socket_path(tmp_path), one.answer):
            ready.set()
            await stop.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(listen(),))
    thread.start()
    assert ready.wait(10)
    yield one
    loop.call_soon_threadsafe(stop.set)
    thread.join(10)
    loop.close()


def add(state: Path, *, check: bool = False, as_json: bool = False, **changes: str) -> tuple[int, str]:
    """Exit status and output of `lab add`."""
    out = io.StringIO()
    status = run_add(state, ROW | changes, out, time_zone=None, check=check, as_json=as_json)
    return status, out.getvalue()


def test_add_prints_what_the_result_meant(behind: Behind, tmp_path: Path) -> None:
    """The result, who judges it, and the finding with its clause; the step holds note, finding and durable state."""
    status, said = add(tmp_path)
    assert status == 0
    assert said == (
        "R1 v1 copper 1.61 mg/L: judged by lv-tox-copper-24h\n"
        "exceeded lv-tox-copper-24h (194-6C(8)): copper composite 1.61 mg/L, above 1.6 mg/L\n"
        "1 result recorded\n"
    )
    (step,) = behind.steps
    assert step.notes == (Note("lab_result", now(), result_body(behind.laboratory.results[0])),)
    assert [f.rule for f in step.findings] == ["lv-tox-copper-24h"]
    assert [c.active for c in step.conditions] == [True, True]
    assert set(step.state) >= {"lab:result:R1", "lab:judged:lv-tox-copper-24h|composite:R1"}


def test_a_repeat_is_told_and_leaves_no_note(behind: Behind, tmp_path: Path) -> None:
    """The same result again: nothing new for the record."""
    add(tmp_path)
    assert add(tmp_path)[1].endswith("1 result recorded, 1 of them on record already\n")
    assert behind.steps[1].notes == ()
    assert behind.steps[1].findings == ()


def test_other_content_under_the_same_version_is_refused(behind: Behind, tmp_path: Path) -> None:
    """Exit status 1 and the way out: enter a new version."""
    add(tmp_path)
    status, said = add(tmp_path, value="1.5")
    assert status == 1
    assert said == (
        "refused: result R1: version 1 is on record with other content; a correction is entered as version 2\n"
    )
    assert "corrected: version 2 of R1; " in add(tmp_path, value="1.5", version="2")[1]


def test_check_tries_and_takes_nothing(behind: Behind, tmp_path: Path) -> None:
    """A dry run says what the result would mean; the record is empty afterwards."""
    status, said = add(tmp_path, check=True)
    assert status == 0
    assert "exceeded lv-tox-copper-24h" in said
    assert said.endswith("1 result tried, nothing recorded\n")
    assert behind.laboratory.results == ()
    assert behind.steps[0].notes == ()


def test_check_without_a_gateway_reads_the_fields_alone(tmp_path: Path) -> None:
    """Nobody listens: the dry run says that it was read and not judged; a real entry fails."""
    status, said = add(tmp_path, check=True)
    assert status == 0
    assert said.startswith("1 result read without a mistake; not judged: no gateway answers on")
    with pytest.raises(NotRunningError):
        add(tmp_path)


def test_mistakes_of_the_fields_are_told_by_option(tmp_path: Path) -> None:
    """Every mistake of `lab add` at once, named as the options are."""
    with pytest.raises(InputError) as refused:
        add(tmp_path, sample_type="bucket", unit="")
    assert str(refused.value).splitlines() == [
        "lab add: --unit is required",
        "lab add: --sample-type 'bucket' is none of grab, composite",
    ]


def test_import_takes_all_or_nothing(behind: Behind, tmp_path: Path) -> None:
    """One row that the gateway refuses keeps the whole file out; without it every row is taken in one step."""
    good = ",".join(ROW.values())
    bad = good.replace("R1", "R2").replace("mg/L", "pH")
    path = tmp_path / "results.csv"
    path.write_text(HEADER + good + "\n" + bad + "\n", encoding="utf-8")
    out = io.StringIO()
    assert run_import(tmp_path, path, "P. C.", out, time_zone=None, check=False, as_json=False) == 1
    assert out.getvalue().startswith("refused: result R2: 'pH' is a unit of pH")
    assert behind.laboratory.results == ()
    other = bad.replace("pH", "mg/L").replace("copper", "gold")
    path.write_text(HEADER + good + "\n" + other + "\n", encoding="utf-8")
    out = io.StringIO()
    assert run_import(tmp_path, path, "P. C.", out, time_zone=None, check=False, as_json=False) == 0
    assert "R2 v1 gold 1.61 mg/L: recorded; no rule of this site judges 'gold'; known: copper, fog\n" in out.getvalue()
    assert out.getvalue().endswith("2 results recorded\n")
    assert len(behind.steps) == 1


def test_a_file_that_is_too_long_is_refused_before_it_is_sent(behind: Behind, tmp_path: Path) -> None:
    """More results than one line of the socket holds: split the file; the greatest allowed number passes."""
    row = ",".join(ROW.values())
    rows = [row.replace("R1", f"R{i}") for i in range(2001)]
    path = tmp_path / "results.csv"
    path.write_text(HEADER + "\n".join(rows), encoding="utf-8")
    with pytest.raises(InputError, match="holds 2001 results; an import takes 2000: split the file"):
        run_import(tmp_path, path, "P. C.", io.StringIO(), time_zone=None, check=False, as_json=False)
    path.write_text(HEADER + "\n".join(rows[:2000]), encoding="utf-8")
    assert run_import(tmp_path, path, "P. C.", io.StringIO(), time_zone=None, check=False, as_json=False) == 0
    assert len(behind.steps[0].findings) == 2000
    path.write_text(HEADER + "\n".join(r + "x" * 600 for r in rows[:2000]), encoding="utf-8")
    with pytest.raises(InputError, match="too long for one entry"):
        run_import(tmp_path, path, "P. C.", io.StringIO(), time_zone=None, check=False, as_json=False)


def test_list_shows_results_with_their_verdicts(behind: Behind, tmp_path: Path) -> None:
    """Each newest result with its sampling and what each rule says of it; one analyte alone when asked."""
    out = io.StringIO()
    assert run_list(tmp_path, None, out, as_json=False) == 0
    assert out.getvalue() == "no laboratory result on record\n"
    add(tmp_path)
    add(tmp_path, id="R2", analyte="gold")
    out = io.StringIO()
    run_list(tmp_path, None, out, as_json=False)
    assert out.getvalue() == (
        "R1 v1 copper 1.61 mg/L composite 2026-03-01T13:00:00Z to 2026-03-02T13:00:00Z\n"
        "  exceeded lv-tox-copper-24h: copper composite 1.61 mg/L, above 1.6 mg/L\n"
        "R2 v1 gold 1.61 mg/L composite 2026-03-01T13:00:00Z to 2026-03-02T13:00:00Z\n"
        "  recorded; no rule of this site judges 'gold'; known: copper, fog\n"
    )
    out = io.StringIO()
    run_list(tmp_path, "gold", out, as_json=True)
    assert [one["id"] for one in json.loads(out.getvalue())["results"]] == ["R2"]


# A request, and the words that refuse it.
REQUESTS = [
    ({"action": "burn"}, "lab knows add and list"),
    ({}, "takes a list of 1 to 2000 results"),
    ({"results": []}, "takes a list of 1 to 2000 results"),
    ({"results": [{"id": "R1"}]}, "result R1: analyte is missing"),
]


@pytest.mark.parametrize(("args", "words"), REQUESTS)
def test_a_request_that_makes_no_sense(args: dict, words: str) -> None:
    """Whatever else comes over the socket is refused in words."""
    with pytest.raises(ValueError, match=words):
        carry_out(laboratory(), args, now())


def test_what_exceeds_is_told_when_there_is_too_much_to_say() -> None:
    """An answer of thousands of findings keeps the exceedances and counts the rest."""
    lab = laboratory(toxic("copper"), toxic("copper", "30-day"))
    bodies = [result_body(result(9.0 if day == 7 else 0.1, day % 350, id=f"R{day}")) for day in range(700)]
    answer = carry_out(lab, {"results": bodies}, now()).answer
    assert [one["verdict"] for one in answer["findings"]].count("exceeded") == len(answer["findings"]) > 0
    assert answer["findings_left_out"] > 1000
    assert len(json.dumps(answer)) < 1 << 20
