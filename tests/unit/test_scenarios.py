"""The shipped scenarios tell the story they announce, for any seed, and a bad file says what is wrong with it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gateway.errors import ConfigError
from simulators.manhole import Manhole, Truth, Water
from simulators.scenario import EventKind, Outage, Scenario, load, names

SEEDS = (1, 2, 3)
_150_F = (150.0 - 32.0) * 5.0 / 9.0
# What the Little Valley example site holds a discharge to.
LEGAL: dict[str, Callable[[Water], bool]] = {
    "pH from 5.5 to 9.5": lambda water: 5.5 <= water.ph <= 9.5,
    "150 degF or less": lambda water: water.temperature_c <= _150_F,
    "5 x 10 gpm or less": lambda water: water.flow_gpm <= 50.0,
    "5 x 800 uS/cm or less": lambda water: water.conductivity_us_cm <= 4000.0,
}


def _run(name: str, seed: int, every_s: int = 1) -> list[Truth]:
    scenario = load(name)
    manhole = Manhole(seed, scenario)
    return [manhole.at(t_s) for t_s in range(0, round(scenario.duration_s), every_s)]


def _broken(run: list[Truth]) -> dict[str, list[int]]:
    """The seconds in which each limit is broken, as the probes see it."""
    seconds = {limit: [t.t_s for t in run if not kept(t.sensed)] for limit, kept in LEGAL.items()}
    return {limit: when for limit, when in seconds.items() if when}


def _contiguous(seconds: list[int], every_s: int = 1) -> bool:
    return seconds == list(range(seconds[0], seconds[-1] + 1, every_s))


def test_the_scenarios_are_those_the_product_names() -> None:
    """Every scenario the command line promises ships with the product."""
    promised = {
        "normal-day",
        "slug",
        "acid-dump",
        "hot-discharge",
        "dead-ph-probe",
        "broker-outage",
        "recorded",
        "demo",
    }
    assert set(names()) == promised


@pytest.mark.parametrize("name", names())
def test_every_scenario_has_its_sentence_and_its_story(name: str) -> None:
    """One English sentence, and the expected story in words."""
    scenario = load(name)
    assert scenario.title.endswith(".")
    assert ". " not in scenario.title
    assert len(scenario.story.split()) > 20
    assert all(0 <= event.at_s < event.until_s <= scenario.duration_s for event in scenario.events)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_normal_day_breaks_nothing(seed: int) -> None:
    """From midnight to midnight every limit is kept, with room to spare for the flow."""
    day = _run("normal-day", seed, every_s=5)
    assert _broken(day) == {}
    assert max(truth.sensed.flow_gpm for truth in day) < 40.0
    assert load("normal-day").alarms == ()


@pytest.mark.parametrize("name", ["slug", "broker-outage"])
@pytest.mark.parametrize("seed", SEEDS)
def test_the_slug_is_one_clear_run_of_flow_and_nothing_else(name: str, seed: int) -> None:
    """Above 50 gpm without a break for more than 20 minutes and less than an hour; every other limit is kept."""
    broken = _broken(_run(name, seed))
    assert list(broken) == ["5 x 10 gpm or less"]
    seconds = broken["5 x 10 gpm or less"]
    assert _contiguous(seconds)
    assert 20 * 60 < len(seconds) < 3600
    assert load(name).alarms == ("lv-slug-flow",)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_acid_dump_is_about_eight_minutes_near_ph_3_6(seed: int) -> None:
    """pH leaves the band once, for six to ten minutes, down to 3.6 give or take; flow and the rest stay legal."""
    run = _run("acid-dump", seed, every_s=15)
    broken = _broken(run)
    assert list(broken) == ["pH from 5.5 to 9.5"]
    seconds = broken["pH from 5.5 to 9.5"]
    assert _contiguous(seconds, every_s=15)
    assert 6 * 60 <= seconds[-1] - seconds[0] <= 10 * 60
    assert min(truth.sensed.ph for truth in run) == pytest.approx(3.6, abs=0.2)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_hot_discharge_is_above_150_f_for_a_few_minutes(seed: int) -> None:
    """The temperature passes 150 degF once, for three to seven minutes, well above the probe's uncertainty."""
    run = _run("hot-discharge", seed, every_s=15)
    broken = _broken(run)
    assert list(broken) == ["150 degF or less"]
    seconds = broken["150 degF or less"]
    assert _contiguous(seconds, every_s=15)
    assert 3 * 60 <= seconds[-1] - seconds[0] <= 7 * 60
    assert max(truth.sensed.temperature_c for truth in run) > _150_F + 4.0


@pytest.mark.parametrize("seed", SEEDS)
def test_the_demo_tells_both_stories_in_forty_minutes(seed: int) -> None:
    """A slug that is over, then the acid, both finished with five minutes left for the all-clear."""
    broken = _broken(_run("demo", seed, every_s=15))
    flow, acid = broken.pop("5 x 10 gpm or less"), broken.pop("pH from 5.5 to 9.5")
    assert broken == {}
    assert _contiguous(flow, every_s=15)
    assert _contiguous(acid, every_s=15)
    assert 16 * 60 < flow[-1] - flow[0] < 22 * 60
    assert flow[-1] < acid[0] < acid[-1] <= 35 * 60
    assert load("demo").duration_s == 40 * 60


def test_the_dead_probe_is_dead_and_comes_back() -> None:
    """The instrument for pH is mute from minute 8 to minute 38, and no limit is broken meanwhile."""
    run = _run("dead-ph-probe", 1)
    mute = [truth.t_s for truth in run if truth.silent == {"pH"}]
    assert mute == list(range(8 * 60, 38 * 60))
    assert _broken(run) == {}


def test_the_broker_is_away_within_the_slug() -> None:
    """The outage lies inside the exceedance and covers the moment at which the slug is proven."""
    seconds = _broken(_run("broker-outage", 1))["5 x 10 gpm or less"]
    outage = load("broker-outage").outage
    assert isinstance(outage, Outage)
    assert seconds[0] < outage.down_at_s < seconds[0] + 915 < outage.up_at_s < seconds[-1]


def test_only_the_recorded_scenario_shows_a_file() -> None:
    """One scenario takes its values from a file and has no events of its own."""
    assert [name for name in names() if load(name).recorded] == ["recorded"]
    assert load("recorded").events == ()


_GOOD = """
title = "A test."
story = "Nothing much."
starts_at = 2026-11-30T09:40:00-05:00
duration = "10 min"
"""


def _load(tmp_path: Path, text: str) -> Scenario:
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return load(str(path))


def test_a_scenario_can_be_anybodys_file_in_the_units_of_the_writer(tmp_path: Path) -> None:
    """A path works like a name; amounts are taken in their own units."""
    text = _GOOD + '[[events]]\nkind = "dump"\nat = "1 min"\nfor = "90 s"\nflow = "1 L/s"\ntemperature = "212 degF"\n'
    event = _load(tmp_path, text).events[0]
    assert (event.kind, event.at_s, event.for_s) == (EventKind.DUMP, 60.0, 90.0)
    assert event.flow_gpm == pytest.approx(60 / 3.785411784)
    assert event.temperature_c == pytest.approx(100.0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param("title = ", "not TOML", id="a file that is not TOML"),
        pytest.param(_GOOD.replace("-05:00", ""), "starts_at: give a date and time with its offset", id="no offset"),
        pytest.param(_GOOD.replace('"10 min"', "10"), "duration: 10 has no unit", id="a bare number"),
        pytest.param(_GOOD + "speed = 4", "speed: unknown key", id="a key nobody knows"),
        pytest.param(_GOOD + "[[events]]\nkind = 'flood'", "events[0].kind: 'flood' is none of", id="an unknown kind"),
        pytest.param(
            _GOOD + "[[events]]\nkind = 'slug'\nat = '1 min'\nfor = '1 min'",
            "events[0].flow: a slug needs its flow",
            id="a slug without its flow",
        ),
        pytest.param(
            _GOOD + "[[events]]\nkind = 'slug'\nat = '1 min'\nfor = '1 min'\nflow = '5 ft'",
            "events[0].flow: 'ft' is a unit of length",
            id="a flow in feet",
        ),
        pytest.param(
            _GOOD + "[[events]]\nkind = 'silent'\nat = '1 min'\nfor = '1 min'",
            "events[0].quantity: say which",
            id="a mute instrument without its quantity",
        ),
        pytest.param(
            _GOOD + "[broker]\ndown_at = '9 min'\nup_at = '1 min'",
            "broker.up_at: the broker comes back before it went down",
            id="an outage that ends before it begins",
        ),
    ],
)
def test_a_bad_scenario_says_what_is_wrong(tmp_path: Path, text: str, said: str) -> None:
    """Each mistake is named with the file and the key."""
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, text)
    assert said in str(caught.value)
    assert "mine.toml" in str(caught.value)


def test_all_mistakes_come_at_once(tmp_path: Path) -> None:
    """Two wrong keys are two problems of one error."""
    with pytest.raises(ConfigError) as caught:
        _load(tmp_path, _GOOD.replace('"10 min"', "10") + "speed = 4")
    assert len(caught.value.problems) == 2


def test_an_unknown_name_lists_the_known_ones() -> None:
    """A scenario that does not exist is answered with those that do."""
    with pytest.raises(ConfigError, match="acid-dump, broker-outage"):
        load("flood")
