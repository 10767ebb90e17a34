"""Case folders: a site file in, every mistake and warning out, each with its path and line."""

from datetime import date
from pathlib import Path

import pytest

from gateway import config
from gateway.errors import ConfigError

STORIES = Path(__file__).resolve().parent.parent / "cases" / "config"
TODAY = date(2026, 6, 1)


def _told(path: Path, *, for_replay: bool) -> list[str]:
    try:
        loaded = config.read(path, for_replay=for_replay, today=TODAY)
    except ConfigError as error:
        return [f"error {problem}" for problem in error.problems]
    assert (loaded.site is None) == bool(loaded.errors)
    return [f"error {e}" for e in loaded.errors] + [f"warning {w}" for w in loaded.warnings]


@pytest.mark.parametrize("story", sorted(path.name for path in STORIES.iterdir()))
def test_story(story: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is said of the site file is what the folder expects, to the letter and the line (its story.txt says why)."""
    folder = STORIES / story
    monkeypatch.chdir(folder)
    expected = sorted((folder / "expected.txt").read_text(encoding="utf-8").splitlines())
    told = _told(Path("site.toml"), for_replay=story.endswith("-replay"))
    assert sorted(told) == expected, (folder / "story.txt").read_text(encoding="utf-8")


def test_mistakes_come_in_the_order_of_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mistakes are told from the top of the file to its end."""
    folder = STORIES / "ten-mistakes"
    monkeypatch.chdir(folder)
    expected = (folder / "expected.txt").read_text(encoding="utf-8").splitlines()
    assert _told(Path("site.toml"), for_replay=False) == expected
