"""The wheel carries everything a site needs: the code, the data beside it, and the bench."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.conftest import ROOT


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from this tree without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def contents(wheel: Path) -> set[str]:
    """The names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def data_files(folder: str) -> set[str]:
    """The TOML files of a folder of the tree, relative to it."""
    return {str(path.relative_to(ROOT / folder)) for path in (ROOT / folder).rglob("*.toml")}


@pytest.mark.parametrize("kind", ["ordinances", "devices", "examples"])
def test_ordinances_profiles_and_examples_are_inside(contents: set[str], kind: str) -> None:
    """Every pack, profile and example of the tree is in the wheel, under the folder where the product looks."""
    expected = data_files(f"config/{kind}")
    assert expected, f"config/{kind} is empty"
    assert {f"gateway/_shipped/{kind}/{name}" for name in expected} <= contents


def test_the_code_and_the_bench_are_inside(contents: set[str]) -> None:
    """Every module of the gateway and the simulators, every scenario and the type marker are in the wheel."""
    modules = {str(path.relative_to(ROOT)) for package in ("gateway", "simulators") for path in python_files(package)}
    scenarios = {f"simulators/{name}" for name in data_files("simulators")}
    assert "simulators/scenarios/slug.toml" in scenarios
    assert modules | scenarios | {"gateway/py.typed"} <= contents


def python_files(package: str) -> list[Path]:
    """The modules of one package of the tree."""
    return list((ROOT / package).rglob("*.py"))


def test_nothing_else_is_inside(contents: set[str]) -> None:
    """Tests, papers and measurements stay out: two packages and the wheel's own records are all."""
    assert {name.split("/")[0].split("-")[0] for name in contents} == {"gateway", "simulators", "manhole_gateway"}
    assert any(name.endswith("/licenses/LICENSE") for name in contents)


def test_the_unpacked_wheel_checks_its_own_examples(wheel: Path, tmp_path: Path) -> None:
    """Away from the tree, the wheel's own command accepts the wheel's own example sites."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    examples = sorted((tmp_path / "gateway" / "_shipped" / "examples").glob("*.toml"))
    assert examples
    for example in examples:
        command = [sys.executable, "-m", "gateway", "check", str(example)]
        # From the unpacked folder, `-m` finds the wheel's packages before the ones of the tree.
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, f"{example.name}: {ended.stdout}{ended.stderr}"
