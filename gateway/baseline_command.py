"""What the running gateway does with the command `baselines`: show all three side by side, approve a drift.

Re-baselining is an audited action: who, when, why, what stood before and what stands after (docs/judging.md 4.9).
Whoever calls this commits the note before answering.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.model import Instant, Note
from gateway.rules.accounts import Accounts, baseline_key
from gateway.rules.baseline import Baselines

__all__ = ["BaselineStep", "Signed", "carry_out"]


@dataclass(frozen=True, slots=True)
class Signed:
    """Who asks, through what, and when."""

    actor: str
    via: str
    id: str
    at: Instant


@dataclass(frozen=True, slots=True)
class BaselineStep:
    """What one command produced: to be recorded first (`notes`, `state`), then answered."""

    answer: dict[str, Any]
    notes: tuple[Note, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)


def carry_out(accounts: Accounts, args: Mapping[str, Any], signed: Signed, settled: Instant) -> BaselineStep:
    """Carry out `{"action": "list"}` or `{"action": "approve", "channel": ..., "reason": ...}`.

    `settled` is the latest moment up to which every reading was fed. ValueError or LookupError, with nothing changed,
    says in words what is wrong.
    """
    action = args.get("action", "list")
    if action == "list":
        return BaselineStep({"ok": True, "baselines": [_line(one, settled) for one in accounts.baselines.values()]})
    if action != "approve":
        raise ValueError(f"baselines knows list and approve, not {action!r}")
    reason, channel = str(args.get("reason", "")).strip(), str(args.get("channel", ""))
    if not signed.actor.strip():
        raise ValueError("say who you are: a baseline is signed")
    if not reason:
        raise ValueError("a baseline is approved with a reason: it is part of the evidence")
    baselines = accounts.baselines.get(channel)
    if baselines is None:
        known = ", ".join(accounts.baselines) or "none"
        raise LookupError(f"no baseline of {channel!r}; channels with one are {known}")
    change = baselines.approve(settled)
    body = {**change, "by": signed.actor, "reason": reason, "via": signed.via, "id": signed.id}
    return BaselineStep(
        {"ok": True, "baselines": [_line(baselines, settled)]},
        (Note("rebaselined", signed.at, body),),
        {baseline_key(channel): baselines.state()},
    )


def _line(baselines: Baselines, settled: Instant) -> dict[str, Any]:
    """One channel, JSON-able: the three, which is in force and at what value, and what drift is measured from."""
    standing = baselines.standing(settled)
    return {
        "channel": baselines.channel,
        "unit": baselines.unit,
        **standing.record(),
        "value": standing.value,
        "reason": standing.reason if standing.value is None else "",
        "approved": baselines.state()["approved"],
        "drift": baselines.drift(standing),
    }
