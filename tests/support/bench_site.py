"""Small sites and rules built by hand, for tests of the core that need no file."""

from collections.abc import Iterable

from gateway.model import Finding, Instant, Mode, Quality, Reading, Severity
from gateway.rules.limit import LimitRule
from gateway.rules.run import ExceedanceRule
from gateway.rules.slug import SlugRule
from gateway.signals.qc import evidence
from gateway.site import Baseline, Channel, Rule

START = Instant(1_700_000_000_000_000, 0, True)
S = 1_000_000


def at(second: float) -> Instant:
    """A moment so many seconds after the start."""
    return Instant(START.utc_us + int(second * S), int(second * S), True)


def channel(name: str = "flow", *, poll_s: float = 15, hold_s: float = 37.5, **changes: object) -> Channel:
    """A channel polled every 15 s with the usual hold."""
    facts: dict[str, object] = {"name": name, "quantity": "flow", "unit": "gpm", "stale_after_us": int(60 * S)}
    facts |= {"poll_us": int(poll_s * S), "hold_us": int(hold_s * S)} | changes
    return Channel(**facts)  # type: ignore[arg-type]  # facts are typed by their names above


def slug(*, baseline: float | None = 10.0, **changes: object) -> Rule:
    """Little Valley's flow slug: more than 5 x baseline for longer than 15 min."""
    signed = None if baseline is None else Baseline("b", "flow", "declared", baseline, "gpm", "S", "2015-01-01", "h")
    facts: dict[str, object] = {
        "id": "lv-slug-flow", "alarm": "lv-slug-flow", "clause": "c", "title": "flow slug", "text": "", "kind": "slug",
        "channel": "flow", "comparison": ">", "unit": "gpm", "severity": Severity.HIGH, "pack": "p",
        "pack_version": "1", "pack_hash": "ph", "factor": 5.0, "baseline": signed, "duration_us": 900 * S,
        "prealarms_us": (300 * S, 600 * S), "bridge_gap_us": 300 * S, "bridge_dip_us": 60 * S,
    }  # fmt: skip
    return Rule(**(facts | changes))  # type: ignore[arg-type]  # as above


def limit(**changes: object) -> Rule:
    """Little Valley's low pH: below 5.5, confirmed by three samples."""
    facts: dict[str, object] = {
        "id": "lv-ph-low", "alarm": "lv-ph-low", "clause": "c", "title": "pH low", "text": "", "kind": "limit",
        "channel": "ph", "comparison": "<", "unit": "pH", "severity": Severity.HIGH, "pack": "p", "pack_version": "1",
        "pack_hash": "ph", "limit": 5.5, "confirm": 3,
    }  # fmt: skip
    return Rule(**(facts | changes))  # type: ignore[arg-type]  # as above


def judge_of(rule: Rule, spec: Channel) -> ExceedanceRule:
    """The rule at work on a channel."""
    kind = SlugRule if rule.kind == "slug" else LimitRule
    return kind(rule, spec, {}, START)


def reading(name: str, second: float, value: float | None, **changes: object) -> Reading:
    """A good reading, or a missing one when there is no value."""
    facts: dict[str, object] = {"quality": Quality.GOOD, "tests": (), "mode": Mode.RUN, "dry": False} | changes
    if value is None and "quality" not in changes:
        facts |= {"quality": Quality.MISSING, "tests": ("no sample",)}
    return Reading(name, at(second), (), value, **facts)  # type: ignore[arg-type]  # as above


def judge_all(rule: ExceedanceRule, readings: Iterable[Reading]) -> list[Finding]:
    """Every finding of a series of readings, in order."""
    found: list[Finding] = []
    for one in readings:
        found.extend(rule.judge(one, evidence(one), discharging=True))
    return found


def told(findings: Iterable[Finding]) -> list[tuple[str, float, float, float]]:
    """What was found, in seconds after the start: event, since, at, duration."""
    return [(f.event.value, f.since.mono_us / S, f.at.mono_us / S, f.duration_us / S) for f in findings]
