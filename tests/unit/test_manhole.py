"""The process model: what it promises of its chemistry, its probes and its days."""

from dataclasses import fields, replace
from datetime import datetime

import pytest

from simulators.manhole import Manhole, Truth, Water
from simulators.probe import PROBES, Noise
from simulators.scenario import Event, EventKind, Scenario, load
from simulators.water import Rating, base_from_ph, ph_from_base

_DAY = load("normal-day")


def _run(scenario: Scenario, seed: int = 1, every_s: int = 1) -> list[Truth]:
    manhole = Manhole(seed, scenario)
    return [manhole.at(t_s) for t_s in range(0, round(scenario.duration_s), every_s)]


def _at(hour: int, *events: Event, minutes: int = 30) -> Scenario:
    start = datetime.fromisoformat(f"2026-11-30T{hour:02}:00:00-05:00")
    return replace(_DAY, starts_at=start, duration_s=minutes * 60.0, events=events)


@pytest.mark.parametrize("ph", [0.5, 3.6, 5.5, 7.0, 8.8, 9.5, 13.5])
def test_ph_and_base_are_inverse(ph: float) -> None:
    """A stream's pH survives the way through the quantity that mixes."""
    assert ph_from_base(base_from_ph(ph)) == pytest.approx(ph, abs=1e-9)


def test_equal_parts_of_acid_and_caustic_are_neutral() -> None:
    """What mixes is acid and base, not pH: pH 4 and pH 10 in equal parts make 7, and one part in eleven does not."""
    acid, caustic = base_from_ph(4.0), base_from_ph(10.0)
    assert ph_from_base((acid + caustic) / 2) == pytest.approx(7.0)
    assert ph_from_base((10 * base_from_ph(7.0) + acid) / 11) < 5.5


def test_the_same_seed_gives_the_same_bytes_and_another_seed_does_not() -> None:
    """An afternoon, printed, is the same text for one seed and another text for another."""
    scenario = _at(14, minutes=60)
    assert repr(_run(scenario, 3)) == repr(_run(scenario, 3))
    assert repr(_run(scenario, 3)) != repr(_run(scenario, 4))


def test_the_model_does_not_run_backwards() -> None:
    """An earlier moment than one already given is refused rather than answered wrongly."""
    manhole = Manhole(1, _DAY)
    manhole.at(10)
    with pytest.raises(ValueError, match="cannot go back"):
        manhole.at(9)


@pytest.mark.parametrize("seed", [1, 2])
def test_a_day_has_a_night_shifts_dumps_and_cleaning(seed: int) -> None:
    """Dry before the first shift, about 10 gpm on average while working, caustic and then acid in the evening."""
    day = _run(_DAY, seed, every_s=15)
    assert not any(truth.wet for truth in day if truth.t_s < 4 * 3600)
    working = [truth.pipe.flow_gpm for truth in day if 6 * 3600 <= truth.t_s < 20 * 3600]
    assert 8.5 < sum(working) / len(working) < 11.5
    evening = [truth for truth in day if 21.5 * 3600 <= truth.t_s < 22.5 * 3600]
    caustic = max(evening, key=lambda truth: truth.pipe.ph)
    acid = min(evening, key=lambda truth: truth.pipe.ph)
    assert caustic.pipe.ph > 8.5
    assert acid.pipe.ph < 6.5
    assert caustic.t_s < acid.t_s
    assert max(truth.pipe.flow_gpm for truth in day) > 15.0


def test_a_sunday_is_quiet() -> None:
    """No shift, no dump and no cleaning on a Sunday: never more than the people on site send."""
    sunday = replace(_DAY, starts_at=datetime.fromisoformat("2026-11-29T00:00:00-05:00"))
    assert max(truth.pipe.flow_gpm for truth in _run(sunday, every_s=60)) < 2.0


def test_without_flow_the_water_falls_below_the_probes() -> None:
    """When the discharge stops, the level sinks, conductivity and solids read air, and pH drifts but stays sane."""
    last = _run(_at(10, Event(EventKind.STOP, 300, 1500)))[-1]
    assert not last.wet
    assert last.sensed.level_ft < 0.01
    assert last.sensed.conductivity_us_cm < 10
    assert last.sensed.tss_mg_l < 10
    assert 5.5 < last.sensed.ph < 9.5


def test_the_level_agrees_with_the_flow_through_the_rating() -> None:
    """Level and flow are one water: over a 6-inch Parshall flume 309.3 gpm stand 0.5 ft high (printed rating)."""
    assert Rating.parshall(0.5).depth_ft(309.3) == pytest.approx(0.5, rel=1e-4)
    assert Rating.parshall(1.0).depth_ft(1795.3) == pytest.approx(1.0, rel=1e-4)
    assert Rating.v_notch(90.0).depth_ft(4.41259 / 0.0630902) == pytest.approx(0.1 / 0.3048, rel=1e-3)
    flume = Manhole(1, _at(10), Rating.parshall(0.25))
    for minute in range(30):
        pipe = flume.at(minute * 60).pipe
        assert pipe.level_ft == pytest.approx((pipe.flow_gpm / (0.992 * 448.831)) ** (1 / 1.547))


def test_the_probes_are_wet_while_the_user_discharges() -> None:
    """On a working day the level stands at or above 0.1 ft in every second with 2 gpm or more."""
    for truth in _run(_DAY, every_s=15):
        if truth.pipe.flow_gpm >= 2.0:
            assert truth.wet
            assert truth.pipe.level_ft >= 0.1


def test_probes_lag_and_then_arrive() -> None:
    """Hot water reaches the RTD late: behind the pipe by degrees on the way up, and within its noise once steady."""
    hot = Event(EventKind.DUMP, 300, 900, flow_gpm=30.0, temperature_c=84.0)
    run = _run(_at(10, hot))
    assert max(truth.pipe.temperature_c - truth.sensed.temperature_c for truth in run[300:360]) > 5.0
    steady = run[1100]
    assert abs(steady.pipe.temperature_c - steady.sensed.temperature_c) < 1.5


@pytest.mark.parametrize(("index", "name"), list(enumerate(PROBES)))
def test_noise_is_bounded_and_there(index: int, name: str) -> None:
    """In steady water a probe trembles, and is never farther off than 4 standard deviations and half a digit."""
    probe, noise, value = PROBES[name], Noise(1), 12.5
    shown = [probe.shown(value, noise.at(t_s, index)) for t_s in range(3600)]
    bound = 4 * (probe.noise + probe.noise_share * value) + probe.resolution / 2
    assert max(abs(one - value) for one in shown) <= bound + 1e-9
    assert len(set(shown)) > 1
    assert sum(shown) / len(shown) == pytest.approx(value, abs=0.1 * bound)


def test_probes_show_whole_digits() -> None:
    """What a probe reports is a whole number of its steps."""
    for truth in _run(_at(10), every_s=97):
        for name, probe in PROBES.items():
            steps = getattr(truth.sensed, name) / probe.resolution
            assert steps == pytest.approx(round(steps), abs=1e-6), name


def test_every_probe_senses_a_field_of_the_water() -> None:
    """The order of the probes is the order of the water's fields, on which the model relies."""
    assert tuple(PROBES) == tuple(field.name for field in fields(Water))[: len(PROBES)]


def test_the_total_is_the_flow_summed_up() -> None:
    """The volume that passed is the flow of every second, from the scenario's start."""
    run = _run(_at(10))
    passed = sum(truth.pipe.flow_gpm for truth in run[1:]) / 60.0
    assert run[0].pipe.total_gal == pytest.approx(0.0, abs=0.5)
    assert run[-1].pipe.total_gal - run[0].pipe.total_gal == pytest.approx(passed, rel=1e-6)
