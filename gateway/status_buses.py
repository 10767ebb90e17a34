"""How ports and devices are, in words: the part of `status` that a technician reads first when values are missing."""

from collections.abc import Mapping
from typing import Any

__all__ = ["bus_lines"]

# What is worth a word when it is not nought, of a device and of a port.
_DEVICE_COUNTS = {
    "timeouts": "timeouts",
    "bad_check_sums": "bad check sums",
    "exceptions": "exceptions",
    "bad_replies": "wrong answers",
    "late_answers": "late answers",
    "desyncs": "times out of step",
    "missed_slots": "polls missed",
}
_PORT_COUNTS = {
    "missed_slots": "polls missed",
    "foreign_frames": "foreign answers",
    "noisy_answers": "answers behind noise",
    "echoes": "echoes",
    "resets": "resets",
}
_LOUD = {"down": "DOWN", "port down": "port down", "unheard": "not heard yet"}


def bus_lines(buses: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """A line for each port and each device of it; `buses` as in the status (`health.BusHealth`, JSON-able)."""
    lines = []
    for name, bus in buses.items():
        state = "open" if bus["connected"] else "closed"
        if bus["state"] == "down":
            state = f"DOWN for {_for(bus['down_s'])}: {bus['why']}"
        lines.append(f"port {name} {bus['where']}: {state}{_counts(bus, _PORT_COUNTS)}")
        lines += [f"  {_device(device)}" for device in bus["devices"]]
    return lines


def _device(device: Mapping[str, Any]) -> str:
    state = _LOUD.get(device["state"], device["state"])
    if device["state"] == "down":
        state += f" for {_for(device['down_s'])}: {device['why']}"
    said = f"{device['device']} (unit {device['unit']}): {state}"
    if device["fast"]:
        said += ", polled faster"
    if device["polls"]:
        said += f"; {device['answered']} of {device['polls']} polls answered"
    if device["answered"]:
        p50, p95, p99 = (device[f"latency_{p}_us"] / 1e3 for p in ("p50", "p95", "p99"))
        said += f", half within {p50:.0f} ms, 95 % {p95:.0f} ms, 99 % {p99:.0f} ms"
    return said + _counts(device, _DEVICE_COUNTS)


def _counts(of: Mapping[str, Any], words: Mapping[str, str]) -> str:
    told = [f"{of[key]} {word}" for key, word in words.items() if of[key]]
    return f"; {', '.join(told)}" if told else ""


def _for(duration_s: float | None) -> str:
    seconds = round(duration_s or 0)
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
