"""A discharger in batches: between them the probes are dry, so that nobody can say that the alarm's cause has gone."""

from pathlib import Path

import pytest

from gateway.config import load
from gateway.model import FindingEvent, Instant, MessageKind, Outcome, Sample
from gateway.pipeline import Pipeline
from gateway.shipped import shipped
from gateway.site import Site

S = 1_000_000
HOUR = 3600
START = Instant(1_700_000_000_000_000, 0)
FLOW_M3S = 20 * 0.003785411784 / 60
LOW = "lv-ph-low"
NEWS = (MessageKind.RAISED, MessageKind.SEVERITY_UP, MessageKind.REALARM)  # not that nobody has answered


@pytest.fixture(scope="module")
def site() -> Site:
    """The little-valley example: pH below 5.5 on three samples; dry below 2 gpm for 60 s."""
    return load(Path(str(shipped("examples", "little-valley"))), for_replay=True)


def moment(second: int) -> Instant:
    """So many seconds after the start."""
    return Instant(START.utc_us + second * S, second * S)


def poll(pipeline: Pipeline, second: int, ph: float | None, *, wet: bool) -> Outcome:
    """One poll of flow and pH."""
    at = moment(second)
    flow = FLOW_M3S * (1 + second % 7 * 1e-4) if wet else 0.0
    level = 0.1 if wet else 0.0
    samples = [Sample("flow", at, (), flow), Sample("level", at, (), level)]
    if ph is not None:
        samples.append(Sample("ph", at, (), ph + second % 11 * 1e-3))
    return pipeline.process(samples, at)


def batches(pipeline: Pipeline, starts: tuple[int, ...], ack_at: int | None = None) -> tuple[int, int]:
    """Ten minutes at pH 3 from each start, dry until the next; how many exceedances were proven and how many texted."""
    outcomes = []
    for start, end in zip(starts, (*starts[1:], starts[-1] + HOUR), strict=True):
        for second in range(start, end, 15):
            outcomes.append(poll(pipeline, second, 3.0, wet=second < start + 600))
            if ack_at is not None and second <= ack_at < second + 15:
                outcomes.append(
                    pipeline.carry(pipeline.engine.acknowledge(LOW, None, "Ann", moment(second)), moment(second))
                )
    proven = [f for o in outcomes for f in o.findings if f.rule == LOW and f.event is FindingEvent.RAISED]
    texts = [m for o in outcomes for m in o.messages if m.alarm == LOW and m.kind in NEWS and "ONGOING" in m.text]
    assert len({m.dedupe_key for m in texts}) == len(texts)
    return len(proven), len(texts)


def test_every_batch_of_a_day_is_told(site: Site) -> None:
    """Three acid batches, three hours apart, dry between, nobody acknowledges: three exceedances, three texts."""
    assert batches(Pipeline(site, START), (0, 3 * HOUR, 6 * HOUR)) == (3, 3)


def test_a_batch_after_the_acknowledgement_is_told(site: Site) -> None:
    """The first batch is acknowledged; one half an hour later is told, though the alarm never cleared."""
    assert batches(Pipeline(site, START), (0, HOUR // 2), ack_at=900) == (2, 2)


def test_a_run_interrupted_before_the_acknowledgement_is_not_told_again(site: Site) -> None:
    """A gap of a minute in one discharge: proven twice on the record, told once, for nobody has acknowledged it."""
    pipeline = Pipeline(site, START)
    outcomes = [poll(pipeline, second, None if 300 <= second < 360 else 3.0, wet=True) for second in range(0, 900, 15)]
    proven = [f for o in outcomes for f in o.findings if f.rule == LOW and f.event is FindingEvent.RAISED]
    texts = [m for o in outcomes for m in o.messages if m.alarm == LOW and m.kind in NEWS]
    assert (len(proven), len(texts)) == (2, 1)
