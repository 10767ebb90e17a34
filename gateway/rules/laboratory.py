"""Every laboratory result of one site, and what the rules say of them: judged as results come, in whatever order.

A correction is a new version of a result: it supersedes the older ones and the windows it touches are judged again.
Results are few (a person enters each), so all of them stay, with every version.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import date, timedelta, tzinfo
from typing import Any

from gateway.model import Condition, Finding, FindingEvent, Instant, LabResult, Severity, Verdict
from gateway.rules.lab_mean import day_of
from gateway.rules.lab_result import in_unit, mistakes, result_body, result_from
from gateway.rules.lab_rule import Judgement, LabRule
from gateway.rules.local_day import local_date
from gateway.rules.notice import is_review
from gateway.rules.snc import Measurement, Origin
from gateway.site import Rule
from gateway.spelling import did_you_mean

__all__ = ["LabRule", "Laboratory"]

_RESULT = "lab:result:"
_JUDGED = "lab:judged:"
_TODAY = "lab:today"
_REACH = timedelta(days=29)  # a result bears on the trailing averages of its own day and of the 29 after it
_EVENTS = {
    Verdict.EXCEEDED: FindingEvent.RAISED,
    Verdict.SUSPECTED: FindingEvent.SUSPECTED,
    Verdict.COMPLIANT: FindingEvent.CLEARED,
    Verdict.NOT_EVALUABLE: FindingEvent.NOT_EVALUABLE,
}
_LOUD = (Verdict.EXCEEDED, Verdict.SUSPECTED)
_Newest = dict[date, dict[str, LabResult]]  # by local day and id


class Laboratory:
    """Takes laboratory results and judges the windows they touch. Single-threaded; time comes with the results.

    Of `rules` those with `laboratory` count. `nondetect` is the site's (`zero`, `half`, `limit`); `volume_gal` gives a
    local day's discharge, None when unknown; `hashes` what names configuration and pack in a finding. ValueError for a
    rule that means nothing for a laboratory.
    """

    def __init__(
        self,
        rules: Iterable[Rule],
        zone: tzinfo,
        nondetect: str = "half",
        volume_gal: Callable[[date], float | None] | None = None,
        hashes: Callable[[Rule], Mapping[str, str]] = lambda rule: {"pack": rule.pack_hash},
    ) -> None:
        self._zone = zone
        self._hashes = hashes
        self._rules: dict[str, list[LabRule]] = {}
        self._alarms: dict[str, LabRule] = {}
        for rule in rules:
            if rule.laboratory:
                judge = LabRule(rule, zone, nondetect, volume_gal)
                self._rules.setdefault(rule.quantity, []).append(judge)
                self._alarms[rule.alarm] = judge
        self._arguments = ([judge.rule for judge in self._alarms.values()], zone, nondetect, volume_gal, hashes)
        self._versions: dict[str, dict[int, LabResult]] = {}
        self._newest: dict[str, _Newest] = {}  # by analyte
        self._judged: dict[str, dict[str, Judgement]] = {alarm: {} for alarm in self._alarms}
        self._today: date | None = None
        self._changes: dict[str, Any] = {}

    @property
    def results(self) -> tuple[LabResult, ...]:
        """The newest version of every result, by time of sampling."""
        newest = (versions[max(versions)] for versions in self._versions.values())
        return tuple(sorted(newest, key=lambda result: (result.start_utc_us, result.id)))

    def holds(self, result: LabResult) -> bool:
        """Whether this very version is on record already."""
        return self._versions.get(result.id, {}).get(result.version) == result

    def standing(self, result: LabResult) -> list[tuple[Rule, str, Judgement]]:
        """What each rule says of the window a result lies in, with the window's key."""
        found = []
        for judge in self._rules.get(result.analyte, ()):
            key = judge.key(result)
            judgement = self._judged[judge.rule.alarm].get(key)
            if judgement is not None:
                found.append((judge.rule, key, judgement))
        return found

    def words(self, result: LabResult) -> str:
        """What becomes of a result, in words: judged, superseded, or recorded alone because no rule judges it."""
        newest = max(self._versions.get(result.id, {result.version: result}))
        if newest > result.version:
            return f"recorded; version {newest} is newer and is the one judged"
        rules = self._rules.get(result.analyte)
        if not rules:
            hint = did_you_mean(result.analyte, self._rules)
            return f"recorded; no rule of this site judges {result.analyte!r}{hint}"
        return "judged by " + ", ".join(judge.rule.alarm for judge in rules)

    def add(self, result: LabResult, now: Instant) -> list[Finding]:
        """Take one result. Returns what it changed; ValueError, with nothing done, when it cannot be one."""
        return self.add_all((result,), now)

    def add_all(self, results: Iterable[LabResult], now: Instant) -> list[Finding]:
        """Take several results as one: all or, with a ValueError, none. Every window is judged once, at the end.

        An exceedance is RAISED, a window judged compliant CLEARED; `was` in a finding's context is what was said of the
        window before. Findings come in order of the end of their windows.
        """
        versions = self._checked(results, now)
        findings = self.tick(now)
        touched: dict[str, set[date]] = {}
        keys: dict[str, set[str]] = {alarm: set() for alarm in self._alarms}
        first = {analyte: min(days, default=None) for analyte, days in self._newest.items()}
        corrected: dict[str, int] = {}
        for name, known in versions.items():
            before = self._versions.get(name, {})
            old, new = before[max(before)] if before else None, known[max(known)]
            if known != before:
                self._versions[name] = known
                self._changes[_RESULT + name] = _bodies(known)
            if old == new:
                continue
            if old is not None:
                corrected[name] = new.version
                self._place(old, touched, keys, remove=True)
            self._place(new, touched, keys)
        for analyte, days in touched.items():
            for judge in self._rules.get(analyte, ()):
                wanted = keys[judge.rule.alarm] | self._reached(judge, analyte, days, first.get(analyte))
                findings.extend(self._rejudge(judge, wanted, corrected, now))
        return sorted(findings, key=lambda finding: finding.since.utc_us + finding.duration_us)

    def preview(self, results: Iterable[LabResult], now: Instant) -> list[Finding]:
        """What `add_all` would find, with nothing taken."""
        trial = Laboratory(*self._arguments)
        trial.restore(self.state())
        return trial.add_all(results, now)

    def tick(self, now: Instant) -> list[Finding]:
        """Judge again what the end of a local day has settled: months that are over, days whose volume is now known."""
        today = local_date(now.utc_us, self._zone)
        before = self._today
        if before == today:
            return []
        self._today = today
        self._changes[_TODAY] = today.isoformat()
        findings: list[Finding] = []
        for alarm, judge in self._alarms.items():
            if judge.form in ("30-day", "month") and before is not None:
                over = {key for key, one in self._judged[alarm].items() if before <= one.last_day < today}
                findings.extend(self._rejudge(judge, over, {}, now))
        return findings

    def conditions(self, findings: Iterable[Finding]) -> list[Condition]:
        """For the alarm engine, in order: every exceedance found, then what each rule's newest window says.

        So a late result that exceeded is told even when a newer one is back within the limit.
        """
        by_finding = {(judge.rule.id, judge.rule.channel): judge.rule for judge in self._alarms.values()}
        conditions, alarms = [], dict[str, None]()
        for finding in findings:
            rule = by_finding[finding.rule, finding.channel]
            alarms[rule.alarm] = None
            if finding.verdict in _LOUD and not finding.context.get("suspended"):
                severity = _severity(rule, finding.verdict)
                conditions.append(Condition(rule.alarm, True, severity, finding.reason, None, finding))
        return conditions + [self.condition(alarm) for alarm in alarms]

    def condition(self, alarm: str) -> Condition:
        """What the newest window of a rule says; LookupError for an alarm that is not the laboratory's."""
        rule = self._alarms[alarm].rule
        judged = self._judged[alarm]
        if not judged:
            return Condition(alarm, None, Severity.NOTICE, "no laboratory result")
        newest = max(judged.items(), key=lambda item: (item[1].last_day, not _is_open(item[1]), item[1].stop_utc_us))[1]
        if newest.suspended:
            return Condition(alarm, False, Severity.NOTICE, newest.reason)
        if newest.verdict in _LOUD:
            return Condition(alarm, True, _severity(rule, newest.verdict), newest.reason)
        if newest.verdict is Verdict.NOT_EVALUABLE:
            return Condition(alarm, None, Severity.NOTICE, newest.reason)
        return Condition(alarm, False, Severity.NOTICE, newest.reason, _margin(rule, newest))

    def measurements(self, alarm: str) -> tuple[Measurement, ...]:
        """For significant noncompliance: one per result or daily average, oldest first; means of days count none."""
        if self._alarms[alarm].form not in ("result", "day"):
            return ()
        every = sorted(self._judged[alarm].items(), key=lambda item: (item[1].last_day, item[0]))
        return tuple(
            Measurement(
                one.last_day,
                Origin.LABORATORY,
                None if one.verdict is Verdict.NOT_EVALUABLE else one.verdict is Verdict.EXCEEDED,
                one.technical,
            )
            for _, one in every
            if not (one.suspended or one.context.get("beside"))
        )

    def verdicts(self) -> dict[tuple[str, str], tuple[Verdict, str | None]]:
        """Verdict and observed value (an exact fraction) of every window, by alarm and key."""
        return {
            (alarm, key): (one.verdict, None if one.observed is None else str(one.observed))
            for alarm, judged in self._judged.items()
            for key, one in sorted(judged.items())
        }

    def state(self) -> dict[str, Any]:
        """Everything, as durable state by key; JSON-able."""
        state: dict[str, Any] = {_RESULT + name: _bodies(known) for name, known in self._versions.items()}
        for alarm, judged in self._judged.items():
            state |= {_key(alarm, key): one.body() for key, one in judged.items()}
        if self._today is not None:
            state[_TODAY] = self._today.isoformat()
        return state

    def changes(self) -> dict[str, Any]:
        """The state keys that changed since this was last asked; None removes a key."""
        changes, self._changes = self._changes, {}
        return changes

    def restore(self, state: Mapping[str, Any]) -> None:
        """Bring everything back into an empty laboratory; keys of others are ignored, rules that are gone forgotten."""
        for key, value in state.items():
            if key.startswith(_RESULT):
                known = {body["version"]: result_from(body) for body in value}
                self._versions[key.removeprefix(_RESULT)] = known
                self._place(known[max(known)], {}, {})
            elif key.startswith(_JUDGED):
                alarm, _, window = key.removeprefix(_JUDGED).partition("|")
                if alarm in self._judged:
                    self._judged[alarm][window] = Judgement.from_body(value)
                else:
                    self._changes[key] = None
            elif key == _TODAY:
                self._today = date.fromisoformat(value)

    def _checked(self, results: Iterable[LabResult], now: Instant) -> dict[str, dict[int, LabResult]]:
        """The versions of every id as they will stand, or a ValueError that says which result is no good."""
        versions: dict[str, dict[int, LabResult]] = {}
        for result in results:
            name = f"result {result.id}"
            if found := mistakes(result):
                raise ValueError(f"{name}: " + "; ".join(f"{field} {words}" for field, words in found))
            if now.synced and result.stop_utc_us > now.utc_us:
                raise ValueError(f"{name}: its sampling ends in the future")
            for judge in self._rules.get(result.analyte, ()):
                try:
                    in_unit(0.0, result.unit, judge.rule.unit)
                except ValueError as error:
                    raise ValueError(f"{name}: {error} (rule {judge.rule.id})") from error
            known = versions.setdefault(result.id, dict(self._versions.get(result.id, {})))
            if known.get(result.version, result) != result:
                raise ValueError(
                    f"{name}: version {result.version} is on record with other content; a correction is entered as"
                    f" version {max(known) + 1}"
                )
            known[result.version] = result
        return versions

    def _place(
        self, result: LabResult, touched: dict[str, set[date]], keys: dict[str, set[str]], *, remove: bool = False
    ) -> None:
        """Put a newest version into its local day, or take it out, and note what that touches."""
        day = day_of(result, self._zone)
        days = self._newest.setdefault(result.analyte, {})
        if remove:
            del days[day][result.id]
            if not days[day]:
                del days[day]
        else:
            days.setdefault(day, {})[result.id] = result
        touched.setdefault(result.analyte, set()).add(day)
        for judge in self._rules.get(result.analyte, ()):
            keys.setdefault(judge.rule.alarm, set()).add(judge.key(result))

    def _reached(self, judge: LabRule, analyte: str, touched: set[date], first: date | None) -> set[str]:
        """The keys of the other windows on which a change on these days bears."""
        days = self._newest[analyte]
        if judge.form == "day":
            return {judge.key(one) for day in touched for one in days.get(day, {}).values()}
        if judge.form != "30-day":
            return set()
        earliest = min(days, default=None)
        origins = set(touched)
        if first != earliest:  # how long the record goes back decides what is provisional
            origins |= {day for day in (first, earliest) if day is not None}
        return {f"30-day:{day}" for day in days if any(origin <= day <= origin + _REACH for origin in origins)}

    def _rejudge(self, judge: LabRule, keys: set[str], corrected: Mapping[str, int], now: Instant) -> list[Finding]:
        """Judge windows again; a finding for each whose judgement is another one now."""
        rule = judge.rule
        judged = self._judged[rule.alarm]
        days = {
            day: list(results.values())
            for day, results in self._newest.get(rule.quantity, {}).items()
            if day.isoformat() >= rule.effective  # the law judges nothing from before its day
        }
        today = local_date(now.utc_us, self._zone)
        findings = []
        for key in sorted(keys):
            was, one = judged.get(key), judge.judge(key, days, today)
            shown = one or was
            if one == was or shown is None:
                continue
            if one is None:
                del judged[key]
            else:
                judged[key] = one
            self._changes[_key(rule.alarm, key)] = None if one is None else one.body()
            findings.append(self._finding(rule, key, shown, one, was, corrected, now))
        return findings

    def _finding(
        self,
        rule: Rule,
        key: str,
        shown: Judgement,
        one: Judgement | None,
        was: Judgement | None,
        corrected: Mapping[str, int],
        now: Instant,
    ) -> Finding:
        involved = dict.fromkeys(name for j in (was, one) if j is not None for name, _ in j.results)
        versions = [f"version {corrected[name]} of {name}" for name in involved if name in corrected]
        reason = shown.reason if one is not None else "no result is left in this window"
        verdict = Verdict.NOT_EVALUABLE if one is None else one.verdict
        event = _EVENTS[verdict]
        if one is None and was is not None and was.verdict in _LOUD:
            event = FindingEvent.CLEARED
        context = {**shown.context, "window": key, "day": shown.last_day.isoformat()}
        if versions:
            reason = f"corrected: {', '.join(versions)}; {reason}"
        if was is not None:
            observed = None if was.observed is None else float(was.observed)
            context["was"] = {"verdict": was.verdict.value, "observed": observed}
            if was.suspended:
                context["was"]["suspended"] = True
        if shown.suspended:
            context["suspended"] = True
        return Finding(
            event=event,
            rule=rule.id,
            clause=rule.clause,
            channel=rule.channel,
            verdict=verdict,
            since=Instant(shown.start_utc_us, now.mono_us - (now.utc_us - shown.start_utc_us), now.synced),
            at=now,
            duration_us=shown.stop_utc_us - shown.start_utc_us,
            reason=reason,
            unit=rule.unit,
            observed=None if one is None or one.observed is None else float(one.observed),
            limit=shown.limit,
            hashes=self._hashes(rule),
            source=shown.source,
            context=context,
        )


def _bodies(versions: Mapping[int, LabResult]) -> list[dict[str, Any]]:
    return [result_body(versions[version]) for version in sorted(versions)]


def _key(alarm: str, window: str) -> str:
    return f"{_JUDGED}{alarm}|{window}"


def _is_open(one: Judgement) -> bool:
    return one.verdict is Verdict.NOT_EVALUABLE


def _severity(rule: Rule, verdict: Verdict) -> Severity:
    if is_review(rule):
        return Severity.NOTICE
    return min(Severity.WARNING, rule.severity) if verdict is Verdict.SUSPECTED else rule.severity


def _margin(rule: Rule, one: Judgement) -> float | None:
    if one.observed is None or one.limit is None:
        return None
    inside = one.limit - float(one.observed)
    return inside if rule.comparison.startswith(">") else -inside
