"""Health at a glance: what `status` prints, the page shows and `health` publishes. No personal data in it."""

import asyncio
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from gateway import __version__
from gateway.commands import alarm_lines
from gateway.control import NotRunningError, ask, socket_path
from gateway.isotime import iso_utc
from gateway.maintenance_actions import stay_line
from gateway.model import Reading
from gateway.output_command import output_lines, sampler_line
from gateway.quality_letter import action_for, quality_letter
from gateway.status_buses import bus_lines

if TYPE_CHECKING:
    from gateway.app import GatewayApp

__all__ = ["run_status", "status_of"]


async def status_of(app: "GatewayApp") -> dict[str, Any]:
    """Everything worth knowing about a running gateway, JSON-able."""
    now = app.now()
    texts = app.texts.counts
    sinks: dict[str, Any] = {}
    for delivery in app.deliveries:
        stored = await app.journal.counts(delivery.name)
        counts = delivery.counts
        oldest_us = stored.oldest_unsent_utc_us
        sinks[delivery.name] = {
            "published": counts.published,
            "acknowledged": counts.acknowledged,
            "unsent": stored.unsent,
            "oldest_unsent": None if oldest_us is None else iso_utc(oldest_us),
            "rejected": stored.rejected,
        }
    return {
        "site": app.site.id,
        "name": app.site.name,
        "version": __version__,
        "boot": app.clock.axis,
        "now": iso_utc(now.utc_us),
        "clock_trusted": now.synced,
        "running_s": round((now.mono_us - app.started.mono_us) / 1e6, 1),
        "discharge": app.pipeline.discharge(now).value,
        "channels": {name: _channel(app, name, now.mono_us) for name in app.site.channels},
        "maintenance": app.pipeline.maintenance.lines(now),
        "maintenance_today_s": {
            name: round(us / 1e6) for name, us in app.pipeline.maintenance.today_us(now).items() if us
        },
        "calibration": app.pipeline.calibrations.standing(),
        "time_zone": app.site.time_zone,
        "alarms": [line for line in alarm_lines(app.pipeline) if line["state"] != "normal"],
        "outputs": output_lines(app.pipeline.watches),
        "sampler": sampler_line(app.pipeline.watches, now),
        "texts": {"owed": len(await app.journal.outbox_due()), "accepted": texts.accepted, "failed": texts.failed},
        "sinks": sinks,
        "buses": {bus.bus.name: asdict(bus.health()) for bus in app.buses},
        "journal": {"last_seq": await app.journal.last_seq(), "pending": app.journal.pending},
        "unrecorded_commits": app.unrecorded,
        "faults": dict(app.faults),
    }


def _channel(app: "GatewayApp", name: str, now_us: int) -> dict[str, Any]:
    reading: Reading | None = app.latest.get(name)
    unit = app.site.channels[name].unit
    if reading is None:
        return {"value": None, "unit": unit, "quality": "missing", "letter": "F", "age_s": None}
    return {
        "value": reading.value,
        "unit": unit,
        "quality": reading.quality.name.lower(),
        "letter": quality_letter(reading),
        "tests": list(reading.tests),
        "action": action_for(reading),
        "age_s": round((now_us - reading.at.mono_us) / 1e6, 1),
    }


def run_status(state_directory: Path, out: TextIO, *, as_json: bool) -> int:
    """Body of `status`: 0 and the health of the running gateway, 1 when none runs."""
    try:
        answer = asyncio.run(ask(socket_path(state_directory), {"command": "status"}))
    except NotRunningError as error:
        out.write(json.dumps({"running": False, "why": str(error)}) + "\n" if as_json else f"not running: {error}\n")
        return 1
    status = answer["status"]
    if as_json:
        out.write(json.dumps({"running": True, **status}, allow_nan=False) + "\n")
        return 0
    out.write("\n".join(_lines(status)) + "\n")
    return 0


def _lines(status: dict[str, Any]) -> list[str]:
    trust = "trusted" if status["clock_trusted"] else "NOT TRUSTED"
    lines = [
        f"{status['name']} ({status['site']})  version {status['version']}  running {status['running_s']:.0f} s",
        f"clock {status['now']} {trust}  discharge: {status['discharge']}",
        "",
        "channel            value  unit     q  age",
    ]
    for name, channel in status["channels"].items():
        value = "-" if channel["value"] is None else f"{channel['value']:.5g}"
        age = "never" if channel["age_s"] is None else f"{channel['age_s']:.0f} s"
        tests = " ".join(channel.get("tests", ()))
        lines.append(f"{name:<16} {value:>8}  {channel['unit']:<8} {channel['letter'] or '-'}  {age}  {tests}".rstrip())
        if channel.get("action"):
            lines.append(f"{'':<16} -> {channel['action']}")
    lines.append("")
    lines += [stay_line(stay, status["time_zone"]) for stay in status["maintenance"]]
    if today := status["maintenance_today_s"]:
        lines.append("maintenance today: " + ", ".join(f"{name} {s / 60:.0f} min" for name, s in today.items()))
    lines += [
        f"ALARM {alarm['id']} #{alarm['occurrence']} {alarm['state']} {alarm['severity']}: {alarm['reason']}"
        for alarm in status["alarms"]
    ] or ["no alarm stands"]
    lines += [
        f"OUTPUT {one['output']} {'shut until released' if one['latched'] else 'on'}: {one['why']} {one['by']}".rstrip()
        for one in status["outputs"]
        if one["is_on"] or one["latched"]
    ]
    if composite := status["sampler"]["composite"]:
        doubt = "" if composite["complete"] else f"; INCOMPLETE: {'; '.join(composite['incomplete'])}"
        lines.append(f"composite {composite['composite']}: {composite['aliquots']} aliquots{doubt}")
    texts = status["texts"]
    lines.append(f"texts: {texts['accepted']} accepted, {texts['owed']} waiting, {texts['failed']} failed")
    for name, sink in status["sinks"].items():
        oldest = f", oldest {sink['oldest_unsent']}" if sink["oldest_unsent"] else ""
        lines.append(f"sink {name}: {sink['acknowledged']} acknowledged, {sink['unsent']} unsent{oldest}")
    lines += bus_lines(status["buses"])
    lines += [f"FAULT {name}: {why}" for name, why in status["faults"].items()]
    return lines
