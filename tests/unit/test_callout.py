"""Nights of the duty roster: who is called when, until a person acknowledges. Times are minutes."""

from dataclasses import replace

import pytest

from gateway.alarms.gsm7 import septets
from gateway.model import Resume, Severity
from gateway.site import AlarmPolicy, Duty, DutyStep
from tests.support.alarm_site import at
from tests.support.duty_site import DUTY, MINUTE, Night, roster_site


def test_nobody_answers_the_roster_is_called_through_and_then_everybody_again_and_again() -> None:
    """Ann at once and at 5, Bob at 10, Cai at 20, all three from 50 every half hour; Dee, in no step, once."""
    night = Night(roster_site())
    assert night.says(0, ph=True) == ["0 ann raised", "0 dee raised"]
    assert night.passes(49) == ["5 ann escalated", "10 bob escalated", "20 cai escalated"]
    assert night.passes(51) == ["50 ann escalated", "50 bob escalated", "50 cai escalated"]
    assert night.passes(111) == [f"{minute} {who} escalated" for minute in (80, 110) for who in ("ann", "bob", "cai")]


def test_an_acknowledgement_ends_the_calls_and_starts_the_reminders() -> None:
    """Acknowledged at 7 nobody else is called; while it stands Ann is reminded every hour; its end ends that."""
    night = Night(roster_site())
    night.says(0, ph=True)
    assert night.passes(7) == ["5 ann escalated"]
    assert night.ack(7) == []
    assert night.passes(180) == ["67 ann reminder", "127 ann reminder"]
    assert night.says(181, ph=False) == ["181 ann returned", "181 dee returned"]
    assert night.passes(600) == []


def test_a_call_out_is_not_cancelled_because_the_condition_cleared() -> None:
    """Back to normal at 3 with nobody's acknowledgement: the calls go on, and the later ones say that it has ended."""
    night = Night(roster_site())
    night.says(0, ph=True)
    assert night.says(3, ph=False) == ["3 ann returned", "3 dee returned"]
    assert night.passes(21) == ["5 ann escalated", "10 bob escalated", "20 cai escalated"]
    assert "ENDED" in night.messages[-1].text
    assert night.ack(22, "bob") == []
    assert night.passes(300) == []


def test_who_was_called_hears_of_the_end() -> None:
    """Bob, called at 10, gets the text of the return as Ann does; Cai, never called, does not."""
    night = Night(roster_site())
    night.says(0, ph=True)
    night.passes(12)
    assert night.says(13, ph=False) == ["13 ann returned", "13 bob returned", "13 dee returned"]


def test_a_new_occurrence_goes_on_with_the_roster_that_nobody_has_answered() -> None:
    """It clears and comes again before anybody answered: Ann is told of it, and Cai's turn comes no later for it."""
    night = Night(roster_site())
    night.says(0, ph=True)
    night.passes(11)
    night.says(12, ph=False)
    assert night.says(15, ph=True) == ["15 ann raised", "15 dee raised"]
    assert night.passes(51) == ["20 cai escalated", *(f"50 {who} escalated" for who in ("ann", "bob", "cai"))]
    assert {m.occurrence for m in night.messages[-4:]} == {2}


def test_an_occurrence_after_an_acknowledged_one_starts_the_roster_anew() -> None:
    """Answered at 11 and over at 12: what comes at 15 is another night, Ann first."""
    night = Night(roster_site())
    night.says(0, ph=True)
    night.passes(11)
    night.ack(11)
    night.says(12, ph=False)
    night.says(15, ph=True)
    assert night.passes(26) == ["20 ann escalated", "25 bob escalated"]


def test_an_alarm_that_chatters_reaches_the_second_and_third_person_all_the_same() -> None:
    """Four minutes there, four minutes gone, all night: Bob is called at 10, Cai at 20, everybody at 50 and 80."""
    night = Night(roster_site())
    told: list[str] = []
    for minute in range(0, 96, 4):
        told += night.says(minute, ph=minute % 8 == 0)
        told += night.passes(minute + 3)
    called = [line for line in told if line.endswith("escalated")]
    assert [line for line in called if "bob" in line] == [f"{minute} bob escalated" for minute in (10, 50, 80)]
    assert [line for line in called if "cai" in line] == [f"{minute} cai escalated" for minute in (20, 50, 80)]


def test_an_alarm_that_grows_worse_keeps_the_turn_of_the_next_person() -> None:
    """Critical at 9, nobody having answered: Bob's turn is at 10 as before."""
    night = Night(roster_site())
    night.says(0, ph=True)
    night.passes(8)
    assert "9 ann severity_up" in night.says(9, ph=Severity.CRITICAL)
    assert night.passes(12) == ["10 bob escalated"]


def test_a_rise_in_severity_starts_the_roster_and_a_warning_alone_does_not() -> None:
    """A suspicion is told once; its proof calls people until somebody answers."""
    night = Night(roster_site())
    night.says(0, ph=Severity.WARNING)
    assert night.passes(60) == []
    told = night.says(61, ph=True)
    assert "61 ann severity_up" in told
    assert night.passes(72) == ["66 ann escalated", "71 bob escalated"]


def test_who_puts_it_aside_by_name_ends_the_calls_and_who_takes_it_up_starts_them() -> None:
    """Shelved at 2 for an hour: silence; when the shelf ends, unacknowledged still, the roster begins."""
    night = Night(roster_site())
    night.says(0, ph=True)
    until_us = at(62 * MINUTE).mono_us
    night.does(2, night.engine.shelve("ph", until_us, "ann", "probe swap", night.now(2)))
    assert night.passes(61) == []
    assert night.passes(73) == ["62 ann realarm", "62 dee realarm", "67 ann escalated", "72 bob escalated"]


@pytest.mark.parametrize("minute", [1, 4, 9, 12, 19, 30, 55])
def test_a_restart_loses_no_call_and_repeats_none(minute: int) -> None:
    """Killed at any minute and back at once, the rest of the night is what it would have been."""
    whole = Night(roster_site())
    whole.says(0, ph=True)
    expected = whole.passes(120)
    night = Night(roster_site())
    night.says(0, ph=True)
    before = night.passes(minute)
    assert before + night.restarted(minute).passes(120) == expected


def test_calls_that_fell_due_while_the_gateway_was_away_become_one() -> None:
    """Away from 2 to 21: the three people whose turn it was are called once, at once, and the roster goes on."""
    night = Night(roster_site())
    night.says(0, ph=True)
    night.passes(2)
    back = night.restarted(21)
    assert [(m.recipient, m.kind.value) for m in back.messages] == [
        ("ann", "escalated"), ("bob", "escalated"), ("cai", "escalated"),
    ]  # fmt: skip
    assert back.passes(52) == ["51 ann escalated", "51 bob escalated", "51 cai escalated"]


def test_a_call_that_nobody_can_place_in_time_is_due_now() -> None:
    """Another boot and an untrusted clock: everybody is called at once rather than nobody for long."""
    night = Night(roster_site())
    night.says(0, ph=True)
    night.passes(2)
    back = night.restarted(3, placed=False)
    assert [m.recipient for m in back.messages] == ["ann", "bob", "cai"]


def test_every_call_is_one_segment_and_names_the_code() -> None:
    """Each text of a long night fits one segment, ends in the code to send back, and counts the calls."""
    night = Night(roster_site())
    night.says(0, ph=True)
    night.passes(300)
    assert len(night.messages) > 20
    for message in night.messages:
        assert septets(message.text) <= 160
        assert message.text.endswith("ACK 1-1")
    assert "Reminder 3." in night.messages[4].text


def test_each_call_has_a_key_of_its_own() -> None:
    """No two texts of a night share a key: the outbox would take the second for a repeat of the first."""
    night = Night(roster_site())
    night.says(0, ph=True)
    night.passes(300)
    night.ack(301)
    night.passes(600)
    keys = [message.dedupe_key for message in night.messages]
    assert len(set(keys)) == len(keys)


def test_without_a_roster_nobody_is_called_again() -> None:
    """A site without [duty] tells everybody once."""
    night = Night(roster_site(Duty()))
    assert len(night.says(0, ph=True)) == 4
    assert night.passes(600) == []
    assert not [key for key in night.state if key.startswith("callout:")]


def test_a_roster_that_was_taken_out_of_the_site_file_leaves_no_key_behind() -> None:
    """What is stored of a call goes when the roster or the alarm does."""
    night = Night(roster_site())
    night.says(0, ph=True)
    again = Night(replace(roster_site(), duty=Duty()))
    again.state = dict(night.state)
    again.callout.restore(night.state, Resume(at(60), 0))
    assert again.callout.changes() == {"callout:ph": None}
    assert again.callout.deadline_us > at(10**6).mono_us


def test_a_step_may_call_several_people_and_a_person_may_be_in_several_steps() -> None:
    """Both of a step are called at its time, each once."""
    duty = replace(DUTY, steps=(DutyStep(0, ("ann", "bob")), DutyStep(600_000_000, ("ann", "bob", "cai"))))
    night = Night(roster_site(duty))
    assert night.says(0, ph=True) == ["0 ann raised", "0 bob raised", "0 dee raised"]
    assert night.passes(11) == ["10 ann escalated", "10 bob escalated", "10 cai escalated"]


def test_an_alarm_that_asks_for_no_acknowledgement_calls_only_while_it_stands() -> None:
    """`ack_required = false`: its end ends the calls, for nobody could end them otherwise."""
    policy = AlarmPolicy("ph", Severity.HIGH, ack_required=False)
    night = Night(roster_site(DUTY, ph=policy))
    night.says(0, ph=True)
    assert night.passes(6) == ["5 ann escalated"]
    night.says(7, ph=False)
    assert night.passes(300) == []
