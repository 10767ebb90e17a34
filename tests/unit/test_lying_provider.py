"""A provider or a mail server that lies, dawdles or talks nonsense: no text is lost, doubled unmarked, or held up."""

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from typing import Any

import pytest

from gateway.alarms.http_sms import HttpSms
from gateway.alarms.mail import Mail
from gateway.alarms.notifier import Fate, Notifier
from gateway.alarms.path_options import HttpSmsOptions, MailOptions
from gateway.alarms.provider_words import plain, reference, tidy
from gateway.clock import SystemClock
from gateway.errors import InDoubt, Refused, TryLater
from tests.support.http_provider import ACCOUNT, NUMBER, TOKEN
from tests.support.notifier_rigs import CONTACT

TEXT, KEY = "LV-MH3 HIGH pH 3.9. ACK 4-17", "lv-ph-low:17:raised:1:ray"
Talk = Callable[[socket.socket], None]


@contextmanager
def server(talk: Talk) -> Iterator[int]:
    """A port where each caller gets this talk, and then the end of the line."""
    listener = socket.create_server(("127.0.0.1", 0))
    callers: list[socket.socket] = []

    def one(caller: socket.socket) -> None:
        with caller:
            try:
                talk(caller)
            except OSError:
                return

    def serve() -> None:
        while True:
            try:
                caller, _ = listener.accept()
            except OSError:
                return
            callers.append(caller)
            threading.Thread(target=one, args=(caller,), daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield listener.getsockname()[1]
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        for caller in callers:
            caller.close()
        thread.join()


def answers(body: bytes, status: str = "200 OK", *headers: str) -> Talk:
    """One HTTP answer to whatever was asked."""
    head = "\r\n".join((f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "Connection: close", "", ""))

    def talk(caller: socket.socket) -> None:
        caller.recv(65536)
        caller.sendall(head.encode() + body)

    return talk


def drips(first: bytes, then: bytes = b" ") -> Talk:
    """The first bytes at once, and then one more every twentieth of a second without end."""

    def talk(caller: socket.socket) -> None:
        caller.sendall(first)
        while True:
            time.sleep(0.05)
            caller.sendall(then)

    return talk


def sms(folder: Path, port: int, timeout_s: float = 5.0) -> HttpSms:
    """The provider at that port."""
    (folder / "token").write_text(TOKEN, encoding="utf-8")
    options = HttpSmsOptions(f"http://127.0.0.1:{port}", ACCOUNT, str(folder / "token"), NUMBER, timeout_s=timeout_s)
    return HttpSms(options, SystemClock())


def mail(port: int, timeout_s: float = 5.0) -> Mail:
    """The mail server at that port."""
    return Mail(MailOptions("127.0.0.1", "station@example.org", port, "none", timeout_s=timeout_s), "lv-mh3")


def sending(way: Notifier) -> BaseException:
    """What the sending of a text raises."""
    with pytest.raises((TryLater, Refused)) as told:
        asyncio.run(way.send(CONTACT, TEXT, KEY))
    return told.value


@pytest.mark.parametrize("status", ["401 no", "402 no credit", "403 no", "404 no", "405 no", "407 no", "451 no"])
def test_a_fault_of_the_account_or_the_network_loses_no_text(status: str, tmp_path: Path) -> None:
    """Without credit, behind somebody's proxy, or blocked: the text is kept, and nobody doubts that it is owed."""
    with server(answers(b"{}", status)) as port:
        error = sending(sms(tmp_path, port))
    assert type(error) is TryLater


@pytest.mark.parametrize("body", [b"<html>Welcome to GuestWiFi</html>", b"", b"[1]", b"null", b"[" * 100_000])
def test_a_page_instead_of_an_answer_is_no_answer(body: bytes, tmp_path: Path) -> None:
    """A portal says 200 to everything: the text is in doubt, nothing is known to be absent, and the way is unwell."""

    async def story(port: int) -> None:
        way = sms(tmp_path, port)
        with pytest.raises(InDoubt):
            await way.send(CONTACT, TEXT, KEY)
        assert await way.fate(CONTACT, TEXT, KEY, "") is Fate.UNKNOWN
        with pytest.raises(TryLater):
            await way.inbound()
        assert not (await way.health()).usable

    with server(answers(body)) as port:
        asyncio.run(story(port))


@pytest.mark.parametrize("sid", ['"\\ud800"', '"a\\nb"', f'"{"x" * 100_000}"', "7", '{"x": 1}'])
def test_a_reference_that_no_record_can_hold_is_none(sid: str, tmp_path: Path) -> None:
    """Half a character, a line break, a hundred kilobytes: the text is in doubt rather than the journal."""
    with server(answers(b'{"sid": %s, "status": "queued"}' % sid.encode())) as port:
        assert type(sending(sms(tmp_path, port))) is InDoubt


def test_a_text_that_came_in_spoilt_can_be_stored(tmp_path: Path) -> None:
    """Halves of characters become question marks; one without a usable key is left out, the others are read."""
    listed = b'{"messages": [{"sid": "a", "from": "+1716", "body": "ACK \\ud83d"}, {"sid": "\\udc00", "body": "ACK"}]}'
    with server(answers(listed)) as port:
        (text,) = asyncio.run(sms(tmp_path, port).inbound())
    assert (text.key, text.text) == ("a", "ACK ?")


@pytest.mark.parametrize("wait", ["nan", "inf", "86400", "Fri, 31 Dec 9999 23:59:59 GMT", "yesterday", "-5"])
def test_a_wait_that_is_asked_for_is_a_number_and_ends_in_minutes(wait: str, tmp_path: Path) -> None:
    """A text that is owed waits for every other way too: no provider holds it for a day, or for no number."""
    with server(answers(b"{}", "503 busy", f"Retry-After: {wait}")) as port:
        error = sending(sms(tmp_path, port))
    assert isinstance(error, TryLater)
    assert error.not_before_s is None or 0 <= error.not_before_s <= 300


def test_a_wait_until_a_date_is_heeded(tmp_path: Path) -> None:
    """Two minutes from now, as a date."""
    date = format_datetime(datetime.fromtimestamp(time.time() + 120, UTC), usegmt=True)
    with server(answers(b"{}", "429 slow down", f"Retry-After: {date}")) as port:
        error = sending(sms(tmp_path, port))
    assert isinstance(error, TryLater)
    assert error.not_before_s == pytest.approx(120, abs=30)


def test_no_telephone_number_of_a_reason_is_kept(tmp_path: Path) -> None:
    """What the provider says of a number goes into log and record without the number."""
    said = b'{"code": 21211, "message": "The \'To\' number +1 (716) 555-0100 is not valid\\u0007"}'
    with server(answers(said, "400 Bad Request")) as port:
        error = sending(sms(tmp_path, port))
    assert str(error) == "HTTP 400: The 'To' number ...00 is not valid (code 21211)"


@pytest.mark.parametrize(
    "talk",
    [
        drips(b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n"),
        drips(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n"),
        drips(b"HTTP/1.1 200 OK\r\nX-Header: ", b"a"),
    ],
    ids=["body", "body without length", "header"],
)
def test_a_provider_that_answers_a_byte_at_a_time_comes_to_an_end(talk: Talk, tmp_path: Path) -> None:
    """More requests than it has threads end each by the outer deadline, and the threads of the others stay free."""

    async def story(port: int) -> None:
        way = sms(tmp_path, port, timeout_s=0.4)
        sendings = [way.send(CONTACT, TEXT, f"{KEY}{n}") for n in range(8)]
        others = asyncio.gather(*(asyncio.to_thread(int) for _ in range(40)))
        async with asyncio.timeout(30):
            assert await others == [0] * 40
            assert {type(e) for e in await asyncio.gather(*sendings, return_exceptions=True)} == {InDoubt}

    with server(talk) as port:
        asyncio.run(story(port))


@pytest.mark.parametrize("first", [b"220-wait", b"220-wait\r\n"], ids=["a line", "lines"])
def test_a_tarpit_holds_no_letter_for_ever(first: bytes) -> None:
    """A mail server that greets a byte at a time: the session ends, nothing was handed over."""
    with server(drips(first, first[3:])) as port:
        assert type(sending(mail(port, timeout_s=0.4))) is TryLater


def smtp(**said: str) -> Talk:
    """A mail server that answers each command by its own words, else as one that takes everything."""
    usual: dict[str, Any] = {
        "greeting": "220 hi",
        "EHLO": "250 hi",
        "DATA": "354 go",
        ".": "250 taken",
        "QUIT": "221 bye",
    }

    def talk(caller: socket.socket) -> None:
        words, lines = usual | said, caller.makefile("rb")
        caller.sendall(f"{words['greeting']}\r\n".encode())
        in_letter = False
        for line in lines:
            word = line.decode().split(" ")[0].strip().upper()
            if in_letter and word != ".":
                continue
            in_letter = word == "DATA"
            caller.sendall(f"{words.get(word, '250 ok')}\r\n".encode())

    return talk


@pytest.mark.parametrize(
    "said",
    [
        {"greeting": "554 your address is on a list"},
        {"EHLO": "550 no", "HELO": "550 no"},
        {"MAIL": "553 not your name"},
    ],
    ids=["greeting", "hello", "sender"],
)
def test_a_server_that_will_not_have_the_station_loses_no_letter(said: dict[str, str]) -> None:
    """Blocked, or not allowed to send by that name, for good by its number: no fault of the text, which stays owed."""
    with server(smtp(**said)) as port:
        assert type(sending(mail(port))) is TryLater


@pytest.mark.parametrize("said", [{"RCPT": "550 nobody"}, {".": "554 spam"}], ids=["recipient", "content"])
def test_what_a_server_refuses_of_the_letter_itself_is_refused(said: dict[str, str]) -> None:
    """No such mailbox, or words it never takes: the next way is tried and this one not again."""
    with server(smtp(**said)) as port:
        assert type(sending(mail(port))) is Refused


def test_a_letter_that_was_taken_is_not_sent_again_for_a_rude_farewell() -> None:
    """The answer to QUIT says nothing of the letter."""
    with server(smtp(QUIT="500 what")) as port:
        assert asyncio.run(mail(port).send(CONTACT, TEXT, KEY)).provider_ref


def test_words_are_made_fit_for_a_record() -> None:
    """Printable, short, without numbers of people; measurements and codes stay."""
    assert plain("a\x00\n  b") == "a b"
    assert plain("no route to +17165550100, (code 21211)") == "no route to ...00, (code 21211)"
    assert len(plain("x" * 10_000)) == 200
    assert (reference("SM0123"), reference("é"), reference(None)) == ("SM0123", "", "")
    assert tidy("ACK \ud800 é") == "ACK ? é"
