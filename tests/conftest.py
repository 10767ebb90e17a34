"""What every test shares: recorded series, external programs, one hypothesis profile, and no task left behind."""

import asyncio
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from tests.programs import SYSTEM_FOLDERS, find

ROOT = Path(__file__).resolve().parent.parent
SHARED_DATA = ROOT.parent / "shared" / "data"

# A plain user's PATH on Debian leaves out the broker's folder; what the code under test starts needs it too.
os.environ["PATH"] = os.pathsep.join((os.environ.get("PATH", os.defpath), *SYSTEM_FOLDERS))

settings.register_profile("gateway", deadline=None, derandomize=bool(os.environ.get("CI")))
settings.load_profile("gateway")


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip, by name, what a missing broker makes impossible."""
    if item.get_closest_marker("mosquitto") and find("mosquitto") is None:
        pytest.skip("mosquitto is not installed")


@pytest.fixture(scope="session")
def shared_data() -> Callable[[str], Path]:
    """A path inside ../shared/data, relative to the repository; skips the test where the file is not there."""

    def locate(name: str) -> Path:
        path = SHARED_DATA / name
        if not path.exists():
            pytest.skip(f"recorded series not here: ../shared/data/{name}")
        return path

    return locate


@pytest.fixture(scope="session")
def program() -> Callable[[str], Path]:
    """An external program by name; skips the test where it is not installed."""

    def locate(name: str) -> Path:
        path = find(name)
        if path is None:
            pytest.skip(f"{name} is not installed")
        return path

    return locate


@pytest.fixture(autouse=True)
def no_task_left_running(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Fail a test whose `asyncio.run` ended normally while a task it started was still running.

    `asyncio.run` cancels such tasks without a word, which would hide a task that outlives its TaskGroup.
    """
    left: list[str] = []
    ran = asyncio.Runner.run

    def run(self: asyncio.Runner, coro: object, **kwargs: object) -> object:
        result = ran(self, coro, **kwargs)  # type: ignore[arg-type]  # passed through as it came
        left.extend(repr(task) for task in asyncio.all_tasks(self.get_loop()))
        return result

    monkeypatch.setattr(asyncio.Runner, "run", run)
    yield
    if left:
        pytest.fail("tasks still running when asyncio.run ended:\n" + "\n".join(left), pytrace=False)
