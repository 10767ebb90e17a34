"""The laboratory rules of the packs that are shipped, bound by the example sites and judged for real."""

from fractions import Fraction
from zoneinfo import ZoneInfo

import pytest

from gateway.config import load
from gateway.model import SampleType, Verdict
from gateway.rules.laboratory import Laboratory
from gateway.site import Site
from tests.conftest import ROOT
from tests.support.lab_site import TOXIC, grab, now, result

EXAMPLES = {"lv": "little-valley", "mb": "marlborough"}


@pytest.fixture(scope="module")
def sites() -> dict[str, Site]:
    """Both example sites."""
    return {
        town: load(ROOT / "config" / "examples" / f"{name}.toml", for_replay=True) for town, name in EXAMPLES.items()
    }


def laboratory_of(site: Site) -> Laboratory:
    """The laboratory a gateway of this site has."""
    return Laboratory(site.rules, ZoneInfo(site.time_zone), site.nondetect)


def verdicts(site: Site, analyte: str, value: float, *, kind: SampleType = SampleType.COMPOSITE) -> dict[str, Verdict]:
    """What each rule of the site says of one result, the means of days left out."""
    one = (grab if kind is SampleType.GRAB else result)(value, analyte=analyte)
    findings = laboratory_of(site).add(one, now())
    return {f.rule: f.verdict for f in findings if not f.context["window"].startswith(("30-day", "month"))}


@pytest.mark.parametrize("town", EXAMPLES)
@pytest.mark.parametrize("substance", TOXIC)
def test_toxic_limits_of_the_packs(sites: dict[str, Site], substance: str, town: str) -> None:
    """Every row of both printed tables: the limit is compliant and a hundredth more exceeds."""
    limit = TOXIC[substance][1]
    more = float(Fraction(repr(limit)) + Fraction(1, 100))
    at, over = verdicts(sites[town], substance, limit), verdicts(sites[town], substance, more)
    strict = [rule for rule in at if at[rule] is Verdict.COMPLIANT and over[rule] is Verdict.EXCEEDED]
    assert len(strict) == 1, (at, over)
    assert strict[0].startswith(f"{town}-tox-")
    thirty = [rule for rule in sites[town].rules if rule.laboratory and rule.quantity == substance]
    assert TOXIC[substance][0] in [rule.limit for rule in thirty if rule.window == "30-day"]


def test_saline_fluoride_is_marlborough_alone(sites: dict[str, Site]) -> None:
    """72.0 mg/L is within and 72.01 beyond the row that only one of the towns has."""
    assert [rule for rule in verdicts(sites["lv"], "fluoride", 72.01) if "saline" in rule] == []
    told = {value: verdicts(sites["mb"], "fluoride", value) for value in (72.0, 72.01)}
    assert told[72.0]["mb-tox-fluoride-saline-24h"] is Verdict.COMPLIANT
    assert told[72.01]["mb-tox-fluoride-saline-24h"] is Verdict.EXCEEDED


# Town, analyte, kind of sample, value at the limit, a little more, the rule.
OTHERS = [
    ("lv", "fog", SampleType.GRAB, 100.0, 100.1, "lv-fog"),
    ("mb", "fog", SampleType.GRAB, 50.0, 50.1, "mb-fog"),
    ("mb", "bod", SampleType.COMPOSITE, 300.0, 300.1, "mb-review-bod"),
    ("mb", "tss", SampleType.COMPOSITE, 350.0, 350.1, "mb-review-tss"),
    ("mb", "chlorine-demand", SampleType.COMPOSITE, 15.0, 15.1, "mb-review-chlorine-demand"),
]


@pytest.mark.parametrize(("town", "analyte", "kind", "at", "more", "rule"), OTHERS)
def test_grease_and_reviews_of_the_packs(
    sites: dict[str, Site], town: str, analyte: str, kind: SampleType, at: float, more: float, rule: str
) -> None:
    """Grease of both towns and Marlborough's reviews, each at its limit and a tenth above."""
    assert verdicts(sites[town], analyte, at, kind=kind)[rule] is Verdict.COMPLIANT
    assert verdicts(sites[town], analyte, more, kind=kind)[rule] is Verdict.EXCEEDED


def test_marlborough_words(sites: dict[str, Site]) -> None:
    """Its toxics are control triggers, its reviews review triggers, and grease has no averaging period in law."""
    lab = laboratory_of(sites["mb"])
    (copper,) = [f for f in lab.add(result(1.7), now()) if f.rule == "mb-tox-copper-24h"]
    assert copper.reason.startswith("control trigger: ")
    assert lab.add(result(301.0, 1, analyte="bod"), now())[0].reason.startswith("review trigger: ")
    assert lab.add(grab(60.0), now())[0].reason.endswith("averaging period unspecified in law")
