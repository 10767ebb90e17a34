"""Whatever a night brings, an alarm of high severity is acknowledged by a person or somebody is still being called."""

from hypothesis import example, given
from hypothesis import strategies as st

from gateway.model import AlarmState
from gateway.signals.watch import FAR_US
from tests.support.duty_site import Night, roster_site

ACTIONS = st.sampled_from(["true", "false", "unknown", "ack", "tick", "restart", "lost restart", "shelve", "unshelve"])
WAITING = {AlarmState.UNACKNOWLEDGED, AlarmState.RETURNED_UNACKNOWLEDGED, AlarmState.LATCHED_UNACKNOWLEDGED}


def lived(story: list[tuple[int, str]]) -> tuple[Night, int]:
    """A night of actions, each so many minutes after the one before."""
    night, minute = Night(roster_site()), 0
    for wait, action in story:
        minute += wait
        now = night.now(minute)
        match action:
            case "true" | "false" | "unknown":
                night.says(minute, ph={"true": True, "false": False, "unknown": None}[action])
            case "ack":
                night.ack(minute)
            case "shelve":
                night.does(minute, night.engine.shelve("ph", now.mono_us + 1_800_000_000, "ann", "why", now))
            case "unshelve":
                night.does(minute, night.engine.unshelve("ph", "ann", now))
            case "restart" | "lost restart":
                messages = night.messages
                night = night.restarted(minute, placed=action == "restart")
                night.messages[:0] = messages
            case _:
                night.does(minute, night.engine.tick(now))
    return night, minute


@given(st.lists(st.tuples(st.integers(0, 40), ACTIONS), max_size=25))
@example([(0, "true"), (1, "false"), (0, "restart")])
@example([(0, "true"), (1, "shelve"), (40, "tick")])
def test_an_alarm_that_waits_has_a_call_that_is_due(story: list[tuple[int, str]]) -> None:
    """While it waits for a person and is not put aside by one, the next call is at most half an hour away."""
    night, minute = lived(story)
    view = next(view for view in night.engine.view() if view.id == "ph")
    if view.state in WAITING:
        assert night.callout.deadline_us <= night.now(minute).mono_us + 30 * 60 * 1_000_000


@given(st.lists(st.tuples(st.integers(0, 40), ACTIONS), max_size=25))
def test_an_alarm_that_is_settled_calls_nobody(story: list[tuple[int, str]]) -> None:
    """Normal, and acknowledged or never raised: no call is left over; and no key is ever used twice."""
    night, _ = lived(story)
    view = next(view for view in night.engine.view() if view.id == "ph")
    if view.state is AlarmState.NORMAL:
        assert night.callout.deadline_us == FAR_US
    keys = [message.dedupe_key for message in night.messages]
    assert len(set(keys)) == len(keys)
