"""What the running gateway does with the command `lab`: take results, try them out, list them.

Results become notes of the journal, findings and conditions; whoever calls this commits them before answering.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.model import Condition, Finding, Instant, LabResult, Note, Verdict
from gateway.rules.lab_result import result_body, result_from, said_result
from gateway.rules.laboratory import Laboratory

__all__ = ["MOST_RESULTS", "LabStep", "carry_out"]

MOST_RESULTS = 2000  # of one request: more would not fit a line of the control socket
_MOST_LISTED = 500
_MOST_FINDINGS = 1000


@dataclass(frozen=True, slots=True)
class LabStep:
    """What one command produced: to be recorded first (`notes`, `findings`, `state`), then answered."""

    answer: dict[str, Any]
    findings: tuple[Finding, ...] = ()
    conditions: tuple[Condition, ...] = ()
    notes: tuple[Note, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)


def carry_out(laboratory: Laboratory, args: Mapping[str, Any], now: Instant) -> LabStep:
    """Carry out `{"action": "add", "results": [...], "check": bool}` or `{"action": "list", "analyte": ...}`.

    ValueError, with nothing taken, says in words what is wrong.
    """
    action = args.get("action", "add")
    if action == "list":
        return LabStep(_listed(laboratory, str(args.get("analyte") or "")))
    if action != "add":
        raise ValueError(f"lab knows add and list, not {action!r}")
    bodies = args.get("results")
    if not isinstance(bodies, list) or not 1 <= len(bodies) <= MOST_RESULTS:
        raise ValueError(f"lab add takes a list of 1 to {MOST_RESULTS} results")
    results = [result_from(body) for body in bodies]
    if args.get("check"):
        return LabStep(_answer(laboratory, results, laboratory.preview(results, now), {"check": True}))
    fresh = [result for result in results if not laboratory.holds(result)]
    findings = laboratory.add_all(results, now)
    return LabStep(
        _answer(laboratory, results, findings, {"repeated": len(results) - len(fresh)}),
        tuple(findings),
        tuple(laboratory.conditions(findings)),
        tuple(Note("lab_result", now, result_body(result)) for result in fresh),
        laboratory.changes(),
    )


def _answer(
    laboratory: Laboratory, results: list[LabResult], findings: list[Finding], more: dict[str, Any]
) -> dict[str, Any]:
    """What was taken and what it meant; the exceedances stay when there is too much to say."""
    told = findings
    if len(findings) > _MOST_FINDINGS:
        told = [finding for finding in findings if finding.verdict is Verdict.EXCEEDED][:_MOST_FINDINGS]
    return {
        "ok": True,
        "results": [
            {
                "id": result.id,
                "version": result.version,
                "said": f"{result.analyte} {said_result(result)}",
                "words": laboratory.words(result),
            }
            for result in results
        ],
        "findings": [
            {
                "event": finding.event.value,
                "verdict": finding.verdict.value,
                "rule": finding.rule,
                "clause": finding.clause,
                "reason": finding.reason,
                "window": finding.context["window"],
                "source": finding.source,
            }
            for finding in told
        ],
        "findings_left_out": len(findings) - len(told),
        **more,
    }


def _listed(laboratory: Laboratory, analyte: str) -> dict[str, Any]:
    """The newest results with what each rule says of them, newest last; JSON-able."""
    every = [result for result in laboratory.results if analyte in ("", result.analyte)]
    return {
        "ok": True,
        "left_out": max(0, len(every) - _MOST_LISTED),
        "results": [
            {
                **result_body(result),
                "said": f"{result.analyte} {said_result(result)}",
                "words": laboratory.words(result),
                "verdicts": [
                    {"rule": rule.alarm, "window": key, "verdict": one.verdict.value, "reason": one.reason}
                    for rule, key, one in laboratory.standing(result)
                ],
            }
            for result in every[-_MOST_LISTED:]
        ],
    }
