"""What a site file asks of sensor diagnosis: each quantity's defaults, and every mistake with its path."""

from pathlib import Path

import pytest

from gateway.config import load
from gateway.diagnosed import Agreement, Heat, Tamper
from gateway.errors import ConfigError
from gateway.model import Quality, Sample
from gateway.shipped import shipped
from gateway.signals.qc import QualityControl
from gateway.site import Site
from tests.support.bench_site import at

EXAMPLE = Path(str(shipped("examples", "little-valley")))
LOOP = """
[devices.module]
bus = "rs485"
unit = 9
profile = "waveshare-ai8"

[channels.sump]
quantity = "level"
unit = "ft"
device = "module"
point = "AI1"
source_unit = "mA"
scale = { input = ["4 mA", "20 mA"], output = ["0 ft", "10 ft"] }
"""


def site(folder: Path, *, more: str = "", **lines: str) -> Site:
    """Little Valley with lines added to the channels named, and more at the end."""
    text = EXAMPLE.read_text(encoding="utf-8")
    for name, added in lines.items():
        heading = f"[channels.{name}]\n"
        assert heading in text
        text = text.replace(heading, f"{heading}{added}\n", 1)
    path = folder / "site.toml"
    path.write_text(text + more, encoding="utf-8")
    return load(path)


def mistakes(folder: Path, *, more: str = "", **lines: str) -> dict[str, str]:
    """What is wrong with such a site, by path."""
    with pytest.raises(ConfigError) as told:
        site(folder, more=more, **lines)
    return {problem.path: problem.text for problem in told.value.problems}


def test_the_defaults_of_each_quantity(tmp_path: Path) -> None:
    """pH: a coat, broken glass, a dry bulb. A measured level: a held value, jumps, the crown. A flow: the capacity."""
    channels = site(tmp_path).channels
    ph, level, flow = (channels[name].diagnosed for name in ("ph", "level", "flow"))
    assert (ph.attenuation, ph.attenuation_hours, ph.glass, ph.dry_us) == (0.25, 12, True, 86_400_000_000)
    assert (level.held_us, level.jump) == (600_000_000, pytest.approx(10 / 30.48))
    assert level.crown == pytest.approx(0.5)  # the pipe of 6 in
    assert flow.capacity == pytest.approx(1.1 * 257, rel=0.005)
    assert channels["temperature"].diagnosed.attenuation is None
    assert channels["conductivity"].diagnosed.night is None
    assert site(tmp_path).tamper is None


def test_each_can_be_switched_off_and_set(tmp_path: Path) -> None:
    """A key says no, or says how far."""
    channels = site(
        tmp_path,
        ph='diagnosis = { attenuation = false, glass = false, dry_after = "2 h" }',
        level='crown = "8 in"\noverflow_at = "9 ft"\ndiagnosis = { held = false, jump = "1 ft" }',
        conductivity="diagnosis = { attenuation = true, attenuation_share = 0.1, attenuation_hours = 24, night = -0.3}",
    ).channels
    ph, level, conductivity = (channels[name].diagnosed for name in ("ph", "level", "conductivity"))
    assert (ph.attenuation, ph.glass, ph.dry_us) == (None, False, 7_200_000_000)
    assert (level.held_us, level.jump) == (None, 1.0)
    assert (level.crown, level.overflow_at) == (pytest.approx(8 / 12), 9.0)
    assert channels["level"].crown == level.crown
    assert (conductivity.attenuation, conductivity.attenuation_hours, conductivity.night) == (0.1, 24, -0.3)


def test_two_sensors_in_different_units(tmp_path: Path) -> None:
    """3 degC stays 3 degC, and the other's degF are told how to become degC."""
    other = '\n[channels.outside]\nquantity = "temperature"\nunit = "degF"\n'
    built = site(
        tmp_path, more=other, ph='compensated_by = "temperature"',
        temperature='agrees_with = { channel = "outside", within = "3 degC", for = "5 min" }',
    )  # fmt: skip
    agreement = built.channels["temperature"].diagnosed.agreement
    assert agreement == Agreement("outside", 3.0, 300_000_000, pytest.approx(5 / 9), pytest.approx(-160 / 9))
    assert built.channels["ph"].diagnosed.compensated_by == "temperature"
    assert "agreement-temperature" in built.alarms


def test_tampering_is_looked_for_where_the_file_asks(tmp_path: Path) -> None:
    """An empty table takes every default; the alarm latches."""
    built = site(tmp_path, more='\n[tamper]\nph_step = "1 pH"\nambient = "50 degF"\n')
    plain = Tamper()
    assert built.tamper is not None
    assert (built.tamper.ph_step, built.tamper.ambient_c) == (1.0, pytest.approx(10.0))
    assert built.tamper.tap_us_cm == plain.tap_us_cm
    assert built.alarms["tamper"].latching


def test_the_resolution_is_the_tolerance_of_a_flat_line(tmp_path: Path) -> None:
    """One step of the display is still; two are not. A tolerance of its own has the last word."""
    ph = site(tmp_path, ph='resolution = "0.01 pH"').channels["ph"]
    qc = QualityControl(ph)
    for n in range(4 * 240 + 1):
        last = qc.assess(Sample("ph", at(15 * n), (), 8.01 + 0.01 * (n % 2)))
    assert last.tests == ("flat_line",)
    qc = QualityControl(ph)
    for n in range(4 * 240 + 1):
        last = qc.assess(Sample("ph", at(15 * n), (), 8.01 + 0.02 * (n % 2)))
    assert last.quality is Quality.GOOD
    assert site(tmp_path, ph='resolution = "0.01 pH"\nflat_tolerance = "0 pH"').channels["ph"].flat_tolerance == 0.0
    assert site(tmp_path).channels["ph"].flat_tolerance == 0.0  # a float says nothing of its step


def test_a_loop_knows_its_current_and_its_step(tmp_path: Path) -> None:
    """A module that sends whole numbers resolves one of them: scaled into the channel's unit."""
    sump = site(tmp_path, more=LOOP).channels["sump"]
    assert sump.diagnosed.loop
    assert sump.diagnosed.resolution is not None
    assert sump.flat_tolerance == pytest.approx(sump.diagnosed.resolution)


@pytest.mark.parametrize(
    ("sentence", "lines", "more", "path", "text"),
    [
        (
            "A sensor cannot agree with one that is not there.",
            {"temperature": 'agrees_with = { channel = "outsde", within = "3 degC" }'}, "",
            "channels.temperature.agrees_with.channel", "there is no other channel",
        ),
        (
            "Nor with itself.",
            {"temperature": 'agrees_with = { channel = "temperature", within = "3 degC" }'}, "",
            "channels.temperature.agrees_with.channel", "there is no other channel",
        ),
        (
            "Nor with another quantity.",
            {"temperature": 'agrees_with = { channel = "ph", within = "3 degC" }'}, "",
            "channels.temperature.agrees_with.channel", "ph measures pH, not temperature",
        ),
        (
            "A pH is corrected by a temperature.",
            {"ph": 'compensated_by = "flow"'}, "", "channels.ph.compensated_by", "flow measures flow, not temperature",
        ),
        (
            "Only a level runs over.",
            {"ph": 'overflow_at = "9 ft"'}, "", "channels.ph.overflow_at", "only a level runs over, not pH",
        ),
        (
            "Glass is of pH.",
            {"flow": "diagnosis = { glass = true }"}, "", "channels.flow.diagnosis.glass", "is for pH only",
        ),
        (
            "A resolution is above zero.",
            {"ph": 'resolution = "0 pH"'}, "", "channels.ph.resolution", "must be above zero",
        ),
        (
            "A step of pH is no temperature.",
            {}, '\n[tamper]\nph_step = "2 degC"\n', "tamper.ph_step", "",
        ),
    ],
)  # fmt: skip
def test_mistakes(sentence: str, lines: dict, more: str, path: str, text: str, tmp_path: Path) -> None:
    """Each with the path of the key and what is wrong with it."""
    told = mistakes(tmp_path, more=more, **lines)
    assert path in told, (sentence, told)
    assert text in told[path], sentence


def test_a_profile_may_say_its_resolution(tmp_path: Path) -> None:
    """In the point's own unit, taken into the channel's: 0.001 bar are about 10 mm of water."""
    text = EXAMPLE.read_text(encoding="utf-8").replace(
        'profile = "keller-series30"', 'profile = "keller-series30"\npoints.P1.resolution = 0.001', 1
    )
    path = tmp_path / "site.toml"
    path.write_text(text, encoding="utf-8")
    resolution = load(path).channels["level"].diagnosed.resolution
    assert resolution == pytest.approx(0.001 * 100_000 / (1000 * 9.80665) / 0.3048, rel=1e-3)


def test_the_heat_of_a_glass_is_counted_in_the_unit_of_its_temperature(tmp_path: Path) -> None:
    """50 degC unless stated, in what the other channel shows; 122 degF is the same."""
    plain = site(tmp_path, ph='diagnosis.heat = { channel = "temperature", hours = 500 }').channels["ph"].diagnosed.heat
    assert plain == Heat("temperature", 50.0, 500)
    stated = 'diagnosis.heat = { channel = "temperature", above = "140 degF", hours = 5 }'
    heat = site(tmp_path, ph=stated).channels["ph"].diagnosed.heat
    assert heat is not None
    assert heat.above == pytest.approx(60.0)


@pytest.mark.parametrize(
    ("channel", "other", "path", "text"),
    [
        ("level", "temperature", "channels.level.diagnosis.heat", "is for pH only"),
        ("ph", "flow", "channels.ph.diagnosis.heat.channel", "flow measures flow, not temperature"),
        ("ph", "temprature", "channels.ph.diagnosis.heat.channel", "there is no channel 'temprature'"),
    ],
)
def test_heat_that_nobody_can_count_is_a_mistake(
    channel: str, other: str, path: str, text: str, tmp_path: Path
) -> None:
    """Each with its path."""
    told = mistakes(tmp_path, **{channel: f'diagnosis.heat = {{ channel = "{other}", hours = 500 }}'})
    assert text in told[path]
