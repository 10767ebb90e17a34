"""What people text is understood exactly or not at all, and answered in one segment."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.alarms.gsm7 import septets
from gateway.alarms.language_en import PHRASES
from gateway.alarms.reply import Reply, Verb, answer_text, parse

ACK, SHELVE = Verb.ACKNOWLEDGE, Verb.SHELVE


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("ACK 4-17", Reply(ACK, "4-17")),
        ("ack 4-17", Reply(ACK, "4-17")),
        ("A4-17", Reply(ACK, "4-17")),
        ("ACK4-17", Reply(ACK, "4-17")),
        ("Ack 4 17", Reply(ACK, "4-17")),
        ("ACK #4/17.", Reply(ACK, "4-17")),
        ("  ACK   4 \N{EN DASH} 17 !", Reply(ACK, "4-17")),
        ("ACK 04-017", Reply(ACK, "4-17")),
        ("ACK 4-17 1234", Reply(ACK, "4-17", pin="1234")),
        ("ack 4-17 pin 987654", Reply(ACK, "4-17", pin="987654")),
        ("ACK", Reply(ACK)),
        ("a", Reply(ACK)),
        ("ACK 17", Reply(ACK, number="17")),
        ("A17", Reply(ACK, number="17")),
        ("ACK 1234", Reply(ACK, number="1234")),
        ("SH 4-17 2H", Reply(SHELVE, "4-17", "2 h")),
        ("SH4-17 2h", Reply(SHELVE, "4-17", "2 h")),
        ("shelve 4-17 90 min", Reply(SHELVE, "4-17", "90 min")),
        ("SH 4-17 2", Reply(SHELVE, "4-17", "2 h")),
        ("SH 4-17 2H 1234", Reply(SHELVE, "4-17", "2 h", "1234")),
        ("S", Reply(Verb.STATUS)),
        ("status?", Reply(Verb.UNCLEAR)),
        ("Status", Reply(Verb.STATUS)),
        ("HELP", Reply(Verb.HELP)),
        ("?", Reply(Verb.HELP)),
        ("", Reply(Verb.UNCLEAR)),
        ("acknowledged, I am on my way", Reply(Verb.UNCLEAR)),
        ("do not ACK 4-17", Reply(Verb.UNCLEAR)),
        ("ACK 4-17 please", Reply(Verb.UNCLEAR)),
        ("STOP", Reply(Verb.UNCLEAR)),
        ("SH 4-17", Reply(Verb.UNCLEAR)),
        ("SH 4-17 forever", Reply(Verb.UNCLEAR)),
    ],
)
def test_a_text_is_one_of_the_forms_or_unclear(text: str, reply: Reply) -> None:
    """Each form in the spellings a thumb makes of it; a sentence that merely contains one is none."""
    assert parse(text) == reply


@given(st.text(max_size=200))
def test_no_text_upsets_the_reader(text: str) -> None:
    """Whatever comes in has an answer, and nothing but the four forms asks for anything."""
    reply = parse(text)
    assert isinstance(reply, Reply)
    assert (reply.verb in {ACK, SHELVE}) or not (reply.code or reply.duration)


@given(st.text(max_size=300), st.booleans())
def test_every_answer_is_one_segment(words: str, done: bool) -> None:
    """However long the reason or the name of whoever was first, one segment goes back."""
    answer = {"ok": done, "error": words, "reply": words}
    assert septets(answer_text("LV-MH3", Reply(ACK, "4-17"), answer, PHRASES)) <= 160


def test_an_answer_says_what_was_done_or_why_not() -> None:
    """Taken with its code; refused with the reason; a second person hears who was first."""
    taken = answer_text("LV-MH3", Reply(ACK, "4-17"), {"ok": True}, PHRASES)
    assert taken == "LV-MH3 ACK 4-17 taken. It stays on the list until it ends."
    refused = answer_text("LV-MH3", Reply(ACK, "4-17"), {"ok": False, "error": "occurrence 17 is over"}, PHRASES)
    assert refused == "LV-MH3 NOT DONE ACK 4-17: occurrence 17 is over"
    second = answer_text("LV-MH3", Reply(ACK, "4-17"), {"ok": True, "reply": "already by Pat at 08:55 EST"}, PHRASES)
    assert second == "LV-MH3 already by Pat at 08:55 EST"
    shelved = answer_text("LV-MH3", Reply(SHELVE, "4-17", "2 h"), {"ok": True}, PHRASES)
    assert shelved == "LV-MH3 4-17 shelved for 2 h."
