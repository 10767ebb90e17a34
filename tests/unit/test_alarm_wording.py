"""The texts, letter by letter, and that each fits one segment whatever the names are."""
# ruff: noqa: RUF001 - look-alike characters are what is taken apart here

from dataclasses import dataclass, field, fields, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.alarms.gsm7 import clip
from gateway.alarms.phrases import Phrases
from gateway.alarms.wording import (
    LANGUAGES,
    SensorHealth,
    Subject,
    duration_text,
    number_text,
    raised_text,
    returned_text,
    septets,
    transliterate,
)
from gateway.model import AlarmEdge, AlarmEvent, AlarmState, Finding, FindingEvent, Instant, Severity, Verdict
from gateway.site import Rule
from tests.support.small_site import SLUG, small_site

SITE = small_site()
EN = LANGUAGES["en"]
ZONE = ZoneInfo("America/New_York")
PH = replace(
    SLUG, id="lv-ph-low", alarm="lv-ph-low", clause="§ 194-6C(7)", title="pH low", kind="limit", channel="ph",
    comparison="<", unit="pH", limit=5.5, factor=None, baseline=None, action="call plant 555-0101", uncertainty=0.2,
)  # fmt: skip
HOT = replace(PH, alarm="lv-temperature", title="temperature", clause="§ 194-6C(4)", comparison=">", unit="degF")


def instant(text: str, *, synced: bool = True) -> Instant:
    """A moment of 2026 from `07-01 06:14:00` in UTC; the monotonic clock runs alongside."""
    utc_us = int(datetime.strptime(f"2026-{text}", "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC).timestamp()) * 1_000_000
    return Instant(utc_us, utc_us - 1_000_000_000, synced)


def finding(rule: Rule, since: Instant, at: Instant, **changes: object) -> Finding:
    """What a rule found: exceeded, from the first exceeding sample to now."""
    facts: dict[str, object] = {
        "event": FindingEvent.RAISED, "rule": rule.id, "clause": rule.clause, "channel": rule.channel,
        "verdict": Verdict.EXCEEDED, "since": since, "at": at, "duration_us": at.mono_us - since.mono_us,
        "reason": "proven", "unit": rule.unit, "limit": rule.limit,
    }  # fmt: skip
    return Finding(**(facts | changes))  # type: ignore[arg-type]  # facts are typed by their names above


NIGHT, SIX_LATER, BACK = instant("07-01 06:14:00"), instant("07-01 06:20:30"), instant("07-01 06:31:00")
WINTER, FIVE, FIFTEEN = instant("11-30 12:00:00"), instant("11-30 12:05:00"), instant("11-30 12:15:15")
PH_FOUND = finding(PH, NIGHT, SIX_LATER, observed=3.9)
SLUG_FOUND = finding(SLUG, WINTER, FIFTEEN, observed=51.2, limit=50.0, baseline=10.0)


@dataclass(frozen=True)
class Text:
    """One English sentence, what happened, and the exact text."""

    says: str
    expected: str
    rule: Rule | None = PH
    finding: Finding | None = PH_FOUND
    at: Instant = SIX_LATER
    began: Instant = NIGHT
    severity: Severity = Severity.HIGH
    to: AlarmState = AlarmState.UNACKNOWLEDGED
    edge: AlarmEdge = AlarmEdge.RAISED
    reason: str = ""
    sensor: SensorHealth = SensorHealth.OK
    reminder: int = 0
    alarm: str = "lv-ph-low"
    inferred: bool = False
    code: str = field(default="4-17")


RAISED = (
    Text(
        "the form of a text: station, user, how bad, how far, which clause, since when, is it real, what to do",
        "LV-MH3 Acme Dairy HIGH pH low 3.9 <5.5 (194-6C(7)) since 02:14 EDT 6min ONGOING. Sensor OK. "
        "Call plant 555-0101. ACK 4-17",
    ),
    Text(
        "a sensor in fault is said aloud",
        "LV-MH3 Acme Dairy HIGH pH low 3.9 <5.5 (194-6C(7)) since 02:14 EDT 6min ONGOING. SENSOR FAULT. "
        "Call plant 555-0101. ACK 4-17",
        sensor=SensorHealth.FAULT,
    ),
    Text(
        "beyond the limit by less than the sensor's uncertainty: the text says so, and shows the digits that exceed",
        "LV-MH3 Acme Dairy HIGH pH low 5.496 <5.5 (194-6C(7)) since 02:14 EDT 6min ONGOING. "
        "Sensor OK, within its error. Call plant 555-0101. ACK 4-17",
        finding=replace(PH_FOUND, observed=5.496),
    ),
    Text(
        "a slug shows its threshold, how that is made, and the winter zone",
        "LV-MH3 Acme Dairy HIGH Slug: flow 51.2 >50gpm (5x10) (194-6C(13)(d)) since 07:00 EST 15min ONGOING. ACK 5-1",
        rule=SLUG, finding=SLUG_FOUND, at=FIFTEEN, began=WINTER, sensor=SensorHealth.UNKNOWN, code="5-1",
    ),
    Text(
        "a pre-alarm says how long is left to act",
        "LV-MH3 Acme Dairy NOTICE Slug: flow 51.2 >50gpm (5x10) (194-6C(13)(d)) since 07:00 EST 5min "
        "PRE-ALARM 10min left. ACK 5-1",
        rule=SLUG, finding=replace(SLUG_FOUND, event=FindingEvent.PREALARM), at=FIVE, began=WINTER,
        severity=Severity.NOTICE, sensor=SensorHealth.UNKNOWN, code="5-1",
    ),
    Text(
        "a suspected run says why it is only suspected",
        "LV-MH3 Acme Dairy WARNING Slug: flow 51.2 >50gpm (5x10) (194-6C(13)(d)) since 07:00 EST 15min SUSPECTED. "
        "Gap of 2min bridged. ACK 5-1",
        rule=SLUG, finding=replace(SLUG_FOUND, verdict=Verdict.SUSPECTED), at=FIFTEEN, began=WINTER,
        severity=Severity.WARNING, reason="gap of 2min bridged", sensor=SensorHealth.UNKNOWN, code="5-1",
    ),
    Text(
        "a reason that begins with pH keeps its small letter",
        "LV-MH3 Acme Dairy WARNING Slug: flow 51.2 >50gpm (5x10) (194-6C(13)(d)) since 07:00 EST 15min SUSPECTED. "
        "pH missing. ACK 5-1",
        rule=SLUG, finding=replace(SLUG_FOUND, verdict=Verdict.SUSPECTED), at=FIFTEEN, began=WINTER,
        severity=Severity.WARNING, reason="pH missing", sensor=SensorHealth.UNKNOWN, code="5-1",
    ),
    Text(
        "degrees lose their sign, not their scale",
        "LV-MH3 Acme Dairy CRITICAL temperature 151 >150F (194-6C(4)) since 02:14 EDT 6min ONGOING. Sensor OK. "
        "Call plant 555-0101. ACK 4-17",
        rule=HOT, finding=finding(HOT, NIGHT, SIX_LATER, observed=151.2, limit=150.0), severity=Severity.CRITICAL,
    ),
    Text(
        "a reminder counts, and what ended unseen says so",
        "LV-MH3 Acme Dairy HIGH pH low 3.9 <5.5 (194-6C(7)) since 02:14 EDT 6min ENDED. Reminder 2. "
        "Call plant 555-0101. ACK 4-17",
        reminder=2, to=AlarmState.RETURNED_UNACKNOWLEDGED, sensor=SensorHealth.UNKNOWN,
    ),
    Text(
        "yesterday is named by its date, and a clock nobody vouches for by a question mark",
        "LV-MH3 Acme Dairy HIGH pH low 3.9 <5.5 (194-6C(7)) since 06-30 23:50? EDT 2h30min ONGOING. Sensor OK. "
        "Call plant 555-0101. ACK 4-17",
        finding=replace(PH_FOUND, since=instant("07-01 03:50:00", synced=False)),
    ),
    Text(
        "a sensor's own alarm is worded from its reason",
        "LV-MH3 Acme Dairy WARNING sensor pH not a number since 02:14 EDT 6min ONGOING. Check sensor. ACK 2-1",
        rule=None, finding=None, severity=Severity.WARNING, reason="not_a_number", alarm="sensor-ph",
        sensor=SensorHealth.UNKNOWN, code="2-1",
    ),
    Text(
        "an alarm that is neither names itself",
        "LV-MH3 Acme Dairy WARNING disk 95 % full since 02:20 EDT ONGOING. ACK 3-1",
        rule=None, finding=None, severity=Severity.WARNING, reason="95 % full", alarm="disk", began=SIX_LATER,
        sensor=SensorHealth.UNKNOWN, code="3-1",
    ),
)  # fmt: skip

CLEARED = replace(
    PH_FOUND, event=FindingEvent.CLEARED, verdict=Verdict.COMPLIANT, observed=6.4, at=BACK, duration_us=17 * 60_000_000,
    extreme=3.6,
)  # fmt: skip
RETURNED = (
    Text(
        "the form of a text: what is back at what, when, how long, how far; still to be acknowledged",
        "LV-MH3 ENDED pH low back 6.4 (limit 5.5) at 02:31 EDT. 17min, min 3.6. ACK 4-17",
        finding=CLEARED, at=BACK, to=AlarmState.RETURNED_UNACKNOWLEDGED,
    ),
    Text(
        "acknowledged before: the code is only a reference",
        "LV-MH3 ENDED pH low back 6.4 (limit 5.5) at 02:31 EDT. 17min, min 3.6. Alarm 4-17",
        finding=CLEARED, at=BACK, to=AlarmState.NORMAL,
    ),
    Text(
        "found after a restart: it says so",
        "LV-MH3 ENDED pH low back 6.4 (limit 5.5) at 02:31 EDT. 17min, min 3.6. Found after restart. ACK 4-17",
        finding=CLEARED, at=BACK, to=AlarmState.LATCHED_UNACKNOWLEDGED, inferred=True,
    ),
    Text(
        "the highest of what was too high, with its unit at the limit",
        "LV-MH3 ENDED Slug: flow back 12 (limit 50gpm) at 07:15 EST. 15min, max 62. ACK 5-1",
        rule=SLUG, at=FIFTEEN, to=AlarmState.RETURNED_UNACKNOWLEDGED, code="5-1",
        finding=replace(SLUG_FOUND, event=FindingEvent.CLEARED, observed=12.0, extreme=62.0),
    ),
    Text(
        "without a finding of its end it is back to normal, and lasted from the cause to now",
        "LV-MH3 ENDED sensor pH back to normal at 02:31 EDT. 17min. ACK 2-1",
        rule=None, finding=None, at=BACK, to=AlarmState.RETURNED_UNACKNOWLEDGED, alarm="sensor-ph", code="2-1",
    ),
    Text(
        "a last value still beyond the limit is not called back",
        "LV-MH3 ENDED pH low back to normal (limit 5.5) at 02:31 EDT. 17min, min 3.6. ACK 4-17",
        finding=replace(CLEARED, observed=4.1), at=BACK, to=AlarmState.RETURNED_UNACKNOWLEDGED,
    ),
)  # fmt: skip


def event(text: Text) -> AlarmEvent:
    """The edge a text is about."""
    return AlarmEvent(
        text.alarm, 17, text.edge, text.at, text.severity, AlarmState.NORMAL, text.to, text.reason,
        finding=text.finding, inferred=text.inferred,
    )  # fmt: skip


@pytest.mark.parametrize("text", RAISED, ids=lambda text: text.says)
def test_text_of_an_alarm(text: Text) -> None:
    """A text that asks for attention is exactly this."""
    subject = Subject(SITE, text.alarm, text.rule, ZONE, EN)
    written = raised_text(
        subject, event(text), code=text.code, began=text.began, sensor=text.sensor, reminder=text.reminder
    )
    assert written == text.expected
    assert septets(written) <= 160


@pytest.mark.parametrize("text", RETURNED, ids=lambda text: text.says)
def test_text_of_a_return(text: Text) -> None:
    """A text about an end is exactly this."""
    subject = Subject(SITE, text.alarm, text.rule, ZONE, EN)
    assert returned_text(subject, event(text), code=text.code, began=text.began) == text.expected


LONG = replace(SITE, id="little-valley-interceptor-sewer-control-manhole-nr-1234567-a", discharger="Acme " * 12)
LONGEST = (
    (
        "names of 60 characters are cut in the middle, then the user goes; the action stays",
        replace(PH, title="pH lower than any that the ordinance of this village permits"),
        (
            "LITTLE-VALLEY-IN..4567-A HIGH pH lower than an..ermits 3.9 <5.5 (194-6C(7)) since 02:14 EDT 6min ONGOING. "
            "Sensor OK. Call plant 555-0101. ACK 4-17"
        ),
    ),
    (
        "an action of 60 characters goes after duration and healthy sensor, before what, where and since when",
        replace(PH, title="pH lower than any that the ordinance of this village permits", action="Call " * 12),
        "LITTLE-VALLEY-IN..4567-A HIGH pH lower than an..ermits 3.9 <5.5 (194-6C(7)) since 02:14 EDT ONGOING. ACK 4-17",
    ),
)


@pytest.mark.parametrize(("says", "rule", "expected"), LONGEST, ids=[row[0] for row in LONGEST])
def test_long_names_are_cut_in_the_stated_order(says: str, rule: Rule, expected: str) -> None:
    """What is too long for one segment loses its fields in the stated order, never value, limit or code."""
    written = raised_text(Subject(LONG, PH.alarm, rule, ZONE, EN), event(RAISED[0]), code="4-17", began=NIGHT,
                          sensor=SensorHealth.OK)  # fmt: skip
    assert written == expected


NAMES = st.text(alphabet=st.characters(min_codepoint=32, max_codepoint=0x2FFF), min_size=1, max_size=60)


@given(
    site=NAMES, user=NAMES, title=NAMES, action=NAMES, clause=NAMES, unit=NAMES, reason=NAMES,
    value=st.floats(allow_nan=False, allow_infinity=False), limit=st.floats(0, 1e6),
    ended=st.booleans(), bare=st.booleans(),
)  # fmt: skip
def test_every_text_is_one_segment_with_value_limit_and_code(
    site: str, user: str, title: str, action: str, clause: str, unit: str, reason: str, value: float, limit: float,
    ended: bool, bare: bool,
) -> None:  # fmt: skip
    """Whatever the names: ASCII, at most 160 septets, the value, the limit and the code whole."""
    rule = replace(PH, title=title, action=action, clause=clause, unit=unit)
    found = finding(rule, NIGHT, SIX_LATER, observed=value, limit=limit, verdict=Verdict.SUSPECTED, extreme=value)
    found = replace(found, event=FindingEvent.CLEARED) if ended else found
    subject = Subject(replace(SITE, id=site, discharger=user), PH.alarm, None if bare else rule, ZONE, EN)
    about = event(replace(RAISED[0], finding=None if bare else found, reason=reason, inferred=True))
    if ended:
        text = returned_text(subject, about, code="200-123456", began=NIGHT)
    else:
        text = raised_text(subject, about, code="200-123456", began=NIGHT, sensor=SensorHealth.FAULT, reminder=99)
    assert text.isascii()
    assert septets(text) <= 160
    assert text.endswith(" 200-123456")
    if not bare:
        assert number_text(limit, digits=6) in text
        assert ended or number_text(value, limit) in text


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("a" * 160, 160),
        ("a" * 161, 161),
        ("[" * 80, 160),
        ("[" * 81, 162),
        ("^{}\\[~]|€\f", 20),
        ("é" * 160, 160),
        ("@£$_", 4),
        ("", 0),
    ],
)
def test_septets(text: str, count: int) -> None:
    """The counts at which gammu begins a second segment, and the characters that cost two."""
    assert septets(text) == count


@pytest.mark.parametrize("character", ["ç", "`", "°", "–", "\t"])
def test_what_is_not_in_the_alphabet_is_refused(character: str) -> None:
    """A character that would turn the text into UCS-2 of 70 is an error, not a surprise."""
    with pytest.raises(ValueError, match="not in the GSM 7-bit alphabet"):
        septets(f"pH{character}")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("§ 194-6C(7)", "194-6C(7)"),
        ("§§ 118-37, 118-38", "118-37, 118-38"),
        ("65 °C – at once", "65 C - at once"),
        ("≥ 15 min, ≤ 9, 800 µS/cm", ">= 15 min, <= 9, 800 uS/cm"),
        ("Käserei Müller & Fils, Orléans, Groß", "Kaserei Muller & Fils, Orleans, Gross"),
        ("“quoted” it’s `x`", "\"quoted\" it's 'x'"),
        ("two\n lines\t\x00", "two lines ?"),
        ("水", "?"),
    ],
)
def test_transliterate(text: str, plain: str) -> None:
    """Signs become what a phone of any make shows."""
    assert transliterate(text) == plain


@given(st.text())
def test_transliterated_text_is_always_gsm(text: str) -> None:
    """Nothing comes out of it that GSM-7 or ASCII lacks."""
    plain = transliterate(text)
    assert plain.isascii()
    assert septets(plain) >= len(plain)


@given(st.text(alphabet="ab[]", max_size=100), st.integers(10, 60))
def test_a_clipped_name_keeps_its_budget(text: str, most: int) -> None:
    """Cut to the septets allowed, both ends kept."""
    assert septets(clip(text, most)) <= most


@pytest.mark.parametrize(
    ("value", "limit", "text"),
    [
        (3.9, 5.5, "3.9"), (3.912, 5.5, "3.91"), (5.4996, 5.5, "5.4996"), (5.5, 5.5, "5.5"), (50.0001, 50.0, "50.0001"),
        (1326.4, 1325.0, "1326"), (1325.2, 1325.0, "1325.2"), (0.0123, 0.01, "0.0123"), (-0.0, 5.5, "0"),
        (12345678.0, None, "12345678"), (float("nan"), 5.5, "nan"),
    ],
)  # fmt: skip
def test_a_number_shows_on_which_side_of_the_limit_it_lies(value: float, limit: float | None, text: str) -> None:
    """Three significant digits, more where fewer would hide the exceedance, whole digits always."""
    assert number_text(value, limit) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0, "0s"), (59, "59s"), (60, "1min"), (915, "15min"), (3599, "59min"), (3600, "1h00min"), (172_799, "47h59min"),
     (172_800, "2d0h"), (200_000, "2d7h")],
)  # fmt: skip
def test_a_duration_in_its_two_largest_units(seconds: int, text: str) -> None:
    """Rounded down, so that nothing is claimed that has not passed."""
    assert duration_text(seconds * 1_000_000, EN) == text


def test_every_language_is_ascii_and_whole() -> None:
    """A language file supplies every phrase, for every severity, in ASCII."""
    for name, phrases in LANGUAGES.items():
        assert set(phrases.severity) == set(Severity), name
        for one in fields(Phrases):
            value = getattr(phrases, one.name)
            assert all(part.isascii() for part in (value.values() if one.name == "severity" else [value])), one.name
