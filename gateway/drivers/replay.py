"""The body of `replay`: a recorded series through the gateway's own pipeline, as fast as it goes.

stdout is JSON Lines ordered by time: the proven events of the rules, then one summary. Nothing is printed until the
whole file has been read, so a malformed one leaves nothing half-done. No port, secret or certificate is opened.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

from gateway.drivers.recorded import ColumnMap, RecordedSeries
from gateway.errors import InputError
from gateway.isotime import iso_utc
from gateway.model import Finding, Instant, Verdict
from gateway.pipeline import Pipeline
from gateway.rules.notice import is_review
from gateway.rules.violation_days import runs_of, violation_days, windows_of
from gateway.rules.window_rule import WindowRule
from gateway.signals.seconds import CHANNEL_CLASSES
from gateway.site import Conversion, Site

__all__ = ["as_recorded", "finding_line", "replay", "run_replay"]


def run_replay(
    site: Site, data: Path, out: TextIO, *, mapping: ColumnMap | None = None, time_zone: str | None = None
) -> int:
    """Replay `data` against `site` and print JSON Lines. Returns 0; InputError for a file that cannot be read."""
    lines = replay(site, RecordedSeries(data, site.channels, mapping, time_zone))
    for line in lines:
        out.write(json.dumps(line, ensure_ascii=False, allow_nan=False, separators=(",", ":")))
        out.write("\n")
    return 0


def replay(site: Site, series: RecordedSeries) -> list[dict[str, Any]]:
    """The events of a recorded series in order of time, the summary last."""
    site = as_recorded(site, series.units)
    findings: list[Finding] = []
    pipeline: Pipeline | None = None
    first = last = Instant(0, 0)
    rows = samples = 0
    for row in series.rows():
        at = row.at
        if pipeline is None:
            pipeline = Pipeline(site, at, measured=series.channels)
            first = last = at
        rows += 1
        samples += len(row.samples)
        if at.mono_us > last.mono_us:
            last = at
        findings.extend(pipeline.process(row.samples, at).findings)
    if pipeline is None:
        raise InputError(f"{series.path}: no data rows")
    events = [finding_line(finding) for finding in findings]
    summary = {**_summary(pipeline, first, last), "violation_days": _violation_days(pipeline, findings, last)}
    counts = {"rows": rows, "duplicate_stamps": series.duplicates, "backward_steps": series.backward_steps}
    return [*events, {"event": "summary", **_period(first, last), "samples": samples, **counts, **summary}]


def as_recorded(site: Site, units: Mapping[str, Conversion]) -> Site:
    """The site as a recorded series feeds it: numbers come in the file's unit, already calibrated."""
    channels = {
        name: replace(channel, conversion=units[name], diagnosed=replace(channel.diagnosed, loop=False))
        if name in units
        else channel
        for name, channel in site.channels.items()
    }
    return replace(site, channels=channels)


def finding_line(finding: Finding) -> dict[str, Any]:
    """One event of a rule as `replay` prints it: times in UTC, durations in seconds."""
    return {
        "event": finding.event.value,
        "rule": finding.rule,
        "clause": finding.clause,
        "channel": finding.channel,
        "verdict": finding.verdict.value,
        "since": iso_utc(finding.since.utc_us),
        "at": iso_utc(finding.at.utc_us),
        "duration_s": finding.duration_us / 1e6,
        "observed": finding.observed,
        "limit": finding.limit,
        "baseline": finding.baseline,
        "extreme": finding.extreme,
        "unit": finding.unit,
        "reason": finding.reason,
    }


def _period(first: Instant, last: Instant) -> dict[str, str]:
    return {"from": iso_utc(first.utc_us), "to": iso_utc(first.utc_us + last.mono_us - first.mono_us)}


def _summary(pipeline: Pipeline, first: Instant, last: Instant) -> dict[str, Any]:
    """What is open, and where the time of every channel and rule went."""
    period_us = last.mono_us - first.mono_us
    channels = []
    for name, spent_us in pipeline.channel_seconds(last).items():
        _must_sum(name, spent_us, period_us)
        channels.append({"channel": name, **{f"{kind}_s": _seconds(spent_us[kind]) for kind in CHANNEL_CLASSES}})
    rules, still_open = [], []
    for rule in pipeline.rules:
        by_verdict = rule.seconds.report(last.mono_us)
        _must_sum(rule.rule.id, by_verdict, period_us)
        spent = {f"{verdict.value}_s": _seconds(by_verdict[verdict]) for verdict in _VERDICTS}
        rules.append({"rule": rule.rule.id, "channel": rule.channel, **spent})
        run = rule.open_since()
        if run is not None:
            still_open.append(
                {
                    "rule": rule.rule.id,
                    "clause": rule.rule.clause,
                    "channel": rule.channel,
                    "since": iso_utc(run.since.utc_us),
                    "duration_s": run.duration_us / 1e6,
                    "extreme": run.extreme,
                    "unit": rule.rule.unit,
                }
            )
    return {"open": still_open, "channels": channels, "rules": rules}


def _violation_days(pipeline: Pipeline, findings: Iterable[Finding], last: Instant) -> list[dict[str, Any]]:
    """On how many local days each rule on each channel was violated, and on which; a rule without any is not listed."""
    by_rule: dict[tuple[str, str], list[Finding]] = {}
    for finding in findings:
        by_rule.setdefault((finding.rule, finding.channel), []).append(finding)
    zone, lines = pipeline.accounts.zone, []
    for judge in pipeline.rules:
        mine = by_rule.get((judge.rule.id, judge.channel))
        if mine is None or is_review(judge.rule):
            continue
        if isinstance(judge, WindowRule):
            events = windows_of(mine, zone, overlapping=judge.overlapping, until_us=last.utc_us)
        else:
            run = judge.open_since()
            events = runs_of(mine, None if run is None else run.since.utc_us + run.duration_us)
        dates = [day.isoformat() for day in violation_days(events, zone).dates]
        if dates:
            lines.append(
                {
                    "rule": judge.rule.id,
                    "clause": judge.rule.clause,
                    "channel": judge.channel,
                    "days": len(dates),
                    "dates": dates[:_DATES_SHOWN],
                    "left_out": len(dates[_DATES_SHOWN:]),
                }
            )
    return lines


_DATES_SHOWN = 31
_VERDICTS = (Verdict.EXCEEDED, Verdict.SUSPECTED, Verdict.COMPLIANT, Verdict.NO_DISCHARGE, Verdict.NOT_EVALUABLE)


def _must_sum(what: str, spent_us: Mapping[Any, int], period_us: int) -> None:
    """The books must balance before anyone is shown them."""
    total_us = sum(spent_us.values())
    if total_us != period_us:
        raise AssertionError(f"{what}: {total_us} us accounted for in a period of {period_us} us")


def _seconds(duration_us: int) -> int | float:
    return duration_us // 1_000_000 if duration_us % 1_000_000 == 0 else duration_us / 1e6
