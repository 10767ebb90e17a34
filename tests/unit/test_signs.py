"""The daily text and the text of the return: from live data, once, at its time, in one segment."""

from dataclasses import replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from gateway.alarms.gsm7 import septets
from gateway.alarms.signs import Signs
from gateway.model import Instant, Quality, Reading
from gateway.site import SignsOfLife, Site
from tests.support.alarm_site import ANN, BOB, alarm_site
from tests.support.duty_site import Night, roster_site

ZONE = ZoneInfo("America/New_York")
S = 1_000_000


def local(text: str, *, synced: bool = True) -> Instant:
    """A moment by the site's wall clock."""
    utc_us = round(datetime.fromisoformat(text).replace(tzinfo=ZONE).astimezone(UTC).timestamp()) * S
    return Instant(utc_us, utc_us - 1_700_000_000 * S, synced)


def site(**signs: object) -> Site:
    """Ann and Bob; the daily text goes to Ann at seven."""
    facts = {"daily_min": 7 * 60, "tell": ("ann",)} | signs
    return replace(alarm_site((ANN, BOB)), signs=SignsOfLife(**facts))  # type: ignore[arg-type]  # typed by its names


def told(signs: Signs, moment: str) -> list[str]:
    """Whom the text of this moment goes to."""
    return [message.recipient for message in signs.daily(local(moment), {}, ())[0]]


def test_there_is_one_text_a_day_from_its_time_on() -> None:
    """Nothing before seven, one at seven, no more that day, one the next; also over the end of daylight saving."""
    signs = Signs(site())
    signs.restore({"signs:daily": "2026-10-30"})
    assert told(signs, "2026-10-31T06:59") == []
    assert told(signs, "2026-10-31T07:00") == ["ann"]
    assert told(signs, "2026-10-31T07:01") == []
    assert told(signs, "2026-10-31T23:59") == []
    assert told(signs, "2026-11-01T06:59") == []
    assert told(signs, "2026-11-01T07:00") == ["ann"]


def test_a_day_is_told_of_once_over_a_restart() -> None:
    """The durable state says which day was told of; a new process knows it."""
    signs = Signs(site())
    _, state = signs.daily(local("2026-11-30T07:00"), {}, ())
    again = Signs(site())
    again.restore(state)
    assert told(again, "2026-11-30T07:10") == []
    assert told(again, "2026-12-01T07:00") == ["ann"]


def test_one_that_fell_due_while_the_gateway_was_away_goes_out_when_it_is_back() -> None:
    """Down from six to nine: the text comes at nine; a day that was missed altogether is not made up for."""
    signs = Signs(site())
    signs.restore({"signs:daily": "2026-11-28"})
    assert told(signs, "2026-11-30T09:00") == ["ann"]
    assert told(signs, "2026-11-30T09:01") == []


def test_it_is_made_of_live_data() -> None:
    """Values with their letters, what waits and what is put aside: nothing that could have been written yesterday."""
    night = Night(roster_site())
    night.says(0, ph=True)
    night.does(1, night.engine.shelve("sensor-ph", None, "ann", "swap", night.now(1)))
    at = local("2026-11-30T07:00")
    flow = Reading("flow", at, (), 41.26, Quality.GOOD)
    doubtful = Reading("ph", at, (), 7.1, Quality.SUSPECT, ("suspect_span",))
    (message,) = Signs(site()).daily(at, {"flow": flow, "ph": doubtful}, night.engine.view())[0]
    assert message.text.startswith("LV-MH3 Put aside: sensor-ph. OK 07:00 EST. Alarms: 1 (1-1)")
    assert "ph 7.1 (S)" in message.text
    assert "41.3" in message.text
    assert septets(message.text) <= 160


def test_a_clock_that_nobody_vouches_for_is_marked_and_silences_nothing() -> None:
    """Better a text at the wrong hour than none."""
    (message,) = Signs(site()).daily(local("1970-01-02T08:00", synced=False), {}, ())[0]
    assert "08:00?" in message.text


@pytest.mark.parametrize(
    ("away_us", "words"),
    [(7_500 * S, "after 2h05min"), (None, "Nobody can tell how long"), (0, "after 0s"), (-5, "after 0s")],
)
def test_the_text_of_the_return_says_how_long_nothing_was_measured(away_us: int | None, words: str) -> None:
    """Its length where it is known; where it is not, that."""
    (message,) = Signs(site()).back(local("2026-11-30T08:55"), away_us)
    assert message.text.startswith("LV-MH3 BACK 08:55 EST")
    assert words in message.text
    assert septets(message.text) <= 160


def test_without_signs_nothing_is_sent() -> None:
    """A site without [signs] hears nothing, every day of the year."""
    quiet = Signs(replace(alarm_site((ANN, BOB)), signs=SignsOfLife()))
    assert quiet.daily(local("2026-11-30T12:00"), {}, ()) == ((), {})
    assert quiet.back(local("2026-11-30T12:00"), 1) == ()
