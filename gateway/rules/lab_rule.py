"""One rule that is judged from laboratory results: its windows, and what results in a window say (docs/judging.md 7.4).

A window has a key: `result:ID` (a limit is judged result by result), `composite:ID` and `grabs:DATE` (a day's
average), `30-day:DATE` (the trailing 30 local days that end with a sampled day), `month:YYYY-MM`. A judgement is a
pure function of the results on record, so the order in which they came never matters.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta, tzinfo
from fractions import Fraction
from typing import Any

from gateway.model import LabResult, SampleType, Verdict
from gateway.rules.lab_mean import (
    NONDETECTS,
    Estimate,
    Mean,
    day_of,
    day_results,
    estimate,
    is_grab_analyte,
    mean_of_days,
    mean_of_results,
    verdict_of,
)
from gateway.rules.lab_result import exact, number_text, said_result
from gateway.rules.notice import is_control_trigger
from gateway.rules.snc import beyond_trc
from gateway.rules.terms import Terms
from gateway.site import Rule

__all__ = ["Judgement", "LabRule"]

_TRAILING_DAYS = 30
_BEYOND = {">": "above", ">=": "at or above", "<": "below", "<=": "at or below"}
_COMPOSITE_US = (20 * 3_600_000_000, 28 * 3_600_000_000)  # what still passes for 24 h; outside it is flagged
_COARSE = "detection limit above the limit"
_UNSPECIFIED = "averaging period unspecified in law"
_IS_UNSPECIFIED = re.compile(r"averaging period (is )?unspecified in law", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Judgement:
    """What the results of one window say. `results` are (id, version); `observed` is in the rule's unit, exact.

    `technical` is whether it reaches limit x TRC, None when nobody can tell. `suspended`: a waiver wants it recorded
    and nobody called. `last_day` is the window's last local day.
    """

    verdict: Verdict
    observed: Fraction | None
    limit: float | None
    source: str
    reason: str
    start_utc_us: int
    stop_utc_us: int
    last_day: date
    results: tuple[tuple[str, int], ...]
    technical: bool | None
    suspended: bool
    context: Mapping[str, Any]

    def body(self) -> dict[str, Any]:
        """JSON-able; `from_body` is its inverse."""
        return {
            "verdict": self.verdict.value,
            "observed": None if self.observed is None else str(self.observed),
            "limit": self.limit,
            "source": self.source,
            "reason": self.reason,
            "start_utc_us": self.start_utc_us,
            "stop_utc_us": self.stop_utc_us,
            "last_day": self.last_day.isoformat(),
            "results": [list(one) for one in self.results],
            "technical": self.technical,
            "suspended": self.suspended,
            "context": dict(self.context),
        }

    @classmethod
    def from_body(cls, body: Mapping[str, Any]) -> "Judgement":
        """The judgement as it was stored."""
        return cls(
            **{
                **body,
                "verdict": Verdict(body["verdict"]),
                "observed": None if body["observed"] is None else Fraction(body["observed"]),
                "last_day": date.fromisoformat(body["last_day"]),
                "results": tuple((one, version) for one, version in body["results"]),
            }
        )


class LabRule:
    """Judges the laboratory results of one analyte against one rule. Holds no results; every call is pure.

    `nondetect` is `zero`, `half` or `limit`. `volume_gal` gives the discharge of a local day, None when unknown.
    ValueError for a rule that means nothing for a laboratory.
    """

    def __init__(
        self,
        rule: Rule,
        zone: tzinfo,
        nondetect: str = "half",
        volume_gal: Callable[[date], float | None] | None = None,
    ) -> None:
        if rule.limit is None:
            raise ValueError(f"rule {rule.id}: a laboratory result needs a limit to be judged against")
        if nondetect not in NONDETECTS:
            raise ValueError(f"a non-detect counts as {', '.join(NONDETECTS)}, not as {nondetect!r}")
        if rule.kind not in ("limit", "average") or (rule.kind == "average" and rule.window not in _WINDOWS):
            raise ValueError(
                f"rule {rule.id}: a laboratory result cannot be judged by {rule.kind} {rule.window}".rstrip()
            )
        if rule.kind == "average" and rule.quantity.lower() == "ph":
            raise ValueError(f"rule {rule.id}: pH is a logarithm and its results have no plain mean")
        self.rule = rule
        self.form = rule.window if rule.kind == "average" else "result"
        self.zone = zone
        self._nondetect = nondetect
        self._volume_gal = volume_gal
        self._terms = Terms(rule)
        self._unspecified = _IS_UNSPECIFIED.search(f"{rule.text} {rule.reading}") is not None

    def day(self, result: LabResult) -> date:
        """The local day a result stands for."""
        return day_of(result, self.zone)

    def key(self, result: LabResult) -> str:
        """The window that a result belongs to, or that its day ends."""
        if self.form == "result":
            return f"result:{result.id}"
        if self.form == "day":
            grab = result.sample_type is SampleType.GRAB
            return f"grabs:{self.day(result)}" if grab else f"composite:{result.id}"
        return f"30-day:{self.day(result)}" if self.form == "30-day" else f"month:{self.day(result):%Y-%m}"

    def judge(self, key: str, by_day: Mapping[date, Sequence[LabResult]], today: date) -> Judgement | None:
        """What the results on record (by local day) say of a window; None when it holds none of them.

        `today` is the local day now: a calendar month is not judged compliant before it is over.
        """
        kind, _, name = key.partition(":")
        if kind in ("result", "composite"):
            for day, results in by_day.items():
                for result in results:
                    if result.id == name and self.key(result) == key:
                        return self._judge_day([result], results, day)
            return None
        if kind == "grabs":
            day = date.fromisoformat(name)
            every = by_day.get(day, ())
            grabs = [result for result in every if result.sample_type is SampleType.GRAB]
            return self._judge_day(grabs, every, day) if grabs else None
        last = date.fromisoformat(name) if kind == "30-day" else _month_end(name)
        first = last - timedelta(days=_TRAILING_DAYS - 1) if kind == "30-day" else last.replace(day=1)
        dates = (first + timedelta(days=n) for n in range((last - first).days + 1))
        days = {day: by_day[day] for day in dates if by_day.get(day)}
        if not days or (kind == "30-day" and last not in days):
            return None
        waiting = []
        if kind == "30-day" and (lead := (last - min(day for day, r in by_day.items() if r)).days + 1) < _TRAILING_DAYS:
            waiting.append(f"day {lead} of the first {_TRAILING_DAYS}")
        if kind == "month" and today <= last:
            waiting.append("the month is not over")
        return self._judge_days(days, last, waiting)

    def _judge_day(self, results: Sequence[LabResult], of_day: Sequence[LabResult], day: date) -> Judgement:
        """One result, or the grabs of one local day."""
        ordered = sorted(results, key=lambda result: (result.start_utc_us, result.id))
        one = mean_of_results([self._estimate(result) for result in ordered])
        weighting = "composite" if ordered[0].sample_type is SampleType.COMPOSITE else "arithmetic"
        beside = self.form == "day" and ordered[0] not in day_results(of_day, self.rule.quantity)
        if beside:
            other = "a composite is" if weighting == "arithmetic" else "grabs are"
            reason = f"{other} this day's average; kept beside it"
            aside = self._judgement(ordered, Mean(one, len(ordered), weighting), day, Verdict.NOT_EVALUABLE, reason)
            return replace(aside, context={**aside.context, "beside": True})
        return self._judgement(ordered, Mean(one, len(ordered), weighting), day)

    def _judge_days(self, days: Mapping[date, Sequence[LabResult]], last: date, waiting: list[str]) -> Judgement:
        """A mean of daily averages; provisional, and so never compliant, while it lacks days."""
        used: list[LabResult] = []
        averages: list[tuple[date, Estimate]] = []
        for day, of_day in days.items():
            results = day_results(of_day, self.rule.quantity)
            used.extend(results)
            averages.append((day, mean_of_results([self._estimate(result) for result in results])))
        mean = mean_of_days(averages, self._volume_gal)
        if not mean.n:
            reason = "nothing was discharged on the sampled days"
            return self._judgement(used, mean, last, Verdict.NOT_EVALUABLE, reason)
        if mean.n < self.rule.min_days:
            waiting.insert(0, f"{mean.n} of at least {self.rule.min_days} discharge days have results")
        return self._judgement(used, mean, last, waiting=waiting)

    def _estimate(self, result: LabResult) -> Estimate:
        return estimate(result, self.rule.unit, self._nondetect)

    def _judgement(
        self,
        results: Sequence[LabResult],
        mean: Mean,
        day: date,
        verdict: Verdict | None = None,
        reason: str = "",
        waiting: Sequence[str] = (),
    ) -> Judgement:
        rule, one = self.rule, mean.estimate
        # A composite ends before its stop: one from midnight to midnight lies on one day alone.
        ended_us = max(max(result.start_utc_us, result.stop_utc_us - 1) for result in results)
        ruling = self._terms.ruling(ended_us)
        limit, source = ruling.limit(rule.limit)
        technical: bool | None = None
        number = said_result(results[0]) if one.all_below and len(results) == 1 else None
        shown = number or f"{number_text(one.counted)} {rule.unit}"
        if verdict is None and limit is not None:
            verdict = verdict_of(one, exact(limit), rule.comparison)
            if verdict is not Verdict.NOT_EVALUABLE:
                value = one.low if one.coarse_from > exact(limit) else one.counted
                technical = not one.all_below and beyond_trc(value, limit, rule.comparison, rule.trc)
            reason = self._reason(verdict, f"{self._what(results, mean)} {shown}", limit)
            if waiting:
                verdict = Verdict.SUSPECTED if verdict is Verdict.EXCEEDED else Verdict.NOT_EVALUABLE
                reason = f"PROVISIONAL({mean.n}): {'; '.join(waiting)}; so far {reason}"
            if ruling.suspended:
                reason = f"{reason}; suspended by {source}"
        return Judgement(
            verdict=verdict or Verdict.NOT_EVALUABLE,
            observed=None if number is not None or not mean.n else one.counted,
            limit=limit,
            source=source,
            reason=reason,
            start_utc_us=min(result.start_utc_us for result in results),
            stop_utc_us=max(result.stop_utc_us for result in results),
            last_day=day,
            results=tuple((result.id, result.version) for result in results),
            technical=technical,
            suspended=ruling.suspended,
            context=self._context(results, mean),
        )

    def _what(self, results: Sequence[LabResult], mean: Mean) -> str:
        if self.form == "30-day":
            return f"{self.rule.quantity} 30-day average (n={mean.n})"
        if self.form == "month":
            return f"{self.rule.quantity} average of the month (n={mean.n})"
        if len(results) > 1:
            return f"{self.rule.quantity} mean of {len(results)} grabs"
        return f"{self.rule.quantity} {results[0].sample_type}"

    def _reason(self, verdict: Verdict, said: str, limit: float) -> str:
        rule = self.rule
        threshold = f"{number_text(limit)} {rule.unit}"
        if verdict is Verdict.NOT_EVALUABLE:
            return f"{_COARSE}: {said} against {threshold}"
        if verdict is Verdict.COMPLIANT:
            reason = f"{said}, not {_BEYOND[rule.comparison]} {threshold}"
        else:
            reason = f"{said}, {_BEYOND[rule.comparison]} {threshold}"
            if is_control_trigger(rule):
                reason = f"control trigger: {reason}"
            elif rule.advisory:
                reason = f"review trigger: {reason}"
        return f"{reason}; {_UNSPECIFIED}" if self._unspecified else reason

    def _context(self, results: Sequence[LabResult], mean: Mean) -> dict[str, Any]:
        one = mean.estimate
        flags = sorted({flag for result in results for flag in self._flags(result)})
        if mean.idle_days:
            flags.append(f"{mean.idle_days} sampled days without discharge left out")
        if self._unspecified:
            flags.append(_UNSPECIFIED)
        context: dict[str, Any] = {
            "method": _joined(result.method for result in results),
            "laboratory": _joined(result.laboratory for result in results),
            "sample_type": _joined(result.sample_type.value for result in results),
            "results": [{"id": result.id, "version": result.version} for result in results],
            "n": mean.n,
            "weighting": mean.weighting,
            "nondetects": one.nondetects,
        }
        if one.nondetects and len(results) > 1:
            context["nondetect_counts_as"] = self._nondetect
            context["between"] = [float(one.low), float(one.high)]
        if flags:
            context["flags"] = flags
        return context

    def _flags(self, result: LabResult) -> list[str]:
        grab = result.sample_type is SampleType.GRAB
        if is_grab_analyte(self.rule.quantity):
            return [] if grab else [f"a composite, where {self.rule.quantity} is taken by grab (40 CFR 403.12(g)(3))"]
        if self.form == "result":
            return []
        if grab:
            return ["a grab, where the rule is a 24-h average"]
        hours = (result.stop_utc_us - result.start_utc_us) / 3.6e9
        short, long = _COMPOSITE_US
        return (
            [] if short <= hours * 3.6e9 <= long else [f"a composite over {number_text(round(hours, 2))} h, not 24 h"]
        )


_WINDOWS = ("day", "30-day", "month")


def _month_end(name: str) -> date:
    first = date.fromisoformat(f"{name}-01")
    return (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)


def _joined(words: Any) -> str:
    return "; ".join(sorted(set(words)))
