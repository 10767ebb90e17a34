"""Ordinance packs: every number the towns' rules are judged by, typed from the laws and not from the packs."""

import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gateway.config_files import read_toml
from gateway.problems import Problems
from gateway.rules.pack import Pack, bind, parse_pack
from gateway.shipped import names, shipped
from gateway.site import Baseline, Channel, Rule

# rule, clause, quantity, comparison, limit, unit, factor, kind, strictly longer, where, why
RULES: list[tuple[str, str, str, str, float | None, str, float | None, str, bool | None, str, str]] = [
    ("lv-ph-low", "§ 194-6C(7)", "pH", "<", 5.5, "pH", None, "limit", None, "manhole", "lower than 5.5"),
    ("lv-ph-high", "§ 194-6C(12)", "pH", ">", 9.5, "pH", None, "limit", None, "manhole", "in excess of 9.5"),
    ("lv-temperature", "§ 194-6C(4)", "temperature", ">", 150, "degF", None, "limit", None, "manhole", "above 150 F"),
    ("lv-influent-temperature", "§ 194-6C(4)", "temperature", ">", 40, "degC", None, "limit", None, "influent",
     "40 C, not the misprinted 140 F"),
    ("lv-slug-concentration", "§ 194-6C(13)(d)", "conductivity", ">", None, "", 5, "slug", True, "manhole",
     "five times the user's own average, longer than 15 min"),
    ("lv-slug-flow", "§ 194-6C(13)(d)", "flow", ">", None, "gpm", 5, "slug", True, "manhole", "the same of flow"),
    ("mb-ph-low", "§ 118-37.A item 8", "pH", "<", 6.0, "pH", None, "limit", None, "manhole", "6.0 is allowed"),
    ("mb-ph-high", "§ 118-37.A item 8", "pH", ">", 9.0, "pH", None, "limit", None, "manhole", "9.0 is allowed"),
    ("mb-temperature", "§ 118-37.A item 1", "temperature", ">", 150, "degF", None, "limit", None, "manhole", "150 F"),
    ("mb-influent-temperature", "§ 118-37.A item 1", "temperature", ">", 40, "degC", None, "limit", None, "influent",
     "above 40 C"),
    ("mb-slug-tss", "§ 118-37.A item 10", "tss", ">", 5 * (180 + 350) / 2, "mg/L", None, "slug", False, "manhole",
     "five times the middle of normal sewage"),
    ("mb-slug-bod", "§ 118-37.A item 10", "bod", ">", 5 * (140 + 300) / 2, "mg/L", None, "slug", False, "manhole",
     "five times the middle of normal sewage"),
    ("mb-flow-rate", "§ 118-37.A item 10", "flow", ">", 1000, "gpm", None, "slug", False, "manhole", "1,000 gpm"),
    ("us-ph-low", "40 CFR 403.5(b)(2)", "pH", "<", 5.0, "pH", None, "limit", None, "manhole", "never below 5.0"),
    ("us-influent-temperature", "40 CFR 403.5(b)(5)", "temperature", ">", 40, "degC", None, "limit", None, "influent",
     "never above 40 C at the works"),
]  # fmt: skip

SUBSTANCES = 20  # rows of the table of toxic limits that both laws share; Marlborough adds one for saline water
PENDING = {
    "little-valley": {"lv-fog", "lv-significant-industry"},
    "marlborough": {"mb-fog", "mb-review-bod", "mb-review-tss", "mb-review-chlorine-demand", "mb-review-flow-share"},
    "us-federal": {"us-ph-excursion-total", "us-ph-excursion-single"},
}


def _pack(name: str) -> Pack:
    source = read_toml(shipped("ordinances", name))
    problems = Problems(source.name, source.lines)
    pack = parse_pack(source.content, problems)
    assert (problems.errors, problems.warnings) == ([], [])
    return pack


def _channel(name: str, quantity: str, unit: str, uncertainty: float | None = None) -> Channel:
    return Channel(name, quantity, unit, 15_000_000, 37_500_000, 37_500_000, uncertainty=uncertainty)


@pytest.mark.parametrize("row", RULES, ids=[row[0] for row in RULES])
def test_every_rule_carries_the_numbers_of_its_clause(row: tuple[Any, ...]) -> None:
    """Clause, comparison, limit, unit, factor, duration and strictness of each rule are those of the law."""
    rule_id, clause, quantity, comparison, limit, unit, factor, kind, strict, place, why = row
    rule = next(r for name in names("ordinances") for r in _pack(name).rules if r.id == rule_id)
    assert (rule.clause, rule.comparison, rule.kind, rule.place) == (clause, comparison, kind, place), why
    assert (rule.limit, rule.unit, rule.factor) == (limit, unit, factor), why
    assert quantity in rule.quantities
    assert rule.confirm == 3
    assert rule.severity.name == "HIGH"
    assert rule.tell == ("superintendent",)
    assert rule.reading
    assert rule.text
    if kind == "slug":
        assert (rule.duration_us, rule.strict_duration) == (15 * 60 * 10**6, strict), why
        assert rule.prealarms_us == (5 * 60 * 10**6, 10 * 60 * 10**6)
        assert (rule.bridge_gap_us, rule.bridge_dip_us) == (5 * 60 * 10**6, 60 * 10**6)
    else:
        assert (rule.duration_us, rule.prealarms_us) == (0, ())


def test_the_packs_hold_these_rules_and_no_other() -> None:
    """No rule of the packs is missing from the table above, and none has been added unseen."""
    assert sorted(r.id for name in names("ordinances") for r in _pack(name).rules) == sorted(row[0] for row in RULES)


@pytest.mark.parametrize("name", sorted(PENDING))
def test_what_is_not_judged_is_named(name: str) -> None:
    """Provisions that this version cannot judge stand in the pack by name, one for each substance and average."""
    pending = {p.id for p in _pack(name).pending}
    toxic = {rule for rule in pending if "-tox-" in rule}
    assert pending - toxic == PENDING[name]
    rows = {"little-valley": SUBSTANCES, "marlborough": SUBSTANCES + 1, "us-federal": 0}[name]
    for average in ("24h", "30d"):
        assert len([rule for rule in toxic if rule.endswith(average)]) == rows


@pytest.mark.parametrize("name", sorted(PENDING))
def test_a_slug_never_judges_a_logarithm_or_a_height(name: str) -> None:
    """Five times a pH, an ORP, a temperature or a level means nothing, so no slug rule takes one."""
    for rule in _pack(name).rules:
        if rule.kind == "slug":
            assert not {"pH", "orp", "temperature", "level"} & set(rule.quantities)


def test_no_sentence_of_the_law_is_copied() -> None:
    """The packs paraphrase: no run of eight words of either law stands in what they say of a rule."""
    laws = Path(__file__).resolve().parents[3] / "shared" / "laws"
    if not laws.is_dir():
        pytest.skip("the texts of the laws are not here: ../shared/laws")
    text = " ".join(_words(path.read_text(encoding="utf-8")) for path in laws.glob("*.txt"))
    for name in names("ordinances"):
        rules = _pack(name).rules
        words = _words(" / ".join(f"{r.title} / {r.text} / {r.reading} / {r.action}" for r in rules)).split()
        copied = [run for i in range(len(words) - 7) if (run := " ".join(words[i : i + 8])) in text]
        assert copied == []


def _words(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def _bound(pack: Pack, *channels: Channel, baselines: dict[str, Baseline] | None = None, **places: str) -> list[Rule]:
    return list(bind({pack.id: pack}, {c.name: c for c in channels}, places, baselines or {}).rules)


def test_one_channel_gives_the_plain_alarm_and_two_give_their_names() -> None:
    """An alarm is named by its rule, and by rule and channel where the rule judges several channels."""
    pack = _pack("little-valley")
    conductivity, tss = _channel("cond", "conductivity", "uS/cm"), _channel("tss", "tss", "mg/L")
    assert [r.alarm for r in _bound(pack, conductivity)] == ["lv-slug-concentration"]
    both = _bound(pack, conductivity, tss)
    assert [r.alarm for r in both] == ["lv-slug-concentration.cond", "lv-slug-concentration.tss"]
    assert [r.surrogate for r in both] == [True, False]
    assert [r.unit for r in both] == ["uS/cm", "mg/L"]


def test_a_channel_is_judged_in_the_unit_of_the_clause() -> None:
    """Temperature in degC is judged in degF, its uncertainty as a difference, a baseline in the rule's unit."""
    pack = _pack("little-valley")
    (temperature,) = _bound(pack, _channel("t", "temperature", "degC", uncertainty=0.5))
    assert (temperature.unit, temperature.limit, temperature.uncertainty) == ("degF", 150.0, 0.9)
    assert temperature.to_unit(65.55) < 150 < temperature.to_unit(65.56)
    declared = Baseline("q", "q", "declared", 14_400.0, "gpd", "S", "2015-01-01", "h")
    (flow,) = _bound(pack, _channel("q", "flow", "L/s"), baselines={"q": declared})
    assert flow.baseline is not None
    assert (flow.baseline.value, flow.baseline.unit) == (pytest.approx(10.0, rel=1e-12), "gpm")


def test_a_thermometer_at_the_works_feeds_only_the_influent_rule() -> None:
    """The limit of the manhole is not applied at the treatment works, nor the other way round; elsewhere feeds none."""
    pack = _pack("marlborough")
    thermometer = _channel("t", "temperature", "degC")
    assert [r.id for r in _bound(pack, thermometer, t="influent")] == ["mb-influent-temperature"]
    assert [r.id for r in _bound(pack, thermometer)] == ["mb-temperature"]
    assert _bound(pack, thermometer, t="elsewhere") == []


def test_the_hash_follows_the_content_and_not_the_layout() -> None:
    """Comments and order of keys leave a pack's hash alone; one changed number does not."""
    text = shipped("ordinances", "us-federal").read_text(encoding="utf-8")
    plain = parse_pack(tomllib.loads(text), Problems("p", {})).hash
    reordered = text.replace('id = "us-ph-low"\n', "", 1).replace(
        'kind = "limit"', 'kind = "limit"\nid = "us-ph-low"', 1
    )
    assert parse_pack(tomllib.loads("# a comment\n" + reordered), Problems("p", {})).hash == plain
    assert parse_pack(tomllib.loads(text.replace("5.0 pH", "5.1 pH")), Problems("p", {})).hash != plain


def test_dates_gate_only_when_a_day_is_given() -> None:
    """A rule not yet in force is unbound on a day before, and bound in a replay, which has no day."""
    text = (
        shipped("ordinances", "us-federal")
        .read_text(encoding="utf-8")
        .replace('version = "1"', 'version = "1"\neffective = 2026-07-01')
    )
    pack = parse_pack(tomllib.loads(text), Problems("p", {}))
    channels = {"ph": _channel("ph", "pH", "pH")}
    early = bind({"p": pack}, channels, {}, {}, date(2026, 6, 30))
    assert early.rules == ()
    assert early.unbound["us-ph-low"] == "in force only from 2026-07-01"
    assert [r.id for r in bind({"p": pack}, channels, {}, {}, date(2026, 7, 1)).rules] == ["us-ph-low"]
    assert [r.id for r in bind({"p": pack}, channels, {}, {}).rules] == ["us-ph-low"]
