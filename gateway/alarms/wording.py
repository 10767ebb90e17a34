"""The texts: what a superintendent reads at night, in one GSM-7 segment.

    LV-MH3 Acme Dairy HIGH pH 3.9 <5.5 (194-6C(7)) since 02:14 EDT 6min ONGOING. Sensor OK. Call the plant. ACK 4-17
    LV-MH3 ENDED pH back 6.4 (limit 5.5) at 02:31 EDT. 17min, min 3.6. ACK 4-17

The code is the alarm's number at this site and the occurrence: 4-17 is the seventeenth occurrence of alarm 4.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from decimal import Decimal
from enum import StrEnum

from gateway.alarms import language_en
from gateway.alarms.gsm7 import SEGMENT_SEPTETS, clip, septets, transliterate
from gateway.alarms.phrases import Phrases
from gateway.model import AlarmEvent, AlarmState, Finding, FindingEvent, Instant, Verdict
from gateway.site import Rule, Site

__all__ = [
    "ENDED", "LANGUAGES", "SHORTENED", "SensorHealth", "Subject", "septets", "transliterate", "raised_text",
    "returned_text", "clock_text", "duration_text", "number_text",
]  # fmt: skip

LANGUAGES: Mapping[str, Phrases] = {"en": language_en.PHRASES}

# A text that is too long is cut step by step in this order: (field, septets to keep; 0 drops it). Value, limit and
# acknowledgement code are in no step.
SHORTENED: tuple[tuple[str, int], ...] = (
    ("discharger", 16), ("what", 24), ("station", 24), ("reason", 40), ("because", 0), ("discharger", 0),
    ("baseline", 0), ("duration", 0), ("sensor_ok", 0), ("after_restart", 0), ("action", 0), ("reminder", 0),
    ("extreme", 0), ("sensor_fault", 0), ("clause", 16), ("since", 0), ("at", 0), ("lasted", 0), ("clause", 0),
    ("state", 0), ("ended", 0), ("what", 0), ("severity", 0), ("station", 0),
)  # fmt: skip
_HEAD = (
    "station", "discharger", "severity", "ended", "what", "value", "baseline", "reason", "clause", "since", "at",
    "duration", "state",
)  # fmt: skip
_SUMMARY = ("lasted", "extreme")
_SENTENCES = ("sensor_ok", "sensor_fault", "because", "reminder", "after_restart", "action")
_UNITS = {"pH": "", "s.u.": "", "1": "", "degC": "C", "degF": "F"}
_UNIT_SEPTETS = 12
_WHAT_TO_DO = ": "  # after it the reason of an alarm without a rule says the one thing to do
ENDED = frozenset({
    AlarmState.NORMAL, AlarmState.RETURNED_UNACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED,
    AlarmState.LATCHED_ACKNOWLEDGED,
})  # fmt: skip
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class SensorHealth(StrEnum):
    """What the sensor's own alarm says; UNKNOWN when it has none."""

    OK = "ok"
    FAULT = "fault"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Subject:
    """What a text is about and for whom: an alarm of a site, the rule behind it if any, the reader's language."""

    site: Site
    alarm: str
    rule: Rule | None
    zone: tzinfo
    phrases: Phrases


def raised_text(
    subject: Subject,
    event: AlarmEvent,
    *,
    code: str,
    began: Instant,
    sensor: SensorHealth = SensorHealth.UNKNOWN,
    reminder: int = 0,
) -> str:
    """The text of an alarm that asks for attention: raised, louder, again, or come out from under a cover.

    `began` is when the cause became true, used where no finding says better; `reminder` the number of re-alarms. The
    result is ASCII and at most 160 septets.
    """
    words, finding = subject.phrases, event.finding
    since = began if finding is None else finding.since
    fields = {
        "station": subject.site.id.upper(),
        "discharger": subject.site.discharger,
        "severity": words.severity[event.severity],
        **_measured(subject, event),
        "since": words.since.format(time=clock_text(since, subject, event.at)),
        "duration": _elapsed(since, event.at, words),
        "state": _state(subject, event, since),
        "reminder": words.reminder.format(number=reminder) if reminder else "",
        "action": _action(subject, event),
        "code": words.acknowledge.format(code=code),
    }
    if sensor is SensorHealth.FAULT:
        fields["sensor_fault"] = words.sensor_fault
    elif sensor is SensorHealth.OK:
        fields["sensor_ok"] = words.sensor_near if _is_near(subject.rule, finding) else words.sensor_ok
    if finding is not None and finding.verdict is Verdict.SUSPECTED and event.reason:
        fields["because"] = _sentence(event.reason)
    return _fitted(fields)


def returned_text(subject: Subject, event: AlarmEvent, *, code: str, began: Instant, reminder: int = 0) -> str:
    """The text of an alarm whose cause has gone: value now, how long it lasted, how far it went.

    `event.at` is when it went; `reminder` counts the calls since, while nobody has acknowledged. It asks for an
    acknowledgement only when one is still owed. The result is ASCII and at most 160 septets.
    """
    words, finding = subject.phrases, event.finding
    ended = finding is not None and finding.event is FindingEvent.CLEARED
    since = began if finding is None else finding.since
    lasted_us = finding.duration_us if finding is not None and ended else event.at.mono_us - since.mono_us
    owed = event.to_state in (AlarmState.RETURNED_UNACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED)
    return _fitted(
        {
            "station": subject.site.id.upper(),
            "ended": words.ended,
            "what": _what(subject),
            "value": _back(subject, finding if ended else None),
            "at": words.at.format(time=clock_text(event.at, subject, event.at)),
            "lasted": words.end_not_seen if _was_cut(subject, finding) else duration_text(max(0, lasted_us), words),
            "extreme": _extreme(subject, finding),
            "reminder": words.reminder.format(number=reminder) if reminder else "",
            "after_restart": words.after_restart if event.inferred else "",
            "code": (words.acknowledge if owed else words.reference).format(code=code),
        }
    )


def _was_cut(subject: Subject, finding: Finding | None) -> bool:
    """Whether a proven run was interrupted: a run on single values whose end was seen has a finding that says so."""
    if finding is None or subject.rule is None or subject.rule.kind not in ("limit", "slug"):
        return False
    return finding.event in (FindingEvent.RAISED, FindingEvent.INTERRUPTED) and not subject.rule.laboratory


def clock_text(at: Instant, subject: Subject, reference: Instant) -> str:
    """Site time with its zone, the date when it is not that of the reference, a mark when nobody trusts the clock."""
    local, then = _local(at, subject.zone), _local(reference, subject.zone)
    date = "" if local.date() == then.date() else f"{local:%m-%d} "
    doubt = "" if at.synced else subject.phrases.untrusted
    return f"{date}{local:%H:%M}{doubt} {local.tzname() or ''}".rstrip()


def duration_text(duration_us: int, words: Phrases) -> str:
    """A duration in its two largest units, rounded down: 45s, 6min, 1h05min, 2d3h."""
    seconds = duration_us // 1_000_000
    if seconds < 60:
        return words.seconds.format(s=seconds)
    if seconds < 3600:
        return words.minutes.format(m=seconds // 60)
    if seconds < 48 * 3600:
        return words.hours.format(h=seconds // 3600, m=seconds // 60 % 60)
    return words.days.format(d=seconds // 86400, h=seconds // 3600 % 24)


def number_text(value: float, limit: float | None = None, digits: int = 3) -> str:
    """A number in three significant digits, or as many more as show on which side of the limit it lies.

    Whole digits are never rounded away: 1326 stays 1326, and 5.4996 against 5.5 is not printed as 5.5.
    """
    for count in range(digits, 18):
        text = _plain(value, count)
        if limit is None or not math.isfinite(value) or _side(float(text), limit) == _side(value, limit):
            return text
    return repr(value)


def _plain(value: float, digits: int) -> str:
    size = abs(value)
    if not math.isfinite(value) or size >= 1e9 or 0 < size < 1e-4:
        return f"{value:.{digits}g}"
    whole = len(str(int(size)))
    text = format(Decimal(f"{value:.{max(digits, whole)}g}"), "f")
    return "0" if text == "-0" else text


def _side(value: float, limit: float) -> int:
    return (value > limit) - (value < limit)


def _local(at: Instant, zone: tzinfo) -> datetime:
    return (_EPOCH + timedelta(microseconds=at.utc_us)).astimezone(zone)


def _elapsed(since: Instant, at: Instant, words: Phrases) -> str:
    elapsed_us = at.mono_us - since.mono_us
    return duration_text(elapsed_us, words) if elapsed_us >= 1_000_000 else ""


def _what(subject: Subject) -> str:
    if subject.rule is not None:
        return subject.rule.title
    channel = subject.site.channels.get(subject.alarm.removeprefix("sensor-"))
    if channel is not None and subject.alarm.startswith("sensor-"):
        return subject.phrases.sensor.format(channel=channel.label or channel.name)
    policy = subject.site.alarms.get(subject.alarm)
    return subject.alarm if policy is None or not policy.title else policy.title


def _sentence(words: str) -> str:
    """With a capital, unless the first word has its own: pH, mV."""
    first = words.split(" ", 1)[0]
    return f"{words if first != first.lower() else words[:1].upper() + words[1:]}."


def _action(subject: Subject, event: AlarmEvent) -> str:
    if subject.rule is not None:
        action = subject.rule.action.rstrip(".")
        return _sentence(action) if action else ""
    policy = subject.site.alarms.get(subject.alarm)
    if policy is not None and policy.action:
        return policy.action
    action = _told(subject, event)[1]
    if action:
        return _sentence(action)
    return subject.phrases.sensor_action if subject.alarm.startswith("sensor-") else ""


def _told(subject: Subject, event: AlarmEvent) -> tuple[str, str]:
    """The reason, and what it asks for: of an alarm that neither rule nor policy gives anything to do."""
    policy = subject.site.alarms.get(subject.alarm)
    if subject.rule is not None or (policy is not None and policy.action):
        return event.reason, ""
    reason, _, action = event.reason.partition(_WHAT_TO_DO)
    return reason, action


def _measured(subject: Subject, event: AlarmEvent) -> dict[str, str]:
    """What was measured, against what, by which clause; or the reason, where nothing was."""
    finding, rule = event.finding, subject.rule
    if finding is None or finding.observed is None or finding.limit is None or rule is None:
        reason = _told(subject, event)[0]
        return {"what": _what(subject), "reason": reason.replace("_", " ")}
    fields = {
        "what": _what(subject),
        "value": f"{number_text(finding.observed, finding.limit)} {rule.comparison}{_limit(finding.limit, finding)}",
        "clause": f"({finding.clause})" if finding.clause else "",
    }
    if rule.factor is not None and finding.baseline is not None:
        factor, baseline = number_text(rule.factor), number_text(finding.baseline)
        fields["baseline"] = subject.phrases.baseline.format(factor=factor, baseline=baseline)
    return fields


def _limit(limit: float, finding: Finding) -> str:
    unit = _UNITS.get(finding.unit, finding.unit)
    return f"{number_text(limit, digits=6)}{clip(transliterate(unit), _UNIT_SEPTETS)}"


def _back(subject: Subject, ended: Finding | None) -> str:
    """The value within the limit and the limit; a value that is none of that is not called back."""
    words = subject.phrases
    if ended is None or ended.limit is None:
        return words.back_to_normal
    limit = words.limit.format(limit=_limit(ended.limit, ended))
    if ended.observed is None or _exceeds(subject.rule, ended.observed, ended.limit):
        return f"{words.back_to_normal} {limit}"
    return f"{words.back.format(value=number_text(ended.observed, ended.limit))} {limit}"


def _exceeds(rule: Rule | None, value: float, limit: float) -> bool:
    if rule is None:
        return False
    side = _side(value, limit)
    return side == (-1 if rule.comparison.startswith("<") else 1) or (side == 0 and rule.comparison.endswith("="))


def _extreme(subject: Subject, finding: Finding | None) -> str:
    if finding is None or finding.extreme is None or subject.rule is None:
        return ""
    phrase = subject.phrases.lowest if subject.rule.comparison.startswith("<") else subject.phrases.highest
    return phrase.format(value=number_text(finding.extreme, finding.limit))


def _is_near(rule: Rule | None, finding: Finding | None) -> bool:
    if rule is None or rule.uncertainty is None or finding is None or finding.observed is None or finding.limit is None:
        return False
    return abs(finding.observed - finding.limit) <= rule.uncertainty


def _state(subject: Subject, event: AlarmEvent, since: Instant) -> str:
    words, finding, rule = subject.phrases, event.finding, subject.rule
    if event.to_state in ENDED:
        return words.ended
    if finding is not None and finding.event is FindingEvent.PREALARM:
        left_us = 0 if rule is None else rule.duration_us - (event.at.mono_us - since.mono_us)
        return words.prealarm_left.format(left=duration_text(left_us, words)) if left_us > 0 else words.prealarm
    if finding is not None and finding.verdict is Verdict.SUSPECTED:
        return words.suspected
    return words.ongoing


def _fitted(fields: Mapping[str, str]) -> str:
    """The fields as one segment, shortened step by step until they fit."""
    plain = {name: transliterate(text) for name, text in fields.items()}
    text = _sentences(plain)
    for name, keep in SHORTENED:
        if septets(text) <= SEGMENT_SEPTETS:
            break
        plain[name] = clip(plain.get(name, ""), keep) if keep else ""
        text = _sentences(plain)
    return text


def _sentences(fields: Mapping[str, str]) -> str:
    head = " ".join(fields[name] for name in _HEAD if fields.get(name))
    summary = ", ".join(fields[name] for name in _SUMMARY if fields.get(name))
    rest = [fields[name] for name in _SENTENCES if fields.get(name)]
    return " ".join([*(f"{sentence}." for sentence in (head, summary) if sentence), *rest, fields["code"]])
