"""What an outcome asks of the journal: when to commit at once, and what a finding says it was judged by."""

from pathlib import Path

from gateway.config import load
from gateway.model import Instant, Outcome, Sample
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.site import Site

UTC_US = 1_700_000_000_000_000


def example() -> Site:
    """The shipped site with a declared flow baseline of 10 gpm: above 50 gpm exceeds."""
    return load(Path(str(shipped("examples", "little-valley"))), for_replay=True)


def polls(site: Site, flows_gpm: list[float]) -> list[Outcome]:
    """The outcome of each poll of the flow, one every 15 s, in the meter's own unit."""
    gain = site.channels["flow"].conversion.gain
    moments = [Instant(UTC_US + 15_000_000 * n, 15_000_000 * n) for n in range(len(flows_gpm))]
    pipeline = Pipeline(site, moments[0])
    return [
        pipeline.process([Sample("flow", at, (), flow / gain)], at) for at, flow in zip(moments, flows_gpm, strict=True)
    ]


def test_every_poll_is_committed_while_a_run_is_under_way() -> None:
    """From the first exceeding sample on, long before anything is said: what a kill -9 may cost is one poll."""
    outcomes = polls(example(), [30.0] * 8 + [60.0] * 10)
    exceeding = outcomes[8:]
    assert not any(o.findings or o.alarm_events or o.messages for o in exceeding)
    assert all(o.urgent for o in exceeding)
    assert all("rule:lv-slug-flow" in o.state for o in exceeding)


def test_ordinary_polls_wait_for_the_batch() -> None:
    """Nothing happens (and the other channels have not been silent for their hold yet): no fsync for it."""
    assert not any(o.urgent or o.state for o in polls(example(), [30.0] * 3)[1:])


def test_a_finding_names_what_it_was_judged_by() -> None:
    """The hashes of configuration, pack and baseline in force, as the record must hold them."""
    site = example()
    (rule,) = [r for r in site.rules if r.id == "lv-slug-flow"]
    assert rule.baseline is not None
    found = [f for o in polls(site, [60.0] * 62) for f in o.findings if f.rule == "lv-slug-flow"]
    assert [f.event.value for f in found] == ["prealarm", "prealarm", "raised"]
    for finding in found:
        assert finding.hashes == {
            "config": site.config_hash, "pack": rule.pack_hash, "baseline": rule.baseline.hash,
        }  # fmt: skip
        assert all(len(value) == 64 for value in finding.hashes.values())
