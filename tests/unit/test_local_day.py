"""Local dates, their midnights and their true length, in zones that make it hard."""

from datetime import UTC, date, datetime
from zoneinfo import ZoneInfo

import pytest

from gateway.model import Instant
from gateway.rules.local_day import local_date, midnight_us, month_of, next_midnight_us
from gateway.rules.minutes import Minutes

HOUR_US = 3_600_000_000
NEW_YORK = ZoneInfo("America/New_York")


def utc_us(text: str) -> int:
    """A moment of UTC from its ISO text."""
    return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()) * 1_000_000


@pytest.mark.parametrize(
    ("day", "zone", "hours"),
    [
        pytest.param(date(2026, 11, 28), NEW_YORK, 24, id="an ordinary day has 24 h"),
        pytest.param(date(2026, 11, 1), NEW_YORK, 25, id="the day the clocks go back has 25 h"),
        pytest.param(date(2026, 3, 8), NEW_YORK, 23, id="the day the clocks go forward has 23 h"),
        pytest.param(date(2018, 11, 4), ZoneInfo("America/Sao_Paulo"), 23, id="a day whose midnight is skipped"),
        pytest.param(date(2026, 4, 5), ZoneInfo("Australia/Lord_Howe"), 24.5, id="a shift of half an hour"),
        pytest.param(date(2026, 1, 5), ZoneInfo("Asia/Kathmandu"), 24, id="an offset of three quarters of an hour"),
    ],
)
def test_a_local_day_has_its_true_length(day: date, zone: ZoneInfo, hours: float) -> None:
    """From its first moment to that of the next date."""
    begins_us = midnight_us(day, zone)
    assert local_date(begins_us, zone) == day
    assert local_date(begins_us - 1, zone) < day
    assert next_midnight_us(begins_us, zone) - begins_us == hours * HOUR_US


def test_the_next_midnight_is_later_than_any_moment_of_the_day() -> None:
    """Also at midnight itself, and a microsecond before it."""
    midnight = utc_us("2026-11-28T05:00:00")
    assert next_midnight_us(midnight - 1, NEW_YORK) == midnight
    assert next_midnight_us(midnight, NEW_YORK) == midnight + 24 * HOUR_US


def test_a_date_that_never_was_is_passed_over() -> None:
    """Samoa crossed the date line on 30 December 2011: the 29th ends where the 31st begins."""
    apia = ZoneInfo("Pacific/Apia")
    last = utc_us("2011-12-30T09:00:00")
    assert local_date(last, apia) == date(2011, 12, 29)
    ends = next_midnight_us(last, apia)
    assert (local_date(ends - 1, apia), local_date(ends, apia)) == (date(2011, 12, 29), date(2011, 12, 31))


def test_the_month_of_a_date() -> None:
    """Reports go by it."""
    assert month_of("2026-11-30") == "2026-11"


def test_jitter_between_the_clocks_moves_no_boundary_and_a_step_does() -> None:
    """Boundaries keep the offset they have until a reading strays; then they lie on the new full minutes."""
    minutes = Minutes(NEW_YORK, Instant(utc_us("2026-11-28T12:00:30"), 1_000_000))
    assert minutes.boundary_us == 31_000_000
    assert minutes.anchor(Instant(utc_us("2026-11-28T12:40:30"), 11_000_000)) is None
    assert minutes.boundary_us == 41_000_000


@pytest.mark.parametrize(
    ("stepped_to", "ends", "day"),
    [
        pytest.param("2026-11-29T06:00:00", True, "2026-11-29", id="forward over midnight: the day ends"),
        pytest.param("2026-11-28T06:00:00", False, "2026-11-28", id="back within the day: it goes on"),
        pytest.param("2026-11-28T04:50:00", False, "2026-11-28", id="back over midnight: the day goes on, longer"),
        pytest.param("2026-11-20T12:00:00", True, "2026-11-20", id="back by more than a day: the day ends"),
    ],
)
def test_what_a_clock_step_does_to_the_day(stepped_to: str, ends: bool, day: str) -> None:
    """A day under way is not opened twice, and a clock that was years ahead does not keep it open for years."""
    minutes = Minutes(NEW_YORK, Instant(utc_us("2026-11-28T12:00:00"), 0))
    ended = minutes.anchor(Instant(utc_us(stepped_to), 5_000_000))
    assert (ended is not None) is ends
    assert minutes.day == day
