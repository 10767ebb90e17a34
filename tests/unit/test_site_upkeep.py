"""What the site file says of maintenance and calibration, and what it means where it says nothing."""

from pathlib import Path

import pytest

from gateway.config import load
from gateway.site import Site

SITE = """
[site]
id = "x"
name = "Manhole"
discharger = "Dairy"
time_zone = "UTC"
ordinances = ["little-valley"]
[channels.ph]
quantity = "pH"
[channels.conductivity]
quantity = "conductivity"
unit = "uS/cm"
[channels.switch]
quantity = "contact"
contact = "door"
"""
MIN, DAY = 60_000_000, 86_400_000_000


def site(folder: Path, *more: str) -> Site:
    """The site with these lines added."""
    path = folder / "site.toml"
    path.write_text("\n".join([SITE, *more]), encoding="utf-8")
    return load(path, for_replay=True)


@pytest.mark.parametrize(
    ("sentence", "more", "door", "closed"),
    [
        ("the only door there is, closed when nothing is the matter", [], "switch", 1.0),
        ("the same, by a switch that opens when the door closes", ['normal = "open"'], "switch", 0.0),
        ("two doors: somebody must say which", ["[channels.b]", 'quantity = "contact"', 'contact = "door"'], "", 1.0),
        ("said in the file", ["[maintenance]", 'door = "switch"', "door_closed = 0.0"], "switch", 0.0),
    ],
)  # fmt: skip
def test_the_door(sentence: str, more: list[str], door: str, closed: float, tmp_path: Path) -> None:
    """The row's sentence."""
    upkeep = site(tmp_path, *more).upkeep
    assert (upkeep.door, upkeep.door_closed) == (door, closed), sentence


def test_times(tmp_path: Path) -> None:
    """An hour and at most eight unless stated; a site that allows half an hour at most also means it by default."""
    usual = site(tmp_path).upkeep
    assert (usual.default_us, usual.most_us, usual.after_door_us) == (60 * MIN, 480 * MIN, 10 * MIN)
    strict = site(tmp_path, "[maintenance]", 'most = "30 min"').upkeep
    assert (strict.default_us, strict.most_us) == (30 * MIN, 30 * MIN)


def test_how_often_a_channel_is_calibrated(tmp_path: Path) -> None:
    """pH every four weeks unless stated; what has no usual interval has one only where the file gives it."""
    assert site(tmp_path).upkeep.calibrate_every_us == {"ph": 28 * DAY}
    told = site(tmp_path, "[calibration]", 'ph = "14 d"', 'conductivity = "90 d"').upkeep
    assert told.calibrate_every_us == {"ph": 14 * DAY, "conductivity": 90 * DAY}
