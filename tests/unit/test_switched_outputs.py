"""Horn, beacon, valve and relay: who gives them orders, and when they are silent."""

import pytest

from gateway.baseline_command import Signed
from gateway.model import FindingEvent, Instant, Order, Outcome, Resume, Sample, Severity, Verdict
from gateway.output_command import carry_out
from gateway.outputs.switched import Valve
from gateway.outputs.wired import Output, OutputRole, Result
from gateway.pipeline import Pipeline
from gateway.step import Step
from tests.support.wired_site import S, at, done, finding, output, undone, wired_site

HORN = output("horn", OutputRole.HORN)
VALVE = output("valve", OutputRole.VALVE, safe="hold", shuts_on=("lv-ph-low",), approved_by="Super")


def ph(second: float, value: float) -> Sample:
    """A pH sample."""
    return Sample("ph", at(second), (), value)


def orders(outcome: Outcome) -> list[tuple[str, str]]:
    """Output and action of each order."""
    return [(order.output, order.action) for order in outcome.orders]


def low_ph(pipeline: Pipeline, start: float) -> Outcome:
    """Three samples below the limit, which prove it."""
    outcome = Outcome()
    for n in range(3):
        outcome = pipeline.process([ph(start + 15 * n, 3.9), flow(start + 15 * n)], at(start + 15 * n))
    return outcome


def flow(second: float) -> Sample:
    """Discharging, at half the slug."""
    return Sample("flow", at(second), (), 20.0)


def horn_site(**more: object) -> Pipeline:
    """A pipeline with a horn."""
    pipeline = Pipeline(wired_site(outputs=(output("horn", OutputRole.HORN, **more),)), at(0))
    pipeline.restore({}, Resume(at(0), 0))
    return pipeline


def test_the_horn_sounds_until_acknowledged() -> None:
    """On with the alarm, off with the acknowledgement although the cause stands, and an order is on record before."""
    pipeline = horn_site()
    told = low_ph(pipeline, 15)
    assert orders(told) == [("horn", "on")]
    assert [n.body["output"] for n in told.notes if n.kind == "order"] == ["horn"]
    assert [key for key in told.state if key.startswith("order:")] == [f"order:{told.orders[0].key}"]
    pipeline.carried(done(told.orders[0], 46), at(46))
    step = pipeline.engine.acknowledge("lv-ph-low", None, "Ann", at(50))
    assert orders(pipeline.carry(step, at(50))) == [("horn", "off")]


def test_the_horn_sounds_on_when_the_cause_goes_away() -> None:
    """An alarm that is over but that nobody has seen still sounds (lock-in, ISA-18.1)."""
    pipeline = horn_site()
    low_ph(pipeline, 15)
    for n in range(20):
        outcome = pipeline.process([ph(60 + 15 * n, 7.0), flow(60 + 15 * n)], at(60 + 15 * n))
        assert orders(outcome) == []
    assert pipeline.engine.view()[1].state.name == "RETURNED_UNACKNOWLEDGED"


def test_a_lesser_alarm_does_not_sound() -> None:
    """A horn from `critical` on is silent for a high alarm."""
    assert orders(low_ph(horn_site(from_severity=Severity.CRITICAL), 15)) == []


def test_a_shelved_alarm_is_silent() -> None:
    """Putting the alarm aside silences the horn too."""
    pipeline = horn_site()
    low_ph(pipeline, 15)
    step = pipeline.engine.shelve("lv-ph-low", at(9000).mono_us, "Ann", "known", at(60))
    assert orders(pipeline.carry(step, at(60))) == [("horn", "off")]


def test_a_horn_that_does_not_obey_is_told_again_and_told_of() -> None:
    """A failed order raises `output-horn`, is given again after a minute under another key, and clears when done."""
    pipeline = horn_site()
    first = low_ph(pipeline, 15).orders[0]
    failed = pipeline.carried(undone(first, 46), at(46))
    assert [(e.alarm, e.edge.value) for e in failed.alarm_events] == [("output-horn", "raised")]
    assert failed.state[f"order:{first.key}"] is None
    assert orders(pipeline.tick(at(100))) == []
    again = pipeline.tick(at(107))
    assert orders(again) == [("horn", "on")]
    assert again.orders[0].key != first.key
    cleared = pipeline.carried(done(again.orders[0], 108), at(108))
    assert [(e.alarm, e.edge.value) for e in cleared.alarm_events] == [("output-horn", "cleared")]


def test_a_safe_state_that_was_written_later_is_not_ordered_once_more() -> None:
    """The start could not silence the horn, a later try could: it is off, and no order follows."""
    pipeline = horn_site()
    own = Order("horn", "off", at(1), at(1), "the gateway's own", "off-horn-1")
    failed = pipeline.carried(undone(own, 1), at(1))
    assert [(e.alarm, e.edge.value) for e in failed.alarm_events] == [("output-horn", "raised")]
    pipeline.carried(done(own, 50), at(50))
    assert pipeline.watches.switched["horn"].is_on is False
    assert orders(pipeline.tick(at(62))) == []


def test_an_alarm_from_before_the_restart_sounds_again() -> None:
    """The safe state of the start is off; an alarm that still waits turns the horn on again at once."""
    before = horn_site()
    state = dict(low_ph(before, 15).state)
    after = Pipeline(before.site, at(200))
    assert orders(after.restore(state, Resume(at(200), 0))) == [("horn", "on")]


def test_an_order_under_way_is_never_repeated() -> None:
    """After a restart an order of which nobody knows the end is written off; the next has another key."""
    before = horn_site()
    told = low_ph(before, 15)
    after = Pipeline(before.site, at(200))
    outcome = after.restore(dict(told.state), Resume(at(200), 0))
    ends = [(n.body["key"], n.body["result"]) for n in outcome.notes if n.kind == "order_done"]
    assert ends == [(told.orders[0].key, "interrupted")]
    assert outcome.state[f"order:{told.orders[0].key}"] is None
    assert told.orders[0].key not in {order.key for order in outcome.orders}


def valve() -> Valve:
    """A valve that low pH shuts."""
    return Valve(VALVE, Severity.HIGH, at(0))


@pytest.mark.parametrize(
    ("event", "verdict", "shuts"),
    [
        (FindingEvent.RAISED, Verdict.EXCEEDED, True),
        (FindingEvent.SUSPECTED, Verdict.SUSPECTED, False),
        (FindingEvent.RAISED, Verdict.SUSPECTED, False),
        (FindingEvent.PREALARM, Verdict.COMPLIANT, False),
        (FindingEvent.NOT_EVALUABLE, Verdict.NOT_EVALUABLE, False),
    ],
)
def test_only_proof_shuts_the_valve(event: FindingEvent, verdict: Verdict, shuts: bool) -> None:
    """A proven exceedance of a rule that was signed for shuts it; nothing less does, and no other rule."""
    said = Step()
    valve().found(finding(10, event, verdict=verdict), said)
    assert bool(said.orders) is shuts
    other = Step()
    valve().found(finding(10, FindingEvent.RAISED, rule="lv-slug-flow"), other)
    assert not other.orders


def test_only_a_person_opens_the_valve() -> None:
    """Not the end of the exceedance, not a tick, not a restart; and no person while it is still exceeded."""
    shut, said = valve(), Step()
    shut.found(finding(10, FindingEvent.RAISED), said)
    assert [o.action for o in said.orders] == ["on"]
    with pytest.raises(ValueError, match="still exceeded"):
        shut.set_manual(None, "Super", "release", at(20), Step())
    quiet = Step()
    shut.found(finding(30, FindingEvent.CLEARED), quiet)
    shut.tick(at(500), quiet)
    assert not quiet.orders
    again = valve()
    again.restore({f"output:{VALVE.name}": quiet.state[f"output:{VALVE.name}"]}, Resume(at(600), 0), Step())
    assert again.latched
    restarted = Step()
    again.tick(at(600), restarted)
    assert [o.action for o in restarted.orders] == ["on"]
    opened = Step()
    again.set_manual(None, "Super", "cleaned", at(700), opened)
    assert [o.action for o in opened.orders] == ["off"]
    assert not again.latched


def test_a_second_exceedance_shuts_it_again() -> None:
    """After a release the next proof shuts it as the first did."""
    shut = valve()
    shut.found(finding(10, FindingEvent.RAISED), Step())
    shut.found(finding(20, FindingEvent.CLEARED), Step())
    shut.set_manual(None, "Super", "over", at(30), Step())
    said = Step()
    shut.found(finding(40, FindingEvent.RAISED), said)
    assert [o.action for o in said.orders] == ["on"]


def test_a_valve_that_failed_to_shut_is_told_again() -> None:
    """Not done is not shut: told again a minute later, as long as it takes."""
    pipeline = Pipeline(wired_site(outputs=(VALVE,)), at(0))
    first = low_ph(pipeline, 15)
    assert orders(first) == [("valve", "on")]
    pipeline.carried(undone(first.orders[0], 46, Result.EXPIRED), at(46))
    assert orders(pipeline.tick(at(107))) == [("valve", "on")]


def test_orders_expire() -> None:
    """An order carries the moment after which it must not be done: the output's own time after it was given."""
    told = low_ph(horn_site(expires_us=45 * S), 15).orders[0]
    moment: Instant = told.expires
    assert moment.mono_us - told.at.mono_us == 45 * S


def test_relay_only_by_people() -> None:
    """No alarm moves a relay."""
    relay: Output = output("relay1", OutputRole.RELAY)
    pipeline = Pipeline(wired_site(outputs=(relay,)), at(0))
    assert orders(low_ph(pipeline, 15)) == []


def test_a_rule_that_shuts_it_no_more_keeps_no_valve_shut_for_good() -> None:
    """Shut by a rule that the site file then takes from `shuts_on`: it stays shut, and a person may open it."""
    before = Pipeline(wired_site(outputs=(VALVE,)), at(0))
    state = dict(low_ph(before, 15).state)
    assert before.watches.latched == {"valve"}
    changed = output("valve", OutputRole.VALVE, safe="hold", shuts_on=("lv-slug-flow",), approved_by="Super")
    after = Pipeline(wired_site(outputs=(changed,)), at(60))
    assert orders(after.restore(state, Resume(at(60), 0))) == []
    assert after.watches.latched == {"valve"}
    said = Step()
    after.watches.switched["valve"].set_manual(None, "Super", "rule withdrawn", at(70), said)
    assert [o.action for o in said.orders] == ["off"]


def test_a_valve_whose_rule_still_stands_after_a_restart_is_not_released() -> None:
    """A restart that finds the exceedance where it was opens no way around it."""
    before = Pipeline(wired_site(outputs=(VALVE,)), at(0))
    state = dict(low_ph(before, 15).state)
    after = Pipeline(before.site, at(60))
    after.restore(state, Resume(at(60), 0))
    with pytest.raises(ValueError, match="still exceeded"):
        after.watches.switched["valve"].set_manual(None, "Super", "no", at(61), Step())


@pytest.mark.parametrize(("safe", "ended"), [("hold", [("relay1", "off")]), ("off", [])])
def test_a_pulse_that_the_end_of_the_gateway_cut(safe: str, ended: list[tuple[str, str]]) -> None:
    """Killed in mid-pulse, an output that holds its state at the start is told to be off; others rest at off anyway."""
    pipeline = Pipeline(wired_site(outputs=(output("relay1", OutputRole.RELAY, safe=safe),)), at(0))
    signed = Signed("Ann", "bench", "1", at(5))
    _, step = carry_out(pipeline.watches, "outputs", {"action": "test", "output": "relay1", "reason": "t"}, signed)
    told = pipeline.said(step, at(5))
    assert orders(told) == [("relay1", "pulse")]
    after = Pipeline(pipeline.site, at(60))
    assert orders(after.restore(dict(told.state), Resume(at(60), 0))) == ended
