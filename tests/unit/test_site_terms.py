"""Waivers, agreements and permits become dated terms; a site's own choices change a rule and are said with it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from gateway import config
from gateway.site import Baseline, Rule, Site, Span, Term, TownFlow

HEAD = """
[site]
id = "t"
name = "T"
discharger = "D"
time_zone = "America/New_York"
ordinances = ["little-valley", "marlborough", "us-federal"]
[channels.ph]
quantity = "pH"
[channels.cond]
quantity = "conductivity"
unit = "mS/cm"
[channels.tss]
quantity = "tss"
unit = "g/L"
[channels.flow]
quantity = "flow"
unit = "L/s"
full_scale = "100 gpm"
"""


def _site(tmp_path: Path, text: str) -> Site:
    path = tmp_path / "site.toml"
    path.write_text(HEAD + text, encoding="utf-8")
    return config.load(path, for_replay=True)


def _rule(site: Site, alarm: str) -> Rule:
    return next(rule for rule in site.rules if rule.alarm == alarm)


def _utc_us(*fields: int) -> int:
    return int(datetime(*fields, tzinfo=UTC).timestamp()) * 10**6  # type: ignore[misc,arg-type]


def _waiver(rule: str, start: str, end: str, more: str = "", section: str = "waivers") -> str:
    return (
        f'[[{section}]]\nrule = "{rule}"\napproved_by = "S"\nreason = "r"\n{more}'
        f"valid_from = {start}\nvalid_until = {end}\n"
    )


@pytest.mark.parametrize(
    ("start", "end", "first", "last", "why"),
    [
        (
            "2026-01-10",
            "2026-01-10",
            (2026, 1, 10, 5),
            (2026, 1, 11, 5),
            "one winter day is 24 h long, five hours west",
        ),
        ("2026-07-01", "2026-07-02", (2026, 7, 1, 4), (2026, 7, 3, 4), "two summer days, four hours west"),
        ("2026-03-08", "2026-03-08", (2026, 3, 8, 5), (2026, 3, 9, 4), "the day the clock goes forward has 23 h"),
        ("2026-11-01", "2026-11-01", (2026, 11, 1, 4), (2026, 11, 2, 5), "the day it goes back has 25 h"),
    ],
)
def test_terms_run_from_local_midnight_to_local_midnight(
    tmp_path: Path, start: str, end: str, first: tuple[int, ...], last: tuple[int, ...], why: str
) -> None:
    """A term begins with its first local day and ends with its last, whatever the clock does in between."""
    site = _site(tmp_path, _waiver("lv-ph-high", start, end, 'limit = "10 pH"\n'))
    (term,) = _rule(site, "lv-ph-high").terms
    assert (term.from_utc_us, term.until_utc_us) == (_utc_us(*first), _utc_us(*last)), why


def test_each_kind_of_term_carries_its_word(tmp_path: Path) -> None:
    """Kind, limit, who approved, and the paper reach the rule; a waiver without a paper names who gave it and when."""
    text = _waiver("lv-ph-high", "2026-01-01", "2026-12-31")
    text += _waiver(
        "lv-tox-copper-24h", "2026-01-01", "2026-12-31", 'reference = "7"\nlimit = "2500 ug/L"\n', "agreements"
    )
    text += _waiver("us-ph-low", "2026-01-01", "2026-12-31", 'reference = "P 1"\nlimit = "5.5 pH"\n', "permits")
    site = _site(tmp_path, text)
    start, end = _utc_us(2026, 1, 1, 5), _utc_us(2027, 1, 1, 5)
    assert _rule(site, "lv-ph-high").terms == (Term("waiver", start, end, None, "by S, from 2026-01-01", "S", "r"),)
    assert _rule(site, "lv-tox-copper-24h").terms == (Term("agreement", start, end, 2.5, "7", "S", "r"),)
    assert _rule(site, "us-ph-low").terms == (Term("permit", start, end, 5.5, "P 1", "S", "r"),)
    assert sum(len(rule.terms) for rule in site.rules) == 3


def test_a_term_for_one_channel_leaves_the_others_alone(tmp_path: Path) -> None:
    """A term may name one of several channels, or the laboratory; its limit is then in that one's unit."""
    text = _waiver("lv-slug-concentration", "2026-01-01", "2026-12-31", 'channel = "tss"\nlimit = "900 mg/L"\n')
    text += _waiver("mb-review-tss", "2026-01-01", "2026-12-31", 'channel = "lab"\nlimit = "400 mg/L"\n')
    site = _site(tmp_path, text)
    limits = {rule.alarm: rule.terms[0].limit for rule in site.rules if rule.terms}
    assert limits == {"lv-slug-concentration.tss": pytest.approx(0.9), "mb-review-tss.lab": 400.0}


def test_fluoride_is_relaxed_by_an_answer_and_says_so(tmp_path: Path) -> None:
    """Half as high again where the water supply is not fluoridated: fresh water only, by the town that was asked."""
    alarms = [f"{town}-tox-fluoride-fresh-{a}" for town in ("lv", "mb") for a in ("24h", "30d")]
    alarms += ["mb-tox-fluoride-saline-24h", "mb-tox-fluoride-saline-30d"]

    def limits(text: str) -> list[float | None]:
        site = _site(tmp_path, text)
        return [_rule(site, alarm).limit for alarm in alarms]

    assert limits("") == [8.0, 4.0, 8.0, 4.0, 72.0, 36.0]
    assert limits("[ordinances.little-valley]\nfluoridated = true\n") == [8.0, 4.0, 8.0, 4.0, 72.0, 36.0]
    assert limits("[ordinances.little-valley]\nfluoridated = false\n") == [12.0, 6.0, 8.0, 4.0, 72.0, 36.0]
    assert limits("[ordinances.marlborough]\nfluoridated = false\n") == [8.0, 4.0, 12.0, 6.0, 72.0, 36.0]
    relaxed = _rule(_site(tmp_path, "[ordinances.marlborough]\nfluoridated = false\n"), "mb-tox-fluoride-fresh-24h")
    assert relaxed.notes == ("limit 12 mg/L: 1.5 x 8 mg/L, the municipal water supply is not fluoridated",)


@pytest.mark.parametrize(("water", "other"), [("fresh", "saline"), ("saline", "fresh")])
def test_the_receiving_water_chooses_the_row(tmp_path: Path, water: str, other: str) -> None:
    """One row of the fluoride table is judged once the receiving water is known, and the other says why it is not."""
    path = tmp_path / "site.toml"
    path.write_text(HEAD + f'[ordinances.marlborough]\nreceiving_water = "{water}"\n', encoding="utf-8")
    loaded = config.read(path, for_replay=True)
    assert loaded.site is not None
    judged = {rule.id for rule in loaded.site.rules if rule.id.startswith("mb-tox-fluoride")}
    assert judged == {f"mb-tox-fluoride-{water}-24h", f"mb-tox-fluoride-{water}-30d"}
    reason = f'not for this town: receiving_water = "{water}"'
    assert loaded.unbound[f"mb-tox-fluoride-{other}-24h"] == reason
    assert not any(f"fluoride-{other}" in warning.text for warning in loaded.warnings)


def test_a_site_may_be_stricter_and_says_so(tmp_path: Path) -> None:
    """A stricter limit, factor, duration and an approved reading reach the rule, with a note of what was printed."""
    site = _site(
        tmp_path,
        '[rules."lv-ph-low"]\nlimit = "5.8 pH"\nreading_approved_by = "Attorney"\nreading_approved_on = 2026-01-15\n'
        '[rules."lv-slug-flow"]\nfactor = 4.0\nduration = "10 min"\n[rules."mb-flow-rate"]\nlimit = "50 L/s"\n',
    )
    low, slug, rate = (_rule(site, alarm) for alarm in ("lv-ph-low", "lv-slug-flow", "mb-flow-rate"))
    assert (low.limit, low.reading_approved_by, low.reading_approved_on) == (5.8, "Attorney", "2026-01-15")
    assert low.notes == ("limit 5.8 pH by the site file, stricter than the ordinance's 5.5 pH",)
    assert (slug.factor, slug.duration_us, len(slug.notes)) == (4.0, 600_000_000, 2)
    assert rate.limit == pytest.approx(50 * 15.850323, rel=1e-7)
    assert _rule(site, "lv-ph-high").notes == ()


def test_excursions_are_off_until_a_site_switches_them_on(tmp_path: Path) -> None:
    """Off, they are named as unbound; on, they count minutes outside the range, a permit's own if narrower."""
    off = _site(tmp_path, "")
    assert {"us-ph-excursion-total", "us-ph-excursion-single"} <= set(off.unbound_rules)
    on = _site(
        tmp_path,
        '[rules."us-ph-excursion-total"]\nenabled = true\ninside = ["6.5 pH", "8.5 pH"]\nlimit = "4 h"\n'
        '[rules."us-ph-excursion-single"]\nenabled = true\n',
    )
    total, single = (_rule(on, f"us-ph-excursion-{which}") for which in ("total", "single"))
    assert (total.window, total.limit, total.unit, total.inside) == ("month", 240.0, "min", Span(6.5, 8.5))
    assert (single.window, single.limit, single.unit, single.inside) == ("excursion", 60.0, "min", Span(6.0, 9.0))
    assert total.to_unit.is_identity
    assert len(total.notes) == 2


def test_computed_baselines_and_what_stands_beside_them(tmp_path: Path) -> None:
    """Mode, floor, freezing and days reach the baseline; the number declared beside it is kept and not in force."""
    site = _site(
        tmp_path,
        '[baselines.flow]\nmode = "operating"\nvalue = "10 gpm"\nfloor = "2880 gpd"\nmin_days = 10\n'
        'approved_by = "S"\napproved_on = 2015-01-01\n'
        '[baselines.cond]\nmode = "literal-24h"\nfloor = "100 uS/cm"\nfrozen = false\n'
        'approved_by = "S"\napproved_on = 2015-01-01\n',
    )
    flow, cond = site.baselines["flow"], site.baselines["cond"]
    assert (flow.mode, flow.value, flow.unit, flow.frozen, flow.min_days) == ("operating", 10.0, "gpm", True, 10)
    assert flow.floor == pytest.approx(2.0, rel=1e-12)
    assert (cond.mode, cond.value, cond.unit, cond.frozen, cond.min_days) == ("literal-24h", None, "mS/cm", False, 7)
    assert cond.floor == pytest.approx(0.1, rel=1e-12)
    rule = _rule(site, "lv-slug-flow")
    assert isinstance(rule.baseline, Baseline)
    assert (rule.baseline.value, rule.baseline.unit) == (None, "gpm")
    assert rule.baseline.floor == pytest.approx(2.0, rel=1e-12)


def test_each_choice_of_a_baseline_has_a_hash_of_its_own(tmp_path: Path) -> None:
    """Floor, freezing and days are part of what was signed: changing one gives another hash."""
    plain = '[baselines.flow]\nmode = "operating"\nfloor = "2 gpm"\napproved_by = "S"\napproved_on = 2015-01-01\n'
    texts = [plain, plain.replace("2 gpm", "3 gpm"), plain + "frozen = false\n", plain + "min_days = 8\n"]
    assert len({_site(tmp_path, text).baselines["flow"].hash for text in texts}) == 4


def test_the_towns_flow_the_laboratory_and_full_scale(tmp_path: Path) -> None:
    """Town flow in gallons a day with its source, what a less-than counts for, and full scale in the channel's unit."""
    site = _site(
        tmp_path,
        '[town_flow]\nvalue = "0.2 MGD"\nsource = "annual report"\ndate = 2015-01-31\n'
        '[laboratory]\nnondetect = "zero"\n',
    )
    assert site.town_flow == TownFlow(pytest.approx(200_000.0, rel=1e-12), "annual report", "2015-01-31")
    assert site.nondetect == "zero"
    assert site.channels["flow"].full_scale == pytest.approx(100 / 15.850323, rel=1e-7)
    bare = _site(tmp_path, "")
    assert (bare.town_flow, bare.nondetect, bare.channels["ph"].full_scale) == (None, "half", None)


def test_what_the_law_leaves_open_is_carried_with_the_site(tmp_path: Path) -> None:
    """Reports find every note of the site's packs, each with its pack."""
    assert {note.pack for note in _site(tmp_path, "").law_notes} == {"little-valley", "marlborough", "us-federal"}
