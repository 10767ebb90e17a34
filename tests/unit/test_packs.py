"""Ordinance packs: every number the towns' rules are judged by, typed from the laws and not from the packs."""

import tomllib
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from gateway.config_files import read_toml
from gateway.problems import Problems
from gateway.rules.pack import Pack, parse_pack
from gateway.rules.pack_bind import bind
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

# The printed table of toxic limits: row, quantity of the result, 30-day average, 24-hour average, in mg/L.
TOXIC: list[tuple[str, str, float, float]] = [
    ("cadmium", "cadmium", 0.4, 0.8),
    ("hex-chromium", "hex-chromium", 0.2, 0.4),
    ("total-chromium", "total-chromium", 4.0, 8.0),
    ("copper", "copper", 0.8, 1.6),
    ("lead", "lead", 0.2, 0.4),
    ("mercury", "mercury", 0.2, 0.4),
    ("nickel", "nickel", 4.0, 8.0),
    ("zinc", "zinc", 1.2, 2.4),
    ("arsenic", "arsenic", 0.2, 0.4),
    ("available-chlorine", "chlorine", 50.0, 50.0),
    ("cyanide-free", "cyanide-free", 0.4, 0.8),
    ("cyanide-complex", "cyanide-complex", 1.6, 3.2),
    ("selenium", "selenium", 0.2, 0.4),
    ("sulfide", "sulfide", 6.0, 12.0),
    ("barium", "barium", 4.0, 8.0),
    ("manganese", "manganese", 4.0, 8.0),
    ("gold", "gold", 0.2, 0.4),
    ("silver", "silver", 0.2, 0.4),
    ("fluoride-fresh", "fluoride", 4.0, 8.0),
    ("phenol", "phenol", 4.0, 8.0),
]
SALINE = ("fluoride-saline", "fluoride", 36.0, 72.0)  # Marlborough's alone
TOWNS = {"lv": ("little-valley", TOXIC, False), "mb": ("marlborough", [*TOXIC, SALINE], True)}

# rule, clause, kind, window, quantity, sources, limit, unit, trc, advisory, severity, told, why
OTHERS: list[tuple[str, str, str, str, str, tuple[str, ...], float, str, float | None, bool, str, str, str]] = [
    ("lv-fog", "§ 194-6C(5)", "limit", "", "fog", ("laboratory",), 100, "mg/L", 1.4, False, "HIGH", "superintendent",
     "in excess of 100, no averaging time"),
    ("lv-significant-industry", "definition of significant industry", "volume", "day", "flow", ("sensor",), 25_000,
     "gal", None, True, "NOTICE", "superintendent", "more than 25,000 gallons a day; a classification"),
    ("mb-fog", "§ 118-37.A item 3", "average", "day", "fog", ("laboratory",), 50, "ppm", 1.4, False, "HIGH",
     "superintendent", "an average above 50"),
    ("mb-review-bod", "§ 118-39", "average", "day", "bod", ("sensor", "laboratory"), 300, "ppm", 1.4, True, "NOTICE",
     "town-engineer", "greater than 300"),
    ("mb-review-tss", "§ 118-39", "average", "day", "tss", ("sensor", "laboratory"), 350, "ppm", 1.4, True, "NOTICE",
     "town-engineer", "more than 350"),
    ("mb-review-chlorine-demand", "§ 118-39", "average", "day", "chlorine-demand", ("laboratory",), 15, "ppm", 1.2,
     True, "NOTICE", "town-engineer", "more than 15"),
    ("mb-review-flow-share", "§ 118-39", "share", "30-day", "flow", ("sensor",), 2, "%", None, True, "NOTICE",
     "town-engineer", "greater than 2 % of the town's"),
    ("us-significant-user", "40 CFR 403.3(v)", "volume", "30-day", "flow", ("sensor",), 25_000, "gal", None, True,
     "NOTICE", "superintendent", "an average of 25,000 gallons a day or more; a classification"),
    ("us-ph-excursion-total", "40 CFR 401.17", "excursion", "month", "pH", ("sensor",), 7 * 60 + 26, "min", None, False,
     "HIGH", "superintendent", "7 h 26 min in a calendar month"),
    ("us-ph-excursion-single", "40 CFR 401.17", "excursion", "excursion", "pH", ("sensor",), 60, "min", None, False,
     "HIGH", "superintendent", "60 min at once"),
]  # fmt: skip

# Definitions of slug elsewhere: rule, clause, a quantity, its unit.
SLUGS = [
    ("nh-slug-concentration", "Env-Wq 1202.66", "conductivity", ""),
    ("nh-slug-flow", "Env-Wq 1202.66", "flow", "gpm"),
    ("woodland-slug-concentration", "Sec. 19-2-10", "conductivity", ""),
    ("woodland-slug-quantity", "Sec. 19-2-10", "load", "lb/d"),
    ("woodland-slug-flow", "Sec. 19-2-10", "flow", "gpm"),
]
RULES += [
    (rule, clause, quantity, ">", None, unit, 5, "slug", True, "manhole", "more than five times, longer than 15 min")
    for rule, clause, quantity, unit in SLUGS
]

# What the laws contradict or leave open, in the order in which it was found; a word of the note, in which packs.
OPEN = [
    ("64 °C", ("little-valley",), "150 °F printed as 64 °C here and 65 °C there"),
    ("65 °C", ("little-valley", "marlborough"), "150 °F printed as 65 °C"),
    ("140 °F", ("little-valley", "marlborough"), "140 °F beside 40 °C"),
    ("horsepower", ("little-valley",), "horsepower and slopes agree"),
    ("grams of hydrogen", ("little-valley",), "pH by weight"),
    ("garbled", ("marlborough",), "parts per million gallons"),
    ("Little Valley wants more than fifteen", ("marlborough",), "the two definitions of a slug"),
    ("Marlborough takes fifteen minutes", ("little-valley",), "the two definitions of a slug"),
    ("average of a range", ("marlborough",), "an average of a range"),
    ("Chlorine demand stands", ("marlborough",), "chlorine demand missing from the sentence on slugs"),
    ("Available chlorine", ("little-valley", "marlborough"), "one number for both averages"),
    ("saline water", ("little-valley", "marlborough"), "the saline row that one of them lacks"),
    ("only for tampering", ("little-valley",), "fines for tampering only"),
    ("$500", ("marlborough",), "fines after the time limit"),
    ("§ 194-6D", ("little-valley",), "an excess may be an accepted waste"),
    ("200 feet", ("marlborough",), "200 or 400 feet"),
    ("section 307", ("marlborough",), "until federal limits replace them"),
    ("no time zone", ("little-valley", "marlborough"), "nothing is defined"),
]


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


@pytest.mark.parametrize("town", sorted(TOWNS))
@pytest.mark.parametrize(("average", "window", "column"), [("30d", "30-day", 2), ("24h", "day", 3)])
def test_every_toxic_limit_is_the_printed_one(town: str, average: str, window: str, column: int) -> None:
    """Each row of the printed table is one rule for each average, with its limit, and no row has been added."""
    name, table, advisory = TOWNS[town]
    rules = {r.id: r for r in _pack(name).rules if r.id.startswith(f"{town}-tox-") and r.id.endswith(average)}
    assert set(rules) == {f"{town}-tox-{row[0]}-{average}" for row in table}
    for row in table:
        rule = rules[f"{town}-tox-{row[0]}-{average}"]
        assert (rule.quantities, rule.limit, rule.unit) == ((row[1],), row[column], "mg/L"), row[0]
        assert (rule.kind, rule.window, rule.comparison) == ("average", window, ">")
        assert (rule.sources, rule.coverage, rule.min_days) == (("sensor", "laboratory"), 0.75, 22)
        assert (rule.trc, rule.advisory, rule.severity.name) == (1.2, advisory, "HIGH")
        assert rule.tell == (("town-engineer",) if town == "mb" else ("superintendent",))
        assert rule.title.startswith("Control trigger: ") == (town == "mb")
        assert rule.clause == ("§ 118-37.B" if town == "mb" else "§ 194-6C(8)")
        assert rule.exceptions
        assert rule.reading


@pytest.mark.parametrize("row", OTHERS, ids=[row[0] for row in OTHERS])
def test_every_other_rule_carries_the_numbers_of_its_clause(row: tuple[Any, ...]) -> None:
    """Kind, window, limit, who may show it, who is told and what it counts for are those of the law."""
    rule_id, clause, kind, window, quantity, sources, limit, unit, trc, advisory, severity, told, why = row
    rule = next(r for name in names("ordinances") for r in _pack(name).rules if r.id == rule_id)
    assert (rule.clause, rule.kind, rule.window, rule.quantities) == (clause, kind, window, (quantity,)), why
    comparison = ">=" if "or more" in why else ">"
    assert (rule.comparison, rule.limit, rule.unit, rule.sources) == (comparison, limit, unit, sources), why
    assert (rule.trc, rule.advisory, rule.severity.name, rule.tell) == (trc, advisory, severity, (told,)), why
    assert rule.enabled is not rule.id.startswith("us-ph-excursion"), "excursions are off unless a permit grants them"
    assert rule.reading


def test_the_technical_review_criteria_of_the_other_rules() -> None:
    """1.4 for solids and BOD; none for pH, for temperatures, for flows and for multiples of the user's own average."""
    criteria = {r.id: r.trc for name in names("ordinances") for r in _pack(name).rules}
    assert {rule: criteria[rule] for rule in ("mb-slug-tss", "mb-slug-bod")} == {"mb-slug-tss": 1.4, "mb-slug-bod": 1.4}
    assert {criteria[row[0]] for row in RULES if not row[0].startswith("mb-slug")} == {None}


def test_the_packs_hold_these_rules_and_no_other() -> None:
    """No rule of the packs is missing from the tables above, and none has been added unseen."""
    toxic = [
        f"{town}-tox-{row[0]}-{a}" for town, (_, table, _) in TOWNS.items() for row in table for a in ("24h", "30d")
    ]
    known = [row[0] for row in RULES] + [row[0] for row in OTHERS] + toxic
    assert sorted(r.id for name in names("ordinances") for r in _pack(name).rules) == sorted(known)


def test_fluoride_is_relaxed_where_the_row_carries_the_asterisk() -> None:
    """The factor of 1.5 is on the fresh-water rows alone, for a supply that is not fluoridated."""
    relaxed = {r.id: r.relaxed for name in names("ordinances") for r in _pack(name).rules if r.relaxed is not None}
    assert set(relaxed) == {f"{town}-tox-fluoride-fresh-{a}" for town in ("lv", "mb") for a in ("24h", "30d")}
    assert {(r.factor, tuple(r.when.items())) for r in relaxed.values()} == {(1.5, (("fluoridated", False),))}


@pytest.mark.parametrize(("words", "packs", "what"), OPEN, ids=[row[0] for row in OPEN])
def test_what_the_laws_leave_open_is_told(words: str, packs: tuple[str, ...], what: str) -> None:
    """Every contradiction and gap of the two laws is a note of the packs it bears on."""
    for name in packs:
        assert any(words in note.text + note.clause for note in _pack(name).notes), what


def test_only_the_federal_pack_is_federal() -> None:
    """No waiver can relax the federal pack; the towns' and the state's can be relaxed by who made them."""
    assert {name: _pack(name).jurisdiction for name in names("ordinances")} == {
        "little-valley": "local",
        "marlborough": "local",
        "new-hampshire-env-wq-1202": "state",
        "us-federal": "federal",
        "woodland-ca": "local",
    }


@pytest.mark.parametrize("name", names("ordinances"))
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
        pack = _pack(name)
        texts = [f"{r.title} / {r.text} / {r.reading} / {r.action} / {r.exceptions}" for r in pack.rules]
        texts += [note.text for note in pack.notes] + [option.text for option in pack.options.values()]
        words = _words(" / ".join(texts)).split()
        copied = [run for i in range(len(words) - 7) if (run := " ".join(words[i : i + 8])) in text]
        assert copied == []


def _words(text: str) -> str:
    return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())


def _sensed(rules: list[Rule]) -> list[Rule]:
    return [rule for rule in rules if not rule.laboratory]


def _bound(pack: Pack, *channels: Channel, baselines: dict[str, Baseline] | None = None, **places: str) -> list[Rule]:
    return list(bind({pack.id: pack}, {c.name: c for c in channels}, places, baselines or {}).rules)


def test_one_channel_gives_the_plain_alarm_and_two_give_their_names() -> None:
    """An alarm is named by its rule, and by rule and channel where the rule judges several channels."""
    pack = _pack("little-valley")
    conductivity, tss = _channel("cond", "conductivity", "uS/cm"), _channel("tss", "tss", "mg/L")
    assert [r.alarm for r in _sensed(_bound(pack, conductivity))] == ["lv-slug-concentration"]
    both = _sensed(_bound(pack, conductivity, tss))
    assert [r.alarm for r in both] == ["lv-slug-concentration.cond", "lv-slug-concentration.tss"]
    assert [r.surrogate for r in both] == [True, False]
    assert [r.unit for r in both] == ["uS/cm", "mg/L"]


def test_laboratory_results_need_no_instrument() -> None:
    """A toxic rule binds to the laboratory always, and to a channel too where one measures it; both then say which."""
    pack = _pack("marlborough")
    alone = [r for r in _bound(pack) if r.quantity == "copper"]
    assert [(r.alarm, r.channel, r.laboratory, r.unit) for r in alone] == [
        ("mb-tox-copper-24h", "lab:copper", True, "mg/L"),
        ("mb-tox-copper-30d", "lab:copper", True, "mg/L"),
    ]
    with_probe = [r for r in _bound(pack, _channel("cl", "chlorine", "ug/L")) if r.quantity == "chlorine"]
    assert [(r.alarm, r.channel, r.laboratory) for r in with_probe if r.window == "day"] == [
        ("mb-tox-available-chlorine-24h.cl", "cl", False),
        ("mb-tox-available-chlorine-24h.lab", "lab:chlorine", True),
    ]
    sensed, laboratory = (r for r in with_probe if r.window == "day")
    assert (sensed.unit, sensed.to_unit(50_000.0)) == ("mg/L", 50.0)
    assert laboratory.to_unit.is_identity
    two_probes = _bound(pack, _channel("a", "tss", "mg/L"), _channel("b", "tss", "g/L"))
    assert {r.alarm for r in two_probes if "review" in r.id} == {
        "mb-review-tss.a", "mb-review-tss.b", "mb-review-tss.lab", "mb-review-bod", "mb-review-chlorine-demand",
    }  # fmt: skip


def test_volumes_and_shares_are_fed_by_the_flow() -> None:
    """They count gallons of the flow, whatever its unit; without a flow they judge nothing."""
    for name, rule_id, unit in (
        ("little-valley", "lv-significant-industry", "gal"),
        ("marlborough", "mb-review-flow-share", "%"),
    ):
        (rule,) = [r for r in _bound(_pack(name), _channel("q", "flow", "L/s")) if r.id == rule_id]
        assert (rule.channel, rule.unit, rule.laboratory, rule.advisory) == ("q", unit, False, True)
        assert rule.to_unit(1.0) == pytest.approx(15.850323, rel=1e-7)  # gpm in one L/s
        assert bind({"p": _pack(name)}, {}, {}, {}).unbound[rule_id] == "no channel measures flow"


def test_a_channel_is_judged_in_the_unit_of_the_clause() -> None:
    """Temperature in degC is judged in degF, its uncertainty as a difference, a baseline in the rule's unit."""
    pack = _pack("little-valley")
    (temperature,) = _sensed(_bound(pack, _channel("t", "temperature", "degC", uncertainty=0.5)))
    assert (temperature.unit, temperature.limit, temperature.uncertainty) == ("degF", 150.0, 0.9)
    assert temperature.to_unit(65.55) < 150 < temperature.to_unit(65.56)
    declared = Baseline("q", "q", "declared", 14_400.0, "gpd", "S", "2015-01-01", "h", floor=1440.0)
    flow, _ = _sensed(_bound(pack, _channel("q", "flow", "L/s"), baselines={"q": declared}))
    assert flow.baseline is not None
    assert (flow.baseline.value, flow.baseline.unit) == (pytest.approx(10.0, rel=1e-12), "gpm")
    assert flow.baseline.floor == pytest.approx(1.0, rel=1e-12)


def test_a_number_declared_beside_a_computed_baseline_is_not_in_force() -> None:
    """A rule under a computed baseline is not judged by the number that was declared for comparison."""
    operating = Baseline("q", "q", "operating", 10.0, "gpm", "S", "2015-01-01", "h")
    flow, _ = _sensed(_bound(_pack("little-valley"), _channel("q", "flow", "gpm"), baselines={"q": operating}))
    assert flow.baseline is not None
    assert (flow.baseline.mode, flow.baseline.value) == ("operating", None)


def test_a_thermometer_at_the_works_feeds_only_the_influent_rule() -> None:
    """The limit of the manhole is not applied at the treatment works, nor the other way round; elsewhere feeds none."""
    pack = _pack("marlborough")
    thermometer = _channel("t", "temperature", "degC")
    assert [r.id for r in _sensed(_bound(pack, thermometer, t="influent"))] == ["mb-influent-temperature"]
    assert [r.id for r in _sensed(_bound(pack, thermometer))] == ["mb-temperature"]
    assert _sensed(_bound(pack, thermometer, t="elsewhere")) == []


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
        .replace('version = "3"', 'version = "3"\neffective = 2026-07-01')
    )
    pack = parse_pack(tomllib.loads(text), Problems("p", {}))
    channels = {"ph": _channel("ph", "pH", "pH")}
    early = bind({"p": pack}, channels, {}, {}, date(2026, 6, 30))
    assert early.rules == ()
    assert early.unbound["us-ph-low"] == "in force only from 2026-07-01"
    for today in (date(2026, 7, 1), None):
        (first,) = bind({"p": pack}, channels, {}, {}, today).rules
        assert (first.id, first.effective, first.jurisdiction) == ("us-ph-low", "2026-07-01", "federal")


@pytest.mark.parametrize("rows", ['"copper"', "[]", '["copper"]', "[[]]", '{ row = "copper" }'])
def test_a_table_is_a_list_of_rows(rows: str) -> None:
    """Anything but rows under `each` is told at its line, and no rule comes of it."""
    text = f'[pack]\nid = "p"\nname = "P"\nversion = "1"\n[[rules]]\nid = "p-{{row}}"\neach = {rows}\n'
    problems = Problems("p", {})
    assert parse_pack(tomllib.loads(text), problems).rules == ()
    assert [(p.path, p.text[:24]) for p in problems.errors] == [("rules[0].each", "must be a list of rows, ")]
