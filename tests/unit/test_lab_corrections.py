"""Corrections and restarts of the laboratory's record: a new version supersedes, nothing is changed."""

from dataclasses import replace
from datetime import date

import pytest

from gateway.model import FindingEvent, SampleType, Verdict
from gateway.rules.lab_result import result_body, result_from
from tests.support.lab_site import fog, grab, laboratory, local, now, result, rule, toxic


def test_a_correction_supersedes_and_says_so() -> None:
    """Version 2 of a result makes its window compliant, and the finding names the correction and what was said."""
    lab = laboratory(rule())
    lab.add(result(1.8), now())
    (finding,) = lab.add(result(1.5, version=2), now())
    assert (finding.event, finding.verdict, finding.observed) == (FindingEvent.CLEARED, Verdict.COMPLIANT, 1.5)
    assert finding.reason == "corrected: version 2 of R0; copper composite 1.5 mg/L, not above 1.6 mg/L"
    assert finding.context["was"] == {"verdict": "exceeded", "observed": 1.8}
    assert finding.context["results"] == [{"id": "R0", "version": 2}]


def test_a_correction_reaches_every_window_it_touches() -> None:
    """A wrong day in the middle is judged again in its own window and in each trailing average that holds it."""
    lab = laboratory(toxic("copper"), toxic("copper", "30-day"))
    lab.add_all([result(80.0 if day == 2 else 0.5, day) for day in range(40)], now())
    findings = lab.add(result(0.5, 2, version=2), now())
    windows = [f.context["window"] for f in findings]
    assert windows[0] == "composite:R2" or windows[1] == "composite:R2"
    assert sorted(w for w in windows if w.startswith("30-day")) == [
        f"30-day:{date.fromordinal(date(2026, 1, 5).toordinal() + day)}" for day in range(2, 32)
    ]
    assert all(f.reason.startswith("corrected: version 2 of R2; ") for f in findings)


def test_a_correction_of_the_remark_is_on_record_too() -> None:
    """The verdict stays, and the finding names the version that it now rests on."""
    lab = laboratory(rule())
    lab.add(result(1.8), now())
    (finding,) = lab.add(result(1.8, version=2, remark="holding time met"), now())
    assert (finding.verdict, finding.context["was"]["verdict"]) == (Verdict.EXCEEDED, "exceeded")


def test_a_result_moved_to_another_day_leaves_its_window() -> None:
    """The exceedance of the wrong day is cleared without being called compliant, and the right day exceeds."""
    lab = laboratory(fog("mb"))
    lab.add(grab(60.0, 1, id="G"), now())
    findings = lab.add(grab(60.0, 4, id="G", version=2), now())
    told = [(f.context["window"], f.event, f.verdict) for f in findings]
    assert told == [
        ("grabs:2026-01-06", FindingEvent.CLEARED, Verdict.NOT_EVALUABLE),
        ("grabs:2026-01-09", FindingEvent.RAISED, Verdict.EXCEEDED),
    ]
    assert findings[0].reason == "corrected: version 2 of G; no result is left in this window"


def test_a_result_moved_to_another_analyte_leaves_the_first() -> None:
    """What was entered as copper and is zinc stands under zinc alone."""
    lab = laboratory(toxic("copper"), toxic("zinc"))
    lab.add(result(2.5), now())
    lab.add(result(2.5, analyte="zinc", version=2), now())
    assert list(lab.verdicts()) == [("lv-tox-zinc-24h", "composite:R0")]


def test_a_change_of_sample_type_changes_the_window() -> None:
    """A composite that was a grab is a window of its own, and the old one is gone."""
    lab = laboratory(rule())
    lab.add(result(1.0), now())
    lab.add(grab(1.0, id="R0", analyte="copper", version=2), now())
    assert [key for _, key in lab.verdicts()] == ["grabs:2026-01-05"]


def test_an_older_version_that_comes_late_is_kept_and_judges_nothing() -> None:
    """Version 1 after version 2: no finding, and words that say which version counts."""
    lab = laboratory(rule())
    lab.add(result(1.0, version=2), now())
    late = result(9.0, version=1)
    assert lab.add(late, now()) == []
    assert lab.words(late) == "recorded; version 2 is newer and is the one judged"
    assert lab.holds(late)


def test_the_same_result_twice_is_one() -> None:
    """Entering a version again with the same content changes nothing; with other content it is refused."""
    lab = laboratory(rule())
    lab.add(result(1.0), now())
    lab.changes()
    assert lab.add(result(1.0), now()) == []
    assert lab.changes() == {}
    with pytest.raises(
        ValueError, match="version 1 is on record with other content; a correction is entered as version 2"
    ):
        lab.add(result(1.1), now())
    with pytest.raises(ValueError, match="other content"):
        lab.add_all([result(1.0, 3), result(2.0, 3)], now())
    assert len(lab.results) == 1


def test_a_preview_takes_nothing() -> None:
    """The findings of a trial are those of the entry, and the record is as it was."""
    lab = laboratory(rule(), toxic("copper", "30-day"))
    lab.add(result(1.0), now())
    before = lab.state()
    trial = lab.preview([result(1.8, 1)], now())
    assert lab.state() == before
    assert lab.add(result(1.8, 1), now()) == trial


def test_the_start_of_the_record_may_move() -> None:
    """An earlier result makes a short record a full one; taking it away again makes it short again."""
    lab = laboratory(toxic("copper", "30-day", min_days=1))
    key = ("lv-tox-copper-30d", "30-day:2026-02-10")
    lab.add(result(0.5, date(2026, 2, 10), id="A"), now())
    lab.add(result(0.5, date(2026, 2, 9), id="B"), now())
    assert lab.verdicts()[key][0] is Verdict.NOT_EVALUABLE
    lab.add(result(0.5, date(2026, 1, 5), id="C"), now())
    assert lab.verdicts()[key][0] is Verdict.COMPLIANT
    lab.add(result(0.5, date(2026, 1, 5), id="C", version=2, analyte="zinc"), now())
    assert lab.verdicts()[key][0] is Verdict.NOT_EVALUABLE


def test_a_restart_brings_everything_back() -> None:
    """A laboratory restored from its state, or from its changes alone, goes on as if it had never stopped."""
    rules = (toxic("copper"), toxic("copper", "30-day"), rule(window="month", limit=0.8, min_days=2))
    lab = laboratory(*rules)
    kept = {"rule:lv-ph-low": {"other": 1}}
    for day in range(12):
        lab.add(result(1.7 if day == 4 else "<0.005", day), now(20))
        kept |= lab.changes()
    kept = {key: value for key, value in kept.items() if value is not None}
    assert {key: value for key, value in kept.items() if key.startswith("lab:")} == lab.state()
    again = laboratory(*rules)
    again.restore(kept)
    assert again.state() == lab.state()
    assert again.add(result(0.1, 4, version=2), now(20)) == lab.add(result(0.1, 4, version=2), now(20))
    assert again.tick(now(60)) == lab.tick(now(60))
    assert again.state() == lab.state()


def test_a_rule_that_is_gone_takes_its_judgements_along() -> None:
    """The results stay, and the state of the old rule's windows is asked to be removed."""
    lab = laboratory(rule())
    lab.add(result(1.0), now())
    bare = laboratory()
    bare.restore(lab.state())
    assert bare.results == lab.results
    assert bare.changes() == {"lab:judged:lv-tox-copper-24h|composite:R0": None}


def test_a_result_travels_as_json() -> None:
    """The JSON of a result becomes the same result again, whole numbers included."""
    for one in (result(1.61, remark="x"), result("<0.005"), grab(70.0)):
        assert result_from(result_body(one)) == one
    assert result_from({**result_body(result()), "value": 2}).value == 2.0


# What a request may carry instead of a result.
BODIES = [
    ({"id": None}, "id must be a text"),
    ({"colour": 1}, "unknown field 'colour'"),
    ({"version": True}, "version must be a whole number"),
    ({"start_utc_us": 1.5}, "start_utc_us must be a whole number"),
    ({"value": "1"}, "value must be a number"),
    ({"value": 10**400}, "value must be a number"),
    ({"value": float("inf")}, "value is not a finite number"),
    ({"sample_type": []}, "sample_type is none of grab, composite"),
    ({"sample_type": "bucket"}, "sample_type is none of grab, composite"),
]


@pytest.mark.parametrize(("changes", "words"), BODIES)
def test_a_request_that_holds_no_result(changes: dict, words: str) -> None:
    """Whatever comes over the socket in place of a result is refused with the field that is wrong."""
    with pytest.raises(ValueError, match=words):
        result_from(result_body(result()) | changes)
    with pytest.raises(ValueError, match="version is missing"):
        result_from({key: value for key, value in result_body(result()).items() if key != "version"})
    with pytest.raises(ValueError, match="JSON object"):
        result_from([])  # type: ignore[arg-type]  # that is the point


def test_a_grab_and_its_day_end_with_daylight_saving() -> None:
    """On the day with 25 hours a grab at 23:30 still belongs to that day's mean."""
    lab = laboratory(fog("mb"))
    fall_back = date(2025, 11, 2)
    late = grab(40.0, fall_back, id="late")
    late = replace(late, start_utc_us=local(fall_back, 23.5), stop_utc_us=local(fall_back, 23.5))
    findings = lab.add_all([grab(60.0, fall_back, 0.25), late], now())
    assert [(f.context["window"], f.observed) for f in findings] == [("grabs:2025-11-02", 50.0)]
    assert late.sample_type is SampleType.GRAB
