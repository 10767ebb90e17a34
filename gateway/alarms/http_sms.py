"""Texts through a provider on the internet that speaks Twilio's messages interface. The only module that knows urllib3.

`POST {url}/2010-04-01/Accounts/{account}/Messages.json` takes a text and answers with its `sid`; `GET` on the same
resource lists, and `/Messages/{sid}.json` says what became of one. A gateway behind a mobile network has no address
that the provider could call, so replies and fates are asked for.
"""

import asyncio
import email.utils
import json
import math
import socket
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import urllib3

from gateway.alarms.notifier import Fate, Inbound, Notifier, PathHealth, Receipt
from gateway.alarms.outer_deadline import OuterDeadline
from gateway.alarms.path_options import HttpSmsOptions
from gateway.alarms.provider_words import plain, reference, tidy
from gateway.clock import Clock
from gateway.errors import DeliveryError, InDoubt, Refused, TryLater
from gateway.secret import secret
from gateway.site import Contact, Part, Site

__all__ = ["HttpSms", "provide"]

_API = "2010-04-01"
_HELD_S = 300.0  # a refused account is mended by a person, not by asking again at once
_LIST = 50  # how many messages one question brings
_LOOK_BACK = timedelta(days=1)
_MOST_BYTES = 1 << 20
_CONNECTIONS = 4  # several people may be told at once
_AT_ONCE = 8  # requests; one more waits
_WHOLE = 2  # times the time-out of one step is the most for a whole request, however slowly it is answered
_OF_THE_TEXT = frozenset({400, 413, 414, 422})  # refusals of this text; any other 4xx is of the account or the address

_OF_OUR_NUMBER = frozenset({21212, 21603, 21606, 21608, 21611, 21612, 21659, 21660})
"""Codes of a 400 that are about the number we send from or the account, not about the text (Twilio's error list)."""

_FATES = {
    "accepted": Fate.PENDING, "scheduled": Fate.PENDING, "queued": Fate.PENDING, "sending": Fate.PENDING,
    "sent": Fate.PENDING, "delivered": Fate.DELIVERED, "read": Fate.DELIVERED, "undelivered": Fate.FAILED,
    "failed": Fate.FAILED, "canceled": Fate.FAILED,
}  # fmt: skip

_mine = threading.local()  # `used`: the connection and the socket that a request of this thread uses


class _Http(urllib3.connection.HTTPConnection):
    """One that says who it is, so that its socket can be shut from outside."""

    def request(self, *args: Any, **options: Any) -> None:
        """The library's. The socket is noted too: the connection forgets one that the answer says will be closed."""
        _mine.used.append(self)
        super().request(*args, **options)
        _mine.used.append(self.sock)


class _Https(urllib3.connection.HTTPSConnection):
    """The same under TLS."""

    def request(self, *args: Any, **options: Any) -> None:
        """As above."""
        _mine.used.append(self)
        super().request(*args, **options)
        _mine.used.append(self.sock)


class _HttpPool(urllib3.HTTPConnectionPool):
    ConnectionCls = _Http


class _HttpsPool(urllib3.HTTPSConnectionPool):
    ConnectionCls = _Https


class HttpSms(Notifier):
    """One account with one provider. Whatever it answers becomes a receipt, a try later, a doubt or a refusal."""

    def __init__(self, options: HttpSmsOptions, clock: Clock) -> None:
        self._options = options
        self._clock = clock
        self._pool: urllib3.PoolManager | None = None
        # Threads of its own: a provider that answers slowly must not hold up the other ways to a person.
        self._threads = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="http-sms")
        self._trouble = ""  # what the account itself was refused for

    async def send(self, contact: Contact, text: str, dedupe_key: str) -> Receipt:
        """Hand over one text; the provider is told the dedupe key, for those that heed it."""
        fields = {"To": contact.phone, "From": self._options.number, "Body": text}
        answer = await self._ask("POST", "Messages.json", fields=fields, key=dedupe_key)
        sid = reference(answer.get("sid"))
        if not sid:
            raise InDoubt("the provider took the request and named no message")
        status = str(answer.get("status", ""))
        if _FATES.get(status) is Fate.FAILED:
            why = answer.get("error_message") or answer.get("error_code") or "no reason"
            raise Refused(f"status {status}: {plain(why)}")
        return Receipt(sid, delivered=_FATES.get(status) is Fate.DELIVERED)

    async def fate(self, contact: Contact, text: str, dedupe_key: str, provider_ref: str) -> Fate:
        """By its reference; without one, by looking for the text among what was lately sent to that number."""
        try:
            if provider_ref:
                answer = await self._ask("GET", f"Messages/{provider_ref}.json")
                return _FATES.get(str(answer.get("status", "")), Fate.UNKNOWN)
            listed = await self._list({"To": contact.phone, "From": self._options.number})
        except DeliveryError:
            return Fate.UNKNOWN
        alike = [message for message in listed if message.get("body") == text]
        return _FATES.get(str(alike[0].get("status", "")), Fate.UNKNOWN) if alike else Fate.ABSENT

    async def inbound(self) -> tuple[Inbound, ...]:
        """What was lately sent to our number, oldest first. The provider keeps showing it: keys tell repeats."""
        listed = await self._list({"To": self._options.number})
        found = [
            Inbound(sid, reference(m.get("from")), tidy(str(m.get("body", ""))), _utc_us(m.get("date_sent")))
            for m in listed
            if m.get("direction", "inbound") == "inbound" and (sid := reference(m.get("sid")))
        ]
        return tuple(reversed(found))

    async def health(self) -> PathHealth:
        """Whether the account is answered for; the balance where the provider gives one."""
        try:
            answer = await self._ask("GET", "Balance.json")
        except DeliveryError as error:
            return PathHealth(usable=False, why=str(error))
        facts: dict[str, str | float] = {
            k: plain(answer[k]) for k in ("balance", "currency") if isinstance(answer.get(k), str)
        }
        return PathHealth(usable=not self._trouble, why=self._trouble, facts=facts)

    async def close(self) -> None:
        """Drop the connections; a request under way ends by its own deadline."""
        if self._pool is not None:
            self._pool.clear()

    async def _list(self, where: Mapping[str, str]) -> list[Mapping[str, Any]]:
        now = datetime.fromtimestamp(self._clock.now().utc_us / 1e6, UTC)
        since = {"DateSent>": f"{now - _LOOK_BACK:%Y-%m-%d}", "PageSize": str(_LIST)}
        answer = await self._ask("GET", "Messages.json", fields={**where, **since})
        messages = answer.get("messages")
        if not isinstance(messages, list):
            raise TryLater("the provider listed no messages")
        return [m for m in messages if isinstance(m, Mapping)]

    async def _ask(
        self, method: str, resource: str, *, fields: Mapping[str, str] | None = None, key: str = ""
    ) -> Mapping[str, Any]:
        """One request in a thread of its own; a DeliveryError says what its failure means."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._threads, self._request, method, resource, fields, key)

    def _request(self, method: str, resource: str, fields: Mapping[str, str] | None, key: str) -> Mapping[str, Any]:
        options = self._options
        try:
            token = secret(options.token)
        except (OSError, ValueError) as error:
            raise TryLater(f"the token cannot be read: {error}", _HELD_S) from error
        headers = urllib3.make_headers(basic_auth=f"{options.account}:{token}", user_agent="manhole-gateway")
        if key:
            headers["Idempotency-Key"] = key
        form: dict[str, Any] = {"encode_multipart": False} if method == "POST" else {}
        url = f"{options.url}/{_API}/Accounts/{options.account}/{resource}"
        used: list[Any] = []
        _mine.used = used
        try:
            with OuterDeadline(_WHOLE * options.timeout_s, lambda: _socket(used)):
                response = self._connections().request(
                    method, url, fields=fields, headers=headers, redirect=False, preload_content=False, **form
                )
                with response:
                    body = response.read(_MOST_BYTES)
        except (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError) as error:
            raise TryLater(f"no connection to the provider: {_reason(error)}") from error
        except urllib3.exceptions.SSLError as error:
            raise TryLater(f"the provider's certificate is not believed: {_reason(error)}", _HELD_S) from error
        except (urllib3.exceptions.HTTPError, OSError) as error:
            # The request may have been read before the line went quiet.
            doubt = InDoubt if method == "POST" else TryLater
            raise doubt(f"the provider gave no answer: {_reason(error)}") from error
        return self._judged(method, response.status, response.headers.get("Retry-After"), body)

    def _judged(self, method: str, status: int, retry_after: str | None, body: bytes) -> Mapping[str, Any]:
        said = _json(body)
        answer = said or {}
        reason = f"HTTP {status}: {plain(answer.get('message') or 'no reason given')}"
        if code := answer.get("code"):
            reason += f" (code {plain(code)})"
        if 200 <= status < 300:
            if said is None:  # a portal that answers for everybody: nobody is told, nothing is listed, nothing is sure
                self._trouble = f"HTTP {status} with something else than an answer"
                raise (InDoubt if method == "POST" else TryLater)(self._trouble)
            self._trouble = ""
            return said
        if status in {429, 408}:
            raise TryLater(reason, _seconds(retry_after, self._clock.now().utc_us))
        if status in _OF_THE_TEXT and answer.get("code") not in _OF_OUR_NUMBER:
            raise Refused(reason)
        if 400 <= status < 500:
            # Wrong token, no credit, closed account, wrong address: no fault of the text, and nothing a text should be
            # lost for.
            self._trouble = reason
            raise TryLater(reason, _HELD_S)
        if 300 <= status < 400:
            raise TryLater(f"{reason}; a redirection is not followed with a token", _HELD_S)
        if method == "POST" and status != 503:
            raise InDoubt(reason, _seconds(retry_after, self._clock.now().utc_us))
        raise TryLater(reason, _seconds(retry_after, self._clock.now().utc_us))

    def _connections(self) -> urllib3.PoolManager:
        if self._pool is None:
            timeout = urllib3.Timeout(total=self._options.timeout_s)
            self._pool = urllib3.PoolManager(
                maxsize=_CONNECTIONS, retries=False, timeout=timeout, ca_certs=self._options.ca or None
            )
            self._pool.pool_classes_by_scheme = {"http": _HttpPool, "https": _HttpsPool}
        return self._pool


def _socket(used: Sequence[Any]) -> socket.socket | None:
    """The socket under a request, as far as it has come."""
    last = used[-1] if used else None
    sock = last.sock if isinstance(last, _Http | _Https) else last
    return sock if isinstance(sock, socket.socket) else None


def _json(body: bytes) -> Mapping[str, Any] | None:
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return answer if isinstance(answer, Mapping) else None


def _seconds(retry_after: str | None, now_utc_us: int) -> float | None:
    """Retry-After as seconds or as a date (RFC 9110 10.2.3). At most a few minutes: a text that is owed waits for the
    other ways to a person too, and a provider that asks for a day is not worth a night without a call."""
    if not retry_after:
        return None
    try:
        wait_s = float(retry_after)
    except ValueError:
        try:
            when = email.utils.parsedate_to_datetime(retry_after)
            wait_s = when.timestamp() - now_utc_us / 1e6
        except (ValueError, OverflowError):
            return None
    return None if math.isnan(wait_s) else min(max(wait_s, 0.0), _HELD_S)


def _utc_us(date: Any) -> int | None:
    try:
        return round(email.utils.parsedate_to_datetime(str(date)).timestamp() * 1e6)
    except (ValueError, OverflowError):
        return None


def _reason(error: Exception) -> str:
    """The library names its own objects in its messages; a person wants what is behind them."""
    cause = error.__cause__ or error.__context__ or error
    return plain(str(cause).rpartition(">: ")[2]) or type(error).__name__


def provide(part: Part, _site: Site, clock: Clock, _state_directory: Path) -> HttpSms:
    """The notifier of `[notify.*]` kind `http-sms`."""
    return HttpSms(HttpSmsOptions.of(part), clock)
