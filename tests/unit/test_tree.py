"""The tree is held to its own rules: size, names, the pure core, and contracts that really bite."""

import ast
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.conftest import ROOT

MOST_LINES = 400
# A longer module is listed here with its one good reason.
LONGER: dict[str, str] = {}

NOT_WORDS = ("manager", "handler", "helper", "util")

# Neither core nor shell: empty packages, and the command line, which nothing may import.
NEITHER = {"gateway", "gateway.__main__", "gateway.alarms"}

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = {contract["id"]: contract for contract in PYPROJECT["tool"]["importlinter"]["contracts"]}
CORE = tuple(CONTRACTS["pure-core"]["source_modules"])
SHELL = tuple(m for m in CONTRACTS["pure-core"]["forbidden_modules"] if m.startswith("gateway."))


def sources(*packages: str) -> list[Path]:
    """Every Python file of the named packages, in a fixed order."""
    return sorted(path for package in packages for path in (ROOT / package).rglob("*.py"))


def module_name(path: Path) -> str:
    """The dotted name of a file of the tree."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def lies_in(module: str, packages: tuple[str, ...]) -> bool:
    """Whether a module is one of the packages or lies inside one."""
    return any(module == package or module.startswith(package + ".") for package in packages)


def test_files_stay_small() -> None:
    """No module is longer than 400 lines unless its reason stands in the list; a reason no longer needed goes."""
    lengths = {
        str(path.relative_to(ROOT)): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources("gateway", "simulators")
    }
    long = {name for name, lines in lengths.items() if lines > MOST_LINES}
    assert long == set(LONGER)
    assert all(LONGER.values())


def test_no_file_and_no_class_is_named_for_nothing() -> None:
    """No file, folder or class of the product hides its subject behind manager, handler, helper or util."""
    names = []
    for path in sources("gateway", "simulators"):
        names += [part.lower() for part in path.relative_to(ROOT).parts]
        names += [node.name.lower() for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef)]
    assert [name for name in names if any(word in name for word in NOT_WORDS)] == []


def test_test_files_have_names_of_their_own() -> None:
    """Two test files never share a name, wherever they lie."""
    names = [path.name for path in sources("tests") if path.name.startswith("test_")]
    assert sorted(names) == sorted(set(names))


def test_every_module_is_core_or_shell() -> None:
    """A new module must be placed in the pure-core contract: among its sources, or among what they may not import."""
    modules = {module_name(path) for path in sources("gateway")} - NEITHER
    assert {m for m in modules if not lies_in(m, CORE) and not lies_in(m, SHELL)} == set()
    assert {m for m in modules if lies_in(m, CORE) and lies_in(m, SHELL)} == set()


def test_the_core_calls_no_builtin_that_reaches_outside() -> None:
    """No import contract sees `open`, `input`, `print` or `exec`: no module of the core calls one."""
    outside = {"open", "input", "print", "exec", "eval", "compile", "breakpoint", "__import__"}
    found = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in sources("gateway")
        if lies_in(module_name(path), CORE)
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in outside
    ]
    assert found == []


# Papers that lie beside the repository and not in it: a citation by section, row or file name leads a reader nowhere.
_PAPER = r"\b(?:ordinances|domain|design|links|reliability|pitfalls?|performance|peers|style|alarms-and-texts)"
_CITED = re.compile(
    rf"{_PAPER}(?:\.md|,? (?:section )?[A-H]?\d)"  # domain 4.9, pitfall B9, reliability, section 3
    rf"|\({_PAPER}[ ,.:][^)]*\d"
    r"|\([1-9]\.\d\.\d(?: [a-l])?\)"  # the section alone
)
_PAGES = ("judging", "quality")


def texts() -> list[tuple[str, str]]:
    """Every file that people write, with its name and content; not this one, which tells what is forbidden."""
    tops = ("gateway", "simulators", "tests", "bench", "config", "docs", "deploy")
    paths = [*ROOT.glob("*.md"), *(path for top in tops for path in (ROOT / top).rglob("*"))]
    return [
        (str(path.relative_to(ROOT)), path.read_text(encoding="utf-8"))
        for path in sorted(paths)
        if path.suffix in {".py", ".md", ".toml", ".txt"} and path != Path(__file__)
    ]


def test_no_citation_leads_out_of_the_repository() -> None:
    """No file cites a paper that a reader does not have, by its name, its section or its file."""
    found = [
        f"{name}:{number}: {line.strip()}"
        for name, text in texts()
        for number, line in enumerate(text.splitlines(), 1)
        if _CITED.search(line)
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "idle time included (ordinances 1.3.3 f).", "tells the world (design 2).", "was stepped (links 5)",
        "a silent null (pitfall B9).", "pitfalls H2: a slug clears itself", "see design.md", "domain 4.9 says",
        "Vector 15 of ordinances 1.5", "else provisional (1.3.5)", "up to this (1.3.3 c)", "reliability, section 3",
        "the microsecond (ordinances 0-6, domain 6.3).", "by alarms-and-texts 1.3",
    ],
)  # fmt: skip
def test_such_a_citation_is_seen(line: str) -> None:
    """Each form in which such a paper was ever cited is one that the search finds."""
    assert _CITED.search(line)


@pytest.mark.parametrize("page", _PAGES)
def test_every_cited_section_is_there(page: str) -> None:
    """A section of the page that any file cites by its number is one of its headings, which count without a hole."""
    text = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    sections = re.findall(r"^#{2,3} (\d+(?:\.\d+)?) \S", text, flags=re.MULTILINE)
    assert sections == counted(sections)
    number = r"\d+(?:\.\d+)?"
    runs = rf"\b{page}\.md\)?,? (?:sections? )?({number}(?:(?:,| and| to) {number})*)"
    cited = {(name, one) for name, file in texts() for run in re.findall(runs, file) for one in re.findall(number, run)}
    cited |= {("itself", one) for one in re.findall(r"\((\d+\.\d+)\)", text)}
    assert {one for one in cited if one[1] not in sections} == set()
    assert cited


def counted(sections: list[str]) -> list[str]:
    """The same sections, counted: 1, 1.1, 1.2, 2, ..."""
    numbers, chapter, part = [], 0, 0
    for section in sections:
        chapter, part = (chapter, part + 1) if "." in section else (chapter + 1, 0)
        numbers.append(f"{chapter}.{part}" if part else str(chapter))
    return numbers


def parsed(path: Path) -> ast.Module:
    """The syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def copied_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the packages and their contracts, for planting."""
    copy = tmp_path_factory.mktemp("tree")
    for package in ("gateway", "simulators"):
        shutil.copytree(ROOT / package, copy / package, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    return copy


def broken_contracts(tree: Path) -> tuple[set[str], str]:
    """The ids of the contracts that lint-imports finds broken in a tree, and all that it printed."""
    linter = Path(sys.executable).with_name("lint-imports")
    ended = subprocess.run([str(linter), "--no-cache"], cwd=tree, capture_output=True, text=True, check=False)
    printed = ended.stdout + ended.stderr
    assert "Contracts:" in printed, printed
    flat = " ".join(printed.split())
    broken = {name for name, contract in CONTRACTS.items() if f"{contract['name']} BROKEN" in flat}
    assert bool(broken) == (ended.returncode != 0), printed
    return broken, printed


def test_the_contracts_are_kept(copied_tree: Path) -> None:
    """The tree as it stands keeps every import contract, so a planted import is what breaks one."""
    broken, printed = broken_contracts(copied_tree)
    assert broken == set(), printed


# What is planted, where, and the contract that must name it.
PLANTS = [
    ("gateway/signals/planted.py", "import time", "pure-core", "the core reads no clock"),
    ("gateway/rules/planted.py", "import logging", "pure-core", "the core logs nothing"),
    ("gateway/alarms/machine.py", "from pathlib import Path", "pure-core", "the core touches no file"),
    ("gateway/pipeline.py", "from gateway.clock import SystemClock", "pure-core", "the core is handed its time"),
    ("gateway/errors.py", "import socket", "pure-core", "not even through a module that everybody may import"),
    ("gateway/signals/planted.py", "import gateway.store", "layers", "signals know nothing of the store"),
    ("gateway/model.py", "import gateway.site", "layers", "the model is the innermost"),
    ("gateway/drivers/planted.py", "import gateway.sinks", "layers", "acquisition knows nothing northbound"),
    ("gateway/store/planted.py", "import paho.mqtt.client", "one-module-per-library", "one module speaks MQTT"),
    ("gateway/drivers/planted.py", "import serial", "one-module-per-library", "one module opens a serial port"),
    ("gateway/sinks/planted.py", "import sqlite3", "one-module-per-library", "one module opens the database"),
    ("gateway/drivers/planted.py", "import pydantic", "one-module-per-library", "one module checks files"),
    ("gateway/drivers/planted.py", "import simulators", "no-bench-at-run-time", "no simulator on site"),
]


@pytest.mark.parametrize(("place", "line", "contract", "why"), PLANTS)
def test_a_forbidden_import_breaks_its_contract(
    copied_tree: Path, place: str, line: str, contract: str, why: str
) -> None:
    """Each import contract, given the import it forbids, fails and names the module that did it."""
    path = copied_tree / place
    before = path.read_text(encoding="utf-8") if path.exists() else None
    path.write_text((before or "") + f"\n{line}\n", encoding="utf-8")
    try:
        broken, printed = broken_contracts(copied_tree)
    finally:
        if before is None:
            path.unlink()
        else:
            path.write_text(before, encoding="utf-8")
    assert contract in broken, f"{why}: {line} in {place}\n{printed}"
    assert module_name(ROOT / place) in printed


BANNED_CALLS = [
    "time.time()", "time.time_ns()", "time.monotonic()", "time.monotonic_ns()", "time.sleep(1)",
    "datetime.datetime.now(datetime.UTC)", "datetime.datetime.utcnow()", "datetime.datetime.today()",
    "datetime.date.today()",
]  # fmt: skip


def clock_findings(file: str) -> set[int]:
    """The lines on which the linter forbids a clock, in a planted file that reads one on every line from the third."""
    planted = "import datetime\nimport time\n" + "\n".join(BANNED_CALLS) + "\n"
    linter = Path(sys.executable).with_name("ruff")
    options = ("check", "--no-cache", "--select", "TID251", "--output-format", "concise", "--stdin-filename", file, "-")
    ended = subprocess.run(
        [str(linter), *options], input=planted, cwd=ROOT, capture_output=True, text=True, check=False
    )
    return {int(line.split(":")[1]) for line in ended.stdout.splitlines() if "TID251" in line}


@pytest.mark.parametrize("file", ["gateway/pipeline.py", "gateway/drivers/bus.py", "simulators/manhole.py"])
def test_reading_a_clock_is_refused(file: str) -> None:
    """Every way to read or wait on a clock is refused by the linter in the core, the shell and the simulators."""
    assert clock_findings(file) == set(range(3, 3 + len(BANNED_CALLS)))


def test_one_module_may_read_the_clock() -> None:
    """The clock module itself is the one place where the same calls stand."""
    assert clock_findings("gateway/clock.py") == set()
