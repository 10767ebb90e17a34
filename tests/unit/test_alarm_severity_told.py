"""Whoever is to be told of an exceedance is told, whatever severity a town or a site gives the rule."""

from dataclasses import replace
from pathlib import Path

import pytest

from gateway.config import load
from gateway.model import AlarmEdge, Instant, Outcome, Sample, Severity
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.site import Site

S = 1_000_000
START = Instant(1_700_000_000_000_000, 0)
GPM = 0.003785411784 / 60
SLUG = "lv-slug-flow"


def little_valley(tmp_path: Path, extra: str = "") -> Site:
    """The little-valley example, which texts from WARNING on, with more at its end."""
    path = tmp_path / "site.toml"
    example = Path(str(shipped("examples", "little-valley"))).read_text(encoding="utf-8")
    path.write_text(example + extra, encoding="utf-8")
    return load(path, for_replay=True)


def flow(pipeline: Pipeline, seconds: range, gpm: dict[int, float]) -> list[Outcome]:
    """62 gpm every 15 s (the threshold is 50), other values at the seconds given."""
    outcomes = []
    for second in seconds:
        at = Instant(START.utc_us + second * S, second * S)
        value = (gpm.get(second, 62.0) + second % 7 * 0.01) * GPM
        outcomes.append(pipeline.process([Sample("flow", at, (), value)], at))
    return outcomes


@pytest.mark.parametrize("severity", [Severity.NOTICE, Severity.WARNING])
@pytest.mark.parametrize("gpm", [{}, {450: 10.0}], ids=["pre-alarm first", "suspected first"])
def test_a_proof_is_told_after_a_warning_as_loud(tmp_path: Path, severity: Severity, gpm: dict[int, float]) -> None:
    """A rule no louder than its own pre-alarm or suspicion: the exceedance is texted all the same, once, as ongoing."""
    site = little_valley(tmp_path)
    contacts = tuple(replace(contact, from_severity=Severity.NOTICE) for contact in site.contacts)
    rules = tuple(replace(rule, severity=severity) for rule in site.rules)
    pipeline = Pipeline(replace(site, rules=rules, contacts=contacts), START)
    outcomes = flow(pipeline, range(0, 2400, 15), gpm)
    texts = [m.text for o in outcomes for m in o.messages if m.alarm == SLUG]
    assert sum("ONGOING" in text for text in texts) == 1, texts


@pytest.mark.parametrize(("word", "severity"), [("critical", Severity.CRITICAL), ("notice", Severity.NOTICE)])
def test_the_severity_of_the_site_file_is_the_rules(tmp_path: Path, word: str, severity: Severity) -> None:
    """`severity` under [alarms] is what the exceedance is raised with, not an idle key."""
    pipeline = Pipeline(little_valley(tmp_path, f'\n[alarms."{SLUG}"]\nseverity = "{word}"\n'), START)
    events = [e for o in flow(pipeline, range(0, 1200, 15), {}) for e in o.alarm_events if e.alarm == SLUG]
    assert events[-1].severity is severity


def test_the_severity_of_the_site_file_is_the_sensors(tmp_path: Path) -> None:
    """`severity` under [alarms] of a sensor alarm is what it is raised with."""
    pipeline = Pipeline(little_valley(tmp_path, '\n[alarms."sensor-ph"]\nseverity = "high"\n'), START)
    raised = [e for o in flow(pipeline, range(0, 600, 15), {}) for e in o.alarm_events if e.alarm == "sensor-ph"]
    assert [(e.edge, e.severity) for e in raised] == [(AlarmEdge.RAISED, Severity.HIGH)]
