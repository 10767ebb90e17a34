"""The bodies of `outputs` and `sampler`: they ask the running gateway and print its answer."""

import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

from gateway.check_words import print_table
from gateway.control import ask_running

__all__ = ["run_outputs", "run_sampler"]

_STATES = {True: "on", False: "off", None: "unknown"}


def run_outputs(state: Path | None, by: str, args: dict[str, Any], out: TextIO, *, as_json: bool) -> int:
    """List the outputs or move one. 0 when it was ordered, 1 with the reason when it was refused.

    NotRunningError when no gateway answers.
    """
    answer = _ask(state, "outputs", by, args)
    if as_json:
        out.write(json.dumps(answer) + "\n")
    elif not answer["ok"]:
        out.write(f"refused: {answer['error']}\n")
    elif args["action"] != "list":
        out.write(f"{args['output']}: ordered; `outputs list` and the journal say what became of it\n")
    elif not answer["outputs"]:
        out.write("this site drives nothing\n")
    else:
        print_table([_row(one) for one in answer["outputs"]], out)
    return 0 if answer["ok"] else 1


def run_sampler(state: Path | None, by: str, args: dict[str, Any], out: TextIO, *, as_json: bool) -> int:
    """Show the sampler or act on it; as `run_outputs`."""
    answer = _ask(state, "sampler", by, args)
    if as_json:
        out.write(json.dumps(answer) + "\n")
    elif not answer["ok"]:
        out.write(f"refused: {answer['error']}\n")
    else:
        out.writelines(f"{line}\n" for line in _lines(answer["sampler"]))
    return 0 if answer["ok"] else 1


def _ask(state: Path | None, command: str, by: str, args: dict[str, Any]) -> dict[str, Any]:
    request = {"command": command, "actor": by, "args": args, "id": uuid.uuid4().hex}
    return ask_running(state, request)


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    at_rest = "pulsed" if one["role"].startswith("sampler-") else _STATES[None]  # a pulse is over when one looks
    state = (at_rest if one["is_on"] is None else _STATES[one["is_on"]]) + (
        ", shut until released" if one["latched"] else ""
    )
    return (one["output"], one["role"], f"{one['device']} {one['place']}", state, one["why"], one["by"])


def _lines(sampler: dict[str, Any]) -> Iterator[str]:
    composite, grab = sampler["composite"], sampler["grab"]
    if composite is not None:
        complete = "complete so far" if composite["complete"] else f"INCOMPLETE: {'; '.join(composite['incomplete'])}"
        volume = composite["flow_total_gal"]
        water = "" if volume is None else f", {volume:.0f} gal by"
        yield f"composite {composite['composite']}, bottle {composite['bottle']}, started by {composite['started_by']}"
        yield f"  {composite['aliquots']} aliquots, {composite['volume_ml']:g} mL{water}; {complete}"
        yield f"  {composite['pace']}"
    elif sampler["has_composite"]:
        yield "no composite is under way"
    if grab is not None:
        locked = f"; no other event for {grab['locked_out_s'] / 60:.0f} min" if grab["locked_out_s"] else ""
        yield f"event bottles: {grab['used']} of {grab['bottles']} used{locked}"
        yield from (f"  to collect: {one}" for one in grab["to_collect"])
    if grab is None and not sampler["has_composite"]:
        yield "this site has no sampler"
