"""`check` takes an ordinance pack by itself."""

import io
import json
from pathlib import Path

import pytest

from gateway.check import run_check
from gateway.shipped import names, shipped


def _checked(path: Path, *, as_json: bool = False) -> tuple[int, str]:
    out = io.StringIO()
    return run_check(path, as_json=as_json, out=out), out.getvalue()


@pytest.mark.parametrize("name", names("ordinances"))
def test_every_shipped_pack_is_sound(name: str) -> None:
    """Each shipped pack exits 0, and names itself, its version and its date or the lack of one."""
    status, text = _checked(shipped("ordinances", name))
    assert status == 0
    assert f"({name}), version " in text
    assert "no date given" in text


def test_what_a_pack_shows() -> None:
    """Rules with their tests, what the site file is asked, who approved the readings, and what the law leaves open."""
    _, text = _checked(shipped("ordinances", "marlborough"))
    for words in (
        "> 72 mg/L, average of a day",
        "> 36 mg/L, average of 30 days",
        "> 2 % of the town's sewage, average of 30 days",
        "[ordinances.marlborough] receiving_water",
        "approved by nobody yet",
        "What the law leaves open",
    ):
        assert words in text
    _, text = _checked(shipped("ordinances", "us-federal"))
    assert "> 446 min outside 6 to 9 in a calendar month; off unless switched on" in text
    assert "federal" in text
    _, text = _checked(shipped("ordinances", "little-valley"))
    assert "> 25000 gal in a day" in text


def test_a_pack_as_json() -> None:
    """With --json one object says the same."""
    status, text = _checked(shipped("ordinances", "us-federal"), as_json=True)
    told = json.loads(text)
    assert (status, told["ok"], told["pack"], told["jurisdiction"]) == (0, True, "us-federal", "federal")
    assert {r["rule"]: r["enabled"] for r in told["rules"]} == {
        "us-ph-low": True,
        "us-influent-temperature": True,
        "us-significant-user": True,
        "us-ph-excursion-total": False,
        "us-ph-excursion-single": False,
    }
    assert len(told["hash"]) == 64


def test_a_pack_that_is_in_force_later_and_approved(tmp_path: Path) -> None:
    """The day of effect and who approved a reading when are shown."""
    text = shipped("ordinances", "woodland-ca").read_text(encoding="utf-8")
    text = text.replace('version = "1"', 'version = "1"\neffective = 2030-01-01')
    text = text.replace(
        'reading_approved_by = ""', 'reading_approved_by = "City Attorney"\nreading_approved_on = 2026-02-03', 1
    )
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    status, shown = _checked(tmp_path / "p.toml")
    assert status == 0
    assert "in force from 2030-01-01" in shown
    assert "woodland-slug-concentration  approved by City Attorney on 2026-02-03" in shown
    assert "2 of 3 are the product's own" in shown


def test_a_broken_pack_exits_78_with_every_mistake(tmp_path: Path) -> None:
    """Each mistake is printed with file and line, also as JSON."""
    text = shipped("ordinances", "us-federal").read_text(encoding="utf-8")
    path = tmp_path / "p.toml"
    path.write_text(text.replace('"5.0 pH"', '"5.0"').replace("confirm = 3", "confirm = 0"), encoding="utf-8")
    status, shown = _checked(path)
    assert status == 78
    assert "rules[0].limit: '5.0' has no unit" in shown
    assert "3 mistakes; no site could use this pack" in shown
    status, shown = _checked(path, as_json=True)
    assert (status, json.loads(shown)["ok"], len(json.loads(shown)["errors"])) == (78, False, 3)
