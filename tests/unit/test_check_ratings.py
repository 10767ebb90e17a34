"""What `check` shows of a primary device, and how its uncertainty reaches the rules."""

import io
import json
import math
from pathlib import Path
from typing import Any

import pytest

from gateway.check import run_check
from gateway.config import load, read
from gateway.model import Instant, Sample
from gateway.pipeline import Pipeline

S = 1_000_000
START = Instant(1_700_000_000_000_000, 0)

SITE = """
[site]
id = "mh7"
name = "Manhole 7"
discharger = "Acme Dairy"
time_zone = "America/New_York"
ordinances = ["little-valley"]
{more}
[channels.level]
quantity = "level"
unit = "in"
poll = "15 s"
{level}

[channels.flow]
quantity = "flow"
unit = "gpm"
from = "level"
primary = {{ {primary} }}

[baselines.flow]
mode = "declared"
value = "25 gpm"
approved_by = "Superintendent"
approved_on = 2015-01-01
"""
FLUME = 'kind = "parshall", throat = "6 in"'
PIPE = '[pipe]\ndiameter = "6 in"\nslope = "1.04 %"\n'


def site_file(folder: Path, primary: str = FLUME, level: str = "", more: str = "") -> Path:
    """A site whose flow comes from a level in inches."""
    path = folder / "site.toml"
    path.write_text(SITE.format(primary=primary, level=level, more=more), encoding="utf-8")
    return path


def shown(path: Path) -> list[str]:
    """The lines of `check` about the flow."""
    out = io.StringIO()
    run_check(path, as_json=False, out=out)
    lines = out.getvalue().splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("Flow flow"))
    return [" ".join(line.split()) for line in lines[first : lines.index("", first)]]


def test_a_rating_is_shown_at_some_heads(tmp_path: Path) -> None:
    """Level in the channel's unit, flow in the flow's, and its uncertainty: half of 0.45 m of head is 8.858 in, where
    2.06 x 0.7382^1.58 cfs are 572.3 gpm; 0.1 in of 8.858 is 1.13 %, times 1.58 and with the flume's 3 %: 3.5 %."""
    lines = shown(site_file(tmp_path, level='uncertainty = "0.1 in"'))
    assert lines[0] == "Flow flow, computed from level: Parshall 6 in"
    assert lines[1].startswith("source: Parshall, free flow: USBR")
    assert "level 8.858 in 572.3 gpm +- 3.5 %" in lines
    assert any(line.endswith("greatest head") and line.startswith("level 17.72 in") for line in lines)


def test_what_the_pipe_and_the_limit_need_is_shown_on_the_rating(tmp_path: Path) -> None:
    """257 gpm of a full pipe and the slug's 125 gpm, each with the level at which they will be read: for 125 gpm,
    (125 / 448.83 / 2.06)^(1/1.58) = 0.2818 ft, that is 3.382 in."""
    lines = shown(site_file(tmp_path, more=PIPE))
    assert "lv-slug-flow > 125 gpm: at level 3.382 in, +- 3 %" in lines
    (full,) = [line for line in lines if line.startswith("the pipe full")]
    gpm, level_in = float(full.split()[3]), float(full.split()[7])
    assert gpm == pytest.approx(257, abs=0.6)
    assert level_in == pytest.approx(12 * (gpm / 448.8312 / 2.06) ** (1 / 1.58), abs=0.002)


def test_a_limit_that_the_device_cannot_show_is_said(tmp_path: Path) -> None:
    """A 1-inch flume ends at 85 gpm: the slug's 125 gpm lie beyond it."""
    lines = shown(site_file(tmp_path, 'kind = "parshall", throat = "1 in"'))
    assert "lv-slug-flow > 125 gpm: beyond what is believed of this device" in lines


@pytest.mark.parametrize(
    ("primary", "level", "most_gpm"),
    [(FLUME, 'crown = "3.3 in"', 120.2), (f'{FLUME}, q_max = "100 gpm"', "", 100.0)],
)
def test_a_limit_above_the_crown_or_the_most_can_never_be_proven(
    tmp_path: Path, primary: str, level: str, most_gpm: float
) -> None:
    """A pipe that is full at 3.3 in, 120.2 gpm by 2.06 x 0.275^1.58 cfs, or a device for 100: `check` warns of a rule
    that waits for 125 gpm, which are never believed."""
    path = site_file(tmp_path, primary, level)
    assert "lv-slug-flow > 125 gpm: beyond what is believed of this device" in shown(path)
    (warning,) = [w.text for w in read(path).warnings if "no trusted reading can show it" in w.text]
    assert float(warning.split()[2]) == pytest.approx(most_gpm, abs=0.1)


@pytest.mark.parametrize(
    ("primary", "level", "said"),
    [
        (FLUME, "", "submergence cannot be seen: no level behind the device (free flow up to 60 % of the head); look"),
        (FLUME, "", "a full pipe cannot be seen: level has no crown"),
        (FLUME, 'crown = "8 in"', "from level 8 in on the pipe is full, and no flow is believed"),
        (f'{FLUME}, head_offset = "-1.2 in"', "", "head = level -0.1 ft"),
        (f'{FLUME}, accuracy = "2 %"', "", "uncertainty: the device's 2 % of the flow, level gives none"),
        (f'{FLUME}, source = "sheet 12"', "", "source: sheet 12"),
        (
            'kind = "manning", diameter = "12 in", slope = "0.4 %"',
            "",
            "from depth alone: backwater makes it read high, and nothing here can see it",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_seen_is_said(tmp_path: Path, primary: str, level: str, said: str) -> None:
    """One line for each thing that weakens the flow, and for what the site file said of the device."""
    assert said in shown(site_file(tmp_path, primary, level))


def test_a_velocity_beside_the_level_shows_backwater(tmp_path: Path) -> None:
    """With a velocity the line names it."""
    beside = '[channels.speed]\nquantity = "velocity"\nunit = "ft/s"\n'
    path = site_file(tmp_path, 'kind = "manning", diameter = "12 in", slope = "0.4 %"', "", beside)
    assert "from depth alone: backwater makes it read high, and speed shows it" in shown(path)


def test_a_level_behind_the_device_is_named(tmp_path: Path) -> None:
    """With a second level, the line says which, and from when on."""
    behind = '[channels.tail]\nquantity = "level"\nunit = "ft"\n'
    lines = shown(site_file(tmp_path, f'{FLUME}, downstream = "tail"', more=behind))
    assert "submergence: seen by tail, above 60 % of the head" in lines


def test_the_same_as_data(tmp_path: Path) -> None:
    """`check --json` carries the rating too."""
    out = io.StringIO()
    run_check(site_file(tmp_path, more=PIPE), as_json=True, out=out)
    (sheet,) = json.loads(out.getvalue())["ratings"]
    assert (sheet["channel"], sheet["level"], sheet["device"]) == ("flow", "level", "Parshall 6 in")
    middle = sheet["points"][3]
    assert middle["flow"] == pytest.approx(2.06 * middle["head_ft"] ** 1.58 * 448.8312, rel=1e-6)
    assert middle["level"] == pytest.approx(12 * middle["head_ft"])


def test_a_notch_too_near_the_floor_is_warned_of(tmp_path: Path) -> None:
    """Full contraction wants 0.45 m to the floor and 0.9 m of width: 1.4 ft and 2 ft are too little."""
    notch = 'kind = "v-notch", angle = "90 deg", crest_height = "1.4 ft", channel_width = "2 ft"'
    warnings = [str(w) for w in read(site_file(tmp_path, notch)).warnings]
    said = [w for w in warnings if "not fully contracted" in w]
    assert len(said) == 2
    assert "crest_height: is less than 1.48 ft" in said[0]
    assert "channel_width: is less than 2.95 ft" in said[1]


def rule_of(path: Path) -> Any:
    """The slug rule of the flow: 5 x 25 gpm."""
    return next(rule for rule in load(path, for_replay=True).rules if rule.id == "lv-slug-flow")


def test_the_ratings_uncertainty_is_the_rules_at_its_limit(tmp_path: Path) -> None:
    """At 125 gpm the head is 3.382 in: 0.1 in of it, times 1.58, and 3 % of the flume."""
    rule = rule_of(site_file(tmp_path, level='uncertainty = "0.1 in"'))
    assert rule.uncertainty == pytest.approx(125 * math.hypot(0.03, 1.58 * 0.1 / 3.382), rel=1e-3)


def test_the_sites_own_uncertainty_stands_first(tmp_path: Path) -> None:
    """What the site file says of the flow's uncertainty is not computed anew."""
    path = site_file(tmp_path)
    path.write_text(path.read_text().replace('from = "level"', 'from = "level"\nuncertainty = "9 gpm"'))
    assert rule_of(path).uncertainty == 9.0


def _slug_reason(path: Path, level_in: float) -> str:
    pipeline = Pipeline(load(path, for_replay=True), START)
    reasons = []
    for second in range(0, 1200, 15):
        at = Instant(START.utc_us + second * S, second * S)
        wobble = second % 45 * 1e-7
        outcome = pipeline.process([Sample("level", at, (), level_in + wobble)], at)
        reasons += [f.reason for f in outcome.findings if f.rule == "lv-slug-flow" and f.event.value == "raised"]
    (reason,) = reasons
    return reason


def test_an_exceedance_within_the_uncertainty_says_so(tmp_path: Path) -> None:
    """3.40 in are 126.0 gpm, nearer to 125 than 3 % of it: a slug, and its finding says how near. 4 in are not."""
    path = site_file(tmp_path)
    assert "within the sensor's uncertainty of 3.75 gpm" in _slug_reason(path, 3.40)
    assert "uncertainty" not in _slug_reason(path, 4.0)


def test_an_exceedance_by_depth_alone_says_so(tmp_path: Path) -> None:
    """A slug by Manning's formula is one, and its finding says what it rests on."""
    path = site_file(tmp_path, 'kind = "manning", diameter = "12 in", slope = "0.4 %"')
    assert "computed from depth alone" in _slug_reason(path, 5.0)
