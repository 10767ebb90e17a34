"""The shared fixtures do what they promise."""

import subprocess
import sys
from pathlib import Path

from tests import programs
from tests.conftest import ROOT

LEAK = '''
import asyncio


def test_leaks():
    """A task outlives its starter."""

    async def main():
        asyncio.get_running_loop().create_task(asyncio.sleep(3600), name="forgotten")
        await asyncio.sleep(0)

    asyncio.run(main())


def test_awaits():
    """A task is awaited."""

    async def main():
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.sleep(0))

    asyncio.run(main())
'''


def test_a_task_left_running_fails_its_test(tmp_path: Path) -> None:
    """A test whose asyncio.run ends with a task running is reported with the task's name; one that awaits passes."""
    (tmp_path / "test_leak.py").write_text(LEAK)
    options = ("-q", "-p", "tests.conftest", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(tmp_path))
    ended = subprocess.run(
        [sys.executable, "-m", "pytest", *options, str(tmp_path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert "2 passed, 1 error" in ended.stdout, ended.stdout + ended.stderr
    assert "ERROR at teardown of test_leaks" in ended.stdout
    assert "forgotten" in ended.stdout


def test_a_missing_program_is_named_with_what_is_skipped() -> None:
    """The report names each missing program, its package and what is skipped for it, one line each."""
    gone = programs.Program("no-such-broker", "some-package", "tests of something")
    assert programs.report((gone,)) == (
        "missing: no-such-broker (Debian package some-package); skipped: tests of something"
    )
    assert programs.report(()).startswith("external programs: all here")
    assert programs.find("no-such-broker") is None


def test_every_program_that_is_asked_for_is_used() -> None:
    """Nobody is told to install what no test needs: each program of the table has a test that asks for it."""
    files = (*ROOT.glob("tests/*/test_*.py"), *ROOT.glob("tests/support/*.py"))
    tests = "".join(path.read_text(encoding="utf-8") for path in files)
    asked = ('program("{}")', 'find("{}")', "mark.{}")
    unused = [p.name for p in programs.PROGRAMS if not any(way.format(p.name) in tests for way in asked)]
    assert unused == []
