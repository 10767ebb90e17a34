"""The bodies of `maintenance start`, `stop` and `list`: they ask the running gateway and print its answer."""

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO
from zoneinfo import ZoneInfo

from gateway.control import ask_running

__all__ = ["run_list", "run_start", "run_stop", "stay_line"]


def run_start(
    state: Path | None, channels: Sequence[str], by: str, reason: str, lasts: str | None, out: TextIO, *,
    station: bool, as_json: bool,
) -> int:  # fmt: skip
    """Put channels, or the station, into maintenance. 0 when it is on record, 1 with the reason when refused."""
    args = {"action": "start", "channels": list(channels), "station": station, "reason": reason, "for": lasts}
    return _say(_ask(state, args, by), out, as_json=as_json)


def run_stop(state: Path | None, channels: Sequence[str], by: str, out: TextIO, *, station: bool, as_json: bool) -> int:
    """End maintenance, or sign off one that expired. 0 when it is on record, 1 with the reason when refused."""
    args = {"action": "stop", "channels": list(channels), "station": station}
    return _say(_ask(state, args, by), out, as_json=as_json)


def run_list(state: Path | None, out: TextIO, *, as_json: bool) -> int:
    """Print who works on what. Raises NotRunningError when no gateway answers."""
    return _say(_ask(state, {"action": "list"}, ""), out, as_json=as_json)


def stay_line(stay: dict[str, Any], zone: str) -> str:
    """One stay: where, until when, who, since when, why."""
    mode, scope = stay["mode"].upper(), stay["scope"]
    since, until = (_local(stay[key], zone) for key in ("since_utc_us", "until_utc_us"))
    who = f"{stay['by']} since {since}: {stay['reason']}"
    if stay["state"] == "in progress":
        return f"{mode} {scope} until {until} ({stay['left_s'] // 60} min left), {who}"
    settling = ", the first minutes after it are doubtful" if stay["settling"] else ""
    unsigned = ", NOBODY SIGNED OFF" if stay["unsigned"] else ""
    return f"{mode} {scope} {stay['state']} {until}{unsigned}{settling}, {who}"


def _ask(state: Path | None, args: dict[str, Any], by: str) -> dict[str, Any]:
    request = {"command": "maintenance", "actor": by, "args": args, "id": uuid.uuid4().hex}
    return ask_running(state, request)


def _say(answer: dict[str, Any], out: TextIO, *, as_json: bool) -> int:
    if as_json:
        out.write(json.dumps(answer) + "\n")
    elif not answer["ok"]:
        out.write(f"refused: {answer['error']}\n")
    else:
        lines = [stay_line(stay, answer["time_zone"]) for stay in answer["maintenance"]]
        out.writelines(f"{line}\n" for line in lines or ["nobody works on anything"])
        if today := answer["today_s"]:
            out.write("today: " + ", ".join(f"{name} {s / 60:.0f} min" for name, s in today.items()) + "\n")
    return 0 if answer["ok"] else 1


def _local(utc_us: int, zone: str) -> str:
    return datetime.fromtimestamp(utc_us // 1_000_000, UTC).astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M %Z")
