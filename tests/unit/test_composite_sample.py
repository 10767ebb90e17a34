"""The composite sample: pulses, aliquots, what makes it incomplete, and that its pace never changes."""

from dataclasses import replace
from itertools import pairwise

import pytest

from gateway.model import Mode, Note, Order, Resume, Sample
from gateway.outputs.composite import CompositeWatch
from gateway.outputs.wired import CompositePlan, ContactRole, OutputRole, Result
from gateway.pipeline import Pipeline
from gateway.signals.qc import Evidence
from gateway.step import Step
from tests.support.wired_site import MIN, S, at, done, output, reading, undone, wired_site

PACE = output("pace", OutputRole.SAMPLER_PACE)
# 10 gal a pulse: at 20 gpm one every 30 s.
PLAN = CompositePlan("pace", "flow", 10.0, None, 5 * S, 100.0, 1000.0, 60 * MIN, idle_below=2.0)


class Bench:
    """One composite watch, fed a flow every 15 s, whose orders are done at once unless told otherwise."""

    def __init__(self, plan: CompositePlan = PLAN) -> None:
        self.watch = CompositeWatch(plan, PACE, at(0))
        self.watch.restore({}, Resume(at(0), 0), Step())
        self.orders: list[Order] = []
        self.notes: list[Note] = []
        self.alarms: list[tuple[bool | None, str, str]] = []
        self.state: dict[str, object] = {}
        self.result = Result.DONE

    def take(self, said: Step, second: float) -> None:
        """Keep what was said, and carry out the orders."""
        self.notes += said.notes
        self.alarms += [(c.active, c.severity.name, c.reason) for c in said.conditions]
        self.state |= said.state
        for order in said.orders:
            self.orders.append(order)
            more = Step()
            what = done(order, second) if self.result is Result.DONE else undone(order, second, self.result)
            self.watch.carried(what, more)
            self.take(more, second)

    def start(self, second: float = 0) -> None:
        """Start a composite."""
        said = Step()
        self.watch.start("Ann", "B1", "", at(second), said)
        self.take(said, second)

    def flow(self, first: float, last: float, gpm: float | None, mode: Mode = Mode.RUN) -> None:
        """Flow every 15 s from the first to the last second, and a tick at each."""
        for second in range(round(first), round(last) + 1, 15):
            said = Step()
            weight = Evidence.VALID if gpm is not None and mode is Mode.RUN else Evidence.VOID
            self.watch.hear(reading("flow", second, gpm, mode), weight, said)
            self.watch.tick(at(second), said)
            self.take(said, second)

    def ended(self) -> dict[str, object]:
        """The body of the note that ends the composite."""
        return next(dict(n.body) for n in self.notes if n.kind == "composite_ended")


def test_one_pulse_for_every_volume() -> None:
    """20 gpm for ten minutes are 200 gal: twenty pulses of 10 gal, each an aliquot on record, of 100 mL."""
    bench = Bench(replace(PLAN, bottle_ml=10_000.0))
    bench.start()
    bench.flow(0, 600, 20.0)
    aliquots = [n.body for n in bench.notes if n.kind == "aliquot"]
    assert len(bench.orders) == len(aliquots) == 20
    assert (aliquots[-1]["aliquot"], aliquots[-1]["volume_ml"], aliquots[-1]["bottle"]) == (20, 100.0, "B1")
    assert aliquots[-1]["flow_total_gal"] == pytest.approx(200.0)
    assert len({order.key for order in bench.orders}) == 20


def test_no_pulse_between_composites() -> None:
    """Without a composite nothing is paced, whatever flows; and two at a time there are not."""
    bench = Bench()
    bench.flow(0, 600, 20.0)
    assert bench.orders == []
    bench.start(615)
    with pytest.raises(ValueError, match="under way"):
        bench.start(620)


def test_a_gap_makes_it_incomplete_in_minutes() -> None:
    """Five minutes without a known flow: no pulse then or later for them, and the composite says 5 min at its end."""
    bench = Bench(replace(PLAN, bottle_ml=100_000.0))
    bench.start()
    bench.flow(0, 600, 20.0)
    made = len(bench.orders)
    bench.flow(615, 885, None)
    assert len(bench.orders) == made
    bench.flow(900, 3600, 20.0)
    end = bench.ended()
    assert end["unknown_flow_min"] == pytest.approx(5.0)
    assert not end["complete"]
    assert end["incomplete"] == ["5.0 min without a known flow"]
    assert bench.alarms[-1][:2] == (True, "WARNING")


def test_nothing_is_discharged() -> None:
    """Below the discharge threshold no volume counts: an hour at 1 gpm makes no pulse and is no gap."""
    bench = Bench()
    bench.start()
    bench.flow(0, 3600, 1.0)
    assert bench.orders == []
    assert bench.ended()["complete"]


def test_held_for_maintenance() -> None:
    """While the flow is in maintenance there is no pulse, and the held minutes are on the composite's record."""
    bench = Bench(replace(PLAN, bottle_ml=100_000.0))
    bench.start()
    bench.flow(0, 600, 20.0)
    made = len(bench.orders)
    bench.flow(615, 1200, 20.0, Mode.MAINTENANCE)
    assert len(bench.orders) == made
    bench.flow(1215, 3600, 20.0)
    end = bench.ended()
    assert end["maintenance_min"] == pytest.approx(10.0, abs=0.3)
    assert not end["complete"]


def test_the_bottle_is_never_overfilled() -> None:
    """1,000 mL hold ten aliquots of 100: after the tenth the composite is over, however much flows."""
    bench = Bench()
    bench.start()
    bench.flow(0, 1800, 20.0)
    assert len(bench.orders) == 10
    assert (bench.ended()["aliquots"], bench.ended()["volume_ml"]) == (10, 1000.0)
    assert "INCOMPLETE" in bench.alarms[-1][2]


def test_faster_than_the_sampler() -> None:
    """Pulses are never closer than the sampler's cycle, and those that could not be made are counted."""
    bench = Bench(replace(PLAN, spacing_us=120 * S, bottle_ml=100_000.0))
    bench.start()
    bench.flow(0, 3600, 20.0)
    times = [order.at.mono_us for order in bench.orders]
    assert min(b - a for a, b in pairwise(times)) >= 120 * S
    end = bench.ended()
    assert end["pulses"] + end["pulses_lost"] == 119  # 1,200 gal / 10, the last one still waiting
    assert not end["complete"]


@pytest.mark.parametrize("result", [Result.FAILED, Result.EXPIRED, Result.INTERRUPTED, Result.REFUSED])
def test_a_pulse_nobody_can_vouch_for_is_no_aliquot(result: Result) -> None:
    """What failed, came too late or was cut short is no aliquot, and makes the composite incomplete."""
    bench = Bench(replace(PLAN, bottle_ml=100_000.0))
    bench.result = result
    bench.start()
    bench.flow(0, 3600, 20.0)
    end = bench.ended()
    assert end["aliquots"] == 0
    assert end["pulses_undone"] == end["pulses"] > 100
    assert not end["complete"]


def test_the_samplers_own_count() -> None:
    """Every hundredth pulse is an aliquot when the sampler counts to a hundred."""
    bench = Bench(replace(PLAN, pulses_per_aliquot=10, bottle_ml=100_000.0))
    bench.start()
    bench.flow(0, 900, 20.0)
    assert (len(bench.orders), sum(n.kind == "aliquot" for n in bench.notes)) == (30, 3)


def test_the_sampler_confirms_or_not() -> None:
    """A contact that confirmed two of twenty aliquots makes the composite doubtful; a full bottle ends it."""
    bench = Bench(replace(PLAN, bottle_ml=100_000.0))
    bench.start()
    bench.flow(0, 600, 20.0)
    said = Step()
    for second in (601, 602):
        bench.watch.contact(ContactRole.SAMPLE_TAKEN, at(second), True, said)
        bench.watch.contact(ContactRole.SAMPLE_TAKEN, at(second), False, said)
    bench.watch.contact(ContactRole.BOTTLE_FULL, at(610), True, said)
    bench.take(said, 610)
    end = bench.ended()
    assert (end["confirmed"], end["aliquots"], end["complete"]) == (2, 20, False)
    assert "full" in str(end["why"])


def test_volume_is_carried_over_a_restart() -> None:
    """Half a pulse's water before the restart and half after it are one pulse; the pulse number goes on."""
    before = Bench()
    before.start()
    before.flow(0, 45, 20.0)  # 15 gal: one pulse, half of the next
    assert len(before.orders) == 1
    after = Bench()
    after.watch.restore(before.state, Resume(at(50), 0), Step())
    after.flow(60, 60, 20.0)
    assert [order.key.rpartition(":")[2] for order in after.orders] == ["2"]


def test_readings_heard_again_make_no_pulse() -> None:
    """After a restart the journal's readings are heard again: none of them counts twice."""
    before = Bench(replace(PLAN, bottle_ml=100_000.0))
    before.start()
    before.flow(0, 600, 20.0)
    after = Bench(replace(PLAN, bottle_ml=100_000.0))
    after.watch.restore(before.state, Resume(at(610), 0), Step())
    after.flow(0, 600, 20.0)
    assert after.orders == []
    assert after.watch.status(at(610)) == before.watch.status(at(610))


def test_the_pace_never_changes_under_way() -> None:
    """A site file with another volume ends the composite at the restart, says so, and starts no other."""
    before = Bench()
    before.start()
    before.flow(0, 60, 20.0)
    after = Bench(replace(PLAN, volume_gal=5.0))
    said = Step()
    after.watch.restore(before.state, Resume(at(70), 0), said)
    after.take(said, 70)
    end = after.ended()
    assert "another pace" in str(end["why"])
    assert not end["complete"]
    assert "10.0 gal" in str(end["pace"])
    assert not after.watch.running
    assert after.alarms[-1][:2] == (True, "WARNING")


def test_away_for_nobody_knows_how_long() -> None:
    """A restart with no place in time goes on, and the composite is incomplete."""
    before = Bench(replace(PLAN, bottle_ml=100_000.0))
    before.start()
    before.flow(0, 60, 20.0)
    after = Bench(replace(PLAN, bottle_ml=100_000.0))
    after.watch.restore(before.state, Resume(at(100), None), Step())
    after.flow(105, 4000, 20.0)
    assert "nobody knows how long" in str(after.ended()["incomplete"])


def test_time_paced() -> None:
    """One pulse every ten minutes, none while nothing is discharged, and no slot made up."""
    bench = Bench(replace(PLAN, volume_gal=None, every_us=10 * MIN))
    bench.start()
    bench.flow(0, 1200, 20.0)
    bench.flow(1215, 1800, 1.0)
    bench.flow(1815, 3600, 20.0)
    assert [order.at.mono_us // MIN for order in bench.orders] == [0, 10, 20, 40, 50]
    assert bench.ended()["idle_slots"] == 1


def test_who_started_and_who_ended_it() -> None:
    """Both are named; without a name neither is done."""
    bench = Bench()
    with pytest.raises(ValueError, match="who you are"):
        bench.watch.start(" ", "", "", at(0), Step())
    bench.start()
    with pytest.raises(ValueError, match="who you are"):
        bench.watch.stop("", "", at(5), Step())
    said = Step()
    bench.watch.stop("Bob", "lunch", at(60), said)
    bench.take(said, 60)
    assert (bench.ended()["started_by"], bench.ended()["by"], bench.ended()["why"]) == (
        "Ann",
        "Bob",
        "ended by hand: lunch",
    )
    with pytest.raises(ValueError, match="no composite"):
        bench.watch.stop("Bob", "", at(61), Step())


def test_a_pulse_under_way_belongs_to_its_composite() -> None:
    """Stopped while a pulse is on its way, a composite is over when that pulse is, and counts it; or gives up on it."""
    for result, aliquots, undone_ones in ((Result.DONE, 1, 0), (None, 0, 1)):
        bench = Bench()
        bench.start()
        said = Step()
        for second in (0, 15, 30):
            bench.watch.hear(reading("flow", second, 20.0), Evidence.VALID, said)
        (order,) = said.orders
        bench.watch.stop("Ann", "", at(31), said)
        assert not [n for n in said.notes if n.kind == "composite_ended"]
        if result is None:
            bench.watch.tick(at(31 + 121), said)
        else:
            bench.watch.carried(done(order, 33), said)
        end = next(n.body for n in said.notes if n.kind == "composite_ended")
        assert (end["aliquots"], end["pulses_undone"]) == (aliquots, undone_ones)
        assert not bench.watch.running


def test_a_bottle_that_is_full_already() -> None:
    """No composite begins into a bottle that the sampler says is full; into a fresh one it does."""
    bench = Bench()
    bench.watch.contact(ContactRole.BOTTLE_FULL, at(0), True, Step())
    with pytest.raises(ValueError, match="fresh one"):
        bench.watch.start("Ann", "", "", at(1), Step())
    bench.watch.contact(ContactRole.BOTTLE_FULL, at(2), False, Step())
    bench.start(3)
    assert bench.watch.running


def test_a_sampler_in_fault_makes_it_doubtful() -> None:
    """What the sampler says of itself during a composite is on its record, and ends nothing."""
    bench = Bench()
    bench.start()
    bench.watch.contact(ContactRole.SAMPLER_FAULT, at(5), True, Step())
    bench.flow(15, 3600, 1.0)
    assert bench.ended()["incomplete"] == ["the sampler said that it was in fault"]


def test_a_fault_from_before_the_start_is_on_the_composites_record() -> None:
    """A sampler that was in fault when the composite began makes it doubtful like one that fails under way."""
    bench = Bench()
    bench.watch.contact(ContactRole.SAMPLER_FAULT, at(0), True, Step())
    bench.start(5)
    bench.flow(15, 3615, 1.0)
    assert bench.ended()["incomplete"] == ["the sampler said that it was in fault"]


def test_a_full_bottle_outlives_a_restart() -> None:
    """The contact that finds the bottle as full as before the restart keeps the next composite out of it."""
    site = wired_site({"full": ContactRole.BOTTLE_FULL}, (PACE,), PLAN)
    before = Pipeline(site, at(0))
    before.process([Sample("full", at(1), (0,), 0.0)], at(1))
    state = before.process([Sample("full", at(2), (1,), 1.0)], at(2)).state
    after = Pipeline(site, at(100))
    after.restore(dict(state), Resume(at(100), 0))
    after.process([Sample("full", at(101), (1,), 1.0)], at(101))
    assert after.watches.composite is not None
    with pytest.raises(ValueError, match="fresh one"):
        after.watches.composite.start("Ann", "", "", at(102), Step())


def test_time_paced_samples_when_nobody_knows_the_flow() -> None:
    """A meter that dies while nothing is discharged vouches for its hold only: after that every slot is sampled."""
    bench = Bench(replace(PLAN, volume_gal=None, every_us=10 * MIN, bottle_ml=10_000.0))
    bench.start()
    bench.flow(0, 590, 1.0)
    bench.flow(600, 3600, None)
    assert [order.at.mono_us // MIN for order in bench.orders] == [20, 30, 40, 50]


def test_time_paced_and_away_until_after_the_end() -> None:
    """Three slots of six passed while the gateway was away: they are lost, and the composite is not complete."""
    plan = replace(PLAN, volume_gal=None, flow=None, every_us=10 * MIN, bottle_ml=10_000.0)
    before = Bench(plan)
    before.start()
    for second in range(0, 1201, 15):
        said = Step()
        before.watch.tick(at(second), said)
        before.take(said, second)
    assert len(before.orders) == 3
    after = Bench(plan)
    after.watch.restore(before.state, Resume(at(7200), 0), Step())
    said = Step()
    after.watch.tick(at(7200), said)
    after.take(said, 7200)
    assert (after.ended()["pulses_lost"], after.ended()["complete"]) == (3, False)


def test_time_paced_with_a_meter_that_is_worked_on_and_silent() -> None:
    """Slots that fall into maintenance make it incomplete although no reading says how long it took."""
    held = True
    bench = Bench(replace(PLAN, volume_gal=None, every_us=10 * MIN, bottle_ml=10_000.0))
    bench.watch = CompositeWatch(bench.watch.plan, PACE, at(0), lambda _: held)
    bench.start()
    bench.flow(0, 600, None)
    held = False
    bench.flow(615, 3600, 20.0)
    assert bench.ended()["incomplete"] == ["20.0 min held for maintenance"]
