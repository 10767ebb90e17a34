"""The bodies of `calibrate`: they ask the running gateway and print its answer."""

import json
import uuid
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO
from zoneinfo import ZoneInfo

from gateway.control import ask_running
from gateway.maintenance_actions import stay_line

__all__ = ["ask_calibration", "found_lines", "run_abandon", "run_begin", "run_calibrations", "run_record"]


def ask_calibration(state: Path | None, action: str, channel: str, by: str = "", **args: Any) -> dict[str, Any]:
    """One request and its answer. NotRunningError when no gateway answers."""
    request = {
        "command": "calibration",
        "actor": by,
        "args": {"action": action, "channel": channel, **args},
        "id": uuid.uuid4().hex,
    }
    return ask_running(state, request)


def run_begin(
    state: Path | None, channel: str, by: str, reason: str, lasts: str | None, out: TextIO, *, as_json: bool
) -> int:
    """Put a channel into calibration. 0 when it is on record, 1 with the reason when refused."""
    answer = ask_calibration(state, "begin", channel, by, **{"reason": reason, "for": lasts})
    return _say(answer, out, as_json=as_json)


def run_abandon(state: Path | None, channel: str, by: str, out: TextIO, *, as_json: bool) -> int:
    """End a calibration without a record of it. 0 when that is on record, 1 with the reason when refused."""
    return _say(ask_calibration(state, "abandon", channel, by), out, as_json=as_json)


def run_record(
    state: Path | None, channel: str, by: str, record: Mapping[str, Any], out: TextIO, *, check: bool, as_json: bool
) -> int:
    """Record a calibration, or with `check` say what it would come to. 0 when it was taken, 1 when refused."""
    return _say(ask_calibration(state, "record", channel, by, record=dict(record), check=check), out, as_json=as_json)


def run_calibrations(state: Path | None, channel: str, out: TextIO, *, as_json: bool) -> int:
    """Print the history of one channel, or of all: slope, offset, errors, what is due when."""
    answer = ask_calibration(state, "list", channel)
    if as_json or not answer["ok"]:
        return _say(answer, out, as_json=as_json)
    for name, history in answer["calibrations"].items():
        standing = answer["standing"].get(name, {"due": None, "overdue": False})
        due = "no date for the next" if standing["due"] is None else f"next due {standing['due']}"
        out.write(f"{name}: {due}{', OVERDUE' if standing['overdue'] else ''}\n")
        out.writelines(f"  {_history_line(kept, answer['time_zone'])}\n" for kept in history)
        if (more := standing.get("records", 0) - len(history)) > 0:
            out.write(f"  {more} older ones are in the journal\n")
        if not history:
            out.write("  no calibration on record\n")
    if not answer["calibrations"]:
        out.write("no calibration on record\n")
    return 0


def found_lines(found: Mapping[str, Any]) -> list[str]:
    """What a calibration comes to, for people."""
    lines = []
    for name, standard in found["standards"].items():
        errors = [
            f"{word} {found[key][name]:+.3g}"
            for key, word in (("errors_found", "as found"), ("errors_left", "as left"))
            if name in found[key]
        ]
        lines.append(f"standard {name} = {standard['value']:.4g} ({standard['from']}): {', '.join(errors) or 'unused'}")
    if found["fouling_error"] is not None:
        lines.append(f"fouling {found['fouling_error']:+.3g}, by cleaning")
    if found["slope_percent"] is not None:
        offset = "" if found["offset_mv"] is None else f", offset {found['offset_mv']:+.1f} mV"
        lines.append(f"slope {found['slope_percent']:.1f} % ({found['band']}){offset}, by {found['slope_from']}")
    if found["drift_since_last"] is not None:
        lines.append(f"drift since the last one {found['drift_since_last']:+.3g}")
    lines += [f"WARNING {words}" for words in found["warnings"]]
    lines += [f"CANNOT BE ACCEPTED: {words}" for words in found["refused"]]
    return lines


def _say(answer: dict[str, Any], out: TextIO, *, as_json: bool) -> int:
    if as_json:
        out.write(json.dumps(answer) + "\n")
        return 0 if answer["ok"] else 1
    if not answer["ok"]:
        out.write(f"refused: {answer['error']}\n")
        return 1
    if "calibration" in answer:
        kept = answer["calibration"]
        word = "accepted" if kept["record"]["accepted"] else "REJECTED"
        out.write(f"recorded as {kept['id']}, {word}, signed by {kept['record']['technician']}\n")
    if "found" in answer:
        out.writelines(f"{line}\n" for line in found_lines(answer["found"]))
    if answer.get("due"):
        out.write(f"next due {answer['due']}\n")
    out.writelines(f"{stay_line(stay, answer['time_zone'])}\n" for stay in answer.get("maintenance", ()))
    return 0


def _history_line(kept: Mapping[str, Any], zone: str) -> str:
    record, found = kept["record"], kept["found"]
    at = datetime.fromtimestamp(record["stopped_utc_us"] // 1_000_000, UTC).astimezone(ZoneInfo(zone))
    word = "corrected" if kept["corrected"] else "accepted" if record["accepted"] else "REJECTED"
    said = [f"{kept['id']} {at:%Y-%m-%d %H:%M %Z} {record['reason']} {word} by {record['technician']}"]
    if found["slope_percent"] is not None:
        said.append(f"slope {found['slope_percent']:.1f} %")
    if found["offset_mv"] is not None:
        said.append(f"offset {found['offset_mv']:+.1f} mV")
    for key, words in (("fouling_error", "fouling"), ("drift_since_last", "drift")):
        if found[key] is not None:
            said.append(f"{words} {found[key]:+.3g}")
    return ", ".join(said)
