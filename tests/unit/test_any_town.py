"""A town nobody has heard of: one new file, and the whole chain judges by it."""

import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from gateway import config
from gateway.drivers.replay import run_replay
from gateway.errors import ConfigError

PACK = """
[pack]
id = "nowhere"
name = "Borough of Nowhere"
version = "7"

[[rules]]
id = "nw-reducing"
clause = "Ch. 3 (b)"
title = "Too reducing"
text = "Nothing below -200 mV."
kind = "limit"
quantity = "orp"
comparison = "<"
limit = "-0.2 V"
confirm = 2
severity = "high"

[[rules]]
id = "nw-slug"
clause = "Ch. 3 (f)"
title = "Slug"
text = "No more than three times the usual ammonium for ten minutes."
kind = "slug"
quantity = "ammonium"
comparison = ">="
factor = 3
duration = "10 min"
strict_duration = false
severity = "high"

[[rules]]
id = "nw-nickel"
clause = "Ch. 4"
title = "Nickel"
text = "A daily ceiling for nickel."
kind = "average"
window = "day"
quantity = "nickel"
comparison = ">"
limit = "2 mg/L"
severity = "high"
"""

SITE = """
[site]
id = "n1"
name = "Nowhere 1"
discharger = "Nobody"
time_zone = "Asia/Kathmandu"
ordinances = ["./nowhere.toml"]
[channels.redox]
quantity = "orp"
unit = "mV"
[channels.ammonium]
quantity = "ammonium"
unit = "ug/L"
[baselines.ammonium]
mode = "declared"
value = "20 mg/L"
approved_by = "Mayor"
approved_on = 2015-01-01
"""


def _folder(tmp_path: Path, pack: str = PACK) -> Path:
    (tmp_path / "nowhere.toml").write_text(pack, encoding="utf-8")
    site = tmp_path / "site.toml"
    site.write_text(SITE, encoding="utf-8")
    return site


def _series(tmp_path: Path, minutes: int) -> Path:
    """One row every 15 s: the ORP falls to -201 mV at minute 5, ammonium stands at 60,000 ug/L from minute 10 on."""
    start = datetime(2026, 3, 1, tzinfo=UTC)
    rows = ["time,redox [mV],ammonium [ug/L]"]
    for step in range(minutes * 4 + 1):
        at = (start + timedelta(seconds=15 * step)).isoformat()
        orp = -201 if 20 <= step < 24 else -200
        rows.append(f"{at},{orp},{60_000 if step >= 40 else 59_999}")
    path = tmp_path / "data.csv"
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


def _replayed(site: Path, data: Path) -> list[dict[str, Any]]:
    out = io.StringIO()
    assert run_replay(config.load(site, for_replay=True), data, out) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_a_new_file_is_enough(tmp_path: Path) -> None:
    """Loaded, bound and replayed: the invented limit, factor, duration and strictness are what raises and clears."""
    lines = _replayed(_folder(tmp_path), _series(tmp_path, 20))
    raised = {line["rule"]: line for line in lines if line["event"] == "raised"}
    assert set(raised) == {"nw-reducing", "nw-slug"}
    low = raised["nw-reducing"]
    assert (low["clause"], low["channel"], low["since"], low["at"]) == (
        "Ch. 3 (b)", "redox", "2026-03-01T00:05:00Z", "2026-03-01T00:05:15Z",
    )  # fmt: skip
    assert (low["observed"], low["limit"], low["unit"]) == (pytest.approx(-0.201), -0.2, "V")
    assert [line["at"] for line in lines if line["event"] == "cleared"] == ["2026-03-01T00:06:00Z"]
    slug = raised["nw-slug"]
    assert (slug["since"], slug["at"], slug["duration_s"]) == ("2026-03-01T00:10:00Z", "2026-03-01T00:20:00Z", 600.0)
    assert (slug["limit"], slug["baseline"], slug["unit"]) == (60_000.0, 20_000.0, "ug/L")
    assert [line["rule"] for line in lines[-1]["open"]] == ["nw-slug"]


def test_a_second_less_is_no_slug(tmp_path: Path) -> None:
    """The same town with a duration a second longer than the run is not exceeded."""
    pack = PACK.replace('"10 min"', '"601 s"')
    assert not any(
        line["event"] == "raised" and line["rule"] == "nw-slug"
        for line in _replayed(_folder(tmp_path, pack), _series(tmp_path, 20))
    )


def test_its_laboratory_rule_waits_for_results(tmp_path: Path) -> None:
    """A rule of a quantity that nothing here measures is bound to laboratory results, and has its alarm."""
    site = config.load(_folder(tmp_path), for_replay=True)
    nickel = next(rule for rule in site.rules if rule.id == "nw-nickel")
    assert (nickel.channel, nickel.laboratory, nickel.unit, nickel.pack_version) == ("lab:nickel", True, "mg/L", "7")
    assert "nw-nickel" in site.alarms


def test_its_mistakes_are_told_with_its_own_lines(tmp_path: Path) -> None:
    """A slip in the new file stops the site and names the file and the line of it."""
    site = _folder(tmp_path, PACK.replace('quantity = "orp"', 'quantity = "opr"'))
    with pytest.raises(ConfigError, match=r"nowhere\.toml:13: rules\[0\]\.quantity: unknown quantity 'opr'"):
        config.load(site, for_replay=True)
