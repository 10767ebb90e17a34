"""What the papers of the repository promise is there: the README's site file, links, files, commands."""

import re
import tomllib
from pathlib import Path

import pytest

from gateway import config
from tests.conftest import ROOT

README = ROOT / "README.md"
PAPERS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])


def snippets(paper: Path) -> list[str]:
    """The TOML snippets of a paper."""
    return re.findall(r"```toml\n(.*?)```", paper.read_text(encoding="utf-8"), flags=re.DOTALL)


def test_the_readme_site_file_is_eleven_lines_and_valid(tmp_path: Path) -> None:
    """The first site file that a newcomer copies passes `check`, warned only of what it does not measure."""
    (snippet,) = snippets(README)
    assert len(snippet.splitlines()) == 11
    path = tmp_path / "site.toml"
    path.write_text(snippet, encoding="utf-8")
    loaded = config.read(path)
    assert [str(problem) for problem in loaded.errors] == []
    assert [str(warning) for warning in loaded.warnings if "judges nothing here" not in warning.text] == []
    assert loaded.site is not None
    assert {rule.id for rule in loaded.site.rules if not rule.laboratory} == {"lv-ph-low", "lv-ph-high"}
    assert [contact.id for contact in loaded.site.contacts] == ["superintendent"]


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_somewhere(paper: Path) -> None:
    """No paper links to a file that is not there."""
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", paper.read_text(encoding="utf-8"))
    gone = [link for link in links if "://" not in link and not (paper.parent / link).exists()]
    assert gone == []


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_file_that_is_named_exists(paper: Path) -> None:
    """A path of the tree that a paper names in code style is there."""
    tops = r"(?:gateway|config|simulators|tests|bench|docs|deploy)"
    named = re.findall(rf"`({tops}/[A-Za-z0-9_./-]*)`", paper.read_text(encoding="utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("paper", PAPERS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_toml_snippet_is_toml(paper: Path) -> None:
    """What a paper shows as TOML can be read as TOML."""
    for snippet in snippets(paper):
        tomllib.loads(snippet)
