"""The clocks that an exceedance starts: who must hear what, by when, and from which source the duty comes.

Every term runs in UTC from the moment of becoming aware. The rules are stated as data; a duty of another jurisdiction
(New York's overflow notices) is one more row.
"""

from dataclasses import dataclass

from gateway.model import Finding, FindingEvent, Verdict
from gateway.site import Rule

__all__ = ["NEW_YORK_OVERFLOW", "Clock", "Notice", "due", "is_control_trigger", "is_review", "run"]

_HOUR_US = 3_600_000_000
_DAY_US = 24 * _HOUR_US


@dataclass(frozen=True, slots=True)
class Clock:
    """A duty and the time it leaves, from the moment of becoming aware."""

    kind: str
    after_us: int
    source: str
    text: str


@dataclass(frozen=True, slots=True)
class Notice:
    """One duty with its deadline in UTC."""

    kind: str
    due_utc_us: int
    source: str
    text: str


# Exceedances of a numeric limit, found by one's own sampling or monitoring.
_SAMPLED = (
    Clock("notify", 24 * _HOUR_US, "40 CFR 403.12(g)(2)", "tell the POTW of the violation within 24 hours"),
    Clock(
        "resample",
        30 * _DAY_US,
        "40 CFR 403.12(g)(2)",
        "repeat sampling and analysis and submit the results within 30 days (not needed where the POTW samples at"
        " least monthly, or sampled in between)",
    ),
)

# Discharges that could cause problems at the works: slugs, and what federal law prohibits outright.
_HARMFUL = (
    Clock("telephone", 0, "40 CFR 403.12(f)", "tell the POTW at once, by telephone; a recorded message may not count"),
    Clock(
        "slug_report",
        5 * _DAY_US,
        "40 CFR 403.12(f), as local codes word it",
        "submit a written report within 5 days: cause, period, and what prevents it from happening again",
    ),
)

# New York ECL 17-0826-a and DEC's own words on it: untreated or partly treated sewage that escapes. Not started by a
# finding of a limit, but by the discovery of an overflow.
NEW_YORK_OVERFLOW = (
    Clock(
        "overflow_agencies",
        2 * _HOUR_US,
        "NY ECL 17-0826-a",
        "report the discharge to DEC and the local health department within 2 hours of discovery",
    ),
    Clock(
        "overflow_public",
        4 * _HOUR_US,
        "NY ECL 17-0826-a",
        "tell the public and the neighbouring municipalities within 4 hours of discovery",
    ),
    Clock(
        "overflow_report",
        5 * _DAY_US,
        "NYS DEC sewage discharge reporting",
        "submit the written report within 5 days: volume and treated state, date and time, expected duration, steps"
        " taken, location, reason",
    ),
)


def is_control_trigger(rule: Rule) -> bool:
    """Whether the law answers an excess with control of the establishment, as the pack words it (Marlborough 118-37.B).

    Such a limit is a limit: it starts the clocks of one, and its pack says how loud it is.
    """
    return "control trigger" in f"{rule.title} {rule.text} {rule.action}".lower()


def is_review(rule: Rule) -> bool:
    """Whether passing the value only calls for a review: told as a notice, and no violation."""
    return rule.advisory and not is_control_trigger(rule)


def run(clocks: tuple[Clock, ...], aware_utc_us: int) -> tuple[Notice, ...]:
    """Start clocks at the moment of becoming aware; the earliest deadline first."""
    notices = [Notice(c.kind, aware_utc_us + c.after_us, c.source, c.text) for c in clocks]
    return tuple(sorted(notices, key=lambda notice: notice.due_utc_us))


def due(finding: Finding, rule: Rule | None = None, aware_utc_us: int | None = None) -> tuple[Notice, ...]:
    """The duties that a finding starts, earliest deadline first: only the first proof of an exceedance starts any.

    `rule` says whether it is a slug, a federal prohibition or a mere review trigger; without it only the general
    clocks run. The moment of becoming aware is the finding's own (`finding.at`) unless given. A window that exceeded
    before and exceeds again after a correction or another result starts no second clock. Under a waiver or agreement
    that suspends the rule nothing is violated and nothing is due (docs/judging.md 8.1).
    """
    if finding.event is not FindingEvent.RAISED or finding.verdict is not Verdict.EXCEEDED:
        return ()
    if finding.context.get("suspended") or (rule is not None and is_review(rule)):
        return ()
    was = finding.context.get("was")
    if was is not None and was["verdict"] == Verdict.EXCEEDED.value and not was.get("suspended"):
        return ()
    harmful = rule is not None and (
        rule.kind == "slug" or (rule.jurisdiction == "federal" and rule.kind == "limit" and not rule.laboratory)
    )
    clocks = _HARMFUL + _SAMPLED if harmful else _SAMPLED
    return run(clocks, finding.at.utc_us if aware_utc_us is None else aware_utc_us)
