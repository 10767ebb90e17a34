"""What people send back to the station: from their words to one thing they ask for, and from what came of it to words.

`ACK 4-17` (or `A4-17`, `ack 4 17`) acknowledges occurrence 17 of alarm 4, a bare `ACK` what this person was last told
of; `SH 4-17 2H` shelves, `S` asks how the station is, `HELP` what can be asked. Where a PIN is asked for it comes last.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from gateway.alarms.gsm7 import SEGMENT_SEPTETS, clip, transliterate
from gateway.alarms.phrases import Phrases

__all__ = ["Reply", "Verb", "answer_text", "parse"]


class Verb(StrEnum):
    """What can be asked for by text."""

    ACKNOWLEDGE = "ack"
    SHELVE = "shelve"
    STATUS = "status"
    HELP = "help"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Reply:
    """One text, understood. `code` is `4-17`, empty for what was last told; `duration` as `gateway.units` reads it.

    `number` is one that stands alone behind the verb: an occurrence, or the PIN.
    """

    verb: Verb
    code: str = ""
    duration: str = ""
    pin: str = ""
    number: str = ""


_CODE = r"#?(?P<alarm>\d{1,6})\s*[-/. ]\s*(?P<occurrence>\d{1,9})"
_PIN = r"(?:\s+(?:PIN\s*)?(?P<pin>\d{3,12}))?"
_ACK = re.compile(rf"(?:ACK|A)(?:\s*{_CODE}{_PIN}|\s*#?(?P<number>\d{{1,12}}))?", re.IGNORECASE)
_FOR = r"(?P<count>\d{1,4})\s*(?P<unit>H|HR|HOURS?|M|MIN|MINUTES?)?"
_SHELVE = re.compile(rf"SH(?:ELVE)?\s*{_CODE}\s+{_FOR}{_PIN}", re.IGNORECASE)
_STATUS = re.compile(r"S|STAT(?:US)?", re.IGNORECASE)
_HELP = re.compile(r"HELP|\?|INFO", re.IGNORECASE)


def parse(text: str) -> Reply:
    """Understand one text; UNCLEAR for anything that is not exactly one of the forms. Never raises."""
    words = " ".join(transliterate(text).split()).strip(" .!")
    if _STATUS.fullmatch(words):
        return Reply(Verb.STATUS)
    if _HELP.fullmatch(words):
        return Reply(Verb.HELP)
    if found := _ACK.fullmatch(words):
        return Reply(Verb.ACKNOWLEDGE, _code(found), pin=found["pin"] or "", number=found["number"] or "")
    if found := _SHELVE.fullmatch(words):
        minutes = (found["unit"] or "H").upper().startswith("M")
        return Reply(
            Verb.SHELVE, _code(found), f"{int(found['count'])} {'min' if minutes else 'h'}", found["pin"] or ""
        )
    return Reply(Verb.UNCLEAR)


def answer_text(station: str, reply: Reply, answer: Mapping[str, Any], words: Phrases) -> str:
    """The text that goes back: one segment, what was done or why it was not.

    `answer` is the command's, or holds the `text` to say.
    """
    if "text" in answer:
        said = str(answer["text"])
    elif not answer.get("ok"):
        said = words.not_done.format(what=_asked(reply), why=answer.get("error", ""))
    elif reply.verb is Verb.ACKNOWLEDGE:
        said = answer.get("reply") or words.acknowledged.format(code=_code_done(reply, answer))
    else:
        said = words.shelved.format(code=reply.code, duration=reply.duration)
    return clip(transliterate(f"{station} {said}"), SEGMENT_SEPTETS)


def _code(found: re.Match[str]) -> str:
    return f"{int(found['alarm'])}-{int(found['occurrence'])}" if found["alarm"] else ""


def _code_done(reply: Reply, answer: Mapping[str, Any]) -> str:
    """The code of the alarm that was acted on, also where the reply named none."""
    alarm = answer.get("alarm")
    return str((alarm.get("code") if isinstance(alarm, Mapping) else "") or reply.code)


def _asked(reply: Reply) -> str:
    return {Verb.ACKNOWLEDGE: "ACK", Verb.SHELVE: "SH"}.get(reply.verb, reply.verb.value) + (
        reply.code and f" {reply.code}"
    )
