"""Whatever stands behind a key, reading a configuration ends in a site or in problems with a line, never in a crash."""

import re
import tomllib
from copy import deepcopy
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway import config
from gateway.problems import Problems
from gateway.rules.pack import parse_pack
from gateway.shipped import names, shipped
from tests.conftest import ROOT

JUNK = (
    "0", "-1", "1e9", "nan", "true", '""', '" "', '"x"', '"7 pH"', '"-5 gpm"', '"1 h"', '"0 s"', '"1e300 ft"', "[]",
    "[1]", '["a"]', '["1 gpm", "0 gpm"]', "{}", "{ a = 1 }", "[{}]", "2020-01-01", "12:30:00", '"level"', '"../x"',
)  # fmt: skip
PACK_LINES = shipped("ordinances", "little-valley").read_text(encoding="utf-8").splitlines()
SITES = {name: shipped("examples", name).read_text(encoding="utf-8").splitlines() for name in names("examples")}
# An example with everything that a site may settle with its town: what docs/packs.md prints.
PAGE = (ROOT / "docs" / "packs.md").read_text(encoding="utf-8")
SETTLED = next(t for t in re.findall(r"```toml\n(.*?)```", PAGE, flags=re.DOTALL) if "[[waivers]]" in t).splitlines()
SITES["settled"] = SITES["derived-flow"] + SETTLED
PACKS = {name: tomllib.loads(shipped("ordinances", name).read_text(encoding="utf-8")) for name in names("ordinances")}
WRONG = st.sampled_from(
    [0, -1, 75, float("inf"), True, "", " ", "x", "7 pH", "1 gpm", [], [1], ["x"], {}, {"a": 1}, [{}], date(2026, 1, 1)]
)


def _with_junk(data: st.DataObject, lines: list[str]) -> str:
    lines = list(lines)
    pairs = [i for i, line in enumerate(lines) if " = " in line and line[:1] not in "# " and line[-1] != "["]
    for index in data.draw(st.lists(st.sampled_from(pairs), min_size=1, max_size=4, unique=True)):
        key = lines[index].partition(" = ")[0]
        lines[index] = data.draw(st.sampled_from((f"{key} = {data.draw(st.sampled_from(JUNK))}", "")))
    return "\n".join(lines)


def _read(path: Path) -> None:
    loaded = config.read(path)
    assert (loaded.site is None) == bool(loaded.errors)
    for problem in (*loaded.errors, *loaded.warnings):
        assert problem.text
        assert problem.line is None or problem.line > 0


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for one site file after another."""
    return tmp_path_factory.mktemp("config")


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=120)
@given(st.data(), st.sampled_from(sorted(SITES)))
def test_any_value_in_a_site_file(folder: Path, data: st.DataObject, name: str) -> None:
    """Keys of an example site given nonsense, or taken away, are told as problems."""
    path = folder / "site.toml"
    path.write_text(_with_junk(data, SITES[name]), encoding="utf-8")
    _read(path)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=60)
@given(st.data())
def test_any_value_in_an_ordinance_pack(folder: Path, data: st.DataObject) -> None:
    """Keys of an ordinance pack given nonsense, or taken away, are told as problems."""
    (folder / "town.toml").write_text(_with_junk(data, PACK_LINES), encoding="utf-8")
    path = folder / "own.toml"
    text = "\n".join(SITES["little-valley"]).replace('["little-valley"]', '["./town.toml"]')
    path.write_text(text, encoding="utf-8")
    _read(path)


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=300)
@given(st.data(), st.sampled_from(sorted(PACKS)))
def test_any_part_of_a_pack(data: st.DataObject, name: str) -> None:
    """Any part of any shipped pack, row or table, given another shape, is read or told as a problem."""
    content = deepcopy(PACKS[name])
    for _ in range(data.draw(st.integers(1, 3))):
        holder: Any = content
        while True:
            key = data.draw(st.sampled_from(list(holder) if isinstance(holder, dict) else range(len(holder))))
            inner = holder[key]
            if not isinstance(inner, dict | list) or not inner or data.draw(st.integers(0, 4)) == 0:
                break
            holder = inner
        holder[key] = deepcopy(data.draw(WRONG))  # or the next round would change the choice itself
        if not content or not isinstance(content.get("rules"), list):
            break
    problems = Problems("pack", {})
    pack = parse_pack(content, problems)
    assert len(pack.hash) == 64
    assert all(problem.text for problem in problems.errors)
