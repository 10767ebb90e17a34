"""The alarm engine: who is told of what, what a person may do, suppression, and what a caller can rely on."""

from dataclasses import replace

import pytest

from gateway.alarms.engine import AlarmEngine, EngineStep
from gateway.model import AlarmEdge, AlarmState, Condition, Finding, FindingEvent, MessageKind, Severity, Verdict
from gateway.site import AlarmPolicy, Contact
from tests.support.alarm_site import ANN, BOB, PH, S, alarm_site, at, lines, say, texts

H = Severity.HIGH
NOTHING = EngineStep()


def found(event: FindingEvent, observed: float, since: int, until: int, extreme: float) -> Finding:
    """What the pH rule found, in seconds."""
    return Finding(
        event, "ph", PH.clause, "ph", Verdict.EXCEEDED, at(since), at(until), (until - since) * S, "proven", "pH",
        observed, 5.5, None, extreme,
    )  # fmt: skip


def test_a_raise_tells_everyone_whom_its_severity_reaches_once() -> None:
    """One message per contact for a raise, none for what is merely still so."""
    engine = AlarmEngine(alarm_site())
    assert texts(say(engine, 0, ph=True)) == ["ph:1:raised:1:ann", "ph:1:raised:1:bob"]
    assert say(engine, 1, ph=True) == NOTHING
    assert engine.tick(at(2)) == NOTHING


def test_a_message_carries_its_kind_severity_and_text() -> None:
    """What is handed to the delivery is complete."""
    engine = AlarmEngine(alarm_site())
    finding = found(FindingEvent.RAISED, 3.9, 0, 360, 3.9)
    step = engine.update([Condition("ph", True, H, "below 5.5", None, finding)], at(360))
    message = step.messages[0]
    assert (message.recipient, message.kind, message.severity, message.at) == ("ann", MessageKind.RAISED, H, at(360))
    assert (message.alarm, message.occurrence) == ("ph", 1)
    assert message.text == (
        "LV-MH3 Acme Dairy HIGH pH low 3.9 <5.5 (194-6C(7)) since 02:14 EDT 6min ONGOING. Sensor OK. ACK 1-1"
    )
    assert (step.events[0].finding, step.events[0].reason) == (finding, "below 5.5")


def test_a_pre_alarm_reaches_only_those_who_want_notices_and_a_rise_reaches_the_rest() -> None:
    """Each severity tells the contacts it reaches; the rise goes to both, in the same occurrence."""
    eve = Contact("eve", "Eve", ("bench",), from_severity=Severity.NOTICE)
    engine = AlarmEngine(alarm_site((eve, ANN)))
    assert texts(say(engine, 0, ph=Severity.NOTICE)) == ["ph:1:raised:1:eve"]
    assert texts(say(engine, 1, ph=Severity.HIGH)) == ["ph:1:severity_up:2:eve", "ph:1:severity_up:2:ann"]
    assert texts(say(engine, 2, ph=False)) == ["ph:1:returned:2:eve", "ph:1:returned:2:ann"]


def test_a_return_is_told_only_to_those_who_knew_of_the_raise() -> None:
    """Bob was never told of the warning, so he is not told that it went."""
    engine = AlarmEngine(alarm_site())
    assert texts(say(engine, 0, ph=Severity.WARNING)) == ["ph:1:raised:1:ann"]
    assert texts(say(engine, 1, ph=False)) == ["ph:1:returned:1:ann"]
    assert texts(say(engine, 2, ph=True)) == ["ph:2:raised:1:ann", "ph:2:raised:1:bob"]


def test_who_knew_of_the_last_occurrence_does_not_count_for_this_one() -> None:
    """Bob was told of the first, not of the second, so he hears of the end of the first alone."""
    engine = AlarmEngine(alarm_site())
    say(engine, 0, ph=True)
    assert texts(say(engine, 1, ph=False)) == ["ph:1:returned:1:ann", "ph:1:returned:1:bob"]
    assert texts(say(engine, 2, ph=Severity.WARNING)) == ["ph:2:raised:1:ann"]
    assert texts(say(engine, 3, ph=False)) == ["ph:2:returned:1:ann"]


def test_a_return_tells_how_long_and_how_far() -> None:
    """The finding of the end reaches the text, with an off-delay too."""
    engine = AlarmEngine(alarm_site(ph=AlarmPolicy("ph", H, off_delay_us=60 * S)))
    engine.update([Condition("ph", True, H, "below", None, found(FindingEvent.RAISED, 3.9, 0, 30, 3.9))], at(30))
    ends = found(FindingEvent.CLEARED, 6.4, 0, 1020, 3.6)
    assert engine.update([Condition("ph", False, H, "within the limit", 0.9, ends)], at(1020)) == NOTHING
    step = engine.tick(at(1090))
    assert lines(step) == ["1080 ph cleared #1 B>D!"]
    assert step.events[0].finding == ends
    assert step.messages[0].text == (
        "LV-MH3 ENDED pH low back 6.4 (limit 5.5) at 02:32 EDT. 17min, min 3.6. ACK 1-1"
    )  # fmt: skip


def test_every_re_alarm_is_a_message_of_its_own() -> None:
    """No two annunciations of one occurrence share a dedupe key, or the second would never be sent."""
    engine = AlarmEngine(alarm_site((ANN,), ph=AlarmPolicy("ph", H, realarm_us=60 * S)))
    keys = texts(say(engine, 0, ph=True))
    for second in (10, 100, 200):
        engine.acknowledge("ph", 1, "Ann", at(second))
        step = engine.tick(at(second + 60))
        keys += texts(step)
        assert "Reminder" in step.messages[0].text
    assert keys == ["ph:1:raised:1:ann", "ph:1:realarm:2:ann", "ph:1:realarm:3:ann", "ph:1:realarm:4:ann"]


def test_coming_off_the_shelf_tells_the_one_who_never_heard_that_it_was_raised() -> None:
    """An alarm raised on the shelf is news to everybody; one raised before is a repeat."""
    engine = AlarmEngine(alarm_site((ANN,)))
    engine.shelve("ph", int(100 * S), "Ann", "cleaning", at(0))
    assert texts(say(engine, 1, ph=True)) == []
    assert texts(engine.unshelve("ph", "Ann", at(2))) == ["ph:1:raised:1:ann"]
    engine.shelve("ph", int(100 * S), "Ann", "cleaning", at(3))
    assert texts(say(engine, 4, ph=False)) == []
    step = engine.tick(at(100))
    assert texts(step) == ["ph:1:realarm:2:ann"]
    assert " ENDED. " in step.messages[0].text


def test_acknowledging_twice_is_a_success_without_a_second_journal_line() -> None:
    """The second of two people learns who was first, and when by the site's clock."""
    engine = AlarmEngine(alarm_site())
    say(engine, 0, ph=True)
    assert lines(engine.acknowledge("ph", 1, "Ann", at(60))) == ["60 ph acknowledged #1 B>C"]
    again = engine.acknowledge("ph", 1, "Bob", at(120))
    assert again == EngineStep(reply="already by Ann at 02:15 EDT")


def test_a_notice_that_went_asks_for_no_acknowledgement() -> None:
    """Acknowledging it late is not an error."""
    engine = AlarmEngine(alarm_site())
    say(engine, 0, ph=Severity.NOTICE)
    say(engine, 1, ph=False)
    step = engine.acknowledge("ph", 1, "Ann", at(2))
    assert step == EngineStep(reply="occurrence 1 is over and asks for no acknowledgement")


def test_a_stale_acknowledgement_cannot_take_the_next_occurrence() -> None:
    """ "ACK 1-1" after the alarm came again is refused, journaled, and takes nothing."""
    engine = AlarmEngine(alarm_site())
    for second, cause in enumerate((True, False, True)):
        say(engine, second, ph=cause)
    step = engine.acknowledge("ph", 1, "Ann", at(3))
    assert step.refused == "occurrence 1 is over; the present one is 2"
    assert [e.edge for e in step.events] == [AlarmEdge.REFUSED]
    assert engine.view()[0].state is AlarmState.UNACKNOWLEDGED


def test_the_code_of_a_text_finds_its_alarm_and_occurrence() -> None:
    """Numbers are given in the order of first raises and stay; a code never given is not found."""
    engine = AlarmEngine(alarm_site())
    assert say(engine, 0, sensor_ph=Severity.WARNING).messages[0].text.endswith("ACK 1-1")
    assert say(engine, 1, ph=True).messages[0].text.endswith("ACK 2-1")
    say(engine, 2, ph=False)
    assert say(engine, 3, ph=True).messages[0].text.endswith("ACK 2-2")
    assert engine.find("2-2") == ("ph", 2)
    assert engine.find(" 1-1 ") == ("sensor-ph", 1)
    for code in ("3-1", "2", "2-x", "", "0-1"):
        with pytest.raises(LookupError, match="no alarm was ever sent with the code"):
            engine.find(code)


def test_an_unknown_alarm_is_refused_loudly_and_nothing_is_done() -> None:
    """A condition for an alarm the site does not have is a mistake in the program; so is an action on one."""
    engine = AlarmEngine(alarm_site())
    with pytest.raises(LookupError, match=r"no alarm 'orp' at lv-mh3; known are ph, sensor-ph"):
        say(engine, 0, ph=True, orp=True)
    assert engine.view()[0].state is AlarmState.NORMAL
    actions = (
        lambda: engine.acknowledge("orp", None, "Ann", at(0)),
        lambda: engine.shelve("orp", None, "Ann", "x", at(0)),
        lambda: engine.unshelve("orp", "Ann", at(0)),
        lambda: engine.out_of_service("orp", "Ann", "x", at(0)),
        lambda: engine.return_to_service("orp", "Ann", at(0)),
        lambda: engine.reset("orp", "Ann", at(0)),
    )
    for action in actions:
        with pytest.raises(LookupError, match="known are ph, sensor-ph"):
            action()


def test_a_disabled_alarm_is_not_evaluated_and_takes_no_action() -> None:
    """Disabled is not shelved: nothing is journaled for its cause, and a person is told why."""
    engine = AlarmEngine(alarm_site(ph=AlarmPolicy("ph", H, enabled=False)))
    assert say(engine, 0, ph=True) == NOTHING
    assert engine.acknowledge("ph", None, "Ann", at(1)).refused == "disabled by configuration"
    assert engine.view()[0].reason == "disabled by configuration"


def test_the_view_lists_every_alarm_with_the_reason_of_its_state() -> None:
    """State, occurrence, since the cause began, who knows, why it is covered and until when."""
    engine = AlarmEngine(alarm_site(ph=AlarmPolicy("ph", H, on_delay_us=10 * S), sensor=AlarmPolicy("sensor-ph", H)))
    say(engine, 0, ph=True)
    engine.tick(at(10))
    engine.acknowledge("ph", None, "Ann", at(11))
    engine.shelve("sensor-ph", 3600 * S, "Bob", "probe away", at(12))
    ph, sensor = engine.view()
    assert (ph.id, ph.state, ph.occurrence, ph.severity) == ("ph", AlarmState.ACKNOWLEDGED, 1, H)
    assert (ph.since, ph.acked_by, ph.reason, ph.shelved_until, ph.code) == (at(0), "Ann", "ph is True", None, "1-1")
    assert (sensor.state, sensor.reason, sensor.shelved_until) == (AlarmState.SHELVED, "Bob: probe away", at(3600))
    assert (sensor.since, sensor.code) == (None, "")


def test_the_next_deadline_is_the_earliest_pending_one() -> None:
    """A caller may skip every tick before it; with nothing pending there is none."""
    engine = AlarmEngine(alarm_site(ph=AlarmPolicy("ph", H, on_delay_us=10 * S), sensor=AlarmPolicy("sensor-ph", H)))
    assert engine.next_deadline_us() is None
    say(engine, 5, ph=True)
    assert engine.next_deadline_us() == 15 * S
    engine.shelve("sensor-ph", 9 * S, "Ann", "x", at(6))
    assert engine.next_deadline_us() == 9 * S
    engine.tick(at(9))
    assert engine.next_deadline_us() == 15 * S
    say(engine, 12, ph=None)
    assert engine.next_deadline_us() is None


LEVELS = {
    "high": AlarmPolicy("high", H, suppressed_by=("highest",)),
    "highest": AlarmPolicy("highest", Severity.CRITICAL),
}


def test_an_alarm_is_suppressed_before_it_can_speak() -> None:
    """Both causes come in one update, in the worse order: only the one that says more tells."""
    engine = AlarmEngine(alarm_site((ANN,), **LEVELS))
    step = say(engine, 0, high=True, highest=True)
    assert lines(step) == ["0 highest raised #1 A>B!", "0 high suppressed #0 A>H", "0 high raised #1 H>H"]
    assert texts(step) == ["highest:1:raised:1:ann"]


def test_an_alarm_that_is_still_there_when_its_suppressor_goes_tells_now() -> None:
    """Unsuppressed with an inner B: somebody has to know."""
    engine = AlarmEngine(alarm_site((ANN,), **LEVELS))
    say(engine, 0, high=True, highest=True)
    step = say(engine, 1, highest=False)
    assert lines(step) == ["1 highest cleared #1 B>D!", "1 high unsuppressed #1 H>B!"]
    assert texts(step) == ["highest:1:returned:1:ann", "high:1:raised:1:ann"]


def test_two_alarms_that_go_together_leave_no_false_call() -> None:
    """The suppressed one is heard before it comes out, so it comes out normal or waiting, not raised."""
    engine = AlarmEngine(
        alarm_site((ANN,), high=replace(LEVELS["high"], ack_required=False), highest=LEVELS["highest"])
    )
    say(engine, 0, high=True, highest=True)
    step = say(engine, 1, highest=False, high=False)
    assert lines(step) == ["1 highest cleared #1 B>D!", "1 high cleared #1 H>H", "1 high unsuppressed #1 H>A"]


def test_a_suppressor_that_is_put_aside_silences_nobody() -> None:
    """A shelf on one alarm must not silence another with it."""
    engine = AlarmEngine(alarm_site((ANN,), **LEVELS))
    say(engine, 0, high=True, highest=True)
    step = engine.shelve("highest", int(60 * S), "Ann", "x", at(1))
    assert lines(step) == ["1 highest shelved #1 B>G", "1 high unsuppressed #1 H>B!"]
    assert lines(engine.tick(at(60))) == ["60 highest unshelved #1 G>B!", "60 high suppressed #1 B>H"]


def test_delays_of_several_alarms_are_told_in_the_order_in_which_they_were_over() -> None:
    """The suppressed one was due first, so it spoke; a late tick tells the same story as a punctual one."""
    slow = replace(LEVELS["highest"], on_delay_us=10 * S)
    quick = replace(LEVELS["high"], on_delay_us=5 * S)
    engine = AlarmEngine(alarm_site((ANN,), high=quick, highest=slow))
    say(engine, 0, high=True, highest=True)
    assert lines(engine.tick(at(30))) == [
        "5 high raised #1 A>B!",
        "10 highest raised #1 A>B!",
        "10 high suppressed #1 B>H",
    ]


@pytest.mark.parametrize(
    ("policies", "says"),
    [
        (
            {"a": AlarmPolicy("a", H, suppressed_by=("b",))},
            "alarm a is suppressed by 'b', which this site does not have",
        ),
        (
            {"a": AlarmPolicy("a", H, suppressed_by=("b",)), "b": AlarmPolicy("b", H, suppressed_by=("a",))},
            "alarms suppress each other in a circle: a <- b <- a",
        ),
    ],
)
def test_suppressions_that_cannot_be_are_refused_at_once(policies: dict[str, AlarmPolicy], says: str) -> None:
    """An unknown suppressor would never silence, a circle would silence both."""
    with pytest.raises(ValueError, match=says):
        AlarmEngine(alarm_site(**policies))


def test_a_contact_who_reads_no_language_we_have_is_refused_at_once() -> None:
    """Better than a text that cannot be written at night."""
    with pytest.raises(ValueError, match=r"contact bob: no texts in 'tlh' \(there are en\)"):
        AlarmEngine(alarm_site((replace(BOB, language="tlh"),)))


def test_a_sensor_in_fault_is_named_in_the_text_of_its_channel() -> None:
    """The superintendent reads at once whether the number can be believed."""
    engine = AlarmEngine(alarm_site((ANN,)))
    say(engine, 0, sensor_ph=Severity.WARNING)
    assert "SENSOR FAULT." in say(engine, 1, ph=True).messages[0].text


def test_a_text_after_a_shelf_has_the_words_of_its_own_occurrence() -> None:
    """The reason and finding of an earlier occurrence are not repeated for a later one."""
    engine = AlarmEngine(alarm_site((ANN,)))
    engine.update([Condition("ph", True, H, "first", None, found(FindingEvent.RAISED, 3.9, 0, 0, 3.9))], at(0))
    say(engine, 1, ph=False)
    event = engine.update([Condition("ph", True, H, "second")], at(2)).events[-1]
    assert (event.finding, event.reason) == (None, "second")
