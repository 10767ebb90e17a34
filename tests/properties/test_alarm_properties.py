"""What no sequence of causes, people and time may do to an alarm. Time is small integers of microseconds."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.alarms.engine import AlarmEngine, EngineStep
from gateway.alarms.memory import from_json, to_json
from gateway.alarms.record import COVERED
from gateway.model import AlarmEdge, AlarmEvent, AlarmState, Condition, Instant, Message, Resume, Severity
from gateway.site import AlarmPolicy, Contact, Site
from tests.support.alarm_site import alarm_site

EVE = Contact("eve", "Eve", ("bench",), from_severity=Severity.NOTICE)
ANN = Contact("ann", "Ann", ("bench",), from_severity=Severity.HIGH)
ALARMS = ("ph", "sensor-ph")
WAITING = (
    AlarmState.UNACKNOWLEDGED,
    AlarmState.RETURNED_UNACKNOWLEDGED,
    AlarmState.LATCHED_UNACKNOWLEDGED,
)


@dataclass(frozen=True)
class Act:
    """One thing that happens: a cause seen, a person's word, or only time."""

    after_us: int
    alarm: str
    what: str
    severity: Severity


def sequences(alarms: Sequence[str], whats: Sequence[str]) -> st.SearchStrategy[list[Act]]:
    """Sequences of these acts on these alarms."""
    after_us = st.sampled_from([0, 1, 1, 2, 3, 6, 12])
    act = st.builds(Act, after_us, st.sampled_from(alarms), st.sampled_from(whats), st.sampled_from(Severity))
    return st.lists(act, min_size=15, max_size=50)


PLAIN = (*["true"] * 4, *["false"] * 4, "within", "cannot tell", "tick", "ack", "reset")
COVERS = ("shelve", "one-shot", "unshelve", "unshelve", "out", "return", "return")
SEQUENCES = sequences(ALARMS[:1], PLAIN) | sequences(ALARMS, (*PLAIN, *PLAIN, *COVERS))
POLICIES = st.builds(
    AlarmPolicy,
    alarm=st.just(""),
    severity=st.just(Severity.HIGH),
    on_delay_us=st.sampled_from([0, 0, 5, 11]),
    off_delay_us=st.sampled_from([0, 7]),
    deadband=st.sampled_from([0.0, 0.2]),
    latching=st.booleans(),
    ack_required=st.booleans(),
    realarm_us=st.sampled_from([None, 9]),
    max_shelve_us=st.just(30),
)
SITES = st.builds(
    lambda ph, sensor, suppressed: alarm_site(
        (EVE, ANN),
        ph=replace(ph, alarm="ph", suppressed_by=("sensor-ph",) if suppressed else ()),
        sensor=replace(sensor, alarm="sensor-ph"),
    ),
    POLICIES,
    POLICIES,
    st.booleans(),
)


def instant(mono_us: int) -> Instant:
    """A moment on both clocks."""
    return Instant(1_000_000 + mono_us, mono_us)


def condition(act: Act) -> Condition | None:
    """What the core says, when the act is a cause."""
    active = {"true": True, "false": False, "within": False, "cannot tell": None}
    if act.what not in active:
        return None
    return Condition(act.alarm, active[act.what], act.severity, act.what, margin=0.1 if act.what == "within" else None)


def do(engine: AlarmEngine, act: Act, now: Instant) -> EngineStep:
    """Let one act happen."""
    cause = condition(act)
    if cause is not None:
        return engine.update([cause], now)
    deeds = {
        "tick": lambda: engine.tick(now),
        "ack": lambda: engine.acknowledge(act.alarm, None, "Ann", now),
        "shelve": lambda: engine.shelve(act.alarm, now.mono_us + 20, "Ann", "why", now),
        "one-shot": lambda: engine.shelve(act.alarm, None, "Ann", "why", now),
        "unshelve": lambda: engine.unshelve(act.alarm, "Ann", now),
        "out": lambda: engine.out_of_service(act.alarm, "Ann", "why", now),
        "return": lambda: engine.return_to_service(act.alarm, "Ann", now),
        "reset": lambda: engine.reset(act.alarm, "Ann", now),
    }
    return deeds[act.what]()


def play(
    site: Site, acts: Sequence[Act], *, every_us: int = 0
) -> tuple[AlarmEngine, list[AlarmEvent], list[Message], int]:
    """Play a sequence, ticking in between as often as asked; the engine, all it said, and the last moment."""
    engine, now_us = AlarmEngine(site), 0
    events: list[AlarmEvent] = []
    messages: list[Message] = []
    for act in acts:
        steps = [engine.tick(instant(t)) for t in range(now_us, now_us + act.after_us, every_us)] if every_us else []
        now_us += act.after_us
        for step in (*steps, do(engine, act, instant(now_us))):
            events += step.events
            messages += step.messages
    return engine, events, messages, now_us


@settings(max_examples=300)
@given(SITES, SEQUENCES)
def test_a_raised_alarm_waits_until_someone_acknowledges_it(site: Site, acts: list[Act]) -> None:
    """Never silently lost: a raise that asks for it is acknowledged, or somebody was told and it is still waiting.

    An occurrence that supersedes one nobody acknowledged takes over its debt.
    """
    engine, events, messages, now_us = play(site, acts)
    for alarm in ALARMS:
        for step in (
            engine.unshelve(alarm, "Ann", instant(now_us)),
            engine.return_to_service(alarm, "Ann", instant(now_us)),
        ):
            events += step.events
            messages += step.messages
    views = {view.id: view for view in engine.view()}
    for alarm in (a for a, policy in site.alarms.items() if policy.ack_required):
        owing = False
        for event in (e for e in events if e.alarm == alarm):
            loud = event.edge in (AlarmEdge.RAISED, AlarmEdge.SEVERITY_UP, AlarmEdge.REALARMED)
            owing = (owing or (loud and event.severity > Severity.NOTICE)) and event.edge is not AlarmEdge.ACKNOWLEDGED
            assert not owing or event.to_state in (*WAITING, *COVERED)
        if owing:
            view = views[alarm]
            assert view.state in (*WAITING, AlarmState.SUPPRESSED)
            told = any(m.alarm == alarm and m.occurrence == view.occurrence for m in messages)
            assert told or view.state is AlarmState.SUPPRESSED


@given(SITES, SEQUENCES)
def test_every_annunciating_edge_tells_each_contact_it_reaches_exactly_once(site: Site, acts: list[Act]) -> None:
    """One message per edge and contact, none from under a cover, and no dedupe key twice."""
    _, events, messages, _ = play(site, acts)
    assert all(e.to_state in WAITING for e in events if e.annunciate and e.edge is not AlarmEdge.CLEARED)
    assert all(e.to_state not in COVERED for e in events if e.annunciate)
    keys = [m.dedupe_key for m in messages]
    assert len(set(keys)) == len(keys)
    due = [
        (e.alarm, e.occurrence, contact.id)
        for e in events
        if e.annunciate and e.edge is not AlarmEdge.CLEARED
        for contact in site.contacts
        if contact.from_severity <= e.severity
    ]
    assert sorted(due) == sorted((m.alarm, m.occurrence, m.recipient) for m in messages if m.kind != "returned")


@given(SITES, SEQUENCES)
def test_a_return_follows_a_raise_to_the_same_person(site: Site, acts: list[Act]) -> None:
    """Nobody hears of the end of something they never heard of."""
    _, _, messages, _ = play(site, acts)
    heard: set[tuple[str, int, str]] = set()
    for message in messages:
        about = (message.alarm, message.occurrence, message.recipient)
        assert message.kind != "returned" or about in heard
        heard.add(about)


@given(SITES, SEQUENCES)
def test_never_two_raises_without_an_end_between(site: Site, acts: list[Act]) -> None:
    """Deadband and delays never yield a second raise of what is still there; occurrences count by one."""
    _, events, _, _ = play(site, acts)
    for alarm in ALARMS:
        raised, occurrence = False, 0
        for event in (e for e in events if e.alarm == alarm):
            if event.edge is AlarmEdge.RAISED:
                assert not raised
                assert event.occurrence == occurrence + 1
                raised, occurrence = True, event.occurrence
            if event.edge is AlarmEdge.CLEARED:
                assert raised
                raised = False


@given(SITES, SEQUENCES, st.lists(st.integers(0, 40), min_size=1, max_size=8))
def test_while_nobody_can_tell_nothing_raises_and_nothing_clears(site: Site, acts: list[Act], waits: list[int]) -> None:
    """From any state: silence, however long and often said, moves no cause."""
    engine, _, _, now_us = play(site, acts)
    engine.update([Condition(alarm, None, Severity.HIGH, "silent") for alarm in ALARMS], instant(now_us))
    for wait_us in waits:
        now_us += wait_us
        unknown = [Condition(alarm, None, Severity.HIGH, "silent") for alarm in ALARMS]
        for step in (engine.tick(instant(now_us)), engine.update(unknown, instant(now_us))):
            moved = {AlarmEdge.RAISED, AlarmEdge.CLEARED, AlarmEdge.SEVERITY_UP, AlarmEdge.SUPERSEDED}
            assert not moved & {e.edge for e in step.events}


@given(SITES, SEQUENCES)
def test_how_often_one_ticks_changes_nothing(site: Site, acts: list[Act]) -> None:
    """Edges are stamped at their deadlines: a tick every microsecond and none at all tell the same story."""
    idle, often = play(site, acts), play(site, acts, every_us=1)
    assert idle[1:] == often[1:]
    assert idle[0].view() == often[0].view()


@given(SITES, SEQUENCES)
def test_state_comes_back_from_json_exactly(site: Site, acts: list[Act]) -> None:
    """At any moment, what is written is read again as it was."""
    engine, _, _, _ = play(site, acts)
    for alarm in ALARMS:
        memory = engine._memories[alarm]
        assert from_json("alarm:x", json.loads(json.dumps(to_json(memory)))) == memory


@settings(max_examples=150)
@given(SITES, SEQUENCES, st.lists(st.integers(0, 40), max_size=3), st.integers(-1000, 1000))
def test_a_restart_at_any_moment_continues_as_if_nothing_had_been(
    site: Site, acts: list[Act], kills: list[int], shift_us: int
) -> None:
    """Killed anywhere, restarted at once and told the same causes again: the same story, save what says `inferred`.

    The causes that were last told are told again, as the pipeline does after a restart; where nobody could tell, both
    engines are told so. The restarted process may have another monotonic axis.
    """
    steady, killed, now_us, axis_us = AlarmEngine(site), AlarmEngine(site), 0, 0
    state: dict[str, object] = {}
    last: dict[str, Condition] = {}

    def moment() -> Instant:
        return Instant(1_000_000 + now_us, now_us + axis_us)

    for index, act in enumerate(acts):
        if index in kills:
            axis_us += shift_us
            killed = AlarmEngine(site)
            restored = killed.restore(json.loads(json.dumps(state)), Resume(moment(), shift_us))
            assert restored == EngineStep()
            again = [last.get(alarm, Condition(alarm, False, Severity.NOTICE)) for alarm in ALARMS]
            left, right = steady.update(again, instant(now_us)), killed.update(again, moment())
            assert story(right.events, axis_us) == story(left.events, 0)
            state |= killed.changes()
        now_us += act.after_us
        cause = condition(act)
        if cause is not None:
            last[act.alarm] = cause
        left, right = do(steady, act, instant(now_us)), do(killed, act, moment())
        assert story(right.events, axis_us) == story(left.events, 0)
        assert [m.dedupe_key for m in right.messages] == [m.dedupe_key for m in left.messages]
        assert right.refused == left.refused
        state |= killed.changes()
    assert [replace(v, since=None, shelved_until=None) for v in killed.view()] == [
        replace(v, since=None, shelved_until=None) for v in steady.view()
    ]


def story(events: Sequence[AlarmEvent], axis_us: int) -> list[AlarmEvent]:
    """Events on the axis of the first process, without what a restart may add to them."""
    return [replace(e, at=replace(e.at, mono_us=e.at.mono_us - axis_us), inferred=False) for e in events]
