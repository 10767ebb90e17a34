"""The same data through two sites: what another limit, baseline or town would have found."""

import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

from gateway.config import load
from gateway.drivers.compare import run_compare
from gateway.shipped import shipped
from gateway.site import Site


def example(name: str) -> Site:
    """A shipped example."""
    return load(Path(str(shipped("examples", name))), for_replay=True)


def flow_data(folder: Path) -> Path:
    """Twenty minutes at 60 gpm, then ten at 12, every 15 s."""
    data = folder / "data.csv"
    rows = [f"2026-11-30T12:{n // 4:02d}:{15 * (n % 4):02d}Z,{60 if n < 80 else 12}" for n in range(120)]
    data.write_text("time,flow\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return data


def compared(here: Site, other: Site, data: Path) -> list[dict]:
    """The lines that `replay --compare` prints."""
    out = StringIO()
    assert run_compare(here, other, data, out) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def test_another_baseline_side_by_side(tmp_path: Path) -> None:
    """Against 10 gpm a slug, against 15 gpm none; both limits, both accounts, and the difference named."""
    here = example("little-valley")
    rules = tuple(
        replace(r, baseline=replace(r.baseline, value=15.0)) if r.id == "lv-slug-flow" and r.baseline else r
        for r in here.rules
    )
    baselines = {**here.baselines, "flow": replace(here.baselines["flow"], value=15.0)}
    lines = compared(here, replace(here, rules=rules, baselines=baselines), flow_data(tmp_path))
    (slug,) = [line for line in lines if line["event"] == "compared" and line["rule"] == "lv-slug-flow"]
    assert not slug["same"]
    assert (slug["here"]["raised"], slug["here"]["limit"], slug["here"]["exceeded_s"]) == (1, 50.0, 1200)
    assert (slug["other"]["raised"], slug["other"]["exceeded_s"]) == (0, 0)
    assert lines[-1]["differing"] == [{"rule": "lv-slug-flow", "channel": "flow"}]


def test_a_site_beside_itself_differs_in_nothing(tmp_path: Path) -> None:
    """Every rule the same, and the events of both in order of time."""
    here = example("little-valley")
    lines = compared(here, here, flow_data(tmp_path))
    assert lines[-1]["differing"] == []
    events = [line for line in lines if "site" in line]
    assert [e["at"] for e in events] == sorted(e["at"] for e in events)
    assert [e["event"] for e in events if e["site"] == "here"] == [e["event"] for e in events if e["site"] == "other"]


def test_another_town_stands_beside_with_nothing_where_it_has_no_such_rule(tmp_path: Path) -> None:
    """Little Valley has a slug of flow, Marlborough a flow rate: each has a line, the other side is null."""
    lines = compared(example("little-valley"), example("marlborough"), flow_data(tmp_path))
    by_rule = {line["rule"]: line for line in lines if line["event"] == "compared" and line["channel"] == "flow"}
    assert by_rule["lv-slug-flow"]["other"] is None
    assert by_rule["mb-flow-rate"]["here"] is None
    assert by_rule["lv-slug-flow"]["here"]["raised"] == 1
    assert by_rule["mb-flow-rate"]["other"]["raised"] == 0
