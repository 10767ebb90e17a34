"""What is published: records as JSON-able mappings. Pure.

Every payload carries its version `v`; every value its unit and quality; every stamp is UTC, ISO 8601, cut to
milliseconds. Nothing here names a person: messages go out by an allow-list, everything else loses the keys that hold
people, and any string loses the names and numbers of the site's contacts.
"""

import json
import math
import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from gateway.model import AlarmState, Instant, Reading, Severity
from gateway.quality_letter import action_for, quality_letter
from gateway.site import Rule, Site

__all__ = ["Payloads", "as_json", "iso_ms"]

VERSION = 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_ABOUT_PEOPLE = frozenset({
    "actor", "approved_by", "by", "caller", "contact", "contacts", "dedupe_key", "person", "phone", "number",
    "provider_ref", "recipient", "recipients", "sender", "text", "who", "ended_by", "signed_by", "started_by",
    "technician",
})  # fmt: skip
_OF_A_MESSAGE = ("alarm", "occurrence", "kind", "severity", "status", "attempts")
_STATES_WITH_CAUSE = frozenset({AlarmState.UNACKNOWLEDGED, AlarmState.ACKNOWLEDGED})
_WITHHELD = "(withheld)"


def iso_ms(utc_us: int) -> str:
    """A UTC stamp as `2026-11-30T12:00:00.250Z`, cut (never rounded into the future) to milliseconds."""
    stamp = _EPOCH + timedelta(microseconds=utc_us)
    return stamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_json(body: Mapping[str, Any]) -> bytes:
    """Compact UTF-8 JSON. ValueError on NaN and infinities, which JSON does not know."""
    return json.dumps(body, allow_nan=False, ensure_ascii=False, separators=(",", ":")).encode()


class Payloads:
    """The payloads of one site. Safe to share: it holds only what the site file says."""

    def __init__(self, site: Site) -> None:
        self._site = site
        private = sorted({word for c in site.contacts for word in (c.name, c.phone) if word}, key=len, reverse=True)
        # Whole words only, so that a contact called Al leaves "Alarm" alone.
        words = "|".join(rf"(?<!\w){re.escape(word)}(?!\w)" for word in private)
        self._private = re.compile(words) if words else None

    def record_id(self, seq: int) -> str:
        """The stable id of a journal record: the same however often it is sent."""
        return f"{self._site.id}-{seq}"

    def telemetry(self, seq: int, reading: Reading, hist: bool) -> dict[str, Any]:
        """One reading, with the id by which a consumer knows a repeat."""
        return {
            "v": VERSION, "id": self.record_id(seq), **_stamp(reading.at), "hist": hist,
            "m": {reading.channel: self._measured(reading)},
        }  # fmt: skip

    def channel(self, reading: Reading) -> dict[str, Any]:
        """The last live value of one channel."""
        return {"v": VERSION, **_stamp(reading.at), "channel": reading.channel, **self._measured(reading)}

    def event(self, seq: int, kind: str, at: Instant, body: Mapping[str, Any], hist: bool) -> dict[str, Any]:
        """A finding, an alarm event, a message or a note, with its number in the journal."""
        return {
            "v": VERSION, "id": self.record_id(seq), "seq": seq, "kind": kind, **_stamp(at), "hist": hist,
            "body": self._public(kind, body),
        }  # fmt: skip

    def alarm(self, seq: int, at: Instant, body: Mapping[str, Any]) -> dict[str, Any]:
        """The state an alarm is in after one of its events. KeyError or ValueError when the event is malformed."""
        state, severity = AlarmState(body["to_state"]), Severity(body["severity"])
        finding = body.get("finding")
        return {
            "v": VERSION, "id": self.record_id(seq), **_stamp(at), "alarm": body["alarm"],
            "state": state.value, "state_name": state.name.lower(), "active": state in _STATES_WITH_CAUSE,
            "severity": severity.name.lower(), "occurrence": body["occurrence"], "edge": body["edge"],
            "reason": self._clean(body.get("reason", "")), "finding": self._clean(finding) if finding else None,
        }  # fmt: skip

    def online(self, at: Instant, boot_id: str, version: str) -> dict[str, Any]:
        """The birth: the gateway is connected and says so."""
        return {"v": VERSION, "state": "online", **_stamp(at), "boot_id": boot_id, "version": version}

    def lost(self, connected_at: Instant, boot_id: str, version: str) -> dict[str, Any]:
        """The will: the broker publishes it. Its stamp is when the session began, since nobody stamps a death."""
        return {
            "v": VERSION, "state": "offline", "why": "connection lost", "connected_at": iso_ms(connected_at.utc_us),
            "boot_id": boot_id, "version": version,
        }  # fmt: skip

    def stopped(self, at: Instant, boot_id: str, version: str) -> dict[str, Any]:
        """The farewell of a clean stop."""
        return {
            "v": VERSION, "state": "offline", "why": "stopped", **_stamp(at), "boot_id": boot_id, "version": version,
        }  # fmt: skip

    def meta(self, version: str) -> dict[str, Any]:
        """What a consumer must know to read the rest: channels, units, limits in force, packs and versions."""
        site = self._site
        return {
            "v": VERSION, "site": site.id, "name": site.name, "discharger": site.discharger,
            "time_zone": site.time_zone, "version": version, "config": site.config_hash,
            "channels": {
                name: {"quantity": c.quantity, "unit": c.unit, "label": c.label, "poll_s": c.poll_us / 1e6}
                for name, c in site.channels.items()
            },
            "limits": [_limit(rule) for rule in site.rules],
            "packs": {rule.pack: {"version": rule.pack_version, "hash": rule.pack_hash} for rule in site.rules},
        }  # fmt: skip

    def health(self, at: Instant, body: Mapping[str, Any]) -> dict[str, Any]:
        """How the gateway itself is, as its parts report it."""
        return {"v": VERSION, **_stamp(at), **self._clean(body)}

    def _measured(self, reading: Reading) -> dict[str, Any]:
        """One value with everything that says how far to trust it; a number JSON cannot write is null, raw stays."""
        channel = self._site.channels.get(reading.channel)
        measured: dict[str, Any] = {
            "value": _finite(reading.value), "unit": channel.unit if channel else None,
            "q": reading.quality.name.lower(), "tests": list(reading.tests), "raw": list(reading.raw),
            "mode": reading.mode.value, "letter": quality_letter(reading),
        }  # fmt: skip
        if action := action_for(reading):
            measured["action"] = action
        if reading.dry:
            measured["dry"] = True
        return measured

    def _public(self, kind: str, body: Mapping[str, Any]) -> Any:
        if kind == "message":
            return self._clean({key: body[key] for key in _OF_A_MESSAGE if key in body})
        return self._clean(body)

    def _clean(self, value: Any) -> Any:
        """The value without people and without numbers JSON cannot write; a moment becomes its UTC stamp."""
        match value:
            case {"utc_us": int(utc_us), "mono_us": _, "synced": _}:
                return iso_ms(utc_us)
            case Mapping():
                return {str(key): self._clean(inner) for key, inner in value.items() if key not in _ABOUT_PEOPLE}
            case str():
                return self._private.sub(_WITHHELD, value) if self._private else value
            case bool() | None:
                return value
            case float():
                return _finite(value)
            case list() | tuple():
                return [self._clean(inner) for inner in value]
        return value


def _stamp(at: Instant) -> dict[str, str]:
    return {"ts": iso_ms(at.utc_us), "tq": "synced" if at.synced else "untrusted"}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _limit(rule: Rule) -> dict[str, Any]:
    baseline = rule.baseline
    return {
        "rule": rule.id, "alarm": rule.alarm, "clause": rule.clause, "title": rule.title, "pack": rule.pack,
        "kind": rule.kind, "channel": rule.channel, "comparison": rule.comparison, "limit": rule.limit,
        "factor": rule.factor, "unit": rule.unit, "duration_s": rule.duration_us / 1e6,
        "severity": rule.severity.name.lower(),
        "baseline": {"mode": baseline.mode, "value": baseline.value, "unit": baseline.unit} if baseline else None,
    }  # fmt: skip
