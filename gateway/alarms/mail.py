"""Texts as e-mail by SMTP. For inboxes: the carriers are closing their gateways from e-mail to phones."""

import asyncio
import smtplib
import ssl
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from email.message import EmailMessage
from hashlib import sha256
from pathlib import Path

from gateway.alarms.notifier import Notifier, PathHealth, Receipt
from gateway.alarms.outer_deadline import OuterDeadline
from gateway.alarms.path_options import MailOptions
from gateway.alarms.provider_words import plain
from gateway.clock import Clock
from gateway.errors import InDoubt, Refused, TryLater
from gateway.secret import secret
from gateway.site import Contact, Part, Site

__all__ = ["Mail", "provide"]

_HELD_S = 300.0
_SUBJECT = 78  # characters of a line, RFC 5322 2.1.1
_AT_ONCE = 4  # letters; one more waits
_WHOLE = 2  # times the time-out of one step is the most for a whole session: a tarpit sends a byte now and then

_Connected = Callable[[smtplib.SMTP], None]


class _Plain(smtplib.SMTP):
    """A session that says who it is before it connects, so that its socket can be shut from outside."""

    def __init__(self, options: MailOptions, known: _Connected) -> None:
        known(self)
        super().__init__(options.host, options.port, timeout=options.timeout_s)


class _Secured(smtplib.SMTP_SSL):
    """The same under TLS from the first byte."""

    def __init__(self, options: MailOptions, known: _Connected, context: ssl.SSLContext) -> None:
        known(self)
        super().__init__(options.host, options.port, timeout=options.timeout_s, context=context)


class Mail(Notifier):
    """One mail server. A message carries the dedupe key in its Message-ID: a repeat is the same message to a reader."""

    def __init__(self, options: MailOptions, station: str) -> None:
        self._options = options
        self._station = station
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="mail")

    async def send(self, contact: Contact, text: str, dedupe_key: str) -> Receipt:
        """Hand one text to the server; it is then the server's to deliver."""
        if not contact.email:
            raise Refused("the contact has no e-mail address")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._send, contact.email, text, dedupe_key)

    async def health(self) -> PathHealth:
        """Whether the server lets us in."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._greet)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            return PathHealth(usable=False, why=plain(error))
        return PathHealth(usable=True)

    def _send(self, address: str, text: str, dedupe_key: str) -> Receipt:
        message = EmailMessage()
        message["From"] = self._options.sender
        message["To"] = address
        message["Subject"] = " ".join(text.split())[:_SUBJECT]
        domain = self._options.sender.rpartition("@")[2] or "localhost"
        message["Message-ID"] = f"<{sha256(dedupe_key.encode()).hexdigest()[:32]}.{self._station}@{domain}>"
        message["Auto-Submitted"] = "auto-generated"  # RFC 3834: no holiday notice in return
        message.set_content(text + "\n")
        handed_over = taken = False
        sessions: list[smtplib.SMTP] = []
        try:
            with self._deadline(sessions), self._session(sessions.append) as session:
                handed_over = True
                session.send_message(message)
                taken = True  # whatever becomes of the farewell
        except (OSError, smtplib.SMTPException, ValueError) as error:
            if not taken:
                raise self._failure(error, handed_over=handed_over) from error
        return Receipt(str(message["Message-ID"]))

    def _failure(self, error: Exception, *, handed_over: bool) -> TryLater | Refused:
        """What an error of a session means for its text."""
        if isinstance(error, smtplib.SMTPRecipientsRefused):
            return _meaning(*next(iter(error.recipients.values())))
        if isinstance(error, smtplib.SMTPDataError):
            return _meaning(error.smtp_code, error.smtp_error)
        if isinstance(error, smtplib.SMTPResponseException):
            # The greeting, the login or our own address: nothing that a text should be lost for.
            return TryLater(f"SMTP {error.smtp_code}: {_words(error.smtp_error)}", _HELD_S)
        if handed_over:
            return InDoubt(f"the mail server gave no answer: {plain(error)}")
        return TryLater(f"no session with {self._options.host}: {plain(error)}")

    def _greet(self) -> None:
        sessions: list[smtplib.SMTP] = []
        with self._deadline(sessions), self._session(sessions.append) as session:
            session.noop()

    def _deadline(self, sessions: list[smtplib.SMTP]) -> OuterDeadline:
        return OuterDeadline(_WHOLE * self._options.timeout_s, lambda: sessions[-1].sock if sessions else None)

    def _session(self, known: _Connected) -> smtplib.SMTP:
        """A session that is logged in. OSError or SMTPException when there is none to be had."""
        options = self._options
        context = ssl.create_default_context(cafile=options.ca or None)
        session: smtplib.SMTP
        session = _Secured(options, known, context) if options.security == "tls" else _Plain(options, known)
        try:
            if options.security == "starttls":
                session.starttls(context=context)
            if options.username:
                session.login(options.username, secret(options.password))
        except BaseException:
            session.close()
            raise
        return session


def _meaning(code: int, reason: bytes | str) -> TryLater | Refused:
    """RFC 5321 4.2.1: 4yz is transient, 5yz is permanent."""
    text = f"SMTP {code}: {_words(reason)}"
    return Refused(text) if code >= 500 else TryLater(text)


def _words(reason: bytes | str) -> str:
    return plain(reason.decode("ascii", "replace") if isinstance(reason, bytes) else reason)


def provide(part: Part, site: Site, _clock: Clock, _state_directory: Path) -> Mail:
    """The notifier of `[notify.*]` kind `mail`."""
    return Mail(MailOptions.of(part), site.id)
