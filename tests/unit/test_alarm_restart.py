"""Alarms over kill -9 and reboot: what is carried, what starts afresh, and who is not told twice."""

import json
from dataclasses import replace
from typing import Any

import pytest

from gateway.alarms.engine import AlarmEngine, EngineStep
from gateway.model import AlarmState, Condition, Finding, FindingEvent, Instant, Resume, Severity, Verdict
from gateway.site import AlarmPolicy, Site
from tests.support.alarm_site import ANN, S, alarm_site, at, lines, say, texts

H = Severity.HIGH
NOTHING = EngineStep()
HOUR = 3600
DELAYED = AlarmPolicy("ph", H, on_delay_us=60 * S, off_delay_us=30 * S)


def one(policy: AlarmPolicy, *others: AlarmPolicy) -> Site:
    """A site with these alarms, and Ann who is told."""
    return alarm_site((ANN,), **{str(n): p for n, p in enumerate((policy, *others))})


def killed(*engines: AlarmEngine) -> dict[str, Any]:
    """What is on disk when the process dies: every change committed so far, as JSON."""
    state: dict[str, Any] = {}
    for engine in engines:
        state |= engine.changes()
    return dict(json.loads(json.dumps(state, allow_nan=False)))


def restarted(
    site: Site, state: dict[str, Any], second: float, offset_s: float | None = 0
) -> tuple[AlarmEngine, EngineStep]:
    """A new process on the same disk; an offset of zero is the same boot, None a clock nobody trusts."""
    engine = AlarmEngine(site)
    return engine, engine.restore(state, Resume(at(second), None if offset_s is None else round(offset_s * S)))


def test_a_restart_tells_nobody_again() -> None:
    """A raised alarm comes back raised, with its occurrence, and without a word."""
    site = one(AlarmPolicy("ph", H))
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    back, step = restarted(site, killed(engine), 20)
    assert step == NOTHING
    assert say(back, 21, ph=True) == NOTHING
    assert (back.view()[0].state, back.view()[0].occurrence) == (AlarmState.UNACKNOWLEDGED, 1)
    assert back.find("1-1") == ("ph", 1)


def test_a_cause_that_went_while_the_gateway_was_down_is_cleared_by_inference() -> None:
    """The first real word decides; who was told of the raise is told of the end, and only they."""
    site = one(AlarmPolicy("ph", H))
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    back, _ = restarted(site, killed(engine), 20)
    assert say(back, 21, ph=None) == NOTHING
    step = say(back, 25, ph=False)
    assert lines(step) == ["25 ph cleared #1 B>D!~"]
    assert texts(step) == ["ph:1:returned:1:ann"]
    assert "Found after restart." in step.messages[0].text


def test_an_end_seen_after_the_cause_was_seen_is_not_inferred() -> None:
    """Once the cause was seen true again, its end is an ordinary one."""
    site = one(AlarmPolicy("ph", H))
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    back, _ = restarted(site, killed(engine), 20)
    say(back, 21, ph=True)
    assert lines(say(back, 25, ph=False)) == ["25 ph cleared #1 B>D!"]


def test_an_inferred_end_waits_for_its_off_delay() -> None:
    """False for the whole off-delay, counted from the first word; the edge is still an inferred one."""
    site = one(replace(DELAYED, on_delay_us=0))
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    back, _ = restarted(site, killed(engine), 20)
    assert say(back, 25, ph=False) == NOTHING
    assert lines(back.tick(at(60))) == ["55 ph cleared #1 B>D!~"]


def test_a_running_on_delay_is_carried_within_a_boot() -> None:
    """True from 0, killed at 30, back at 40 and still true: raised at 60 as if nothing had been."""
    site = one(DELAYED)
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    back, _ = restarted(site, killed(engine), 40)
    assert say(back, 40, ph=True) == NOTHING
    assert back.next_deadline_us() == 60 * S
    assert lines(back.tick(at(70))) == ["60 ph raised #1 A>B!"]


def test_an_on_delay_that_was_over_while_down_waits_for_the_first_word() -> None:
    """Nobody could tell, so nothing is raised by a tick; true raises at that word, false never does."""
    site = one(DELAYED)
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    state = killed(engine)
    back, _ = restarted(site, state, 100)
    assert back.tick(at(101)) == NOTHING
    assert lines(say(back, 105, ph=True)) == ["105 ph raised #1 A>B!"]
    back, _ = restarted(site, state, 100)
    assert say(back, 105, ph=False) == NOTHING
    assert back.view()[0].occurrence == 0


def test_an_on_delay_starts_afresh_when_it_cannot_be_placed() -> None:
    """After a reboot without a trusted clock the whole on-delay must be seen."""
    site = one(DELAYED)
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    back, _ = restarted(site, killed(engine), 5, None)
    assert say(back, 10, ph=True) == NOTHING
    assert lines(back.tick(at(80))) == ["70 ph raised #1 A>B!"]


def test_stamps_are_carried_to_the_axis_of_a_new_boot() -> None:
    """Stored at 1,000 s of the old boot, restarted at 7 s of the new: the offset puts the delay where it belongs."""
    site = one(DELAYED)
    engine = AlarmEngine(site)
    say(engine, 1000, ph=True)
    back, _ = restarted(site, killed(engine), 7, -1000)  # the old boot's 1,000 s are the new one's zero
    say(back, 7, ph=True)
    assert lines(back.tick(at(60))) == ["60 ph raised #1 A>B!"]


def test_two_restarts_in_a_row_do_not_mix_their_axes() -> None:
    """All state is written again after a restore: the next restart reckons from the process before it."""
    site = one(AlarmPolicy("ph", H), AlarmPolicy("sensor-ph", Severity.WARNING))
    engine = AlarmEngine(site)
    engine.shelve("sensor-ph", (1000 + HOUR) * S, "Ann", "probe away", at(1000))
    state = killed(engine)
    second, _ = restarted(site, state, 10, -1000)
    state |= killed(second)  # nothing happened in the second process
    third, _ = restarted(site, state, 5, -20)
    until = third.view()[1].shelved_until
    assert until is not None
    assert until.mono_us == (HOUR - 20) * S


def test_a_shelf_goes_on_where_it_can_be_placed() -> None:
    """A restart neither ends nor lengthens it."""
    site = one(AlarmPolicy("ph", H))
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    engine.shelve("ph", HOUR * S, "Ann", "cleaning", at(1))
    back, step = restarted(site, killed(engine), 100)
    assert step == NOTHING
    assert back.view()[0].state is AlarmState.SHELVED
    assert lines(back.tick(at(HOUR + 5))) == [f"{HOUR} ph unshelved #1 G>B!"]


def test_a_shelf_that_ended_while_down_ended_at_its_time() -> None:
    """Stamped at its end, marked as inferred, and told, since somebody is owed."""
    site = one(AlarmPolicy("ph", H))
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    engine.shelve("ph", 60 * S, "Ann", "cleaning", at(1))
    _, step = restarted(site, killed(engine), 100)
    assert lines(step) == ["60 ph unshelved #1 G>B!~"]
    assert texts(step) == ["ph:1:realarm:2:ann"]


@pytest.mark.parametrize("offset_s", [None, 100 * HOUR])
def test_a_shelf_whose_end_cannot_be_placed_ends_now(offset_s: float | None) -> None:
    """Untrusted time, or an end beyond any permitted shelf: silence that nobody can measure is over."""
    site = one(AlarmPolicy("ph", H))
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    engine.shelve("ph", HOUR * S, "Ann", "cleaning", at(1))
    back, step = restarted(site, killed(engine), 100, offset_s)
    assert lines(step) == ["100 ph unshelved #1 G>B!"]
    assert step.events[0].reason == "nobody can tell when it ends"
    assert back.view()[0].state is AlarmState.UNACKNOWLEDGED


def test_a_shelf_that_is_not_permitted_any_more_ends_now() -> None:
    """The configuration was changed while the gateway was down."""
    engine = AlarmEngine(one(AlarmPolicy("ph", H)))
    engine.shelve("ph", HOUR * S, "Ann", "cleaning", at(1))
    _, step = restarted(one(AlarmPolicy("ph", H, shelvable=False)), killed(engine), 100)
    assert lines(step) == ["100 ph unshelved #0 G>A"]


@pytest.mark.parametrize(("offset_s", "due"), [(0, 160), (None, 100)])
def test_a_re_alarm_is_carried_and_waits_for_the_first_word(offset_s: float | None, due: int) -> None:
    """Not before anybody has seen what is there; due at once where its time cannot be placed."""
    site = one(AlarmPolicy("ph", H, realarm_us=150 * S))
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    engine.acknowledge("ph", 1, "Ann", at(10))
    back, _ = restarted(site, killed(engine), 100, offset_s)
    assert back.tick(at(102)) == NOTHING
    step = say(back, 105, ph=True)
    step = step if step.events else back.tick(at(170))
    assert lines(step)[0].endswith("ph realarmed #1 C>B!")
    assert step.events[0].at.mono_us == due * S


def test_out_of_service_latch_and_acknowledgement_are_carried() -> None:
    """Who and why survive; nothing comes back by itself."""
    site = one(AlarmPolicy("ph", H, latching=True), AlarmPolicy("sensor-ph", H))
    engine = AlarmEngine(site)
    engine.out_of_service("sensor-ph", "Bob", "probe away", at(0))
    say(engine, 0, ph=True)
    say(engine, 1, ph=False)
    engine.acknowledge("ph", 1, "Ann", at(2))
    back, step = restarted(site, killed(engine), 100)
    assert step == NOTHING
    ph, sensor = back.view()
    assert (ph.state, ph.acked_by) == (AlarmState.LATCHED_ACKNOWLEDGED, "Ann")
    assert (sensor.state, sensor.reason) == (AlarmState.OUT_OF_SERVICE, "Bob: probe away")
    assert back.reset("ph", "Ann", at(101)).refused == "nobody can tell whether the cause has gone"
    say(back, 102, ph=False)
    assert lines(back.reset("ph", "Ann", at(103))) == ["103 ph reset #1 F>A"]


def test_a_suppression_that_is_not_configured_any_more_ends() -> None:
    """Else the alarm would be silent for ever."""
    both = (AlarmPolicy("high", H, suppressed_by=("highest",)), AlarmPolicy("highest", Severity.CRITICAL))
    engine = AlarmEngine(one(*both))
    say(engine, 0, high=True, highest=True)
    _, step = restarted(one(replace(both[0], suppressed_by=()), both[1]), killed(engine), 5)
    assert lines(step) == ["5 high unsuppressed #1 H>B!"]


def test_an_alarm_that_left_the_site_file_keeps_its_count_until_it_returns() -> None:
    """Occurrences never start again at 1, or a message would be taken for one already sent."""
    ph, other = AlarmPolicy("ph", H), AlarmPolicy("sensor-ph", H)
    engine = AlarmEngine(one(ph, other))
    say(engine, 0, ph=True)
    state = killed(engine)
    without, _ = restarted(one(other), state, 10, 0)
    assert texts(say(without, 11, sensor_ph=True)) == ["sensor-ph:1:raised:1:ann"]
    assert without.find("2-1") == ("sensor-ph", 1)
    state |= killed(without)
    back, _ = restarted(one(ph, other), state, 20)
    say(back, 21, ph=False)
    assert texts(say(back, 22, ph=True)) == ["ph:2:raised:1:ann"]


def test_a_finding_survives_as_it_was() -> None:
    """The numbers behind an alarm are in the text of the reminder after the restart."""
    site = one(AlarmPolicy("ph", H, realarm_us=60 * S))
    engine = AlarmEngine(site)
    finding = Finding(
        FindingEvent.RAISED, "ph", "§ 194-6C(7)", "ph", Verdict.EXCEEDED, at(0), at(30), 30 * S, "proven", "pH", 3.9,
        5.5, None, 3.6, {"config": "c"},
    )  # fmt: skip
    engine.update([Condition("ph", True, H, "proven", None, finding)], at(30))
    engine.acknowledge("ph", 1, "Ann", at(40))
    back, _ = restarted(site, killed(engine), 50)
    say(back, 51, ph=True)
    step = back.tick(at(100))
    assert step.events[0].finding == finding
    assert "3.9 <5.5" in step.messages[0].text


def test_stamps_that_cannot_be_placed_are_told_by_their_utc_and_not_trusted() -> None:
    """Since when is still said, with a mark that nobody vouches for it."""
    site = one(AlarmPolicy("ph", H))
    engine = AlarmEngine(site)
    say(engine, 0, ph=True)
    now = Instant(at(600).utc_us, 3 * S, synced=False)
    back = AlarmEngine(site)
    back.restore(killed(engine), Resume(now, None))
    assert back.view()[0].since == Instant(at(0).utc_us, (3 - 600) * S, synced=False)


def test_state_of_an_earlier_release_is_read_and_of_a_later_one_too() -> None:
    """An absent key has its default, an unknown one is passed over."""
    site = one(AlarmPolicy("ph", H))
    state = {"alarm:ph": {"severity": 3, "cause": "active", "acked": False, "occurrence": 7, "of_tomorrow": 1}}
    back, _ = restarted(site, state, 0)
    assert (back.view()[0].state, back.view()[0].occurrence) == (AlarmState.UNACKNOWLEDGED, 7)


@pytest.mark.parametrize(
    "broken", [{}, {"severity": 9}, {"severity": 3, "cause": "odd"}, {"severity": 3, "shelf": 5}, 7]
)
def test_state_that_cannot_be_read_names_its_key(broken: object) -> None:
    """Whoever has to mend it knows where to look."""
    with pytest.raises(ValueError, match="stored state 'alarm:ph' cannot be read"):
        restarted(one(AlarmPolicy("ph", H)), {"alarm:ph": broken}, 0)


def test_changes_are_given_once_and_only_for_what_changed() -> None:
    """A poll that says nothing new writes nothing."""
    engine = AlarmEngine(alarm_site((ANN,)))
    assert engine.changes() == {}
    say(engine, 0, ph=True)
    assert list(engine.changes()) == ["alarm:ph"]
    say(engine, 1, ph=True)
    assert engine.changes() == {}
