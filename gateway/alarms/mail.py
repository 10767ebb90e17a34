"""Texts as e-mail by SMTP. For inboxes: the carriers are closing their gateways from e-mail to phones."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from hashlib import sha256
from pathlib import Path

from gateway.alarms.notifier import Notifier, PathHealth, Receipt
from gateway.alarms.path_options import MailOptions
from gateway.clock import Clock
from gateway.errors import InDoubt, Refused, TryLater
from gateway.secret import secret
from gateway.site import Contact, Part, Site

__all__ = ["Mail", "provide"]

_HELD_S = 300.0
_SUBJECT = 78  # characters of a line, RFC 5322 2.1.1


class Mail(Notifier):
    """One mail server. A message carries the dedupe key in its Message-ID: a repeat is the same message to a reader."""

    def __init__(self, options: MailOptions, station: str) -> None:
        self._options = options
        self._station = station

    async def send(self, contact: Contact, text: str, dedupe_key: str) -> Receipt:
        """Hand one text to the server; it is then the server's to deliver."""
        if not contact.email:
            raise Refused("the contact has no e-mail address")
        return await asyncio.to_thread(self._send, contact.email, text, dedupe_key)

    async def health(self) -> PathHealth:
        """Whether the server lets us in."""
        try:
            await asyncio.to_thread(self._greet)
        except (OSError, smtplib.SMTPException, ValueError) as error:
            return PathHealth(usable=False, why=str(error))
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
        handed_over = False
        try:
            with self._session() as session:
                handed_over = True
                session.send_message(message)
        except smtplib.SMTPRecipientsRefused as error:
            code, reason = next(iter(error.recipients.values()))
            raise _meaning(code, reason) from error
        except smtplib.SMTPAuthenticationError as error:
            raise TryLater(f"the server refuses the login: {_words(error.smtp_error)}", _HELD_S) from error
        except smtplib.SMTPResponseException as error:
            raise _meaning(error.smtp_code, error.smtp_error) from error
        except (OSError, smtplib.SMTPException, ValueError) as error:
            if handed_over:
                raise InDoubt(f"the mail server gave no answer: {error}") from error
            raise TryLater(f"no session with {self._options.host}: {error}") from error
        return Receipt(str(message["Message-ID"]))

    def _greet(self) -> None:
        with self._session() as session:
            session.noop()

    def _session(self) -> smtplib.SMTP:
        """A session that is logged in. OSError or SMTPException when there is none to be had."""
        options = self._options
        context = ssl.create_default_context(cafile=options.ca or None)
        session: smtplib.SMTP
        if options.security == "tls":
            session = smtplib.SMTP_SSL(options.host, options.port, timeout=options.timeout_s, context=context)
        else:
            session = smtplib.SMTP(options.host, options.port, timeout=options.timeout_s)
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
    return reason.decode("ascii", "replace") if isinstance(reason, bytes) else reason


def provide(part: Part, site: Site, _clock: Clock, _state_directory: Path) -> Mail:
    """The notifier of `[notify.*]` kind `mail`."""
    return Mail(MailOptions.of(part), site.id)
