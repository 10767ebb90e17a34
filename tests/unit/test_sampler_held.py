"""A sampler waits while the station, or the channel that paces it, is being worked on."""

from dataclasses import replace

import pytest

from gateway.model import FindingEvent
from gateway.outputs.composite import CompositeWatch
from gateway.outputs.grab import GrabWatch
from gateway.pipeline import Pipeline
from gateway.step import Step
from tests.support.maintenance_site import START, Visit, visited_site
from tests.support.wired_site import MIN, S, at, finding
from tests.unit.test_composite_sample import PACE, PLAN
from tests.unit.test_event_grab import CHANNELS, GRAB
from tests.unit.test_event_grab import PLAN as GRAB_PLAN

BY_TIME = replace(PLAN, flow=None, volume_gal=None, every_us=5 * MIN, bottle_ml=10_000.0)


def test_a_composite_by_time_is_held_with_the_station() -> None:
    """A pulse every 5 min for half an hour, held for the second ten minutes of it: two slots less, 10 min on record."""
    held = [False]
    watch = CompositeWatch(BY_TIME, PACE, at(0), lambda channel: held[0] and channel is None)
    said = Step()
    watch.start("Ann", "B1", "", at(0), said)
    for minute in range(30):
        held[0] = 10 <= minute < 20
        watch.tick(at(minute * 60), said)
    assert [order.at.mono_us // S for order in said.orders] == [0, 300, 1200, 1500]
    status = watch.status(at(1800))
    assert status is not None
    assert status["maintenance_min"] == pytest.approx(10.0)
    assert status["complete"] is False


def test_a_composite_by_volume_asks_for_its_own_channel() -> None:
    """The pH may be worked on all day: a flow-paced sampler asks for the flow."""
    asked: list[str | None] = []
    watch = CompositeWatch(PLAN, PACE, at(0), lambda channel: bool(asked.append(channel)))
    said = Step()
    watch.start("Ann", "B1", "", at(0), said)
    watch.tick(at(60), said)
    assert set(asked) == {"flow"}


def test_no_bottle_is_taken_while_the_station_is_worked_on() -> None:
    """An exceedance proven then is left out and written down; afterwards the same one takes its bottle."""
    held = [True]
    watch = GrabWatch(GRAB_PLAN, GRAB, CHANNELS, at(0), lambda _: held[0])
    said = Step()
    watch.found(finding(60, FindingEvent.RAISED), said)
    assert said.orders == []
    (note,) = said.notes
    assert (note.kind, note.body["why"]) == ("grab_left_out", "maintenance")
    held[0] = False
    watch.found(finding(120, FindingEvent.RAISED), said)
    assert len(said.orders) == 1


def test_the_pipeline_gives_its_samplers_the_word_of_maintenance() -> None:
    """In the shipped site with a sampler both watches ask the site's own keeper."""
    visit = Visit(visited_site("sampler"))
    pipeline = Pipeline(visit.site, START)
    for watch in (pipeline.watches.composite, pipeline.watches.grab):
        assert watch is not None
        asked = watch._held if isinstance(watch, CompositeWatch) else watch._station_held
        assert asked == pipeline.maintenance.held
