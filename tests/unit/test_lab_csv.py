"""Case folders: a file of laboratory results in, its results or all of its mistakes out."""

from pathlib import Path

import pytest

from gateway.errors import InputError
from gateway.isotime import iso_utc
from gateway.lab_csv import COLUMNS, read_results, result_of_row, zone_named
from gateway.rules.lab_result import said_result

STORIES = Path(__file__).resolve().parent.parent / "cases" / "laboratory"


def told(path: Path, *, with_zone: bool) -> str:
    """Each result on a line, or each mistake."""
    zone, signer = ("America/New_York", "A. Signer") if with_zone else (None, "")
    try:
        results = read_results(path, zone_named(zone), signer)
    except InputError as error:
        return str(error)
    return "\n".join(
        f"{r.id} v{r.version} {r.analyte} {said_result(r)} {r.sample_type} {iso_utc(r.start_utc_us)} "
        f"{iso_utc(r.stop_utc_us)} {r.method} | {r.laboratory} | {r.entered_by} | {r.remark}".rstrip()
        for r in results
    )


@pytest.mark.parametrize("story", sorted(path.name for path in STORIES.iterdir()))
def test_story(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read of the file is what the folder expects, to the letter (its story.txt says why)."""
    monkeypatch.chdir(STORIES / story)
    said = told(Path("results.csv"), with_zone=story.endswith("-zone"))
    assert said + "\n" == Path("expected.txt").read_text(encoding="utf-8"), Path("story.txt").read_text("utf-8")


# What the file holds, and what is said of it.
UNREADABLE = [
    (None, "No such file or directory"),
    (b"id,analyte\n\xff\xfe", "is not UTF-8 text"),
    (b"id,analyte\nR1,\x00,", "results.csv:1: the column 'value' is missing"),
]


@pytest.mark.parametrize(("content", "words"), UNREADABLE)
def test_a_file_that_cannot_be_read(content: bytes | None, words: str, tmp_path: Path) -> None:
    """A missing file, bytes that are no text and a binary file are told by name."""
    path = tmp_path / "results.csv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InputError) as refused:
        read_results(path)
    assert words in str(refused.value)
    assert str(path) in str(refused.value)


@pytest.mark.parametrize("zone", ["Amerika/Neu_York", "../etc/passwd", ""])
def test_an_unknown_zone_is_told(zone: str) -> None:
    """A misspelt zone is a mistake of the command line, not of every line of the file."""
    with pytest.raises(InputError, match=r"--time-zone: .* is no time zone"):
        zone_named(zone)


SOUND = {
    "id": "R1", "analyte": "copper", "value": "1", "unit": "mg/L", "sample_type": "grab",
    "start": "2026-03-01T08:00-05:00", "method": "m", "laboratory": "L", "entered_by": "P",
}  # fmt: skip


@pytest.mark.parametrize(
    ("written", "analyte"),
    [("pH", "pH"), ("ph", "pH"), ("PH", "pH"), ("Copper", "copper"), ("Oil and Grease", "oil-and-grease")],
)
def test_an_analyte_is_named_as_rules_name_it(written: str, analyte: str) -> None:
    """Capitals and spaces do not matter, and pH stays pH: a rule is found however it is written."""
    taken, found = result_of_row(SOUND | {"analyte": written, "unit": "pH" if analyte == "pH" else "mg/L"})
    assert found == []
    assert taken is not None
    assert taken.analyte == analyte


@pytest.mark.parametrize("column", ["id", "analyte", "method", "laboratory", "entered_by", "remark"])
@pytest.mark.parametrize("written", ["a\nR9 v1 copper 1 mg/L", "\x1b[2K", "a\u2028b", "\u202ea"])
def test_nothing_that_cannot_be_printed_is_taken(column: str, written: str) -> None:
    """A line break would forge lines of every list, an escape would wipe them."""
    taken, found = result_of_row(SOUND | {column: written})
    assert taken is None
    assert (column, "holds a line break or another character that cannot be printed") in found


def test_one_result_by_its_fields() -> None:
    """The fields of one result have the same mistakes as a row, in the order of the columns."""
    result, found = result_of_row({"value": "x", "version": "-1"})
    assert result is None
    assert [column for column, _ in found] == [
        "id", "analyte", "value", "unit", "sample_type", "start", "method", "laboratory", "entered_by", "version"
    ]  # fmt: skip
    assert set(COLUMNS) >= {column for column, _ in found}
