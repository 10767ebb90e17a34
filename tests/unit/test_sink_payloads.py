"""What is published for each kind of record, to the letter, and what never is."""

import json
import math
from dataclasses import asdict, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import ConfigError
from gateway.model import Instant, Mode, Quality, Reading, Severity
from gateway.sinks.contract import Pace
from gateway.sinks.mqtt_options import MqttOptions, TlsFiles
from gateway.sinks.payloads import Payloads, as_json, iso_ms
from gateway.sinks.topics import Topics, topic_level
from gateway.site import Contact, Part
from tests.support.small_site import small_site

NOON = Instant(1_796_040_000_250_999, 5_000_000)  # 2026-11-30T12:00:00.250999Z
PH = Reading("ph", NOON, (16608, 0), 7.0, Quality.GOOD)
PEOPLE = (Contact("ray", "Ray Miles", ("modem",), "+17165550100"), Contact("al", "Al", ("modem",), "+17165550101"))


def test_stamps_are_utc_cut_to_milliseconds() -> None:
    """A stamp is never rounded up into the future, and works before 1970 and after 2038."""
    assert iso_ms(NOON.utc_us) == "2026-11-30T12:00:00.250Z"
    assert iso_ms(0) == "1970-01-01T00:00:00.000Z"
    assert iso_ms(-1) == "1969-12-31T23:59:59.999Z"
    assert iso_ms(2_147_483_648_999_999) == "2038-01-19T03:14:08.999Z"


@pytest.mark.parametrize(
    ("why", "reading", "hist", "head", "measured"),
    [
        (
            "a good reading carries value, unit, quality and raw words",
            PH, False, {"tq": "synced", "hist": False},
            {"value": 7.0, "unit": "pH", "q": "good", "tests": [], "raw": [16608, 0], "mode": "run", "letter": ""},
        ),
        (
            "history is flagged",
            PH, True, {"tq": "synced", "hist": True},
            {"value": 7.0, "unit": "pH", "q": "good", "tests": [], "raw": [16608, 0], "mode": "run", "letter": ""},
        ),
        (
            "a clock nobody trusts is said so",
            replace(PH, at=replace(NOON, synced=False)), False, {"tq": "untrusted", "hist": False},
            {"value": 7.0, "unit": "pH", "q": "good", "tests": [], "raw": [16608, 0], "mode": "run", "letter": ""},
        ),
        (
            "silence has no value and says why",
            replace(PH, raw=(), value=None, quality=Quality.MISSING, tests=("silent",)), False,
            {"tq": "synced", "hist": False},
            {"value": None, "unit": "pH", "q": "missing", "tests": ["silent"], "raw": [], "mode": "run",
             "letter": "F", "action": "check power, cable, address, speed and parity of the instrument"},
        ),
        (
            "what JSON cannot write is null beside its raw words",
            replace(PH, raw=(0x7FC0, 0), value=math.nan, quality=Quality.FAIL, tests=("not_a_number",)), False,
            {"tq": "synced", "hist": False},
            {"value": None, "unit": "pH", "q": "fail", "tests": ["not_a_number"], "raw": [0x7FC0, 0], "mode": "run",
             "letter": "F"},
        ),
        (
            "maintenance and a dry probe are told",
            replace(PH, mode=Mode.CALIBRATION, dry=True, quality=Quality.SUSPECT), False,
            {"tq": "synced", "hist": False},
            {"value": 7.0, "unit": "pH", "q": "suspect", "tests": [], "raw": [16608, 0], "mode": "calibration",
             "letter": "C", "dry": True},
        ),
        (
            "a channel the site no longer has keeps its value, with no unit claimed",
            replace(PH, channel="old"), False, {"tq": "synced", "hist": False},
            {"value": 7.0, "unit": None, "q": "good", "tests": [], "raw": [16608, 0], "mode": "run", "letter": ""},
        ),
    ],
)  # fmt: skip
def test_telemetry(why: str, reading: Reading, hist: bool, head: dict[str, Any], measured: dict[str, Any]) -> None:
    """One reading, one message, to the letter."""
    got = json.loads(as_json(Payloads(small_site()).telemetry(17, reading, hist)))
    stamp = {"v": 1, "id": "lv-mh3-17", "ts": "2026-11-30T12:00:00.250Z"}
    assert got == {**stamp, **head, "m": {reading.channel: measured}}, why


def test_the_channel_topic_carries_the_same_words() -> None:
    """The retained live value has stamp, unit and quality too, and no record id, since it precedes its record."""
    assert Payloads(small_site()).channel(PH) == {
        "v": 1, "ts": "2026-11-30T12:00:00.250Z", "tq": "synced", "channel": "ph", "value": 7.0, "unit": "pH",
        "q": "good", "tests": [], "raw": [16608, 0], "mode": "run", "letter": "",
    }  # fmt: skip


def test_an_alarm_event_becomes_the_alarm_s_current_state() -> None:
    """The alarm topic says in words what state the alarm is in, and why."""
    body = {
        "alarm": "lv-slug-flow", "occurrence": 4, "edge": "raised", "at": asdict(NOON), "severity": 3,
        "from_state": "A", "to_state": "B", "reason": "told Ray Miles", "actor": "ray", "inferred": False,
        "finding": {"rule": "lv-slug-flow", "observed": 50.1, "since": asdict(NOON)},
    }  # fmt: skip
    assert Payloads(small_site(contacts=PEOPLE)).alarm(9, NOON, body) == {
        "v": 1, "id": "lv-mh3-9", "ts": "2026-11-30T12:00:00.250Z", "tq": "synced", "alarm": "lv-slug-flow",
        "state": "B", "state_name": "unacknowledged", "active": True, "severity": "high", "occurrence": 4,
        "edge": "raised", "reason": "told (withheld)",
        "finding": {"rule": "lv-slug-flow", "observed": 50.1, "since": "2026-11-30T12:00:00.250Z"},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("why", "kind", "body", "public"),
    [
        (
            "of a message only its place in the alarm is told: no recipient, no text, no key that names one",
            "message",
            {"recipient": "ray", "text": "Ray, call Al", "dedupe_key": "a:1:raised:0:ray", "alarm": "a",
             "occurrence": 1, "kind": "raised", "severity": 3, "at": asdict(NOON)},
            {"alarm": "a", "occurrence": 1, "kind": "raised", "severity": 3},
        ),
        (
            "of an alarm event everything but who acted",
            "alarm",
            {"alarm": "a", "edge": "acknowledged", "actor": "ray", "reason": "seen by Ray Miles"},
            {"alarm": "a", "edge": "acknowledged", "reason": "seen by (withheld)"},
        ),
        (
            "a note loses names and numbers at any depth, and whole words only",
            "note",
            {"command": {"name": "ack", "actor": "ray"}, "heard": ["+17165550100 says Alarm", "Al"], "value": math.inf},
            {"command": {"name": "ack"}, "heard": ["(withheld) says Alarm", "(withheld)"], "value": None},
        ),
        (
            "a finding keeps its numbers, clause and stamps",
            "finding",
            {"rule": "r", "clause": "§ 1", "observed": 50.1, "since": asdict(NOON), "hashes": {"pack": "p"}},
            {"rule": "r", "clause": "§ 1", "observed": 50.1, "since": "2026-11-30T12:00:00.250Z",
             "hashes": {"pack": "p"}},
        ),
    ],
)  # fmt: skip
def test_events(why: str, kind: str, body: dict[str, Any], public: dict[str, Any]) -> None:
    """Each kind of event, with its number in the journal and without the people in it."""
    got = json.loads(as_json(Payloads(small_site(contacts=PEOPLE)).event(9, kind, NOON, body, hist=True)))
    assert got == {
        "v": 1, "id": "lv-mh3-9", "seq": 9, "kind": kind, "ts": "2026-11-30T12:00:00.250Z", "tq": "synced",
        "hist": True, "body": public,
    }, why  # fmt: skip


def test_meta_says_what_is_measured_and_against_what() -> None:
    """Channels with units, limits in force with their clause and baseline, packs with versions; no contact."""
    meta = Payloads(small_site(contacts=PEOPLE)).meta("0.1.0")
    assert meta["channels"]["flow"] == {"quantity": "flow", "unit": "gpm", "label": "", "poll_s": 15.0}
    assert meta["limits"] == [
        {"rule": "lv-slug-flow", "alarm": "lv-slug-flow", "clause": "§ 194-6C(13)(d)", "title": "Slug: flow",
         "pack": "little-valley", "kind": "slug", "channel": "flow", "comparison": ">", "limit": None, "factor": 5.0,
         "unit": "gpm", "duration_s": 900.0, "severity": "high",
         "baseline": {"mode": "declared", "value": 10.0, "unit": "gpm"}},
    ]  # fmt: skip
    assert meta["packs"] == {"little-valley": {"version": "3", "hash": "p-hash"}}
    assert "Ray" not in str(meta)
    assert "Superintendent" not in str(meta)


def test_status_tells_birth_from_death_and_death_from_a_stop() -> None:
    """Three payloads for one topic; the will's stamp is when the session began, and named so."""
    payloads = Payloads(small_site())
    who = {"boot_id": "b1", "version": "0.1.0"}
    stamp = {"ts": "2026-11-30T12:00:00.250Z", "tq": "synced"}
    assert payloads.online(NOON, "b1", "0.1.0") == {"v": 1, "state": "online", **stamp, **who}
    assert payloads.stopped(NOON, "b1", "0.1.0") == {"v": 1, "state": "offline", "why": "stopped", **stamp, **who}
    assert payloads.lost(NOON, "b1", "0.1.0") == {
        "v": 1, "state": "offline", "why": "connection lost", "connected_at": "2026-11-30T12:00:00.250Z", **who,
    }  # fmt: skip


def test_json_refuses_what_json_does_not_know() -> None:
    """NaN never leaves as the bare word that breaks every other parser."""
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_json({"value": math.nan})


def test_topics_are_those_of_the_interface() -> None:
    """Every topic of one site, spelled out."""
    topics = Topics("manhole/v1", "lv-mh3")
    assert [
        topics.status, topics.meta, topics.telemetry, topics.event, topics.health,
        topics.channel("ph"), topics.alarm("lv-slug-concentration.tss"),
    ] == [
        "manhole/v1/lv-mh3/status", "manhole/v1/lv-mh3/meta", "manhole/v1/lv-mh3/telemetry",
        "manhole/v1/lv-mh3/event", "manhole/v1/lv-mh3/health", "manhole/v1/lv-mh3/channel/ph",
        "manhole/v1/lv-mh3/alarm/lv-slug-concentration.tss",
    ]  # fmt: skip


@given(st.text(min_size=1), st.text(min_size=1))
def test_any_name_is_a_safe_topic_level_and_its_own(one: str, other: str) -> None:
    """No name breaks out of its level, and two names never share one."""
    try:
        levels = topic_level(one), topic_level(other)
    except UnicodeEncodeError:  # a lone surrogate is no text
        return
    assert all(level and not set(level) & set("/+#$ \0") and level.isascii() for level in levels)
    assert (levels[0] == levels[1]) == (one == other)


def test_mqtt_options_are_read_with_units_and_defaults() -> None:
    """Durations carry units; TLS moves the default port; what is not said keeps its default."""
    part = Part("mqtt", "mqtt", {"host": "broker", "tls": {"ca": "/ca.pem"}, "ack_timeout": "5 s", "window": 8})
    options = MqttOptions.of(part)
    assert (options.host, options.port, options.root, options.window) == ("broker", 8883, "manhole/v1", 8)
    assert options.tls == TlsFiles(ca="/ca.pem")
    assert options.ack_timeout_s == 5.0
    assert options.pace == replace(Pace(), retry_base_s=1.0)
    assert MqttOptions.of(Part("mqtt", "mqtt", {})).port == 1883


def test_every_mistake_in_the_options_is_named_at_once() -> None:
    """Wrong kinds, impossible values and unknown keys, each with its path, and a guess at what was meant."""
    part = Part("county", "mqtt", {
        "hosst": "x", "port": True, "window": 0, "root": "a/#", "ack_timeout": "5 gpm",
        "tls": {"cert": "/c", "kee": "/k"},
    })  # fmt: skip
    with pytest.raises(ConfigError) as caught:
        MqttOptions.of(part)
    assert {problem.path for problem in caught.value.problems} == {
        "sinks.county.hosst", "sinks.county.port", "sinks.county.window", "sinks.county.root",
        "sinks.county.ack_timeout", "sinks.county.tls", "sinks.county.tls.kee",
    }  # fmt: skip
    assert "did you mean 'host'" in str(caught.value)


def test_severities_are_told_by_name() -> None:
    """A consumer reads `high`, not 3, on the alarm topic."""
    body = {"alarm": "a", "occurrence": 1, "edge": "cleared", "to_state": "D", "severity": int(Severity.CRITICAL)}
    state = Payloads(small_site()).alarm(1, NOON, body)
    assert (state["severity"], state["active"], state["state_name"]) == ("critical", False, "returned_unacknowledged")
