"""`baselines list` and `baselines approve`: they ask the running gateway and print its answer."""

import json
import uuid
from pathlib import Path
from typing import Any, TextIO

from gateway.control import ask_running

__all__ = ["run_approve", "run_list"]


def run_list(state: Path | None, out: TextIO, *, as_json: bool) -> int:
    """Print the three baselines of each channel, and which is in force. NotRunningError when no gateway answers."""
    return _say(ask_running(state, {"command": "baselines", "args": {"action": "list"}}), out, as_json=as_json)


def run_approve(state: Path | None, channel: str, by: str, reason: str, out: TextIO, *, as_json: bool) -> int:
    """Approve what one channel measures now. 0 when it was recorded, 1 with the reason when it was refused."""
    args = {"action": "approve", "channel": channel, "reason": reason}
    answer = ask_running(state, {"command": "baselines", "actor": by, "args": args, "id": uuid.uuid4().hex})
    return _say(answer, out, as_json=as_json)


def _say(answer: dict[str, Any], out: TextIO, *, as_json: bool) -> int:
    if as_json:
        out.write(json.dumps(answer) + "\n")
    elif not answer["ok"]:
        out.write(f"refused: {answer['error']}\n")
    elif not answer["baselines"]:
        out.write("no rule of this site rests on a baseline\n")
    else:
        for one in answer["baselines"]:
            out.writelines(f"{line}\n" for line in _lines(one))
    return 0 if answer["ok"] else 1


def _lines(one: dict[str, Any]) -> list[str]:
    unit = one["unit"]
    said = f"in force {one['method'] or 'none'}"
    said += f" {one['value']:.4g} {unit}" if one["value"] is not None else f", cannot tell: {one['reason']}"
    if one["drift"] is not None:
        said += f"; normal operation is {one['drift']:+.0%} from the approved {one['approved']:.4g} {unit}"
    lines = [f"{one['channel']}: {said}"]
    for figure in one["figures"]:
        value = f"cannot tell: {figure['reason']}" if figure["value"] is None else f"{figure['value']:.4g} {unit}"
        window = f" ({figure['window']})" if figure["window"] else ""
        lines.append(f"  {figure['method']:<12} {value}{window}")
    return lines
