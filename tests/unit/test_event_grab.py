"""Grab samples of events: what takes a bottle, what does not, and what is on the bottle's record."""

from dataclasses import replace

import pytest

from gateway.model import FindingEvent, Instant, Mode, Note, Order, Resume, Verdict
from gateway.outputs.grab import GrabWatch
from gateway.outputs.wired import GrabPlan, OutputRole, Result
from gateway.signals.qc import Evidence
from gateway.step import Step
from tests.support.wired_site import MIN, at, done, finding, output, reading, undone

GRAB = output("grab", OutputRole.SAMPLER_GRAB)
PLAN = GrabPlan(
    "grab", frozenset({"lv-ph-low", "lv-slug-flow"}), 4, (5 * MIN, 15 * MIN, 30 * MIN), 60 * MIN, {"pH": 15 * MIN},
    flow="flow", idle_below=2.0,
)  # fmt: skip
CHANNELS = frozenset({"ph", "flow"})


class Bench:
    """One grab watch whose orders are done at once unless told otherwise."""

    def __init__(
        self, plan: GrabPlan = PLAN, state: dict[str, object] | None = None, now: Instant | None = None
    ) -> None:
        self.watch = GrabWatch(plan, GRAB, CHANNELS, at(0))
        self.result = Result.DONE
        self.orders: list[Order] = []
        self.notes: list[Note] = []
        self.alarms: list[tuple[str, bool | None, str]] = []
        self.state: dict[str, object] = {}
        said = Step()
        self.watch.restore(state or {}, Resume(now or at(0), 0), said)
        self.take(said, 0)

    def take(self, said: Step, second: float) -> "Bench":
        """Keep what was said, and carry out the orders."""
        self.notes += said.notes
        self.alarms += [(c.alarm, c.active, c.reason) for c in said.conditions]
        self.state |= said.state
        for order in said.orders:
            self.orders.append(order)
            more = Step()
            what = done(order, second) if self.result is Result.DONE else undone(order, second, self.result)
            self.watch.carried(what, more)
            self.take(more, second)
        return self

    def find(self, second: float, event: FindingEvent = FindingEvent.RAISED, **more: object) -> "Bench":
        """A rule found something."""
        said = Step()
        self.watch.found(finding(second, event, **more), said)
        return self.take(said, second)

    def tick(self, second: float) -> "Bench":
        """Time goes by."""
        said = Step()
        self.watch.tick(at(second), said)
        return self.take(said, second)

    def hear(self, second: float, channel: str, value: float, mode: Mode = Mode.RUN) -> "Bench":
        """A reading."""
        weight = Evidence.VALID if mode is Mode.RUN else Evidence.VOID
        said = Step()
        self.watch.hear(reading(channel, second, value, mode), weight, said)
        return self.take(said, second)

    def minutes(self) -> list[float]:
        """When bottles were ordered."""
        return [order.at.mono_us / MIN for order in self.orders]

    def grabs(self) -> list[Note]:
        """The bottles on record."""
        return [note for note in self.notes if note.kind == "grab"]


@pytest.mark.parametrize(
    ("event", "verdict", "rule", "bottles", "what"),
    [
        (FindingEvent.RAISED, Verdict.EXCEEDED, "lv-ph-low", 1, "a proven exceedance"),
        (FindingEvent.PREALARM, Verdict.COMPLIANT, "lv-slug-flow", 1, "a slug that announces itself"),
        (FindingEvent.SUSPECTED, Verdict.SUSPECTED, "lv-ph-low", 0, "a suspicion is no reason to spend a bottle"),
        (FindingEvent.CLEARED, Verdict.COMPLIANT, "lv-ph-low", 0, "the end of an event is none"),
        (FindingEvent.RAISED, Verdict.EXCEEDED, "lv-temperature", 0, "a rule that was not chosen"),
    ],
)
def test_what_takes_a_bottle(event: FindingEvent, verdict: Verdict, rule: str, bottles: int, what: str) -> None:
    """Proof and pre-alarms of the chosen rules take a bottle, nothing else."""
    assert len(Bench().find(10, event, verdict=verdict, rule=rule).orders) == bottles, what


def test_what_is_on_the_bottles_record() -> None:
    """Bottle, event, clause, value and what every sensor showed; the text says what to do by when."""
    bench = Bench().hear(5, "ph", 3.9).hear(5, "flow", 41.0).find(10)
    body = bench.grabs()[0].body
    assert (body["bottle"], body["event"]["rule"], body["event"]["clause"]) == (1, "lv-ph-low", "§ 194-6C(7)")
    assert (body["event"]["observed"], body["event"]["limit"], body["result"]) == (3.9, 5.5, "done")
    assert {name: one["value"] for name, one in body["values"].items()} == {"ph": 3.9, "flow": 41.0}
    alarm, active, reason = bench.alarms[-1]
    assert (alarm, active) == ("sampler-grab", True)
    assert "bottle 1 for lv-ph-low" in reason
    assert "pH within 15 min" in reason


def test_the_lock_out() -> None:
    """For an hour after a bottle no other event takes one; after that it does."""
    bench = Bench(replace(PLAN, follow_ups_us=()))
    bench.find(0).find(600, rule="lv-slug-flow").find(3599).find(3600)
    assert bench.minutes() == [0, 60]


def test_the_follow_ups() -> None:
    """5, 15 and 30 min after the event, whatever the lock-out; each on record as one."""
    bench = Bench().find(0)
    for second in range(0, 3000, 30):
        bench.tick(second)
    assert bench.minutes() == [0, 5, 15, 30]
    assert [n.body["what"] for n in bench.grabs()] == ["the event itself", *["a follow-up"] * 3]


def test_no_follow_up_without_a_discharge_or_in_maintenance() -> None:
    """A follow-up that falls into no discharge or maintenance is left out, with why."""
    bench = Bench().find(0).hear(290, "flow", 0.5).tick(301).hear(880, "flow", 30.0, Mode.MAINTENANCE).tick(901)
    bench.hear(1700, "flow", 30.0).tick(1801)
    assert bench.minutes() == [0, 30]
    assert [n.body["why"] for n in bench.notes if n.kind == "grab_left_out"] == ["no discharge", "maintenance"]


def test_all_bottles_are_used() -> None:
    """The last bottle says so at once; the next event gets none and is on record; fresh bottles end both."""
    bench = Bench(replace(PLAN, bottles=1, follow_ups_us=()))
    bench.find(0)
    assert ("sampler-bottles", True) in [a[:2] for a in bench.alarms]
    bench.find(4000)
    assert len(bench.orders) == 1
    assert [n.body["why"] for n in bench.notes if n.kind == "grab_left_out"] == ["no bottle is left"]
    said = Step()
    bench.watch.fresh_bottles("Ann", at(5000), said)
    bench.take(said, 5000)
    assert [a[:2] for a in bench.alarms[-2:]] == [("sampler-grab", False), ("sampler-bottles", False)]
    assert len(bench.find(8000).orders) == 2
    assert bench.grabs()[-1].body["bottle"] == 1


@pytest.mark.parametrize(
    ("result", "next_bottle", "what"),
    [
        (Result.EXPIRED, 1, "never sent: the sampler has not moved on"),
        (Result.REFUSED, 1, "likewise"),
        (Result.FAILED, 2, "nobody knows: the bottle may be full"),
        (Result.INTERRUPTED, 2, "likewise"),
    ],
)
def test_the_bottle_count_follows_the_sampler(result: Result, next_bottle: int, what: str) -> None:
    """A bottle that was certainly not taken keeps its number for the next event; a doubtful one is spent."""
    bench = Bench(replace(PLAN, follow_ups_us=()))
    bench.result = result
    bench.find(0)
    bench.result = Result.DONE
    bench.find(4000)
    assert bench.grabs()[-1].body["bottle"] == next_bottle, what


def test_a_restart_keeps_bottles_lock_out_and_follow_ups() -> None:
    """After a restart lock-out and follow-ups go on at their times; one that was missed is left out."""
    before = Bench().find(0)
    after = Bench(state=before.state, now=at(400))
    after.tick(400).find(500)
    for second in range(500, 2000, 30):
        after.tick(second)
    assert after.minutes() == [15, 30]
    assert [n.body["why"] for n in after.notes if n.kind == "grab_left_out"] == ["too late"]
    assert [n.body["bottle"] for n in after.grabs()] == [2, 3]


def test_nobody_changes_bottles_namelessly() -> None:
    """Whoever collects is part of the custody."""
    with pytest.raises(ValueError, match="who you are"):
        Bench().watch.fresh_bottles(" ", at(1), Step())


@pytest.mark.parametrize("result", [Result.EXPIRED, Result.REFUSED])
def test_an_event_without_its_bottle_locks_nobody_out(result: Result) -> None:
    """A bottle that was certainly not taken (the line was down) leaves the next event its own, after a restart too."""
    bench = Bench(replace(PLAN, follow_ups_us=()))
    bench.result = result
    bench.find(0)
    again = Bench(replace(PLAN, follow_ups_us=()), state=bench.state, now=at(60))
    again.find(60)
    assert [n.body["bottle"] for n in again.grabs()] == [1]


def test_an_event_that_is_locked_out_is_on_record() -> None:
    """Another rule's event within the hour gets no bottle, which is written down; the proof of the same is no news."""
    bench = Bench(replace(PLAN, follow_ups_us=()))
    bench.find(0, FindingEvent.PREALARM).find(300).find(600, rule="lv-slug-flow")
    assert bench.minutes() == [0]
    left = [(n.body["event"]["rule"], n.body["why"]) for n in bench.notes if n.kind == "grab_left_out"]
    assert left == [("lv-slug-flow", "another event took a bottle just now")]


def test_a_follow_up_when_nobody_knows_the_flow() -> None:
    """A meter whose last word was no discharge, and that is silent since, keeps no bottle from its follow-up."""
    bench = Bench().find(0).hear(10, "flow", 0.5).tick(301)
    assert bench.minutes() == [0, 5]
