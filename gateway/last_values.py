"""The last value of each channel in a journal, against the spans of a site file: a check before a restart."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from gateway.errors import InputError
from gateway.model import Reading
from gateway.problems import Problems
from gateway.site import Channel, Site, Span
from gateway.store.reader import Reader

__all__ = ["advise_of_last_values", "last_readings"]

_LOOK_BACK = 20_000  # records: at 15 s and six channels more than half a day


def last_readings(state: Path) -> dict[str, Reading]:
    """The newest reading with a value of each channel, by channel. InputError where there is no journal."""
    path = state / "journal.db"
    if not path.exists():
        raise InputError(f"{state}: no journal here; --state names the gateway's state directory")
    reader = Reader(path)
    try:
        last = reader.last_seq(0)
        records = reader.records(0, max(0, last - _LOOK_BACK), _LOOK_BACK, None)
    finally:
        reader.close()
    readings = (record.body for record in records if isinstance(record.body, Reading))
    return {reading.channel: reading for reading in readings if reading.value is not None}


def advise_of_last_values(site: Site, last: Iterable[Reading], problems: Problems) -> None:
    """A warning for each span that excludes what the channel showed last."""
    for reading in last:
        channel = site.channels.get(reading.channel)
        if channel is None or reading.value is None:
            continue
        for key, span in (("fail_span", channel.fail_span), ("suspect_span", channel.suspect_span)):
            if not span.holds(reading.value):
                problems.warning(("channels", channel.name, key), _excluded(channel, reading, span))
                break


def _excluded(channel: Channel, reading: Reading, span: Span) -> str:
    at = datetime.fromtimestamp(reading.at.utc_us / 1e6, UTC)
    low = "" if span.low is None else f"{span.low:g}"
    high = "" if span.high is None else f"{span.high:g}"
    return (
        f"{low} to {high} {channel.unit} excludes the last value in the journal, {reading.value:.6g} {channel.unit} at "
        f"{at:%Y-%m-%d %H:%M} UTC: the span, or the instrument, is wrong"
    )
