"""What the running gateway does with the command `maintenance`: begin, end, sign off, list.

Whoever calls this commits what was said before answering; a refusal too, for what had just expired is said with it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from gateway.baseline_command import Signed
from gateway.maintenance import Maintenance
from gateway.maintenance_entry import STATION
from gateway.model import Mode
from gateway.signals.watch import Said
from gateway.step import Step
from gateway.units import parse_duration_us

__all__ = ["MaintenanceStep", "carry_out"]


@dataclass(frozen=True, slots=True)
class MaintenanceStep:
    """What one command produced: to be recorded first (`said`), then answered."""

    answer: dict[str, Any]
    said: Step = field(default_factory=Step)


def carry_out(maintenance: Maintenance, args: Mapping[str, Any], signed: Signed) -> MaintenanceStep:
    """Carry out `{"action": "start", "channels": [...] or "station": true, "reason": ..., "for": "60 min"}`.

    `stop` takes the same without reason and duration, `list` nothing. What is refused is answered in words.
    """
    said = Step()
    try:
        _act(maintenance, args, signed, said)
    except (LookupError, ValueError) as error:
        words = error.args[0] if error.args else str(error)
        return MaintenanceStep({"ok": False, "error": str(words)}, said)
    now = signed.at
    today = {name: round(us / 1e6) for name, us in maintenance.today_us(now).items() if us}
    return MaintenanceStep({"ok": True, "maintenance": maintenance.lines(now), "today_s": today}, said)


def _act(maintenance: Maintenance, args: Mapping[str, Any], signed: Signed, said: Said) -> None:
    action = args.get("action", "list")
    if action == "list":
        return
    if action not in ("start", "stop"):
        raise ValueError(f"maintenance knows start, stop and list, not {action!r}")
    channels = args.get("channels") or []
    if not isinstance(channels, list) or not all(isinstance(name, str) for name in channels):
        raise ValueError("channels is a list of names")
    if args.get("station") and channels:
        raise ValueError("either some channels or the whole station")
    scopes = [STATION] if args.get("station") else channels
    if STATION in channels:
        raise ValueError("say station for the whole station")
    if action == "stop":
        maintenance.stop(scopes, Mode.MAINTENANCE, signed.actor, signed.via, signed.id, signed.at, said)
        return
    lasts = args.get("for")
    lasts_us = None if lasts is None else parse_duration_us(str(lasts))
    who = (signed.actor, str(args.get("reason", "")), signed.via, signed.id)
    maintenance.start(scopes, Mode.MAINTENANCE, who, lasts_us, signed.at, said)
