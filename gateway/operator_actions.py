"""The bodies of `alarms list` and of the operator's actions: they ask the running gateway and print its answer."""

import json
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TextIO
from zoneinfo import ZoneInfo

from gateway.control import ask_running

__all__ = ["run_action", "run_list"]

_ACKNOWLEDGED = ("C", "F")


def run_list(state: Path | None, out: TextIO, *, as_json: bool, everything: bool) -> int:
    """Print the alarms that stand, or all of them. Raises NotRunningError when no gateway answers."""
    answer = ask_running(state, {"command": "alarms"})
    alarms = [alarm for alarm in answer["alarms"] if everything or alarm["state"] != "normal"]
    if as_json:
        out.write(json.dumps(alarms) + "\n")
    elif not alarms:
        out.write("no alarm stands\n")
    else:
        out.writelines(_line(alarm, answer["time_zone"]) + "\n" for alarm in alarms)
    return 0


def run_action(state: Path | None, action: str, actor: str, args: dict[str, Any], out: TextIO, *, as_json: bool) -> int:
    """Carry out one action; 0 when it was done, 1 with the reason when it was refused."""
    answer = ask_running(state, {"command": action, "actor": actor, "args": args, "id": uuid.uuid4().hex})
    if as_json:
        out.write(json.dumps(answer) + "\n")
    else:
        said = _line(answer["alarm"], answer["time_zone"]) if answer["ok"] else f"refused: {answer['error']}"
        out.write(said + "\n")
    return 0 if answer["ok"] else 1


def _line(alarm: dict[str, Any], zone: str) -> str:
    """One alarm. While it is shelved or out of service, `reason` already names who put it aside, and why."""
    since = "" if alarm["since_utc_us"] is None else f" since {_local(alarm['since_utc_us'], zone)}"
    until = "" if alarm["shelved_until_utc_us"] is None else f" until {_local(alarm['shelved_until_utc_us'], zone)}"
    acknowledged = alarm["letter"] in _ACKNOWLEDGED and alarm["acknowledged_by"]
    by = f" by {alarm['acknowledged_by']}" if acknowledged else ""
    code = f" ({alarm['code']})" if alarm["code"] else ""
    what = f"{alarm['letter']} {alarm['id']} #{alarm['occurrence']}{code} {alarm['state'].replace('_', ' ')}"
    return f"{what}{by}{until}{since} {alarm['severity']}: {alarm['reason']}".rstrip(": ")


def _local(utc_us: int, zone: str) -> str:
    return datetime.fromtimestamp(utc_us // 1_000_000, UTC).astimezone(ZoneInfo(zone)).strftime("%Y-%m-%d %H:%M %Z")
