"""The page for the technician about flow is true: what it tells to type can be typed, and no kind is left out."""

import re
from pathlib import Path

import pytest

from gateway.config import load, read
from gateway.signals.ratings import KINDS, rating
from tests.conftest import ROOT

PAGE = (ROOT / "docs" / "flow.md").read_text(encoding="utf-8")
SITE = """
[site]
id = "mh7"
name = "Manhole 7"
discharger = "Acme Dairy"
time_zone = "America/New_York"
ordinances = []
[channels.level]
quantity = "level"
unit = "ft"
[channels.flow]
quantity = "flow"
unit = "gpm"
from = "level"
"""
TYPED = re.findall(r"`(kind = \"[^`]*)` ?\|", PAGE) + re.findall(
    r"^primary = \{(.*?)\}$", PAGE, re.DOTALL | re.MULTILINE
)


@pytest.mark.parametrize("typed", [text.strip() for text in TYPED if "[...]" not in text])
def test_what_the_page_tells_to_type_is_sound(typed: str, tmp_path: Path) -> None:
    """Every primary device of the page, in a site file, is read without a mistake."""
    path = tmp_path / "site.toml"
    path.write_text(f"{SITE}primary = {{ {' '.join(typed.split())} }}\n", encoding="utf-8")
    assert read(path).errors == ()


@pytest.mark.parametrize(
    ("typed", "example"),
    [
        ('kind = "parshall", throat = "6"', "6 in"),
        ('kind = "parshall", throat = 6', "6 in"),
        ('kind = "v-notch", angle = "60"', "60 deg"),
        ('kind = "manning", diameter = "12 in", slope = "0.4"', "1 %"),
    ],
)
def test_who_forgets_a_unit_is_shown_one_that_fits(typed: str, example: str, tmp_path: Path) -> None:
    """A throat is not measured in gallons a minute."""
    path = tmp_path / "site.toml"
    path.write_text(f"{SITE}primary = {{ {typed} }}\n", encoding="utf-8")
    (mistake,) = read(path).errors
    assert f"as in {example!r}" in mistake.text or f"as {example!r}" in mistake.text


def test_the_page_names_every_kind() -> None:
    """No kind is left for the technician to find in a schema."""
    assert {kind for kind in KINDS if f'"{kind}"' not in PAGE} == set()


def test_an_equation_in_metres_is_the_same_in_feet(tmp_path: Path) -> None:
    """381.2 L/s at 1 m, h^1.58, of the metric standard for a 6-in flume is 2.06 h^1.58 in cfs and ft, to 0.1 %."""
    typed = (
        'kind = "power", coefficient = "381.2 L/s", head_unit = "m", exponent = 1.58, h_min = "3 cm", h_max = "45 cm"'
    )
    path = tmp_path / "site.toml"
    path.write_text(f"{SITE}primary = {{ {typed} }}\n", encoding="utf-8")
    primary = load(path, for_replay=True).channels["flow"].primary
    assert primary is not None
    assert rating(primary).flow_cfs(0.5) == pytest.approx(2.06 * 0.5**1.58, rel=0.001)
