"""Whatever stands behind a key, reading a configuration ends in a site or in problems with a line, never in a crash."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gateway import config
from gateway.shipped import names, shipped

JUNK = (
    "0", "-1", "1e9", "nan", "true", '""', '" "', '"x"', '"7 pH"', '"-5 gpm"', '"1 h"', '"0 s"', '"1e300 ft"', "[]",
    "[1]", '["a"]', '["1 gpm", "0 gpm"]', "{}", "{ a = 1 }", "[{}]", "2020-01-01", "12:30:00", '"level"', '"../x"',
)  # fmt: skip
PACK_LINES = shipped("ordinances", "little-valley").read_text(encoding="utf-8").splitlines()
SITES = {name: shipped("examples", name).read_text(encoding="utf-8").splitlines() for name in names("examples")}


def _with_junk(data: st.DataObject, lines: list[str]) -> str:
    lines = list(lines)
    pairs = [i for i, line in enumerate(lines) if " = " in line and not line.startswith(("#", " "))]
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
    (folder / "town.toml").write_text(
        _with_junk(data, [line for line in PACK_LINES if line[:3] != "ids"]), encoding="utf-8"
    )
    path = folder / "own.toml"
    text = "\n".join(SITES["little-valley"]).replace('["little-valley"]', '["./town.toml"]')
    path.write_text(text, encoding="utf-8")
    _read(path)
