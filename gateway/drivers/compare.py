"""The body of `replay --compare`: the same recorded series through two sites, side by side.

What another limit, baseline or pack would have done on data that is already there. stdout is JSON Lines: the events
of both sites ordered by time, each with `site` (`here` or `other`), a line `compared` for every rule either of them
judges, and a closing line with what differs.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

from gateway.drivers.recorded import ColumnMap, RecordedSeries
from gateway.drivers.replay import replay
from gateway.site import Site

__all__ = ["compare", "run_compare"]

_HERE, _OTHER = "here", "other"


def run_compare(
    site: Site,
    other: Site,
    data: Path,
    out: TextIO,
    *,
    mapping: ColumnMap | None = None,
    time_zone: str | None = None,
) -> int:
    """Replay `data` against both sites and print JSON Lines. Returns 0; InputError for a file that cannot be read."""
    both = [replay(one, RecordedSeries(data, one.channels, mapping, time_zone)) for one in (site, other)]
    encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
    out.writelines(encode(line) + "\n" for line in compare(*both))
    return 0


def compare(here: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Two replays of one series (events, then a summary each) as one list."""
    events = [{"site": _HERE, **event} for event in here[:-1]] + [{"site": _OTHER, **event} for event in other[:-1]]
    events.sort(key=lambda event: event["at"])  # stable: within one moment, here first
    accounts = [_accounts(here), _accounts(other)]
    lines, differing = [], []
    for key in dict.fromkeys([*accounts[0], *accounts[1]]):
        mine, theirs = accounts[0].get(key), accounts[1].get(key)
        same = mine == theirs
        if not same:
            differing.append({"rule": key[0], "channel": key[1]})
        lines.append(
            {"event": "compared", "rule": key[0], "channel": key[1], "same": same, _HERE: mine, _OTHER: theirs}
        )
    closing = {
        "event": "comparison",
        "from": here[-1]["from"],
        "to": here[-1]["to"],
        "rows": here[-1]["rows"],
        "differing": differing,
    }
    return [*events, *lines, closing]


def _accounts(lines: Sequence[dict[str, Any]]) -> dict[tuple[str, str], dict[str, Any]]:
    """For each rule on each channel: what it proved, against which limit, and where its time went."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for spent in lines[-1]["rules"]:
        seconds = {name: value for name, value in spent.items() if name.endswith("_s")}
        found[spent["rule"], spent["channel"]] = {
            "raised": 0,
            "suspected": 0,
            "limit": None,
            "extreme": None,
            **seconds,
        }
    for event in lines[:-1]:
        account = found[event["rule"], event["channel"]]
        if event["event"] in ("raised", "suspected"):
            account[event["event"]] += 1
        if event["limit"] is not None:
            account["limit"] = event["limit"]
        if event["event"] in ("raised", "cleared", "interrupted") and event["extreme"] is not None:
            account["extreme"] = event["extreme"]
    return found
