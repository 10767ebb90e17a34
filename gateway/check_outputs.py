"""What `check` says of the outputs: every place that may be written, with what it does there and by whose word."""

from collections.abc import Sequence
from typing import Any, TextIO

from gateway.check_words import print_table
from gateway.outputs.wired import Output
from gateway.site import Site

__all__ = ["print_writes", "writes_of"]


def writes_of(site: Site) -> list[dict[str, Any]]:
    """Every output, JSON-able; nothing else of any device is ever written, but what a profile needs to read it."""
    return [
        {
            "output": one.name,
            "role": str(one.role),
            "bus": site.devices[one.device].bus,
            "unit": site.devices[one.device].unit,
            "kind": one.kind,
            "address": one.address,
            "safe": one.safe,
            "acts": _acts(one),
        }
        for one in site.outputs.values()
    ]


def print_writes(writes: Sequence[dict[str, Any]], out: TextIO) -> None:
    """The same as a table; nothing where nothing is driven."""
    if not writes:
        return
    out.write("\nWrites (addresses on the wire, from 0)\n")
    rows = []
    for one in writes:
        place = f"{one['bus']} unit {one['unit']}"
        rows.append((one["output"], place, f"{one['kind']} {one['address']}", f"safe: {one['safe']}", one["acts"]))
    print_table(rows, out)


def _acts(one: Output) -> str:
    if one.pulsed:
        return f"{one.role}: pulses of {one.pulse_us / 1e6:g} s"
    if one.shuts_on:
        return f"shuts on {', '.join(one.shuts_on)}: signed by {one.approved_by} on {one.approved_on}"
    if one.role in ("horn", "beacon"):
        return f"{one.role}: from {one.from_severity.name.lower()} on, until acknowledged"
    return f"{one.role}: people only"
