"""`lab add`, `lab import` and `lab list`: they hand results to the running gateway and print its answer."""

import json
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from gateway.control import NotRunningError, ask_running
from gateway.errors import InputError
from gateway.isotime import iso_utc
from gateway.lab_command import MOST_RESULTS
from gateway.lab_csv import read_results, result_of_row, zone_named
from gateway.model import LabResult
from gateway.rules.lab_result import result_body

__all__ = ["run_add", "run_import", "run_list"]

_LONGEST_REQUEST = 1_000_000  # the control socket takes lines of 1 MiB


def run_add(
    state: Path | None, row: Mapping[str, str], out: TextIO, *, time_zone: str | None, check: bool, as_json: bool
) -> int:
    """Enter one result, its fields named as the columns of a file are. 0 when it was taken, 1 when refused.

    Raises InputError with every mistake of its fields, NotRunningError when no gateway answers.
    """
    result, found = result_of_row({key: value.strip() for key, value in row.items()}, zone_named(time_zone))
    if result is None:
        raise InputError("\n".join(f"lab add: --{column.replace('_', '-')} {words}" for column, words in found))
    return _send(state, (result,), result.entered_by, out, check=check, as_json=as_json)


def run_import(
    state: Path | None,
    path: Path,
    by: str,
    out: TextIO,
    *,
    time_zone: str | None,
    check: bool,
    as_json: bool,
) -> int:
    """Enter every result of a file, or none. `by` signs the import, and stands where the file does not say who.

    Raises InputError with every mistake of the file, NotRunningError when no gateway answers.
    """
    results = read_results(path, zone_named(time_zone), by)
    if len(results) > MOST_RESULTS:
        raise InputError(f"{path}: holds {len(results)} results; an import takes {MOST_RESULTS}: split the file")
    return _send(state, results, by, out, check=check, as_json=as_json)


def run_list(state: Path | None, analyte: str | None, out: TextIO, *, as_json: bool) -> int:
    """Print the results on record with what each rule says of them. NotRunningError when no gateway answers."""
    answer = ask_running(state, {"command": "lab", "args": {"action": "list", "analyte": analyte}})
    if as_json or not answer["ok"]:
        out.write((json.dumps(answer) if as_json else f"refused: {answer['error']}") + "\n")
        return 0 if answer["ok"] else 1
    if answer["left_out"]:
        out.write(f"({answer['left_out']} older results left out; name an analyte to see fewer)\n")
    if not answer["results"]:
        out.write("no laboratory result on record\n")
    for result in answer["results"]:
        when = iso_utc(result["start_utc_us"])
        if result["stop_utc_us"] != result["start_utc_us"]:
            when += f" to {iso_utc(result['stop_utc_us'])}"
        out.write(f"{result['id']} v{result['version']} {result['said']} {result['sample_type']} {when}\n")
        out.writelines(f"  {one['verdict']} {one['rule']}: {one['reason']}\n" for one in result["verdicts"])
        if not result["verdicts"]:
            out.write(f"  {result['words']}\n")
    return 0


def _send(state: Path | None, results: Sequence[LabResult], by: str, out: TextIO, *, check: bool, as_json: bool) -> int:
    args = {"action": "add", "check": check, "results": [result_body(result) for result in results]}
    request = {"command": "lab", "actor": by, "args": args, "id": "" if check else uuid.uuid4().hex}
    if len(json.dumps(request)) > _LONGEST_REQUEST:
        raise InputError(f"{len(results)} results are too long for one entry: split the file")
    try:
        answer = ask_running(state, request)
    except (NotRunningError, InputError) as error:
        if not check:
            raise
        plain = {"ok": True, "check": True, "judged": False, "read": len(results), "why": str(error)}
        words = f"{_count(results)} read without a mistake; not judged: {error}"
        out.write((json.dumps(plain) if as_json else words) + "\n")
        return 0
    if as_json:
        out.write(json.dumps(answer) + "\n")
    elif answer["ok"]:
        _print(answer, results, out, check=check)
    else:
        out.write(f"refused: {answer['error']}\n")
    return 0 if answer["ok"] else 1


def _print(answer: dict[str, Any], results: Sequence[LabResult], out: TextIO, *, check: bool) -> None:
    out.writelines(
        f"{result['id']} v{result['version']} {result['said']}: {result['words']}\n" for result in answer["results"]
    )
    for one in answer["findings"]:
        source = "" if one["source"] == "ordinance" else f", by {one['source']}"
        out.write(f"{one['verdict']} {one['rule']} ({one['clause']}{source}): {one['reason']}\n")
    if answer["findings_left_out"]:
        out.write(f"({answer['findings_left_out']} findings that exceed nothing left out)\n")
    repeated = answer.get("repeated", 0)
    told = f"{_count(results)} {'tried, nothing recorded' if check else 'recorded'}"
    out.write(told + (f", {repeated} of them on record already\n" if repeated else "\n"))


def _count(results: Sequence[LabResult]) -> str:
    return "1 result" if len(results) == 1 else f"{len(results)} results"
