"""What nobody was told of must not silence what somebody has to be told of."""

from gateway.alarms.engine import AlarmEngine
from gateway.model import Severity
from gateway.site import AlarmPolicy
from tests.support.alarm_site import alarm_site, lines, say, texts


def engine() -> AlarmEngine:
    """The pH alarm, suppressed by design while the flow's slug speaks."""
    slug, ph = AlarmPolicy("slug", Severity.HIGH), AlarmPolicy("ph", Severity.HIGH, suppressed_by=("slug",))
    return AlarmEngine(alarm_site(slug=slug, ph=ph))


def test_a_pre_alarm_suppresses_nothing() -> None:
    """A slug in its pre-alarm, told to nobody; pH exceeds: pH is raised and told."""
    alarms = engine()
    assert not texts(say(alarms, 0, slug=Severity.NOTICE))
    raised = say(alarms, 10, ph=True)
    assert lines(raised) == ["10 ph raised #1 A>B!"]
    assert texts(raised)


def test_a_pre_alarm_that_becomes_an_exceedance_suppresses_from_then_on() -> None:
    """The slug is proven: it says more now, and pH is suppressed until the slug is over."""
    alarms = engine()
    say(alarms, 0, slug=Severity.NOTICE)
    assert "10 ph suppressed #0 A>H" in lines(say(alarms, 10, slug=True))
    assert not texts(say(alarms, 20, ph=True))
    assert "30 ph unsuppressed #1 H>B!" in lines(say(alarms, 30, slug=False))
