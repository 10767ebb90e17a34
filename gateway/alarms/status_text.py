"""How the station is, in one text: the answer to `S`, and the daily sign of life. From live data alone. Pure."""

from collections.abc import Mapping, Sequence
from zoneinfo import ZoneInfo

from gateway.alarms.gsm7 import SEGMENT_SEPTETS, septets, transliterate
from gateway.alarms.phrases import Phrases
from gateway.alarms.wording import Subject, clock_text, number_text
from gateway.model import Instant, Reading
from gateway.quality_letter import quality_letter
from gateway.site import Site

__all__ = ["status_text"]

_UNITS = {"pH": "", "s.u.": "", "degC": "C", "degF": "F"}
_ROOM = SEGMENT_SEPTETS - 32  # the station's name and what an answer adds to it


def status_text(site: Site, latest: Mapping[str, Reading], waiting: Sequence[str], now: Instant, words: Phrases) -> str:
    """Time, alarms that wait, then one value after the other, as many as fit; a doubtful one with its letter."""
    at = clock_text(now, Subject(site, "", None, ZoneInfo(site.time_zone), words), now)
    text = f"{words.status_head.format(time=at)}. {words.status_alarms.format(number=len(waiting))}"
    if waiting:
        text += f" ({', '.join(waiting)})"
    for channel in site.channels.values():
        reading = latest.get(channel.name)
        if reading is None or reading.value is None:
            value = "-"
        else:
            value = f"{number_text(reading.value)}{_UNITS.get(channel.unit, channel.unit)}"
        letter = "" if reading is None else quality_letter(reading)
        longer = f"{text}, {channel.name} {value}{f' ({letter})' if letter else ''}"
        if septets(transliterate(longer)) > _ROOM:
            break
        text = longer
    return transliterate(text)
